"""Studies that promise more than shares of single arms: slates, arms on offer, changes, caps, windows."""

import random
from fractions import Fraction as F

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ClosedTicketError, ContradictionError, RewardError, SharesError
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Ask, Change, Store, Study, bandit_frame
from evenhand.studies.statistics.state import summarize

SHARES = {"a": F(1, 2), "b": "1/5", "c": 0.1}


def opened_anew(study):
    return Study.open(study.store, study.name)


def changing(place=":memory:", **more):
    return Study.create(place, DeadlineLearn(UCB1(), SHARES, 1.0, cap_tolerance=1, **more), name="ads")


def three_changes(study, rounds=60):
    """Ask with arms off offer and with changes in between."""
    rng, arms = random.Random(1), ["a", "b", "c"]
    for t in range(rounds):
        if t == rounds // 4:
            assert study.add("d", "1/5", cap="1/3") == 0
            arms.append("d")
        if t == rounds // 2:
            study.retire("b")
            arms.remove("b")
        if t == 3 * rounds // 4:
            assert set(study.change({"a": F(1, 3), "c": "1/3", "d": 1 / 3})) <= {"a", "c", "d"}
        decision = study.ask(available=rng.sample(arms, 2)) if t % 3 == 0 else study.ask()
        if t % 5:
            study.tell(decision, float(rng.random() < 0.5))


def test_changes_are_entries_of_the_log_and_replay(shared):
    study = changing(Store.at(shared, create=True))
    three_changes(study)
    changes = [event for event in study.log.events() if event.kind in ("add", "retire", "change")]
    assert [(event.kind, event.ticket, event.given) for event in changes] == [
        ("add", None, {"arm": "d", "share": "1/5", "cap": "1/3"}),
        ("retire", None, {"arm": "b"}),
        ("change", None, {"shares": {"a": "1/3", "c": "1/3", "d": 1 / 3}}),
    ]
    assert changes[0].decision == {"returned": 0}
    assert changes[1].decision is None
    again, alone = opened_anew(study), study.policy
    found = again.verify()
    assert (found.ok, found.promise_kept, found.replayed) == (True, True, study.log.sequence)
    assert again.ask() == alone.ask()
    statistics = study.statistics()
    assert statistics.labels == ["a", "b", "c", "d"]
    assert statistics.counts.tolist() == list(study.policy.pulls.values())
    assert [(epoch.round, epoch.kind, list(epoch.shares)) for epoch in statistics.epochs] == [
        (1, None, ["a", "b", "c"]),
        (16, "add", ["a", "b", "c", "d"]),
        (31, "retire", ["a", "c", "d"]),
        (46, "change", ["a", "c", "d"]),
    ]
    promised = {row["label"]: row["promised"] for row in summarize(study)["arms"]}
    assert (promised["b"], promised["d"]) == (0.0, pytest.approx(1 / 3))


def test_a_verification_continues_over_a_change():
    study = changing()
    three_changes(study, 40)
    early = study.verify()
    study.add("e", 0)
    three = study.verify(since=early)
    for _ in range(9):
        study.tell(study.ask(), 1.0)
    later, whole = study.verify(since=three), study.verify()
    assert later.ok
    assert later.worst_shortfall == whole.worst_shortfall
    assert (later.worst_arm, later.worst_round, later.decisions) == (whole.worst_arm, whole.worst_round, 49)


def test_a_refused_change_leaves_no_trace():
    study = changing()
    study.tell(study.ask(), 1.0)
    before = study.policy.snapshot()
    for refusal, call, *given in [
        *((SharesError, study.change, {"a": 1, "b": 1, "c": 1}), (SharesError, study.add, "d", 0.5)),
        *((ArgumentError, study.add, "a", 0.1), (ArgumentError, study.retire, "z")),
        *((ArgumentError, study.change, None), (ArgumentError, study.change, object())),
    ]:
        with pytest.raises(refusal):
            call(*given)
    for offer in ([], ["z"]):
        with pytest.raises(ArgumentError):
            study.ask(available=offer)
    after = study.policy.snapshot()
    assert (study.log.sequence, after["composed"], after.keys()) == (2, False, before.keys())
    assert study.verify().ok


def test_who_changed_a_promise_is_on_record():
    study = changing()
    assert study.run([Change(kind="retire", given={"arm": "b"}, actor="ab12"), Ask()])[0] is None
    assert [event.actor for event in study.log.events()] == ["ab12", None]


def test_slates_are_logged_told_and_told_again():
    study = Study.create(":memory:", DeadlineLearn(Thompson(), {"a": 0.5, "b": 0.7, "c": 0.3, 7: 0.1}, plays=2, seed=1))
    decision = study.ask(key="night")
    again = opened_anew(study).ask(key="night")
    assert (again, again.arms, again.indexes) == (decision, decision.arms, decision.indexes)
    by_arm = dict(zip(decision.arms, [1.0, 0.0], strict=True))
    for reward in (1.0, {"a": 1.0}):
        with pytest.raises(RewardError):
            study.tell(decision, reward)
    assert study.tell(decision, {str(arm): reward for arm, reward in by_arm.items()}) == "told"
    assert study.tell(decision.id, [1.0, 0.0]) == study.tell(study.sign(1), by_arm) == "already told"
    with pytest.raises(ContradictionError):
        study.tell(decision, [1.0, 1.0])
    assert study.log.record(1).told == {"reward": [1.0, 0.0]}
    assert study.log.record(1).decision["arms"] == list(decision.arms)
    late = study.ask()
    study.forget(late)
    with pytest.raises(ClosedTicketError):
        study.tell(late, [1.0, 0.0])
    table = study.frame()
    assert [tuple(arms) for arms in table["arms"]] == [decision.arms, late.arms]
    assert table["reward"].tolist() == [[1.0, 0.0], None]
    with pytest.raises(ArgumentError, match="one arm each"):
        bandit_frame(study)


def test_open_slates_are_told_by_another_process():
    study = Study.create(":memory:", DeadlineLearn(UCB1(), [0.5, 0.7, 0.3, 0.1], plays=2))
    asked = [study.ask(available=[0, 1, 3] if t % 2 else None) for t in range(30)]
    other = opened_anew(study)
    for decision in reversed(asked):
        assert other.tell(decision.id, [float(arm == 1) for arm in decision.arms]) == "told"
    found, statistics = study.verify(), study.statistics()
    assert (found.ok, found.promise_kept, found.open) == (True, True, 0)
    assert (statistics.rounds, statistics.counts.sum()) == (30, 60)
    assert statistics.rewards[1] == statistics.counts[1]


def test_of_an_arm_that_is_owed_nothing_no_round_is_shown_in_which_it_was_owed():
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.0, "b": 0.9}, seed=1))
    for _ in range(20):
        study.tell(study.ask(), 0.0)
    last = [row["last_owed_round"] for row in summarize(study)["arms"]]
    assert last[0] is None
    assert last[1] > 0
    study.change({"a": 0.1, "b": 0.0})
    assert summarize(study)["arms"][1]["last_owed_round"] is None


def test_of_a_slate_no_arm_is_said_to_be_owed_as_the_log_does_not_say_which_was():
    rule = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.5, "b": 0.5, "c": 0.9}, plays=2, seed=1)
    study = Study.create(":memory:", rule)
    reasons = []
    for _ in range(20):
        reasons.append((decision := study.ask()).reason_code)
        study.tell(decision, [0.0, 0.0])
    assert "forced" in reasons
    assert [row["last_owed_round"] for row in summarize(study)["arms"]] == [None, None, None]
