"""What opening a study takes: statements that are ready."""

import pytest
from sqlalchemy import event, text

import evenhand as eh
from evenhand.errors import UnknownStudyError
from evenhand.studies import Store, Study

SHARES = {"ads": 0.2, "news": 0.3}


def created(place, name="ads", **more):
    store = Store.at(place, create=True)
    Study.create(store, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, 5, seed=1), name=name, **more)
    return store


def test_no_statement_is_built_to_open_ask_and_tell(place):
    store = created(place)
    built = []

    @event.listens_for(store._engine, "before_execute")
    def _build(connection, statement, *_):
        built.append(str(statement))

    study = Study.open(store)
    assert study.tell(study.ask(key="first"), 1.0) == "told"
    assert study.log.sequence >= 0
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


def test_a_name_that_is_no_text_is_unknown(place):
    store = created(place)
    for name in (5, 5.0, True):
        with pytest.raises(UnknownStudyError, match="no study is named"):
            Study.open(store, name)
    assert not Study.open(store, "ads").log.has_digest(5)
