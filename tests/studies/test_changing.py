"""Studies that promise more than shares of single arms: slates, arms on offer, changes, caps, windows, outages."""

import json
import random
from fractions import Fraction as F

import pandas as pd
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.errors import ArgumentError, ClosedTicketError, ContradictionError, RewardError, SharesError
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Ask, Change, Store, Study, bandit_frame
from evenhand.studies.statistics.state import summarize
from tests.cli.shell import answer
from tests.studies.test_proof_attacks import in_javascript, judged, proof_of
from tests.studies.test_verify import told

SHARES = {"a": F(1, 2), "b": "1/5", "c": 0.1}


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
    again, alone = Study.open(study.store), study.policy
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
    study.add("e", 0)
    for _ in range(9):
        study.tell(study.ask(), 1.0)
    assert told(study.verify(since=found)) == told(study.verify())
    promised = {row["label"]: row["promised"] for row in summarize(study)["arms"]}
    assert (promised["b"], promised["d"]) == (0.0, pytest.approx(1 / 3))


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
    again = Study.open(study.store).ask(key="night")
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
    assert Study.open(study.store).forget(late.id) == "forgotten"
    with pytest.raises(ClosedTicketError):
        study.tell(late, [1.0, 0.0])
    statistics = study.statistics()
    assert (statistics.rounds, statistics.counts.sum()) == (2, 4)
    assert statistics.rewarded.tolist() == [index in decision.indexes for index in range(4)]
    assert statistics.rewards.tolist() == [index == decision.indexes[0] for index in range(4)]
    table = study.frame()
    assert [tuple(arms) for arms in table["arms"]] == [decision.arms, late.arms]
    assert table["reward"].tolist() == [[1.0, 0.0], None]
    with pytest.raises(ArgumentError, match="one arm each"):
        bandit_frame(study)


def test_neither_an_arm_that_is_owed_nothing_nor_one_of_a_slate_is_shown_with_a_round_in_which_it_was_owed():
    """Of a slate the log does not say which arm was owed."""
    study = Study.create(":memory:", DeadlineLearn(UCB1(), {"a": 0.0, "b": 0.9}, seed=1))
    slates = Study.create(":memory:", DeadlineLearn(UCB1(), {"a": 0.5, "b": 0.5, "c": 0.9}, plays=2, seed=1))
    for _ in range(20):
        study.tell(study.ask(), 0.0)
        slates.tell(slates.ask(), [0.0, 0.0])
    assert "forced" in slates.frame()["decision"].str["reason_code"].tolist()
    last, of_slates = ([row["last_owed_round"] for row in summarize(one)["arms"]] for one in (study, slates))
    assert of_slates == [None] * 3
    assert last[0] is None
    assert last[1] > 0
    study.change({"a": 0.1, "b": 0.0})
    assert summarize(study)["arms"][1]["last_owed_round"] is None


# ---------------------------------------------------------------------- arms that come and go under caps


PROMISE = Promise({"a": "25%", "b": "10%", "c": 0}, caps={"a": "40%", "b": "50%"}, offers="any")
OUTAGES = {("a",): range(10, 20), ("a", "b"): range(20, 45), ("b", "c"): range(45, 60)}


def test_verify_all_audits_and_all_verifiers_of_a_proof_agree_on_excused_rounds(tmp_path):
    path, rng = tmp_path / "s.evenhand", random.Random(1)
    study = Study.create(path, DeadlineLearn(Thompson(), PROMISE, seed=1), name="calls")
    for round in range(80):
        offer = next((offer for offer, rounds in OUTAGES.items() if round in rounds), None)
        decision = study.ask(**({} if offer is None else {"available": list(offer)}))
        study.tell(decision, float(rng.random() < {"a": 0.9, "b": 0.5, "c": 0.1}[decision.arm]))
        if round == 30:
            earlier = study.verify()
    files = [str(tmp_path / f"log.{kind}") for kind in ("csv", "parquet")]
    for file in files:
        answer("export", path, "--out", file)
    logs = study.frame(), pd.read_csv(files[0]), *files
    found = [eh.audit.promise(log, arm="arm", promise=PROMISE) for log in logs]
    first = found[0]
    assert first.kept
    assert first.excused.plays > 5
    assert first.excused.away["c"] == first.excused.plays
    for one in found:
        assert (one.kept, one.excused, one.worst_shortfall) == (True, first.excused, first.worst_shortfall)
    verified = study.verify()
    assert (verified.ok, verified.promise_kept, verified.worst_shortfall) == (True, True, first.worst_shortfall)
    later = study.verify(since=earlier)
    assert told(later) == told(verified)
    assert {first.notes[-1]} <= {*verified.notes} < {*later.notes}
    assert first.notes[-1] in study.statistics().notes
    lines, known = proof_of(study, tmp_path), verified.checkpoint
    assert known["kept"]
    assert judged(lines, [known]) == (True, True)
    said, sound = in_javascript([(lines, [known])])[0]
    assert sound
    assert json.loads(said[1]) == known


def test_a_change_adds_up_what_was_excused_before_and_after():
    changing = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), PROMISE), name="two")
    for _ in range(5):
        changing.ask(available=["a"])
    before = changing.statistics().excused
    assert before == (3, 2, 5, {"b": 3, "c": 3})
    changing.change(PROMISE)
    for _ in range(5):
        changing.ask(available=["b"])
    assert changing.statistics().excused == (5, 2, 9, {"b": 3, "c": 5, "a": 2})
    assert changing.verify().promise_kept
