"""What opening a study takes: statements that are ready, and no policy that is not needed."""

import pytest
from sqlalchemy import event, text, update

import evenhand as eh
from evenhand.errors import StateFileError, UnknownStudyError
from evenhand.studies import Store, Study
from evenhand.studies.log import snapshots
from evenhand.studies.store.schema import SNAPSHOTS

SHARES = {"ads": 0.2, "news": 0.3}


def created(place, name="ads", **more):
    store = Store.at(place, create=True)
    Study.create(store, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, 5, seed=1), name=name, **more)
    return store


@pytest.mark.parametrize("workers", [1, 2])
def test_no_statement_is_built_to_open_ask_tell_and_exchange(place, workers):
    store = created(place, workers=workers)
    built = []

    @event.listens_for(store._engine, "before_execute")
    def _build(connection, statement, *_):
        built.append(str(statement))

    several = workers > 1 and store.file is None
    study = Study.open(store, worker="w1" if several else None)
    if workers == 1 or several:
        assert study.tell(study.ask(key="first"), 1.0) == "told"
    if several:
        study.exchange()
    assert study.sequence >= 0
    assert built == []
    with store.reading() as connection:
        connection.execute(text("SELECT 1"))
    assert built == ["SELECT 1"]


def test_no_statement_is_built_to_tell_where_tickets_expire(place):
    store = created(place, expire_after="7d")
    study, built = Study.open(store), []
    study.tell(study.ask(), 1.0)
    event.listen(store._engine, "before_execute", lambda *given: built.append(str(given[1])))
    assert study.tell(study.ask(), 0.0) == "told"
    assert built == []


def test_a_worker_is_opened_without_restoring_a_policy(monkeypatch):
    store = created(":memory:", workers=2)
    read = snapshots.State.read
    monkeypatch.setattr(snapshots.State, "read", lambda *_: pytest.fail("a policy was restored"))
    study = Study.open(store, "ads", worker="w1")
    monkeypatch.setattr(snapshots.State, "read", read)
    assert study.promise.shares == eh.quotas.FairUCB(SHARES).promise.shares
    assert study.ask().arm in SHARES


def test_a_worker_decides_beside_a_first_state_that_is_damaged(place):
    """Nothing of it is needed to decide; verification names it."""
    store = created(place, workers=2)
    where = store if store.in_memory else place
    number = Study.open(store, "ads")._number
    with store.writing() as connection:
        connection.execute(update(SNAPSHOTS).where(SNAPSHOTS.c.study == number).values(state=b"PK"))
    study = Study.open(where, "ads", worker="w1")
    assert study.ask().arm in SHARES
    with pytest.raises(StateFileError, match="snapshot 0: truncated, damaged or not a state file"):
        study.join("w3")


def test_a_name_that_is_no_text_is_unknown(place):
    store = created(place)
    for name in (5, 5.0, True):
        with pytest.raises(UnknownStudyError, match="no study is named"):
            Study.open(store, name)
    assert not Study.open(store, "ads").has_digest(5)
