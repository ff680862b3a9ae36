"""Stores that an older version divided into regions: they are read and verified, and decide on with what they have."""

import tarfile
from pathlib import Path

import pytest

from evenhand.studies import Study

OLDER = Path(__file__).parent / "older" / "regions.tar.gz"
"""A study with two workers at home and two in the region "asia", of which one has left, after 60 decisions each, and
after both had exchanged reports; written by commit ae7d3f9."""
NOTES = {
    "home": "region 'asia' was not read: the promise holds whatever it decides within its endowment",
    "asia": "these are the logs of region 'asia' alone, within its endowment",
}


@pytest.fixture(params=NOTES)
def part(request, tmp_path):
    with tarfile.open(OLDER) as files:
        files.extractall(tmp_path, filter="data")
    return request.param, tmp_path / f"{request.param}.evenhand"


def test_they_are_read_and_verified(part):
    name, store = part
    study = Study.open(store)
    found = study.verify()
    assert (found.problems, found.notes) == ((), (NOTES[name],))
    assert (found.decisions, found.promise_kept) == (60, True)
    assert len(study.frame()) == 60
    taken = [
        event.given["peers"]
        for event in study.log_of(study.membership().members["w1"]).events()
        if event.kind == "take"
    ]
    other = "asia:w1" if name == "home" else "home:w1"
    assert any(other in peers for peers in taken)


def test_their_workers_decide_and_exchange_within_what_they_were_given(part):
    _, store = part
    worker = Study.open(store, worker="w1")
    before = min(worker.room().values())
    for _ in range(40):
        worker.tell(worker.ask(), 1.0)
    worker.exchange()
    found = Study.open(store).verify()
    assert (found.problems, found.decisions, found.promise_kept) == ((), 100, True)
    assert 0 < min(found.room.values()) <= before


def test_a_worker_that_joins_is_paid_from_what_is_left(part):
    name, store = part
    study = Study.open(store)
    joined = study.join("late").membership().members["late"]
    assert joined.number == {"home": 103, "asia": 5}[name]
    assert study.verify().problems == ()
