"""A world of arms as a Gymnasium environment: an action is an arm, an observation the contexts of the next round."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from evenhand.arguments import as_floats, is_whole
from evenhand.data.contexts import LARGEST
from evenhand.errors import ArgumentError, expected
from evenhand.extras import optional
from evenhand.protocol import Decision
from evenhand.rng import child, draw_seed

gymnasium = optional("gymnasium", "a Gymnasium environment")
Base: Any = gymnasium.Env


class WorldEnvironment(Base):  # type: ignore[misc]
    """An episode is a replication: `reset(seed=)` begins the first one of `eh.simulate` with that seed, `reset()` the
    next one.

    Raises
    ------
    ArgumentError
        If the world shows anything but an array of numbers.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, world: Any, rounds: int, seed: int | None) -> None:
        self.world, self.rounds, self.seed_given = copy.deepcopy(world), rounds, seed
        trial = copy.deepcopy(world)
        trial.reset(0)
        shown = trial.observe()
        if len(shown) > 1 or (shown and as_floats(shown[0]) is None):
            raise ArgumentError(expected("world", "one whose contexts are an array of numbers, or none", shown))
        self.action_space = gymnasium.spaces.Discrete(len(world.arms))
        if shown:
            self.observation_space = gymnasium.spaces.Box(-LARGEST, LARGEST, np.shape(shown[0]), np.float64)
        else:
            self.observation_space = gymnasium.spaces.Discrete(1)
        given = {"world": world, "rounds": rounds, "seed": seed}
        name = f"evenhand/{type(world).__name__}-v0"
        self.spec = gymnasium.envs.registration.EnvSpec(name, WorldEnvironment, kwargs=given)
        self._seed: int | None = None
        self._replication, self._round = 0, rounds

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a replication and return what its first round shows, and no further information."""
        super().reset(seed=seed)
        if seed is None and self._seed is not None:
            self._replication += 1
        else:
            self._seed = draw_seed(self.seed_given if seed is None else seed)
            self._replication = 0
        self.world.reset(child(self._seed, self._replication, 0))
        self._round = 0
        return self._observed(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play an arm, given by its position, and return what the next round shows, the reward, and whether the
        replication is over; the information holds `arm`, `round` and the scores of the world so far.

        Raises
        ------
        ArgumentError
            If there is no such arm, or the replication is over.
        """
        arms = self.world.arms
        if not is_whole(action) or not 0 <= action < len(arms):
            raise ArgumentError(expected("action", f"the position of an arm, from 0 to {len(arms) - 1}", action))
        if self._round == self.rounds:
            got = "no replication" if self._seed is None else f"one that was over after {self.rounds} rounds"
            raise ArgumentError(expected("step", "a replication that goes on", got, "call reset()"))
        self._round += 1
        index = int(action)
        (reward,) = self.world.respond(Decision(self._round, self._round, arms[index], index))
        scores = zip(self.world.scores, self.world.totals, strict=True)
        said = {"arm": arms[index], "round": self._round} | {name: float(total) for name, total in scores}
        return self._observed(), float(reward), False, self._round == self.rounds, said

    def _observed(self) -> Any:
        shown = self.world.observe()
        return np.array(shown[0], np.float64) if shown else 0
