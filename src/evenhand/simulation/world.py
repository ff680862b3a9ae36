"""A world made of kernels: the contexts that policies see and the rewards they get, online and in the compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Words
from evenhand.kernels.compose import entry, kernel
from evenhand.protocol import Decision, Label, arm_labels
from evenhand.rng import stream


class WorldKernels(NamedTuple):
    """The numeric core of a world.

    observe(params, state, contexts, round)                     fills contexts (n_arms, d)
    respond(params, state, contexts, index) -> reward           the reward that the policy is told
    score(params, state, contexts, index, reward, totals)       adds to totals (n_scores,), named by the world's
    `scores`

    All randomness comes from a stream in the state, and a round draws the same number of values whatever was decided,
    so that policies in one simulation see common random numbers.
    """

    observe: Any
    respond: Any
    score: Any


@kernel
def shows_nothing(params: object, state: object, contexts: Floats, round: int) -> None:
    """The `observe` of a world without contexts."""


class WorldTraits(NamedTuple):
    """What a world states about itself beside the round itself, with the default of what it leaves out.

    Attributes
    ----------
    totals : the scores so far; None where the world keeps none.
    dimension : the numbers shown an arm and round; None where the world does not say.
    reward_range : between which numbers all rewards lie; None where that is not known.
    groups : the groups of the arms, arm -> group; None where there are none.
    gaps : the loss in expected reward of each arm against the best (n_arms,); None where it depends on the round.
    means_at : the method of worlds whose arms change that returns the means in some rounds (n_rounds, n_arms).
    units, coordinates : of the variables that the world brings to a history.
    check_policy : its method that refuses policies for other worlds.
    replicate : its method that runs a replication, where it plays rounds of its own.
    sensitive : the group that society wrongs; None where the world does not say.
    features : the names of the numbers shown; None where they have none.
    """

    totals: Sequence[float] | None = None
    dimension: int | None = None
    reward_range: tuple[float, float] | None = None
    groups: Any = None
    gaps: Floats | None = None
    means_at: Callable[..., Floats] | None = None
    units: Mapping[str, str] = {}
    coordinates: Mapping[str, Any] = {}
    check_policy: Callable[..., None] | None = None
    replicate: Callable[..., Any] | None = None
    sensitive: str | None = None
    features: Sequence[str] | None = None


def world_traits(world: object) -> WorldTraits:
    """Return what a world states about itself; nobody else asks it for names that it may lack."""
    defaults = WorldTraits._field_defaults
    stated: Any = (getattr(world, name, default) for name, default in defaults.items())
    return WorldTraits(*stated)


class KernelWorld:
    """A world of kernels; a subclass names its `kernels` and `scores` and writes `_parameters()` and `_memory(stream)`.

    Attributes
    ----------
    arms : the labels of the arms (n_arms,).
    dimension : d, how many numbers the context of each arm has in a round; 0 for none.
    scores : names of what `score` adds up, which become variables of a history.
    reward_range : the least and the largest possible reward, or None where they are not known.
    gaps : the loss in expected reward of each arm against the best (n_arms,), or None where it depends on the round.
    """

    _kernels: ClassVar[WorldKernels]
    scores: ClassVar[tuple[str, ...]] = ("regret",)
    reward_range: tuple[float, float] | None = None
    gaps: Floats | None = None

    def __init__(self, arms: int | Sequence[Label], dimension: int = 0) -> None:
        self.arms = arm_labels(arms)
        self.dimension = dimension

    def _parameters(self) -> Any:
        """Return the NamedTuple `params` of the kernels."""
        raise NotImplementedError

    def _memory(self, stream: Words) -> Any:
        """Return the NamedTuple `state` of the kernels before the first round, random numbers from `stream`."""
        raise NotImplementedError

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        self.round = 0
        self.totals = np.zeros(len(self.scores))
        self._shown = np.zeros((len(self.arms) if self.dimension else 0, self.dimension))
        self._core = (self._parameters(), self._memory(stream(seed)))

    def observe(self) -> tuple[Any, ...]:
        """Begin a round and return the arguments of `ask`: the contexts (n_arms, d), or nothing."""
        self.round += 1
        entry(self._kernels.observe)(*self._core, self._shown, self.round)
        return (self._shown.copy(),) if self.dimension else ()

    def respond(self, ticket: Decision) -> tuple[Any, ...]:
        """Return the reward of this round's decision, for `tell`: a list (n_plays,) where several arms were played."""
        rewards = [self._reward(index) for index in ticket.indexes]
        return (rewards[0] if ticket.slate is None else rewards,)

    def _reward(self, index: int) -> float:
        reward = entry(self._kernels.respond)(*self._core, self._shown, index)
        entry(self._kernels.score)(*self._core, self._shown, index, reward, self.totals)
        return float(reward)
