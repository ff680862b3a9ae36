"""Annotators of whom everything is known: a pool of items with true labels; and talks with a synthetic world."""

import numpy as np

from evenhand.sampling import SyntheticModel1, labelled_table

__all__ = ["LabelledItems", "begun", "labelled_in", "talk"]


def begun(seed=1):
    """The synthetic world of the first instance, reset."""
    world = SyntheticModel1(instance="I")
    world.reset(seed)
    return world


def talk(sampler, world, rounds):
    """Draw and tell for so many rounds; return the groups that were drawn."""
    groups = []
    for _ in range(rounds):
        draw = sampler.ask()
        sampler.tell(draw, *world.respond(draw))
        groups.append(draw.group)
    return groups


def labelled_in(queue, purpose):
    """The labelled items that train, or those that validate."""
    return labelled_table(queue).query("purpose == @purpose").drop(columns="purpose").reset_index(drop=True)


class LabelledItems:
    """Items of two groups, "easy" and "hard", with two features; half as many are hard.

    The label is 1 if x_1 > 0 in the easy group, and x_2 > 0 in the hard one.
    """

    def __init__(self, *, items, seed):
        self.ids = [f"item {number}" for number in range(items)]
        self.features = np.random.default_rng(seed).normal(size=(items, 2))
        self.groups = ["hard" if number % 3 == 0 else "easy" for number in range(items)]
        hard = np.array([group == "hard" for group in self.groups])
        self.labels = np.where(hard, self.features[:, 1] > 0, self.features[:, 0] > 0).astype(int)
        self._places = {name: number for number, name in enumerate(self.ids)}

    def reset(self, seed):
        """Begin again; nothing is drawn."""

    def observe(self):
        """What the queue is shown: nothing."""
        return ()

    def respond(self, task):
        """The label that an annotator gives to the item of a task."""
        return (int(self.labels[self._places[task.item]]),)
