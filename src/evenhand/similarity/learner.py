"""The object over a metric learner's kernels: bounds, verdicts and their withdrawal, saving and loading."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arguments import array, is_whole, real, whole, yes_or_no
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, VerdictError, Wording, expected
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import flat
from evenhand.parameters import Parameters, locked
from evenhand.rng import Seed, draw_seed, stream
from evenhand.similarity import metric
from evenhand.similarity.cone import Cone
from evenhand.similarity.contradictions import clashing, disputed
from evenhand.similarity.lazy_kernels import DistanceKernels, distance_kernels
from evenhand.similarity.metric import CONTRADICTED, EQUAL
from evenhand.similarity.metric_state import (
    MetricState,
    Structure,
    coordinates,
    count,
    directions,
    empty_state,
    grown,
    level,
    read_structure,
    restored_state,
    root,
    saved_arrays,
)
from evenhand.similarity.reading import LARGEST_FEATURE
from evenhand.similarity.verdicts import Suspect, Verdict, VerdictLog, growth, ranked, read_auditor, refusal

DOUBLINGS = 12
"""How often a radius that was not given may double before verdicts count as contradictory: a factor of 4096."""

MOST_NUMBERS = 2**32
"""The most numbers that a learner keeps, 32 GiB."""


class DistanceLearner(Parameters):
    """The common part of the metric learners; a subclass names its kernel `_update_kernel` and how it begins."""

    state: MetricState
    """The kernels' state, once the dimension is known."""
    _update_kernel: ClassVar[Any]
    plain_work: ClassVar[int] = 30
    """About how many array entries `_update_kernel` and what is around it touch for each pair of coordinates."""
    programs: bool = False
    """Whether linear programs over the log certify intervals."""
    error_rate: float = 0.0
    """The rate of wrong verdicts that the learner is prepared for; 0 where it trusts all."""
    most_pairs: int | None = None
    """The most pairs of a policy's round; None for no limit."""
    stepped: ClassVar[bool] = False
    """Whether a policy with it is stepped in Python, since it learns outside kernels."""

    def __init__(
        self,
        *,
        radius: float | None = None,
        shared: bool = True,
        structure: Structure = "symmetric",
        tolerance: float = 0.0,
        precision: float = 0.02,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        self.radius = None if radius is None else real("radius", radius, above=0, high=LARGEST_FEATURE)
        self.shared, self.structure = yes_or_no("shared", shared), read_structure(structure)
        self.tolerance = real("tolerance", tolerance, low=0, below=1)
        self.precision = self.taken_at = real("precision", precision, low=0, below=1)
        self.seed = draw_seed(seed)
        self.dimension: int | None = None
        self.copies, self.log = 1, VerdictLog()

    def _prior(self, m: int) -> dict[str, float]:
        """Return the fields of a `MetricState` of m coordinates that differ from those of an ellipsoid of the radius:
        `prior_radius`, `spread`, `error_rate` and `thin_width`."""
        return {}

    @property
    def _has_history(self) -> bool:
        """Whether it was told any verdict that stands."""
        return bool(self.verdicts)

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield learners to check: one that knows nothing and one that was told something."""
        make: Any = cls
        yield make()
        taught = make()
        taught.verdict([0.5, 0.2], [0.1, 0.0], 0.2, True)
        yield taught

    # ------------------------------------------------------------------ questions and answers

    @locked
    def bounds(self, x: ArrayLike, y: ArrayLike, *, pair: int = 0) -> tuple[float, float, float]:
        """Return (low, guess, high) of the distance between two individuals x and y (d,), all in [0, 1].

        The ends are certified by the verdicts, if the radius is large enough and no verdict is wrong.

        Raises
        ------
        ArgumentError
            If x or y are not finite vectors of one dimension, or `pair` has no learner.
        """
        first, second = self._checked_pair(x, y, pair)
        return self._interval(*(self._cone(pair).ends(first, second) if self.programs else self._ends(x, y, pair)))

    @locked
    def _intervals(self, differences: Floats) -> Floats:
        """Return the `bounds` (n, 3) of pairs that differ by so much (n, d), which is faster than pair by pair."""
        if self.dimension is None:
            self.begin(differences.shape[1])
        differences = np.ascontiguousarray(differences)  # compiled kernels read rows as if they were
        origin = np.zeros(differences.shape[1])
        if not self.programs:
            found = [self.bounds(away, origin) for away in differences]
        else:
            cone = self._cone(0)
            found = [self._interval(*cone.ends(away, origin)) for away in differences]
        return np.array(found).reshape(-1, 3)

    @locked
    def value_of_asking(self, x: ArrayLike, y: ArrayLike, gap: float, *, pair: int = 0) -> float:
        """Return how much of the interval of d any verdict on a gap is sure to remove; negative if none is informative.

        A verdict is informative where it is not certain beforehand and the distance is not yet known to the precision.
        The upper end may exceed 1 here: on a gap of 1 "acceptable" teaches d >= 1, and "unfair" about other pairs.

        Raises
        ------
        ArgumentError
            If x, y, `pair` or `gap` are invalid.
        """
        gap, slack = real("gap", gap, low=0, high=1), self.tolerance
        least, _, most = self._ends(x, y, pair)
        state = self.state
        low, high, value = root(state, least), root(state, most), level(state, gap)
        acceptable = root(state, least + 2.0 * slack) + EQUAL < gap and value <= most
        unfair = value >= least and gap < root(state, most - 2.0 * slack) - EQUAL
        known = min(root(state, most - slack), 1.0) - min(root(state, least + slack), 1.0) <= self.taken_at
        if gap <= EQUAL or known or not (acceptable or unfair):
            return -1.0
        return max(min(gap - low, high - gap), 0.0)

    @locked
    def verdict(
        self, x: ArrayLike, y: ArrayLike, gap: float, unfair: bool, *, pair: int = 0, auditor: str | None = None
    ) -> int:
        """Take the verdict that treating x and y (d,) differently by `gap` was unfair (d < gap) or not (d >= gap), and
        return its id; the log keeps the name of the auditor who gave it.

        Raises
        ------
        ArgumentError
            If x, y, `pair`, `gap`, `unfair` or `auditor` are invalid.
        VerdictError
            If equal treatment, a gap up to 1e-9 for rounding, is called unfair; or if no metric agrees with the verdict
            and those before, in which case it names the verdicts that it contradicts. Nothing has changed.
        """
        gap, unfair = real("gap", gap, low=0, high=1), yes_or_no("unfair", unfair)
        if gap <= EQUAL and unfair:
            above = f"a difference above {EQUAL:g}, which is rounding, where treatment was unfair"
            raise VerdictError(expected("gap", above, gap, "equal treatment is never unfair"))
        who, (first, second) = read_auditor(auditor), self._checked_pair(x, y, pair)
        taken, doublings = Verdict(0, first, second, gap, unfair, int(pair), who), self.doublings
        if self.contradicts(taken):
            raise self.refusal(taken)
        self._make_room(1)
        before = self._copied_arrays()
        if self._take(taken) == CONTRADICTED:
            self._put_back(before)
            raise self.refusal(taken)
        number = self.log.record(taken)
        self._warn_if_grown(doublings)
        return number

    @locked
    def withdraw(self, verdict: int) -> None:
        """Take a verdict back: the learner believes exactly what it would if the verdict had never been given.

        Raises
        ------
        VerdictError
            If there is no such verdict.
        """
        if not is_whole(verdict) or verdict not in [v.id for v in self.verdicts]:
            raise VerdictError(expected("verdict", "the id of a verdict in the log", verdict))
        self.log.remove(verdict)
        self.replay()

    @locked
    def contradictions(self, *, radius: float | None = None) -> list[int]:
        """Return the ids of a few verdicts that no metric agrees with together with the rest; [] if there are none.

        The latest 100 refused verdicts of this process count as well: the verdicts of the log that contradict them are
        returned. A refused verdict no longer counts once the auditor has said the opposite about the pair.

        Parameters
        ----------
        radius : consider the metrics of this radius; None takes the largest to which the learner may double its own.

        Raises
        ------
        ArgumentError
            If the radius is not a number > 0.
        """
        within = None if radius is None else real("radius", radius, above=0, high=LARGEST_FEATURE)
        if self.dimension is None:
            return []
        return disputed(self.log.learned, self.log.refused, self.state, within or self.widest)

    @locked
    def suspects(self) -> list[Suspect]:
        """Return each verdict with the probability that it is wrong, the largest first; [] where all are trusted.

        With the rate r and the belief's probability P of the answer given it is r(1 - P) / (r(1 - P) + (1 - r)P).
        """
        if self.error_rate == 0.0:
            return []
        return ranked(self.verdicts, [self._chance_wrong(verdict) for verdict in self.verdicts])

    @property
    def guarantee(self) -> str:
        """What the intervals are: "certified", or "measured, not certified" where verdicts may be wrong."""
        return "measured, not certified" if self.error_rate > 0.0 else "certified"

    def caveat(self, features: Sequence[str] = ()) -> str | None:
        """Return why no distance is known although verdicts were given, in words; None where distances are known."""
        return None

    @property
    def verdicts(self) -> list[Verdict]:
        """The log: the verdicts that were taken and not withdrawn, in their order.

        Policies whose auditors may err keep every answer, also those that taught nothing.
        """
        return self.log.verdicts

    @property
    def radius_reached(self) -> float | None:
        """The radius now: the one given, or 2d, doubled as often as verdicts required; None while d is unknown."""
        return self.radius if self.dimension is None else float(self.state.radius.max())

    # ------------------------------------------------------------------ for policies

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Its fields, as kernels are given them."""
        return self._arrays

    @locked
    def begin(self, dimension: int, copies: int = 1) -> None:
        """Forget everything and prepare for individuals of this dimension, with a learner for each of `copies` pairs
        unless shared.

        Raises
        ------
        ArgumentError
            If the structure is for another dimension, or there are more pairs and features than memory holds.
        """
        self._allocate(whole("dimension", dimension, low=1), 1 if self.shared else max(1, copies))
        self.log = VerdictLog()

    def replay(self) -> None:
        """Believe what the log says, from the beginning."""
        assert self.dimension is not None
        self._allocate(self.dimension, self.copies)
        for v in self.log.entries:
            self._take(v)

    def _taught_as(self, other: DistanceLearner) -> Self:
        """Take the verdicts of another learner's log in place of everything, and return the learner."""
        assert other.dimension is not None
        self.begin(other.dimension, other.copies)
        self.log.entries, self.log.next = other.log.verdicts, other.log.next
        self.replay()
        return self

    def contradicts(self, newest: Verdict, beside: Sequence[Verdict] = ()) -> bool:
        """Return whether the log, or a verdict beside it, says the opposite on the same pair and gap; False where
        verdicts may be wrong."""
        return self.error_rate == 0.0 and self.log.reversed_by(newest, beside, self.shared)

    def refusal(self, *report: Verdict, where: str = "") -> VerdictError:
        """Remember a report whose last verdict was refused; return the refusal, which says what it contradicts."""
        against = clashing(self.log.learned, report, self.state, self.widest)
        logged = [verdict.id for verdict in against if verdict.id]
        if logged:
            self.log.remember_refused(report)
        return VerdictError(Wording(where, refusal(report[-1], against, float(self.state.radius.max()))), logged)

    @property
    def doublings(self) -> int:
        """How often the radius was doubled so far."""
        return 0 if self.dimension is None else int(self.state.doublings.max())

    def _warn_if_grown(self, doublings: int) -> None:
        """Warn where the radius has grown beyond its start, after it had been doubled so often; once, at first."""
        if doublings > 0 or self.doublings == 0:
            return
        grown = growth(2.0 * (self.dimension or 0), self.radius_reached or 0.0, self.widest)
        warnings.warn(grown, stacklevel=4)  # the caller of a method behind its lock

    def _make_room(self, rows: int) -> None:
        """Let every copy's log hold `rows` more half-spaces."""
        need = int(self.state.counts.max()) + rows
        if need > self.state.limits.shape[1]:
            self._keep(grown(self.state, 2 * need))

    def _copied_arrays(self) -> list[NDArray[Any]]:
        """Return copies of the state's arrays, for `_put_back`."""
        return [own.copy() for own in self._arrays if type(own) is np.ndarray]

    def _put_back(self, before: list[NDArray[Any]]) -> None:
        """Undo what has happened to the state's arrays since they were copied."""
        for own, old in zip((own for own in self._arrays if type(own) is np.ndarray), before, strict=True):
            own[...] = old

    # ------------------------------------------------------------------ copies and files

    def fresh(self, *, seed: Seed = None) -> Self:
        """Return a learner of the same configuration that knows nothing."""
        return self._made_again(**({} if seed is None else {"seed": seed}))

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        body = {"config": self.config(), "dimension": self.dimension, "copies": self.copies}
        if self.dimension is None:
            return body
        return body | {"state": list(saved_arrays(self.state).values()), **self.log.saved()}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the learner that `snapshot` was taken of."""
        learner = cls(**snapshot["config"])
        if snapshot["dimension"] is not None:
            learner.begin(snapshot["dimension"], snapshot["copies"])
            learner._keep(restored_state(learner.state, snapshot["state"]))
            learner.log = VerdictLog.restored(snapshot)
        return learner

    # ------------------------------------------------------------------ inside

    def _allocate(self, dimension: int, copies: int) -> None:
        m = count(dimension, self.structure)
        if copies * m * m > MOST_NUMBERS / 40 or dimension > MOST_NUMBERS // 40:
            what, hint = "features and pairs whose metrics fit in memory", 'structure="diagonal" or blocks need less'
            raise ArgumentError(expected("dimension", what, dimension, hint))
        most_doublings = DOUBLINGS if self.radius is None else 0
        state = empty_state(
            coordinates(dimension, self.structure),
            copies,
            2.0 * dimension if self.radius is None else self.radius,
            stream(self.seed),
            tolerance=self.tolerance,
            most_doublings=most_doublings,
            logs=self.programs or most_doublings > 0,
            programs=self.programs,
            linear=self.structure == "absolute",
            **self._prior(m),
        )
        for index in range(copies):
            metric.prior(state, index)
        self.dimension, self.copies = dimension, copies
        self._keep(state)

    def _keep(self, state: MetricState) -> None:
        self.state, self._arrays = state, flat(state)

    @property
    def _kernels(self) -> DistanceKernels:
        return distance_kernels(self._update_kernel, self.plain_work)

    def _take(self, v: Verdict) -> int:
        if (
            v.unfair is False
            and level(self.state, v.gap) > self.tolerance
            and self.error_rate == 0
            and np.array_equal(v.x, v.y)
        ):
            return CONTRADICTED
        self._make_room(1)
        index = 0 if self.shared else v.pair
        status: int = self._kernels.learn(v.x, v.y, index, v.gap, v.unfair, self.taken_at, self._arrays)
        return status

    def _chance_wrong(self, verdict: Verdict) -> float:
        state, copy = self.state, 0 if self.shared else verdict.pair
        direction = directions(state, verdict.x - verdict.y)
        mid, spread = direction @ state.centre[copy], math.sqrt(np.square(direction @ state.factor[copy]).sum())
        room = (1.0 if verdict.unfair else -1.0) * (level(state, verdict.gap) - mid) + state.tolerance
        right = float(verdict.unfair or verdict.gap <= EQUAL)
        if spread > 0.0:
            right = 0.5 * math.erfc(-room / spread * math.sqrt(0.5))
        wrong = self.error_rate * (1.0 - right)
        return wrong / (wrong + (1.0 - self.error_rate) * right)

    @property
    def widest(self) -> float:
        """The largest radius that doubling may reach."""
        return float(self.state.radius.max()) * 2.0 ** float(self.state.most_doublings - self.state.doublings.max())

    def _ends(self, x: ArrayLike, y: ArrayLike, pair: int) -> tuple[float, float, float]:
        first, second = self._checked_pair(x, y, pair)
        index = 0 if self.shared else int(pair)
        found: tuple[float, float, float] = self._kernels.ends(first, second, index, self.arrays)
        return found

    def _cone(self, pair: int) -> Cone:
        return Cone(self.state, 0 if self.shared else int(pair), self._kernels.ends)

    def _interval(self, least: float, guess: float, most: float) -> tuple[float, float, float]:
        return min(root(self.state, least), 1.0), guess, min(root(self.state, most), 1.0)

    def _checked_pair(self, x: ArrayLike, y: ArrayLike, pair: int) -> tuple[Floats, Floats]:
        read: list[Floats] = []
        for name, value in zip("xy", in_step(("x", x), ("y", y)), strict=True):
            size = self.dimension or (read[0].size if read else None)
            what = f"finite features, {size or 'at least one'} of them"
            read.append(array(name, value, what, dimensions=1, largest=LARGEST_FEATURE))
            if size not in (None, read[-1].size):
                raise ArgumentError(expected(name, what, read[-1].tolist()))
        whole("pair", pair, low=0, hint=f"there are {self.copies}")
        if not self.shared and pair >= self.copies:
            raise ArgumentError(expected("pair", f"the number of a pair below {self.copies}", pair))
        if self.dimension is None:
            self.begin(read[0].size)
        return read[0], read[1]
