"""Slow and obvious: everything by enumeration, sample by sample, from the definitions of Gao and Feng (2021)."""

from itertools import product

import numpy as np
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


def counterfactual_gap(problem, k, a, b):
    """E over units with S = b of Y had S been a, less Y: abduction over the other roots by enumeration.

    The noise of a discrete node is an independent uniform; given S = b nothing is learned of it, because S is a root.
    So the expectation of Y had S been a is that of the mutilated network.
    """
    return mean_outcome(problem, k, a) - mean_outcome(problem, k, b)


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


def stake(problem, deliveries, candidates, limit, groups=None):
    """The mean of sixteen stakes, trial by trial, against mu_k - mu_j <= limit, with `groups` zeta_k^{a,b} <= limit.

    A delivery is a list of (candidate, value of S, at); its mixture is made of the numbers planned for it. A gambler
    who stakes the share g of what can be lost has at each trial the factor 1 + g (x - m) / (m - least x).
    """
    prior = problem.cells.prior
    every = list(product(*(range(len(problem.model.states[node])) for node in problem.nodes)))

    def above(at):
        if groups is not None:
            return likelihood(problem, candidates[0], at, groups[0]) - likelihood(problem, candidates[0], at, groups[1])
        k, j = candidates
        values = zip(prior, as_values(problem), strict=True)
        return sum(p * (likelihood(problem, k, at, s) - likelihood(problem, j, at, s)) for p, s in values)

    stakes = np.ones(16)
    for delivery in deliveries:
        size = len(delivery)

        def draw(at, delivery=delivery, size=size):
            below = sum(likelihood(problem, j, at, s) for j, s, _ in delivery) / size
            return above(at) / below * (problem.scores[at[problem.structure.outcome]] - 0.5)

        cells = [dict(zip(problem.nodes, cell, strict=True)) for cell in every]
        least = -max(abs(draw(at)) for at in cells)
        for _, _, at in delivery:
            for n, share in enumerate(np.geomspace(0.002, 0.95, 16)):
                stakes[n] *= 1 + share * (draw(at) - limit) / (limit - least) if limit > least else np.inf
    return stakes.mean()


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


def confounded_end(problem, weights, strength, highest):
    """The end of sum over k, s of weights[k, s] E_k[Y | do(S = s)] under a cause of V and Y, by linear programs.

    Every (s, pa(V), v) has its own; the tables of V that was observed are the model's. Candidates that are the model's
    own table do not move.
    """
    model, s, total = problem.model, problem.structure, 0.0
    v, above = s.intervene, model.parents[s.intervene]
    for at_s, group in enumerate(as_values(problem)):
        do = dict(zip(s.sensitive, group, strict=True))
        for at_pa in product(*(range(len(model.states[p])) for p in above)):
            given = dict(zip(above, at_pa, strict=True))
            for value in range(len(model.states[v])):
                even = np.full(model.shape(v), 1.0 / len(model.states[v]))
                law, reach = np.zeros(len(problem.scores)), 0.0
                for at, mass in joint(model, {v: even}, do):
                    if all(at[p] == given[p] for p in above):
                        reach += mass
                        law[at[s.outcome]] += mass * (at[v] == value)
                if not law.sum():
                    continue
                law /= law.sum()
                seen = float(model.tables[v][(*at_pa, value)])
                weight = 0.0
                for k in range(len(problem.candidates)):
                    if problem.own[k]:
                        total += weights[k, at_s] * reach * seen * (law @ problem.scores)
                    else:
                        weight += weights[k, at_s] * reach * float(problem.tables[k][(*at_pa, value)])
                end = tilted_mean(law, problem.scores, strength, highest == (weight > 0))
                total += weight * (seen * (law @ problem.scores) + (1 - seen) * end)
    return total
