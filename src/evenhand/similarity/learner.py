"""The object over a metric learner's kernels: bounds and verdicts, the log of verdicts as ground truth, withdrawal,
save and load."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.errors import ArgumentError, VerdictError, wanted
from evenhand.kernels.compose import OPEN, bind, entry, kernel
from evenhand.kernels.halfspaces import simplex
from evenhand.kernels.packing import packer
from evenhand.rng import Seed, draw_seed, stream
from evenhand.similarity import metric
from evenhand.similarity.metric import CONTRADICTED, Belief, certified, direct

__all__ = ["DistanceLearner", "Structure", "Verdict", "coordinates"]

Structure = Literal["symmetric", "full", "diagonal"] | Sequence[Sequence[int]]

DOUBLINGS = 12
"""How often a radius that was not given may double before verdicts count as contradictory: a factor of 4096."""

pack = OPEN
learn = OPEN


class Verdict(NamedTuple):
    """One answer of the auditor: the pair x, y was treated differently by `gap`, and that was unfair, d(x, y) < gap,
    or not."""

    id: int
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    gap: float
    unfair: bool
    pair: int


def coordinates(
    dimension: int, structure: Structure
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return (rows, columns, scales) of the coordinates of G under a structure.

    "symmetric" has d(d+1)/2, off-diagonal ones scaled by sqrt 2 so that norms agree; "full" has d^2 as in the paper;
    "diagonal" has d; a list of blocks, each a list of features, is symmetric within blocks and zero between them.

    >>> [len(coordinates(4, s)[0]) for s in ("symmetric", "full", "diagonal", [[0, 1], [2, 3]])]
    [10, 16, 4, 6]

    Raises
    ------
    ArgumentError
        If the structure is none of these, or blocks do not name every feature once.
    """
    features = range(dimension)
    if structure == "full":
        pairs = [(i, j) for i in features for j in features]
    elif structure == "diagonal":
        pairs = [(i, i) for i in features]
    else:
        blocks = [list(features)] if structure == "symmetric" else structure
        if isinstance(blocks, str) or sorted(f for block in blocks for f in block) != list(features):
            raise ArgumentError(
                wanted(
                    "structure",
                    f'"symmetric", "full", "diagonal" or blocks that name each of {dimension} features once',
                    structure,
                )
            )
        pairs = [(i, j) for block in blocks for i in block for j in block if i <= j]
    rows, columns = np.array(pairs, dtype=np.int64).T.copy()
    return rows, columns, np.where((rows == columns) | (structure == "full"), 1.0, math.sqrt(2.0))


@kernel
def _bounds(x: Any, y: Any, index: Any, *arrays: Any) -> Any:
    state = pack(*arrays)
    direct(state, x, y)
    if state.length[0] == 0.0:
        return 0.0, 0.0, 0.0
    return certified(state, index)


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
        if radius is not None and not (isinstance(radius, (int, float)) and 0 < radius < math.inf):
            raise ArgumentError(wanted("radius", "a number > 0, or None to double it when needed", radius))
        for name, value in (("tolerance", tolerance), ("precision", precision)):
            if not (isinstance(value, (int, float)) and 0 <= value < 1):
                raise ArgumentError(wanted(name, "a number in [0, 1)", value))
        self.radius, self.shared, self.structure = radius, bool(shared), structure
        self.tolerance, self.precision, self.seed = float(tolerance), float(precision), draw_seed(seed)
        self.dimension: int | None = None
        self.copies = 1
        self.verdicts: list[Verdict] = []
        self._next = 1

    def reach(self, m: int) -> tuple[float, float]:
        """Return how far the belief reaches in standard units, and the prior's factor relative to the ball of the
        radius."""
        raise NotImplementedError

    def thinness(self, m: int) -> float:
        """Return the width below which a direction is split off; 0 for never."""
        return 0.0

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

    def bounds(self, x: ArrayLike, y: ArrayLike, *, pair: int = 0) -> tuple[float, float, float]:
        """Return (low, guess, high) of the distance between two individuals, all in [0, 1].

        The ends are certified by the verdicts, if the radius is large enough and no verdict is wrong.

        Raises
        ------
        ArgumentError
            If x or y are not finite vectors of one dimension, or `pair` has no learner.
        """
        first, second = self._checked_pair(x, y, pair)
        low, guess, high = self._bounds_kernel(first, second, pair, *self._arrays)
        return low, guess, high

    def verdict(self, x: ArrayLike, y: ArrayLike, gap: float, unfair: bool, *, pair: int = 0) -> int:
        """Take the verdict that treating x and y differently by `gap` was unfair (d < gap) or not (d >= gap); return
        its id.

        Raises
        ------
        ArgumentError
            If x, y, `pair` or `gap` are not what they should be.
        VerdictError
            If no metric agrees with the verdict and those before; names the verdicts that it contradicts. Nothing
            has changed.
        """
        first, second = self._checked_pair(x, y, pair)
        if not (isinstance(gap, (int, float, np.number)) and 0 <= gap <= 1):
            raise ArgumentError(wanted("gap", "a difference of probabilities in [0, 1]", gap))
        if gap == 0 and unfair:
            raise VerdictError(
                wanted("gap", "a difference > 0 where treatment was unfair", gap, "equal treatment is never unfair")
            )
        taken = Verdict(self._next, first, second, float(gap), bool(unfair), pair)
        saved = [array.copy() for array in self._arrays]
        if self._take(taken) == CONTRADICTED:
            self._put_back(saved)
            raise VerdictError(self.contradiction(taken))
        return self.record(taken)

    def withdraw(self, verdict: int) -> None:
        """Take a verdict back; the learner is rebuilt from those that remain.

        Raises
        ------
        VerdictError
            If there is no such verdict.
        """
        if verdict not in [v.id for v in self.verdicts]:
            raise VerdictError(wanted("verdict", "the id of a verdict that stands in the log", verdict))
        self.verdicts = [v for v in self.verdicts if v.id != verdict]
        self._allocate()
        for v in self.verdicts:
            self._take(v)

    def contradictions(self) -> list[int]:
        """Return the ids of verdicts that no metric of the radius agrees with together with the rest, few of them;
        [] if none."""
        slack = np.zeros(len(self.verdicts))
        for _ in range(4):
            slack, _ = self._elastic(self.verdicts, 1.0 / (slack + 0.01))
        return [v.id for v, excess in zip(self.verdicts, slack, strict=True) if excess > 1e-9]

    def contradiction(self, newest: Verdict) -> str:
        """Say which verdicts of the log a new one contradicts."""
        _, prices = self._elastic([*self.verdicts, newest])
        against = [v.id for v, price in zip(self.verdicts, prices, strict=False) if price > 1e-9]
        said = "unfair" if newest.unfair else "acceptable"
        with_whom = (
            f"verdicts {against}" if against else f"the radius {float(self._state.radius[self._copy(newest.pair)]):g}"
        )
        return (
            f"verdict: no metric calls a gap of {newest.gap:.4g} {said} here and agrees with {with_whom}; "
            "nothing has changed; withdraw a wrong verdict, give a larger radius, or use MomentDistance(error_rate=...)"
        )

    # ------------------------------------------------------------------ for policies

    def begin(self, dimension: int, copies: int = 1) -> None:
        """Forget everything and prepare for individuals of this dimension, with a learner for each of `copies` pairs
        unless shared."""
        self.dimension, self.copies = dimension, 1 if self.shared else copies
        self.verdicts, self._next = [], 1
        self._allocate()

    @property
    def state(self) -> Belief:
        """The kernels' state."""
        return self._state

    def record(self, taken: Verdict) -> int:
        """Enter a verdict that the kernels have taken already."""
        self.verdicts.append(taken._replace(id=self._next))
        self._next += 1
        return self._next - 1

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
            body["verdicts"] = [[v.id, v.x, v.y, v.gap, v.unfair, v.pair] for v in self.verdicts]
        return body

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the learner that `snapshot` was taken of."""
        learner = cls(**snapshot["config"])
        if snapshot["dimension"] is not None:
            learner.begin(snapshot["dimension"], snapshot["copies"])
            own, inner = snapshot["state"][: len(Belief._fields) - 1], snapshot["state"][len(Belief._fields) - 1 :]
            learner._bind(Belief._make([*own, type(learner._state.simplex)._make(inner)]))
            learner.verdicts = [Verdict(*v) for v in snapshot["verdicts"]]
            learner._next = snapshot["next"]
        return learner

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.endswith("_kernel")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.dimension is not None:
            self._bind(self._state)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.config().items() if name != "seed")
        return f"{type(self).__name__}({shown})"

    # ------------------------------------------------------------------ inside

    def _allocate(self) -> None:
        assert self.dimension is not None
        rows, columns, scales = coordinates(self.dimension, self.structure)
        m, n = rows.size, self.copies
        capacity = 32 * m
        reach, spread = self.reach(m)
        radius = 2.0 * self.dimension if self.radius is None else float(self.radius)
        growth = float(DOUBLINGS) if self.radius is None else 0.0
        logs = float(self.programs or growth > 0)
        options = [self.error_rate, self.tolerance, growth, logs, reach, spread, float(self.programs), self.thinness(m)]
        state = Belief(
            centre=np.zeros((n, m)),
            factor=np.zeros((n, m, m)),
            radius=np.full(n, radius),
            cuts=np.zeros((n, m, capacity)),
            limits=np.zeros((n, capacity)),
            counts=np.zeros(n, np.int64),
            doublings=np.zeros(n, np.int64),
            thin=np.zeros(n, np.int64),
            rows=rows,
            columns=columns,
            scales=scales,
            options=np.array(options),
            tally=np.zeros(2, np.int64),
            stream=stream(self.seed),
            u=np.zeros(m),
            length=np.zeros(1),
            image=np.zeros(m),
            low=np.zeros(m),
            high=np.zeros(m),
            point=np.zeros(m),
            step=np.zeros(m),
            moments=np.zeros((m + 1, m)),
            excess=np.zeros(capacity),
            slopes=np.zeros(capacity),
            simplex=simplex(m),
        )
        for index in range(n):
            metric.prior(state, index)
        self._bind(state)

    def _bind(self, state: Belief) -> None:
        self._state = state
        self._arrays = (*state[:-1], *state.simplex)
        pack = packer(state)
        self._bounds_kernel = entry(_bounds, pack=pack)
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
        status: int = self._verdict_kernel(v.x, v.y, self._copy(v.pair), v.gap, v.unfair, self.precision, *self._arrays)
        return status

    def _put_back(self, saved: list[NDArray[Any]]) -> None:
        for mine, before in zip(self._arrays, saved, strict=True):
            if mine.shape == before.shape:
                mine[...] = before

    def _elastic(
        self, verdicts: list[Verdict], weights: ArrayLike = 1.0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how far each verdict must yield so that a metric agrees with all, and the price of each, both
        (n,)."""
        from scipy.optimize import linprog

        n, m = len(verdicts), self._state.u.size if verdicts else 0
        if n == 0:
            return np.zeros(0), np.zeros(0)
        rows, limits = np.zeros((n, m)), np.zeros(n)
        s = self._state
        for r, v in enumerate(verdicts):
            sign, z = (1.0 if v.unfair else -1.0), v.x - v.y
            rows[r] = sign * s.scales * z[s.rows] * z[s.columns]
            limits[r] = sign * v.gap**2 + self.tolerance
        radius = float(s.radius.max()) * 2.0 ** float(s.options[metric.GROWTH] - s.doublings.max())
        box = [(0.0 if i == j else -radius, radius) for i, j in zip(s.rows, s.columns, strict=True)]
        found = linprog(
            np.r_[np.zeros(m), np.broadcast_to(weights, n)],
            A_ub=np.hstack([rows, -np.eye(n)]),
            b_ub=limits,
            bounds=[*box, *[(0.0, None)] * n],
            method="highs",
        )
        return found.x[m:], -found.ineqlin.marginals

    def _checked_pair(self, x: ArrayLike, y: ArrayLike, pair: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first, second = np.ascontiguousarray(x, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)
        size = first.shape if self.dimension is None else (self.dimension,)
        for name, value in (("x", first), ("y", second)):
            if value.ndim != 1 or value.shape != size or value.size == 0 or not np.isfinite(value).all():
                raise ArgumentError(
                    wanted(name, f"finite features, {size[0] if size else 'at least one'} of them", value.tolist())
                )
        if self.dimension is None:
            self.begin(first.size)
        if not isinstance(pair, (int, np.integer)) or pair < 0 or (not self.shared and pair >= self.copies):
            raise ArgumentError(wanted("pair", f"the number of a pair below {self.copies}", pair))
        return first, second
