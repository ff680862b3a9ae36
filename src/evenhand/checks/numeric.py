"""Checks of the numbers: one kernel for all callers, learning, labels, types."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from evenhand.checks.play import SEED, Skip, converse, first_difference
from evenhand.errors import ArgumentError
from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import flat
from evenhand.learners.adapter import learner_facts
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.promises.plain_data import promise_fields
from evenhand.promises.promise import Promise
from evenhand.protocol import Label
from evenhand.simulation.counting import Trace
from evenhand.simulation.fit import check_given
from evenhand.simulation.loop import replicate, runs_compiled
from evenhand.simulation.schedule import RoundSchedule
from evenhand.simulation.world import KernelWorld

LEARNING_ROUNDS, LONGEST_LEARNING, FREE = 500, 1_000, 0.85
"""Rounds in which a policy shows that it learns, and the largest sum of shares that leaves it room to."""
LOUD = {3: 10.0, 8: 3.0}
"""After so many runs, by how many standard errors a policy must do better for having been told the truth: by chance it
does with 0.5 % after three, with 1 % after eight."""


def check_one_kernel(policy: Any, world: Any, rounds: int) -> None:
    """See that the compiled loop, plain Python and the online object, compiled halfway, play the same rounds."""
    if not runs_compiled(policy, world):
        raise Skip("runs through ask and tell alone, not compiled")
    kept = np.arange(1, rounds + 1)
    seeds: dict[str, Any] = {
        "policy_seed": policy.seed,
        "world_seed": SEED,
        "checkpoints": kept,
        "stop": lambda done: None,
    }
    offers = _random_offers(policy, world.arms, rounds)
    schedules: dict[str, RoundSchedule | None] = {"the online object": None}
    schedules |= {} if offers is None else {"the online object, told offers,": offers}
    for name, schedule in schedules.items():
        fast = _same_in_plain_python(policy, world, seeds, schedule)
        online, pulls = policy.fresh(arms=world.arms), np.zeros((rounds, len(world.arms)), np.int64)
        world.reset(SEED)
        for t in range(rounds):
            if t == rounds // 2:
                online.engine.compile()
            decision = online.ask(*world.observe(), **({} if schedule is None else schedule.arguments(t + 1)))
            pulls[t, list(decision.indexes)] = 1
            online.tell(decision, *world.respond(decision))
        _same_pulls(name, np.cumsum(pulls, axis=0), fast.pulls)


def _same_in_plain_python(
    policy: object, world: object, seeds: dict[str, Any], schedule: RoundSchedule | None
) -> Trace:
    promise = traits_of(policy).promise
    fast = replicate(policy, world, promise, **seeds, schedule=schedule)
    slow = replicate(policy, world, promise, **seeds, schedule=schedule, compiled=False)
    _same_pulls("plain Python", slow.pulls, fast.pulls)
    for field, a, b in zip(fast._fields, fast, slow, strict=True):
        assert np.array_equal(a, b), f"the compiled loop and plain Python count {field} differently"
    return fast


def _same_pulls(name: str, pulls: Ints, fast: Ints) -> None:
    differs = np.flatnonzero((pulls != fast).any(axis=1))
    assert differs.size == 0, f"the compiled loop and {name} part at round {differs[0] + 1}"


def _random_offers(policy: object, arms: tuple[Label, ...], rounds: int) -> RoundSchedule | None:
    """Return rounds in which not all arms are on offer; None where the policy takes none."""
    rng = np.random.default_rng(SEED)
    offers = rng.random((rounds, len(arms))) < 0.7
    offers[~offers.any(axis=1)] = True
    schedule = RoundSchedule(arms, offers)
    try:
        check_given("policy", policy, schedule)
    except ArgumentError:
        return None
    return schedule


def check_learns(policy: object, world: object, rounds: int) -> None:
    """Compare what a policy loses with what it loses when each reward is told as its opposite.

    With common random numbers, so that a policy that does not look at rewards loses the very same.
    """
    if not traits_of(policy).learns:
        raise Skip("says of itself that it does not learn")
    if not isinstance(policy, KernelPolicy) or not isinstance(world, KernelWorld):
        raise Skip("is no KernelPolicy in a world of arms, which could be asked again with other rewards")
    if not traits_of(policy).compiled:
        raise Skip("decides by a learner of another library")
    promise = traits_of(policy).promise
    if promise is not None and sum(promise.shares) > FREE * traits_of(policy).plays:
        raise Skip("promises nearly every round to some arm")
    scores = [number for number, name in enumerate(world.scores) if "regret" in name]
    length = max(LEARNING_ROUNDS, min(traits_of(policy).horizon or 0, LONGEST_LEARNING))
    found: list[Any] = []
    for runs, loud in LOUD.items():
        later = range(len(found), runs)
        found += [_lost(policy, world, length, run, -1) - _lost(policy, world, length, run, 1) for run in later]
        gains, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(runs)
        if any(gains[i] > loud * error[i] for i in scores):
            return
    raise AssertionError(
        f"with rewards turned into their opposite it loses {gains[scores].round(3).tolist()} more of "
        f"{[world.scores[i] for i in scores]} in {length} rounds, +- {error[scores].round(3).tolist()}: it does not "
        "learn, or learns the opposite; say Traits(learns=False) in its class if it is not meant to"
    )


def _lost(policy: Any, world: Any, length: int, run: int, sign: int) -> Any:
    """Return the world's scores after a conversation, rewards told as they are or (sign = -1) turned around."""
    one, place = policy.fresh(seed=run), copy.deepcopy(world)
    place.reset(SEED + run)
    low, high = traits_of(one).reward_range or (-np.inf, np.inf)
    middle = (low + high) / 2.0 if np.isfinite(low + high) else 0.0
    for _ in range(length):
        ticket = one.ask(*place.observe())
        (reward,) = place.respond(ticket)
        several = isinstance(reward, list)
        told = [middle + sign * (paid - middle) for paid in (reward if several else [reward])]
        one.tell(ticket, told if several else told[0])
    return np.array(place.totals, dtype=np.float64)


def check_labels(policy: Any, world: Any, rounds: int) -> None:
    """See that arms by other names, in the opposite order of the alphabet, lead to the same decisions."""
    arms = traits_of(policy).arms
    if not arms or not isinstance(policy, KernelPolicy):
        raise Skip("is no KernelPolicy whose arms could be named anew")
    if learner_facts(policy.config().get("learner")).arms is not None:
        raise Skip("its learner names the arms")
    # by the opposite order of the alphabet
    ranks = {arm: rank for rank, arm in enumerate(sorted(arms, key=str))}
    other = {arm: f"arm {len(arms) - ranks[arm]:07}" for arm in arms}
    policy = rebuilt(policy, policy.config())
    renamed = rebuilt(policy, _with_labels(policy.config(), other))
    if renamed.arms != tuple(other[arm] for arm in arms):
        raise Skip("its arms are named by no argument")
    world.reset(SEED)
    for round in range(1, min(rounds, 60) + 1):
        shown = world.observe()
        one, two = policy.ask(*shown), renamed.ask(*shown)
        assert two.arm == other[one.arm], f"in round {round} it decides for {one.arm!r}, by other names for {two.arm!r}"
        (happened,) = world.respond(one)
        policy.tell(one, happened)
        renamed.tell(two, happened)


def check_numbers(policy: Any, world: Any, rounds: int) -> None:
    """See that settings of another type, such as 2 for 2.0 or numpy's, make the same policy."""
    if not isinstance(policy, KernelPolicy):
        raise Skip("has no kernels whose numbers could be of another type")
    config = policy.config()
    written = {name: _written(value) for name, value in config.items() if name != "seed"}
    if all(written[name] is config[name] for name in written):
        raise Skip("has no settings that are numbers")
    other = rebuilt(policy, {**config, **written})
    policy = rebuilt(policy, config)
    other_world = copy.deepcopy(world)
    world.reset(SEED), other_world.reset(SEED)
    first, second = converse(policy, world, min(rounds, 60)), converse(other, other_world, min(rounds, 60))
    at = first_difference(first, second)
    assert at is None, f"with {written} in place of {config} it decides otherwise in round {(at or 0) + 1}"
    kinds = [
        [field.dtype if isinstance(field, (np.ndarray, np.generic)) else type(field) for field in flat(params)]
        for params in (policy.engine.params, other.engine.params)
    ]
    assert kinds[0] == kinds[1], f"its parameters have the types {kinds[1]}, not {kinds[0]}: coerce them in __init__"


def rebuilt(policy: object, config: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return type(policy)(**copy.deepcopy(config))


def _with_labels(value: object, other: dict[Any, Any]) -> Any:
    """Return arguments with the labels of the arms, as keys or as a whole list, exchanged."""
    if isinstance(value, dict):
        named = {key: key if isinstance(key, tuple) else (key,) for key in value}
        if value and all(arm in other for arms in named.values() for arm in arms):
            renamed = {key: tuple(other[arm] for arm in arms) for key, arms in named.items()}
            return {renamed[key] if isinstance(key, tuple) else renamed[key][0]: one for key, one in value.items()}
        return {name: _with_labels(one, other) for name, one in value.items()}
    if isinstance(value, KernelPolicy):
        return rebuilt(value, _with_labels(value.config(), other))
    if isinstance(value, Promise):
        given = promise_fields(value)
        offers = given["offers"]
        given["offers"] = offers if isinstance(offers, str) else [other[arm] for arm in offers]
        return Promise(**_with_labels(given, other))
    if isinstance(value, (list, tuple)) and tuple(value) == tuple(other):
        return [other[arm] for arm in value]
    return value


def _written(value: object) -> Any:
    """Return the same number as another type: 2.0 as 2, 2 as numpy's, a float as numpy's."""
    if type(value) is float:
        return int(value) if value.is_integer() else np.float64(value)
    return np.int64(value) if type(value) is int and abs(value) < 2**62 else value
