"""Learners from elsewhere, and the functions that state files name."""

import pickle
import random

from evenhand.learners import Adapter


def pickled(learner):
    return pickle.dumps(learner)


def unpickled(dumped):
    return pickle.loads(dumped)


class Gambler:
    """Plays by chance, more often what paid before."""

    def __init__(self):
        self.sums, self.dice = [1.0] * 3, random.Random(1)


def gamble(gambler, contexts=None):
    weights = [max(0.1, total) for total in gambler.sums]
    return gambler.dice.choices(range(len(weights)), weights)[0]


def learn(gambler, *told):
    gambler.sums[told[-2]] += told[-1]


def seed(gambler, number):
    gambler.dice.seed(number)


def dump(gambler):
    version, words, spare = gambler.dice.getstate()
    return {"sums": gambler.sums, "dice": [version, list(words), spare]}


def load(dumped):
    gambler = Gambler()
    gambler.sums = list(dumped["sums"])
    version, words, spare = dumped["dice"]
    gambler.dice.setstate((version, tuple(words), spare))
    return gambler


def fail(*given):
    raise KeyError("lost")


def adapter(**more):
    return Adapter(Gambler(), **({"choose": gamble, "update": learn, "dump": dump, "load": load} | more))
