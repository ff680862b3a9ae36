"""Slow, obvious twins of the promise rules: games of finitely many states, searched for the safe ones.

A state is safe if, whatever is on offer next, some slate leads to a safe state: the greatest such set is found by
removing states until nothing changes.
"""

import itertools
import math

AHEAD = 4
"""How far ahead an arm is told apart: more plays than these are no better in the small cases that are tried."""


def slates(offered, plays):
    return itertools.combinations(offered, min(plays, len(offered)))


class Floors:
    """N_i >= floor(r_i A_i) - slack at every round, A_i the rounds in which arm i was on offer.

    A state is, for each arm, A_i modulo the denominator of r_i and N_i - floor(r_i A_i).
    """

    def __init__(self, shares, slack, plays, offers):
        self.shares, self.slack, self.plays = shares, slack, plays
        self.start = tuple((0, 0) for _ in shares)
        each = [[(c, e) for c in range(s.denominator) for e in range(-slack, AHEAD + 1)] for s in shares]
        self.safe = set(itertools.product(*each))
        before = None
        while before != len(self.safe):
            before = len(self.safe)
            for state in list(self.safe):
                if not all(self.may_play(state, offered) for offered in offers):
                    self.safe.discard(state)

    def after(self, state, offered, slate):
        arms = []
        for i, (clock, ahead) in enumerate(state):
            ahead += i in slate
            if i in offered:
                ahead -= math.floor(self.shares[i] * (clock + 1)) - math.floor(self.shares[i] * clock)
                clock = (clock + 1) % self.shares[i].denominator
            arms.append((clock, min(ahead, AHEAD)))
        return tuple(arms)

    def may_play(self, state, offered):
        return [slate for slate in slates(offered, self.plays) if self.after(state, offered, slate) in self.safe]


class Caps:
    """N_i >= floor(r_i t) - slack and N_i <= ceil(c_i t) + ahead at every round, one arm a round.

    A state is t modulo the common denominator and, for each arm, how far it is above its floor and below its cap.
    """

    def __init__(self, shares, caps, slack, ahead):
        self.shares, self.caps, self.slack = shares, caps, slack
        self.period = math.lcm(*(x.denominator for x in (*shares, *caps)))
        self.start = (0, *((0, ahead) for _ in shares))
        self.safe, todo = {self.start}, [self.start]
        while todo:
            state = todo.pop()
            for arm in range(len(shares)):
                following = self.after(state, arm)
                if following is not None and following not in self.safe:
                    self.safe.add(following)
                    todo.append(following)
        before = None
        while before != len(self.safe):
            before = len(self.safe)
            self.safe = {state for state in self.safe if self.may_play(state)}

    def after(self, state, arm):
        t, arms = state[0], []
        for i, (above, below) in enumerate(state[1:]):
            above += (i == arm) - (math.floor(self.shares[i] * (t + 1)) - math.floor(self.shares[i] * t))
            below += math.ceil(self.caps[i] * (t + 1)) - math.ceil(self.caps[i] * t) - (i == arm)
            if above < -self.slack or below < 0:
                return None
            arms.append((min(above, AHEAD), min(below, AHEAD)))
        return ((t + 1) % self.period, *arms)

    def may_play(self, state):
        return [arm for arm in range(len(self.shares)) if self.after(state, arm) in self.safe]


class Sets:
    """N_Q >= floor(r_Q t) - slack for owners Q, each a set of arms, one arm a round.

    A state is t modulo the common denominator and, for each owner, how far it is above its floor.
    """

    def __init__(self, owners, slack):
        self.owners, self.slack = owners, slack
        self.arms = sorted(set().union(*(arms for arms, _ in owners)))
        self.period = math.lcm(*(share.denominator for _, share in owners))
        self.start = (0, *(0 for _ in owners))
        self.safe, todo = {self.start}, [self.start]
        while todo:
            state = todo.pop()
            for following in (self.after(state, arm) for arm in self.arms):
                if following is not None and following not in self.safe:
                    self.safe.add(following)
                    todo.append(following)
        before = None
        while before != len(self.safe):
            before = len(self.safe)
            self.safe = {state for state in self.safe if self.may_play(state)}

    def after(self, state, arm):
        t, above = state[0], []
        for (arms, share), ahead in zip(self.owners, state[1:], strict=True):
            ahead += (arm in arms) - (math.floor(share * (t + 1)) - math.floor(share * t))
            if ahead < -self.slack:
                return None
            above.append(min(ahead, AHEAD))
        return ((t + 1) % self.period, *above)

    def may_play(self, state):
        return [arm for arm in self.arms if self.after(state, arm) in self.safe]


class Windows:
    """Every arm i at least once in any a_i consecutive rounds; a state is within how many rounds each must come."""

    def __init__(self, windows):
        self.windows = windows
        self.safe = set(itertools.product(*(range(1, a + 1) for a in windows)))
        before = None
        while before != len(self.safe):
            before = len(self.safe)
            self.safe = {left for left in self.safe if self.may_serve(left)}

    def after(self, left, served):
        return tuple(self.windows[i] if i == served else rounds - 1 for i, rounds in enumerate(left))

    def may_serve(self, left):
        """The arms that may be played, -1 for one that has no window."""
        return [served for served in range(-1, len(left)) if self.after(left, served) in self.safe]
