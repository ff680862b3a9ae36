"""A whole collection in a world: ask, answer, tell, and note how the groups fare at some rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import as_floats, as_whole_numbers, is_whole, whole, yes_or_no
from evenhand.errors import ArgumentError, ExhaustedError, expected
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels
from evenhand.protocol import Label, World
from evenhand.sampling.pools.labels import predicted_rows
from evenhand.sampling.problem import MOST
from evenhand.sampling.sampler import Sampler

if TYPE_CHECKING:
    import pandas as pd

Test = Callable[[Any], Any]


def collect(
    sampler: object,
    world: object,
    *,
    rounds: int,
    checkpoints: int | Sequence[int] = 20,
    test: Test | None = None,
    final: bool = False,
    watch: Callable[[Any], None] | None = None,
) -> pd.DataFrame:
    """Run a sampler in a world that was reset, up to `rounds` or until nothing is left, and return its history.

    Parameters
    ----------
    sampler, world : who asks and who answers; the sampler may have been used before.
    rounds : the round to reach.
    checkpoints : the rounds to record, or how many, evenly spaced; the last round is recorded in any case.
    test : a function from a model to the groups' risks on held-out data: (m,) in the order of the sampler's groups, or
        by group, as a dict or Series.
    final : test the finished classifier as well (a refit on training and validation rows), at each checkpoint.
    watch : called with the sampler after each round.

    Returns
    -------
    pandas.DataFrame
        A row for each checkpoint and group: `round`, `labels`, `group`, `share` of the training rows, `risk` in
        validation, `test_risk`, `final_risk`; `attrs["notes"]` are the notes of the world and the sampler.

    Raises
    ------
    ArgumentError
        If an argument is of another kind, or the test returns anything but a number for each group.

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

    from evenhand.display.html import notes_of

    if not isinstance(sampler, Sampler):
        raise ArgumentError(expected("sampler", "a sampler such as GreedySampler(groups)", sampler))
    if isinstance(world, type) or not isinstance(world, World):
        raise ArgumentError(expected("world", "an object with reset, observe and respond, such as a pool", world))
    for name, function in (("test", test), ("watch", watch)):
        if function is not None and not callable(function):
            raise ArgumentError(expected(name, "a function, or None", function))
    whole("rounds", rounds, low=1, high=MOST)
    final = yes_or_no("final", final)
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
    history = pd.DataFrame(rows)
    history.attrs["notes"] = [*notes_of(world), *notes_of(sampler)]
    return history


def _rounds(rounds: int, checkpoints: int | Sequence[int]) -> set[int]:
    if is_whole(checkpoints):
        count = min(whole("checkpoints", checkpoints, low=0, high=MOST), rounds)
        return {round(rounds * (i + 1) / count) for i in range(count)}
    listed = as_whole_numbers(checkpoints)
    if listed is None or not (listed >= 1).all():
        raise ArgumentError(expected("checkpoints", "a number of rounds, or a list of rounds", checkpoints))
    return set(listed.tolist())


def _note(sampler: Any, test: Test | None, final: bool) -> list[dict[str, Any]]:
    sums, counts = sampler.validation_losses()
    unknown = np.full(len(sampler.groups), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {"share": sampler.mixture, "risk": sums / counts}
    columns["test_risk"] = unknown if test is None else _tested(test, sampler.model, sampler.groups)
    columns["final_risk"] = (
        _tested(test, sampler.finish().model, sampler.groups) if test is not None and final else unknown
    )
    base = {"round": sampler.rounds, "labels": sampler.labels}
    return [
        {**base, "group": group, **{name: float(values[z]) for name, values in columns.items()}}
        for z, group in enumerate(sampler.groups)
    ]


def _tested(test: Test, model: object, groups: Sequence[Label]) -> Floats:
    """Return the risks (m,) that a test finds, in the order of the groups."""
    what = f"a number for each of the groups {list(groups)}, in this order or by group"
    risks = Labels(groups).read(test(model), "test(...)", what)
    if isinstance(risks, dict) and risks.keys() == set(groups):
        risks = [risks[group] for group in groups]
    found = as_floats(risks)
    if found is None or found.shape != (len(groups),):
        raise ArgumentError(expected("test(...)", what, risks))
    return found


def group_errors(model: object, X: object, y: object, *, groups: object) -> Floats:
    """Return the error rate (m,) of a model on held-out rows X (n, d), y (n,) of each of the `groups` (n,), in the
    order of the sorted groups, as in pools.

    Raises
    ------
    ArgumentError
        If the model cannot predict, there are not as many predictions, labels and groups as rows, one is missing or
        invalid, or they carry other row labels.

    >>> class Yes:
    ...     def predict(self, X):
    ...         return np.ones(len(X), int)
    >>> group_errors(Yes(), np.zeros((3, 1)), np.array([1, 0, 1]), groups=["a", "a", "b"])
    array([0.5, 0. ])
    """
    predicted, labels, _, index = predicted_rows(model, X, y, groups)
    return np.asarray(np.bincount(index, predicted != labels) / np.bincount(index))
