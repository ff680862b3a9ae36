"""What the caller computes from the log of each replication, such as the effects of a trial's arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.data.probabilities import by_arm
from evenhand.data.tables import EACH
from evenhand.errors import ArgumentError, expected
from evenhand.frames import as_pandas, is_frame
from evenhand.protocol import Decision, Label
from evenhand.simulation.history import Variables

if TYPE_CHECKING:
    import pandas as pd


def analysed(
    analyse: Callable[[pd.DataFrame], object],
    log: list[tuple[Decision, float]],
    arms: Sequence[Label],
    taken: Variables,
) -> Variables:
    """Return the columns of the table that `analyse` makes of a log, as variables by arm, nan for an arm that it leaves
    out; the log has a row for each decision: `arm`, `reward`, `status` and a column for the chance of each arm.

    Raises
    ------
    ArgumentError
        If it returns anything but a table with a column `arm` and numbers, or a column has the name of a variable in
        `taken`.
    """
    import pandas as pd

    rewards = [reward for _, reward in log]
    rows = {"arm": [one.arm for one, _ in log], "reward": rewards}
    rows |= {"status": ["forgotten" if reward != reward else "told" for reward in rewards]}
    chances = by_arm([_chances(one, len(arms)) for one, _ in log], [one.index for one, _ in log], len(arms))
    found = analyse(pd.DataFrame(rows).join(pd.DataFrame(chances, columns=[f"{EACH}{arm}" for arm in arms])))
    what = "a function that returns a table with a column arm, each arm once, and numbers"
    try:
        table = as_pandas(found, "analyse").set_index("arm").reindex(list(arms)).astype(np.float64)
    except (TypeError, ValueError, KeyError) as error:
        got = list(found.columns) if is_frame(found) else found
        raise ArgumentError(expected("analyse", what, got)) from error
    if same := next((name for name in table if name in taken), None):
        raise ArgumentError(expected("analyse", "columns that are no variables of the history", same))
    return {str(name): (("arm",), values.to_numpy()) for name, values in table.items()}


def _chances(decision: Decision, arms: int) -> list[Any] | None:
    """Return the chances of all arms, nan where they are not known, None for a certain decision."""
    if decision.probabilities is not None:
        return decision.probabilities.tolist()
    return None if decision.propensity == 1.0 else [np.nan] * arms
