"""Hypothesis strategies for what users bring: shares in any notation, tolerances, learners of any temper."""

from fractions import Fraction

from hypothesis import strategies as st

tolerances = st.sampled_from([0.0, 0.25, 0.5, 0.999, 1.0, 1.5, 2.0, 2.3, 7.0, 31.75])


def _written(draw, share: Fraction):
    """The same number in one of the notations that users choose; floats may differ in the last digit."""
    way = draw(st.sampled_from(["fraction", "text", "float"]))
    return {"fraction": share, "text": str(share), "float": float(share)}[way]


@st.composite
def any_shares(draw, most_arms: int = 12):
    """Shares that sum to at most one: even, lopsided, tiny, zero, exactly full, or ugly floats."""
    k = draw(st.integers(2, most_arms))
    kind = draw(st.sampled_from(["weights", "full", "floats", "tiny"]))
    if kind == "tiny":
        tiny = [draw(st.sampled_from([1e-9, 1e-6, "1/1000003", 0, 0.001])) for _ in range(k - 1)]
        return [*tiny, draw(st.sampled_from([0.5, 0.9, "1/3"]))]
    weights = [draw(st.integers(0, 1000)) for _ in range(k)]
    weights[draw(st.integers(0, k - 1))] += 1
    if kind == "floats":
        total = sum(weights) * draw(st.floats(1.0, 3.0, exclude_min=True))
        return [weight / total for weight in weights]
    rest = 0 if kind == "full" else draw(st.integers(1, 500))
    total = sum(weights) + rest
    shares = [Fraction(weight, total) for weight in weights]
    return shares if kind == "full" else [_written(draw, share) for share in shares]


class Spiteful:
    """A learner that always wants the arm with the least claim, the worst that a promise can meet."""

    def __init__(self, shares):
        self.shares, self.pulls, self.round = shares, [0] * len(shares), 0

    def choose(self):
        claims = [share * (self.round + 1) - n for share, n in zip(self.shares, self.pulls, strict=True)]
        return claims.index(min(claims))

    def update(self, index, reward):
        self.pulls[index] += 1
        self.round += 1


class Scripted:
    """A learner that wants what a list says, over and over."""

    def __init__(self, wishes):
        self.wishes, self.at = list(wishes), 0

    def choose(self):
        self.at += 1
        return self.wishes[(self.at - 1) % len(self.wishes)]

    def update(self, index, reward):
        pass

    def reseed(self, seed):
        pass


class Stubborn(Scripted):
    """A learner that wants one arm and no other."""

    def __init__(self, arm):
        super().__init__([arm])
