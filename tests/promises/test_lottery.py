"""The chances that the lottery says are those of its draws: by enumeration where that is exact, else by many draws."""

import itertools
import math

import numpy as np
import pytest

from evenhand.kernels.compose import interpreted
from evenhand.learners import UCB1, EpsilonGreedy, Thompson, TsallisINF
from evenhand.promises.allowed import open_round
from evenhand.promises.lottery import draw_slate, lot, open_what_may_be_played, weigh
from evenhand.promises.promise import Promise
from evenhand.promises.rule_arrays import rule_parameters
from evenhand.quotas import DeadlineLearn
from evenhand.rng import stream
from tests.fuzzing import many
from tests.promises.walked import Walk, generator

FLOOR = 0.5
begun, weighed, found, drew, drawn_lot = map(interpreted, (open_round, weigh, open_what_may_be_played, draw_slate, lot))
ONE = {
    "floors": Promise({"a": "1/2", "b": "1/4", "c": 0}, offers="all"),
    "floors, offers": Promise({"a": "1/2", "b": "1/4", "c": 0}),
    "sets": Promise({("a", "b"): "1/2", "b": "1/4", "c": "1/4"}, offers="all"),
    "caps": Promise({"a": "1/4", "b": "1/4", "c": 0}, caps={"a": "1/2", "b": "1/2"}),
    "windows": Promise({"a": "1/4", "b": 0, "c": 0}, windows={"b": 4, "c": 8}),
}
SEVERAL = {
    "floors": Promise({"a": "3/4", "b": "1/2", "c": "1/4", "d": 0}, plays=2, offers="all"),
    "caps": Promise({"a": "1/2", "b": "1/4", "c": 0, "d": 0}, plays=2, caps={"a": "3/4", "b": "1/2", "c": "1/2"}),
    "sets": Promise({("a", "b"): "5/4", "b": "1/4", "c": "1/2", "d": 0}, plays=2),
    "windows": Promise(windows={"a": 2, "b": 2, "c": 2, "d": 4}, plays=2),
}
EVERY = ONE | {f"slates, {words}": promise for words, promise in SEVERAL.items()}


class Foreign:
    """A learner from elsewhere, which has only a proposal."""

    def __init__(self, arms):
        self.arms, self.random = arms, np.random.default_rng(3)

    def choose(self):
        return int(self.random.integers(self.arms))

    def update(self, index, reward):
        pass


LEARNERS = {
    "ucb1": lambda arms: UCB1(),
    "thompson": lambda arms: Thompson(),
    "epsilon": lambda arms: EpsilonGreedy(0.2),
    "tsallis": lambda arms: TsallisINF(),
    "foreign": Foreign,
}


@pytest.mark.filterwarnings("ignore:learner. Foreign names an arm")
@pytest.mark.parametrize(
    ("words", "learner"),
    [(words, "ucb1") for words in EVERY]
    + [("sets", "foreign"), ("caps", "thompson"), ("windows", "tsallis"), ("floors", "epsilon")],
)
def test_every_arm_that_may_be_played_keeps_its_chance_and_no_other_has_one(words, learner):
    """P >= f r for what may be played; 0 just where the game says that some clause could not be kept after it."""
    promise = EVERY[words]
    policy = DeadlineLearn(LEARNERS[learner](len(promise.arms)), promise, lottery=FLOOR, seed=2)
    walk, rng = Walk(promise), generator(words)
    floors = [FLOOR * float(share) / promise.plays for share in promise.shares]
    for members, (n, w) in promise.windows if promise.plays == 1 else ():
        floors[promise.arms.index(members[0])] = FLOOR * n / w
    for _ in range(6):
        offered = rng.choice(walk.game.offers) if "offers" in words else walk.game.offers[-1]
        allowed = walk.game.allowed(walk.books, offered, walk.depth())
        arms = {arm for slate in allowed for arm in slate}
        decision = policy.ask(available=[promise.arms[i] for i in offered]) if "offers" in words else policy.ask()
        chances, played = decision.probabilities, decision.indexes
        assert tuple(sorted(played)) in allowed
        assert math.isclose(sum(chances), promise.plays, rel_tol=1e-9)
        assert {arm for arm, chance in enumerate(chances) if chance > 1e-12} <= arms
        assert all(chances[arm] >= floors[arm] - 1e-12 for arm in arms)
        assert list(decision.slate_propensity.items()) == [(promise.arms[i], chances[i]) for i in played]
        assert 0 < decision.propensity <= min(chances[i] for i in played) + 1e-9
        assert promise.plays > 1 or decision.propensity == chances[decision.index]
        rewards = [float(rng.random() < 0.5) for _ in played]
        policy.tell(decision, rewards if promise.plays > 1 else rewards[0])
        walk.books = walk.game.after(walk.books, offered, tuple(sorted(played)))
        assert walk.game.kept(walk.books)


def state_of(promise, rounds=9):
    """The rule in mid-run, after proposals that press."""
    walk, rng = Walk(promise), generator("mid-run")
    for _ in range(rounds):
        walk.round(
            walk.game.offers[-1], rng.choice([[-float(i) for i in walk.game.arms], [float(i) for i in walk.game.arms]])
        )
    return rule_parameters(promise, (), FLOOR), walk.state, walk.now


def again(state):
    return state._replace(**{k: v.copy() for k, v in state._asdict().items() if isinstance(v, np.ndarray)})


@pytest.mark.parametrize("words", SEVERAL)
def test_chances_of_slates_are_those_of_every_draw(words):
    """Between two bounds all marks of systematic sampling draw one slate, so that going through them and all turns
    gives the inclusion chances and that of each slate exactly."""
    params, state, now = state_of(SEVERAL[words])
    plays, arms = state.chosen.size, state.offered.size
    state.scores[:] = [-float(i) for i in range(arms)]
    first = again(state)
    marked(params, first, now, 0.5, 0)
    bounds = sorted({0.0, 1.0, *(np.cumsum(first.inclusions) % 1.0).tolist()})
    included, slates, said = np.zeros(arms), {}, []
    for low, high in itertools.pairwise(bounds):
        for turn in range(plays):
            one = again(state)
            marked(params, one, now, (low + high) / 2, turn)
            slate = tuple(sorted(one.chosen.tolist()))
            included[list(slate)] += (high - low) / plays
            slates[slate] = slates.get(slate, 0.0) + (high - low) / plays
            said.append((slate, float(one.slate_chance[0]), one.chances.copy()))
    for slate, chance, chances in said:
        assert np.allclose(chances, included, atol=1e-9)
        assert math.isclose(slates[slate], chance, abs_tol=1e-9)
    assert math.isclose(included.sum(), plays, rel_tol=1e-9)


def marked(params, state, now, mark, turn):
    """Draw a slate with this mark and turn in the place of random ones."""
    from evenhand.promises import lottery

    kept = lottery.uniform, lottery.below
    lottery.uniform, lottery.below = (lambda stream: mark), (lambda stream, most: turn)
    try:
        drew(params, state, now)
    finally:
        lottery.uniform, lottery.below = kept


def check_drawn(policy):
    """Copies of a policy that differ in their streams alone draw as often as it says; with 2,000 draws and 3 or 4 arms
    a frequency beyond 4.5 standard deviations has a probability below 3e-5."""
    said, draws = np.array([*policy.probabilities().values()]), many(2000)
    counts = np.zeros(len(said))
    for draw in range(draws):
        twin = policy._twin()
        for n, words_of in enumerate((twin.engine.state.stream, getattr(twin.engine.state.learner, "stream", None))):
            if words_of is not None:
                words_of[:] = stream(2 * draw + n)
        counts[twin.ask().index] += 1
    wide = np.sqrt(np.maximum(said * (1 - said), 1e-9) / draws)
    assert (np.abs(counts / draws - said) <= 4.5 * wide + 1e-9).all(), (said, counts / draws)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "learner"), [("sets", "thompson"), ("caps", "ucb1"), ("windows", "tsallis"), ("sets", "epsilon")]
)
def test_single_plays_come_as_often_as_is_said(words, learner):
    policy = DeadlineLearn(LEARNERS[learner](len(ONE[words].arms)), ONE[words], lottery=FLOOR, seed=2)
    for step in range(14):
        policy.tell(policy.ask(), float(step % 3 == 0))
    check_drawn(policy)
