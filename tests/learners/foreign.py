"""Learners from elsewhere, the functions that state files name, and a conversation with three arms."""

import pickle
import random

import numpy as np

import evenhand as eh
from evenhand.learners import Adapter
from evenhand.policy.traits import traits_of

MEANS = [0.2, 0.5, 0.8]


def talk(policy, rounds, start=0):
    """Take decisions and bring back rewards that depend on the round and the arm alone, one between 0 and 1 in four."""
    said = []
    contextual = traits_of(policy.policy if isinstance(policy, eh.Study) else policy).contextual
    for t in range(start, start + rounds):
        chance = np.random.default_rng([7, t])
        shown = [chance.random(2).tolist()] * 3
        decision = policy.ask(shown) if contextual else policy.ask()
        policy.tell(decision, 0.5 if t % 4 == 0 else float(chance.random() < MEANS[decision.index]))
        said.append((decision.arm, decision.reason))
    return said


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
