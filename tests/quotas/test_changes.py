"""Several arms a round, arms that are not on offer, and promises that change in mid-run, through ask and tell."""

import random
import warnings
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand import Promise
from evenhand.errors import ArgumentError, EvenhandError, RewardError, SharesError, UnknownArmError
from evenhand.learners import UCB1, LinUCB, Thompson, TsallisINF
from evenhand.promises.clause import Clause
from evenhand.quotas import LFG, DeadlineLearn, FairUCB
from tests.fuzzing import many
from tests.promises.judge import CheckerCounts
from tests.reference.quotas import LFG as Twin
from tests.strategies import Stubborn


def test_a_ranking_from_elsewhere_decides_the_slate():
    policy = DeadlineLearn(Stubborn([3, 1, 0]), [0, 0, 0, 0], plays=2)
    assert policy.ask().arms == (3, 1)
    assert policy.ask(available=[0, 1, 2]).arms == (1, 0)


def test_a_slate_is_told_whole_or_not_at_all():
    policy = DeadlineLearn(UCB1(), {"a": 0.5, "b": 0.2, "c": 0.1}, plays=2)
    decision = policy.ask()
    for bad in (1.0, [1.0], {"a": 1.0}, [0.0, 2.0], [0.0, "x"], {"a": 0.0, "c": 1.0}, [True, False]):
        with pytest.raises(RewardError):
            policy.tell(decision, bad)
    assert policy.open_tickets == [1]
    policy.tell(decision, dict(zip(decision.arms, [0.0, 1.0], strict=True)))
    assert policy.open_tickets == []
    with pytest.raises(EvenhandError, match="told or forgotten"):
        policy.tell(decision, [0.0, 1.0])


def fits(books):
    """Whether all floors can be kept from the start, by counting every round far beyond what any of them needs."""
    return all(sum(max(0, count.limit(s)) for count in books.counts) <= s for s in range(1, 300))


@settings(max_examples=many(40), deadline=None)
@given(seed=st.integers(0, 10**6), slack=st.integers(0, 2), saved=st.booleans())
def test_what_is_carried_and_dropped_is_exact(seed, slack, saved):
    rng = random.Random(seed)

    def drawn():
        weights, rest = [rng.randint(0, 4) for _ in range(3)], rng.choice([0, 0, 1, 5])
        whole = max(1, sum(weights) + rest)
        return {arm: F(weight, whole) for arm, weight in zip("abc", weights, strict=True)}

    def begun(shares, carried):
        return CheckerCounts(
            [Clause("floor", (arm,), shares[arm], slack) for arm in "abc" if shares[arm]], "abc", carried
        )

    shares = drawn()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        policy, books = DeadlineLearn(Stubborn(rng.randrange(3)), shares, slack), begun(shares, {})
        for round in range(60):
            assert books.enter(0b111, 1 << policy.ask().index) is None
            if rng.random() < 0.4:
                shares, claims, carried = drawn(), books.claims("abc"), {}
                for members, lag in sorted(claims.items(), key=lambda one: -one[1]):  # the largest first
                    (arm,) = members
                    if shares[arm] and fits(begun(shares, carried | {members: lag})):
                        carried[members] = lag
                dropped = {arm: float(claims[members]) for members in claims.keys() - carried for arm in members}
                assert policy.change(shares) == dropped
                books = begun(shares, carried)
            if saved and round == 30:
                rebuilt = policy.snapshot()
                policy = DeadlineLearn.restored(rebuilt | {"state": list(rebuilt["state"])})


def test_arms_retire_down_to_one_whose_share_still_changes():
    policy = DeadlineLearn(UCB1(), {"a": 0.3, "b": 0.2, "c": 0.1})
    policy.retire("a")
    policy.retire("b")
    assert policy.change({"c": 0.4}) == {}
    assert [policy.ask().arm for _ in range(3)] == ["c"] * 3
    with pytest.raises(ArgumentError, match="without which another arm stays on offer"):
        policy.retire("c")
    policy.add("a", 0.5)
    assert {policy.ask().arm for _ in range(9)} == {"a", "c"}


@pytest.mark.parametrize("call", ["change", "add", "retire"])
def test_who_cannot_change_says_so(call):
    with pytest.raises(ArgumentError, match=r"a policy whose promise can change, got .*DeadlineLearn"):
        getattr(FairUCB({"a": 0.1, "b": 0.2}), call)("a")


@pytest.mark.parametrize(
    ("more", "says"),
    [({"lottery": 0.5}, "lottery: expected a lottery without caps"), ({"priced": True}, "priced: expected shares of")],
)
def test_neither_a_lottery_nor_prices_take_a_cap_that_they_cannot_keep(more, says):
    policy = DeadlineLearn(UCB1(), {"a": 0.1, "b": 0}, **more)
    for change in (
        lambda: policy.add("c", cap=0.5),
        lambda: policy.change(Promise({"a": 0.1, "b": 0}, caps={"b": 0.5}, offers="any")),
    ):
        with pytest.raises(ArgumentError, match=says):
            change()
    assert policy.arms == ("a", "b")
    assert policy.promise.caps is None


def test_a_new_arm_waits_until_its_promise_can_be_kept():
    policy = DeadlineLearn(Stubborn(0), [0.0, "1/4", "1/4", "1/4"])
    for _ in range(3):
        policy.update(policy.choose(), 0.0)
    with pytest.raises(ArgumentError, match="knows"):
        policy.add("new", "1/4")
    policy = DeadlineLearn(UCB1(), ["1/4", "1/4", "1/4", 0.0])
    policy.update(3, 1.0)
    for _ in range(3):
        policy.choose()  # rounds of which the others' rewards are still out
    assert policy.add("new", "1/4") <= 4 * 4
    for round in range(4, 204):
        policy.tell(policy.ask(), 1.0)
        assert all(policy.pulls[arm] >= round // 4 for arm in range(3))


@pytest.mark.parametrize("offer", [["c", "b"], ("b", "c", "b"), {"b", "c"}, {"c": 1, "b": 0}.keys(), iter("bcc")])
def test_an_offer_is_a_set_of_arms_whatever_holds_it(offer):
    policy, plain = (DeadlineLearn(UCB1(), {"a": 0.4, "b": 0.3, "c": 0.2}, plays=2) for _ in "12")
    assert policy.ask(available=offer) == plain.ask(available=["b", "c"])
    assert policy.pulls == plain.pulls == {"a": 0, "b": 1, "c": 1}
    assert LFG([0.2, 0.2, 0.2], plays=2).ask(available=[0, 1, 0, 1]).arms == (0, 1)


def refusals():
    made = lambda **more: DeadlineLearn(UCB1(), {"a": 0.4, "b": 0.3, "c": 0.2}, **more)  # noqa: E731
    gone = made()
    gone.retire("b")
    together = lambda shares=None, windows=None: DeadlineLearn(  # noqa: E731
        UCB1(), Promise({"c": 0, "d": 0} | (shares or {}), windows=windows, plays=2, offers="all")
    )
    return [
        (lambda: made(caps={"z": 0.4}, arms=["a", "b", "c"]), SharesError, "no arm 'z'"),
        (lambda: DeadlineLearn(UCB1(), [0.9, 0.8, 0.5], plays=2), SharesError, "more than 2 by 0.2"),
        *(
            (lambda lottery=lottery: made(lottery=lottery), ArgumentError, "lottery: exp")
            for lottery in (1.5, "much", True)
        ),
        (lambda: made(tolerance=1e300, lottery=0.5), ArgumentError, "tolerance: expected"),
        (lambda: made(hard_caps=True), ArgumentError, "hard_caps: expected False without a lottery"),
        (lambda: made(lottery=0.5, hard_caps="yes"), ArgumentError, "hard_caps"),
        (lambda: LFG([0.2, 0.3], 5.0, 3), ArgumentError, "plays: expected at most 2"),
        (lambda: LFG([0.2, 0.3], 5.0, 0), ArgumentError, "plays"),
        (lambda: LFG([0.9, 0.8], 5.0, 1), SharesError, "more than 1"),
        (lambda: LFG([0.2, 0.3], 5.0).ask(available=[]), ArgumentError, "at least one"),
        (lambda: DeadlineLearn(TsallisINF(), [0.1, 0.1, 0.1], plays=2), ArgumentError, "ranks the arms"),
        (
            lambda: DeadlineLearn(UCB1(arms=3), [0.2, 0.2], arms=["a", "b"]),
            ArgumentError,
            "learner: expected one for the",
        ),
        (lambda: made().ask(available=[]), ArgumentError, "at least one"),
        (lambda: made().ask(available=["a", "z"]), ArgumentError, "labels of the arms"),
        (lambda: made().ask(available=3), ArgumentError, "labels of the arms"),
        (lambda: made().ask(available={"a": True, "b": False}), ArgumentError, "a list of the arms on offer"),
        (lambda: made(caps=0.5).ask(available=["a"]), ArgumentError, "every arm, got"),
        (lambda: FairUCB([0.1, 0.1]).ask(available=[0]), ArgumentError, "every arm"),
        (lambda: gone.retire("b"), ArgumentError, "retired before"),
        (lambda: gone.ask(available=["a", "b"]), ArgumentError, "not retired"),
        (lambda: gone.retire("z"), UnknownArmError, "one of"),
        (lambda: made().add("a", 0.1), ArgumentError, "new label"),
        (lambda: made().add("d", 0.2), SharesError, "what the other shares leave"),
        (lambda: made().add(None, 0.1), ArgumentError, "label"),
        (lambda: made().change({"a": 0.4}), SharesError, "no share for arm"),
        (lambda: made(caps=0.5).change([0.6, 0.1, 0.1]), SharesError, "at least its share"),
        (lambda: made(caps=0.4).retire("a"), SharesError, "a sum of at least 1"),
        (lambda: together(shares={("a", "b"): "3/2", "c": 0}).retire("b"), SharesError, "at most 1, as no arm is"),
        (
            lambda: together(windows={("a", "b"): (2, 3)}).retire("b"),
            SharesError,
            "without which 2 of .* stay on offer",
        ),
        (lambda: made().change(Promise({"a": 0.4, "b": 0.3})), ArgumentError, "a promise of the arms on offer"),
        (lambda: gone.change(Promise({"a": 0.4, "b": 0, "c": 0})), ArgumentError, "a promise of the arms on offer"),
        (lambda: made().change(Promise({"a": 0.4, "b": 0, "c": 0}, plays=2)), ArgumentError, "1 per round, as before"),
    ]


def test_offers_may_be_any_when_fewer_arms_than_are_played_are_left_of_those_that_always_are():
    policy = DeadlineLearn(UCB1(), Promise({"a": 0.2, "b": 0.2, "c": 0, "d": 0}, plays=2, offers=["a", "b"]))
    policy.retire("a")
    assert policy.promise.offers == "any"
    assert policy.ask(available=["c", "d"]).arms == ("c", "d")


@pytest.mark.parametrize("number", range(len(refusals())))
def test_what_cannot_be_promised_is_refused_by_name(number):
    call, kind, words = refusals()[number]
    with pytest.raises(kind, match=words):
        call()


def test_a_refused_change_leaves_everything_as_it_was():
    refusals = [
        lambda policy: policy.retire("nobody"),
        lambda policy: policy.add("a", 0.1),
        lambda policy: policy.add(["q"], 0.1),
        lambda policy: policy.add("q", 0.9),
        lambda policy: policy.change({"a": 1}),
        lambda policy: policy.ask(available=["nobody"]),
    ]
    policies = [DeadlineLearn(Thompson(), {"a": 0.3, "b": 0.2, "c": 0}, seed=3) for _ in range(2)]
    for round in range(60):
        for refused in refusals if round == 10 else ():
            with pytest.raises(ArgumentError):
                refused(policies[0])
        decisions = [policy.ask() for policy in policies]
        assert decisions[0] == decisions[1]
        for policy, decision in zip(policies, decisions, strict=True):
            policy.tell(decision, float(round % 3 == 0))


def test_true_and_false_are_no_labels():
    for call in (
        lambda: DeadlineLearn(UCB1(), [0.2, 0.3]).ask(available=[False, True]),
        lambda: DeadlineLearn(UCB1(), [0.2, 0.3, 0]).retire(True),
    ):
        with pytest.raises(ArgumentError):
            call()
    policy = DeadlineLearn(UCB1(), [0.2, 0.3, 0.1], plays=2)
    decision = policy.ask()
    with pytest.raises(RewardError):
        policy.tell(decision, {False: 0.5, True: 0.5})


def test_caps_far_ahead_are_refused_and_sets_may_be_frozen():
    with pytest.raises(ArgumentError, match="cap_tolerance"):
        DeadlineLearn(UCB1(), [0.2, 0.3], caps=0.6, cap_tolerance=1e19)
    policy = DeadlineLearn(UCB1(), {frozenset(["b", "a"]): 0.5, "c": 0.2})
    assert policy.shares[("a", "b")] == F(1, 2)


@pytest.mark.parametrize("shares", [{"x": 0.3, "y": 0, "z": 0, "v": 0}, [0.3, 0, 0, 0]])
def test_new_shares_of_single_arms_leave_sets_of_arms_as_they_are(shares):
    promise = eh.Promise({"x": 0.2, ("y", "z"): 0.4, "v": 0}, caps={"v": 0.5}, offers="all")
    policy, study = DeadlineLearn(UCB1(), promise), eh.Study.create(":memory:", DeadlineLearn(UCB1(), promise))
    for one in (policy, study):
        one.change(shares)
        pulls = dict.fromkeys("xyzv", 0)
        for _ in range(100):
            decision = one.ask()
            one.tell(decision, float(decision.arm == "v"))
            pulls[decision.arm] += 1
        assert pulls["x"] >= 30
        assert pulls["y"] + pulls["z"] >= 40
    assert study.verify().ok
    policy.change({"x": 0, "y": 0, "z": 0, "v": 0, ("x", "v"): 0.1})
    assert policy.promise.sets == ((("x", "v"), F(1, 10)),)
    policy.change({"x": 0, "y": 0, "z": 0, "v": 0, ("x", "v"): 0})
    assert not policy.promise.owes


@pytest.mark.parametrize(("pulls", "round"), [([1], 3), (None, 3), ([1, 1], None), ([1, 1.5], 3), ({"z": 1}, 3)])
def test_pulls_that_cannot_be_judged_are_refused(pulls, round):
    with pytest.raises(ArgumentError, match=r"pulls|round"):
        DeadlineLearn(UCB1(), {"a": 0.2, "b": 0.3}).promise.is_kept(pulls, round)


@pytest.mark.parametrize("learner", [UCB1(), UCB1(arms=["a", "b"]), Thompson(arms=["a", "b"])], ids=str)
@pytest.mark.parametrize("asked", [0, 3])
def test_a_policy_with_a_new_arm_is_saved_and_kept_in_a_study_whatever_its_learner_was_given(learner, asked, tmp_path):
    study = eh.Study.create(":memory:", DeadlineLearn(learner, {"a": 0.2, "b": 0.3}, seed=1), name="s")
    policy = DeadlineLearn(learner, {"a": 0.2, "b": 0.3}, seed=1)
    for one in (study, policy):
        for _ in range(asked):
            one.tell(one.ask(), 0.5)
        one.add("new", 0.05)
    eh.save(policy, tmp_path / "policy.evenhand")
    again = eh.load(tmp_path / "policy.evenhand")
    arms = []
    for one in (study, policy, again, policy.fresh()):
        arms.append([])
        for _ in range(12):
            decision = one.ask()
            one.tell(decision, 0.5)
            arms[-1].append(decision.arm)
    assert arms[0] == arms[1] == arms[2]
    assert {"a", "b", "new"} == set(arms[0]) == set(arms[3])
    assert study.verify().ok


@pytest.mark.parametrize("plays", [1, 2])
def test_contextual_tickets_stay_open_while_an_arm_is_added(plays, tmp_path):
    policy = DeadlineLearn(LinUCB(), {"a": 0.3, "b": 0.2, "c": 0.1}, plays=plays)
    few, more = np.arange(6.0).reshape(3, 2) / 6, np.arange(8.0).reshape(4, 2) / 8
    told, forgotten = policy.ask(few), policy.ask(few)
    policy.add("d", 0.1)
    late = policy.ask(more)
    eh.save(policy, tmp_path / "open.evenhand")
    other = eh.load(tmp_path / "open.evenhand")
    assert other.open_tickets == policy.open_tickets
    for one in (policy, other):
        for decision in (told, late):
            one.tell(decision.id, [1.0, 0.5] if plays == 2 else 1.0)
        one.forget(forgotten.id)
    assert [policy.ask(more).arms for _ in range(20)] == [other.ask(more).arms for _ in range(20)]


@pytest.mark.parametrize("plays", [1, 2, 3])
def test_the_arms_of_lfg_are_those_of_its_slow_twin_whoever_sleeps(plays):
    shares, rng = [0.4, 0.3, 0.1, 0.0, 0.15], random.Random(plays)
    policy, twin = LFG(shares, 20.0, plays), Twin(shares, 20.0)
    for _ in range(300):
        offered = rng.sample(range(5), rng.randint(1, 5)) if rng.random() < 0.7 else list(range(5))
        decision = policy.ask(available=offered) if len(offered) < 5 else policy.ask()
        weights = twin.weights()
        best = sorted(offered, key=lambda arm: (-weights[arm], arm))[:plays]
        assert list(decision.indexes) == best
        twin.pulled_all(best)
        rewards = [float(rng.random() < 0.5) for _ in best]
        policy.tell(decision, rewards if plays > 1 else rewards[0])
        for arm, reward in zip(best, rewards, strict=True):
            twin.update(arm, reward)
