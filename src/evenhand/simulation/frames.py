"""Histories as tidy tables, with their errors and levels; the same policies under many settings, in one such table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real, whole
from evenhand.errors import ArgumentError, expected
from evenhand.frames import as_pandas
from evenhand.protocol import World
from evenhand.rng import draw_seed
from evenhand.simulation.measures import mean_and_ends, standard_error
from evenhand.simulation.replication_cache import remembered_seed
from evenhand.simulation.simulate import simulate

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SPECIAL = re.compile(r"[&%$#_{}]")
COUNTS = ("rounds", "replications")
ROUNDED = 1e-12
"""What is not above this part of a mean is what rounding leaves of an error of 0."""
ENDS = ["mean", "standard_error", "low", "high"]


def frame(history: xr.Dataset, *, last: bool = True, level: float = 0.95) -> pd.DataFrame:
    """Return means over replications as a tidy table: a row for each policy, variable, round, and arm or group.

    low, high = mean -+ t standard_error, with Student's quantile for the number of replications; nan for one. An error
    below 1e-12 of the mean is rounding, and 0 in the table. Where a variable cannot be negative, which its attribute
    `valid_min` says, low is cut off at 0.

    Parameters
    ----------
    history : what `eh.simulate` returns.
    last : the last round alone, or every checkpoint.
    level : the level of each interval, by itself.

    Returns
    -------
    pandas.DataFrame
        Columns policy, variable, round, those dimensions that a variable has beside these, such as `arm`, and mean,
        standard_error, low, high, level, replications; `attrs` are those of the history: seed, world, rounds, made_of.

    Raises
    ------
    ArgumentError
        If the history has no dimensions policy and replication, or the level is no probability.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.quotas import BernoulliArms
    >>> history = eh.simulate(eh.learners.UCB1(), BernoulliArms([0.7, 0.5]), rounds=100, replications=8, seed=1)
    >>> found = eh.simulation.frame(history)
    >>> found[found.variable == "reward"][["policy", "round", "level", "replications"]].to_numpy().tolist()
    [['UCB1', 100, 0.95, 8]]
    """
    import pandas as pd

    real("level", level, above=0, below=1)
    if not {"policy", "replication", "round"} <= {*history.dims}:
        raise ArgumentError(expected("history", "what eh.simulate returns", list(history.dims)))
    shown, runs, tables = history.isel(round=[-1]) if last else history, history.sizes["replication"], []
    for name, values in shown.data_vars.items():
        if "replication" not in values.dims:
            continue
        values = values.astype(np.float64)
        middle, low, high = (each.to_series() for each in mean_and_ends(values, level))
        error = standard_error(values).to_series()
        error = error.mask(error < ROUNDED * middle.abs(), 0.0)
        columns = {"standard_error": error, "low": low, "high": high}
        tables.append(middle.to_frame("mean").assign(**columns).reset_index().assign(variable=str(name)))
    found = pd.concat(tables, ignore_index=True).assign(level=level, replications=runs)
    first = ["policy", "variable", "round"]
    others = [name for name in found.columns if name not in (*first, *ENDS, "level", "replications")]
    found = found[[*first, *others, *ENDS, "level", "replications"]]
    found.attrs = {name: np.asarray(value).tolist() for name, value in history.attrs.items()}
    return found


def sweep(
    make: Callable[..., Any],
    world: Any,
    grid: Mapping[str, Sequence[Any]],
    *,
    rounds: int | None = None,
    replications: int = 1,
    seed: int | None = None,
    jobs: int = -1,
    progress: bool = False,
    store: str | None = None,
) -> pd.DataFrame:
    """Simulate what `make` returns for every combination of some settings, and return one tidy table of all.

    Each combination plays with the same seed, so that they differ by their settings alone. With a store, an interrupted
    sweep goes on where it stopped, and values that are added later play alone.

    Parameters
    ----------
    make : a function of the settings, such as `lambda alpha: FairUCB([0.2, 0.2], alpha)`, which returns a policy or
        several, as `eh.simulate` takes them.
    world : a world, or a function of the settings that returns one.
    grid : the values of each setting, `{"alpha": [0, 1, 10], "rounds": [1000, 10_000]}`; `rounds` and `replications`
        among them are those of the simulation.
    rounds, replications, seed, jobs, progress, store : as for `eh.simulate`.

    Returns
    -------
    pandas.DataFrame
        The settings, then the columns of `frame`; `attrs` are what all histories have in common, such as the seed, and
        `made_of`: the version, and all worlds and policies.

    Raises
    ------
    ArgumentError
        If a setting has no values, or is taken by no function, or the number of rounds is nowhere.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.quotas import BernoulliArms, FairUCB
    >>> grid = {"alpha": [0, 10], "rounds": [100, 200]}
    >>> found = eh.simulation.sweep(lambda alpha: FairUCB([0.3, 0.3], alpha), BernoulliArms([0.7, 0.5]), grid, seed=1)
    >>> found[found.variable == "violations"][["alpha", "rounds", "mean"]].to_numpy().tolist()
    [[0.0, 100.0, 0.0], [0.0, 200.0, 0.0], [10.0, 100.0, 0.0], [10.0, 200.0, 0.0]]
    """
    import pandas as pd

    empty = next((name for name, values in grid.items() if isinstance(values, str) or not len(values)), None)
    if not grid or empty is not None:
        raise ArgumentError(expected("grid", "a dict setting -> list of values", dict(grid)))
    if rounds is None and "rounds" not in grid:
        raise ArgumentError(expected("rounds", "a whole number >= 1, here or in the grid", None))
    functions = [make, world] if callable(world) and not isinstance(world, World) else [make]
    idle = next((name for name in grid if name not in COUNTS and not any(_takes(f, name) for f in functions)), None)
    if idle is not None:
        raise ArgumentError(expected("grid", "settings that make, or a function world=, takes", idle))
    number = draw_seed(seed if seed is not None or store is None else remembered_seed(Path(store)))
    more: dict[str, Any] = {"seed": number, "jobs": jobs, "progress": progress, "store": store, "checkpoints": 1}
    counts, tables = {"rounds": rounds, "replications": replications}, []
    for values in product(*grid.values()):
        given = dict(zip(grid, values, strict=True))
        place = world if len(functions) == 1 else _call(world, given)
        asked = more | counts | {name: given[name] for name in COUNTS if name in given}
        tables.append(frame(simulate(_call(make, given), place, **asked)).assign(**given))
    found = pd.concat(tables, ignore_index=True)
    found = found[[*grid, *(name for name in found.columns if name not in grid)]]
    every = [table.attrs for table in tables]
    common = {name: value for name, value in every[0].items() if all(one.get(name) == value for one in every)}
    found.attrs = common | {"made_of": list(dict.fromkeys(line for one in every for line in one["made_of"]))}
    return found


def _takes(function: Callable[..., Any], name: str) -> bool:
    takes = signature(function).parameters
    return name in takes or any(one.kind is Parameter.VAR_KEYWORD for one in takes.values())


def _call(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    return function(**{name: value for name, value in given.items() if _takes(function, name)})


def latex(table: pd.DataFrame, *, digits: int = 3) -> str:
    r"""Return a table as a LaTeX tabular with the rules of booktabs, its numbers with so many significant digits.

    Variables without a mean, such as violations where nothing is promised, and columns without any value are left out;
    where another value is missing stands a dash.

    >>> import pandas as pd
    >>> print(latex(pd.DataFrame({"policy": ["fair_ucb"], "mean": [123.456]})))
    \begin{tabular}{lr}
    \toprule
    policy & mean \\
    \midrule
    fair\_ucb & 123 \\
    \bottomrule
    \end{tabular}
    """
    whole("digits", digits, low=1)
    table = as_pandas(table, "table")
    if {"variable", "mean"} <= {*table.columns}:
        table = table[table["mean"].notna().groupby(table["variable"]).transform("any")]
    table = table.dropna(axis="columns", how="all") if len(table) else table
    numbers = [kind.kind in "iuf" for kind in table.dtypes]
    cells = [map(str, table.columns), *([_cell(cell, digits) for cell in row] for row in table.itertuples(index=False))]
    head, *rows = [" & ".join(SPECIAL.sub(r"\\\g<0>", cell) for cell in row) + r" \\" for row in cells]
    begin = rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numbers)}}}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"])


def _cell(value: Any, digits: int) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return "--"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
