"""A slow, obvious twin of DeadlineLearn with prices in front of scores that are given."""

import math

from tests.reference.quotas import deadline_learn


def priced_rounds(scores, shares, slack):
    """Yield the arm and the prices after it of each round; `scores` are those of a round's arms."""
    arms = range(len(shares))
    pulls, prices, rounds = [0] * len(shares), [0.0] * len(shares), [0] * len(shares)
    for t, said in enumerate(scores):
        wish = max(arms, key=lambda i: said[i] + prices[i])
        arm = deadline_learn(shares, slack, pulls, t, wish)
        pulls[arm] += 1
        settle(prices, rounds, shares, arm, arms)
        yield arm, list(prices)


def settle(prices, rounds, shares, arm, offered, most=1):
    """Move the prices of the arms on offer once one is played; `rounds` counts in how many rounds each was."""
    spread = [float(r) * (1 - float(r)) for r in shares]
    lead = [math.sqrt(one) / 2 for one in spread]
    fits = min(1, float(1 - sum(shares)) * math.sqrt(200) / sum(lead)) if any(lead) else 0
    step = most / (2 * math.sqrt(sum(spread))) if sum(spread) else 0
    for i in offered:
        rounds[i] += 1
        root = math.sqrt(rounds[i] + 200)
        if shares[i]:
            gone = float(shares[i]) + fits * lead[i] / root - (i == arm)
            prices[i] = min(max(prices[i] + step / root * gone, 0), most)
