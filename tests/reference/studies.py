"""A slow, obvious twin of the trail: every figure from the whole list of events, promises in fractions."""

import math
from statistics import fmean

RECENT = 200


def positions(decision):
    """Whom a decision is for."""
    if isinstance(decision.get("arm"), list):
        return decision["arm"]
    index = decision.get("index")
    return [] if index is None or index < 0 else [index]


def shown(events, labels, shares=None, slack=0):
    """What a trail shows of these events, as a dict."""
    asks = [event for event in events if event.kind == "ask"]
    tells = [event for event in events if event.kind == "tell"]
    drawn = [positions(event.decision) for event in asks]
    of_ticket = {event.ticket: places for event, places in zip(asks, drawn, strict=True)}
    size = max(len(labels), 1 + max((place for places in drawn for place in places), default=-1))
    rewards = []
    for event in tells:
        reward = event.given.get("reward")
        values = reward if isinstance(reward, list) else [] if reward is None else [reward]
        if values:
            rewards += zip(of_ticket[event.ticket], values, strict=True)
    closed = {event.ticket for event in events if event.kind != "ask"}
    forced = [t for t, event in enumerate(asks, 1) if event.decision.get("reason_code") == "forced"]
    found = {
        "labels": [*labels, *range(len(labels), size)],
        "sequence": len(events),
        "rounds": len(asks),
        "told": len(tells),
        "forgotten": sum(event.kind == "forget" for event in events),
        "counts": [sum(places.count(i) for places in drawn) for i in range(size)],
        "open": {event.ticket: tuple(of_ticket[event.ticket]) for event in asks if event.ticket not in closed},
        "rewards": [math.fsum(value for place, value in rewards if place == i) for i in range(size)],
        "rewarded": [sum(place == i for place, _ in rewards) for i in range(size)],
        "reward": None,
        "forced": len(forced),
        "last_owed": [max((t for t in forced if drawn[t - 1] == [i]), default=0) for i in range(size)],
    }
    if rewards:
        values = [value for _, value in rewards]
        found["reward"] = (fmean(values), fmean(values[-RECENT:]))
    if shares is not None:
        found |= promised([places[0] for places in drawn], list(labels), shares, slack)
    return found


def promised(arms, labels, shares, slack):
    """How far behind each arm was at the end of each round, in fractions."""
    pulls = [0] * len(labels)
    worst, violations, first = None, 0, None
    owed = [0.0] * len(labels)
    for t, arm in enumerate(arms, 1):
        pulls[arm] += 1
        behind = [share * t - n for share, n in zip(shares, pulls, strict=True)]
        owed = [float(one) for one in behind]
        worst = max([*behind, worst] if worst is not None else behind)
        broken = [i for i, share in enumerate(shares) if math.floor(share * t) - pulls[i] > slack]
        if broken:
            violations += 1
            first = first or (t, labels[broken[0]])
    return {"worst": worst, "violations": violations, "first_violation": first, "owed": owed}
