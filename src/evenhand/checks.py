"""The contract, run over everything in the registry and by anybody over their own policy.

    same seed          two copies with one seed decide alike, whatever they are told
    one kernel         compiled loop = online object = the same kernels as plain Python
    save and load      a policy saved mid-conversation, tickets open, goes on exactly as the original
    tickets            tells may come late and out of order; a second and an unknown one is refused, nothing changes
    bad input          what cannot be a reward is refused, nothing changes
    promise            what the policy promises holds, at every round
    learns             it does worse where every reward is turned into its opposite
    labels             arms by other names: the same decisions by other names
    numbers            settings as whole numbers, floats or numpy's: the same policy
    threads            several threads get tickets of their own, one round after another, and the promise holds

A check that does not apply is skipped by name, with the reason.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.errors import ArgumentError, ContractError, EvenhandError, ExhaustedError, TicketError, wanted
from evenhand.kernels.packing import flat
from evenhand.online import KernelPolicy
from evenhand.protocol import Decision
from evenhand.simulation.loop import replicate, runs_compiled
from evenhand.simulation.world import KernelWorld
from evenhand.state import from_bytes, to_bytes
from evenhand.threads import run_together

__all__ = ["Check", "check_policy", "check_registered", "check_world"]

SEED = 20211
THREADS = 4
LONG = 100_000
"""Rounds in which a promise is checked where the compiled loop plays them."""
LEARNING_ROUNDS, LONGEST_LEARNING, LEARNING_RUNS = 500, 1_000, 8
LOUD, FREE = 3.0, 0.85
"""Standard errors by which a policy must do better for having been told the truth, and the largest sum of shares that
leaves it room to."""


@dataclass(frozen=True)
class Check:
    """The outcome of one check: passed, or skipped with a reason."""

    name: str
    skipped: str = ""


class _Skip(Exception):
    pass


def check_policy(policy: Any, world: Any = None, *, rounds: int = 300) -> list[Check]:
    """Run the contract over a policy.

    Parameters
    ----------
    policy : any object with `ask` and `tell`; a copy of it is used.
    world : a world that answers it; where it is None, Bernoulli arms for the policy's `arms`.
    rounds : length of the conversations.

    Returns
    -------
    list of Check
        One entry a check, skipped ones with the reason.

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
    if isinstance(policy, type) or not (hasattr(policy, "ask") and hasattr(policy, "tell")):
        raise ArgumentError(wanted("policy", "an object with ask() and tell()", policy))
    if not isinstance(rounds, int) or rounds < 2:
        raise ArgumentError(wanted("rounds", "a whole number >= 2", rounds))
    policy, world = _prepared(policy, world)
    checks: dict[str, Callable[[Any, Any, int], None]] = {
        "same seed": _same_seed,
        "one kernel": _one_kernel,
        "save and load": _save_and_load,
        "tickets": _tickets,
        "bad input": _bad_input,
        "promise": _promise,
        "learns": _learns,
        "labels": _labels,
        "numbers": _numbers,
        "threads": _threads,
    }
    done = []
    for name, check in checks.items():
        try:
            with np.errstate(over="ignore"):
                check(_copy(policy), copy.deepcopy(world), rounds)
            done.append(Check(name))
        except _Skip as skip:
            done.append(Check(name, str(skip)))
        except AssertionError as error:
            raise ContractError(f"{type(policy).__name__} breaks the contract, {name}: {error}") from error
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise ContractError(f"{type(policy).__name__} breaks the contract, {name}: it raised {what}") from error
    return done


def check_world(world: Any, *, rounds: int = 200) -> list[Check]:
    """Check that a world answers alike for the same seed, whatever copy is asked, and names what it scores.

    Raises
    ------
    ContractError
        If it does not.
    """
    for name in ("reset", "observe", "respond"):
        if not hasattr(world, name):
            raise ArgumentError(wanted("world", "an object with reset, observe and respond", world))
    seen: list[list[Any]] = []
    for one in (copy.deepcopy(world), copy.deepcopy(world)):
        one.reset(SEED)
        arms = getattr(one, "arms", ())
        seen.append([])
        for t in range(1, rounds + 1):
            seen[-1].append(_plain(one.observe()))
            if arms:
                index = t % len(arms)
                seen[-1].append(_plain(one.respond(Decision(t, t, arms[index], index, None, ""))))
    at = next((i for i, (a, b) in enumerate(zip(*seen, strict=True)) if a != b), None)
    if at is not None:
        raise ContractError(f"{type(world).__name__} breaks the contract: with the same seed, two copies part")
    return [Check("same seed")]


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


def _check_part(part: Any) -> list[Check]:
    saved = to_bytes(part)
    if to_bytes(from_bytes(saved)) != saved:
        raise ContractError(f"{type(part).__name__} breaks the contract: saved again right after loading, it differs")
    return [Check("save and load")]


def examples(cls: Any) -> list[Any]:
    """Return the examples of a registered class; a plain learner is tried on Bernoulli arms.

    Raises
    ------
    ContractError
        If the class has none.
    """
    if hasattr(cls, "examples"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return list(cls.examples())
    if cls.__module__.startswith("evenhand.learners"):
        from evenhand.quotas.worlds import BernoulliArms

        return [(cls(arms=3, seed=1), BernoulliArms([0.2, 0.5, 0.8]))]
    raise ContractError(f"{cls.__qualname__} has no classmethod examples(): pairs (policy, world) for the checks")


def _prepared(policy: Any, world: Any) -> tuple[Any, Any]:
    if world is None:
        arms = getattr(policy, "arms", None)
        if arms is None or getattr(policy, "contextual", False):
            raise ArgumentError(wanted("world", "a world that answers this policy", None, "pass world="))
        from evenhand.quotas.worlds import BernoulliArms

        world = BernoulliArms({arm: (i + 1) / (len(arms) + 1) for i, arm in enumerate(arms)})
    if getattr(policy, "arms", 0) is None:
        policy = policy.fresh(arms=world.arms)
    return policy, world


def _copy(policy: Any) -> Any:
    return policy.fresh() if hasattr(policy, "fresh") else copy.deepcopy(policy)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if hasattr(value, "to_dict"):
        return str(value.to_dict())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return [_plain(getattr(value, name)) for name in value.__dataclass_fields__]
    return value


def _converse(policy: Any, world: Any, rounds: int) -> list[Any]:
    said = []
    for _ in range(rounds):
        ticket = policy.ask(*world.observe())
        happened = world.respond(ticket)
        policy.tell(ticket, *happened)
        said.append(_plain(ticket))
    return said


def _same_seed(policy: Any, world: Any, rounds: int) -> None:
    other_policy, other_world = _copy(policy), copy.deepcopy(world)
    world.reset(SEED), other_world.reset(SEED)
    first = _converse(policy, world, rounds)
    second = _converse(other_policy, other_world, rounds)
    at = next((t for t, (a, b) in enumerate(zip(first, second, strict=True)) if a != b), None)
    assert at is None, f"with one seed, round {at} was {first[at or 0]} in one copy and {second[at or 0]} in another"


def _one_kernel(policy: Any, world: Any, rounds: int) -> None:
    if not runs_compiled(policy, world):
        raise _Skip("runs through ask and tell alone, not compiled")
    kept = np.arange(1, rounds + 1)
    seeds: dict[str, Any] = {
        "policy_seed": policy.seed,
        "world_seed": SEED,
        "checkpoints": kept,
        "stop": lambda done: None,
    }
    promise = getattr(policy, "promise", None)
    fast = replicate(policy, world, promise, **seeds)
    slow = replicate(policy, world, promise, **seeds, compiled=False)
    world.reset(SEED)
    said = _converse(policy, world, rounds // 2)
    policy.compile()
    indices = [entry[3] for entry in said + _converse(policy, world, rounds - rounds // 2)]
    online = np.cumsum(np.eye(len(world.arms), dtype=np.int64)[indices], axis=0)
    for name, pulls in (("plain Python", slow.pulls), ("the online object", online)):
        differs = np.flatnonzero((pulls != fast.pulls).any(axis=1))
        assert differs.size == 0, f"the compiled loop and {name} part at round {differs[0] + 1}"
    for field, a, b in zip(fast._fields, fast, slow, strict=True):
        assert np.array_equal(a, b), f"the compiled loop and plain Python count {field} differently"


def _save_and_load(policy: Any, world: Any, rounds: int) -> None:
    world.reset(SEED)
    half = max(1, rounds // 2)
    _converse(policy, world, half)
    open_ticket = policy.ask(*world.observe())
    happened = world.respond(open_ticket)
    try:
        saved = to_bytes(policy)
    except ArgumentError as error:
        raise _Skip(f"cannot be saved: {error}") from error
    other, other_world = from_bytes(saved), copy.deepcopy(world)
    assert to_bytes(other) == saved, "saved again right after loading, the file differs"
    for one in (policy, other):
        one.tell(getattr(open_ticket, "id", open_ticket), *happened)
    first, second = _converse(policy, world, half), _converse(other, other_world, half)
    at = next((t for t, (a, b) in enumerate(zip(first, second, strict=True)) if a != b), None)
    assert at is None, f"the loaded policy parts from the original {at} rounds later"


def _tickets(policy: Any, world: Any, rounds: int) -> None:
    world.reset(SEED)
    several = []
    for _ in range(min(6, rounds)):
        ticket = policy.ask(*world.observe())
        several.append((ticket, world.respond(ticket)))
    for ticket, happened in reversed(several):
        policy.tell(ticket, *happened)
    before = _state(policy)
    last, happened = several[-1]
    number = getattr(last, "id", last)
    for wrong in (last, number, 10**9, 0, -1, "x", None):
        _refuses(policy, partial(policy.tell, wrong, *happened), f"tell({wrong!r}) after it was told", TicketError)
    assert _state(policy) == before, "a refused tell changed the policy"
    if hasattr(policy, "forget"):
        ticket = policy.ask(*world.observe())
        policy.forget(ticket)
        _refuses(policy, partial(policy.tell, ticket, *happened), "tell of a forgotten ticket", TicketError)
        _refuses(policy, partial(policy.forget, ticket), "forget of a forgotten ticket", TicketError)
    _converse(policy, world, min(20, rounds))


def _bad_input(policy: Any, world: Any, rounds: int) -> None:
    world.reset(SEED)
    _converse(policy, world, min(10, rounds))
    shown = world.observe()
    ticket = policy.ask(*shown)
    happened = world.respond(ticket)
    before = _state(policy)
    if len(happened) == 1 and isinstance(happened[0], float):
        bad: list[Any] = [np.nan, np.inf, -np.inf, "much", None, [1.0, 2.0]]
        low, high = getattr(policy, "reward_range", (-np.inf, np.inf))
        bad += [value for value in (low - 0.1, high + 0.1) if np.isfinite(value)]
        for reward in bad:
            _refuses(policy, partial(policy.tell, ticket, reward), f"a reward of {reward!r}", EvenhandError)
    if getattr(policy, "contextual", False):
        contexts = shown[0]
        holed = contexts.copy()
        holed[-1, -1] = np.nan
        for wrong in (None, contexts[:-1], contexts[:, :-1], holed, "abc", contexts[None]):
            _refuses(policy, partial(policy.ask, wrong), "contexts that do not fit", EvenhandError)
    assert _state(policy) == before, "a refused call changed the policy"
    policy.tell(ticket, *happened)


def _promise(policy: Any, world: Any, rounds: int) -> None:
    promise: Any = getattr(policy, "promise", None)
    kept = getattr(policy, "kept", "at every round")
    if not hasattr(promise, "kept"):
        raise _Skip("promises nothing that is counted in pulls")
    if kept == "in the long run":
        raise _Skip("promises its shares in the long run alone")
    if kept == "at every round" and runs_compiled(policy, world):
        seeds: dict[str, Any] = {"policy_seed": SEED, "world_seed": SEED, "stop": lambda done: None}
        trace = replicate(policy, world, promise, checkpoints=np.array([max(rounds, LONG)]), **seeds)
        broken = trace.violations[-1]
        assert not broken.any(), f"within {LONG:,} rounds it was broken in {broken.tolist()} rounds, by arm"
    world.reset(SEED)
    if kept == "at the horizon":
        rounds = policy.horizon
    pulls = [0] * len(promise.arms)
    for t in range(1, rounds + 1):
        ticket = policy.ask(*world.observe())
        policy.tell(ticket, *world.respond(ticket))
        pulls[ticket.index] += 1
        if kept == "at every round" or t == rounds:
            assert promise.kept(pulls, t), f"after round {t} the pulls are {pulls}, owed were {promise.owed(t)}"


def _learns(policy: Any, world: Any, rounds: int) -> None:
    """Compare what a policy loses with what it loses when each reward is told as its opposite.

    With common random numbers, so that a policy that does not look at rewards loses the very same.
    """
    if not getattr(policy, "learns", True):
        raise _Skip("says of itself that it does not learn")
    if not isinstance(policy, KernelPolicy) or not isinstance(world, KernelWorld):
        raise _Skip("does not choose among arms by their rewards alone")
    if not getattr(policy, "compiled", True):
        raise _Skip("decides by a learner from elsewhere")
    promise = getattr(policy, "promise", None)
    if promise is not None and sum(promise.shares) > FREE:
        raise _Skip("promises nearly every round to somebody")
    scores = [number for number, name in enumerate(world.scores) if "regret" in name]
    length = max(LEARNING_ROUNDS, min(getattr(policy, "horizon", None) or 0, LONGEST_LEARNING))
    runs = range(LEARNING_RUNS)
    gains = np.array([_lost(policy, world, length, run, -1) - _lost(policy, world, length, run, 1) for run in runs])
    error = gains.std(axis=0, ddof=1) / np.sqrt(LEARNING_RUNS)
    clear = [gains.mean(axis=0)[i] > LOUD * error[i] for i in scores]
    assert any(clear), (
        f"with rewards turned into their opposite it loses {gains.mean(axis=0)[scores].round(3).tolist()} more of "
        f"{[world.scores[i] for i in scores]} in {length} rounds, +- {error[scores].round(3).tolist()}: it does not "
        "learn, or learns the opposite; say learns = False on the class if it is not meant to"
    )


def _lost(policy: Any, world: Any, length: int, run: int, sign: int) -> Any:
    """Return the world's scores after a conversation, rewards told as they are or (sign = -1) turned around."""
    one, place = policy.fresh(seed=run), copy.deepcopy(world)
    place.reset(SEED + run)
    low, high = one.reward_range
    middle = (low + high) / 2.0 if np.isfinite(low + high) else 0.0
    for _ in range(length):
        ticket = one.ask(*place.observe())
        (reward,) = place.respond(ticket)
        one.tell(ticket, middle + sign * (reward - middle))
    return np.array(place.totals, dtype=np.float64)


def _labels(policy: Any, world: Any, rounds: int) -> None:
    arms = getattr(policy, "arms", None)
    if not arms or not hasattr(policy, "config") or not isinstance(policy, KernelPolicy):
        raise _Skip("has no arms of its own")
    # by the opposite order of the alphabet
    ranks = {arm: rank for rank, arm in enumerate(sorted(arms, key=str))}
    other = {arm: f"arm {len(arms) - ranks[arm]:07}" for arm in arms}
    policy = _rebuilt(policy, policy.config())
    renamed = _rebuilt(policy, _with_labels(policy.config(), other))
    if renamed.arms != tuple(other[arm] for arm in arms):
        raise _Skip("its arms are named by no argument")
    world.reset(SEED)
    for round in range(1, min(rounds, 60) + 1):
        shown = world.observe()
        one, two = policy.ask(*shown), renamed.ask(*shown)
        assert two.arm == other[one.arm], f"in round {round} it decides for {one.arm!r}, by other names for {two.arm!r}"
        (happened,) = world.respond(one)
        policy.tell(one, happened)
        renamed.tell(two, happened)


def _numbers(policy: Any, world: Any, rounds: int) -> None:
    if not isinstance(policy, KernelPolicy):
        raise _Skip("has no kernels whose numbers could be of another type")
    config = policy.config()
    written = {name: _written(value) for name, value in config.items() if name != "seed"}
    if all(written[name] is config[name] for name in written):
        raise _Skip("has no settings that are numbers")
    other = _rebuilt(policy, {**config, **written})
    policy = _rebuilt(policy, config)
    other_world = copy.deepcopy(world)
    world.reset(SEED), other_world.reset(SEED)
    first, second = _converse(policy, world, min(rounds, 60)), _converse(other, other_world, min(rounds, 60))
    at = next((t for t, (a, b) in enumerate(zip(first, second, strict=True)) if a != b), None)
    assert at is None, f"with {written} in place of {config} it decides otherwise in round {(at or 0) + 1}"
    kinds = [[getattr(field, "dtype", type(field)) for field in flat(one._params)] for one in (policy, other)]
    assert kinds[0] == kinds[1], f"its parameters have the types {kinds[1]}, not {kinds[0]}: coerce them in __init__"


def _rebuilt(policy: Any, config: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return type(policy)(**copy.deepcopy(config))


def _with_labels(value: Any, other: dict[Any, Any]) -> Any:
    """Return arguments with the labels of the arms, as keys or as a whole list, exchanged."""
    if isinstance(value, dict):
        if set(value) == set(other):
            return {other[arm]: one for arm, one in value.items()}
        return {name: _with_labels(one, other) for name, one in value.items()}
    if isinstance(value, KernelPolicy):
        return _rebuilt(value, _with_labels(value.config(), other))
    if isinstance(value, (list, tuple)) and tuple(value) == tuple(other):
        return [other[arm] for arm in value]
    return value


def _written(value: Any) -> Any:
    """Return the same number as another type: 2.0 as 2, 2 as numpy's, a float as numpy's."""
    if type(value) is float:
        return int(value) if value.is_integer() else np.float64(value)
    return np.int64(value) if type(value) is int and abs(value) < 2**62 else value


def _threads(policy: Any, world: Any, rounds: int) -> None:
    def converse(own: Any) -> list[Any]:
        said = []
        try:
            for _ in range(max(1, min(24, rounds) // THREADS)):
                said.append(policy.ask(*own.observe()))
                policy.tell(said[-1], *own.respond(said[-1]))
        except ExhaustedError:
            pass
        return said

    worlds = [copy.deepcopy(world) for _ in range(THREADS)]
    for number, own in enumerate(worlds):
        own.reset(SEED + number)
    packages = {"evenhand", type(policy).__module__.partition(".")[0]}
    conversations = run_together([partial(converse, own) for own in worlds], packages)
    tickets = sorted((ticket for said in conversations for ticket in said), key=lambda ticket: ticket.id)
    for name in ("id", "round"):
        numbers = [getattr(ticket, name, number) for number, ticket in enumerate(tickets)]
        at = next((n for n, (a, b) in enumerate(pairwise(numbers)) if b != a + 1), None)
        assert at is None, f"{THREADS} threads got the {name}s {numbers[at or 0 :][:2]}, one after the other"
    left = list(getattr(policy, "open_tickets", ()))
    assert not left, f"the tickets {left[:5]} stayed open though all were told"
    promise: Any = getattr(policy, "promise", None)
    if hasattr(promise, "kept") and getattr(policy, "kept", "at every round") == "at every round":
        pulls = [0] * len(promise.arms)
        for t, ticket in enumerate(tickets, 1):
            pulls[ticket.index] += 1
            assert promise.kept(pulls, t), f"after round {t} of {THREADS} threads the pulls are {pulls}"


def _state(policy: Any) -> Any:
    """Return something that changes when the policy does: its saved bytes, or a digest of its attributes."""
    try:
        return to_bytes(policy)
    except ArgumentError:
        import joblib

        try:
            return joblib.hash(policy.__getstate__())
        except Exception as error:
            raise _Skip(f"its state can be neither saved nor compared: {error}") from error


def _refuses(policy: Any, call: Callable[[], Any], what: str, error: type[EvenhandError]) -> None:
    try:
        call()
    except error:
        return
    except Exception as other:
        raise AssertionError(f"{what} raised {type(other).__name__}, not {error.__name__}: {other}") from other
    raise AssertionError(f"{what} was accepted")
