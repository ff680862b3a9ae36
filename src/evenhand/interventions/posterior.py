"""The posterior of the answer given data: draws of every table of a fitted model, and their outcomes and gaps.

Rows of a table are independent Dirichlet laws, see `fitting`. A candidate that is the model's own table is drawn with
the model's tables; every other candidate is as it was given.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, expected
from evenhand.interventions.group_means import CANDIDATE, factors_below, group_means
from evenhand.interventions.inference import eliminate
from evenhand.interventions.model import CausalModel
from evenhand.interventions.recommendation import (
    TOO_MANY,
    Recommendation,
    Status,
    of_draws,
    of_more,
    of_refuted,
    report,
)
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.rng import Seed, draw_seed, generator

if TYPE_CHECKING:
    from evenhand.interventions import Problem

MOST_DRAWS = 100_000
AT_ONCE = 250
MORE = np.geomspace(1.05, 1000.0, 120)
"""How many times the rows of data are tried."""
TRUTHS = 40
"""Draws that are taken for the truth, to see how far the number of rows that are needed goes."""
MOST_NAMED = 5
"""Rows of tables that the answer names; `from_prior` has all."""
MISSED = 0.001
"""How often a bound from draws may be too high."""


def prior_rows(problem: Problem) -> Any:
    """Return the rows (node, given, rows, mass, candidates) in which the prior weighs as much as the data or more, and
    which some candidate reaches by states that were all seen, or by states that follow on rows that were not; the
    largest mass first."""
    import pandas as pd

    model, v = problem.model, problem.structure.intervene
    assert model.counts is not None
    known = _known(model)
    given_mass = _with_own(problem, known[v], problem.tables > 0)
    rows: list[dict[str, Any]] = []
    for node in sorted(model.ancestors([problem.structure.outcome]) - set(problem.structure.sensitive)):
        parents = model.parents[node]
        seen, thin = model.counts[node].sum(-1), _is_thin(model, node)
        if not thin.any():
            continue
        reached = _row_masses(problem, parents, given_mass, known) > 0
        mass = _row_masses(problem, parents, problem.tables, model.tables)
        if node == v:
            reached &= np.array(problem.own).reshape(-1, *[1] * len(parents))
        for at in map(tuple, np.argwhere(thin & reached.any(0))):
            given = _given(model, node, at)
            who = [label for label, there in zip(problem.candidates, reached[:, *at], strict=True) if there]
            found = {"given": given, "rows": float(seen[at]), "mass": float(mass[:, *at].max()), "candidates": who}
            rows.append({"node": node, **found})
    frame = pd.DataFrame(rows, columns=["node", "given", "rows", "mass", "candidates"])
    return frame.sort_values("mass", ascending=False, kind="stable", ignore_index=True)


def _given(model: CausalModel, node: str, at: Iterable[int]) -> str:
    """Return the states of a node's parents in a row of its table, in words."""
    return ", ".join(f"{name}={model.states[name][i]}" for name, i in zip(model.parents[node], at, strict=True))


def _known(model: CausalModel) -> dict[str, Any]:
    """Return which entries of each table were seen, or are in a row that was not."""
    assert model.counts is not None
    return {name: (seen.sum(-1, keepdims=True) == 0) | (seen > 0) for name, seen in model.counts.items()}


def blind_rows(problem: Problem) -> dict[str, Bools]:
    """Return in which rows of each table nobody was seen, nor would be in more rows like these, because nobody had a
    value that leads there."""
    model, known = problem.model, _known(problem.model)
    assert model.counts is not None
    v, found = problem.structure.intervene, {}
    for node in sorted(model.ancestors([problem.structure.outcome]) - set(problem.structure.sensitive)):
        empty = model.counts[node].sum(-1) == 0
        now = np.broadcast_to(known[v], problem.tables.shape)
        found[node] = empty & (_row_masses(problem, model.parents[node], now, known)[0] == 0)
    return found


def _is_thin(model: CausalModel, node: str) -> Any:
    """Return in which rows of a node's table the prior weighs as much as the data or more."""
    assert model.counts is not None
    assert model.smoothing is not None
    seen = model.counts[node].sum(-1)
    return seen <= model.smoothing


def prior_shares(problem: Problem) -> Floats:
    """Return the share of each group (K, S) for whom a candidate's outcome passes through a row of `prior_rows`."""
    model, structure = problem.model, problem.structure
    assert model.counts is not None
    sound = {node: model.tables[node] * ~_is_thin(model, node)[..., None] for node in model.counts}
    candidates = _with_own(problem, sound[structure.intervene], problem.tables)
    kept = group_means(model, structure, candidates, sound, np.ones_like(problem.scores))[0]
    return np.asarray(np.clip(1.0 - kept, 0.0, 1.0))


def _with_own(problem: Problem, own: Any, given: Any) -> Any:
    """Return what is given of the candidates' tables, with that of the model's own in place of those that are it."""
    return np.where(np.array(problem.own).reshape(-1, *[1] * (problem.tables.ndim - 1)), own, given)


def _row_masses(problem: Problem, parents: tuple[str, ...], candidates: Any, tables: Any) -> Floats:
    """Return the probability of states of a node's parents (K, ...), the largest over the values of S."""
    model, structure = problem.model, problem.structure
    arrays = {name: np.asarray(table, np.float64) for name, table in tables.items()}
    others = [name for name in structure.sensitive if name not in parents]
    factors = factors_below(model, structure, np.asarray(candidates, np.float64), arrays, set(parents))
    sizes = {node: len(states) for node, states in model.states.items()} | {CANDIDATE: len(problem.candidates)}
    masses = eliminate(factors, [CANDIDATE, *others, *parents], sizes)
    return masses.max(axis=tuple(range(1, 1 + len(others)))) if others else masses


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior draws of the candidates' outcomes and gaps.

    Attributes
    ----------
    problem : the problem.
    outcomes : (draws, K) expected outcomes, in the outcome's units.
    means : (draws, K, S) expected outcomes E_k[Y | do(S = s)], in the outcome's units, s in the order of `groups`.
    expected : what the draws are on average, exactly: outcomes (K,) and means (K, S).
    blind : (draws, K, S) the means if only the rows that no more data like these would reach were drawn, and all else
        were known.
    gaps : (a, b) -> (draws, K) counterfactual gaps.
    """

    problem: Problem
    outcomes: Floats
    means: Floats
    expected: tuple[Floats, Floats]
    blind: Floats

    @cached_property
    def gaps(self) -> dict[tuple[Any, Any], Floats]:
        return self.problem.by_pair(lambda a, b: self.means[:, :, a] - self.means[:, :, b])

    @property
    def from_prior(self) -> Any:
        """Rows of tables in which the prior weighs as much as the data or more, and that a candidate reaches.

        A data frame with the columns `node`, `given` (the states of its parents), `rows` (how many were seen), `mass`
        (the largest probability of the row under any candidate and do(S)), `candidates`, sorted by mass.
        """
        return prior_rows(self.problem)

    def best(self, tolerance: float, *, level: float = 0.95) -> Recommendation:
        """Return the candidate that is most probably the best among the fair ones.

        Parameters
        ----------
        tolerance : E, in the outcome's units: a candidate is fair where every |gap| < E.
        level : how probable the answer has to be, allowing for the finite number of draws.

        Returns
        -------
        Recommendation
            If c of m draws agree, the answer's posterior probability is at least `confidence`, the .001 quantile of
            Beta(c, m - c + 1), except once in 1,000 times by chance. The status is "certified" or "none_is_fair"
            where it is at least `level`; else "not_shown", with the most probable answer as its candidate. Where the
            data contradict the graph it is "graph_refuted", whatever the draws show; `refuted` says how. The table has
            intervals of posterior probability `level`, each by itself, and the shares `fair` and `best` of the draws.

        Raises
        ------
        ArgumentError
            If the tolerance is not a number > 0, or the level is not in (0.5, 1).

        Source: C. Clopper, E. Pearson, "The Use of Confidence or Fiducial Limits" (1934), for the bound.
        """
        tolerance, level = real("tolerance", tolerance, above=0), real("level", level, above=0.5, below=1)
        fair, chances, least = self._judged(tolerance)
        answer = int(chances.argmax())
        none, shown = answer == fair.shape[1], least >= level
        status: Status = "not_shown" if not shown else "none_is_fair" if none else "certified"
        verdicts = self._verdicts(fair.mean(0), level, answer if shown else None)
        label = None if none else self.problem.candidates[answer]
        found = Recommendation(label, status, self._table(verdicts, fair.mean(0), chances[:-1], level))
        found.confidence = least if shown else None
        said = of_refuted if self.problem.refuted else of_draws
        found.notes = (*self._of_prior(label), said(len(fair)), *self.problem.notes)
        if status == "not_shown" and not self.problem.refuted:
            found.more = self._more(tolerance, level, None)
            found.notes = (self._of_more(found, tolerance, level), *found.notes)
        return found.over(self.problem)

    def _of_prior(self, label: Any) -> tuple[str, ...]:
        """Say which rows rest on the prior as much as on the data or more, and how much of the answer rests on them."""
        rows = self.from_prior
        if not len(rows):
            return ()
        by_group = dict(zip(self.problem.candidates, prior_shares(self.problem), strict=True))
        shares = {label: share @ self.problem.cells.prior for label, share in by_group.items()}
        who = label if label in shares else max(shares, key=shares.__getitem__)
        cells = [f"{row.node} given {row.given}" for row in rows.head(MOST_NAMED).itertuples()]
        cells += [f"{len(rows) - MOST_NAMED} more"] if len(rows) > MOST_NAMED else []
        most = int(by_group[who].argmax())
        name = self.problem.structure.named(self.problem.groups[most])
        whole, worst = f"{shares[who]:.1%}", f"{by_group[who][most]:.1%}"
        share = f"{whole} of the outcome of {who!r} rests on this{f', {worst} with {name}' * (worst != whole)}"
        few = f"For {len(rows)} combination{'s' * (len(rows) > 1)} of values the table has so few people that the prior"
        return (f"{few}, what is supposed without data, weighs as much or more; {share}: {'; '.join(cells)}.",)

    def _narrowed(self, tolerance: float, spread: float, truth: int | None = None) -> tuple[Floats, Bools]:
        """Return the outcomes (draws, K), and which candidates are fair, in draws of which all that more data would
        show has this part of its spread, around its mean or around that in the draw of this number."""
        parts, by_pair = [], self.problem.by_pair
        blind = self.blind @ self.problem.cells.prior, by_pair(lambda a, b: self.blind[:, :, a] - self.blind[:, :, b])
        for drawn, kept in ((self.outcomes, blind[0]), (list(self.gaps.values()), list(blind[1].values()))):
            seen = np.subtract(drawn, kept)
            mean = seen.mean(-2, keepdims=True)
            parts.append(kept + (mean if truth is None else seen[..., [truth], :]) + (seen - mean) * spread)
        return parts[0], np.abs(parts[1]).max(0) < tolerance

    def _judged(self, tolerance: float, spread: float = 1.0, truth: int | None = None) -> tuple[Bools, Floats, float]:
        """Return which candidates are fair in which of such draws, the share of the draws in which each is the best, in
        the end that in which none is fair, and a lower bound of the largest of these."""
        outcomes, fair = self._narrowed(tolerance, spread, truth)
        seen = np.bincount(_named(outcomes, fair), minlength=fair.shape[1] + 1)
        return fair, seen / len(fair), _at_least(int(seen.max()), len(fair))

    def _obstacle(self, tolerance: float, spread: float) -> list[int]:
        """Return the candidate of which it would help most to know whether it is fair, or the two of which it would to
        know whose outcome is higher: by how probable the answer would be then."""
        outcomes, fair = self._narrowed(tolerance, spread)
        named = _named(outcomes, fair)
        first = np.bincount(named, minlength=fair.shape[1] + 1)[:-1].argsort()[:-3:-1]
        known = [*fair.T, outcomes[:, first[0]] > outcomes[:, first[-1]]]
        sure = [sum(np.bincount(named[one == side], minlength=1).max() for side in (False, True)) for one in known]
        helps = int(np.argmax(sure))
        return [helps] if helps < fair.shape[1] else first.tolist()

    def _more(self, tolerance: float, level: float, truth: int | None) -> int | None:
        """Return about how many more rows show an answer, if the truth is a draw or, for None, their mean: what is
        known of it narrows with the root of their number. None where a thousand times as many rows would not do."""
        found = bisect_left(MORE, True, key=lambda times: self._judged(tolerance, times**-0.5, truth)[2] >= level)
        return None if found == len(MORE) else int(float(f"{(MORE[found] - 1.0) * self._rows:.2g}")) or 1

    @property
    def _rows(self) -> float:
        seen = self.problem.model.counts
        return 0.0 if seen is None else float(seen[self.problem.structure.outcome].sum())

    def _of_more(self, found: Recommendation, tolerance: float, level: float) -> str:
        """Say how many more rows show an answer, over the middle half of what the truth may be, and whose."""
        if _at_least(count := len(self.outcomes), count) < level:
            return f"{count:,} draws are too few to show an answer, whatever they say."
        if (blind := self._blind_cells()) and self._judged(tolerance, 0.0)[2] < level:
            found.more = None
            cells = [*blind[:MOST_NAMED], *([f"{len(blind) - MOST_NAMED} more"] if len(blind) > MOST_NAMED else [])]
            rests = f"it rests on people with {'; '.join(cells)}"
            return f"More rows like these would not show the answer: {rests}, of whom the table has none."
        draws = np.linspace(0, len(self.outcomes) - 1, min(TRUTHS, len(self.outcomes))).astype(int)
        each = sorted(math.inf if (n := self._more(tolerance, level, int(at))) is None else n for at in draws)
        middle = each[len(each) // 4], each[(3 * len(each) - 1) // 4]
        if found.more is not None:
            middle = min(middle[0], found.more), max(middle[1], found.more)
        hopeless = found.more is None or found.more > TOO_MANY * self._rows
        at = self._obstacle(tolerance, TOO_MANY**-0.5 if hopeless else 1.0)
        one, *other = (repr(self.problem.candidates[k]) for k in at)
        if other:
            what, why = f"lead of {one} over {other[0]}", f"the outcomes of {one} and {other[0]} are too nearly alike"
            spread = ((self.means[:, at[0]] - self.means[:, at[1]]) * self.problem.cells.prior).var(0)
        else:
            what, why = f"gap of {one}", f"the gap of {one} is too near the tolerance {tolerance:g}"
            spread = self.means[:, at[0]].var(0)
        name = self.problem.structure.named(self.problem.groups[int(spread.argmax())])
        share = f"{spread.max() / spread.sum():.0%} of what is unknown of the {what}"
        needed = of_more(found.more, self._rows, "rows", why, middle)
        return f"{needed} Most is to be learned from people with {name}, from whom {share} comes."

    def _blind_cells(self) -> list[str]:
        """Return the rows that no more data like these would reach, and a candidate does."""
        model = self.problem.model
        blind = {
            (node, _given(model, node, at))
            for node, rows in blind_rows(self.problem).items()
            for at in np.argwhere(rows)
        }
        return [row.given for row in self.from_prior.itertuples() if (row.node, row.given) in blind]

    def _verdicts(self, fair: Floats, level: float, answer: int | None) -> list[str]:
        names = np.where(fair >= level, "fair", np.where(fair <= 1.0 - level, "unfair", "undecided"))
        return ["certified" if k == answer else str(name) for k, name in enumerate(names)]

    def _table(self, verdicts: list[str], fair: Floats, best: Floats, level: float) -> Any:
        ends = [0.5, (1.0 - level) / 2.0, (1.0 + level) / 2.0]
        scale, low = self.problem.scale, self.problem.low
        outcomes = (np.quantile(self.outcomes, ends, axis=0) - low) / scale
        outcomes[0], means = (self.expected[0] - low) / scale, self.expected[1]
        gaps = np.quantile(list(self.gaps.values()), ends, axis=1) / scale
        gaps[0] = np.array(list(self.problem.by_pair(lambda a, b: means[:, a] - means[:, b]).values())) / scale
        table = report(self.problem, tuple(outcomes), tuple(gaps), verdicts, {})
        return table.drop(columns=["phase", "reason"]).assign(fair=fair, best=best)


def _named(outcomes: Floats, fair: Bools) -> Ints:
    """Return the number of the best fair candidate in each draw (draws, K), K where none is fair."""
    return np.asarray(np.where(fair.any(1), np.where(fair, outcomes, -np.inf).argmax(1), fair.shape[1]))


def _at_least(said: int, draws: int) -> float:
    """Return what the probability of something is at least that `said` of so many draws show, by Clopper and
    Pearson.

    >>> round(_at_least(135, 135), 3), _at_least(1, 1)
    (0.95, 0.001)
    """
    from scipy.special import betaincinv

    return float(betaincinv(said, draws - said + 1, MISSED)) if said else 0.0


def drawn_posterior(problem: Problem, draws: int, seed: Seed, smoothing: float | None = None) -> Posterior:
    """Draw all tables, and compute what each draw gives.

    Raises
    ------
    ArgumentError
        If the model was not fitted to data, or the number of draws is not from 1 to 100,000.
    """
    draws = whole("draws", draws, low=1, high=MOST_DRAWS)
    model, structure = problem.model, problem.structure
    above = model.ancestors([structure.outcome, *structure.sensitive])
    if model.counts is None or not above <= set(model.counts):
        hint = "make the model with CausalModel.fit(frame, edges)"
        raise ArgumentError(expected("model", "tables fitted to data, with their counts", repr(model), hint))
    model = model if smoothing is None else model.smoothed(smoothing)
    random = generator(draw_seed(seed))

    def found(tables: dict[str, Floats]) -> tuple[Floats, Floats]:
        candidates = problem.tables
        if any(problem.own):
            candidates = _with_own(problem, tables[structure.intervene][:, None], problem.tables)
        means = problem.low + problem.scale * group_means(model, structure, candidates, tables, problem.scores)
        prior = np.ones((len(means), 1))
        for attribute in structure.sensitive:
            prior = (prior[:, :, None] * tables[attribute][:, None]).reshape(len(means), -1)
        return np.einsum("dks,ds->dk", means, prior), means

    blind = {node: rows for node, rows in blind_rows(problem).items() if rows.any()}
    known = {node: model.tables[node][None] for node in above}

    def each(size: int) -> tuple[Floats, Floats, Floats]:
        drawn = {node: _drawn(model, node, size, random) for node in sorted(above)}
        unseen = {node: np.where(rows[..., None], drawn[node], known[node]) for node, rows in blind.items()}
        return (*found(drawn), found(known | unseen)[1])

    sizes = [AT_ONCE] * (draws // AT_ONCE) + [draws % AT_ONCE] * (draws % AT_ONCE > 0)
    outcomes, means, kept = (np.concatenate(part) for part in zip(*map(each, sizes), strict=True))
    average = found(known)
    return Posterior(problem, outcomes, means, (average[0][0], average[1][0]), kept if blind else average[1])


def _drawn(model: CausalModel, node: str, size: int, random: np.random.Generator) -> Floats:
    """Return draws of a table (size, ...)."""
    assert model.counts is not None
    assert model.smoothing is not None
    weights = model.tables[node] * (model.counts[node].sum(-1, keepdims=True) + model.smoothing)
    if node in model.precision:
        weights = weights * model.precision[node][..., None]
    drawn = np.maximum(random.standard_gamma(weights, (size, *weights.shape)), np.finfo(float).tiny)
    return np.asarray(drawn / drawn.sum(-1, keepdims=True))
