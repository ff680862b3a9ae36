"""Whether a policy and a world speak of the same thing: what is shown, what is told, arms, groups, rewards."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from evenhand.errors import ArgumentError, wanted
from evenhand.learners.adapter import Adapter, asks_among
from evenhand.policy.traits import traits_of
from evenhand.protocol import Decision
from evenhand.simulation.loop import foreign_learner
from evenhand.simulation.world import KernelWorld

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
    needs = REPLICATING if hasattr(world, "replicate") else STEPPED
    lacks = [name for name in needs if not hasattr(world, name)]
    if lacks or isinstance(world, type):
        what = f"an object with {', '.join(needs[:-1])} and {needs[-1]}"
        is_class = "make one of that class" if isinstance(world, type) else ""
        mend = is_class or f"it lacks {', '.join(lacks)}; see evenhand.protocol.World"
        raise ArgumentError(wanted("world", what, world, mend))
    if needs is STEPPED and not isinstance(world, KernelWorld):
        trial = copy.deepcopy(world)
        trial.reset(0)
        if len(getattr(trial, "totals", ())) != len(world.scores):
            what = f"one whose totals after reset are {len(world.scores)} numbers, one for each of {list(world.scores)}"
            raise ArgumentError(wanted("world", what, getattr(trial, "totals", "no totals")))


def check_fit(name: str, policy: Any, world: Any) -> None:
    """See that a policy can be played in a world.

    Raises
    ------
    ArgumentError
        If not; the message says what the world shows or pays and what the policy takes.
    """

    def refuse(what: str, got: Any, mend: str = "") -> None:
        raise ArgumentError(wanted(name, what, got, mend))

    own, place = type(policy).__name__, type(world).__name__
    traits = traits_of(policy)
    if not issubclass(traits.hands_out, Decision):
        mend = "talk to it with ask() and tell(), round by round"
        refuse("a policy that chooses among arms", f"a {own}, which hands out a {traits.hands_out.__name__}", mend)
    if hasattr(world, "check_policy"):
        world.check_policy(name, policy)
    elif traits.audited:
        refuse(f"a policy for arms, as {place} has", f"a {own}, which is told an auditor's verdicts as well")
    shown, told = _shown(world), 2 if hasattr(world, "replicate") else 1
    if shown is None:
        return
    contextual = traits.contextual
    if contextual is not None and bool(contextual) != bool(shown):
        shows = f"contexts of {world.dimension} numbers an arm" if hasattr(world, "dimension") else "contexts"
        what = f"a policy that takes {shows}, which {place} shows" if shown else "a policy that needs no contexts"
        refuse(what, f"a {own}, which takes none" if shown else f"a {own}, which needs some; {place} shows none")
    known = traits.dimension
    if contextual and known is not None and known != getattr(world, "dimension", known):
        refuse(f"contexts of {world.dimension} numbers an arm, as {place} shows", f"a {own} for {known}")
    _check_calls(refuse, policy, place, shown, told)
    _check_rewards(refuse, policy, world)
    _check_groups(refuse, policy, world)


def _shown(world: Any) -> int | None:
    """Return how many things a world shows in a round; None where it does not say."""
    if isinstance(world, KernelWorld):
        return int(world.dimension > 0)
    if hasattr(world, "replicate"):
        return 1
    try:
        trial = copy.deepcopy(world)
        trial.reset(0)
        return len(trial.observe())
    except Exception:  # the world's own failure is reported when it is played
        return None


def _check_calls(refuse: Callable[..., None], policy: Any, place: str, shown: int, told: int) -> None:
    calls = {policy.ask: shown, policy.tell: 1 + told} if hasattr(policy, "ask") else {}
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
            verb = getattr(call, "__name__", "its function")
            refuse(f"{verb} to take {count} arguments, as {place} has it", f"a {type(policy).__name__}: {error}")
        except ValueError:  # a function of C that does not say what it takes
            continue


def _check_rewards(refuse: Callable[..., None], policy: Any, world: Any) -> None:
    pays, takes = getattr(world, "reward_range", None), traits_of(policy).reward_range
    if pays is not None and takes is not None and not (takes[0] <= pays[0] and pays[1] <= takes[1]):
        got = f"a {type(policy).__name__}, which takes rewards from {takes[0]:g} to {takes[1]:g}"
        mend = "scale the rewards, or take another policy"
        refuse(f"a policy for the rewards of {type(world).__name__}, from {pays[0]:g} to {pays[1]:g}", got, mend)


def _check_groups(refuse: Callable[..., None], policy: Any, world: Any) -> None:
    """Groups may have other names, and either side may tell apart what the other does not."""
    mine, theirs = traits_of(policy).groups, getattr(world, "groups", None)
    if not isinstance(mine, Mapping) or not isinstance(theirs, Mapping) or set(mine) != set(theirs):
        return
    pairs = {(mine[arm], theirs[arm]) for arm in mine}
    if len(pairs) > max(len(set(mine.values())), len(set(theirs.values()))):
        refuse(f"arms in the groups of {type(world).__name__}, {dict(theirs)}", dict(mine))
