"""Contexts of subjects are encrypted, and erased for good; what is left is checked, and no more is claimed."""

from __future__ import annotations

import struct
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

import evenhand as eh
from evenhand.errors import ArgumentError, ClosedTicketError, ContradictionError, MissingExtraError
from evenhand.studies import Store, Study, bandit_frame
from evenhand.studies.log import subjects as module
from evenhand.studies.store.schema import EVENTS, SNAPSHOTS, SUBJECTS

SHOWN = [0.12345678912345678, 0.23456789123456789]
NAME = "user-17-Beate"
KEY = "order-of-Beate-4711"


def policy():
    return eh.groups.LinearThompson({"a": "F", "b": "M"}, seed=1)


def talked(where, rounds=6, subject=NAME, **more):
    """A study of other people's rounds, and one of the subject's in between."""
    study = Study.create(where, policy(), name="ads")
    rng = np.random.default_rng(0)
    for number in range(rounds):
        study.tell(study.ask(rng.random((2, 2)), subject=f"other-{number}"), float(rng.random()))
    study.tell(study.ask([SHOWN, SHOWN[::-1]], subject=subject, **more), 1.0)
    for _ in range(rounds):
        study.tell(study.ask(rng.random((2, 2))), float(rng.random()))
    return study


def subjects(study):
    """The names of those of whom the store holds a key."""
    with study.store.reading() as connection:
        return connection.scalars(select(SUBJECTS.c.name)).all()


def traces(data):
    """Return what raw bytes still say of the subject."""
    sought = {"name": NAME.encode(), "key": KEY.encode()}
    sought |= {f"text {value}": repr(value).encode() for value in SHOWN}
    sought |= {f"double {value}": struct.pack("<d", value) for value in SHOWN}
    return {name for name, value in sought.items() if value in data}


def files(path):
    """Return the bytes of a store's file and of those beside it."""
    return b"".join(one.read_bytes() for one in Path(path).parent.iterdir() if one.name.startswith(Path(path).name))


def test_contexts_of_a_subject_are_kept_encrypted_and_read_as_ever(shared):
    study = talked(shared, key=KEY)
    plain = Study.create(study.store, policy(), name="plain")
    plain.ask([SHOWN, SHOWN[::-1]])
    assert study.log.record(7).given == plain.log.record(1).given == {"contexts": [SHOWN, SHOWN[::-1]]}
    with study.store.reading() as connection:
        stored = connection.scalars(select(EVENTS.c.given).where(EVENTS.c.study == study.log.number)).all()
        keys = connection.scalars(select(EVENTS.c.key).where(EVENTS.c.key.is_not(None))).all()
    assert not traces("".join(stored).encode())
    assert not traces("".join(keys).encode())
    assert (study.verify().ok, study.verify().notes) == (True, ())
    again = Study.open(study.store, "ads")
    assert again.policy.ask([SHOWN, SHOWN]) == study.policy.ask([SHOWN, SHOWN])


def test_an_erased_subject_is_in_no_file_of_the_store(tmp_path):
    path = tmp_path / "ads.evenhand"
    study = talked(path, key=KEY)
    assert traces(files(path)) == {"name"}
    assert study.erase(NAME) == (1, 0, True)
    assert traces(files(path)) == set()
    assert study.verify().ok
    study.close()
    assert traces(files(path)) == set()
    assert Study.open(path).verify().problems == ()


def test_an_erased_subject_is_in_no_table_of_a_server(database):
    study = talked(database, key=KEY)

    def heap():
        with study.store._ways.outside.engine.connect() as connection:
            connection.exec_driver_sql("CHECKPOINT")
            folder = connection.exec_driver_sql("SHOW data_directory").scalar()
            names = ("subjects", "events", "snapshots", "keys")
            paths = [connection.exec_driver_sql(f"SELECT pg_relation_filepath('{n}')").scalar() for n in names]
        return b"".join(Path(folder, one).read_bytes() for one in paths)

    assert traces(heap()) == {"name"}
    assert study.erase(NAME).purged
    assert traces(heap()) == set()


def test_what_is_left_is_verified_and_no_more_is_claimed(shared):
    study = talked(shared)
    before = study.verify()
    study.erase(NAME)
    after = study.verify()
    assert after.ok
    assert (after.decisions, after.told) == (before.decisions, before.told)
    assert (after.replayed, before.replayed) == (6 * 2, 13 * 2)  # none from the subject's to the erasure
    assert "the contexts of entry 13 were erased: from there on the chain of digests" in after.notes[0]
    assert after.notes[1].startswith("the state was saved after entry 27: replayed from there, taking that state")
    for _ in range(3):
        study.tell(study.ask(np.random.default_rng(1).random((2, 2))), 1.0)
    later = study.verify()
    assert (later.ok, later.replayed) == (True, after.replayed + 6)
    assert study.verify(since=later).ok
    assert study.verify(known=before.digest).ok


def test_the_promise_is_checked_at_every_round_after_an_erasure():
    policy = eh.quotas.DeadlineLearn(eh.learners.LinUCB(), {"a": 0.2, "b": 0.3}, tolerance=1)
    study = Study.create(":memory:", policy, name="ads")
    for number in range(20):
        offer = ["a"] if number % 5 == 4 else None
        study.tell(study.ask([SHOWN, SHOWN[::-1]], available=offer, subject=f"number {number % 3}"), 1.0)
    before, statistics = study.verify(), study.statistics()
    assert before.promise_kept
    study.erase("number 0")
    study.erase("number 1")
    after = study.verify()
    assert after.ok
    names = "promise", "promise_kept", "worst_shortfall", "worst_arm", "worst_round", "rounds_in_violation"
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    again = Study.open(study.store).statistics()
    assert (again.owed.tolist(), again.counts.tolist()) == (statistics.owed.tolist(), statistics.counts.tolist())
    assert study.log.record(5).given == {"available": ["a"], "erased": True}


def test_other_processes_go_on_after_an_erasure(shared):
    study = talked(shared)
    late, early = Study.open(shared), Study.open(shared)
    assert early.policy
    study.ask([SHOWN, SHOWN], subject=NAME)
    study.erase(NAME)
    for one in (late, early, study):
        one.tell(one.ask([SHOWN[::-1], SHOWN]), 0.5)
    assert study.verify().ok


def test_open_tickets_of_an_erased_subject_are_forgotten_and_two_snapshots_are_left():
    """The first and the last: all others may hold the contexts of open tickets."""
    study, asked = talked(":memory:"), []
    for subject in (NAME, "other"):
        asked.append(study.ask([SHOWN, SHOWN], subject=subject))
        study.state.snapshot()
    ours, theirs = asked
    assert study.erase(NAME)[:2] == (1, 1)
    with study.store.reading() as connection:
        assert len(connection.scalars(select(SNAPSHOTS.c.sequence)).all()) == 2
    assert study.open_tickets == [theirs.id]
    with pytest.raises(ClosedTicketError, match=f"ticket {ours.id} was forgotten before"):
        study.tell(ours, 1.0)
    assert study.tell(theirs, 1.0) == "told"
    assert study.log.record(ours.id).given == {"erased": True}
    assert study.verify().ok


def test_a_long_reader_delays_nobody_and_the_next_erasure_clears_the_files(shared):
    study = talked(shared)
    reader = Store.at(shared)
    with reader.reading() as connection:
        connection.execute(select(SUBJECTS)).all()
        assert study.erase(NAME) == (1, 0, False)
        study.ask([SHOWN, SHOWN], subject="other")
    assert study.erase("other").purged
    reader.close()
    assert study.verify().ok


def test_a_verification_continues_from_before_an_erasure():
    study = talked(":memory:")
    before = study.verify()
    study.tell(study.ask([SHOWN, SHOWN], subject=NAME), 1.0)
    study.erase(NAME)
    after = study.verify(since=before)
    assert after.ok
    assert after.entries == before.entries + 3
    assert "the contexts of entry 27 were erased" in after.notes[1]


def test_the_erasure_is_in_the_log_and_names_nobody_and_exports_show_what_is_left():
    study = talked(":memory:")
    contexts = [name for name in bandit_frame(study).columns if name.startswith("context_")]
    study.erase(NAME)
    entry = list(study.log.events())[-1]
    assert (entry.kind, entry.ticket, list(entry.given)) == ("erase", None, ["subjects"])
    assert study.erase(NAME) == study.erase("nobody") == (0, 0, True)
    assert study.log.sequence == entry.sequence
    assert study.frame()["given"][6] == {"erased": True}
    feedback = bandit_frame(study)
    assert [name for name in feedback.columns if name.startswith("context_")] == contexts
    assert feedback[contexts].isna().all(axis=1).tolist() == [False] * 6 + [True] + [False] * 6
    assert study.statistics().rounds == 13


def test_a_key_belongs_to_its_subject():
    study = Study.create(":memory:", policy(), name="ads")
    first = study.ask([SHOWN, SHOWN], subject=NAME, key=KEY)
    assert study.ask([SHOWN, SHOWN], subject=NAME, key=KEY) == first
    several = study.ask([SHOWN, SHOWN], subject=NAME, key=KEY, count=3)
    assert several[0] == first
    assert study.ask([SHOWN, SHOWN], subject=NAME, key=KEY, count=3) == several
    assert study.ask([SHOWN, SHOWN], subject="other", key=KEY).id == 4
    with pytest.raises(ContradictionError, match="was used before for a different ask"):
        study.ask([SHOWN, SHOWN[::-1]], subject=NAME, key=KEY)


def test_a_request_of_an_erased_subject_is_not_decided_again(shared):
    study = Study.create(shared, eh.quotas.DeadlineLearn(eh.learners.LinUCB(), {"a": 0.2, "b": 0.3}), name="ads")
    first = study.ask([SHOWN, SHOWN], available=["a"], subject=NAME, key=KEY)
    study.erase(NAME)
    for one in (study, Study.open(study.store)):
        again = one.ask([SHOWN, SHOWN], available=["a"], subject=NAME, key=KEY)
        assert (again.id, again.arm) == (first.id, first.arm)
        assert one.ask([SHOWN[::-1], SHOWN], available=["a"], subject=NAME, key=KEY).id == first.id
        with pytest.raises(ContradictionError, match="was used before for a different ask"):
            one.ask([SHOWN, SHOWN], available=["b"], subject=NAME, key=KEY)
        assert one.ask([SHOWN, SHOWN], subject="other", key=KEY).id == 2
    assert study.verify().ok
    assert subjects(study) == ["other"]


def test_a_key_means_the_same_decision_on_the_next_day(monkeypatch):
    study = Study.create(":memory:", policy(), name="ads")
    first = study.ask([SHOWN, SHOWN], subject=NAME, key=KEY)
    today = module.now()
    monkeypatch.setattr(module, "now", lambda: today + module.DAY)
    assert study.ask([SHOWN, SHOWN], subject=NAME, key=KEY) == first
    study.ask([SHOWN, SHOWN], subject=NAME)
    assert subjects(study) == [NAME] * 2


def test_contexts_older_than_a_time_are_erased_and_no_others(monkeypatch):
    study = Study.create(":memory:", policy(), name="ads")
    today = module.now()
    for age in (400, 366, 364, 0):
        monkeypatch.setattr(module, "now", lambda age=age: today - age * module.DAY)
        for name in (NAME, "other"):
            study.tell(study.ask([SHOWN, SHOWN], subject=name), 1.0)
    monkeypatch.undo()
    assert study.erase(older_than="365d")[:2] == (2, 0)
    assert [list(study.log.record(ticket).given) for ticket in range(1, 9)] == [["erased"]] * 4 + [["contexts"]] * 4
    assert study.erase(older_than=timedelta(days=365)) == (0, 0, True)
    assert study.verify().ok


def test_a_subject_that_cannot_be_and_one_of_a_refused_ask_are_not_kept():
    study = Study.create(":memory:", policy(), name="ads")
    for subject in ("", "x" * 201, "a\nb", 7, ["a"]):
        with pytest.raises(ArgumentError, match="subject: expected a text of up to 200 printable characters"):
            study.ask([SHOWN, SHOWN], subject=subject)
    with pytest.raises(ArgumentError, match="contexts"):
        study.ask([[float("nan")]], subject=NAME)
    assert (study.log.sequence, subjects(study)) == (0, [])


def test_what_cannot_be_erased_is_refused():
    study = talked(":memory:")
    for given in ({}, {"subject": 7}, {"subject": "a", "older_than": "1d"}):
        with pytest.raises(ArgumentError, match="subject, older_than: expected one of them"):
            study.erase(**given)
    with pytest.raises(ArgumentError, match="older_than: expected a timedelta, seconds"):
        study.erase(older_than="soon")
    assert study.verify().notes == ()


def test_without_cryptography_it_is_said_what_to_install(monkeypatch):
    study = Study.create(":memory:", policy(), name="ads")
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'evenhand\[service\]'"):
        study.ask([SHOWN, SHOWN], subject=NAME)
    assert study.log.sequence == 0
