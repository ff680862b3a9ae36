"""The policy of CONTRIBUTING.md, put where it says: the contract holds, and no test that walks all policies breaks."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh
from tests.cli.shell import answer
from tests.waiting import until

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
BLOCKS = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WALK = re.compile(r"registry\.entries|registry\.get|\bexamples\(")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The repository with the example in its place."""
    place = tmp_path_factory.mktemp("copy") / "evenhand"
    left_out = shutil.ignore_patterns(".*", "out", "node_modules", "__pycache__", "figures")
    shutil.copytree(ROOT, place, ignore=left_out)
    (where,) = re.findall(r"Put this into `(src/\S+\.py)`", TEXT)
    assert not (place / where).exists()
    (place / where).write_text(BLOCKS.findall(TEXT)[0])
    return place


def run(copy, *command):
    """Run Python in the copy, and on the copy's package."""
    settings = os.environ | {"PYTHONPATH": str(copy / "src"), "NUMBA_CACHE_DIR": str(copy / "cache"), "COLUMNS": "200"}
    return subprocess.run([sys.executable, *command], cwd=copy, env=settings, capture_output=True, text=True)


def test_the_contract_holds(copy):
    done = run(copy, "-m", "evenhand", "check", "quotas/my-policy")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("passed") >= 7
    checks = {*re.findall(r"#\d+ │ (\S.*?) +│", done.stdout)}
    assert "reasons" in checks
    assert [name for name in checks if f"**{name}**" not in TEXT] == []


@pytest.mark.nightly
def test_no_test_that_walks_the_policies_breaks(copy):
    every = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    walking = [str(path.relative_to(ROOT)) for path in every if WALK.search(path.read_text())]
    assert len(walking) > 15
    words = "my-policy or every_registered or every_policy or every_public or every_module or described"
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-k", words, *walking)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout


def test_a_policy_without_kernels_keeps_it_too_and_studies_know_it(scratch_registry, tmp_path):
    code = next(block for block in BLOCKS.findall(TEXT) if "class Alternate" in block)
    names = {"__name__": __name__}
    exec(code, names)
    scratch_registry(names["Alternate"])
    checks = {check.name: check.skipped for check in eh.check_policy(names["Alternate"]())}
    assert [name for name, skipped in checks.items() if not skipped] == [
        *("same seed", "save and load", "tickets", "bad input", "threads")
    ]
    place = tmp_path / "alternate.evenhand"
    assert "On offer are 2 arms: a, b.\nnext:" in answer("new", place, "-p", "broken", "--expire-after", "1s")
    with eh.Study.open(place) as study:
        assert (study.forget(study.ask()), study.ask().arm) == ("forgotten", "a")
        until(lambda: study.ask() and 2 not in study.open_tickets)
