"""Regressions that workers exchange: each reports the triangular root of its own data, and learns the others' rows.

A regression keeps S with (X'X)^+ = S S'. Its rows M = S^+ have M'M = X'X, and M beta are their answers: learned by
another regression, they do what all rows of X did, but for the squared residuals and the number of samples, which are
reported beside them. A ridge is in the total once and in no report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.compose import entry, interpreted
from evenhand.kernels.least_squares import Regressions, intercept, learn, regressions
from evenhand.policy.pooling import Pool, checked_report

__all__ = ["RegressionPool"]

PLAIN_WORK = 200_000
"""Array entries up to which reports are learned as plain Python."""


class RegressionPool(Pool):
    """The regressions of one policy, and what its peers reported of theirs.

    Parameters
    ----------
    ridge : the penalty of the policy's regressions, 0 for none.
    derive : sets what follows from them in the policy's state.
    """

    def __init__(self, ridge: float, derive: Callable[[Any], None]) -> None:
        super().__init__(("fit",), derive)
        self._ridge = ridge
        self._fit: Regressions | None = None
        """What was learned here alone, without a ridge."""

    def learn(self, state: Any, update: Callable[[Any], None], arrays: tuple[Any, ...]) -> None:
        """Have `update` change the total, and the worker's own regressions as well."""
        mine = {id(total): own for total, own in zip(state.fit, self.beside(state), strict=True)}
        update(arrays)
        update(tuple(mine.get(id(array), array) for array in arrays))

    def beside(self, state: Any) -> Regressions:
        """Return the regressions of what was learned here alone."""
        if self._fit is None:
            fit = state.fit
            self._fit = regressions(len(fit.ranks), _features(fit), intercept=bool(intercept(fit)))
        return self._fit

    def keep_in(self, arrays: tuple[Any, ...]) -> None:
        """Keep these regressions in the place of those that `beside` returned."""
        self._fit = Regressions(*arrays)

    def statistics(self, state: Any) -> dict[str, Any]:
        """Return what was learned here alone, as plain data: rows with their answers, squared residuals, samples."""
        fit = self.beside(state)
        rows = [np.column_stack([root, root @ beta]) for root, beta in zip(_roots(fit), fit.coefficients, strict=True)]
        return {
            "dimension": _features(fit),
            "rows": [one.tolist() for one in rows],
            "squares": fit.squares.tolist(),
            "samples": fit.samples.tolist(),
        }

    def take(self, state: Any, reports: Mapping[str, dict[str, Any]]) -> None:
        """Hold the reports that are newer than those held, and decide by the new total; see `Pool.take`."""
        own = self.statistics(state)
        self._hold({name: self.checked(name, report, state) for name, report in reports.items()})
        total = regressions(len(state.fit.ranks), _features(state.fit), self._ridge, bool(intercept(state.fit)))
        plain = total._replace(scratch=np.zeros((2, total.coefficients.shape[1])))  # the rows have their ones already
        every = [own, *(peer["statistics"] for peer in self.peers.values())]
        work = sum(len(rows) for one in every for rows in one["rows"]) * plain.coefficients.shape[1] ** 2
        learns = interpreted(learn) if work < PLAIN_WORK else entry(learn)
        for one in every:
            for i, rows in enumerate(one["rows"]):
                before = int(plain.samples[i])
                for row in rows:
                    values = np.array(row)
                    learns(plain, i, values[:-1].copy(), float(values[-1]))
                plain.samples[i] = before + one["samples"][i]
                plain.squares[i] += one["squares"][i]
        for mine, new in zip(state.fit[:-1], plain[:-1], strict=True):
            mine[...] = new
        self.derive(state)

    def checked(self, name: str, report: Any, state: Any) -> dict[str, Any]:
        """Return a report as it is held, or refuse it as `take` does."""
        fit = state.fit
        count, size = fit.coefficients.shape
        read = checked_report(name, report, len(state.eligible))
        given = read["statistics"]
        what = f"a report of worker {name!r} with {count} regressions of {size} coefficients"
        try:
            rows = [np.array(one, dtype=np.float64).reshape(-1, size + 1) for one in given["rows"]]
            squares, samples = np.array(given["squares"], dtype=np.float64), given["samples"]
            sound = len(rows) == len(samples) == count and squares.shape == (count,) and bool((squares >= 0).all())
            sound = sound and all(len(one) <= size and bool(np.isfinite(one).all()) for one in rows)
            sound = sound and all(type(one) is int and one >= 0 for one in samples) and bool(np.isfinite(squares).all())
        except (LookupError, TypeError, ValueError) as error:
            raise ArgumentError(wanted("peers", what, given)) from error
        if not sound:
            raise ArgumentError(wanted("peers", what, given))
        return read

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs."""
        return {"own": None if self._fit is None else list(self._fit), "peers": self.peers}

    def restore(self, snapshot: dict[str, Any], state: Any) -> None:
        """Continue from a snapshot."""
        self.peers = dict(snapshot["peers"])
        self._fit = None if snapshot["own"] is None else Regressions(*snapshot["own"])


def _features(fit: Regressions) -> int:
    return int(fit.coefficients.shape[1] - intercept(fit))


def _roots(fit: Regressions) -> list[Any]:
    """Return for each regression rows M with M'M = X'X."""
    return [
        np.linalg.pinv(factors[:rank].T) if rank else np.zeros((0, factors.shape[1]))
        for factors, rank in zip(fit.factors, fit.ranks.tolist(), strict=True)
    ]
