"""The contract checked on a policy, a world, or everything that is registered under a name."""

from __future__ import annotations

import copy
import sysconfig
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.arguments import whole
from evenhand.checks.arguments import check_arguments
from evenhand.checks.ask_tell import (
    check_bad_input,
    check_promise_kept,
    check_same_seed,
    check_save_and_load,
    check_threads,
    check_tickets,
)
from evenhand.checks.numeric import check_labels, check_learns, check_numbers, check_one_kernel
from evenhand.checks.play import SEED, Skip, first_difference, fresh_policy, plain
from evenhand.checks.reasons import check_reasons
from evenhand.errors import ArgumentError, ContractError, expected
from evenhand.policy.traits import traits_of
from evenhand.protocol import Decision, Policy, World
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.simulation.fit import check_world as check_playable
from evenhand.simulation.loop import read_rewards, read_shown
from evenhand.simulation.world import world_traits

MOST_ROUNDS = 10**9
"""Of a check: nobody waits for more."""
PACKAGES = (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), str(Path(__file__).parent))
"""Where code lies that is not the policy's."""


@dataclass(frozen=True)
class Check:
    """The outcome of one check: passed, but for arguments that it had no other values for, or skipped with a reason."""

    name: str
    skipped: str = ""
    untried: tuple[str, ...] = ()


def check_policy(policy: object, world: object = None, *, rounds: int = 300) -> list[Check]:
    """Check a policy against the contract.

    What must be refused, each time without a change: a ticket that is unknown, told or forgotten, by a `TicketError`
    of `evenhand.errors`; a reward that is no finite number in the policy's range, and contexts that are missing, of
    another shape or not finite, by any `EvenhandError`, such as `RewardError` or `ContextError`.

    Parameters
    ----------
    policy : any object with `ask` and `tell`; a copy of it is used.
    world : a world that answers it; where it is None, Bernoulli arms for the policy's `arms`.
    rounds : how many rounds each check plays.

    Returns
    -------
    list of Check
        One entry per check, skipped ones with the reason, and the arguments that could not be tried.

    Raises
    ------
    ContractError
        At the first check that fails, with what was seen.
    ArgumentError
        If the object is no policy, or no world is given and none fits.

    Examples
    --------
    >>> import evenhand as eh
    >>> [check.name for check in eh.check_policy(eh.quotas.FairUCB([0.3, 0.3]))][:2]
    ['same seed', 'one kernel']
    """
    if isinstance(policy, type) or not isinstance(policy, Policy):
        raise ArgumentError(expected("policy", "an object with ask() and tell()", policy))
    rounds = whole("rounds", rounds, low=2, high=MOST_ROUNDS)
    policy, world = _prepared(policy, world)
    checks: dict[str, Callable[[Any, Any, int], list[str] | None]] = {
        "same seed": check_same_seed,
        "one kernel": check_one_kernel,
        "save and load": check_save_and_load,
        "tickets": check_tickets,
        "bad input": check_bad_input,
        "promise": check_promise_kept,
        "reasons": check_reasons,
        "learns": check_learns,
        "labels": check_labels,
        "numbers": check_numbers,
        "threads": check_threads,
        "arguments": check_arguments,
    }
    done = []
    for name, check in checks.items():
        try:
            with np.errstate(over="ignore"):
                untried = check(fresh_policy(policy), copy.deepcopy(world), rounds)
            done.append(Check(name, untried=tuple(untried or ())))
        except Skip as skip:
            done.append(Check(name, str(skip)))
        except AssertionError as error:
            raise ContractError(f"{type(policy).__name__} breaks the contract, {name}: {error}") from error
        except Exception as error:
            what = f"{type(error).__name__}: {error}{_place(error)}"
            raise ContractError(f"{type(policy).__name__} breaks the contract, {name}: it raised {what}") from error
    return done


def _place(error: Exception) -> str:
    """Return the line of the policy's own code, or of its kernels, at which an error arose, as far as that is known."""
    steps = [step for step in traceback.extract_tb(error.__traceback__) if not step.filename.startswith(PACKAGES)]
    return f" (at {steps[-1].filename}, line {steps[-1].lineno}: {steps[-1].line})" if steps else ""


def check_world(world: object, *, rounds: int = 200) -> list[Check]:
    """Check that `simulate` can play a world, and that it answers alike for the same seed, whichever copy is asked.

    Raises
    ------
    ArgumentError
        If it is no world, its arms are not two labels or more, or its totals are not numbers, one for each of its
        scores.
    ContractError
        If two copies part, or it pays what is no number in its range.
    """
    if not isinstance(world, World):
        raise ArgumentError(expected("world", "an object with reset, observe and respond", world))
    if "arms" in dir(world):
        check_playable(world)
    rounds = whole("rounds", rounds, low=1, high=MOST_ROUNDS)
    seen: list[list[Any]] = []
    for one in (copy.deepcopy(world), copy.deepcopy(world)):
        one.reset(SEED)
        arms = traits_of(one).arms or ()
        seen.append([])
        for t in range(1, rounds + 1):
            seen[-1].append(plain(read_shown(one)))
            if arms:
                index = t % len(arms)
                happened = one.respond(Decision(t, t, arms[index], index))
                _check_reward(one, happened)
                seen[-1].append(plain(happened))
    at = first_difference(*seen)
    if at is not None:
        raise ContractError(f"{type(world).__name__} breaks the contract: with the same seed, two copies part")
    return [Check("same seed")]


def _check_reward(world: object, happened: object) -> None:
    """See that a world pays one number, within the range that it states."""
    if world_traits(world).replicate is not None:  # which is told verdicts too
        return
    (reward,) = read_rewards(world, happened, None)
    low, high = world_traits(world).reward_range or (0.0, 1.0)
    if not low <= reward <= high:
        hint = "a world with others states reward_range = (low, high)"
        raise ContractError(expected(type(world).__name__, f"rewards in [{low:g}, {high:g}]", reward, hint))


def check_registered(name: str) -> dict[str, list[Check]]:
    """Run the contract over every example of a registered policy or world; return the checks by example."""
    entry = registry.get(name)
    outcome = {}
    for number, example in enumerate(examples(entry.cls)):
        label = f"{name} #{number}"
        if entry.kind == "part":
            outcome[label] = _check_part(example)
        else:
            outcome[label] = check_world(example) if entry.kind == "world" else check_policy(*example)
    return outcome


def _check_part(part: object) -> list[Check]:
    saved = to_bytes(part)
    if to_bytes(from_bytes(saved)) != saved:
        raise ContractError(f"{type(part).__name__} breaks the contract: saved again right after loading, it differs")
    return [Check("save and load")]


def examples(cls: Any) -> list[Any]:
    """Return the examples of a registered class; a plain learner is tried on Bernoulli arms, a contextual one on linear
    arms.

    Raises
    ------
    ContractError
        If the class has none.
    """
    if hasattr(cls, "_examples"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return list(cls._examples())
    if cls.__module__.startswith("evenhand.learners"):
        from evenhand.groups.worlds import BiasedLinearArms
        from evenhand.quotas.worlds import BernoulliArms

        traits = traits_of(cls)
        world: Any = BernoulliArms([0.2, 0.5, 0.8])
        if traits.contextual:
            world = BiasedLinearArms(arms=3, sensitive=1, dimension=1 if traits.scored else 2, bias=0.0)
        return [(cls(arms=3, seed=1), world)]
    raise ContractError(f"{cls.__qualname__} has no classmethod _examples(): pairs (policy, world) for the checks")


def _prepared(policy: Any, world: Any) -> tuple[Any, Any]:
    if world is None:
        arms = traits_of(policy).arms
        if arms is None or traits_of(policy).contextual:
            shows = "one that shows contexts, as this policy takes" if arms else "a world that answers this policy"
            raise ArgumentError(expected("world", shows, None, "pass world="))
        from evenhand.quotas.worlds import BernoulliArms

        world = BernoulliArms({arm: (i + 1) / (len(arms) + 1) for i, arm in enumerate(arms)})
    if getattr(policy, "arms", 0) is None:
        policy = policy.fresh(arms=world.arms)
    return policy, world
