"""The statistics against its slow twin; what it remembers, for every kind of policy."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Ask, Forget, Study, Tell
from evenhand.studies.statistics.gauges import gauges_of
from evenhand.studies.statistics.promise_check import PromiseCheck
from evenhand.studies.statistics.state import summarize
from evenhand.studies.statistics.statistics import MOMENTS, Statistics
from tests.reference.studies import shown
from tests.strategies import any_shares
from tests.studies.conftest import Scripted, example_study

FIELDS = ("sequence", "rounds", "told", "forgotten", "forced", "labels")
ARRAYS = ("counts", "rewarded", "last_owed")


def compared(study, statistics, promise=None):
    """See that a statistics shows what its twin finds in the events."""
    policy = study.policy
    labels = getattr(policy, "arms", None) or getattr(policy, "groups", None) or ()
    shares, slack = (None, 0) if promise is None else (promise.shares, promise.slack)
    twin = shown(list(study.log.events()), list(labels), shares, slack)
    assert {name: getattr(statistics, name) for name in FIELDS} == {name: twin[name] for name in FIELDS}
    assert {name: getattr(statistics, name).tolist() for name in ARRAYS} == {name: twin[name] for name in ARRAYS}
    assert {ticket: indices for ticket, (indices, _) in statistics.open.items()} == twin["open"]
    assert statistics.rewards.tolist() == pytest.approx(twin["rewards"])
    assert statistics.reward == (None if twin["reward"] is None else pytest.approx(twin["reward"]))
    if promise is not None:
        assert (statistics.violations, statistics.first_violation) == (twin["violations"], twin["first_violation"])
        assert statistics.kept is (twin["violations"] == 0)
        assert statistics.owed.tolist() == pytest.approx(twin["owed"])
        worst = statistics.worst
        assert (worst is None) == (twin["worst"] is None)
        if worst is not None:
            assert worst[0] == pytest.approx(float(twin["worst"]), abs=1e-9)
            at = shown(until(study, worst[2]), list(labels), shares, slack)
            assert at["owed"][list(labels).index(worst[1])] == pytest.approx(worst[0], abs=1e-9) or worst[2] == 0
    return twin


def until(study, round):
    """The events up to the end of a round."""
    events = list(study.log.events())
    asked = [n for n, event in enumerate(events) if event.kind == "ask"]
    return events[: asked[round - 1] + 1] if round else []


steps = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "ask", "tell", "forget", "look"]), st.integers(0, 40)), max_size=60
)


@settings(max_examples=60)
@given(any_shares(most_arms=5), st.sampled_from([0.0, 1.0, 2.5]), steps)
def test_any_conversation_is_followed(shares, tolerance, steps):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(eh.registry, "_entries", dict(eh.registry._entries))
        eh.register("quotas/broken")(Scripted)
        study = Study.create(":memory:", Scripted(shares, tolerance), name="any")
        operations, looks = [], [Statistics(study.policy)]
        for step, number in steps:
            if step == "ask":
                reason = "forced" if number % 3 == 0 else "other"
                operations.append(Ask(given={"index": number % len(shares), "reason_code": reason}))
            elif step != "look":
                tell = Tell(ticket=number + 1, given={"reward": number / 40})
                operations.append(tell if step == "tell" else Forget(ticket=number + 1))
            else:
                study.run(operations)
                operations.clear()
                looks.append(study.statistics())
        study.run(operations)
        again = study.statistics()
        compared(study, again, study.policy.promise)
        whole = Statistics(study.policy)
        with study.store.reading() as connection:
            whole.advance(study._log.rows(connection))
        assert (whole.worst, whole.violations, whole.kept) == (again.worst, again.violations, again.kept)
        assert [moment.round for moment in whole.moments] == [moment.round for moment in again.moments]
        assert [look.sequence for look in looks] == sorted(look.sequence for look in looks)


def test_a_trail_that_was_handed_out_does_not_change():
    study = Study.create(":memory:", eh.quotas.FairUCB([0.3, 0.3], seed=1))
    study.tell(study.ask(), 1.0)
    before = study.statistics()
    for _ in range(5):
        study.tell(study.ask(), 0.0)
    study.ask()
    now = study.statistics()
    assert (before.rounds, before.counts.sum(), before.open, before.reward) == (1, 1, {}, (1.0, 1.0))
    assert (len(before.moments), list(before.last_arms), before.worst[2] <= 1) == (1, [0], True)
    assert (now.rounds, now.counts.sum(), list(now.open)) == (7, 7, [7])


def test_long_logs_are_thinned_and_keep_their_ends(scripted):
    study = Study.create(":memory:", scripted([0.5, 0.25]), name="long")
    asked = 0
    for upto in (1, 2, 799, 800, 801, 1601, 2500, 3333):
        study.run([Ask(given={"index": t % 2}) for t in range(asked, upto)])
        asked = upto
        moments = study.statistics().moments
        rounds = [moment.round for moment in moments]
        assert (rounds[0], rounds[-1], rounds) == (1, upto, sorted(set(rounds)))
        assert min(upto, MOMENTS) <= len(rounds) <= 2 * MOMENTS + 1
        gaps = np.diff(rounds)
        assert upto <= 2 or gaps[1:-1].size == 0 or len(set(gaps[1:-1].tolist())) == 1
        for t, counts, owed, *_ in moments:
            assert counts.tolist() == [(t + 1) // 2, t // 2]
            assert owed.tolist() == pytest.approx([t / 2 - (t + 1) // 2, t / 4 - t // 2])
    compared(study, study.statistics(), study.policy.promise)


def test_rewards_of_each_moment_and_the_recent_ones(scripted):
    study = Study.create(":memory:", scripted([0.5, 0.25]), name="long")
    for start in range(0, 600, 100):
        asks = [Ask(given={"index": 0})] * 100
        tells = [Tell(ticket=start + n + 1, given={"reward": float(start >= 300)}) for n in range(100)]
        study.run([one for pair in zip(asks, tells, strict=True) for one in pair])
    statistics = study.statistics()
    assert statistics.reward == (0.5, 1.0)
    assert gauges_of(statistics)["recent_reward"] == 1.0
    at = {moment.round: moment[3:5] for moment in statistics.moments}
    assert np.isnan(at[1]).all()
    assert at[301] == (0.0, 0.0)
    assert at[401] == (0.25, 0.5)
    assert at[600] == (pytest.approx(299 / 599), 1.0)


def test_a_promise_is_checked_between_all_moments(scripted):
    """One round in thousands at which it was broken is found, exactly."""
    arms = [n % 3 for n in range(4500)]
    arms[4322:4324] = [0, 2]
    study = Study.create(":memory:", scripted(["1/3", "1/3", "1/3"]), name="long")
    study.run([Ask(given={"index": arm}) for arm in arms])
    statistics = study.statistics()
    assert (statistics.violations, statistics.first_violation, statistics.kept) == (1, (4323, 2), False)
    assert statistics.worst == (pytest.approx(1.0), 2, 4323)
    assert 4323 not in [moment.round for moment in statistics.moments]


# ---------------------------------------------------------------------- every kind of policy


@pytest.mark.filterwarnings("ignore:radius")  # who never objects, however unequal the chances, has a large metric
@pytest.mark.parametrize("select", ["one", "many"])
def test_similarity_draws_nobody_one_or_several(select):
    study = Study.create(":memory:", eh.similarity.LipschitzUCB(2, select=select, seed=3))
    random = np.random.default_rng(1)
    for t in range(30):
        k = 2 + t % 4
        decision = study.ask(random.uniform(0, 0.6, (k, 2)) - 0.3 * (t % 2))
        rewards = random.uniform(-1, 1, k).round(3)
        if decision.index < 0:
            study.tell(decision, [] if select == "many" else None)
        else:
            study.tell(decision, [rewards[i] for i in decision.arm] if select == "many" else rewards[decision.index])
    statistics = study.statistics()
    twin = compared(study, statistics)
    asks = [event for event in study.log.events() if event.kind == "ask"]
    sizes = [len(event.decision["arm"]) for event in asks] if select == "many" else []
    drawn = sum(event.decision["index"] >= 0 for event in asks)
    assert sum(twin["counts"]) == (sum(sizes) if select == "many" else drawn)
    assert select == "one" or max(sizes) > 1
    assert statistics.worst is statistics.owed is statistics.kept is statistics.first_violation is None
    assert {moment.counts.size for moment in statistics.moments} == {len(statistics.labels)}
    assert [moment.round for moment in statistics.moments] == list(range(1, 31))


@pytest.mark.parametrize(
    ("name", "rounds"), [("sampling/uniform", 6), ("sampling/proportional", 6), ("interventions/one-shot", 1)]
)
def test_samplers_draw_groups_and_allocations_are_rounds_of_no_arm(name, rounds):
    study = example_study(name, rounds)
    statistics = study.statistics()
    twin = compared(study, statistics)
    assert twin["labels"] == list(getattr(study.policy, "groups", []))
    assert sum(twin["counts"]) == (rounds if twin["labels"] else 0)
    assert (statistics.rounds, statistics.told, statistics.open) == (rounds, rounds, {})
    assert (statistics.reward, statistics.groups) == (None, [])
    assert [moment.round for moment in statistics.moments] == [*range(1, rounds + 1)]


GROUPS = {"a": ("F", "x"), "b": ("M", "y"), "c": ("F", "y")}


def test_groups_are_those_of_the_round():
    study = Study.create(":memory:", eh.groups.TopInterval(GROUPS, seed=1))
    contexts = np.eye(3, 2)
    assert study.statistics().groups == ["F & x", "M & y", "F & y"]
    expected = dict.fromkeys(["F & x", "M & y", "F & y"], 0)
    homes = [None, {"a": ("F", "y")}, {"b": ["F", "x"], "c": ("M", "y")}, [("M", "y"), ("M", "y"), "F & x"]]
    for t in range(12):
        home = homes[t % 4]
        decision = study.ask(contexts) if home is None else study.ask(contexts, home)
        study.tell(decision, 0.5)
        own = GROUPS | (dict(zip("abc", home, strict=True)) if isinstance(home, list) else home or {})
        mine = own[decision.arm]
        expected[mine if isinstance(mine, str) else " & ".join(mine)] += 1
    statistics = study.statistics()
    assert dict(zip(statistics.groups, statistics.group_counts.tolist(), strict=True)) == expected
    assert [statistics.groups[code] for code in statistics.last_groups].count("F & y") == expected["F & y"]
    assert {row["label"]: row["share"] * 12 for row in summarize(study)["groups"]} == pytest.approx(expected)
    assert study.verify().problems == ()
    again = Study.open(study.store)
    assert again.ask(contexts, {"a": ("F", "y")}, key="k") == study.ask(contexts, {"a": ["F", "y"]}, key="k")


def test_labels_that_are_numbers_take_groups_by_number():
    study = Study.create(":memory:", eh.groups.TopInterval(["F", "M"], seed=1))
    assert study.ask(np.eye(2), {0: "M"}).id == 1
    assert study.log.record(1).given["groups"] == {"$items": [[0, "M"]]}
    assert study.statistics().group_counts.sum() == 1
    assert study.verify().problems == ()


def test_a_quota_around_a_group_policy_counts_both():
    inner = eh.groups.TopInterval({"a": "F", "b": "M"}, seed=1)
    study = Study.create(":memory:", eh.quotas.FairLearn(inner, {"a": 0.4, "b": 0.4}, seed=1))
    for _ in range(8):
        study.tell(study.ask(np.eye(2)), 0.5)
    statistics = study.statistics()
    assert (statistics.groups, statistics.kept) == (["F", "M"], True)
    assert statistics.group_counts.tolist() == statistics.counts.tolist()


@pytest.mark.parametrize("place", [":memory:", "ads.evenhand"])
def test_whoever_reads_the_events_can_write_and_holds_nobody_up(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = Study.create(place, eh.quotas.FairUCB([0.3, 0.3], seed=1))
    study.run([Ask()] * 3)
    for event in study.log.events():
        study.tell(event.ticket, 1.0)
    assert study.log.sequence == 6
    half = study.log.events()
    assert next(half).sequence == 1
    with ThreadPoolExecutor(1) as elsewhere:
        elsewhere.submit(study.ask).result()
    assert [event.sequence for event in half] == [2, 3, 4, 5, 6]
    assert [event.sequence for event in study.log.events(5)] == [6, 7]
    assert list(study.log.events(7)) == []


@pytest.mark.parametrize("saved", [False, True])
def test_the_rows_of_promises_are_those_of_numpy_through_changes(saved):
    """Random plays break a share in many stretches; one arm is retired, one comes back, then all is promised anew."""
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.3, "b": 0.2, "c": 0})
    check, plays = PromiseCheck(policy), np.random.default_rng(4).choice([0, 1], p=[0.29, 0.71], size=300)
    for number, arm in enumerate(plays.tolist()):
        if number == 100:
            check.changed("retire", {"arm": "c"}, None)
        if number == 180:
            check.changed("add", {"arm": "c", "share": 0}, 0)
        if number == 220:
            check.changed("change", {"shares": {"a": 0.25, "b": 0.2, "c": 0}}, None)
        if saved and number % 60 == 59:
            other = PromiseCheck(policy)
            other.restore(from_bytes(to_bytes(check.snapshot()), "check"))
            check = other
        check.decided((arm,))
    rows = {(row["arm"], row["limit"], row["since"]): row for row in check.promises}
    broken = np.zeros(300, bool)
    for arm, share, start, end in ((0, "3/10", 0, 220), (0, "1/4", 220, 300), (1, "1/5", 0, 220), (1, "1/5", 220, 300)):
        mine, ticks = np.cumsum(plays[start:end] == arm), np.arange(1, end - start + 1)
        behind = float(Fraction(share)) * ticks - mine
        broken[start:end] |= (wrong := np.floor(behind + mine + 1e-9) > mine)
        row, at = rows.pop(("ab"[arm], share, start + 1)), np.flatnonzero(wrong) + start + 1
        assert (row["had"], row["of"], row["share"]) == (mine[-1], ticks[-1], mine[-1] / ticks[-1])
        assert (row["behind"], row["worst_shortfall"]) == pytest.approx((behind[-1], max(0.0, behind.max())))
        assert row["rounds_in_violation"] == wrong.sum()
        assert (row["first_broken"], row["last_broken"]) == ((at[0], at[-1]) if at.size else (0, 0))
        assert row["stretches"] == (np.diff(at, prepend=-1) > 1).sum()
        assert row["until"] == (end if end < 300 else 0)
    assert {row["limit"] for row in rows.values()} == {"0"}
    assert check.violations == broken.sum() > 3
    assert check.first_violation[0] == np.flatnonzero(broken)[0] + 1
