"""Sessions: what is made ready when a study is opened, and what stays when the service ends."""

from __future__ import annotations

import asyncio
import threading

import pytest
from sqlalchemy import select

from evenhand.descriptions.policies import policy_from
from evenhand.errors import UnknownStudyError
from evenhand.groups import LinearThompson
from evenhand.kernels.compose import LazyKernel
from evenhand.quotas import FairUCB
from evenhand.service.routes.system import gauges_of
from evenhand.service.routes.views import SERIES, series_of
from evenhand.service.sessions import Session, Sessions, warm_up
from evenhand.studies import Ask, Store, Study
from evenhand.studies.store.schema import SNAPSHOTS
from tests.waiting import until


@pytest.fixture
def store():
    with_studies = Store.at(":memory:", create=True)
    yield with_studies
    with_studies.close()


def test_the_first_request_finds_the_decisions_compiled(store):
    study = Study.create(store, FairUCB({"a": 0.2, "b": 0.3}, seed=1), name="ads")
    assert isinstance(study.state.now().policy.engine.calls.ask, LazyKernel)
    warm_up(study)
    assert not isinstance(study.state.seen.policy.engine.calls.ask, LazyKernel)
    assert study.ask().round == 1


def test_what_cannot_be_rehearsed_is_asked_all_the_same(store):
    for policy in (
        LinearThompson({"a": "F", "b": "M"}, seed=1),
        policy_from({"policy": "similarity/lipschitz-ucb", "dimension": 1, "seed": 1}),
    ):
        study = Study.create(store, policy, name=f"n{len(store.names())}")
        warm_up(study)
        assert study.ask([[0.1], [0.2]]).id == 1


def test_the_course_of_many_arms_has_fewer_rounds(store):
    study = Study.create(store, FairUCB([0.5 / 500] * 500, arms=500, seed=1), name="many")
    for _ in range(120):
        study.ask()
    session = Session(study)
    series = series_of(session, 400)
    session.writer.stop()
    assert len(series["labels"]) == 500
    assert len(series["round"]) * 500 <= SERIES
    assert (series["round"][0], series["round"][-1]) == (1, 120)


def test_studies_that_wrote_keep_their_state_when_the_service_stops(store):
    for name in ("wrote", "idle"):
        Study.create(store, FairUCB({"a": 0.2, "b": 0.3}, seed=1), name=name)
    sessions = Sessions(store)
    writer = sessions.open("wrote").writer
    sessions.open("idle")
    asyncio.run(writer.run([Ask()] * 3))
    sessions.stop()
    with store.reading() as connection:
        kept = connection.execute(select(SNAPSHOTS.c.study, SNAPSHOTS.c.sequence).order_by(*SNAPSHOTS.primary_key))
        assert sorted(map(tuple, kept)) == [(1, 0), (1, 3), (2, 0)]


@pytest.mark.parametrize("name", ["a b", "a\0b", "", "n" * 101, "../ads"])
def test_a_name_that_no_study_can_have_never_reaches_the_store(store, monkeypatch, name):
    monkeypatch.setattr(Study, "open", None)
    with pytest.raises(UnknownStudyError, match="no study is named"):
        Sessions(store).open(name)


def test_reading_many_studies_leaves_no_thread(store):
    for number in range(20):
        Study.create(store, FairUCB({"a": 0.2, "b": 0.3}, seed=1), name=f"n{number}")
    sessions, before = Sessions(store), threading.active_count()
    assert len(asyncio.run(gauges_of(sessions))) == 20
    until(lambda: threading.active_count() <= before)
    asyncio.run(sessions.open("n3").writer.run([Ask()]))
    assert threading.active_count() == before + 1
    sessions.stop()
    assert threading.active_count() == before
