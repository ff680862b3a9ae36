"""The gap between similar people: what of a difference between a group's mean and that of all others the features do
not explain, at the average member of the group.

With the means ybar_s of the values and xbar_s of the features (1 for the intercept included) in the group, and the
least squares b_r of all others,

    ybar_s - ybar_r = (xbar_s - xbar_r)'b_r + (ybar_s - xbar_s'b_r)

of which the features explain the first part, and the second is the gap. Members whom nobody among the others is like,
whose features the rows of the others do not span, are left out: b_r says nothing of them. So are others who alone show
a feature; of all other features b_r holds, also of those that no member has. The variance of the gap is that of the
contrast xbar_s'(b_s - b_r), xbar_s held fixed: with the weights
w = Z (Z'Z)^-1 xbar_s of either regression, the residuals e and the leverages h, the sum over both of w_i^2 e_i^2 / (1 -
h_i) (HC2). Student's quantile has Bell and McCaffrey's degrees of freedom. Rows of one unit u, which has the block H_u
of the hat matrix, count together (CR2):

    a_u = (I - H_u)^(-1/2) w_u        z_u = a_u'e_u        V = sum_u z_u^2
    (tr P)^2 / tr P^2                 P = diag(a_u'a_u) - q q'        q_u = Q_u'a_u        Q from Z = QR

For a unit with rows on both sides z_u is that of the one less that of the other; a_u'a_u and qq' add up.

Source: R. Oaxaca, "Male-female wage differentials in urban labor markets", International Economic Review 14 (1973);
A. Blinder, "Wage discrimination: reduced form and structural estimates", Journal of Human Resources 8 (1973);
R. M. Bell, D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
Survey Methodology 28 (2002).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.data.encoding import Transformer
from evenhand.display.digits import as_written, between, way_of
from evenhand.errors import TableError, Wording, expected, first_few
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.protocol import Label

OTHERS = "all others"
CUT = 1e-10
"""Rows whose leverage lacks less to 1 are fitted exactly."""
ALIKE = 1e-9
"""Which part of a column is rounding, where the columns before it make up the rest."""
SPANNED = 1e-7
"""Which part of a row is rounding, where other rows make up the rest."""
ROUNDED = 1e-5
"""Which part of the range of the values is rounding, such as to cents, where the features make up the rest."""
ELSEWHERE = "the interval is that of `evenhand audit-parity --given` with `--unit`, which names their column"
"""What to do about people with several rows where no unit can be named."""
NAMED = 3
"""How many features a sentence names."""
FEW = 10
"""Of fewer rows chance alone may put all on one side of the others."""
APART = 0.25
"""From which part of the larger one on two gaps differ much."""


class SimilarGap(NamedTuple):
    """What the features explain of a group's difference from the others, and what they do not.

    Attributes
    ----------
    group, reference : whose mean, and the mean of whom it is compared with.
    difference, explained, gap : the plain difference, and the two parts that it consists of.
    low, high, freedom : the interval of the gap, and its degrees of freedom; infinite where the features determine the
        values of one side, which then do not show how much is chance.
    at_average : the gap at the average of all rows instead of the average member of the group; nan where the two sides
        do not tell the same features.
    together : how many groups' intervals hold together.
    features : the columns of which something is used.
    left_out : how many members are not in it, as nobody among the others is like them; `difference` is without them.
    lacking : the features in which.
    combined : the features that the others make up, and those that are the same in every row.
    """

    group: Label
    reference: Label
    difference: float
    explained: float
    gap: float
    low: float
    high: float
    freedom: float
    at_average: float
    together: int
    features: tuple[str, ...]
    left_out: int
    lacking: tuple[str, ...]
    combined: tuple[str, ...]

    def sentences(self, value: str, level: float, tolerance: float = 0.0) -> str:
        """Return the answer in words; so large a gap, the tolerance, is allowed."""
        plain, explained, gap, average = as_written(self.difference, self.explained, self.gap, self.at_average)
        listed, who = _listed(self.features or ("",)), f"group {self.group!r}"
        others = self.reference if self.reference == OTHERS else f"group {self.reference!r}"
        part = f"Of that, {listed} explain{'s' * (len(self.features) == 1)} {explained}"
        if self.explained * self.difference < 0 and explained.strip("0."):
            part = f"By {listed} alone it would be {explained} {way_of(self.explained)}"
        if explained.strip("0."):
            more = way_of(self.explained)
            part += f", as with the average features of {who} the mean of {others} would be that much {more}"
        alike = f"the same {listed}, that" if len(self.features) == 1 else "the same features, those"
        than = "among all others" if self.reference == OTHERS else f"in {others}"
        said = ""
        if self.left_out:
            some = f"{self.left_out:,} member{'s' * (self.left_out > 1)} of {who}"
            said = f"Left out of this: {some}, as nobody {than} is like them in {first_few(self.lacking, NAMED)}. "
        said += f"Mean {value} is {plain} {way_of(self.difference)} in {who} than {than}"
        if self.features:
            said += f". {part}. With {alike} of the average member of {who}, it is {gap} {way_of(self.gap)}"
        said += f" ({self._interval(level, tolerance)})."
        if not self.features:
            said += " No feature is left that could explain any of it."
        if abs(self.gap - self.at_average) > APART * max(abs(self.gap), abs(self.at_average)):
            said += f" With the average features of the whole table it is {average} {way_of(self.at_average)} instead."
        if self.combined:
            said += (
                f" Left out, as a linear combination of other features or constant: {first_few(self.combined, NAMED)}."
            )
        return said

    def _interval(self, level: float, tolerance: float) -> str:
        if math.isinf(self.low):
            return "how sure is not known: on one side the features determine every value, as if nothing were chance"
        sure = "so it may be chance" if self.low <= 0 <= self.high else "more than chance alone would make"
        if tolerance:
            apart = max(self.low, -self.high) > tolerance
            sure = f"{'more than' if apart else 'not shown to be more than'} the {tolerance:g} allowed"
        return f"{100 * level:g} % interval{all_at_once(self.together)}: {between(self.low, self.high)}, {sure}"


def all_at_once(groups: int) -> str:
    """Return what stands after the name of an interval that holds together with those of other groups."""
    return f" that holds for {'both' if groups == 2 else f'all {groups}'} groups at once" if groups > 1 else ""


def supposed(unit: str | None = None, several: str = ELSEWHERE) -> str:
    """Return what the gap between similar people supposes, and which standard error its interval has; `several` says
    what to do if people have several rows."""
    apart = f"the rows are independent (if people have several rows, {several})"
    allows = "outcomes to scatter more in some rows than in others (standard error HC2)"
    if unit is not None:
        apart, allows = f"the units ({unit}) are independent", "rows of a unit to be alike (standard error CR2)"
    return (
        f"This supposes that {apart}, that the features act in a straight line, and that they are fair reasons for a "
        "difference. The gap is bias only as far as nothing outside the table explains it. The interval allows "
        f"{allows}, and is wider for small groups (degrees of freedom by Bell and McCaffrey)."
    )


def similar_gaps(
    rows: Floats,
    values: Floats,
    codes: Ints,
    names: Sequence[Label],
    encoder: Transformer,
    *,
    compared: Sequence[int],
    level: float,
    of: Ints | None = None,
    argument: str = "features",
) -> list[SimilarGap]:
    """Return the gap of each group in `compared` to all others; several hold together with the level.

    Parameters
    ----------
    rows : the features as numbers (n, d), which `encoder` names.
    codes : the group of each row (n,), its place among `names`.
    of : the unit of each row (n,); None where each is one.
    argument : what named the features.

    Raises
    ------
    TableError
        If features determine all values, a group has as few rows as there are columns, a feature is
        the group under another name, or a unit alone shows a feature.
    """
    found, rows = [], np.column_stack([rows, np.ones(len(rows))])
    features, sources = np.array(encoder.names, object), np.array(encoder.sources, object)
    for code in compared:
        inside = codes == code
        reference = names[1 - code] if len(names) == 2 else OTHERS
        _no_other_name(rows[inside], rows[~inside], encoder.sources, names[code], argument)
        for side, whose in ((inside, names[code]), (~inside, reference)):
            columns, count = int((np.ptp(rows[side], axis=0) > 0).sum()), int(side.sum())
            if count <= columns + 1:
                got = f"{columns} column{'s' * (columns != 1)} for {count} row{'s' * (count != 1)} of {whose!r}"
                hint = "name fewer features, or merge categories"
                raise TableError(expected(argument, "two rows more in each group than columns", got, hint))
        sides = Sides.of(rows, inside, encoder.sources)
        if sides.members.sum() < 2:
            alike = Wording(f"{int(sides.members.sum())} who are like somebody in {reference!r} in ", sides.lacking)
            raise TableError(expected(argument, f"at least two members of {names[code]!r}", alike))
        kept = sides.kept[1]
        made_up, used = _made_up(rows, kept)[:-1], kept[:-1]
        gap = _gap(rows, values, sides, ~inside, of, (1 - level) / len(compared))
        if math.isinf(gap.low):
            _check_undetermined(rows, values, sources, argument)
        found.append(
            gap._replace(
                group=names[code],
                reference=reference,
                together=len(compared),
                features=tuple(dict.fromkeys(sources[used])),
                left_out=int(inside.sum() - sides.members.sum()),
                lacking=sides.lacking,
                combined=tuple(features[made_up]),
            )
        )
    return found


def _made_up(rows: Floats, kept: Bools) -> Bools:
    """Return which columns (k,) are not kept and linear combinations of those that are."""
    basis, _ = np.linalg.qr(rows[:, kept] / np.abs(rows[:, kept]).max(axis=0))
    rest = np.linalg.norm(rows - basis @ (basis.T @ rows), axis=0)
    return ~kept & (rest <= ALIKE * np.linalg.norm(rows, axis=0))


def _check_undetermined(rows: Floats, values: Floats, sources: Any, argument: str) -> None:
    """Refuse features that determine the values of all rows, and name those that do; `sources` (d,) are the features of
    all columns but the last."""

    def determined(names: list[Any]) -> bool:
        columns = (rows / scale)[:, np.append([one in names for one in sources], True)]
        return _rounding(values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0], values)

    scale, named = np.maximum(np.abs(rows).max(axis=0), ALIKE), list(dict.fromkeys(sources))
    if determined(named):
        for name in dict.fromkeys(sources):
            rest = [one for one in named if one != name]
            named = rest if determined(rest) else named
        hint = f"{_listed(named)} determine{'s' * (len(named) == 1)} the value, so that nothing is left to explain; "
        hint += "leave out what was computed from it"
        raise TableError(expected(argument, "some that leave a part of the value open", named, hint))


def _rounding(residuals: Floats, values: Floats) -> bool:
    """Return whether residuals are no more than rounding, such as of the values to cents."""
    return bool(np.abs(residuals).max() <= ROUNDED * np.ptp(values))


def check_varied(name: str, values: Floats) -> None:
    """Refuse values (n,) that are all the same; `name` is the argument that named their column."""
    if np.ptp(values) == 0:
        raise TableError(expected(name, "a column of values that differ", f"{values[0]:g} in every row"))


def _no_other_name(inside: Floats, others: Floats, features: Sequence[str], group: Label, argument: str) -> None:
    """Refuse a feature, of which each column is, that has one value in the group and another in all others."""
    fixed = (np.ptp(inside, axis=0) == 0) & (np.ptp(others, axis=0) == 0) & (inside[0] != others[0])
    if fixed.any():
        same = features[int(fixed.argmax())]
        hint = f"{same!r} is {group!r} under another name; leave it out"
        raise TableError(expected(argument, "some that vary within a group", same, hint))


def _gap(rows: Floats, values: Floats, sides: Sides, rest: Bools, of: Ints | None, error: float) -> SimilarGap:
    """Return the gap to the rest with the intercept as the last column of the rows (n, k); the names are still to be
    said."""
    from scipy.stats import t

    at, units = rows[sides.members].mean(axis=0), np.arange(len(rows)) if of is None else of
    own, others = (
        _side(rows[:, kept], values, side, at[kept], units)
        for side, kept in zip((sides.members, sides.others), sides.kept, strict=True)
    )
    scores, sizes = own.scores - others.scores, own.sizes + others.sizes
    shared = np.hstack([own.shared, others.shared])
    squares = np.square(shared).sum(axis=1)
    trace = sizes.sum() - squares.sum()
    spread = np.square(sizes).sum() - 2 * sizes @ squares + np.square(shared.T @ shared).sum()
    freedom = float(trace**2 / spread)
    half = float(t.ppf(1 - error / 2, freedom) * math.sqrt(np.square(scores).sum()))
    if _rounding(own.residuals, values) or _rounding(others.residuals, values):
        half = math.inf
    mine, average = float(values[sides.members].mean()), math.nan
    gap, difference = mine - float(at[sides.kept[1]] @ others.coefficients), mine - float(values[rest].mean())
    if (sides.kept[0] == sides.kept[1]).all():
        average = float(rows.mean(axis=0)[sides.kept[0]] @ (own.coefficients - others.coefficients))
    low, high = gap - half, gap + half
    return SimilarGap("", "", difference, difference - gap, gap, low, high, freedom, average, 1, (), 0, (), ())


class Side(NamedTuple):
    """The least squares of one side, and of a contrast of them per unit its score z_u, a_u'a_u, and q_u."""

    coefficients: Floats
    residuals: Floats
    scores: Floats
    sizes: Floats
    shared: Floats


def _side(rows: Floats, values: Floats, side: Bools, at: Floats, of: Ints) -> Side:
    own, count = of[side], int(of.max()) + 1
    scale = np.abs(rows).max(axis=0)
    left, right = np.linalg.qr(rows[side] / scale)
    residuals = values[side] - left @ (left.T @ values[side])
    weights = left @ np.linalg.solve(right.T, at / scale)
    adjusted = weights / np.sqrt(np.maximum(1 - np.square(left).sum(axis=1), CUT))
    order = np.argsort(own, kind="stable")
    for unit in np.split(order, np.flatnonzero(np.diff(own[order])) + 1):
        if len(unit) > 1:
            turned, singular, _ = np.linalg.svd(left[unit], full_matrices=False)
            alone = singular**2 > 1 - CUT  # what this unit alone shows: it must have no part in the contrast
            part = turned.T @ weights[unit]
            if np.abs(part[alone]).max(initial=0.0) > ALIKE * np.linalg.norm(weights):
                got = Wording(f"only the one of row {np.flatnonzero(side)[unit[0]] + 1} for some feature")
                hint = "merge categories, leave features out, or name a column with more units"
                what = "at least two units on each side that show how a feature acts"
                raise TableError(expected("unit", what, got, hint))
            more = 1 / np.sqrt(np.where(alone, 1.0, 1 - singular**2)) - 1
            adjusted[unit] = weights[unit] + turned @ (more * part)
    shared = np.zeros((count, rows.shape[1]))
    np.add.at(shared, own, left * adjusted[:, None])
    scores: Floats = np.bincount(own, adjusted * residuals, count).astype(np.float64)
    sizes: Floats = np.bincount(own, adjusted**2, count).astype(np.float64)
    return Side(np.linalg.solve(right, left.T @ values[side]) / scale, residuals, scores, sizes, shared)


class Sides(NamedTuple):
    """Which rows (n,) are compared, and which columns (k,) either side tells.

    Attributes
    ----------
    members, others : the rows of a group whose features the others span, and those of the others of which none alone
        shows a feature.
    kept : the columns of which the members tell the effect, and those of which the others do.
    lacking : the features in which nobody among the others is like the members that are left out.
    """

    members: Bools
    others: Bools
    kept: tuple[Bools, Bools]
    lacking: tuple[str, ...]

    @classmethod
    def of(cls, rows: Floats, inside: Bools, sources: Sequence[str]) -> Sides:
        """Return the sides of rows (n, k) of which some are inside; `sources` (k - 1,) are the features of all columns
        but the last, the intercept."""
        left, _, _ = _spans(rows[~inside])
        others = ~inside
        others[~inside] = np.square(left).sum(axis=1) < 1 - CUT
        members = inside & spanned(rows, rows[others])
        columns = np.array([*sources, ""], object)
        lacking = tuple(
            name
            for name in dict.fromkeys(sources)
            if not spanned(
                rows[inside & ~members][:, own := (columns == name) | (columns == "")], rows[others][:, own]
            ).all()
        )
        return cls(members, others, (told(rows[members]), told(rows[others])), lacking)


def _spans(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Return orthonormal columns that span those of the rows (n, k), orthonormal rows that span theirs once columns are
    of one size, and these sizes: beside a salary a share of one would count as rounding."""
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    left, sizes, right = np.linalg.svd(rows / scale, full_matrices=False)
    rank = int((sizes > ALIKE * sizes[0]).sum())
    return left[:, :rank], right[:rank], scale


def spanned(rows: Floats, by: Floats) -> Bools:
    """Return which rows (n, k) are linear combinations of others."""
    _, right, scale = _spans(by)
    rows = rows / scale
    rest: Bools = np.linalg.norm(rows - (rows @ right.T) @ right, axis=1) <= SPANNED * np.linalg.norm(rows, axis=1)
    return rest


def told(rows: Floats) -> Bools:
    """Return of which columns (k,) these rows tell the effect: not of one that those before it make up, such as a
    category that nobody here has, nor of one that a single row shows. The last column comes first."""
    count, width = rows.shape
    kept, basis, leverage = np.zeros(width, bool), np.zeros((count, min(count, width))), np.zeros(count)
    for j in (width - 1, *range(width - 1)):
        mine, rest = basis[:, : kept.sum()], rows[:, j]
        for _ in range(2):  # once leaves what rounding makes
            rest = rest - mine @ (mine.T @ rest)
        size = np.linalg.norm(rest)
        if size > ALIKE * np.linalg.norm(rows[:, j]) and (leverage + (rest / size) ** 2).max() < 1 - CUT:
            basis[:, kept.sum()] = rest / size
            leverage += (rest / size) ** 2
            kept[j] = True
    return kept


def notes_on_overlap(rows: Floats, codes: Ints, names: Sequence[Label], features: Sequence[str]) -> tuple[str, ...]:
    """Return a note on each feature (d,) of the rows (n, d) in which a group, of codes (n,), lies apart from all
    others: nothing in the table then shows how people differ who are alike in it."""
    apart: dict[str, Label] = {}
    for code, own in enumerate(names):
        inside, others = rows[codes == code], rows[codes != code]
        if min(len(inside), len(others)) >= FEW:
            varies = (np.ptp(inside, axis=0) > 0) & (np.ptp(others, axis=0) > 0)
            beside = (inside.min(axis=0) > others.max(axis=0)) | (inside.max(axis=0) < others.min(axis=0))
            apart |= {features[at]: own for at in np.flatnonzero(varies & beside).tolist()}
    return tuple(
        f"the values of {name!r} in {own!r} do not overlap with those of the others, so that the gap between similar "
        f"people is extrapolated; leave {name!r} out of the features"
        for name, own in apart.items()
    )


def _listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them.

    >>> _listed(["age"]), _listed(["age", "rank", "years"])
    ('age', 'age, rank and years')
    """
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last
