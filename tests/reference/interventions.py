"""Slow and obvious: everything by enumeration, sample by sample, from the definitions of Gao and Feng (2021)."""

from itertools import permutations, product

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import linprog


def joint(model, tables=None, do=None):
    """Yield (assignment, probability) over all states of all nodes."""
    tables, do = {**model.tables, **(tables or {})}, do or {}
    for states in product(*(range(len(model.states[node])) for node in model.order)):
        at = dict(zip(model.order, states, strict=True))
        mass = 1.0
        for node in model.order:
            if node in do:
                mass *= float(at[node] == do[node])
            else:
                mass *= float(tables[node][(*(at[p] for p in model.parents[node]), at[node])])
        if mass > 0:
            yield at, mass


def mean_outcome(problem, k, group=None):
    """E_k[Y], or E_k[Y | do(S = group)], on the scale [0, 1]."""
    s = problem.structure
    do = {} if group is None else dict(zip(s.sensitive, group, strict=True))
    law = joint(problem.model, {s.intervene: problem.tables[k]}, do)
    return sum(mass * problem.scores[at[s.outcome]] for at, mass in law)


def likelihood(problem, k, at, group):
    """P_k(V | pa V) times the tables of C, with S = group among the parents."""
    model, s = problem.model, problem.structure
    at = {**at, **dict(zip(s.sensitive, group, strict=True))}
    value = float(problem.tables[k][(*(at[p] for p in model.parents[s.intervene]), at[s.intervene])])
    for child in s.children:
        value *= float(model.tables[child][(*(at[p] for p in model.parents[child]), at[child])])
    return value


def ratio(problem, k, j, at):
    """P_k(V | pa V) / P_j(V | pa V)."""
    v = problem.structure.intervene
    cell = (*(at[p] for p in problem.model.parents[v]), at[v])
    return problem.tables[k][cell] / problem.tables[j][cell]


def gap_weight(problem, k, j, a, b, at):
    """P_k / P_j (P_a / P_b - 1), V among the children of S or not."""
    below = likelihood(problem, j, at, b)
    return (likelihood(problem, k, at, a) - likelihood(problem, k, at, b)) / below


def outcome_divergence(problem, k, j):
    """ln E_k exp(P_k / P_j)."""
    law = joint(problem.model, {problem.structure.intervene: problem.tables[k]})
    return np.log(sum(mass * np.exp(ratio(problem, k, j, at)) for at, mass in law))


def gap_divergence(problem, k, j, a, b):
    """ln (E_{k,a} exp|w| + E_{k,b} exp|w|)."""
    s, total = problem.structure, 0.0
    for group in (a, b):
        do = dict(zip(s.sensitive, group, strict=True))
        for at, mass in joint(problem.model, {s.intervene: problem.tables[k]}, do):
            total += mass * np.exp(abs(gap_weight(problem, k, j, a, b, at)))
    return np.log(total)


def clipped_outcome(problem, samples, k, level):
    """Estimator (3); samples are (candidate, forced, assignment)."""
    top = bottom = 0.0
    for j, forced, at in samples:
        if not forced:
            m = outcome_divergence(problem, k, j)
            weight = ratio(problem, k, j, at)
            top += problem.scores[at[problem.structure.outcome]] * weight / m * (weight <= 2 * level * m)
            bottom += 1 / m
    return top / bottom if bottom else None


def clipped_gap(problem, samples, k, a, b, level):
    """Estimator (4)."""
    s, top, bottom = problem.structure, 0.0, 0.0
    for j, forced, at in samples:
        if forced and tuple(at[x] for x in s.sensitive) == b:
            d = gap_divergence(problem, k, j, a, b)
            weight = gap_weight(problem, k, j, a, b, at)
            top += problem.scores[at[s.outcome]] * weight / d * (abs(weight) <= 2 * level * d)
            bottom += 1 / d
    return top / bottom if bottom else None


def mixture_mean(problem, samples, k, group):
    """Balance heuristic: every sample, weighted by its density under (k, group) over the mixture that was drawn."""
    s, total = problem.structure, 0.0
    drawn = [(j, tuple(at[x] for x in s.sensitive)) for j, _, at in samples]
    for _, _, at in samples:
        below = sum(likelihood(problem, j, at, seen) for j, seen in drawn)
        total += problem.scores[at[s.outcome]] * likelihood(problem, k, at, group) / below
    return total


def allocation_value(m, d, costs, budget, remaining):
    """The value of the allocation program by scipy; m (K, K), d {(a, b): (K, K)} with b numbered from 0."""
    size, groups = len(m), 1 + max(b for _, b in d)
    width = (1 + groups) * size
    rows = []
    for k in np.flatnonzero(remaining):
        row = np.zeros(width + 1)
        row[:size], row[-1] = -1 / m[k], 1
        rows.append(row)
        for (_, b), table in d.items():
            row = np.zeros(width + 1)
            row[(1 + b) * size : (2 + b) * size], row[-1] = -1 / table[k], 1
            rows.append(row)
    rows.append(np.append(np.tile(costs, 1 + groups), 0.0))
    limits = np.append(np.zeros(len(rows) - 1), budget)
    goal = np.append(np.zeros(width), -1.0)
    total = np.append(np.ones(width), 0.0)[None]
    return -linprog(goal, np.array(rows), limits, total, [1.0]).fun


def judged(outcomes, gaps, remaining, tolerance, level):
    """One elimination of CSR: returns (remaining, fair), both sets; gaps[k] lists every direction."""
    radius = 2.0**-level
    fair = {k for k in remaining if all(abs(gap) + 3 * radius < tolerance for gap in gaps[k])}
    if not fair:
        return set(remaining), fair
    highest = max(outcomes[k] for k in fair)
    kept = {
        k
        for k in remaining
        if not highest > outcomes[k] + 5 * radius and not any(abs(gap) - 3 * radius > tolerance for gap in gaps[k])
    }
    return kept, fair


def row_stakes(problem, deliveries, terms, limit, through):
    """Sixteen stakes, row by row, against a sum of outcomes <= limit.

    A delivery is a list of rows (0 or 1: S as it came or held, candidate, s, x, v, y). Of the model nothing is used but
    the candidates' tables and, with `through`, that S reaches Y through V alone. `terms` are (candidate, value of S or
    None, 1 or -1).
    """
    table, scores, stakes, earlier = problem.cells.rules, problem.scores, np.ones(16), []

    def guess(x, v):
        seen = [scores[y] for *_, x1, v1, y in earlier if (x1, v1) == (x, v)]
        return (sum(seen) + 1) / (len(seen) + 2)

    def drawn(k, s, x):
        return sum(table[k, s, x, v] * guess(x, v) for v in range(table.shape[3]))

    def centre(k, s):
        at = [drawn(k, s, x) for _, _, s1, x, _, _ in earlier if s1 == s]
        return np.mean(at or [drawn(k, s, x) for x in range(table.shape[2])])

    for rows in deliveries:
        (k, a, sign), *rest = terms
        cells = list(product(range(table.shape[1]), range(table.shape[2]), range(table.shape[3]), range(len(scores))))
        if a is not None and through:
            b = rest[0][1]
            if sign < 0:
                a, b = b, a
            used = rows

            def value(s, x, v, y, a=a, b=b, k=k, used=used):
                below = np.mean([table[j, s1, x, v] for _, j, s1, *_ in used])
                h = table[k, a, x] - table[k, b, x]
                return h[v] / below * (scores[y] - guess(x, v)) + sum(h[u] * guess(x, u) for u in range(len(h)))

        elif a is not None:
            b = rest[0][1]
            used = [row for row in rows if row[2] in (a, b)]
            if len({row[2] for row in used}) < 2:
                earlier += rows
                continue
            cells = [cell for cell in cells if cell[0] in (a, b)]

            def value(s, x, v, y, a=a, b=b, k=k, sign=sign, used=used):
                own = [row for row in used if row[2] == s]
                below = np.mean([table[j, s, x, v] for _, j, *_ in own])
                inner = table[k, s, x, v] / below * (scores[y] - guess(x, v)) + drawn(k, s, x) - centre(k, s)
                one = sign if s == a else -sign
                return one * len(used) / len(own) * inner + sign * (centre(k, a) - centre(k, b))

        else:
            used = [row for row in rows if row[0] == 0]

            def value(s, x, v, y, used=used):
                below = np.mean([table[j, s, x, v] for _, j, *_ in used])
                return sum(
                    sign * (table[k, s, x, v] / below * (scores[y] - guess(x, v)) + drawn(k, s, x))
                    for k, _, sign in terms
                )

        least = min(value(*cell) for cell in cells)
        for _, _, s, x, v, y in used:
            for n, share in enumerate(np.geomspace(0.002, 0.95, 16)):
                if abs(limit - least) > 1e-12:
                    factor = 1 + share * (value(s, x, v, y) - limit) / (limit - least)
                    stakes[n] *= factor if limit > least else np.inf
        earlier += rows
    return stakes


def as_values(problem):
    """The values of S as tuples of state numbers."""
    model, attributes = problem.model, problem.structure.sensitive
    return list(product(*(range(len(model.states[a])) for a in attributes)))


def tilted_mean(law, scores, strength, highest):
    """The end of E[Y] over all laws whose density against `law` lies in [1/strength, strength], as a linear program."""
    sign = -1.0 if highest else 1.0
    found = linprog(
        sign * law * scores, A_eq=law[None], b_eq=[1.0], bounds=[(1 / strength, strength)] * len(law), method="highs"
    )
    return sign * found.fun


def laws_within(shares, strength):
    """The extreme laws of V whose odds are within the strength: what is left above the least goes to the values in
    some order, as much as each may take."""
    low, high = shares / (shares + strength * (1 - shares)), strength * shares / (strength * shares + 1 - shares)
    for order in permutations(range(len(shares))):
        law = low.copy()
        for v in order:
            law[v] += min(high[v] - low[v], 1 - law.sum())
        yield law


def latent_end(problem, weights, strength, others, fair=None):
    """The least sum over k, s of weights[k, s] E_k[Y | do(S = s)] under a cause of V and Y, as a program over its laws.

    A value of the cause is a law of V and, for each state z of `others`, Y's parents besides V and V's own, and each
    value of V, what Y would be. `fair` is a candidate and a limit: then its gaps are at most that. Candidates that are
    the model's own table do not move.
    """
    model, s = problem.model, problem.structure
    v, above, y = s.intervene, model.parents[s.intervene], s.outcome
    groups, k = as_values(problem), len(problem.candidates)
    even = np.full(model.shape(v), 1.0 / len(model.states[v]))
    sizes = [range(len(model.states[node])) for node in (*above, *others)]
    zs = list(product(*sizes[len(above) :]))
    sums = [weights] + [
        np.eye(k)[fair[0]][:, None] * (np.eye(len(groups))[a] - np.eye(len(groups))[b])
        for a, b in permutations(range(len(groups)), 2)
        if fair
    ]
    goals, fixed, equal, right = [[] for _ in sums], np.zeros(len(sums)), [], []
    for x in product(*sizes[: len(above)]):
        shares, given = model.tables[v][x], dict(zip(above, x, strict=True))
        reach, law = np.zeros((len(groups), len(zs))), np.zeros((len(zs), len(shares), len(problem.scores)))
        for g, group in enumerate(groups):
            for at, mass in joint(model, {v: even}, dict(zip(s.sensitive, group, strict=True))):
                z = tuple(at[node] for node in others)
                if all(at[node] == state for node, state in given.items()):
                    reach[g, zs.index(z)] += mass
                    law[zs.index(z), at[v], at[y]] += mass
        law /= law.sum(2, keepdims=True)
        costs = np.zeros((len(sums), len(zs), len(shares)))
        for n, (one, number) in product(range(len(sums)), product(range(len(groups)), range(k))):
            if problem.own[number]:
                fixed[n] += sums[n][number, one] * (reach[one] @ (law @ problem.scores) @ shares)
            else:
                costs[n] += sums[n][number, one] * np.outer(reach[one], problem.tables[number][x])
        causes = list(
            product(laws_within(shares, strength), product(range(len(problem.scores)), repeat=len(zs) * len(shares)))
        )
        wouldbe = np.array([np.reshape(shown, (len(zs), len(shares))) for _, shown in causes])
        of_v = np.array([law_of_v for law_of_v, _ in causes])
        for n in range(len(sums)):
            goals[n].append((costs[n] * problem.scores[wouldbe]).sum((1, 2)))
        rows, ends = [np.ones(len(causes)), *of_v.T], [1.0, *shares]
        for z, value, level in product(range(len(zs)), range(len(shares)), range(len(problem.scores))):
            rows.append(of_v[:, value] * (wouldbe[:, z, value] == level))
            ends.append(shares[value] * law[z, value, level])
        equal.append(np.array(rows))
        right += ends
    goals = [np.concatenate(goal) for goal in goals]
    limits = (np.array(goals[1:]), fair[1] - fixed[1:]) if fair else (None, None)
    found = linprog(goals[0], *limits, block_diag(*equal), right, method="highs")
    return np.inf if found.status == 2 else found.fun + fixed[0]
