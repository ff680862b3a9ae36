"""A whole collection in a world: ask, answer, tell, and note how the groups fare at some rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, ExhaustedError, wanted
from evenhand.sampling.pools.labels import as_predicted
from evenhand.sampling.problem import checked_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["collect", "group_errors"]

Test = Callable[[Any], NDArray[np.float64]]


def collect(
    sampler: Any,
    world: Any,
    *,
    rounds: int,
    checkpoints: int | Sequence[int] = 20,
    test: Test | None = None,
    final: bool = False,
    watch: Callable[[Any], None] | None = None,
) -> pd.DataFrame:
    """Run a sampler in a world that was reset, until `rounds` or until nothing is left, and return its history.

    Parameters
    ----------
    sampler, world : the conversation; the sampler may be in the middle of one.
    rounds : rounds to reach.
    checkpoints : the rounds to note, or how many, evenly spaced; the last round is noted in any case.
    test : a function from a model to its risks (m,) on held-out data.
    final : test the finished classifier as well (a refit on training and validation rows), at each checkpoint.
    watch : called with the sampler after each round.

    Returns
    -------
    pandas.DataFrame
        A row for each checkpoint and group: `round`, `labels`, `group`, `share` of the training rows, `risk` in
        validation, `test_risk`, `final_risk`.

    Examples
    --------
    >>> from evenhand.sampling import SyntheticModel1, UniformSampler
    >>> world = SyntheticModel1(instance="I")
    >>> world.reset(0)
    >>> history = collect(UniformSampler(["u", "v"], seed=0), world, rounds=40, checkpoints=[20, 40])
    >>> history[["round", "labels", "group", "share"]].values.tolist()
    [[20, 40, 'u', 0.5], [20, 40, 'v', 0.5], [40, 80, 'u', 0.5], [40, 80, 'v', 0.5]]
    """
    import pandas as pd

    checked_whole("rounds", rounds, 1)
    noted = _rounds(rounds, checkpoints)
    rows: list[dict[str, Any]] = []
    while sampler.rounds < rounds:
        try:
            draw = sampler.ask()
        except ExhaustedError:
            break
        sampler.tell(draw, *world.respond(draw))
        if watch is not None:
            watch(sampler)
        if sampler.rounds in noted:
            rows += _note(sampler, test, final)
    if sampler.rounds and (not rows or rows[-1]["round"] != sampler.rounds):
        rows += _note(sampler, test, final)
    return pd.DataFrame(rows)


def _rounds(rounds: int, checkpoints: int | Sequence[int]) -> set[int]:
    if isinstance(checkpoints, int):
        checkpoints = min(checked_whole("checkpoints", checkpoints, 0), rounds)
        return {round(rounds * (i + 1) / checkpoints) for i in range(checkpoints)}
    return {checked_whole("checkpoints", c, 1) for c in checkpoints}


def _note(sampler: Any, test: Test | None, final: bool) -> list[dict[str, Any]]:
    sums, counts = sampler.validation_losses()
    unknown = np.full(len(sampler.groups), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {"share": sampler.mixture, "risk": sums / counts}
    columns["test_risk"] = unknown if test is None else test(sampler.model)
    columns["final_risk"] = test(sampler.finish().model) if test is not None and final else unknown
    base = {"round": sampler.rounds, "labels": sampler.labels}
    return [
        {**base, "group": group, **{name: float(values[z]) for name, values in columns.items()}}
        for z, group in enumerate(sampler.groups)
    ]


def group_errors(model: Any, X: Any, y: Any, *, groups: Any) -> NDArray[np.float64]:
    """Return the error rate (m,) of a model on held-out rows of each group, in the order of the sorted groups.

    Raises
    ------
    ArgumentError
        If there are not as many labels and groups as rows.

    >>> class Yes:
    ...     def predict(self, X):
    ...         return np.ones(len(X), int)
    >>> group_errors(Yes(), np.zeros((3, 1)), np.array([1, 0, 1]), groups=["a", "a", "b"])
    array([0.5, 0. ])
    """
    index, labels = np.unique(np.asarray(groups), return_inverse=True)[1], np.asarray(y)
    if not len(X) == len(labels) == len(index):
        lengths = (len(X), len(labels), len(index))
        raise ArgumentError(wanted("groups", "rows, and as many labels and groups", lengths))
    predicted = model.predict(X)
    wrong = predicted != as_predicted(labels, model, predicted)
    return np.asarray(np.bincount(index, wrong) / np.bincount(index))
