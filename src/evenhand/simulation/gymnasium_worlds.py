"""Worlds as Gymnasium environments, and Gymnasium environments as worlds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from evenhand.arguments import whole, yes_or_no
from evenhand.errors import ArgumentError, ContractError, Wording, expected
from evenhand.extras import optional
from evenhand.learners.adapter import read_range
from evenhand.protocol import Decision, Label, arm_labels
from evenhand.rng import Seed, draw_seed
from evenhand.simulation.fit import check_world
from evenhand.simulation.world import world_traits

SEEDS = 2**31
"""Some environments take no larger seeds."""
WHAT = "a Gymnasium environment"


def to_gymnasium(world: object, *, rounds: int, seed: Seed = None) -> Any:
    """Return a world of arms as a `gymnasium.Env`: an action is an arm's position, an observation the contexts of a
    round, (n_arms, d), or 0 where rounds have no contexts.

    An episode is a replication of `rounds` rounds. `reset(seed=1)` begins the first replication of
    `eh.simulate(..., seed=1)`, each `reset()` the next one: the same arms get the same rewards. The information that
    `step` returns has the arm's label, the round, and the scores of the world so far, such as the regret.

    Parameters
    ----------
    world : as for `eh.simulate`; the environment takes a copy.
    rounds : how many rounds an episode has.
    seed : seed of the first `reset()` that is given none; None for a random one.

    Raises
    ------
    MissingExtraError
        If gymnasium is not installed.
    ArgumentError
        If the world is no world of arms, `rounds` is not a whole number >= 1, or the seed is invalid.

    Examples
    --------
    >>> from evenhand.quotas import BernoulliArms
    >>> environment = to_gymnasium(BernoulliArms({"a": 0.7, "b": 0.5}), rounds=100)
    >>> observation, information = environment.reset(seed=1)
    >>> observation, reward, terminated, truncated, information = environment.step(0)
    >>> observation, reward, truncated, information["arm"], round(information["regret"], 2)
    (0, 1.0, False, 'a', 0.0)
    """
    optional("gymnasium", WHAT)
    from evenhand.simulation.gymnasium_environment import WorldEnvironment

    check_world(world)
    if world_traits(world).replicate is not None:
        what = "a world in which a round is one arm and one reward"
        raise ArgumentError(
            expected("world", what, Wording(f"a {type(world).__name__}, which plays rounds of its own"))
        )
    return WorldEnvironment(world, whole("rounds", rounds, low=1), None if seed is None else draw_seed(seed))


def from_gymnasium(
    environment: object,
    *,
    arms: Sequence[Label] | None = None,
    contexts: bool | None = None,
    reward_range: Sequence[float] | None = None,
) -> GymnasiumWorld:
    """Return a Gymnasium environment of a bandit as a world for `eh.simulate`: an arm is an action, a round a step.

    Each replication works on a copy of the environment and begins with `reset(seed=)`; an episode that is over, such as
    one of a single step, is followed by the next. Observations are contexts: an array (n_arms, d) as it is, an array
    (d,) as the row of every arm. The world runs in Python and has no regret: a history has `reward`, `pulls` and the
    promise's measures. Policies see common random numbers as far as the environment draws the same whatever the action.

    Parameters
    ----------
    environment : an environment, the name of a registered one, or a function without arguments that makes one.
    arms : labels of the actions, in their order; by default their numbers.
    contexts : whether observations are shown to policies. None: where they are an array of numbers.
    reward_range : the least and the largest reward, if they are known; policies for another range are then refused.

    Raises
    ------
    MissingExtraError
        If gymnasium is not installed.
    ArgumentError
        If this is no environment or cannot be copied, its actions are not two or more numbered ones, there are not as
        many labels as actions, or its observations cannot be contexts.

    Examples
    --------
    >>> import evenhand as eh
    >>> bandit = to_gymnasium(eh.quotas.BernoulliArms([0.9, 0.1]), rounds=1)
    >>> world = from_gymnasium(bandit, arms=["a", "b"])
    >>> history = eh.simulate(eh.quotas.FairUCB({"a": 0.2, "b": 0.3}), world, rounds=200, seed=1, jobs=1)
    >>> int(history.violations[..., -1].sum()), bool(history.pulls.sel(arm="a")[..., -1] > 100)
    (0, True)
    """
    gymnasium = optional("gymnasium", WHAT)
    make = _maker(environment, gymnasium)
    trial = make()
    actions = trial.action_space if isinstance(trial, gymnasium.Env) else None
    if not isinstance(actions, gymnasium.spaces.Discrete) or actions.n < 2:
        raise ArgumentError(expected("environment", "one with two or more numbered actions, Discrete(n)", actions))
    first = int(actions.start)
    labels = arm_labels(range(first, first + int(actions.n)) if arms is None else arms)
    if len(labels) != actions.n:
        raise ArgumentError(expected("arms", f"{actions.n} labels, one for each action", len(labels)))
    shape = _shape_of(trial.observation_space, len(labels), contexts, gymnasium)
    pays = None if reward_range is None else read_range(reward_range)
    return GymnasiumWorld(make, labels, first, shape, pays)


class GymnasiumWorld:
    """A world that steps a Gymnasium environment; `from_gymnasium` makes it."""

    scores: tuple[str, ...] = ()
    totals: tuple[float, ...] = ()

    def __init__(
        self,
        make: Callable[[], Any],
        arms: tuple[Label, ...],
        first: int,
        shape: tuple[int, int] | None,
        reward_range: tuple[float, float] | None,
    ) -> None:
        self.make, self.arms, self.first, self.shape, self.reward_range = make, arms, first, shape, reward_range
        self.dimension = 0 if shape is None else shape[1]

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        self.environment = self.make()
        self._shown, _ = self.environment.reset(seed=seed % SEEDS)

    def observe(self) -> tuple[Any, ...]:
        """Return the contexts of the round, if there are any."""
        if self.shape is None:
            return ()
        return (np.array(np.broadcast_to(np.asarray(self._shown, np.float64), self.shape)),)

    def respond(self, decision: Decision) -> tuple[Any, ...]:
        """Step the environment and return the reward.

        Raises
        ------
        ArgumentError
            If several arms were played.
        ContractError
            If a step does not return what Gymnasium asks for.
        """
        if decision.slate is not None:
            raise ArgumentError(expected("decision", "one arm in a round, which is one action", decision.arms))
        happened = self.environment.step(self.first + decision.index)
        try:
            self._shown, reward, terminated, truncated, _ = happened
        except (TypeError, ValueError) as error:
            what = "step to return an observation, a reward, terminated, truncated and information"
            raise ContractError(expected(type(self.environment).__name__, what, happened)) from error
        if terminated or truncated:
            self._shown, _ = self.environment.reset()
        return (reward,)


def _maker(given: Any, gymnasium: Any) -> Callable[[], Any]:
    """Return a function that makes an environment whenever it is called."""
    what = "a Gymnasium environment, the name of a registered one, or a function that makes one"
    make: Any = given
    if isinstance(given, str):
        make = partial(gymnasium.make, given)
    elif isinstance(given, gymnasium.Env):
        make = partial(copy.deepcopy, given)
    elif isinstance(given, type) or not callable(given):
        hint = f"write {given.__name__}()" if isinstance(given, type) else ""
        raise ArgumentError(expected("environment", what, given, hint))
    try:
        trial = make()
    except Exception as error:
        hint = "pass a function that makes one" if isinstance(given, gymnasium.Env) else str(error)
        sound = "one that can be copied" if isinstance(given, gymnasium.Env) else what
        raise ArgumentError(expected("environment", sound, given, hint)) from error
    if not isinstance(trial, gymnasium.Env):
        raise ArgumentError(expected("environment", what, Wording(f"a function that returns {trial!r}")))
    return make


def _shape_of(space: Any, arms: int, contexts: bool | None, gymnasium: Any) -> tuple[int, int] | None:
    """Return the shape (n_arms, d) of the contexts that observations are, None where they are not shown."""
    if contexts is not None and not yes_or_no("contexts", contexts):
        return None
    shape = space.shape if isinstance(space, gymnasium.spaces.Box) else None
    if shape is not None and ((len(shape) == 1 and shape[0] > 0) or (len(shape) == 2 and shape[0] == arms)):
        return arms, int(shape[-1])
    if contexts is None and (shape == (0,) or (isinstance(space, gymnasium.spaces.Discrete) and space.n == 1)):
        return None
    what = f"observations that are an array of shape (d,) or ({arms}, d)"
    hint = "wrap the environment in gymnasium.wrappers.FlattenObservation, or pass contexts=False"
    raise ArgumentError(expected("environment", what, space, hint))
