"""Policies of one's own are known to every command, once the environment names their module."""

import importlib
import os
import subprocess
import sys

import pytest

import evenhand as eh
from evenhand import registry
from evenhand.cli.inputs.policies import find_policy, policies_of
from evenhand.errors import ArgumentError, RegistryError
from evenhand.studies import Study

MODULE = '''
import evenhand as eh

@eh.register("mine/always-first")
class First:
    """Play the first arm."""
    round = 0
    open_tickets = ()
    def __init__(self, rates: list = (), patience: int = 1):
        self.rates, self.patience = rates, patience
    def ask(self):
        self.round += 1
        return eh.Decision(self.round, self.round, "a", 0, None, "always")
    def tell(self, decision, reward): ...
    def forget(self, decision): ...
    def snapshot(self): return {"round": self.round}
    @classmethod
    def restored(cls, snapshot):
        policy = cls()
        policy.round = snapshot["round"]
        return policy
'''


@pytest.fixture
def own(tmp_path, monkeypatch, scratch_registry):
    (tmp_path / "my_policies.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EVENHAND_IMPORT", " my_policies ,")
    yield
    sys.modules.pop("my_policies", None)


def test_a_module_that_the_environment_names_is_imported_when_a_name_is_unknown(own):
    assert registry.get("mine/always-first").cls.__name__ == "First"
    assert "mine/always-first" in [entry.name for entry in registry.entries("policy")]


def test_it_takes_arguments_by_name_in_the_shell(own):
    world = eh.quotas.BernoulliArms({"a": 0.7, "b": 0.5})

    def made(arguments):
        return next(iter(policies_of([f"always-first:{arguments}"], world, None, 0.0, 10).values()))

    policy = made("rates=.1,.2,patience=3")
    assert (policy.rates, policy.patience) == ([0.1, 0.2], 3)
    with pytest.raises(ArgumentError, match=r"--policy always-first: expected one of its settings .*, got 'rate'"):
        made("rate=1")
    with pytest.raises(ArgumentError, match="patience: expected a whole number, got "):
        made("patience=1.5")
    type(policy).__init__.__annotations__["rates"] = "OnlyForTypeCheckers"
    assert made("rates=.1,.2").rates == [0.1, 0.2]


def test_a_study_of_it_opens_in_a_process_that_did_not_import_it(own, tmp_path, monkeypatch):
    study = Study.create(tmp_path / "mine.evenhand", registry.get("mine/always-first").cls())
    assert study.ask().reason == "always"
    study.close()
    others = {name: entry for name, entry in registry._entries.items() if not name.startswith("mine/")}
    monkeypatch.setattr(registry, "_entries", others)
    sys.modules.pop("my_policies")
    with Study.open(tmp_path / "mine.evenhand") as again:
        assert again.ask().id == 2


TAKE = """
import evenhand as eh
from evenhand import registry
for name in ("quotas/fair-ucb", "quotas/promise", "sampling/label-queue", 1, "", None, []):
    try:
        eh.register(name)(type("FairUCB", (), {}))
    except eh.errors.RegistryError as error:
        print(error)
assert eh.quotas.FairUCB is registry.get("quotas/fair-ucb").cls
"""


def test_a_name_is_taken_by_evenhand_before_it_is_loaded_and_by_classes_of_other_files(own):
    done = subprocess.run([sys.executable, "-c", TAKE], capture_output=True, text=True, check=True)
    said = [line.partition(" is registered already, by evenhand.")[2] for line in done.stdout.splitlines()]
    assert [by.split(";")[0].split(".")[-1] for by in said] == ["FairUCB", "Promise", "LabelQueue", "", "", "", ""]
    assert done.stdout.count('name: expected a text such as "mine/always-first", got ') == 4
    first = registry.get("mine/always-first").cls
    sys.modules.pop("my_policies")
    again = importlib.import_module("my_policies").First  # its module ran anew
    assert first is not registry.get("mine/always-first").cls is again
    with pytest.raises(RegistryError, match=r"registered already, by my_policies\.First; choose another name"):
        exec(MODULE, {"__name__": "elsewhere"})


def test_a_baseline_is_found_by_its_name_and_offered_to_nobody():
    assert registry.get("quotas/lfg", "policy").baseline
    assert not registry.get("quotas/fair-ucb").baseline
    with pytest.raises(RegistryError, match="no policy is named 'quotas/lfh'; near it: ") as refusal:
        registry.get("quotas/lfh", "policy")
    assert "quotas/lfg" not in str(refusal.value)
    with pytest.raises(RegistryError, match="--policy: no policy is named 'zzz'; the policies are: ") as refusal:
        find_policy("zzz")
    assert "quotas/lfg" not in str(refusal.value)
    assert find_policy("epsilon-greedy").name == "learners/epsilon-greedy"  # sampling's is a baseline


def test_a_short_name_of_several_policies_is_refused(scratch_registry):
    registry.register("mine/ucb1")(type("Mine", (), {}))
    with pytest.raises(RegistryError, match="--policy: 'ucb1' may be learners/ucb1 or mine/ucb1; say which"):
        find_policy("ucb1")
    assert find_policy("ucb1", learner=True).name == "learners/ucb1"


def test_a_module_that_is_not_there_is_named(own, monkeypatch):
    monkeypatch.setenv("EVENHAND_IMPORT", "no_such_module")
    with pytest.raises(RegistryError, match="EVENHAND_IMPORT: the module 'no_such_module' cannot be imported"):
        registry.get("mine/other")


def test_a_module_in_the_working_folder_is_found_by_the_command(tmp_path):
    (tmp_path / "policies_of_mine.py").write_text(MODULE)
    command = [sys.executable, "-P", "-m", "evenhand", "list"]
    environment = {**os.environ, "EVENHAND_IMPORT": "policies_of_mine"}
    assert "mine/always-first" in subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)


def test_policies_of_other_packages_are_found_by_their_entry_points(tmp_path, monkeypatch, scratch_registry):
    (tmp_path / "their_policies.py").write_text(MODULE.replace("mine/", "theirs/"))
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[evenhand.policies]\nfirst = their_policies\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.get("theirs/always-first").cls.__name__ == "First"
    (about / "entry_points.txt").write_text("[evenhand.policies]\nfirst = no_such_module\n")
    with pytest.raises(RegistryError, match=r"first, a plugin \(no_such_module\), cannot be imported"):
        registry.entries()


def test_a_new_module_of_a_problem_is_found_without_being_imported_by_its_package(
    tmp_path, monkeypatch, scratch_registry
):
    (tmp_path / "newcomer.py").write_text(MODULE.replace("mine/", "quotas/"))
    monkeypatch.setattr(eh.quotas, "__path__", [*eh.quotas.__path__, str(tmp_path)])
    assert registry.get("quotas/always-first").cls.__name__ == "First"
    sys.modules.pop("evenhand.quotas.newcomer")
