"""Stores that older versions wrote: they open, verify and go on, and no open ticket is lost."""

import gzip
from pathlib import Path

import pytest
from sqlalchemy import delete

from evenhand.studies import Study
from evenhand.studies.log.codec import decision_from
from evenhand.studies.store.schema import SNAPSHOTS
from tests.studies.older.make import conversations

OLDER = Path(__file__).parent / "older" / "0.1.0.evenhand.gz"
NAMES = ("drawn", "grouped", "alike", "labels", "doses")
OPEN = {name: [6, 8, 10, 11, 12, 14] for name in NAMES} | {"shares": [6, 8, 10, 11, 12, *range(14, 21)]}


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "older.evenhand"
    path.write_bytes(gzip.decompress(OLDER.read_bytes()))
    return path


@pytest.mark.parametrize("name", OPEN)
def test_a_study_of_an_older_version_goes_on(store, name):
    _, shown, happened = conversations()[name]
    study = Study.open(store, name)
    assert study.open_tickets == OPEN[name]
    assert study.verify().problems == ()
    for ticket in OPEN[name]:
        late, decision = decision_from(study.record(ticket).decision), study.ask(*shown())
        for one in (late, decision):
            assert study.tell(one, *happened(one)) == "told"
    assert study.open_tickets == []
    assert study.verify().problems == ()
    study.close()
    assert Study.open(store, name).verify().problems == ()


@pytest.mark.parametrize("name", ["shares", "drawn"])
def test_reasons_that_were_worded_otherwise_replay(store, name):
    study = Study.open(store, name)
    with study.store.writing() as connection:
        connection.execute(delete(SNAPSHOTS).where(SNAPSHOTS.c.sequence > 0))
    assert study.open_tickets == OPEN[name]
    reasons = study.frame()["reason"].tolist()
    assert reasons.count("never tried before") > 1
    finding = study.verify()
    assert finding.problems == ()
    assert finding.replayed == finding.entries
    assert "worded otherwise" in finding.notes[0]
    study.ask()
    assert study.verify().problems == ()


def test_keys_of_an_older_version_are_found(store):
    study = Study.open(store, "shares")
    before = study.sequence
    assert [one.id for one in study.ask(key="night", count=3)] == [15, 16, 17]
    assert [one.id for one in study.ask(key="batch", count=3)] == [18, 19, 20]
    assert study.ask(key="round 5").id == 6
    assert study.sequence == before
