"""Whether a policy and a world speak of the same thing: what is shown, told and given, arms, groups, rewards."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import as_floats
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.frames import as_pandas
from evenhand.learners.adapter import Adapter, asks_among
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.protocol import Changeable, Decision, Label, Policy, arm_labels
from evenhand.simulation.loop import begins_anew, foreign_learner
from evenhand.simulation.schedule import RoundSchedule
from evenhand.simulation.world import KernelWorld, world_traits

if TYPE_CHECKING:
    import pandas as pd

REPLICATING = ("arms", "check_policy", "replicate")
STEPPED = ("arms", "scores", "reset", "observe", "respond")
"""What a world has that is simulated, see `evenhand.protocol`."""


def check_world(world: Any) -> None:
    """See that an object is a world.

    Raises
    ------
    ArgumentError
        If not; the message says what it lacks.
    """
    needs = STEPPED if world_traits(world).replicate is None else REPLICATING
    lacks = [name for name in needs if not hasattr(world, name)]
    if lacks or isinstance(world, type):
        what = f"an object with {', '.join(needs[:-1])} and {needs[-1]}"
        is_class = "make one of that class" if isinstance(world, type) else ""
        hint = is_class or f"it lacks {', '.join(lacks)}; see evenhand.protocol.World"
        raise ArgumentError(expected("world", what, world, hint))
    if needs is STEPPED and not isinstance(world, KernelWorld):
        arm_labels(world.arms)
        trial = copy.deepcopy(world)
        trial.reset(0)
        totals = world_traits(trial).totals
        found = as_floats(() if totals is None else totals)
        if found is None or found.shape != (len(world.scores),) or not np.isfinite(found).all():
            what = f"one whose totals after reset are {len(world.scores)} numbers, one for each of "
            what = Wording(what, list(world.scores))
            raise ArgumentError(expected("world", what, Wording("no totals") if totals is None else totals))


def check_fit(name: str, policy: object, world: object) -> None:
    """See that a policy can be played in a world.

    Raises
    ------
    ArgumentError
        If not; the message says what the world shows or pays and what the policy takes.
    """

    def refuse(what: str, got: object, hint: str = "") -> None:
        raise ArgumentError(expected(name, what, got, hint))

    own, place = type(policy).__name__, type(world).__name__
    traits, there = traits_of(policy), world_traits(world)
    if not issubclass(traits.hands_out, Decision):
        hint = "talk to it with ask() and tell(), round by round"
        refuse("a policy that chooses among arms", f"a {own}, which hands out a {traits.hands_out.__name__}", hint)
    if there.check_policy is not None:
        there.check_policy(name, policy)
    elif traits.audited:
        refuse(f"a policy for arms, as {place} has", f"a {own}, which is told an auditor's verdicts as well")
    shown, told = _shown(world), 1 if there.replicate is None else 2
    if shown is None:
        return
    contextual = traits.contextual
    if contextual is not None and bool(contextual) != bool(shown):
        shows = "contexts" if there.dimension is None else f"contexts of {there.dimension} numbers per arm"
        what = f"a policy that takes {shows}, which {place} shows" if shown else "a policy that needs no contexts"
        refuse(what, f"a {own}, which takes none" if shown else f"a {own}, which needs some; {place} shows none")
    known = traits.dimension
    if contextual and known is not None and there.dimension not in (None, known):
        refuse(f"contexts of {there.dimension} numbers per arm, as {place} shows", f"a {own} for {known}")
    _check_calls(refuse, policy, place, shown, told)
    _check_rewards(refuse, policy, world)
    _check_groups(refuse, policy, world)


def check_learned(named: Mapping[str, Any], world: Any, log: object) -> pd.DataFrame:
    """See that policies can learn from a log before they begin, and return its columns `arm` and `reward`.

    Raises
    ------
    ArgumentError, TableError
        If not.
    """
    frame = as_pandas(log, "learned")
    if world_traits(world).replicate is not None:
        got = Wording("some")
        raise ArgumentError(expected("learned", f"None in {type(world).__name__}, which plays rounds of its own", got))
    for name, policy in named.items():
        if not isinstance(policy, KernelPolicy) or traits_of(policy).contextual:
            what = "a policy without contexts that learns from a log, as those of evenhand do"
            raise ArgumentError(expected(f"policies[{name!r}]", what, f"a {type(policy).__name__}"))
        policy.fresh(arms=world.arms).learn(frame)
    return frame[["arm", "reward"]]


def check_given(name: str, policy: Any, schedule: RoundSchedule) -> list[Any]:
    """See that a policy takes the rounds of a replication, and return the promises that it makes one after another.

    Raises
    ------
    ArgumentError
        If the policy takes no offers or changes, or not these.
    """
    trial: Any = policy.fresh(arms=schedule.arms) if begins_anew(policy) else policy
    own = f"a {type(policy).__name__}, which takes none"
    if schedule.offers is not None and not _takes_offers(trial, schedule.arms):
        hint = "play the learner under DeadlineLearn, with shares of 0 for none"
        raise ArgumentError(expected(name, "a policy that takes offers", own, hint))
    if schedule.changes and not isinstance(trial, Changeable):
        raise ArgumentError(expected(name, "a policy whose promise can change", own, "DeadlineLearn has change()"))
    last, promises = 1, [traits_of(trial).promise]
    if not issubclass(type(trial), KernelPolicy):
        return promises
    for round, promise in (*schedule.changes, (None, None)):
        _check_offers(name, trial, schedule, last, round)
        if round is not None:
            try:
                trial.change(promise)
            except ArgumentError as error:
                raise type(error)(Wording(f"{name}, change before round {round}: ", error.args[0])) from error
            last, promises = round, [*promises, trial.promise]
    return promises


def _takes_offers(trial: Any, arms: tuple[Label, ...]) -> bool:
    if isinstance(trial, KernelPolicy):
        try:
            trial.fresh()._offer(list(range(len(arms))))
        except ArgumentError:
            return False
        return True
    try:
        inspect.signature(trial.ask).bind_partial(available=arms)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _check_offers(name: str, trial: Any, schedule: RoundSchedule, first: int, end: int | None) -> None:
    """Have a policy refuse what may not be on offer in the rounds from `first` on to the one before `end`."""
    if schedule.offers is None:
        return
    rows = schedule.offers[first - 1 : None if end is None else end - 1]
    packed = np.packbits(rows, axis=1)
    words = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
    alike = words[:, 0] if words.shape[1] == 1 else words
    for at in sorted(np.unique(alike, axis=0, return_index=True)[1].tolist()):
        try:
            trial._offer(np.flatnonzero(rows[at]).tolist())
        except ArgumentError as error:
            raise ArgumentError(Wording(f"{name}, offers of round {first + at}: ", error.args[0])) from error


def _shown(world: Any) -> int | None:
    """Return how many things a world shows in a round; None where it does not say."""
    if isinstance(world, KernelWorld):
        return int(world.dimension > 0)
    if world_traits(world).replicate is not None:
        return 1
    try:
        trial = copy.deepcopy(world)
        trial.reset(0)
        return len(trial.observe())
    except Exception:  # the world's own failure is reported when it is played
        return None


def _check_calls(refuse: Callable[..., None], policy: Any, place: str, shown: int, told: int) -> None:
    calls: dict[Any, int] = {policy.ask: shown, policy.tell: 1 + told} if isinstance(policy, Policy) else {}
    learner = foreign_learner(policy)
    if learner is not None and (learner is not policy or not calls):
        seen = shown if learner is policy else int(bool(traits_of(policy).contextual))
        asked = seen + asks_among(learner)
        if isinstance(learner, Adapter):
            calls |= {learner.functions["choose"]: 1 + asked, learner.functions["update"]: 3 + seen}
        else:
            calls |= {learner.choose: asked, learner.update: 2 + seen}
    for call, count in calls.items():
        try:
            inspect.signature(call).bind(*[None] * count)
        except TypeError as error:
            verb = call.__name__ if inspect.isroutine(call) or inspect.isclass(call) else "its function"
            refuse(f"{verb} to take {count} arguments, as {place} has it", f"a {type(policy).__name__}: {error}")
        except ValueError:  # a function of C that does not say what it takes
            continue


def _check_rewards(refuse: Callable[..., None], policy: object, world: object) -> None:
    pays, takes = world_traits(world).reward_range, traits_of(policy).reward_range
    if pays is not None and takes is not None and not (takes[0] <= pays[0] and pays[1] <= takes[1]):
        got = Wording(f"a {type(policy).__name__}, which takes rewards from {takes[0]:g} to {takes[1]:g}")
        hint = "scale the rewards, or take another policy"
        refuse(f"a policy for the rewards of {type(world).__name__}, from {pays[0]:g} to {pays[1]:g}", got, hint)


def _check_groups(refuse: Callable[..., None], policy: object, world: object) -> None:
    """Groups may have other names, and either side may tell apart what the other does not."""
    mine, theirs = traits_of(policy).groups, world_traits(world).groups
    if not isinstance(mine, Mapping) or not isinstance(theirs, Mapping) or set(mine) != set(theirs):
        return
    pairs = {(mine[arm], theirs[arm]) for arm in mine}
    if len(pairs) > max(len(set(mine.values())), len(set(theirs.values()))):
        refuse(f"arms in the groups of {type(world).__name__}, {dict(theirs)}", dict(mine))
