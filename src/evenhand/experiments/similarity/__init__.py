"""Experiments for Gillen, Jung, Kearns and Roth (2018), which has none of its own."""

from evenhand.experiments.similarity.auditing import auditors
from evenhand.experiments.similarity.noise import noise
from evenhand.experiments.similarity.people import compas, diabetes
from evenhand.experiments.similarity.regret import baselines, many, regret
from evenhand.experiments.similarity.violations import adversary, learners, shared, violations

__all__ = [
    "adversary",
    "auditors",
    "baselines",
    "compas",
    "diabetes",
    "learners",
    "many",
    "noise",
    "regret",
    "shared",
    "violations",
]
