"""What the page says to type is what the command takes, in a store with several studies."""

from __future__ import annotations

import shlex

import pytest

from evenhand.quotas import FairUCB
from evenhand.studies import Store, Study
from tests.cli.shell import answer


@pytest.fixture
def store(tmp_path):
    place = str(tmp_path / "several.evenhand")
    studies = Store.at(place, create=True)
    for name in ("ads", "new"):
        Study.create(studies, FairUCB({"a": 0.2, "b": 0.3}, seed=1), name=name).ask()
    studies.close()
    return place


def test_a_study_says_what_to_type(visitor, store):
    for study, command in (
        ("ads", "evenhand tell STORE --study ads TICKET REWARD"),
        ("new", "evenhand ask STORE --study new"),
    ):
        visitor.visit(f"key={visitor.key}&study={study}")
        visitor.sees("STORE is the file or address that is being served")
        assert command in [code.text for code in visitor.all("main code")]
        typed(command, store)


def test_a_store_without_studies_says_what_to_type(visitor, played, store, monkeypatch):
    monkeypatch.setattr(played.store, "names", list)
    visitor.visit(f"key={visitor.key}")
    visitor.sees("This store has no study yet")
    visitor.sees("STORE is the file or address that is being served")
    (command,) = [code.text for code in visitor.all("main code")]
    typed(command.replace("--name ads", "--name more"), store)
    studies = Store.at(store)
    assert studies.names() == ["ads", "new", "more"]
    studies.close()


def typed(command, store):
    """Run a command as it is written, with what its capitals stand for."""
    meant = {"STORE": store, "TICKET": "1", "REWARD": "0.5"}
    _, *words = shlex.split(command)
    answer(*(meant.get(word, word) for word in words))
