"""`eh.effects` compares each arm with a control, from a log whose arms were drawn with known chances.

The estimate, its interval, the test and the e-value: see `evenhand.evaluation.overlap`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import real, yes_or_no
from evenhand.data.tables import LEFT_OUT, numbers
from evenhand.display.digits import with_signs
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import TableError, UnknownArmError, Wording, argument, expected, expected_one_of
from evenhand.evaluation.drawn import Drawn, read_drawn
from evenhand.evaluation.overlap import difference, evidence
from evenhand.evaluation.propensities import ERROR, adjusted
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd

CAUTION = (
    "This supposes that the chances in the log are those with which arms were drawn, and that an outcome is missing "
    "regardless of the arm and of what it would have been. {looks} An effect that changes over time is averaged, with "
    "the weights p (1 - p) of the chance p of the arm rather than the control."
)
LOOKS = {
    False: "Everything here holds if you look once, at a time that was planned before the data came. To look at any "
    "time, pass ",
    True: "E-values and p-values hold however often you look; rates are no estimates of an effect, and there is no "
    "interval.",
}
ALONE = (
    "The p-values are adjusted for all arms by Holm's method, while each interval holds for its arm alone: it may "
    "leave out 0 where the adjusted p-value shows nothing."
)
FEW = 100
"""Rows of a comparison below which no coverage was measured."""
RARE = 5
"""Known outcomes of a kind below which an interval says too much."""
MOMENTS = 200


@dataclass(frozen=True, eq=False, repr=False)
class Effects(HasCard):
    """What a log says of each arm against a control.

    Attributes
    ----------
    arms : a row for each arm, the control first: `arm`, `allocated`, `observed` and `missing` outcomes, `rate` (the
        mean of those observed), and but for the control `compared` (the rows with an outcome in which it or the
        control was drawn and both could be), `difference` with its interval `low` to `high`, `p_value` of the test of
        equal distributions, and `adjusted`, the p-value by Holm's method for all arms. At any time `e_value` stands in
        place of the difference: where the arms are alike it ever reaches 20 with probability 0.05 at most; `p_value` is
        then by the largest so far.
    chances : a row for each arm: the `least` and `largest` chance that it had, and in how many decisions it had the
        chance 0 (`zeros`) and 1 (`ones`).
    dropped : a row for each decision without an outcome: `decision`, `arm`, and `status` where the log says it.
    course : the decisions for each arm so far (its columns) after some decisions (its index).
    control, alpha, anytime : as they were given.
    decisions, looked : the decisions in the log, and up to which one it looked.
    notes : what to know before trusting the result; the first says what it supposes.
    """

    arms: pd.DataFrame
    chances: pd.DataFrame
    dropped: pd.DataFrame
    course: pd.DataFrame
    control: Label
    alpha: float
    anytime: bool
    decisions: int
    looked: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        """Yield what is found of each arm; an effect is shown by its adjusted p-value."""
        for row in self.arms.iloc[1:].to_dict("records"):
            of, shown = f"Arm {row['arm']!r}", "" if row["adjusted"] <= self.alpha else "not "
            tested = f"adjusted p = {row['adjusted']:.2g}, {shown}shown to differ"
            if not row["compared"]:
                yield f"{of} cannot be compared with {self.control!r}: no outcome is known where both could be drawn."
            elif self.anytime:
                yield f"{of} against {self.control!r}, at any time: e = {row['e_value']:.3g}, {tested}."
            else:
                size, low, high = with_signs(row["difference"], row["low"], row["high"])
                interval = f"{100 * (1 - self.alpha):g} % interval {low} to {high}"
                yield f"{of} less {self.control!r}: {size} ({interval}), {tested}."

    def _card(self) -> Card:
        facts = {"finding": str(self), "control": self.control, "alpha": self.alpha, "looked up to": self.looked}
        return Card("Effects", facts, [Table.of(self.arms, "Arms"), Table.of(self.chances, "Chances")])


def effects(
    log: Any,
    *,
    control: Label,
    alpha: float = 0.05,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str | Mapping[Label, str] | None = None,
    anytime: bool = False,
) -> Effects:
    """Compare each arm with a control by the overlap score: test, estimate and interval.

    Parameters
    ----------
    log : a study; or its `frame()` or export, or any log with one row per decision in their order, outcomes 0 and 1,
        and an empty cell where none is known.
    control : the arm that others are compared with.
    alpha : the probability with which arms that are all alike are said to differ; an interval holds with 1 - alpha.
    arm, reward : the columns of the arms and outcomes; a study has them.
    propensity : a dict arm -> column of its chance in each row, whichever arm was drawn. Without it those of a study or
        its exports are found: `probabilities`, or the columns `propensity_<arm>`; `"p"` stands for columns `p_<arm>`.
    anytime : whether you may look at any time, with e-values in place of intervals. It looks up to the first decision
        that is open, as outcomes that come early are no fair sample; close those that will never come (`forget`).

    Raises
    ------
    TableError
        If the chances of all arms are not known, an outcome is neither 0 nor 1, a decision is for several arms, or no
        two arms can be compared.
    UnknownArmError
        If the control is not an arm of the log.
    ArgumentError
        If another argument is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"arm": ["old", "new"] * 100, "cured": [0, 1, 1, 1, 0, 0, 0, 1] * 25})
    >>> log = log.assign(p_old=0.5, p_new=0.5)
    >>> found = effects(log, control="old", reward="cured", propensity={"old": "p_old", "new": "p_new"})
    >>> print(found)
    Arm 'new' less 'old': 0.500 (95 % interval 0.379 to 0.621), adjusted p = 1.5e-12, shown to differ.
    """

    alpha, anytime = real("alpha", alpha, above=0, below=1), yes_or_no("anytime", anytime)
    read, frame = read_drawn(log, arm, reward, propensity)
    place = Labels(read.arms).place(control)
    if place is None:
        raise UnknownArmError(expected_one_of("control", read.arms, control, what="one of the arms of the log,"))
    left_out = numbers(frame, LEFT_OUT, low=0.0) if LEFT_OUT in frame else np.zeros(len(frame))
    stops = np.flatnonzero((read.open | (left_out > 0)) & anytime)
    looked = int(stops[0]) if stops.size else len(frame)
    order = [place, *(code for code in range(len(read.arms)) if code != place)]
    rows = [_compared(read, place, code, looked, alpha, anytime) for code in order[1:]]
    if not any(row["compared"] for row in rows):
        what = "outcomes of decisions in which the control and another arm could be drawn"
        hint = "its arms are not compared by it; draw them by a lottery: DeadlineLearn(lottery=0.5)"
        if looked < len(frame):
            hint = f"decision {looked + 1} is still open, or the log leaves it out: close it if it will never have one"
        raise TableError(expected("log", what, "none", hint))
    every = adjusted(np.array([row["p_value"] for row in rows]))
    rows = [row | {"adjusted": p_value} for row, p_value in zip(rows, every, strict=True)]
    notes = tuple(_notes(read, order, rows, int(left_out.sum()), looked, anytime))
    settings = read.arms[place], alpha, anytime, len(frame), looked
    arms, chances, dropped, course = _tables(read, frame, order, [{}, *rows])
    return Effects(arms, chances, dropped, course, *settings, notes)


def _compared(read: Drawn, control: int, arm: int, looked: int, alpha: float, anytime: bool) -> dict[str, Any]:
    """Return what the rows say in which one of two arms was drawn and both could be."""
    pair = read.chances[:, [control, arm]]
    of_both = np.isin(read.codes, (control, arm)) & (pair.min(axis=1) > 0)
    known = of_both & ~np.isnan(read.outcomes) & (np.arange(len(of_both)) < looked)
    drawn, chance = (read.codes == arm).astype(np.float64), pair[:, 1] / np.where(of_both, pair.sum(axis=1), 1.0)
    row: dict[str, Any] = {"compared": int(known.sum())}
    named = drawn[known], chance[known], read.outcomes[known]
    if anytime:
        logs = np.minimum(np.append(0.0, evidence(*named)), 700.0)
        row |= {"e_value": float(np.exp(logs[-1])), "p_value": float(np.exp(-logs.max()))}
    else:
        found = difference(*named, alpha)
        row |= {"difference": float(found.estimate), "low": float(found.low), "high": float(found.high)}
        row["p_value"] = float(found.p_value)
    return row


def _tables(read: Drawn, frame: pd.DataFrame, order: list[int], rows: list[dict[str, Any]]) -> tuple[pd.DataFrame, ...]:
    """Return the tables of the arms, of their chances, of the decisions without an outcome, and of the allocation."""
    import pandas as pd

    labels, silent = [read.arms[code] for code in order], np.flatnonzero(np.isnan(read.outcomes))
    count = pd.Series(read.outcomes).groupby(read.codes).agg(["size", "count", "mean"]).loc[order]
    arms = {"arm": labels, "allocated": count["size"].to_numpy(), "observed": count["count"].to_numpy()}
    arms |= {"missing": (count["size"] - count["count"]).to_numpy(), "rate": count["mean"].to_numpy()}
    every = read.chances[:, order]
    chances = {"arm": labels, "least": every.min(axis=0), "largest": every.max(axis=0)}
    chances |= {"zeros": (every == 0).sum(axis=0), "ones": (every == 1).sum(axis=0)}
    dropped = {"decision": silent + 1, "arm": [read.arms[code] for code in read.codes[silent]]}
    dropped |= {"status": frame["status"].to_numpy()[silent]} if "status" in frame else {}
    ends = np.unique(np.linspace(1, len(read.codes), MOMENTS).astype(np.int64))
    course = np.cumsum(read.codes[:, None] == order, axis=0)[ends - 1]
    drawn = pd.DataFrame(course, index=pd.Index(ends, name="decision"), columns=labels)
    return pd.DataFrame(arms).join(pd.DataFrame(rows)), pd.DataFrame(chances), pd.DataFrame(dropped), drawn


def _notes(
    read: Drawn, order: list[int], rows: list[dict[str, Any]], left_out: int, looked: int, anytime: bool
) -> Iterator[str]:
    """Yield what to know before believing the effects, in sentences."""
    before, after = CAUTION.split("{looks}")
    more = [] if anytime else [argument("anytime", True), "."]
    yield from [Wording(before, LOOKS[anytime], *more, after), *([] if anytime else [ALONE])]
    if looked < len(read.codes):
        why, hint = "has no outcome yet", "Close those that will never come (forget)"
        if not read.open[looked]:
            why = "is left out of the log, which does not say whether its outcome may still come"
            hint = "Take the study or its export with form log, where it goes on past closed ones"
        yield (
            f"It looked at the first {looked:,} of {len(read.codes):,} decisions, as the next one {why}: outcomes that "
            f"come early are no fair sample. {hint}, which supposes that they are lost regardless of the arm."
        )
    if left_out:
        yield (
            f"The log leaves out {left_out:,} decisions, which have no outcome: they are not among those allocated and "
            "missing here. The study itself has them, and so has its export with form log."
        )
    for code, row in zip(order[1:], rows, strict=True):
        both = int((read.chances[:, [order[0], code]].min(axis=1) > 0).sum())
        of = f"Arm {read.arms[code]!r} is compared by"
        if both < len(read.codes):
            yield f"{of} the {both:,} of {len(read.codes):,} decisions in which it and the control could be drawn."
        if row["compared"] < FEW and not anytime:
            yield f"{of} few outcomes, {row['compared']}: how often intervals hold was measured from {FEW} on."
    rare = [read.arms[code] for code in order if _rare(read.outcomes[read.codes == code])]
    if rare and not anytime:
        yield (
            f"Fewer than {RARE} outcomes of one kind are known of {', '.join(map(repr, rare))}: intervals that rest on "
            "them may be far too narrow, down to a single number, and cover less than they say. Do not use them."
        )
    yield from _doubts(read)
    yield from read.notes


def _rare(outcomes: Floats) -> bool:
    """Return whether hardly any of an arm's known outcomes are of one of both kinds."""
    known = outcomes[~np.isnan(outcomes)]
    return bool(min(known.sum(), (1 - known).sum()) < RARE)


def _doubts(read: Drawn) -> Iterator[str]:
    """Yield which arms were drawn so much more often or seldom than the chances say that these are doubted, or else
    which miss so many or few outcomes that these are not missing regardless of the arm."""
    plays = np.bincount(read.codes, minlength=len(read.arms))
    lost = np.bincount(read.codes[read.missing], minlength=len(read.arms))
    doubted = _excesses(read, np.ones(len(read.codes)))
    for code, excess in doubted:
        yield (
            f"Arm {read.arms[code]!r} was drawn {plays[code]:,} times where its chances sum to "
            f"{plays[code] - excess:,.1f}: they may be those of another rule, or rows may be missing."
        )
    for code, excess in [] if doubted else _excesses(read, read.missing - read.missing.mean()):
        yield (
            f"Arm {read.arms[code]!r} misses {lost[code]:,} outcomes where regardless of the arm it would miss about "
            f"{lost[code] - excess:,.1f}: its effect may be wrong."
        )


def _excesses(read: Drawn, weights: Floats) -> list[tuple[int, float]]:
    """Return the arms that were drawn far more often or seldom than their chances say, in rows of these weights, which
    the draws must not change, and by how much."""
    from scipy.stats import norm

    excess = np.bincount(read.codes, weights, len(read.arms)) - weights @ read.chances
    errors = np.sqrt(weights**2 @ (read.chances * (1 - read.chances)))
    unlikely = np.abs(excess) > norm.isf(ERROR / 2 / len(excess)) * errors + 1.0
    return [(int(code), float(excess[code])) for code in np.flatnonzero(unlikely)]
