"""Arms from a table: each round every arm shows one random row of its own.

Source: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS 2022,
the experiments on real data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import real
from evenhand.errors import TableError, wanted
from evenhand.features import coded
from evenhand.frames import as_pandas
from evenhand.groups.problem import Groups
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import below, normal
from evenhand.labels import combined_labels
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.simulation.world import KernelWorld, WorldKernels
from evenhand.tables import column, in_natural_order, numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableArms"]


class TableParams(NamedTuple):
    features: Floats
    """(n_rows, d), the rows of each arm together."""
    rewards: Floats
    first: Ints
    counts: Ints
    noise: float


class TableState(NamedTuple):
    stream: Words
    offered: Floats
    """(n_arms,): the reward of the row that each arm shows."""
    best: Floats
    """(2,): the largest of them, and this round's noise."""


@kernel
def show(params: TableParams, state: TableState, contexts: Floats, round: int) -> None:
    state.best[0] = -math.inf
    for arm in range(contexts.shape[0]):
        row = params.first[arm] + below(state.stream, params.counts[arm])
        for j in range(contexts.shape[1]):
            contexts[arm, j] = params.features[row, j]
        state.offered[arm] = params.rewards[row]
        state.best[0] = max(state.best[0], state.offered[arm])
    state.best[1] = params.noise * normal(state.stream) if params.noise > 0.0 else 0.0


@kernel
def pay(params: TableParams, state: TableState, contexts: Floats, index: int) -> float:
    return state.offered[index] + state.best[1]


@kernel
def score(params: TableParams, state: TableState, contexts: Floats, index: int, reward: float, totals: Floats) -> None:
    totals[0] += state.best[0] - reward


@register("groups/table-arms", "world")
class TableArms(KernelWorld):
    """Arms whose contexts and rewards are real: an arm is a cell of the table, and shows one of its rows, drawn with
    replacement.

    What people are truly worth no table says, so the only regret is the perceived one: the largest reward among the
    rows shown less the reward received.

    Parameters
    ----------
    frame : the table, a row a person.
    arm : names of the columns whose values make an arm; one arm for each combination that occurs.
    group : the column, or columns, of the group; all rows of an arm must be of one group.
    reward : the column of rewards, finite numbers on any scale.
    features : columns shown as context; None for all others. Categories become integers: ordered ones by their order,
        text and other categories by first appearance. Dates, durations and identifiers are refused.
    sensitive : the group that rewards are suspected to be biased against, kept for those who build policies.
    noise : standard deviation of noise added to each reward.

    Raises
    ------
    TableError
        If a column is missing, a cell empty, a reward or feature not a finite number or category, or an arm belongs to
        two groups.
    UnknownArmError
        If no row is of the sensitive group.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": ["old", "young", "old", "young"], "sex": list("FFMM"), "debt": [1, 2, 3, 4]})
    >>> frame["repaid"] = [9, 8, 7, 6]
    >>> world = TableArms(frame, arm=["age", "sex"], group="sex", reward="repaid", sensitive="F")
    >>> world.groups
    {'old & F': 'F', 'old & M': 'M', 'young & F': 'F', 'young & M': 'M'}

    Source: Schumann, Lang, Mattei, Dickerson (2022), the experiments on COMPAS and family income.
    """

    kernels = WorldKernels(show, pay, score)
    scores = ("perceived_regret",)
    units = {"perceived_regret": "largest reward among the rows shown less the reward received, so far"}  # noqa: RUF012

    def __init__(
        self,
        frame: pd.DataFrame,
        arm: str | Sequence[str],
        *,
        group: str | Sequence[str],
        reward: str,
        features: Sequence[str] | None = None,
        sensitive: Label | None = None,
        noise: float = 0.0,
    ) -> None:
        frame = as_pandas(frame)
        arm_columns, group_columns = _names("arm", arm), _names("group", group)
        cells = _labels(frame, arm_columns, "arm")
        belongs = _labels(frame, group_columns, "group")
        rewards = numbers(frame, reward)
        if features is None:
            used = {*arm_columns, *group_columns, reward}
            features = [name for name in frame.columns if name not in used]
        shown = _names("features", features)
        if reward in shown:
            mend = "no context may hold what is predicted; leave it out"
            raise TableError(wanted("features", "columns other than the reward's", reward, mend))
        self.features = [str(name) for name in shown]
        table = np.column_stack([coded(frame, name) for name in shown])
        arms = in_natural_order(cells)
        position = {label: code for code, label in enumerate(arms)}
        codes = np.array([position[cell] for cell in cells])
        groups: dict[Label, Label] = {}
        for row, (cell, own) in enumerate(zip(cells, belongs, strict=True)):
            if groups.setdefault(cell, own) != own:
                mend = f"put {group_columns} among arm="
                raise TableError(wanted(f"group, row {row + 1}", f"arm {cell!r} in one group", own, mend))
        self.membership = Groups.read({label: groups[label] for label in arms})
        super().__init__(self.membership.arms, table.shape[1])
        if sensitive is not None:
            sensitive = self.membership.names[self.membership.code(sensitive, "sensitive")]
        self.sensitive = sensitive
        self.noise = real("noise", noise, low=0)
        order = np.argsort(codes, kind="stable")
        self.table, self.rewards = np.ascontiguousarray(table[order]), rewards[order]
        self.counts = np.bincount(codes, minlength=len(arms)).astype(np.int64)
        exact = (float(rewards.min()), float(rewards.max()))
        self.reward_range = (-math.inf, math.inf) if self.noise > 0 else exact

    @property
    def groups(self) -> dict[Label, Label]:
        """The group of each arm."""
        return self.membership.as_dict()

    def parameters(self) -> TableParams:
        first = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
        return TableParams(self.table, self.rewards, first, self.counts, self.noise)

    def memory(self, stream: Words) -> TableState:
        return TableState(stream, np.zeros(len(self.arms)), np.zeros(2))

    @classmethod
    def examples(cls) -> Iterator[TableArms]:
        import pandas as pd

        frame = pd.DataFrame(
            {
                "age": ["old", "young"] * 6,
                "sex": ["F", "F", "M", "M"] * 3,
                "job": ["none", "some", "some"] * 4,
                "debt": np.arange(12) * 1000.0,
                "repaid": np.arange(12)[::-1] * 500.0,
            }
        )
        yield cls(frame, ["age", "sex"], group="sex", reward="repaid", sensitive="F", noise=1.0)


def _names(name: str, columns: Any) -> list[Any]:
    if isinstance(columns, str):
        return [columns]
    names = list(columns) if hasattr(columns, "__iter__") else []
    if not names or not all(isinstance(one, (str, int)) for one in names) or len(set(names)) < len(names):
        raise TableError(wanted(name, "at least one column, each once", columns))
    return names


def _labels(frame: pd.DataFrame, names: list[Any], what: str) -> list[Label]:
    values = [column(frame, name).tolist() for name in names]
    return combined_labels([cell if len(cell) > 1 else cell[0] for cell in zip(*values, strict=True)], what)
