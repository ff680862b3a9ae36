"""Shares of tokens in studies: weights told late, replayed, verified and audited."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ContradictionError, InFlightError
from evenhand.learners import UCB1
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Study
from evenhand.studies.statistics.gauges import gauges_of
from evenhand.studies.statistics.state import summarize
from tests.cli.shell import call

SHARES = {"A": "1/4", "B": "1/5", "C": 0}


def study_of(in_flight, place=":memory:", largest=4000, **more):
    owed = eh.Promise(SHARES, 12_000, weight="tokens", largest=largest, in_flight=in_flight)
    return Study.create(place, DeadlineLearn(UCB1(), owed, seed=1), name="calls", **more)


def talk(study, in_flight, rounds, seed=7):
    """Ask through two openings, tell weights late and in any order, forget some; return what is still open."""
    random, waiting, studies = np.random.default_rng(seed), [], (study, Study.open(study.store))
    for number in range(rounds):
        waiting.append(studies[number % 2].ask())
        while len(waiting) > in_flight or (waiting and random.random() < 0.3):
            decision = waiting.pop(int(random.integers(len(waiting))))
            if random.random() < 0.1:
                study.forget(decision)
            else:
                study.tell(decision, float(decision.arm == "C"), weight=int(random.integers(0, 4001)))
    return waiting


def expected(study):
    """Return the largest r W - W_i in the order of decisions, the arm and the round, with what is open at its worst."""
    worst, sums = (Fraction(0), "A", 0), {(one, arm): 0 for one in "AB" for arm in "AB*"}
    for round in range(1, study.statistics().rounds + 1):
        record = study.log.record(round)
        told = 0 if record.told is None else record.told["weight"]
        for arm, share in (("A", Fraction(1, 4)), ("B", Fraction(1, 5))):
            mine = record.decision["arm"] == arm
            weight = (0 if mine else 4000) if record.status == "open" else told
            sums[arm, "*"] += weight
            sums[arm, arm] += weight * mine
            worst = max(worst, (share * sums[arm, "*"] - sums[arm, arm], arm, round), key=lambda one: one[0])
    return worst


@pytest.mark.parametrize("in_flight", [0, 3])
def test_verification_counts_weights_that_come_late_and_what_is_open_at_its_worst(in_flight):
    study = study_of(in_flight)
    waiting = talk(study, in_flight, 60)
    assert bool(waiting) == bool(in_flight)
    found, mark = study.verify(), study.verify().mark
    assert (found.ok, found.promise_kept, found.repeated, found.weight) == (True, True, "all", "tokens")
    assert (found.checkpoint["rounds"], found.checkpoint["kept"], found.checkpoint["worst"]) == (60, None, None)
    worst, arm, round = expected(study)
    assert (found.worst_shortfall, found.worst_arm, found.worst_round) == (float(worst), arm, round)
    assert 0 < worst <= 12_000
    for decision in waiting:
        study.tell(decision, 0.5, weight=4000)
    talk(study, in_flight, 40, seed=8)
    worst, arm, round = expected(study)
    for one in (study.verify(), study.verify(since=mark)):
        assert (one.ok, one.rounds_in_violation) == (True, 0)
        assert (one.worst_shortfall, one.worst_arm, one.worst_round) == (float(worst), arm, round)
    assert study.verify(since=mark).since == found.entries


def test_a_report_in_another_spelling_is_the_same_and_another_weight_is_not():
    study = study_of(1, largest="4000.00")
    study.ask()
    said = [study.tell(1, 1.0, weight=one) for one in (12.5, "12.50", Decimal("12.5"))]
    assert said == ["told", "already told", "already told"]
    with pytest.raises(ContradictionError, match=r"weight '12\.5', not reward 1\.0, weight 13"):
        study.tell(1, 1.0, weight=13)
    for weight in (None, 4001, -1, "many"):
        with pytest.raises(ArgumentError, match="weight: expected tokens from 0 to 4000"):
            study.tell(study.ask(key="one"), 1.0, weight=weight)
    known = study_of(None)
    first = known.ask(key="k", weight="900")
    assert known.ask(key="k", weight=900) == first
    with pytest.raises(ContradictionError, match="was used before"):
        known.ask(key="k", weight=901)
    assert known.ask(key="k", weight=901, sticky=True) == first


def test_what_is_open_stops_the_next_ask_also_after_reopening_and_is_named_with_its_time(tmp_path, clock):
    with study_of(1, tmp_path / "calls.evenhand", expire_after="1h") as study:
        study.ask(count=2)
    with Study.open(tmp_path / "calls.evenhand") as study:
        with pytest.raises(InFlightError, match=r"got '2 open';.*first are 1 since 2027-01-15 08:00:00 UTC, 2 since"):
            study.ask()
        study.tell(2, 1.0, weight=7)
        assert study.ask().id == 3
        clock.pass_by(2 * 3_600_000_000)
        assert study.ask().id == 4  # those before have expired, and weigh nothing
        assert gauges_of(study.statistics())["promise_kept"] == 1
        assert study.frame()["tokens"].tolist()[:3] == [0, 7, 0]
        assert study.verify().ok
    with pytest.raises(ArgumentError, match="expire_reward: expected None where weights are told late"):
        study_of(1, expire_after="1h", expire_reward=0)


def test_the_state_of_a_study_says_weights_in_their_unit():
    study = study_of(3)
    talk(study, 3, 40)
    state, frame = summarize(study), study.frame()
    told = frame[frame["status"] == "told"].groupby("arm")["tokens"].sum()
    assert {row["label"]: row["weight"] for row in state["arms"]} == told.to_dict()
    assert [row["share"] for row in state["arms"]] == pytest.approx((told / told.sum()).tolist())
    assert (state["promise"]["weight"], state["promise"]["broken_from"]) == ("tokens", None)
    assert max(row["owed"] for row in state["arms"]) == gauges_of(study.statistics())["shortfall"]


@pytest.mark.parametrize(("in_flight", "name"), [(None, "log.csv"), (0, "log.parquet"), (3, "log.csv")])
def test_verify_and_an_audit_of_the_export_give_the_same_number(in_flight, name, tmp_path):
    place, random = tmp_path / "calls.evenhand", np.random.default_rng(3)
    with study_of(in_flight, place) as study:
        for _ in range(60 if in_flight is None else 0):
            offer = [arm for arm in SHARES if random.random() < 0.7] or None
            study.tell(study.ask(weight=int(random.integers(1, 4001)), available=offer), 1.0)
        for decision in talk(study, in_flight, 60) if in_flight is not None else ():
            study.tell(decision, 1.0, weight=1)
        verified, owed = study.verify(), study.statistics().promise
    call("export", place, "--out", tmp_path / name)
    audited = eh.audit.promise(tmp_path / name, arm="arm", promise=owed)
    assert audited.kept
    assert ("available" in study.frame()) == (in_flight is None)
    assert verified.worst_shortfall == audited.worst_shortfall > 0
    assert verified.worst_round == audited.worst_round


def test_a_person_who_is_erased_leaves_the_weight():
    study = study_of(None)
    for number in range(8):
        study.tell(study.ask(weight=number * 100, subject=f"user {number % 2}"), 1.0)
    study.erase("user 1")
    assert study.frame()["tokens"].tolist() == [number * 100 for number in range(8)]
    assert study.verify().ok
