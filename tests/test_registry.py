"""Policies of one's own are known to every command, once the environment names their module."""

import sys

import pytest

from evenhand import registry
from evenhand.errors import RegistryError
from evenhand.studies import Study

MODULE = '''
import evenhand as eh

@eh.register("mine/always-first")
class First:
    """Play the first arm."""
    round = 0
    open_tickets = ()
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


def test_a_study_of_it_opens_in_a_process_that_did_not_import_it(own, tmp_path, monkeypatch):
    study = Study.create(tmp_path / "mine.evenhand", registry.get("mine/always-first").cls())
    assert study.ask().reason == "always"
    study.close()
    monkeypatch.setattr(registry, "_entries", {})
    sys.modules.pop("my_policies")
    with Study.open(tmp_path / "mine.evenhand") as again:
        assert again.ask().id == 2


def test_a_module_that_is_not_there_is_named(own, monkeypatch):
    monkeypatch.setenv("EVENHAND_IMPORT", "no_such_module")
    with pytest.raises(RegistryError, match="EVENHAND_IMPORT: the module 'no_such_module' cannot be imported"):
        registry.get("mine/other")
