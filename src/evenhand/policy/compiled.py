"""How the kernels of a policy run: bound to its arrays, as plain Python at first, compiled when that pays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, LazyKernel, entry, flat, kernel, names, packers
from evenhand.policy.kernel_set import WAITING, RewardContext, copied
from evenhand.policy.tickets import COPIED
from evenhand.protocol import Label

NO_CONTEXTS: Floats = np.zeros((0, 0))
PLAIN_WORK, PLAIN_CALL = 1_000_000, 100
"""A policy's kernels are compiled when they have touched so many array entries as plain Python, a fraction of a second;
a call counts as so many by itself."""


class _Later:
    """An attribute that a policy has once it knows its arms and its contexts' dimension, or needs its kernels."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    def __get__(self, policy: Any, owner: Any) -> Any:
        if policy is None:
            return self
        if policy._begun and self.name in policy.transient:
            policy._compile()
            return policy.__dict__[self.name]
        lacks = "arms yet; give it arms=10 or arms=[labels], or pass it to FairLearn or simulate"
        if policy.arms is not None:
            first = "ask(contexts) first, or call begin(dimension)"
            lacks = f"contexts' dimension yet; {first}; if a study decides, read study.policy: {COPIED}"
        raise ArgumentError(f"{type(policy).__name__} does not know its {lacks}")


def later() -> Any:
    """Return the attribute; its type is the annotation beside it."""
    return _Later()


def compile_policy(policy: Any) -> None:
    """Bind a policy's kernels to its arrays; each is compiled after as many calls as pay for it."""
    pack = dict(packers(policy._params, policy._state))
    bind_arrays(policy)
    # Machine code holds on to these very arrays: whoever replaces the state must call `forget_machine_code`, or asking
    # would go on with the old one.
    arrays = policy._arrays
    ask = entry(_ask, choose=policy.kernels.choose, probability=policy.kernels.probability, **pack)
    tell = entry(_tell, update=policy.kernels.update, **pack)
    calls = PLAIN_WORK // (policy.call_work() + sum(array.size for array in arrays if isinstance(array, np.ndarray)))
    policy._ask_kernel = LazyKernel(
        ask, (1, NO_CONTEXTS, policy._waiting, arrays), calls, partial(setattr, policy, "_ask_kernel")
    )
    policy._tell_kernel = LazyKernel(
        tell, (0, 0.0, 0, 1.0, NO_CONTEXTS, arrays), calls, partial(setattr, policy, "_tell_kernel")
    )


def bind_arrays(policy: Any) -> None:
    """Name the arrays that the machine code works on, and those that the probabilities follow from."""
    policy._arrays = (*flat(policy._params), *flat(policy._state))
    chances = policy.kernels.chances
    if chances is not None:
        policy._read = [*chances.read(zip(names(policy._state), flat(policy._state), strict=True))]
        if chances.waiting:
            policy._read.append((WAITING, policy._waiting))


def twin_of(policy: Any) -> Any:
    """Return a policy in the same state that may be asked without a trace, and shares the machine code."""
    twin = object.__new__(type(policy))
    vars(twin).update(vars(policy))
    twin.tickets = policy.tickets.twin(twin, {})
    if policy._begun:
        twin._state, twin._waiting, twin._counts = copied(policy._state), policy._waiting.copy(), [*policy._counts]
        if "_arrays" in vars(policy):
            # The copied entries still hold the policy's own arrays: unless they are bound anew, asking the twin
            # would move the original's state.
            bind_arrays(twin)
    return twin


def probabilities_of(policy: Any, contexts: Any, *, available: Any) -> dict[Label, float]:
    """Return the probability of each arm at the next `ask`, from asking a twin."""
    if policy.compiled:
        decision = policy._twin().ask(contexts, available=available)
        chances = decision.probabilities
        if chances is not None:
            return dict(zip(policy.arms or (), chances.tolist(), strict=True))
        if decision.propensity is not None:
            return {arm: float(arm in decision.arms) for arm in policy.arms or ()}
    mend = "DeadlineLearn over Thompson or EpsilonGreedy does"
    if policy.holds:
        mend = "its learner's proposal is held until it is granted; lottery= draws with known probabilities"
    what = "one that states the probabilities of its draws"
    raise ArgumentError(wanted("policy", what, type(policy).__name__, mend))


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
