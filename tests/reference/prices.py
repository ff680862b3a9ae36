"""A slow, obvious twin of DeadlineLearn with prices in front of scores that are given."""

import math

from tests.reference.quotas import deadline_learn


def priced_rounds(scores, shares, slack, reward_range=(0, 1)):
    """Yield the arm and the prices after it of each round; `scores` are those of a round's arms."""
    arms, most = range(len(shares)), reward_range[1] - reward_range[0]
    spread = [float(r) * (1 - float(r)) for r in shares]
    room = float(1 - sum(shares))
    lead = [math.sqrt(one) / 2 for one in spread]
    fits = min(1, room * math.sqrt(200) / sum(lead)) if any(lead) else 0
    pulls, prices = [0] * len(shares), [0.0] * len(shares)
    for t, said in enumerate(scores):
        wish = max(arms, key=lambda i: said[i] + prices[i])
        arm = deadline_learn(shares, slack, pulls, t, wish)
        pulls[arm] += 1
        root = math.sqrt(t + 1 + 200)
        for i in arms:
            if shares[i]:
                step = most / (2 * math.sqrt(sum(spread))) / root if sum(spread) else 0
                gone = float(shares[i]) + fits * lead[i] / root - (i == arm)
                prices[i] = min(max(prices[i] + step * gone, 0), most)
        yield arm, list(prices)
