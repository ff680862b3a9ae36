"""States that evenhand 0.1 saved: they load in any thread, without evaluating text, and studies made of them go on."""

import ast
import gzip
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, update

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import StateFileError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from evenhand.studies.log.snapshots import State
from evenhand.studies.store.schema import SNAPSHOTS
from tests.reference import format_1

OLD = Path(__file__).parent / "states"
NEXT = "x z y x x z y z y y z x z x z y y y x z x y y z y y z x y x"
"""What evenhand 0.1 decided next, after loading fair-learn.state."""
POLICIES = [entry.name for entry in registry.entries() if entry.kind == "policy"]


@pytest.fixture
def nothing_is_parsed(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("text was evaluated")

    monkeypatch.setattr(ast, "parse", refuse)


def test_a_policy_saved_by_version_0_1_goes_on(nothing_is_parsed):
    policy = eh.load(OLD / "fair-learn.state")
    assert (policy.round, policy.open_tickets, policy.tolerance) == (41, [41], 0.5)
    assert " ".join(policy.ask().arm for _ in range(30)) == NEXT


def test_tickets_with_contexts_are_kept(nothing_is_parsed):
    policy = eh.load(OLD / "group-fair.state")
    assert policy.open_tickets == [13]
    policy.tell(13, 0.5)
    assert policy.open_tickets == []


@pytest.mark.parametrize("name", POLICIES)
def test_the_state_of_every_policy_is_read_in_both_formats(name, nothing_is_parsed):
    policy, _ = examples(registry.get(name).cls)[0]
    new = to_bytes(policy)
    assert to_bytes(from_bytes(format_1.to_bytes(policy))) == new
    assert to_bytes(from_bytes(new)) == new


@pytest.mark.parametrize("form", [to_bytes, format_1.to_bytes])
def test_many_threads_load_at_once(form):
    data, failed = form(eh.load(OLD / "fair-learn.state")), []

    def load_often():
        try:
            for _ in range(40):
                from_bytes(data)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=load_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_an_old_file_cut_off_anywhere_is_refused():
    data = (OLD / "group-fair.state").read_bytes()
    for length in {0, 30, len(data) // 2, len(data) - 30, len(data) - 1}:
        with pytest.raises(StateFileError, match="truncated, damaged or not a state file"):
            from_bytes(data[:length])


def test_a_study_of_version_0_1_goes_on_and_verifies(tmp_path):
    place = tmp_path / "ads.evenhand"
    place.write_bytes(gzip.decompress((OLD / "ads.evenhand.gz").read_bytes()))
    with Study.open(place) as study:
        assert (study.verify().ok, study.verify().entries) == (True, 41)
        study.tell(21, 1.0)
        for _ in range(10):
            study.tell(study.ask(), 0.5)
        study.snapshot()
        assert (study.verify().ok, study.verify().decisions) == (True, 31)
    with Study.open(place) as study:
        assert study.ask().round == 32
        assert study.verify().ok


@pytest.fixture
def study(monkeypatch):
    """A study whose snapshots, after every fourth entry, are of format 1."""
    monkeypatch.setattr("evenhand.studies.log.replay.ENTRIES", 4)
    study = Study.create(":memory:", eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1), name="ads")
    for reward in (1.0, 0.0, 0.5, 1.0):
        study.tell(study.ask(), reward)
    keep(study, lambda policy: format_1.to_bytes(policy))
    return Study.open(study.store)


def keep(study, form):
    with study.store.writing() as connection:
        for row in connection.execute(select(SNAPSHOTS)).all():
            changed = update(SNAPSHOTS).where(SNAPSHOTS.c.sequence == row.sequence)
            connection.execute(changed.values(state=form(State.read(row.state, "snapshot").policy)))


def test_old_snapshots_are_compared_by_what_they_hold(study):
    finding = study.verify()
    assert (finding.problems, finding.replayed) == ((), 8)
    study.tell(study.ask(), 1.0)
    assert study.verify().ok


def changed_reward(policy):
    policy.tell(policy.ask(), 0.25)
    return format_1.to_bytes(policy)


@pytest.mark.parametrize("form", [changed_reward, lambda policy: b"damaged"])
def test_an_old_snapshot_of_another_state_is_found(study, form):
    with study.store.reading() as connection:
        last = connection.execute(select(SNAPSHOTS).where(SNAPSHOTS.c.sequence == 4)).one()
    with study.store.writing() as connection:
        other = update(SNAPSHOTS).where(SNAPSHOTS.c.sequence == 4)
        connection.execute(other.values(state=form(State.read(last.state, "snapshot").policy)))
    assert study.verify().problems == ("the snapshot after entry 4 is not the state that replay comes to",)
