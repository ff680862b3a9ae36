"""Walks through promises: the kernels of the rule beside the game of `tests.reference.game`, round by round."""

import math
import random

import numpy as np

from evenhand.kernels.compose import interpreted
from evenhand.promises.allowed import AS_RANKED, open_round, selection_kernels
from evenhand.promises.feasible import spaced_alone, tokens_of
from evenhand.promises.laminar import look
from evenhand.promises.rule_arrays import rule_parameters, rule_state
from evenhand.promises.windows import MOST_STATES
from tests.promises.generated_promises import drawn_promise
from tests.promises.judge import choices, count_of
from tests.reference.game import Game

DEPTH = {1: 8, 2: 12, 3: 9, 4: 6}
"""How far the game is walked at first, by the number of arms; where it grants more than the rule, further."""
looked, opened = interpreted(look), interpreted(open_round)


def begun(promise):
    """The rule's parameters, its state before the first round, and the kernels that pick and that grant at once."""
    state = rule_state(promise, (), np.zeros(4, np.uint64))
    return rule_parameters(promise, ()), state, *map(interpreted, selection_kernels(promise))


def game_of(promise):
    """The same promise as a game, its arms by their positions."""
    arms = range(len(promise.arms))
    offers = [tuple(map(promise.arms.index, some)) for some in choices(promise.arms, promise.offers, promise.plays)]
    return Game([count_of(clause, promise.arms) for clause in promise.clauses], arms, promise.plays, offers)


def grants_all(promise):
    """Return whether a proposal is refused only where no rule that keeps the promise could grant it.

    Where a chain of shorter periods stands for windows, the promise is kept and some proposals are refused that could
    be granted.
    """
    if not promise.windows:
        return True
    tokens = tokens_of(promise)
    if spaced_alone(promise) and math.prod(token.window for token in tokens) <= MOST_STATES:
        return True
    nested = any(len(members) > 1 for members, _ in promise.windows)
    if len(tokens) < sum(plays for _, (plays, _) in promise.windows):
        return False
    owed = {arm for clause in promise.clauses if clause.kind == "floor" for arm in clause.arms}
    if any(owed & set(members) for members, _ in promise.windows):  # one play may then serve both
        return False
    return not nested and all(token.window == token.period or promise.offers != "all" for token in tokens)


class Walk:
    """The rule's kernels beside the game, from the first round."""

    def __init__(self, promise):
        self.promise, self.game, self.exact = promise, game_of(promise), grants_all(promise)
        self.params, self.state, self.pick, self.grant = begun(promise)
        self.books, self.now = self.game.begin, 0

    def depth(self, more=0):
        return DEPTH[len(self.promise.arms)] + more

    def may_play(self, offered):
        """The slates that the rule would play, one look for each."""
        granted = set()
        for slate in self.game.slates(offered):
            state = self.state._replace(
                **{name: value.copy() for name, value in self.state._asdict().items() if isinstance(value, np.ndarray)}
            )
            state.offered[:] = [arm in offered for arm in self.game.arms]
            opened(self.params, state, self.now)
            state.chosen[:] = -1
            state.chosen[: len(slate)] = slate
            if all(state.open[arm] for arm in slate) and looked(self.params, state, self.now) >= 0:
                granted.add(slate)
        return granted

    def round(self, offered, scores):
        """Play a round; the slate must be the best that may be played, and every slate that can be must be."""
        said = f"{self.promise!r}, round {self.now + 1}, on offer {offered}, scores {scores}"
        granted = self.may_play(offered)
        allowed = set(self.game.allowed(self.books, offered, self.depth()))
        assert granted, said
        if self.exact and granted < allowed:
            allowed = set(self.game.allowed(self.books, offered, self.depth(6)))
        assert granted == allowed if self.exact else granted <= allowed, (said, granted, allowed)
        self.state.offered[:] = [arm in offered for arm in self.game.arms]
        self.state.scores[:] = scores
        first = self.params, self.state, self.now, int(np.argmax(scores))
        at_once = self.promise.plays == 1 and self.now % 3 and self.grant(*first)
        why = AS_RANKED if at_once else self.pick(*first[:3])
        played = tuple(sorted(arm for arm in self.state.chosen.tolist() if arm >= 0))
        ranks = sorted(range(len(scores)), key=lambda arm: -scores[arm])
        ranked = {arm: place for place, arm in enumerate(ranks) if scores[arm] > -np.inf}
        places = lambda slate: sorted(ranked.get(arm, len(ranks)) for arm in slate)  # noqa: E731
        assert played in granted, (said, played, granted)
        assert places(played) == min(map(places, granted)), (said, played, granted)
        wished = places(offered)[: len(played)]
        assert (why == AS_RANKED) == (places(played) == wished and len(ranks) not in wished), (said, played, why)
        self.books, self.now = self.game.after(self.books, offered, played), self.now + 1
        assert self.game.kept(self.books), said

    def rounds(self, count, rng):
        arms = len(self.promise.arms)
        for _ in range(count):
            # one ranking round after round presses hardest
            ranking = [*range(arms)] if rng.random() < 0.4 else rng.sample(range(arms), rng.choice([arms, arms, 1]))
            scores = [-float(ranking.index(arm)) if arm in ranking else -np.inf for arm in range(arms)]
            self.round(rng.choice(self.game.offers), scores)


PARTS = {"plays": "slates", "offers": "arms on offer"}


def drawn(rng, kinds):
    """A small promise with clauses of these kinds among floors, sets, caps, windows, plays and offers, by the generator
    of `check_promise`; None where there is none."""
    return drawn_promise({PARTS.get(kind, kind) for kind in kinds}, np.random.default_rng(rng.getrandbits(32)))


def generator(seed):
    return random.Random(seed)
