"""A promise as one object: floors, caps and windows of arms and of sets of arms, over one or several plays a round,
where arms may come and go.

Each clause has a clock of its own: A counts the rounds in which one of its arms was on offer, N its plays in them:

    a floor   N >= floor(r A) - a            a = floor(alpha)
    a cap     N <= ceil(c A) + floor(beta)
    a window  N grows by n in any w rounds of the clock

and each must hold after every round. A cap does not count plays in rounds that are excused: those in which no arm on
offer could be played without breaking a cap. Which these are follows from a log, its offers and its plays.

Source: floors as in V. Patil, G. Ghalme, V. Nair, Y. Narahari, "Achieving Fairness in the Stochastic Multi-armed Bandit
Problem", Journal of Machine Learning Research 22 (2021), Definition 2. Which promises can be kept is shown at the heads
of `evenhand.promises.laminar` and `evenhand.promises.feasible`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from evenhand.arguments import is_whole, one_of, whole
from evenhand.display.html import Card, HasCard, Table
from evenhand.errors import NOTHING, ArgumentError, SharesError, Wording, expected
from evenhand.kernels.arrays import Floats
from evenhand.kernels.deadlines import NEVER
from evenhand.labels import Labels
from evenhand.promises.amounts import amount_of
from evenhand.promises.clause import Clause, in_words, listed
from evenhand.promises.feasible import check_sums, limits_of, settle_offers
from evenhand.promises.plain_data import ARGUMENTS, TABLES, from_plain, promise_fields, to_plain
from evenhand.promises.reading import (
    Members,
    Window,
    in_all,
    name_arms,
    read_caps,
    read_shares,
    read_tolerance,
    read_windows,
)
from evenhand.promises.round_kernels import position_of
from evenhand.promises.split import split
from evenhand.promises.weight_promises import read_weighed, refuse_beside
from evenhand.protocol import Label
from evenhand.registry import register

DEADLINE_LEARN = Wording("DeadlineLearn", shell="--policy deadline-learn")
ONLY_THERE = Wording("only ", DEADLINE_LEARN, " and audits count weights")
OF_ROUNDS = "for shares of the rounds leave weight, largest and in_flight out, and state tolerances in plays"
WINDOWS_COUNT = "a window counts plays in consecutive rounds, whatever these weigh"
Offers = Literal["any", "all"] | tuple[Label, ...]


@register("quotas/promise", "part")
@dataclass(frozen=True, init=False, repr=False, eq=False)
class Promise(HasCard):
    """What is promised after every round: floors, caps and windows of arms and of sets of arms.

    Parameters
    ----------
    shares : the part of the rounds that is owed to each arm: a dict or Series arm -> share, or a list. A key may be a
        tuple of arms, which are owed their share together. A share of 0 names an arm that is owed nothing.
    tolerance : alpha >= 0, by how many plays a floor may be behind.
    caps : the largest part of the rounds that an arm may have: a dict arm -> cap, a list, or one number for all arms.
    cap_tolerance : beta >= 0, by how many plays an arm may be ahead of its cap.
    windows : arm (or tuple of arms) -> w, at least one play in any w consecutive rounds, or -> (n, w), at least n.
    plays : m, how many arms are played in a round, none twice.
    offers : what may be on offer in a round: "any" arms, "all" of them always, or a list of arms, of which every offer
        contains at least m. None means "any" where the promise can then be kept, else "all". With caps and "any", a
        round in which every arm on offer is at its cap is excused: no cap counts the play in it.
    clock : which rounds a share counts: those in which its arm was "offered", or "all". An arm that was away then
        catches up when it is back: the arms that are furthest behind come first, wherever the shares of the rounds on
        offer, which are kept as before, can be kept after it. Caps count the rounds on offer.
    weight : the name of what is shared where it is not rounds, such as "tokens": r_i W - W_i <= alpha, with W the sum
        of the weights of the decisions and W_i that of the arm's, in the unit of the tolerance.
    largest : the most that one decision may weigh. As many digits after the point are counted as are written here:
        largest="5.00" for cents.
    in_flight : f, where weights are told with the rewards: up to so many decisions may be untold when the next is
        asked for. None where each weight is given when asking.

    Attributes
    ----------
    arms : the labels (n_arms,), in the order in which they are first named.
    clauses : everything that is promised, a tuple of `Clause`.
    shares : the share of each arm alone, as exact fractions (n_arms,).
    sets : the shares of sets of arms, the smaller sets before the larger.
    offers : "any", "all" or a tuple of arms, as above.

    Raises
    ------
    SharesError
        If a number cannot be read, or no rule is known that keeps these clauses together; the message names the
        clauses that clash and why.
    ArgumentError
        If a tolerance or the number of plays cannot be read.

    Examples
    --------
    >>> promise = Promise({"large": 0, "small": "1/4"}, caps={"large": "40%"}, offers=["small"])
    >>> print(promise)
    small at least 1/4 of the rounds; large at most 2/5 of the rounds; every offer contains small
    >>> promise.clauses[0]
    Clause(kind='floor', arms=('small',), rate=Fraction(1, 4), slack=0, weight=None)
    >>> Promise.from_dict(promise.to_dict()) == promise
    True
    """

    arms: tuple[Label, ...]
    shares: tuple[Fraction, ...]
    tolerance: float
    plays: int
    caps: tuple[Fraction | None, ...] | None
    cap_tolerance: float
    sets: tuple[tuple[Members, Fraction], ...]
    windows: tuple[tuple[Members, Window], ...]
    offers: Offers
    clock: Literal["offered", "all"] = "offered"
    weight: str | None = None
    largest: Decimal | None = None
    in_flight: int | None = None

    def __init__(
        self,
        shares: object = None,
        tolerance: object = 0.0,
        caps: object = None,
        cap_tolerance: object = 0.0,
        windows: object = None,
        plays: object = 1,
        offers: object = None,
        weight: object = None,
        largest: object = None,
        in_flight: object = None,
        clock: object = "offered",
    ) -> None:
        weighed: Any = {"weight": weight, "largest": largest, "in_flight": in_flight, "clock": clock}
        made = read_promise(shares, tolerance, caps, cap_tolerance, windows, plays, offers, **weighed)
        self.__dict__.update(made.__dict__)

    @classmethod
    def _of(cls, **fields: object) -> Self:
        """Return the promise with these fields, which were read and checked."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made

    def varied(self, **fields: object) -> Self:
        """Return a copy with other exact fields, such as the shares of a later version."""
        own = {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}
        return self._of(**own | fields)

    @cached_property
    def floors(self) -> tuple[Clause, ...]:
        """The floors of single arms (n_arms,), including arms that are owed nothing."""
        both = zip(self.arms, self.shares, strict=True)
        return tuple(Clause("floor", (arm,), r, self.slack, self.weight) for arm, r in both)

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Everything that is promised: floors of arms and of sets, caps, windows; a share of 0 is no clause."""
        floors = [floor for floor in self.floors if floor.rate]
        floors += [Clause("floor", members, share, self.slack, self.weight) for members, share in self.sets if share]
        caps = zip(self.arms, self.caps or (), strict=False)
        limits = [Clause("cap", (arm,), cap, self.ahead, self.weight) for arm, cap in caps if cap is not None]
        return (*floors, *limits, *(Clause("window", members, window) for members, window in self.windows))

    @property
    def slack(self) -> Any:
        """floor(alpha): by how many plays a floor may be behind; r A - N >= floor(alpha) + 1 breaks it. Of weights
        alpha itself, as it is written; r A - N > alpha breaks it."""
        return self._amount(self.tolerance)

    @property
    def ahead(self) -> Any:
        """floor(beta), by how many plays a cap may be ahead; of weights beta itself."""
        return self._amount(self.cap_tolerance)

    def _amount(self, tolerance: float) -> int | Fraction:
        return Fraction(repr(tolerance)) if self.weight else math.floor(tolerance)

    @property
    def excuses(self) -> bool:
        """Whether rounds may be excused, in which every arm on offer is at its cap: no cap counts the play in them."""
        return self.offers == "any" and bool(limits_of(self))

    @property
    def owes(self) -> bool:
        """Whether a share is owed to an arm, or to a set of arms."""
        return any(self.shares) or any(share for _, share in self.sets)

    # ------------------------------------------------------------------ as words, and as data

    def __str__(self) -> str:
        said = in_words(self.clauses) or [f"nothing is owed to {listed(self.arms)}"]
        said += [f"{self.plays} plays per round"] if self.plays > 1 else []
        said += how_counted(self)
        if self.offers == "all":
            said.append("every arm is always on offer")
        elif self.excuses:
            said.append("rounds in which every arm on offer is at its cap are excused")
        elif self.offers != "any":
            named = ", ".join(map(str, self.offers))
            some = named if len(self.offers) == 1 else f"at least {'one' if self.plays == 1 else self.plays} of {named}"
            said.append(f"every offer contains {some}{', or only these' if self.plays > 1 else ''}")
        return "; ".join(said)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in promise_fields(self).items())
        return f"Promise({given})"

    def _card(self) -> Card:
        """Return what a notebook shows: a row for each clause."""
        rows = [(", ".join(map(str, c.arms)), c.what) for c in self.clauses]
        offers = self.offers if isinstance(self.offers, str) else ", ".join(map(str, self.offers))
        facts = {"plays a round": self.plays, "on offer": offers}
        return Card("Promise", facts, [Table(("arms", "promised"), len(rows), rows.__getitem__)])

    def snapshot(self) -> dict[str, Any]:
        """Return plain data that `restored` reads."""
        return {"promise": self.to_dict()}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the promise that `snapshot` was taken of."""
        return cls.from_dict(snapshot["promise"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON, TOML and HTTP, that `from_dict` reads; fractions are text.

        >>> Promise({"a": 0.5, "b": 0.25}, tolerance=2).to_dict()
        {'shares': {'a': '1/2', 'b': '1/4'}, 'tolerance': 2.0, 'offers': 'any'}
        """
        given = promise_fields(self)
        for name in TABLES:
            if name in given:
                given[name] = to_plain(given[name])
        return given

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the promise that plain data describe: the arguments by name, in which dicts whose arms are not text
        are lists of rows such as {"arms": [1, 2], "value": "1/2"}.

        Raises
        ------
        SharesError, ArgumentError
            If a name is unknown, or where the constructor raises them.
        """
        if not isinstance(data, Mapping):
            raise SharesError(expected("promise", "a table of shares, caps, windows and so on", data))
        unknown = [name for name in data if name not in ARGUMENTS]
        if unknown:
            raise SharesError(expected("promise", f"the names {', '.join(ARGUMENTS)}", unknown[0]))
        return cls(**{name: from_plain(name, value) for name, value in data.items()})

    def _value(self) -> Any:
        clauses = frozenset((c.kind, frozenset(c.arms), c.rate, c.slack) for c in self.clauses)
        offers = self.offers if isinstance(self.offers, str) else frozenset(self.offers)
        weighed = self.weight, self.largest, self.in_flight
        tolerances = self.tolerance, self.cap_tolerance
        return frozenset(self.arms), clauses, self.plays, offers, self.clock, *tolerances, weighed

    def __eq__(self, other: object) -> bool:
        return self._value() == other._value() if isinstance(other, Promise) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._value())

    def split(self, workers: int) -> list[Self]:
        """Return one promise for each of several processes that decide at the same time without communicating.

        Whatever the order in which their logs are merged, and wherever one of them ends, the whole promise holds at
        every round. Each part is an ordinary promise with a whole-number tolerance and windows of one play, and no one
        of these numbers could be larger by one. Of weights the tolerance is divided up, and each part has the whole
        `in_flight`. To `add`, `retire` or `change`, split anew.

        Parameters
        ----------
        workers : how many processes will decide.

        Raises
        ------
        SharesError
            If the tolerance is too small to be split, or a window too short; the message names the clause and the
            smallest value that would do.

        Examples
        --------
        >>> Promise({"a": "1/2", "b": "1/4"}, tolerance=5).split(3)
        [Promise(shares={'a': Fraction(1, 2), 'b': Fraction(1, 4)}, tolerance=1.0, offers='any'), ...]

        Source: the theorems at the head of `evenhand.promises.split`.
        """
        return split(self, workers)

    # ------------------------------------------------------------------ what is owed

    def owed(self, round: int) -> list[int]:
        """Return the pulls (n_arms,) owed to the arms by the end of round t: max(0, floor(r_i t) - floor(alpha)).

        Raises
        ------
        ArgumentError
            If the round is not a whole number >= 0.
        """
        check_rounds(self)
        round = whole("round", round, low=0)
        return [max(0, share.numerator * round // share.denominator - self.slack) for share in self.shares]

    def is_kept(self, pulls: object, round: int) -> bool:
        """Return whether pulls, a list or a dict arm -> pulls, keep the floors and caps at the end of round t, where
        every arm was on offer.

        >>> promise = Promise([0.5, 0.25])
        >>> promise.is_kept([1, 1], 4), promise.is_kept({0: 2, 1: 1}, 4)
        (False, True)

        Raises
        ------
        ArgumentError
            If there is not one number of pulls for each arm, or the round is not a whole number >= 0.
        """
        check_rounds(self)
        counts = Labels(self.arms).read(pulls, "pulls", "a number for each arm: a list, or a dict arm -> pulls")
        if isinstance(counts, dict):
            counts = [counts.get(arm) for arm in self.arms]
        if len(counts) != len(self.arms) or not all(map(is_whole, counts)):
            what = Wording("a whole number for each of the arms ", list(self.arms))
            raise ArgumentError(expected("pulls", what, pulls))
        round = whole("round", round, low=0)
        by_arm = dict(zip(self.arms, counts, strict=True))
        plays = [(clause, sum(by_arm[arm] for arm in clause.arms)) for clause in self.clauses]
        return not any(position_of(clause, n, round, [])[2] for clause, n in plays)

    # ------------------------------------------------------------------ as kernels count

    @cached_property
    def fixed_point(self) -> tuple[list[int], int]:
        """The shares of single arms, exactly, as numerators over one common denominator below 2^60."""
        denominator = math.lcm(*{share.denominator for share in self.shares})
        return [share.numerator * (denominator // share.denominator) for share in self.shares], denominator

    def floats(self) -> Floats:
        """Return the shares (n_arms,) as floats."""
        return np.array([float(share) for share in self.shares])


def how_counted(promise: Promise) -> list[str]:
    """Return in words what a decision weighs, where shares are of a weight, and that all rounds count, if they do."""
    said = []
    if promise.largest is not None:
        flight = promise.in_flight
        told = "" if flight is None else f", told later with up to {flight} decisions in flight"
        said.append(f"a decision weighs at most {promise.largest} {promise.weight}{told}")
    said += ["by all rounds, arms that were away catch up as far as can be"] if promise.clock == "all" else []
    return said


def check_rounds(promise: Promise, why: str = ONLY_THERE, hint: str = OF_ROUNDS) -> None:
    """Refuse a promise of a weight, where only rounds are counted; `why` says why, and `hint` what else can be done.

    Raises
    ------
    ArgumentError
        If it is one.
    """
    if promise.weight is not None:
        raise ArgumentError(expected("promise", Wording("a promise of rounds, as ", why), str(promise), hint))


def promise_of(data: Mapping[str, Any]) -> Promise:
    """Return the promise that `to_dict` wrote, without asking again whether a rule keeps it: arms may have retired."""
    given = {name: from_plain(name, value) for name, value in data.items()}
    offers = given.pop("offers")
    return read_promise(**given, audited=True).varied(offers=offers)


def read_promise(
    shares: object = None,
    tolerance: object = 0.0,
    caps: object = None,
    cap_tolerance: object = 0.0,
    windows: object = None,
    plays: object = 1,
    offers: object = None,
    arms: int | Sequence[Label] | None = None,
    audited: bool = False,
    weight: str | None = None,
    largest: Any = None,
    in_flight: Any = None,
    clock: Any = "offered",
) -> Promise:
    """Return the promise as `Promise` reads it; with `arms`, shares may be one number for each of them.

    What a log is audited against need not be what a rule is known for, and a cap may be 0.
    """
    plays = whole("plays", plays, low=1)
    if shares is None and caps is None and windows is None:
        raise SharesError(expected("shares", "a list, or a dict arm -> share; or caps or windows", None))
    if shares is not None and in_all(shares) and arms is None:
        hint = "one number for all needs the names of the arms, as in {'a': 0.2, 'b': 0.2}"
        raise SharesError(expected("shares", "a list, or a dict arm -> share", shares, hint))
    labels = name_arms(shares, caps, windows, arms=arms)
    if plays > len(labels):
        raise ArgumentError(expected("plays", f"at most {len(labels)}, the number of arms", plays))
    singles, sets = read_shares(shares, labels, plays, named=arms is not None)
    made = Promise._of(
        arms=labels,
        shares=singles,
        tolerance=read_tolerance(tolerance),
        plays=plays,
        caps=None if caps is None else read_caps(caps, labels, audited),
        cap_tolerance=read_tolerance(cap_tolerance, "cap_tolerance", "use 0.0 for the strict cap"),
        sets=sets,
        windows=read_windows(windows, labels),
        offers="all",
        clock=clock,
        weight=weight,
    )
    if one_of("clock", clock, ("offered", "all")) == "all":
        refuse_beside(made, "clock='all'", "lets arms catch up beside it", "leave clock out")
    if weight is not None and (not isinstance(weight, str) or not weight):
        raise ArgumentError(expected("weight", "the name of what is shared, such as 'tokens'", weight))
    if windows and weight:
        raise ArgumentError(expected("windows", Wording(NOTHING, " beside weights"), windows, WINDOWS_COUNT))
    least = min((cap for cap in made.caps or () if cap), default=Fraction(1))
    if made.cap_tolerance >= NEVER * float(least):
        raise ArgumentError(
            expected("cap_tolerance", "a number of plays that some conversation reaches", cap_tolerance)
        )
    if audited:
        check_sums(made)
        most = None if largest is None else amount_of(largest)
        return made.varied(offers="any", largest=most, in_flight=in_flight)
    made = made.varied(offers=settle_offers(made, offers))
    if made.weight is not None:
        return made.varied(**read_weighed(made, largest, in_flight, offers))
    for name, value in {"largest": largest, "in_flight": in_flight}.items():
        if value is not None:
            raise ArgumentError(expected(name, Wording(NOTHING, " without weight="), value))
    return made
