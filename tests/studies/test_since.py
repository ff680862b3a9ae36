"""Verification that goes on from where an earlier one ended: as strict about what is new, honest about what is not."""

import pytest
from sqlalchemy import delete, insert

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from evenhand.studies.log.chain import digest_of
from evenhand.studies.store.schema import EVENTS, SNAPSHOTS
from tests.studies.test_verify import WITHOUT_SNAPSHOTS, change, execute, told

SHARES = {"ads": 0.2, "news": 0.3}


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr("evenhand.studies.log.replay.ENTRIES", 8)
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    converse(study, 9)
    return study


def converse(study, rounds):
    for n in range(rounds):
        late = study.ask()
        if n % 3:
            study.tell(late, n % 5 / 4)


def test_what_was_added_since_any_mark_is_verified_and_the_whole_is_reported(study):
    mark = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1)).verify()
    with pytest.raises(ArgumentError, match='since: expected a mark of this study, got "another study\'s"'):
        study.verify(since=mark)
    mark = study.verify()
    for rounds in (1, 0, 7, 30):
        before = mark.entries
        converse(study, rounds)
        mark = study.verify(since=mark)
        assert mark.ok
        assert told(mark) == told(study.verify())
        assert (mark.since, mark.replayed) == (before, mark.entries - before)
        assert mark.notes == (f"entries 1 to {before} were not read: an earlier verification found them sound",)
    assert Study.open(study.store).verify(since=mark.mark).replayed == 0


def test_a_change_after_the_mark_is_found_and_one_before_it_is_what_was_assumed_not_to_happen(study):
    mark = study.verify()
    converse(study, 5)
    change(study, 3, at=5)
    assert study.verify(since=mark).ok
    assert not study.verify().ok
    change(study, mark.entries + 2, at=5)
    finding = Study.open(study.store).verify(since=mark)
    expected = f"entry {mark.entries + 2} was changed after it was written: its digest does not match"
    assert (finding.problems[0], finding.mark) == (expected, None)


def test_a_log_that_no_longer_leads_to_the_mark_is_found(study):
    mark = study.verify()
    change(study, mark.entries, digest="0" * 64)
    said = f"entry {mark.entries} is not the one that the earlier verification ended with"
    assert Study.open(study.store).verify(since=mark).problems[0] == said
    execute(study, *(delete(table).where(table.c.sequence > 5) for table in (EVENTS, SNAPSHOTS)))
    assert Study.open(study.store).verify(since=mark).problems[0] == said


def test_a_history_that_was_written_anew_after_the_mark_is_replayed(study):
    mark = study.verify()
    converse(study, 4)
    execute(study, WITHOUT_SNAPSHOTS)
    with study.store.writing() as connection:
        log, before = list(study._log.rows(connection, mark.entries)), mark.digest
        connection.execute(delete(EVENTS).where(EVENTS.c.sequence > mark.entries))
        for entry in log:
            other = entry._replace(decision=(entry.decision or "").replace("ads", "news") or None)
            other = other._replace(digest=(before := digest_of(before, other)))
            connection.execute(insert(EVENTS).values(study=1, **other._asdict()))
    assert "written by version" in Study.open(study.store).verify(since=mark).problems[0]


def test_what_is_no_mark_is_refused(study):
    sound = study.verify().mark
    mark = from_bytes(sound)
    without = {name: part for name, part in mark["count"].items() if name != "outcomes"}
    for since, said in [
        *((other, "as bytes, got") for other in ("0" * 64, 7, True)),
        *((other, "got 'no mark, or a damaged one'") for other in (b"", b"{}\n", sound[:40] + b"?" + sound[41:])),
        *((to_bytes(other), "got 'no mark of this version'") for other in (mark | {"count": without}, without, [7])),
    ]:
        with pytest.raises(ArgumentError, match=f"since: expected the mark of an earlier verification,.*{said}"):
            study.verify(since=since)


def test_a_finding_with_problems_leaves_no_mark(study):
    change(study, 3, at=5)
    with pytest.raises(ArgumentError, match="since: expected"):
        study.verify(since=study.verify())
