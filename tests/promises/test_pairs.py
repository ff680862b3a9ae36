"""Every pair, and the named triples, of what a promise is made of: taken and kept, or refused by name."""

import itertools

import pytest

from evenhand.checks.numeric import check_labels
from evenhand.errors import EvenhandError
from evenhand.learners import UCB1
from evenhand.promises.promise import Promise
from evenhand.quotas import BernoulliArms, DeadlineLearn
from tests.promises.walked import game_of, generator

PARTS = ("lottery", "windows", "sets", "plays", "caps", "available", "change")
MORE = {
    frozenset({"windows", "caps", "plays"}): "windows together with caps with plays=2",
    frozenset({"windows", "caps", "available"}): "windows together with shares or caps",
    frozenset({"windows", "sets", "plays"}): "windows together with shares with plays=2",
    frozenset({"windows", "sets", "available"}): "windows together with shares or caps",
}
TRIPLES = [
    ("lottery", "sets", "plays", "available"),
    ("plays", "available", "caps"),
    ("lottery", "caps", "available"),
    ("windows", "plays", "available"),
    ("windows", "sets", "lottery"),
    ("sets", "caps", "plays"),
    *map(tuple, map(sorted, MORE)),
]


def promise_of(parts):
    """A promise over five arms with these parts."""
    shares = {"a": 0, "b": 0, "c": 0, "d": 0, "e": 0}
    given = {"plays": 2} if "plays" in parts else {}
    if "windows" in parts:
        given["windows"] = {"e": 5}
    elif "sets" not in parts:
        shares |= {"a": "1/5", "b": "1/5"}
    if "sets" in parts:
        shares[("a", "b")] = "2/5"
    if "caps" in parts:
        given["caps"] = {"d": "1/2"}
    if "caps" in parts and "available" in parts:
        given["offers"] = ["a", "b", "c"]
    elif "available" in parts:
        given["offers"] = "any"
    return Promise(shares, **given)


def offers(promise, rng):
    """The sets of arms that the promise says may be on offer."""
    arms = promise.arms
    return [[arms[i] for i in offer] for offer in game_of(promise).offers] if rng.random() < 0.8 else [list(arms)]


class CheckerCounts:
    """The plays and the offers of each version, and whether all clauses hold over them."""

    def __init__(self, promise):
        self.game, self.arms = game_of(promise), promise.arms
        self.now = self.game.begin

    def enter(self, offered, played):
        places = self.arms.index
        self.now = self.game.after(self.now, [places(a) for a in offered], [places(a) for a in played])
        return self.game.kept(self.now)


def converse(parts, policy, promise, rounds=48):
    """Play under all parts, with a change in mid-run, and count everything in books of the test's own."""
    rng, books = generator(repr(parts)), CheckerCounts(promise)
    for round in range(rounds):
        if "change" in parts and round == rounds // 2:
            assert policy.change(promise) is not None
            books = CheckerCounts(promise)
        offered = rng.choice(offers(promise, rng)) if "available" in parts else list(promise.arms)
        decision = policy.ask(available=offered if "available" in parts else None)
        played = list(getattr(decision, "arms", (decision.arm,)))
        assert len(set(played)) == len(played) == min(promise.plays, len(offered))
        assert set(played) <= set(offered)
        assert books.enter(offered, played), (parts, round, offered, played)
        if "lottery" in parts:
            assert float(sum(decision.probabilities)) == pytest.approx(len(played))
            assert 0 < decision.propensity <= 1
            assert all(0 < chance <= 1 + 1e-9 for chance in decision.slate_propensity.values())
            assert list(decision.slate_propensity) == played
        policy.tell(decision, [float(arm in "de") for arm in played] if promise.plays > 1 else float(played[0] in "de"))


PAIRS = list(itertools.combinations(PARTS, 2))


@pytest.mark.parametrize("parts", [*PAIRS, *TRIPLES], ids=" ".join)
def test_what_the_table_says_of_each_pair_holds(parts):
    refused = next((words for some, words in MORE.items() if some <= set(parts)), None)
    if refused is not None:
        with pytest.raises(EvenhandError, match=refused):
            promise_of(parts)
        return
    promise = promise_of(parts)
    policy = DeadlineLearn(UCB1(), promise, lottery=0.5 if "lottery" in parts else None, seed=4)
    converse(parts, policy, promise)


def test_the_contract_gives_the_arms_of_a_promise_other_names():
    world = BernoulliArms({"a": 0.3, "b": 0.2, "c": 0.6, "d": 0.8, "e": 0.5})
    for parts in (("lottery", "caps"), ("windows",), ("available", "caps")):
        policy = DeadlineLearn(UCB1(), promise_of(parts), lottery=0.5 if "lottery" in parts else None, seed=4)
        check_labels(policy, world, 8)
