"""Summaries: views that begin with one show what a log read from its first entry shows, or the log is read."""

import random
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock, patch

import pytest
from sqlalchemy import delete, select, update

import evenhand as eh
from evenhand.errors import StoreError
from evenhand.saving.state import to_bytes
from evenhand.service.decision_index import Index
from evenhand.service.sessions import Session, Sessions
from evenhand.studies import Store, Study
from evenhand.studies.log.reader import Reader
from evenhand.studies.statistics.statistics import Statistics
from evenhand.studies.statistics.summaries import _seal, begin, keep
from evenhand.studies.store.schema import EVENTS, SUMMARIES
from tests.fuzzing import many
from tests.studies.test_verify import execute

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}


def plain_shares():
    return eh.quotas.FairUCB(SHARES, seed=1)


def changing():
    return eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, 5.0, seed=1)


def grouped():
    return eh.groups.LinearThompson({"ads": "F", "news": "M", "sports": "M"}, seed=1)


POLICIES = [plain_shares, changing, grouped]


def laid_open(statistics, index=None):
    """Everything that statistics go on from and an index holds, as data that can be compared."""
    return to_bytes(statistics.snapshot()), repr(index and vars(index))


def begun(study):
    """The statistics from which a view goes on."""
    return begin(study.store, study.log)[0]


def fresh(study):
    """The statistics and the index of the whole log, read from its first entry."""
    statistics, index = Statistics(study.log.first_policy), Index()
    for entry in study.log.entries():
        index.take(entry, statistics.take(entry))
    statistics.flush()
    return statistics, index


def converse(study, rounds, seed, available=False):
    chance, waiting = random.Random(seed), study.open_tickets
    for _ in range(rounds):
        shown = {"available": ["ads", "news"]} if available and chance.random() < 0.3 else {}
        if hasattr(study.log.first_policy, "groups"):
            shown["contexts"] = [[chance.random()] for _ in SHARES]
        waiting.append(study.ask(**shown).id)
        if chance.random() < 0.7:
            ticket = waiting.pop(chance.randrange(len(waiting)))
            study.tell(ticket, chance.random()) if chance.random() < 0.8 else study.forget(ticket)


def session_of(study):
    return Session(Study.open(study.store, study.name))


def keep_all(session):
    """Write a summary however little is new."""
    shown(session)
    session._kept = -(10**9)
    session.keep(1)


def shown(session):
    with session.reading() as (statistics, index):
        return laid_open(statistics, index)


def stored(store):
    with store.reading() as connection:
        return connection.execute(select(SUMMARIES)).one()


@pytest.mark.parametrize("made", POLICIES)
@pytest.mark.parametrize(("seed", "moments"), [*((seed, 400) for seed in range(many(3))), (7, 4)])
def test_a_view_from_a_summary_is_the_view_of_the_log(made, seed, moments, monkeypatch):
    """Of groups, with their gaps, and with few moments, which are thinned, as well."""
    monkeypatch.setattr("evenhand.studies.statistics.statistics.MOMENTS", moments)
    study = Study.create(":memory:", made(), name="ads")
    for part in range(4):
        converse(study, random.Random(seed * 10 + part).randrange(1, 80), seed, available=made is changing and part > 0)
        if made is changing and part == 1:
            study.add("more", 0.1)
            study.retire("sports")
        if made is changing and part == 2:
            study.change({"ads": 0.3, "news": 0.2, "more": 0.1})
        before = stored(study.store).sequence if part else 0
        with patch.object(Reader, "entries", autospec=True, side_effect=Reader.entries) as read:
            session = session_of(study)
            keep_all(session)
            assert [call.args[1] for call in read.call_args_list] == [before]
        assert stored(study.store).sequence == study.log.sequence
        assert shown(session_of(study)) == shown(session) == laid_open(*fresh(study))
        assert laid_open(Study.open(study.store).statistics()) == laid_open(fresh(study)[0])
    assert (begun(study).gaps is None) == (made is not grouped)
    assert study.verify().ok


def test_a_summary_that_was_changed_is_not_believed():
    store = Store.at(":memory:", create=True)
    study, other = (Study.create(store, plain_shares(), name=name) for name in ("ads", "other"))
    for one, rounds in ((study, 40), (other, 30)):
        converse(one, rounds, 1)
        keep_all(session_of(one))
    mine = SUMMARIES.c.study == study.log.number
    with store.reading() as connection:
        row = connection.execute(select(SUMMARIES).where(mine)).one()
        foreign = connection.execute(select(SUMMARIES).where(~mine)).one()
    wanted = laid_open(*fresh(study))
    for change in (
        *({"seal": f"{int(row.seal, 16) ^ 1 << bit:064x}"} for bit in range(0, 256, 80)),
        *({"seal": "ö"}, {"state": b""}, {"state": b"", "seal": _seal(study.log, b"")}),
        *({"sequence": number} for number in (0, -1, 2**62)),
        {"seal": foreign.seal, "state": foreign.state, "sequence": foreign.sequence},
        *(
            {"state": row.state[:at] + bytes([row.state[at] ^ 1]) + row.state[at + 1 :]}
            for at in range(0, len(row.state), len(row.state) // 10)
        ),
    ):
        execute(study, update(SUMMARIES).where(mine).values(row._asdict() | change))
        assert shown(session_of(study)) == wanted
        assert study.verify().ok


@pytest.fixture
def study():
    """A study of many decisions and its summary."""
    study = Study.create(":memory:", plain_shares(), name="ads")
    converse(study, 40, 1)
    keep_all(session_of(study))
    return study


def test_a_summary_of_a_log_that_was_written_anew_is_not_believed(study):
    last = EVENTS.c.sequence == study.log.sequence
    execute(study, update(EVENTS).where(last).values(digest="0" * 64))
    assert begun(study).sequence == 0
    execute(study, delete(EVENTS).where(last))
    assert begun(Study.open(study.store)).sequence == 0


def test_a_summary_of_another_version_is_not_believed(study, monkeypatch):
    assert begun(study).sequence == study.log.sequence
    monkeypatch.setattr("evenhand.studies.statistics.summaries.policy_version", lambda policy: "0.9.9+00000000")
    assert begun(study).sequence == 0


def test_a_forged_summary_changes_no_verification(study):
    found = study.verify()
    statistics, _ = fresh(study)
    statistics.counts[:] = 0
    keep(study.store, study.log, statistics, {"index": Index().snapshot()})
    assert begun(study).counts.sum() == 0
    again = Study.open(study.store).verify()
    assert (again, again.ok) == (found, True)


def test_a_summary_that_cannot_be_written_harms_nobody(monkeypatch):
    study = Study.create(":memory:", plain_shares(), name="ads")
    session = session_of(study)
    for _ in range(2):
        converse(study, 20, 1)
        with monkeypatch.context() as patched:
            patched.setattr("evenhand.service.sessions.keep", Mock(side_effect=StoreError("read only")))
            patched.setattr("evenhand.service.sessions.LEAST", 1)
            assert shown(session) == shown(session_of(study))
        assert session._kept == study.log.sequence, "it is not tried again at every view"
        assert shown(session) == shown(session_of(study))


def test_sessions_of_several_processes_keep_at_the_same_time(shared):
    study = Study.create(shared, plain_shares(), name="ads")
    converse(study, 10, 1)
    stores = [Store.at(shared) for _ in range(4)]

    def kept(store):
        for _ in range(10):
            keep(store, study.log, begun(study), {})

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(kept, stores)) == [None] * 4


def test_a_summary_is_written_when_enough_is_new_and_at_the_end(monkeypatch):
    store = Store.at(":memory:", create=True)
    study = Study.create(store, plain_shares(), name="ads")
    sessions = Sessions(store)
    session = sessions.open("ads")
    converse(study, 30, 1)
    shown(session)
    assert (session._statistics.sequence, session._kept) == (study.log.sequence, 0)
    monkeypatch.setattr("evenhand.service.sessions.LEAST", 10)
    shown(session)
    kept = study.log.sequence
    assert stored(store).sequence == session._kept == kept
    study.ask()
    shown(session)
    assert stored(store).sequence == kept, "too little is new"
    monkeypatch.setattr("evenhand.service.sessions.LEAST", 10_000)
    for _ in range(600):
        study.tell(study.ask(), 1.0)
    shown(session)
    sessions.stop()
    assert stored(store).sequence == study.log.sequence
