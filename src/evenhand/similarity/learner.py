"""The object over a metric learner's kernels: bounds and verdicts, the log of verdicts as ground truth, withdrawal,
save and load."""

from __future__ import annotations

import copy
import inspect
import math
import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand import saved
from evenhand.arguments import array, real, whole, yes_or_no
from evenhand.conversation import Lock, locked
from evenhand.errors import ArgumentError, VerdictError, wanted
from evenhand.kernels.compose import OPEN, bind, entry, kernel
from evenhand.kernels.flatten import packer
from evenhand.rng import Seed, draw_seed, stream
from evenhand.similarity import metric
from evenhand.similarity.belief import Belief, belief
from evenhand.similarity.metric import CONTRADICTED, EQUAL, direct, ends
from evenhand.similarity.reading import LARGEST_FEATURE
from evenhand.similarity.structure import Structure, checked_structure, coordinates, count
from evenhand.similarity.verdicts import Verdict, clashing, disputed, growth, refusal

__all__ = ["DistanceLearner", "Structure", "Verdict", "coordinates"]

DOUBLINGS = 12
"""How often a radius that was not given may double before verdicts count as contradictory: a factor of 4096."""

MOST_NUMBERS = 2**32
"""The most numbers that a learner keeps, 32 GiB."""

REMEMBERED = 100
"""So many refused reports are remembered, the latest, to find out which verdicts of the log they clash with."""

pack = OPEN
learn = OPEN


@kernel
def _ends(x: Any, y: Any, index: Any, *arrays: Any) -> Any:
    state = pack(*arrays)
    direct(state, x, y)
    if state.length[0] == 0.0:
        return 0.0, 0.0, 0.0
    return ends(state, index)


@kernel
def _verdict(x: Any, y: Any, index: Any, gap: Any, unfair: Any, precision: Any, *arrays: Any) -> Any:
    state = pack(*arrays)
    direct(state, x, y)
    return learn(state, index, gap, unfair, precision)


class DistanceLearner:
    """The common part of the metric learners; a subclass names its kernel `cut` and how it begins."""

    cut: ClassVar[Any]
    programs: ClassVar[bool] = False

    def __init__(
        self, radius: float | None, shared: bool, structure: Structure, tolerance: float, precision: float, seed: Seed
    ) -> None:
        self.radius = None if radius is None else real("radius", radius, above=0, high=LARGEST_FEATURE)
        self.shared, self.structure = yes_or_no("shared", shared), checked_structure(structure)
        self.tolerance = real("tolerance", tolerance, low=0, below=1)
        self.precision = self.taken_at = real("precision", precision, low=0, below=1)
        self.seed = draw_seed(seed)
        self._lock = Lock()
        self.dimension: int | None = None
        self.copies = 1
        self._log: list[Verdict] = []
        self._refused: list[tuple[Verdict, ...]] = []
        self._next = 1

    def reach(self, m: int) -> tuple[float, float]:
        """Return how far the belief reaches in standard units, and the prior's factor relative to the ball of the
        radius."""
        raise NotImplementedError

    def thinness(self, m: int) -> float:
        """Return the width below which a direction is split off; 0 for never."""
        return 0.0

    @property
    def taught(self) -> bool:
        """Whether it was told any verdict that stands."""
        return bool(self.verdicts)

    @property
    def error_rate(self) -> float:
        """The rate of wrong verdicts that the learner is prepared for."""
        return 0.0

    @classmethod
    def examples(cls) -> Iterator[Self]:
        """Yield learners to check: one that knows nothing and one that was told something."""
        make: Any = cls
        yield make()
        taught = make()
        taught.verdict([0.5, 0.2], [0.1, 0.0], 0.2, True)
        yield taught

    # ------------------------------------------------------------------ questions and answers

    @locked
    def bounds(self, x: ArrayLike, y: ArrayLike, *, pair: int = 0) -> tuple[float, float, float]:
        """Return (low, guess, high) of the distance between two individuals, all in [0, 1].

        The ends are certified by the verdicts, if the radius is large enough and no verdict is wrong.

        Raises
        ------
        ArgumentError
            If x or y are not finite vectors of one dimension, or `pair` has no learner.
        """
        least, guess, most = self._ends(x, y, pair)
        return min(root(least), 1.0), guess, min(root(most), 1.0)

    @locked
    def value_of_asking(self, x: ArrayLike, y: ArrayLike, gap: float, *, pair: int = 0) -> float:
        """Return how much of the interval of d either verdict on a gap takes away; negative if neither teaches.

        A verdict teaches where it is not certain beforehand and the distance is not yet known to the precision. The
        upper end is not kept within 1 here: on a gap of 1 "acceptable" teaches d >= 1, and "unfair" about other pairs.

        Raises
        ------
        ArgumentError
            If x, y, `pair` or `gap` are not what they should be.
        """
        gap, slack = real("gap", gap, low=0, high=1), self.tolerance
        least, _, most = self._ends(x, y, pair)
        low, high, square = root(least), root(most), gap * gap
        acceptable = root(least + 2.0 * slack) + EQUAL < gap and square <= most
        unfair = square >= least and gap < root(most - 2.0 * slack) - EQUAL
        known = min(root(most - slack), 1.0) - min(root(least + slack), 1.0) <= self.taken_at
        if gap <= EQUAL or known or not (acceptable or unfair):
            return -1.0
        return max(min(gap - low, high - gap), 0.0)

    @locked
    def verdict(self, x: ArrayLike, y: ArrayLike, gap: float, unfair: bool, *, pair: int = 0) -> int:
        """Take the verdict that treating x and y differently by `gap` was unfair (d < gap) or not (d >= gap); return
        its id.

        Raises
        ------
        ArgumentError
            If x, y, `pair`, `gap` or `unfair` are not what they should be.
        VerdictError
            If equal treatment, a gap up to 1e-9 for rounding, is called unfair; or if no metric agrees with the
            verdict and those before: names the verdicts that it contradicts. Nothing has changed.
        """
        gap, unfair = real("gap", gap, low=0, high=1), yes_or_no("unfair", unfair)
        if gap <= EQUAL and unfair:
            above = f"a difference above {EQUAL:g}, which is rounding, where treatment was unfair"
            raise VerdictError(wanted("gap", above, gap, "equal treatment is never unfair"))
        first, second = self._checked_pair(x, y, pair)
        taken, doublings = Verdict(0, first, second, gap, unfair, int(pair)), self.doublings
        if self.takes_back(taken):
            raise self.refusal(taken)
        saved = [mine.copy() for mine in self._arrays]
        if self._take(taken) == CONTRADICTED:
            self._put_back(saved)
            raise self.refusal(taken)
        number = self.record(taken)
        self.warn_if_grown(doublings)
        return number

    @locked
    def withdraw(self, verdict: int) -> None:
        """Take a verdict back: the learner believes exactly what it would if the verdict had never been given.

        Raises
        ------
        VerdictError
            If there is no such verdict.
        """
        known = isinstance(verdict, Integral) and not isinstance(verdict, bool)
        if not known or verdict not in [v.id for v in self.verdicts]:
            raise VerdictError(wanted("verdict", "the id of a verdict that stands in the log", verdict))
        self._log = [v for v in self._log if v.id != verdict]
        assert self.dimension is not None
        self._allocate(self.dimension, self.copies)
        for v in self._log:
            self._take(v)

    @locked
    def contradictions(self, *, radius: float | None = None) -> list[int]:
        """Return the ids of verdicts, few of them, that no metric agrees with together with the rest; [] if none.

        Verdicts that were refused count as well, the latest 100 of this process: those of the log that stand against
        them are returned. A refused verdict counts no more when the auditor has said the opposite about the pair.

        Parameters
        ----------
        radius : judge by the metrics of this radius; None takes the largest that the learner may double its own to.

        Raises
        ------
        ArgumentError
            If the radius is not a number > 0.
        """
        within = None if radius is None else real("radius", radius, above=0, high=LARGEST_FEATURE)
        if self.dimension is None:
            return []
        return disputed(self.verdicts, self._refused, self._state, within or self._widest)

    @property
    def verdicts(self) -> list[Verdict]:
        """The log: the verdicts that were taken and not withdrawn, in their order."""
        return [v for v in self._log if v.id]

    @property
    def radius_reached(self) -> float | None:
        """The radius now: the one that was given, or 2d as often doubled as verdicts asked for; None before both."""
        return self.radius if self.dimension is None else float(self._state.radius.max())

    # ------------------------------------------------------------------ for policies

    @locked
    def begin(self, dimension: int, copies: int = 1) -> None:
        """Forget everything and prepare for individuals of this dimension, with a learner for each of `copies` pairs
        unless shared.

        Raises
        ------
        ArgumentError
            If the structure is for another dimension, or there are more pairs and features than memory holds.
        """
        copies = 1 if self.shared else max(1, copies)
        self._allocate(whole("dimension", dimension, low=1), copies)
        self._log, self._refused, self._next = [], [], 1

    @property
    def state(self) -> Belief:
        """The kernels' state."""
        return self._state

    def record(self, taken: Verdict) -> int:
        """Enter a verdict that the kernels have taken already."""
        self._log.append(taken._replace(id=self._next))
        self._refused = [report for report in self._refused if not taken.reverses(report[-1])]
        self._next += 1
        return self._next - 1

    def takes_back(self, newest: Verdict, beside: Sequence[Verdict] = ()) -> bool:
        """Say whether the log, or a verdict beside it, says the opposite on the same pair and gap; False where
        verdicts may be wrong.

        The kernels' half-spaces are closed: they would take both, for d = gap.
        """
        if self.error_rate > 0.0:
            return False
        told = [v for v in (*self._log, *beside) if abs(v.gap - newest.gap) <= EQUAL < v.gap]
        return any(newest.reverses(v) for v in told if self._copy(v.pair) == self._copy(newest.pair))

    def record_fact(self, x: NDArray[np.float64], y: NDArray[np.float64], pair: int) -> None:
        """Enter that the kernels took what no auditor has to say: that the square of a distance is not negative."""
        self._log.append(Verdict(0, x, y, 0.0, False, pair))

    def refusal(self, *report: Verdict, where: str = "") -> VerdictError:
        """Remember a report whose last verdict was refused; return the refusal, which says what it contradicts."""
        against = clashing(self.verdicts, report, self._state, self._widest)
        logged = [verdict.id for verdict in against if verdict.id]
        if logged:
            self._refused = [*self._refused, report][-REMEMBERED:]
        return VerdictError(where + refusal(report[-1], against, float(self._state.radius.max())), logged)

    @property
    def doublings(self) -> int:
        """How often the radius was doubled so far."""
        return 0 if self.dimension is None else int(self._state.doublings.max())

    def warn_if_grown(self, doublings: int) -> None:
        """Warn where the radius has grown beyond its start, after it had been doubled so often; once, at first."""
        if doublings > 0 or self.doublings == 0:
            return
        grown = growth(2.0 * (self.dimension or 0), self.radius_reached or 0.0, self._widest)
        warnings.warn(grown, stacklevel=4)  # the caller of a method behind its lock

    def make_room(self, rows: int) -> bool:
        """Let every copy's log hold `rows` more half-spaces; return whether the arrays had to be replaced."""
        need = int(self._state.counts.max()) + rows
        if need <= self._state.limits.shape[1]:
            return False
        more = 2 * need - self._state.limits.shape[1]
        self._bind(
            self._state._replace(
                cuts=np.concatenate([self._state.cuts, np.zeros((self.copies, self._state.u.size, more))], axis=2),
                limits=np.concatenate([self._state.limits, np.zeros((self.copies, more))], axis=1),
                excess=np.zeros(2 * need),
                slopes=np.zeros(2 * need),
            )
        )
        return True

    # ------------------------------------------------------------------ copies and files

    def fresh(self, *, seed: Seed = None) -> Self:
        """Return a learner of the same configuration that knows nothing."""
        config = copy.deepcopy(self.config())
        return type(self)(**(config if seed is None else {**config, "seed": seed}))

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        body: dict[str, Any] = {
            "config": self.config(),
            "dimension": self.dimension,
            "copies": self.copies,
            "next": self._next,
        }
        if self.dimension is not None:
            body["state"] = list(self._arrays)
            body["verdicts"] = [list(v) for v in self._log]
        return body

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the learner that `snapshot` was taken of."""
        learner = cls(**snapshot["config"])
        if snapshot["dimension"] is not None:
            learner.begin(saved.whole(snapshot, "dimension", 1), saved.whole(snapshot, "copies", 0))
            for number, (kept, mine) in enumerate(zip(snapshot["state"], learner._arrays, strict=True)):
                if not isinstance(kept, np.ndarray) or (kept.dtype, kept.ndim) != (mine.dtype, mine.ndim):
                    raise saved.refused(f"state[{number}]", f"an array {mine.dtype} of {mine.ndim} dimensions", kept)
            own, inner = snapshot["state"][: len(Belief._fields) - 1], snapshot["state"][len(Belief._fields) - 1 :]
            learner._bind(Belief._make([*own, type(learner._state.simplex)._make(inner)]))
            learner._log = [Verdict(*v) for v in snapshot["verdicts"]]
            learner._next = saved.whole(snapshot, "next", 1)
        return learner

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return copy.deepcopy({name: value for name, value in self.__dict__.items() if not name.endswith("_kernel")})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.dimension is not None:
            self._bind(self._state)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.config().items() if name != "seed")
        return f"{type(self).__name__}({shown})"

    # ------------------------------------------------------------------ inside

    def _allocate(self, dimension: int, copies: int) -> None:
        m = count(dimension, self.structure)
        if copies * m * m > MOST_NUMBERS / 40 or dimension > MOST_NUMBERS // 40:
            mend = 'structure="diagonal" or blocks need less'
            raise ArgumentError(
                wanted("dimension", "features and pairs whose metrics fit into memory", dimension, mend)
            )
        reach, spread = self.reach(m)
        growth = float(DOUBLINGS) if self.radius is None else 0.0
        options = [
            self.error_rate, self.tolerance, growth, float(self.programs or growth > 0), reach, spread,
            float(self.programs), self.thinness(m),
        ]  # fmt: skip
        radius = 2.0 * dimension if self.radius is None else self.radius
        state = belief(coordinates(dimension, self.structure), copies, radius, options, stream(self.seed))
        for index in range(copies):
            metric.prior(state, index)
        self.dimension, self.copies = dimension, copies
        self._bind(state)

    def _bind(self, state: Belief) -> None:
        self._state = state
        self._arrays = (*state[:-1], *state.simplex)
        pack = packer(state)
        self._ends_kernel = entry(_ends, pack=pack)
        self._verdict_kernel = entry(_verdict, pack=pack, learn=self.learn_kernel())

    @classmethod
    def learn_kernel(cls) -> Any:
        """Return the kernel `learn` of this learner."""
        again = bind(metric.again, cut=cls.cut)
        return bind(metric.learn, cut=cls.cut, replay=bind(metric.replay, again=again))

    def _copy(self, pair: int) -> int:
        return 0 if self.shared else pair

    def _take(self, v: Verdict) -> int:
        if v.unfair is False and v.gap**2 > self.tolerance and self.error_rate == 0 and np.array_equal(v.x, v.y):
            return CONTRADICTED
        self.make_room(1)
        status: int = self._verdict_kernel(v.x, v.y, self._copy(v.pair), v.gap, v.unfair, self.taken_at, *self._arrays)
        return status

    def _put_back(self, saved: list[NDArray[Any]]) -> None:
        for mine, before in zip(self._arrays, saved, strict=True):
            if mine.shape == before.shape:
                mine[...] = before

    @property
    def _widest(self) -> float:
        """The largest radius that doubling may reach."""
        state = self._state
        return float(state.radius.max()) * 2.0 ** float(state.options[metric.GROWTH] - state.doublings.max())

    def _ends(self, x: ArrayLike, y: ArrayLike, pair: int) -> tuple[float, float, float]:
        first, second = self._checked_pair(x, y, pair)
        ends: tuple[float, float, float] = self._ends_kernel(first, second, int(pair), *self._arrays)
        return ends

    def _checked_pair(self, x: ArrayLike, y: ArrayLike, pair: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        read: list[NDArray[np.float64]] = []
        for name, value in (("x", x), ("y", y)):
            size = self.dimension or (read[0].size if read else None)
            what = f"finite features, {size or 'at least one'} of them"
            read.append(array(name, value, what, dimensions=1, largest=LARGEST_FEATURE))
            if size not in (None, read[-1].size):
                raise ArgumentError(wanted(name, what, read[-1].tolist()))
        whole("pair", pair, low=0, mend=f"there are {self.copies}")
        if not self.shared and pair >= self.copies:
            raise ArgumentError(wanted("pair", f"the number of a pair below {self.copies}", pair))
        if self.dimension is None:
            self.begin(read[0].size)
        return read[0], read[1]


def root(square: float) -> float:
    """Return the square root, 0 for what rounding made negative."""
    return math.sqrt(max(square, 0.0))
