"""A promise inside each segment, and what follows over all of them."""

import math
import random
from fractions import Fraction as F

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import DeadlineLearn, FairUCB

SHARES = {"a": F(1, 2), "b": F(1, 3), "c": F(1, 12)}
FORMS = {
    "floors": ({"shares": SHARES}, 1),
    "tolerance": ({"shares": SHARES, "tolerance": 1}, 1),
    "slates": ({"shares": SHARES | {"d": F(1, 2)}, "plays": 2}, 2),
    "caps": ({"shares": SHARES, "caps": {"c": F(1, 4)}}, 1),
    "sets": ({"shares": SHARES | {("b", "c"): F(1, 2)}}, 1),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_segment_has_its_own_exact_promise(form, tmp_path):
    arguments, plays = FORMS[form]
    policy, rng = DeadlineLearn(Thompson(), seed=3, **arguments), random.Random(1)
    counts = {}
    for round in range(400):
        segment = rng.choice(["de", "fr", 3]) if round > 40 else rng.choice(["de", "fr"])
        if round == 150:
            eh.save(policy, tmp_path / "segments.evenhand")
            policy = eh.load(tmp_path / "segments.evenhand")
        decision = policy.ask(segment=segment)
        rewards = [float(rng.random() < 0.5) for _ in decision.arms]
        policy.tell(decision, rewards if plays > 1 else rewards[0])
        rounds, pulls = counts.setdefault(segment, [0, dict.fromkeys(policy.arms, 0)])
        for arm in decision.arms:
            pulls[arm] += 1
        counts[segment][0] = rounds + 1
        assert policy.promise.is_kept(list(pulls.values()), rounds + 1), (segment, counts)
    assert {label: tuple(found) for label, found in policy.segments.items()} == {
        label: (rounds, pulls) for label, (rounds, pulls) in counts.items()
    }
    for arm, (behind, most) in policy.behind_over_segments().items():
        share = policy.promise.shares[policy.arms.index(arm)]
        assert behind == pytest.approx(float(share * 400 - sum(pulls[arm] for _, pulls in counts.values())))
        assert behind <= most < 3 * (1 + policy.promise.slack)


@pytest.mark.parametrize("lottery", [None, 0.0, 0.5])
def test_a_look_at_the_probabilities_of_a_segment_changes_nothing(lottery):
    def decided(looks):
        policy, found = DeadlineLearn(UCB1(), SHARES, lottery=lottery, seed=1), []
        for round in range(40):
            for segment in looks:
                policy.probabilities(segment=(round + segment) % 4)
            decision = policy.ask(segment=round % 3)
            policy.tell(decision, float(decision.arm == "c"))
            found.append(decision.arm)
        return found, policy.segments, policy.behind_over_segments()

    assert decided([]) == decided([0, 1, 2, 3])


def test_own_clocks_go_on_inside_a_segment():
    policy, rng = DeadlineLearn(UCB1(), SHARES), random.Random(2)
    own = {}
    for _ in range(300):
        segment, offered = rng.choice("xy"), rng.sample(list(SHARES), rng.randint(1, 3))
        decision = policy.ask(available=offered, segment=segment)
        policy.tell(decision, float(rng.random() < 0.5))
        for arm in offered:
            rounds, pulls = own.get((segment, arm), (0, 0))
            own[segment, arm] = rounds + 1, pulls + (arm == decision.arm)
            assert own[segment, arm][1] >= math.floor(SHARES[arm] * (rounds + 1))


def test_the_order_of_the_number_of_segments_cannot_be_avoided():
    """Two arms of one half: visit new segments, then go back to those that began with the same arm."""
    segments, began, worst = 8, {}, 0.0
    policy = DeadlineLearn(UCB1(), {"a": "1/2", "b": "1/2"})

    def visit(segment):
        arm = policy.ask(segment=segment).arm
        behind = policy.behind_over_segments()
        assert all(now <= most < segments for now, most in behind.values())
        return arm, max(math.floor(now) for now, _ in behind.values())

    for segment in range(segments):
        began[segment], behind = visit(segment)
        worst = max(worst, behind)
    first = max("ab", key=list(began.values()).count)
    for segment in (segment for segment, arm in began.items() if arm == first):
        worst = max(worst, visit(segment)[1])
    assert worst >= segments // 4


def test_what_cannot_be_done_is_refused_and_changes_nothing():
    plain = DeadlineLearn(UCB1(), SHARES)
    plain.ask()
    inside = DeadlineLearn(UCB1(), SHARES)
    inside.ask(segment="x")
    for call, words in (
        (lambda: plain.ask(segment="x"), "rounds before"),
        (lambda: inside.ask(), "segment: expected one"),
        (lambda: inside.ask(available=["a"]), "segment: expected one"),
        (lambda: inside.choose(), "segment: expected one"),
        (lambda: inside.ask(segment=1.5), "a text or a whole number"),
        (lambda: inside.ask(segment=["x"]), "a text or a whole number"),
        (lambda: FairUCB([0.1, 0.1]).ask(segment="x"), "no segments"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()
    assert (plain.round, inside.round, inside.segments["x"].rounds) == (1, 1, 1)


def test_a_segment_from_a_table_is_a_plain_label():
    policy = DeadlineLearn(UCB1(), [0.3, 0.2])
    policy.ask(segment=np.str_("x"))
    policy.ask(segment="x")
    assert [type(label) for label in policy.segments] == [str]


@pytest.mark.parametrize(
    "more",
    [{}, {"tolerance": 1.5}, {"plays": 2}],
    ids=["plain", "tolerance", "plays"],
)
def test_what_is_said_over_all_segments_is_true_with_arms_on_offer(more, tmp_path):
    policy, rng, plays = DeadlineLearn(Thompson(), SHARES, seed=1, **more), random.Random(3), more.get("plays", 1)
    clocks, pulls, loose = {}, {}, set()
    for round in range(200):
        segment, offered = rng.choice("xyz"), rng.sample(list(SHARES), rng.randint(plays, 3))
        decision = policy.ask(available=offered, segment=segment)
        for arm in offered:
            clocks[segment, arm] = clocks.get((segment, arm), 0) + 1
        for arm in decision.arms:
            pulls[segment, arm] = pulls.get((segment, arm), 0) + 1
        if round == 90:
            eh.save(policy, tmp_path / "segments.evenhand")
            policy = eh.load(tmp_path / "segments.evenhand")
        for arm, (behind, most) in policy.behind_over_segments().items():
            mine = [(SHARES[arm] * clocks.get((one, arm), 0), pulls.get((one, arm), 0)) for one in "xyz"]
            slack = math.floor(more.get("tolerance", 0))
            least = [max(0, math.floor(owed) - slack) for owed, _ in mine]
            assert behind == pytest.approx(float(sum(owed - n for owed, n in mine)))
            assert most == pytest.approx(float(sum(owed - n for (owed, _), n in zip(mine, least, strict=True))))
            assert behind <= most + 1e-12
            loose.add(most > 1)
    assert loose == {True, False}
