"""Learners from elsewhere, and the functions that state files name."""

import pickle
import random

from evenhand.learners import Adapter

ARMS = 3


def pull(bandit):
    return bandit.pull(range(ARMS))


def tell_bandit(bandit, index, reward):
    bandit.update(index, reward)


def pickled(learner):
    return pickle.dumps(learner)


def unpickled(dumped):
    return pickle.loads(dumped)


def of_river(bandit):
    return Adapter(bandit, choose=pull, update=tell_bandit, dump=pickled, load=unpickled)


class Gambler:
    """Plays by chance, more often what paid before."""

    def __init__(self, arms=ARMS):
        self.sums, self.dice = [1.0] * arms, random.Random(1)


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
