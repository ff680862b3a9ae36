"""The numbers of a policy at work: kernels over arrays, as plain Python at first, compiled when that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from evenhand.errors import ArgumentError
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, LazyKernel, entry, flat, interpreted, kernel, names, packers
from evenhand.policy.kernel_set import WAITING, Kernels, LazyProbabilities, RewardContext, copied
from evenhand.policy.tickets import COPIED
from evenhand.protocol import Label
from evenhand.saving.saved import fill

NO_CONTEXTS: Floats = np.zeros((0, 0))
PLAIN_WORK, PLAIN_CALL = 1_000_000, 100
"""A policy's kernels are compiled when they have touched so many array entries as plain Python, a fraction of a second;
a call counts as so many by itself."""


class Calls(Protocol):
    """What is called in a round, always with these arrays: kernels, or Python around a learner from elsewhere."""

    arrays: tuple[Any, ...]

    def ask(self, round: int, contexts: Floats, waiting: Ints, arrays: tuple[Any, ...]) -> tuple[int, int, float]:
        """Return the arm of a round, why it is that, and with which probability it was picked."""
        ...

    def tell(
        self, index: int, reward: float, round: int, chance: float, contexts: Floats, arrays: tuple[Any, ...]
    ) -> None:
        """Learn a reward of an arm that was decided in that round, with that probability."""
        ...


class KernelCalls:
    """Kernels bound to arrays; each half is compiled after as many calls as pay for it."""

    __slots__ = ("arrays", "ask", "tell")

    def __init__(self, arrays: tuple[Any, ...], ask: Any, tell: Any) -> None:
        self.arrays, self.ask, self.tell = arrays, ask, tell

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """Return the kernels of an engine, bound to its arrays."""
        kernels, pack = engine.kernels, dict(packers(engine.params, engine.state))
        arrays = (*flat(engine.params), *flat(engine.state))
        work = engine.work + sum(array.size for array in arrays if isinstance(array, np.ndarray))
        ask = entry(_ask, choose=kernels.choose, probability=kernels.probability, **pack)
        tell = entry(_tell, update=kernels.update, **pack)
        calls = cls(arrays, None, None)
        shown = (1, NO_CONTEXTS, engine.waiting, arrays), (0, 0.0, 0, 1.0, NO_CONTEXTS, arrays)
        calls.ask = LazyKernel(ask, shown[0], PLAIN_WORK // work, partial(setattr, calls, "ask"))
        calls.tell = LazyKernel(tell, shown[1], PLAIN_WORK // work, partial(setattr, calls, "tell"))
        return calls


class Engine:
    """Kernels, their parameters and state, and the open tickets of each arm: what a policy is asked and told by number.

    Parameters
    ----------
    kernels, params, state : see `evenhand.policy.kernel_policy`.
    arms, plays : how many arms there are, and how many of them are played in a round.
    work : about how many array entries a call touches beside those of its arguments.
    connect : returns what is called in place of the kernels; None where they stand for themselves.

    Attributes
    ----------
    round : how many rounds were decided.
    waiting : the open tickets of each arm (n_arms,).
    counts : how often each arm was decided for since the policy was made or loaded.
    """

    connect: Callable[[], Calls] | None = None
    _calls: Calls | None = None
    _reversible = False
    """Whether what it is told now is taken back if something fails."""

    def __init__(
        self,
        kernels: Kernels,
        params: Any,
        state: Any,
        arms: int,
        plays: int,
        work: int,
        connect: Callable[[], Calls] | None = None,
    ) -> None:
        self.kernels, self.params, self.state, self.plays, self.work = kernels, params, state, plays, work
        self.round, self.waiting, self.counts = 0, np.zeros(arms, np.int64), [0] * arms
        self.connect = connect

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what is called, which a copy makes anew, as its arrays are others."""
        return {name: value for name, value in vars(self).items() if name not in ("connect", "_calls", "_read")}

    @property
    def calls(self) -> Calls:
        """What is called in a round."""
        if self._calls is None:
            self._calls = KernelCalls.of(self) if self.connect is None else self.connect()
        return self._calls

    # ------------------------------------------------------------------ rounds

    def ask(self, contexts: Floats) -> tuple[int, int, float]:
        """Return the arm of the next round, the best one's if several are played, why it is that, and with which
        probability it was picked."""
        calls = self._calls or self.calls
        picked = calls.ask(self.round + 1, contexts, self.waiting, calls.arrays)
        self.round += 1
        if self.plays == 1:
            self.counts[picked[0]] += 1
        else:
            for index in self.slate():
                self.counts[index] += 1
        return picked

    def tell(self, contexts: Floats, index: int, reward: float, round: int, chance: float) -> None:
        """Learn a reward of an arm that was decided in that round, with that probability."""
        calls = self._calls or self.calls
        calls.tell(index, reward, round, chance, contexts, calls.arrays)

    def slate(self) -> tuple[int, ...]:
        """Return the arms of the last round, where several are played."""
        return tuple(arm for arm in self.state.chosen.tolist() if arm >= 0)

    def offer(self, arms: Sequence[int]) -> Ints:
        """Have decisions taken among these arms alone; return which were on offer before."""
        before: Ints = self.state.offered.copy()
        self.state.offered[:] = 0
        self.state.offered[arms] = 1
        return before

    def probability(self, index: int) -> float:
        """Return the probability with which the last decision could have picked an arm."""
        return float(interpreted(self.kernels.probability)(self.params, self.state, index))

    @cached_property
    def _read(self) -> list[tuple[str, Any]]:
        """The arrays that the probabilities of a decision follow from, each with its name."""
        chances = self.kernels.chances
        if chances is None:
            return []
        read = [*chances.read(zip(names(self.state), flat(self.state), strict=True))]
        return [*read, (WAITING, self.waiting)] if chances.reads_waiting else read

    def inputs(self) -> dict[str, Any] | None:
        """Return copies of what the probabilities of the next decision follow from, by name; None where the kernels do
        not compute any."""
        return None if self.kernels.chances is None else {name: array.copy() for name, array in self._read}

    def lazy_probabilities(self, contexts: Floats, inputs: dict[str, Any]) -> LazyProbabilities:
        """Return the probabilities of the decision just taken, from the `inputs` before it."""
        assert self.kernels.chances is not None
        return LazyProbabilities((self.kernels.chances.function, self.params, self.state, contexts, self.round, inputs))

    def compile(self) -> None:
        """Compile the kernels now; otherwise they run as plain Python until it pays to compile them."""
        for half in (self.calls.ask, self.calls.tell):
            if isinstance(half, LazyKernel):
                half.compile()

    def way_back(self) -> Callable[[], None]:
        """Return what takes back all that it is told from now on."""
        arrays = [*flat(self.state), self.waiting]
        kept = [array.copy() for array in arrays]

        def go_back() -> None:
            for array, old in zip(arrays, kept, strict=True):
                array[...] = old

        return go_back

    @contextmanager
    def all_or_none(self, way_back: Callable[[], Callable[[], None]]) -> Iterator[None]:
        """Take back whatever is told in a block that fails, by what `way_back` returns before it begins."""
        if self._reversible:  # within another such block, which takes back all
            yield
            return
        go_back = way_back()
        self._reversible = True
        try:
            yield
        except BaseException as error:
            go_back()
            error.add_note("nothing was recorded: the same call can be repeated")
            raise
        finally:
            self._reversible = False

    # ------------------------------------------------------------------ copies and files

    def copy(self) -> Engine:
        """Return a copy that may be asked without a trace, and shares the machine code."""
        sizes = len(self.counts), self.plays, self.work
        twin = Engine(self.kernels, self.params, copied(self.state), *sizes, self.connect)
        twin.round, twin.waiting, twin.counts = self.round, self.waiting.copy(), [*self.counts]
        if isinstance(self._calls, KernelCalls):
            arrays = (*flat(twin.params), *flat(twin.state))
            twin._calls = KernelCalls(arrays, self._calls.ask, self._calls.tell)
        return twin

    def replace(self, kernels: Kernels, params: Any, state: Any, *, arms: int, work: int) -> None:
        """Go on with other kernels and arrays, and with so many arms, the new ones last."""
        new = arms - len(self.counts)
        self.kernels, self.params, self.state, self.work = kernels, params, state, work
        if new:
            self.waiting, self.counts = np.append(self.waiting, [0] * new), [*self.counts, *[0] * new]
        self._calls = None
        self.__dict__.pop("_read", None)

    def take_over(self, other: Engine) -> None:
        """Go on where an engine of the same kernels with fewer arms stands."""
        self.round = other.round
        for mine, theirs in zip(flat(self.state), flat(other.state), strict=True):
            mine[tuple(map(slice, theirs.shape))] = theirs

    def differs(self, other: Engine) -> bool:
        """Return whether its state is another."""
        pairs = zip(flat(self.state), flat(other.state), strict=True)
        return any(mine.tobytes() != theirs.tobytes() for mine, theirs in pairs)

    def save(self) -> dict[str, Any]:
        """Return the round and the arrays."""
        return {"round": self.round, "state": flat(self.state), "waiting": self.waiting}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take up what `save` returned."""
        self.round = saved["round"]
        for name, own, kept in zip(names(self.state), flat(self.state), saved["state"], strict=True):
            fill(own, kept, f"state.{name}")
        fill(self.waiting, saved["waiting"], "waiting")


def refuse_unready(owner: str, arms: Sequence[Label] | None) -> NoReturn:
    """Refuse what a policy cannot do that does not know its arms, or its contexts' dimension, yet."""
    lacks = "arms yet; give it arms=10 or arms=[labels], or pass it to FairLearn or simulate"
    if arms is not None:
        first = "ask(contexts) first"
        lacks = f"contexts' dimension yet; {first}; if a study decides, read study.policy: {COPIED}"
    raise ArgumentError(f"{owner} does not know its {lacks}")


choose = update = probability = pack_params = pack_state = OPEN
split = 0


@kernel
def _ask(round: int, contexts: Floats, waiting: Ints, arrays: Any) -> tuple[int, int, float]:
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    index, why = choose(params, state, contexts, round, waiting)
    return index, why, probability(params, state, index)


@kernel
def _tell(index: int, reward: float, round: int, chance: float, contexts: Floats, arrays: Any) -> None:
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    update(params, state, contexts, index, reward, RewardContext(round, chance))
