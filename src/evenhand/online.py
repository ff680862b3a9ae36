"""The ask/tell object over kernels: tickets, validation, and the marriage of a policy's numbers with the user's labels.

The author of a policy writes two kernels and a class of a few lines:

    choose(params, state, contexts, round, waiting) -> (index, reason)
    update(params, state, contexts, index, reward)

`params` is a NamedTuple that never changes, `state` a NamedTuple of arrays that the kernels change in place; the last
field of either may be the NamedTuple of an inner learner. `contexts` is what the round shows, an array (n_arms, d),
empty where rounds show nothing; `waiting` (n_arms,) counts the tickets of each arm that are still open. The compiled
simulation loop calls the same two kernels, so what is simulated is what is deployed.
"""

from __future__ import annotations

import copy
import inspect
import math
import zlib
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContextError,
    RewardError,
    TicketError,
    UnknownTicketError,
    wanted,
)
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import OPEN, Gradual, entry, kernel
from evenhand.kernels.packing import flat, packer
from evenhand.protocol import Decision, Label, arm_labels
from evenhand.rng import Seed, draw_seed, stream

__all__ = ["REASONS", "KernelPolicy", "Kernels", "reason"]

REASONS: dict[int, str] = {}
"""What the reason numbers of `choose` mean; filled by `reason` when a policy's module is imported."""

LARGEST = 1e100
"""How large a number of contexts or a reward may be: squares and sums of these are finite."""

NO_CONTEXTS: Floats = np.zeros((0, 0))
PLAIN_WORK, PLAIN_CALL = 1_000_000, 100
"""A policy's kernels are compiled when they have touched so many array entries as plain Python, a fraction of a second;
a call counts as so many by itself."""


class Kernels(NamedTuple):
    """The numeric core of a policy, see the head of this module."""

    choose: Any
    update: Any


def reason(text: str) -> int:
    """Return the number under which kernels report this reason, the same number for the same words in any process."""
    number = zlib.crc32(text.encode())
    if REASONS.setdefault(number, text) != text:
        raise ArgumentError(f"reason: {text!r} has the number of {REASONS[number]!r}; word it otherwise")
    return number


class KernelPolicy:
    """A policy over kernels, that is a learner as well: `ask` and `tell` with tickets, `choose` and `update` without.

    A subclass names its `kernels`, passes `arms` and `seed` on, keeps every constructor argument under its own name,
    and writes `parameters()` and `memory()`, which return the NamedTuples of the kernels for `len(self.arms)` arms and,
    where it is `contextual`, contexts of `self.dimension` numbers an arm, known from the first contexts on.
    """

    kernels: Kernels
    reward_range: tuple[float, float] = (0.0, 1.0)
    contextual: bool = False
    arms: tuple[Label, ...] | None
    dimension: int | None
    round: int
    _next: int

    def __init__(self, arms: int | Sequence[Label] | None, seed: Seed) -> None:
        self.arms = None if arms is None else arm_labels(arms)
        self.seed = draw_seed(seed)
        self.dimension = None if self.contextual else 0
        if self.arms is not None and self.dimension is not None:
            self._begin()

    def parameters(self) -> Any:
        """Return the NamedTuple `params` of the kernels: numbers and arrays that never change."""
        raise NotImplementedError

    def memory(self) -> Any:
        """Return the NamedTuple `state` of the kernels before the first round: arrays alone."""
        raise NotImplementedError

    def stream(self) -> Words:
        """Return the policy's random stream from its start, a field of `memory()` where the kernels draw."""
        return stream(self.seed)

    # ------------------------------------------------------------------ the conversation

    def ask(self, contexts: Any = None) -> Decision:
        """Take the next decision and hand out its ticket.

        Raises
        ------
        ContextError
            If `contexts` are missing, not wanted, of another shape, or not finite.
        """
        shown = self._checked_contexts(contexts) if self.contextual or contexts is not None else NO_CONTEXTS
        index, why = self._choose(shown)
        ticket = self._next
        self._next = ticket + 1
        self._open[ticket] = (index, shown)
        self._waiting[index] += 1
        return Decision(ticket, self.round, self._labels[index], index, self.distribution(why), REASONS[why])

    def distribution(self, why: int) -> Floats | None:
        """Return the distribution (n_arms,) that the decision just taken was drawn from, None where none is known."""
        return None

    def tell(self, decision: Decision | int, reward: float) -> None:
        """Bring back the reward of a ticket, given as the decision or its id; late and out of order is fine.

        Raises
        ------
        RewardError
            If the reward is not a finite number in the policy's range.
        UnknownTicketError, ClosedTicketError
            If the ticket was never handed out, or was told or forgotten before.
        """
        ticket, index, shown = self._checked_ticket(decision)
        reward = self._checked_reward(reward)
        self._update(shown, index, reward)
        self._waiting[index] -= 1
        del self._open[ticket]

    def forget(self, decision: Decision | int) -> None:
        """Close a ticket whose reward will never come; the decision itself still counts as taken."""
        ticket, index, _ = self._checked_ticket(decision)
        self._waiting[index] -= 1
        del self._open[ticket]

    @property
    def open_tickets(self) -> list[int]:
        """The ids that were handed out and neither told nor forgotten."""
        return list(self._open) if self._begun else []

    def choose(self, contexts: Any = None) -> int:
        """Take the next decision without a ticket and return the arm's index."""
        return self._choose(self._checked_contexts(contexts))[0]

    def update(self, *contexts_index_reward: Any) -> None:
        """Learn from `(index, reward)`, or `(contexts, index, reward)` for a contextual policy, without a ticket."""
        *contexts, index, reward = contexts_index_reward
        shown = self._checked_contexts(*contexts)
        if not isinstance(index, (int, np.integer)) or not 0 <= index < len(self._labels):
            raise ArgumentError(wanted("index", f"an arm's index below {len(self._labels)}", index))
        self._update(shown, int(index), self._checked_reward(reward))

    # ------------------------------------------------------------------ copies and files

    def fresh(self, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> Self:
        """Return a policy of the same configuration without memory; `arms` names its arms where it has none yet."""
        config = {name: copy.deepcopy(value) for name, value in self.config().items()}
        if "arms" in config and self.arms is None:
            config["arms"] = arms
        config["seed"] = self.seed if seed is None else seed
        return type(self)(**config)

    def begin(self, dimension: int) -> None:
        """Make ready for contexts (n_arms, dimension); the first contexts that are shown do so by themselves."""
        if not self._begun:
            self.dimension = dimension
            self._begin()

    def compile(self) -> None:
        """Compile the kernels now; by themselves they run as plain Python until it pays to compile them."""
        for half in (self._ask_kernel, self._tell_kernel):
            if isinstance(half, Gradual):
                half.compile()

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        body: dict[str, Any] = {"config": self.config(), "dimension": self.dimension if self._begun else None}
        if self._begun:
            body |= {
                "round": self.round,
                "next": self._next,
                "waiting": self._waiting,
                "open": [[ticket, index, shown] for ticket, (index, shown) in self._open.items()],
                "state": flat(self._state),
            }
        return body

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy that `snapshot` was taken of."""
        policy = cls(**snapshot["config"])
        if snapshot["dimension"] is not None:
            policy.begin(snapshot["dimension"])
            policy.round, policy._next = snapshot["round"], snapshot["next"]
            policy._waiting[:] = snapshot["waiting"]
            policy._open = {ticket: (index, shown) for ticket, index, shown in snapshot["open"]}
            for mine, saved in zip(flat(policy._state), snapshot["state"], strict=True):
                mine[...] = saved
        return policy

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _COMPILED}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.config().items() if name != "seed")
        return f"{type(self).__name__}({shown})"

    # ------------------------------------------------------------------ inside

    @property
    def _begun(self) -> bool:
        return "_state" in self.__dict__

    def _begin(self) -> None:
        assert self.arms is not None
        self.round = 0
        self._labels = self.arms
        self._params, self._state = self.parameters(), self.memory()
        self._waiting = np.zeros(len(self.arms), dtype=np.int64)
        self._open: dict[int, tuple[int, Floats]] = {}
        self._next = 1

    def _choose(self, shown: Floats) -> tuple[int, int]:
        picked: tuple[int, int] = self._ask_kernel(self.round + 1, shown, self._waiting, self._arrays)
        self.round += 1
        return picked

    def _update(self, shown: Floats, index: int, reward: float) -> None:
        self._tell_kernel(index, reward, shown, self._arrays)

    def __getattr__(self, name: str) -> Any:
        if name in _COMPILED and "_state" in self.__dict__:
            self._compile()
            return self.__dict__[name]
        if name in _BEGUN:
            lacks = "arms yet; give it arms=10 or arms=[labels], or pass it to FairLearn or simulate"
            if self.__dict__.get("arms") is not None:
                lacks = "contexts' dimension yet; ask(contexts) first, or call begin(dimension)"
            raise ArgumentError(f"{type(self).__name__} does not know its {lacks}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _compile(self) -> None:
        params, state = flat(self._params), flat(self._state)
        names = {
            "split": len(params),
            "pack_params": packer(self._params),
            "pack_state": packer(self._state),
        }
        self._arrays = (*params, *state)
        ask = entry(_ask, choose=self.kernels.choose, **names)
        tell = entry(_tell, update=self.kernels.update, **names)
        calls = PLAIN_WORK // (PLAIN_CALL + sum(array.size for array in self._arrays if isinstance(array, np.ndarray)))
        seen = NO_CONTEXTS, self._waiting, self._arrays
        self._ask_kernel = Gradual(ask, (1, *seen), calls, partial(setattr, self, "_ask_kernel"))
        self._tell_kernel = Gradual(
            tell, (0, 0.0, NO_CONTEXTS, self._arrays), calls, partial(setattr, self, "_tell_kernel")
        )

    def _checked_contexts(self, contexts: Any = None) -> Floats:
        if not self.contextual:
            if contexts is None:
                return NO_CONTEXTS
            raise ContextError(wanted("contexts", "none: this policy sees no contexts", contexts, "call ask()"))
        arms = 0 if self.arms is None else len(self.arms)
        shape = f"numbers of shape ({arms}, {'d' if self.dimension is None else self.dimension}), a row an arm"
        try:
            shown = np.array(contexts, dtype=np.float64, order="C")
        except (TypeError, ValueError) as error:
            raise ContextError(wanted("contexts", shape, contexts)) from error
        if shown.ndim != 2 or shown.shape[0] != arms or shown.shape[1] != (self.dimension or shown.shape[1] or 1):
            raise ContextError(wanted("contexts", shape, f"an array of shape {shown.shape}"))
        sound = np.abs(shown) <= LARGEST
        if not sound.all():
            arm, feature = np.argwhere(~sound)[0]
            what = f"finite numbers, of at most {LARGEST:g}"
            raise ContextError(wanted("contexts", what, f"{shown[arm, feature]} for arm {arm}, feature {feature}"))
        self.begin(shown.shape[1])
        return shown

    def _checked_ticket(self, decision: Decision | int) -> tuple[int, int, Floats]:
        ticket = decision.id if isinstance(decision, Decision) else decision
        number = isinstance(ticket, (int, np.integer)) and ticket is not True
        found = self._open.get(ticket) if number else None
        if found is None:
            if not number:
                raise UnknownTicketError(wanted("decision", "a Decision or its id", decision))
            if 0 < ticket < self._next:
                raise ClosedTicketError(f"ticket {ticket} was told or forgotten before; nothing has changed")
            raise UnknownTicketError(f"ticket {ticket} was never handed out; the last one was {self._next - 1}")
        if isinstance(decision, Decision) and decision.index != found[0]:
            raise TicketError(
                f"ticket {ticket} is for arm {self._labels[found[0]]!r}, not {decision.arm!r}: another policy's?"
            )
        return int(ticket), *found

    def _checked_reward(self, reward: float) -> float:
        low, high = self.reward_range
        if type(reward) is not float:
            if isinstance(reward, (str, bytes)) or not hasattr(reward, "__float__"):
                raise RewardError(wanted("reward", "a number", reward))
            try:
                reward = float(reward)
            except (TypeError, ValueError, OverflowError) as error:
                raise RewardError(wanted("reward", "one number", reward)) from error
        if not (low <= reward <= high and abs(reward) <= LARGEST):
            inside = (
                f"a finite number, of at most {LARGEST:g}" if math.isinf(high) else f"a number in [{low:g}, {high:g}]"
            )
            raise RewardError(
                wanted("reward", inside, reward, "" if math.isinf(high) else "scale rewards to that range")
            )
        return reward


choose = update = pack_params = pack_state = OPEN
split = 0

_COMPILED = ("_ask_kernel", "_tell_kernel", "_arrays")
_BEGUN = ("_labels", "_next", "_open", "_params", "_state", "_waiting", "round", *_COMPILED)


@kernel
def _ask(round: int, contexts: Floats, waiting: Ints, arrays: Any) -> tuple[int, int]:
    return choose(pack_params(*arrays[:split]), pack_state(*arrays[split:]), contexts, round, waiting)


@kernel
def _tell(index: int, reward: float, contexts: Floats, arrays: Any) -> None:
    update(pack_params(*arrays[:split]), pack_state(*arrays[split:]), contexts, index, reward)
