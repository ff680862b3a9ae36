"""The slow, obvious twin of the books: every clause counted anew after every round, in fractions.

Only r A - N, of a cap N - c A, is said in floating point, as audits say it.
"""

import math


def missing(clause, ticks):
    """By how many plays a clause is broken after these ticks of its clock, each the plays in it; at most 0 if not."""
    kind, _, rate, slack, _ = clause
    n, plays = len(ticks), sum(ticks)
    if kind == "window":
        return rate[0] - sum(ticks[-rate[1] :]) if n >= rate[1] else 0
    if kind == "cap":
        return plays - math.ceil(rate * n) - slack
    return math.floor(rate * n) - plays - slack


def counted(clauses, rounds, spans=None, arms=("a", "b", "c", "d")):
    """What the books find of each key and clause, and in how many rounds one that ticked was broken.

    `rounds` are (arms played, arms on offer, key). Where arms are away and the others at a cap, no cap counts plays.
    """
    spans = spans or [(0, math.inf)] * len(clauses)
    ticks, found, broken = {}, {}, []
    for t, (played, offered, key) in enumerate(rounds, 1):
        wrong, excused = False, len(offered) < len(arms)
        live = [(q, c) for q, c in enumerate(clauses) if spans[q][0] < t <= spans[q][1]]
        for arm in offered if excused else ():
            caps = [(q, c) for q, c in live if c.kind == "cap" and arm in c.arms]
            excused = excused and any(missing(c, [*ticks.get((key, q), []), 1]) > 0 for q, c in caps)
        for q, clause in enumerate(clauses):
            one = found.setdefault(
                (key, q),
                dict.fromkeys(("begun", "times", "first", "first_by", "most", "most_at", "worst", "worst_at"), 0),
            )
            if not spans[q][0] < t <= spans[q][1] or not set(clause.arms) & set(offered):
                continue
            own = ticks.setdefault((key, q), [])
            own.append(0 if excused and clause.kind == "cap" else len(set(clause.arms) & set(played)))
            one["begun"] = one["begun"] or t
            by = missing(clause, own)
            behind = 0.0 if clause.kind == "window" else float(clause.rate) * len(own) - sum(own)
            off = -behind if clause.kind == "cap" else behind
            if off > one["worst"]:
                one["worst"], one["worst_at"] = off, t
            if by > 0:
                wrong = True
                one["times"] += 1
                if not one["first"]:
                    one["first"], one["first_by"] = t, by
                if by > one["most"]:
                    one["most"], one["most_at"] = by, t
        broken.append(wrong)
    return found, broken
