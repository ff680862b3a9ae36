"""Slow, obvious twins of the learners: every index of every arm computed anew in every round, from the papers."""

import math

from scipy.optimize import brentq


class Naive:
    """An index policy: an arm that was never tried first, else the largest index, ties to the lowest arm."""

    def __init__(self, arms):
        self.pulls, self.sums, self.round = [0] * arms, [0.0] * arms, 0

    def index(self, mean, n, t):
        raise NotImplementedError

    def indices(self):
        """The indices before the next round, infinite for arms that were never tried."""
        t = self.round + 1
        return [self.index(total / n, n, t) if n else math.inf for n, total in zip(self.pulls, self.sums, strict=True)]

    def update(self, arm, reward):
        self.round += 1
        self.pulls[arm] += 1
        self.sums[arm] += reward


class UCB1(Naive):
    """Auer, Cesa-Bianchi, Fischer (2002), Figure 1."""

    def index(self, mean, n, t):
        return mean + math.sqrt(2 * math.log(t) / n)


def bernoulli_divergence(p, q):
    left = p * math.log(p / q) if p > 0 else 0.0
    right = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return left + right


class KLUCB(Naive):
    """Garivier, Cappé (2011), Algorithm 1 with c = 0."""

    def index(self, mean, n, t):
        level = math.log(t) / n
        if mean >= 1.0:
            return 1.0
        if level == 0:
            return mean
        top = 1 - 1e-15
        if bernoulli_divergence(mean, top) <= level:
            return top
        return brentq(lambda q: bernoulli_divergence(mean, q) - level, max(mean, 1e-300), top, xtol=1e-13)


class Told:
    """A learner for means that change: it keeps every reward and computes its indices from all of them."""

    def __init__(self, arms):
        self.arms, self.told = arms, []

    def update(self, arm, reward):
        self.told.append((arm, reward))


class DiscountedUCB(Told):
    """Garivier, Moulines (2011), section 2.1."""

    def __init__(self, arms, gamma, xi):
        super().__init__(arms)
        self.gamma, self.xi = gamma, xi

    def indices(self):
        weights = [self.gamma**age for age in range(len(self.told))][::-1]
        n = sum(weights)
        indices = []
        for arm in range(self.arms):
            mine = [(w, x) for w, (a, x) in zip(weights, self.told, strict=True) if a == arm]
            count = sum(w for w, _ in mine)
            bonus = 2 * math.sqrt(self.xi * max(0.0, math.log(n)) / count) if mine else math.inf
            indices.append(sum(w * x for w, x in mine) / count + bonus if mine else math.inf)
        return indices


class SlidingWindowUCB(Told):
    """Garivier, Moulines (2011), section 2.2."""

    def __init__(self, arms, window, xi):
        super().__init__(arms)
        self.window, self.xi = window, xi

    def indices(self):
        last = self.told[-self.window :]
        rewards = [[x for a, x in last if a == arm] for arm in range(self.arms)]
        return [
            sum(mine) / len(mine) + math.sqrt(self.xi * math.log(len(last)) / len(mine)) if mine else math.inf
            for mine in rewards
        ]


class TsallisINF:
    """Zimmert, Seldin (2021), Algorithm 1 with reduced variance; the losses are summed as they are."""

    def __init__(self, arms):
        self.losses, self.baselines, self.t = [0.0] * arms, [0.0] * arms, 1

    def probabilities(self):
        eta, least = 4 / math.sqrt(self.t), min(self.losses)

        def weights(x):
            return [4 / (eta * (loss - x)) ** 2 for loss in self.losses]

        ends = least - 2.1 * math.sqrt(len(self.losses)) / eta, least - 1.9 / eta
        found = weights(brentq(lambda x: sum(weights(x)) - 1, *ends, xtol=1e-14, rtol=1e-15))
        self.baselines = [0.5 if weight >= eta**2 else 0.0 for weight in found]
        return found

    def update(self, arm, reward, chance):
        for i, baseline in enumerate(self.baselines):
            self.losses[i] += baseline + (i == arm) * (1 - reward - baseline) / chance
        self.t += 1
