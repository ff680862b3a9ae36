"""What a shell offers for a word that is not finished."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from evenhand import registry
from evenhand.cli import app, completion
from tests.cli.shell import answer


def offered(words, shell="bash", **more):
    """What the shell is given for the last word, in a process of its own as a shell starts it."""
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_TYPER_COMPLETE_ARGS": words}
    environment = os.environ | place | more | {"_EVENHAND_COMPLETE": f"complete_{shell}"}
    run = "import sys; sys.argv[0] = 'evenhand'; from evenhand.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", run], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def test_names_found_in_the_text_of_modules_are_those_registered():
    for kind in ("policy", "world"):
        own = {entry.name for entry in registry.entries(kind) if entry.cls.__module__.startswith("evenhand.")}
        assert set(completion._names(kind)) == own


def test_a_shell_is_offered_commands_options_and_names():
    assert offered("evenhand audit-") == ["audit-pairs", "audit-parity"]
    assert offered("evenhand audit --se") == ["--segment", "--sep"]
    assert offered("evenhand simulate quotas/log") == ["quotas/logged-arms"]
    assert offered("evenhand simulate -p fair-learn+th") == ["fair-learn+thompson"]


@pytest.mark.parametrize(("shell", "more"), [("zsh", {}), ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})])
def test_other_shells_are_offered_the_same(shell, more):
    assert "quotas/logged-arms" in "\n".join(offered("evenhand simulate quotas/log", shell, **more))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_shown(shell):
    shown = CliRunner().invoke(app, [], prog_name="evenhand", env={"_EVENHAND_COMPLETE": f"source_{shell}"})
    assert shown.exit_code == 0
    assert f"complete_{shell}" in shown.output


def test_studies_and_arms_of_a_store_are_offered_without_a_change_to_it(tmp_path):
    store = tmp_path / "ads.evenhand"
    answer("new", store, "-p", "deadline-learn", "--shares", "news=0.2,night=0.3,ads=0.1")
    before = store.read_bytes()
    assert offered(f"evenhand retire {store} n") == ["news", "night"]
    assert offered(f"evenhand ask {store} --available ads,ni") == ["ads,night"]
    assert offered(f"evenhand show {store} --study a") == ["ads"]
    assert offered(f"evenhand retire {tmp_path / 'none'} n") == []
    (tmp_path / "text").write_text("no store")
    assert offered(f"evenhand retire {tmp_path / 'text'} n") == []
    assert store.read_bytes() == before
