"""Arms from a table, which show one random row of their own each round; and the bias that the table shows.

The bias is each group's regression less that of the others, with intervals over the table's rows; the answer for the
average member of a group is `TableArms.similar_gaps`. With A = X (X'X)^+, h the leverages and e the residuals of a
group's least squares, coefficient j has the variance
sum_i A_ij^2 e_i^2 / (1 - h_i) (HC2), which needs neither equal noise nor a true linear model; where that is larger,
s^2 sum_i A_ij^2 with the mean squared residual s^2 of both sides is taken, as where few rows happen to be alike. Two
groups share no rows, so that variances add. Student's quantile has Bell and McCaffrey's degrees of freedom. The errors
of all intervals add up to 1 - level, so that all hold together: half is the intercepts', whose interval is then as
narrow with many features as with few.

Sources: R. Bell, D. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
Survey Methodology 28 (2002); G. Imbens, M. Kolesar, "Robust standard errors in small samples", Review of Economics and
Statistics 98 (2016); C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased
Feedback", AAMAS 2022, the experiments on real data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import real
from evenhand.audit.similar import OTHERS, SimilarGap, check_varied, notes_on_overlap, similar_gaps, told
from evenhand.data.encoding import fitted
from evenhand.data.features import other_columns
from evenhand.data.groupings import Grouping, used_once
from evenhand.data.tables import column, column_names, in_column_order, named_alike, numbers, places_in
from evenhand.errors import ArgumentError, TableError, Wording, argument, expected
from evenhand.frames import as_pandas
from evenhand.groups.bias import INTERCEPT, named
from evenhand.groups.problem import Groups, one_of_two
from evenhand.kernels.arrays import Bools, Floats, Ints, Words
from evenhand.kernels.compose import kernel
from evenhand.kernels.random import below, normal
from evenhand.labels import combined_labels
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.simulation.world import KernelWorld, WorldKernels

if TYPE_CHECKING:
    import pandas as pd

CHEAP = 1e10
"""From how many products on the degrees of freedom are bounded from below, which widens intervals by a little."""


class LeastSquares(NamedTuple):
    """Least squares of some rows: per coefficient (k,) its value, its variance by HC2, its variance at unit noise and
    the sum that its degrees of freedom divide by; the squared residuals and their degrees of freedom."""

    values: Floats
    robust: Floats
    unit: Floats
    spread: Floats
    squares: float
    freedom: int

    def of(self, kept: Bools) -> LeastSquares:
        """Return those of some coefficients (k,)."""
        one, robust, unit, spread = self.values[kept], self.robust[kept], self.unit[kept], self.spread[kept]
        return LeastSquares(one, robust, unit, spread, self.squares, self.freedom)


def fit_rows(rows: Floats, rewards: Floats) -> LeastSquares:
    """Return the least squares of rewards (n,) on rows (n, k), of whose columns `told` keeps all."""
    scale = np.abs(rows).max(axis=0)
    # Columns of one size: a salary beside a share of one would cost the small coefficient its digits.
    left, right = np.linalg.qr(rows / scale)
    weights = left @ np.linalg.inv(right).T / scale
    free, residuals = 1 - (left**2).sum(axis=1), rewards - left @ (left.T @ rewards)
    parts = weights**2 / free[:, None]
    if len(rows) * rows.shape[1] ** 3 < CHEAP:
        crossed = np.array([np.square((left.T * part) @ left).sum() for part in parts.T])
    else:  # no less: the squared hat matrix has the leverages as the sums of its rows
        crossed = (1 - free) @ parts**2
    robust, spread = residuals**2 @ parts, (2 * free - 1) @ parts**2 + crossed
    freedom = len(rows) - rows.shape[1]
    return LeastSquares(
        weights.T @ rewards, robust, (weights**2).sum(axis=0), spread, float(residuals @ residuals), freedom
    )


def difference(mine: LeastSquares, others: LeastSquares, error: Floats) -> tuple[Floats, Floats]:
    """Return the difference of the coefficients and half the width of its interval, each (k,), as `error` is."""
    from scipy.stats import t

    noise, unit = (mine.squares + others.squares) / (mine.freedom + others.freedom), mine.unit + others.unit
    variance = np.maximum(mine.robust + others.robust, noise * unit)
    half = t.ppf(1 - error / 2, unit**2 / (mine.spread + others.spread)) * np.sqrt(variance)
    return mine.values - others.values, half


def bias_of_table(
    rows: Floats,
    rewards: Floats,
    codes: Ints,
    membership: Groups,
    *,
    compared: Sequence[int],
    level: float,
    features: Sequence[str],
) -> pd.DataFrame:
    """Return the table that `TableArms.bias` describes, from rows (n, k) of groups `codes` (n,); `compared` are the
    groups that it holds. The bias of a column whose effect one side does not tell is not known; the other side takes it
    into account all the same, as it is on average on that side."""
    import pandas as pd

    names, tables = membership.names, []
    k = rows.shape[1]
    error = np.full(k, (1 - level) / (len(compared) * k))
    if features[-1] == INTERCEPT and k > 1:
        error[:-1], error[-1] = error[0] * k / (2 * (k - 1)), error[0] * k / 2
    for code in compared:
        inside = codes == code
        gap, half = np.full(k, np.nan), np.full(k, np.inf)
        tell = told(rows[inside]), told(rows[~inside])
        if (kept := tell[0] & tell[1]).any():
            moved = rows.copy()
            if features[-1] == INTERCEPT:
                moved -= np.where(kept, 0.0, np.where(tell[0], rows[~inside].mean(axis=0), rows[inside].mean(axis=0)))
            mine, others = (
                fit_rows(moved[side][:, own], rewards[side]).of(kept[own])
                for side, own in zip((inside, ~inside), tell, strict=True)
            )
            gap[kept], half[kept] = difference(mine, others, error[kept])
        middle = np.nan_to_num(gap)
        reference = names[1 - code] if len(names) == 2 else OTHERS
        columns = {"group": names[code], "reference": reference, "feature": list(features)}
        tables.append(pd.DataFrame(columns | {"bias": gap, "low": middle - half, "high": middle + half}))
    return pd.concat(tables, ignore_index=True)


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
    """Arms whose contexts and rewards are real: an arm is a combination of values in the table, and shows one of its
    rows, drawn with replacement.

    No table says what people are truly worth, so the only regret is the perceived one: the largest reward among the
    rows shown less the reward received.

    Parameters
    ----------
    frame : the table, one row per person.
    arm : names of the columns whose values make an arm; one arm for each combination that occurs.
    group : the column, or columns, of the group; all rows of an arm must be of one group.
    reward : the column of rewards, finite numbers on any scale.
    features : columns shown as context; None for all others. Text and categories become columns of zeros and ones, one
        for each category but the first; ordered categories 0, 1, ... Dates, durations and identifiers are refused.
    sensitive : the group that rewards are suspected to be biased against, and that `bias` compares with the other.
    noise : standard deviation of noise added to each reward.

    Attributes
    ----------
    features : the names of the contexts' columns (d,).
    columns : the columns of the table that they were made from.
    encoder : what turns these columns of other tables into contexts, for a policy's `encode_with`.
    enough : whether the groups with enough rows to say anything hold half of the rows.
    notes : which groups have too few rows, if any; a column of measurements makes too many groups.

    Raises
    ------
    TableError
        If a column is missing, a cell is empty, a reward or feature is not a finite number or category, or an arm
        belongs to two groups.
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

    _kernels = WorldKernels(show, pay, score)
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
        used_once("group", group_columns, {reward: "the reward"})
        if features is None:
            features = other_columns(frame, {*arm_columns, *group_columns, reward})
        shown = _names("features", features)
        if reward in shown:
            hint = "the predicted column cannot be a context; leave it out"
            raise TableError(expected("features", "columns other than the reward's", reward, hint))
        self.arm, self.group, self.reward = arm_columns, group_columns, reward
        self.columns = list(map(str, shown))
        self.encoder, table = fitted(frame, shown)
        self.features = self.encoder.names or []
        arms = in_column_order(frame, arm_columns, np.array(cells, dtype=object))
        codes = places_in(np.array(cells, dtype=object), arms)
        groups: dict[Label, Label] = {}
        for row, (cell, own) in enumerate(zip(cells, belongs, strict=True)):
            if groups.setdefault(cell, own) != own:
                hint = Wording(f"name {', '.join(map(repr, group_columns))} in ", argument("arm"), " too")
                raise TableError(expected(f"group, row {row + 1}", f"arm {cell!r} in one group", own, hint))
        self.membership = Groups.read({label: groups[label] for label in arms})
        super().__init__(self.membership.arms, table.shape[1])
        if sensitive is not None:
            sensitive = self.membership.names[self.membership.code(sensitive, "sensitive")]
        self.sensitive = sensitive
        self.noise = real("noise", noise, low=0)
        order = np.argsort(codes, kind="stable")
        self.table, self.rewards = np.ascontiguousarray(table[order]), rewards[order]
        self.counts = np.bincount(codes, minlength=len(arms)).astype(np.int64)
        rows = np.bincount(self.codes(), minlength=len(self.membership.names))
        grouping = Grouping.of_rows(self.membership.names, rows)
        what = f"groups of {', '.join(map(repr, group_columns))}"
        self.enough, self.notes = grouping.enough, grouping.note(what, "have too few rows to be compared")
        self.notes += notes_on_overlap(self.table, self.codes(), self.membership.names, self.features)
        exact = (float(rewards.min()), float(rewards.max()))
        self.reward_range = (-math.inf, math.inf) if self.noise > 0 else exact

    @property
    def groups(self) -> dict[Label, Label]:
        """The group of each arm."""
        return self.membership.as_dict()

    def bias(self, *, level: float = 0.95, intercept: bool = True) -> pd.DataFrame:
        """Return the bias that the table shows for each group, feature by feature, with intervals over its rows.

        What is estimated is the difference between the group's regression of the reward on the features and that of all
        other rows: the bias PLUS the difference of what the groups are truly worth. It is the bias only where groups
        are equal on average. Features are centred, so that the intercept is the difference for somebody with the
        average of every feature; half of the error that `level` allows goes to the intercepts. The intervals are for
        whoever the rows were drawn from. Rounds that are resampled from the table know no more than its rows do, so
        that the intervals of a policy's own `bias()` would be too narrow here. Rows are taken to be independent: one
        row for each person.

        Parameters
        ----------
        level : the probability with which all intervals hold together, for many rows.
        intercept : whether the regressions have a constant part; without one features are not centred, and groups whose
            features differ seem to differ in their rewards too.

        Returns
        -------
        pandas.DataFrame
            Columns group, reference, feature, bias, low, high, and deviation, the feature's standard deviation; a row
            for each feature, and the feature "intercept", for the sensitive group or, where none is named, the one with
            fewer rows; for every group where there are more than two. What the rows do not determine has the interval
            (-inf, inf). `attrs` are the level, and `intervals`: how they hold.

        Raises
        ------
        ArgumentError
            If the level is out of range, a feature is named "intercept", or there is only one group.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> random = np.random.default_rng(1)
        >>> frame = pd.DataFrame({"sex": random.choice(["F", "M"], 400), "debt": random.random(400)})
        >>> frame["repaid"] = frame["debt"] - 0.5 * (frame["sex"] == "F") + random.normal(0, 0.1, 400)
        >>> world = TableArms(frame, "sex", group="sex", reward="repaid", sensitive="F")
        >>> world.bias().round(2)[["feature", "bias", "low", "high"]].values.tolist()
        [['debt', 0.0, -0.08, 0.08], ['intercept', -0.51, -0.53, -0.48]]
        """
        real("level", level, above=0, below=1)
        rows, compared = self.table, self.compared()
        features = named(self.features, rows.shape[1] + intercept, intercept)
        scale = rows.std(axis=0)
        if intercept:
            rows, scale = np.column_stack([rows - rows.mean(axis=0), np.ones(len(rows))]), np.append(scale, 1.0)
        table = bias_of_table(
            rows, self.rewards, self.codes(), self.membership, compared=compared, level=level, features=features
        )
        table.attrs = {
            "level": level,
            "intervals": "all hold together" + "; intercept: at the average person" * intercept,
        }
        return table.assign(deviation=np.tile(scale, len(compared)))

    def similar_gaps(self, compared: Sequence[int], level: float = 0.95) -> list[SimilarGap]:
        """Return what the features explain of the difference between each of these groups and all others, and the gap
        between similar people; see `evenhand.audit.parity` with `given=`."""
        codes, names = self.codes(), self.membership.names
        check_varied("reward", self.rewards)
        return similar_gaps(self.table, self.rewards, codes, names, self.encoder, compared=compared, level=level)

    def codes(self) -> Ints:
        """Return the group of each row (n_rows,), its place among the groups' names."""
        return np.repeat(np.array(self.membership.codes), self.counts)

    def compared(self) -> Sequence[int]:
        """Return which groups are compared with all others: of two the sensitive one, or the one with fewer rows.

        Raises
        ------
        ArgumentError
            If there is only one group.
        """
        names = self.membership.names
        if len(names) < 2:
            raise ArgumentError(expected("group", "a column with at least two groups", list(names)))
        own = None if self.sensitive is None else names.index(self.sensitive)
        return range(len(names)) if len(names) > 2 else [one_of_two(np.bincount(self.codes()), own)]

    def _parameters(self) -> TableParams:
        first = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
        return TableParams(self.table, self.rewards, first, self.counts, self.noise)

    def _memory(self, stream: Words) -> TableState:
        return TableState(stream, np.zeros(len(self.arms)), np.zeros(2))

    @classmethod
    def _examples(cls) -> Iterator[TableArms]:
        import pandas as pd

        frame = pd.DataFrame({"age": ["old", "young"] * 6, "sex": [*"FFMM"] * 3, "debt": range(0, 12000, 1000)})
        frame = frame.assign(job=["none", "some", "some"] * 4, repaid=6000 - frame["debt"] / 2)
        yield cls(frame, ["age", "sex"], group="sex", reward="repaid", sensitive="F", noise=1.0)


def _names(name: str, columns: object) -> list[Any]:
    names = column_names(name, columns)
    if len(set(names)) < len(names):
        raise TableError(expected(name, "at least one column, each once", columns))
    return names


def _labels(frame: pd.DataFrame, names: list[Any], what: str) -> list[Label]:
    values = [named_alike(column(frame, name)).tolist() for name in names]
    return combined_labels([cell if len(cell) > 1 else cell[0] for cell in zip(*values, strict=True)], what)
