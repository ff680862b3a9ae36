"""Annotators of whom everything is known: a pool of items with true labels, for trials and tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from evenhand.registry import register
from evenhand.rng import Seed, draw_seed, generator
from evenhand.sampling.problem import checked_number, checked_whole

__all__ = ["LabelledItems"]


@register("sampling/labelled-items", kind="world")
class LabelledItems:
    """Items of two groups, "easy" and "hard", with two features; each label is told as it is, or flipped by chance.

    The label is 1 if x_1 > 0 in the easy group, and x_2 > 0 in the hard one, where half as many items are.

    Parameters
    ----------
    items : how many.
    noise : the probability with which an annotator tells the other label.
    seed : of the items.

    Raises
    ------
    ArgumentError
        If there are fewer than 12 items, or `noise` is not in [0, 1/2].

    Examples
    --------
    >>> from evenhand.sampling import LabelQueue
    >>> world = LabelledItems(items=60, seed=0)
    >>> world.reset(0)
    >>> queue = LabelQueue(world.ids, world.features, groups=world.groups, seed=0)
    >>> task = queue.ask()
    >>> queue.tell(task, *world.respond(task))
    """

    def __init__(self, *, items: int = 300, noise: float = 0.0, seed: Seed = None) -> None:
        self.items, self.noise = checked_whole("items", items, 12), checked_number("noise", noise, 0.0, high=0.5)
        self.seed = draw_seed(seed)
        draws = generator(self.seed)
        self.ids = [f"item {number}" for number in range(self.items)]
        self.features = draws.normal(size=(self.items, 2))
        self.groups = ["hard" if number % 3 == 0 else "easy" for number in range(self.items)]
        hard = np.array([group == "hard" for group in self.groups])
        self.labels = np.where(hard, self.features[:, 1] > 0, self.features[:, 0] > 0).astype(int)
        self._places = {name: number for number, name in enumerate(self.ids)}
        self._draws = generator(self.seed, 1)

    def reset(self, seed: int) -> None:
        """Begin again, with other annotators."""
        self._draws = generator(seed, 1)

    def observe(self) -> tuple[Any, ...]:
        """Return what the queue is shown: nothing."""
        return ()

    def respond(self, task: Any) -> tuple[int]:
        """Return the label that an annotator gives to the item of a task."""
        flipped = self._draws.random() < self.noise
        return (int(self.labels[self._places[task.item]]) ^ int(flipped),)

    @classmethod
    def examples(cls) -> Iterator[Self]:
        """Yield worlds to try."""
        yield cls(seed=0)
        yield cls(items=60, noise=0.2, seed=1)
