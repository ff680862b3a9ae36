"""Slow, obvious twins of the quota rules, written from the papers in exact fractions.

Patil, Ghalme, Nair, Narahari (JMLR 2021), Algorithm 1, Definitions 2 and 4; Li, Liu, Ji (INFOCOM 2019), Algorithm 1.
"""

import math
from fractions import Fraction


def shortfalls(shares, pulls, t):
    return [share * t - n for share, n in zip(shares, pulls, strict=True)]


def kept(shares, tolerance, pulls, t):
    """Definition 2: floor(r_i t) - N_i(t) <= alpha for every arm."""
    return all(math.floor(share * t) - n <= tolerance for share, n in zip(shares, pulls, strict=True))


def fair_learn(shares, slack, pulls, t):
    """Algorithm 1 before round t: the arm that must be pulled, or None. `slack` is what r_i (t-1) - N_i is held to."""
    behind = shortfalls(shares, pulls, t - 1)
    return behind.index(max(behind)) if max(behind) > slack else None


def deadline(share, slack, n):
    """The round by whose end pull n + 1 is due."""
    return -(-(n + slack + 1) * share.denominator // share.numerator) if share else math.inf


def can_be_kept(shares, slack, pulls, t):
    """Whether every promise can be kept after round t: serve the earliest deadline first, and see.

    Once every arm has come up, a deadline that is ever missed is missed within a full period of the shares.
    """
    pulls, dues = list(pulls), [deadline(share, slack, n) for share, n in zip(shares, pulls, strict=True)]
    all_up = max((due for due in dues if due < math.inf), default=t)
    for now in range(t + 1, all_up + math.lcm(*(share.denominator for share in shares)) + 1):
        first = dues.index(min(dues))
        if dues[first] < now:
            return False
        pulls[first] += 1
        dues[first] = deadline(shares[first], slack, pulls[first])
    return True


def can_be_kept_in_some_order(shares, slack, pulls, t, until):
    """Whether any sequence of pulls keeps every promise up to a round: all are tried."""
    reached = {tuple(pulls)} if kept(shares, slack, pulls, t) else set()
    for now in range(t + 1, until + 1):
        tried = {(*p[:i], p[i] + 1, *p[i + 1 :]) for p in reached for i in range(len(p))}
        reached = {p for p in tried if kept(shares, slack, p, now)}
    return bool(reached)


def may_be_pulled(shares, slack, pulls, t):
    """The arms of round t + 1 after which every promise can still be kept."""
    after = [[n + (i == arm) for i, n in enumerate(pulls)] for arm in range(len(shares))]
    return [arm for arm, then in enumerate(after) if can_be_kept(shares, slack, then, t + 1)]


def deadline_learn(shares, slack, pulls, t, proposal):
    """The arm of round t + 1: the proposal if every promise can be kept after it, else the earliest deadline's."""
    dues = [deadline(share, slack, n) for share, n in zip(shares, pulls, strict=True)]
    return proposal if proposal in may_be_pulled(shares, slack, pulls, t) else dues.index(min(dues))


def lottery_learn(shares, slack, floor, pulls, t, wishes, margin=4, tries=32):
    """The distribution of the arm of round t + 1: floors, tickets for arms that fall behind, and the learner's
    proposals; what may not be granted is drawn anew, and at last the earliest deadline's arm is played.

    `proposals(allowed, urgent)` is the distribution of the learner's proposals, where these arms may be played.
    """
    allowed = may_be_pulled(shares, slack, pulls, t)
    dues = [deadline(share, slack, n) for share, n in zip(shares, pulls, strict=True)]
    urgent = min(allowed, key=lambda arm: (dues[arm], arm))
    behind = [share * (t + 1) - n - (slack + 1 - margin) for share, n in zip(shares, pulls, strict=True)]
    tickets = [r * min(3, max(0, 1 - floor + b / 2)) for r, b in zip(shares, behind, strict=True)]
    free = 1 - floor * sum(shares)
    scale = min(1, free / sum(tickets)) if sum(tickets) else 1
    left = free - scale * sum(tickets)
    each = zip(shares, tickets, wishes(allowed, urgent), strict=True)
    drawn = [floor * share + scale * ticket + left * proposal for share, ticket, proposal in each]
    granted = sum(drawn[arm] for arm in allowed)
    missed = (1 - granted) ** tries
    again = (1 - missed) / granted if granted else 0
    return [(arm in allowed) * drawn[arm] * again + (arm == urgent) * missed for arm in range(len(shares))], allowed


class LFG:
    """Queues Q_i <- max(0, Q_i + r_i - 1{pulled}); pull argmax Q_i + eta min(1, mean_i + sqrt(3 ln t / (2 N_i)))."""

    def __init__(self, shares, eta):
        self.shares, self.eta = [float(share) for share in shares], eta
        self.queues, self.pulls, self.sums = [0.0] * len(shares), [0] * len(shares), [0.0] * len(shares)
        self.round = 0

    def weights(self):
        t = self.round + 1
        bounds = [
            min(1.0, total / n + math.sqrt(3 * math.log(t) / (2 * n))) if n else 1.0
            for n, total in zip(self.pulls, self.sums, strict=True)
        ]
        return [queue + self.eta * bound for queue, bound in zip(self.queues, bounds, strict=True)]

    def pulled_all(self, arms):
        self.round += 1
        self.queues = [
            max(0.0, queue + share - (i in arms))
            for i, (queue, share) in enumerate(zip(self.queues, self.shares, strict=True))
        ]

    def update(self, arm, reward):
        self.pulls[arm] += 1
        self.sums[arm] += reward


def audit(shares, tolerance, decisions):
    """Everything that an audit reports, counted the long way: after every row, for every arm, in fractions."""
    k = len(shares)
    pulls, worst = [0] * k, [Fraction(0)] * k
    broken_rounds, broken_by_arm, first = 0, [0] * k, None
    for t, arm in enumerate(decisions, start=1):
        pulls[arm] += 1
        broken = [math.floor(share * t) - n > tolerance for share, n in zip(shares, pulls, strict=True)]
        for i, behind in enumerate(shortfalls(shares, pulls, t)):
            worst[i] = max(worst[i], behind)
            broken_by_arm[i] += broken[i]
        broken_rounds += any(broken)
        if first is None and any(broken):
            first = (t, broken.index(True))
    return {
        "pulls": pulls,
        "worst": worst,
        "rounds_in_violation": broken_rounds,
        "by_arm": broken_by_arm,
        "first": first,
    }


def held_rounds(learner, shares, slack, payoffs):
    """DeadlineLearn over a learner whose refused proposals are held: yield the arm of each round; `learner` is a policy
    by itself, asked and told as if it were alone."""
    pulls, wish = [0] * len(shares), None
    for t, rewards in enumerate(payoffs):
        if wish is None:
            wish = learner.ask()
        arm = deadline_learn(shares, slack, pulls, t, wish.index)
        pulls[arm] += 1
        if arm == wish.index:
            learner.tell(wish, float(rewards[arm]))
            wish = None
        yield arm


def priced_rounds(scores, shares, slack):
    """DeadlineLearn with prices: yield the arm and the prices after it of each round, whose arms have such `scores`."""
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
