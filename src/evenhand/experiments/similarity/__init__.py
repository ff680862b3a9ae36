"""Experiments for Gillen, Jung, Kearns and Roth (2018), which has none of its own: its theorems against counts."""

from evenhand.experiments.similarity.theorems import adversary, many, regret, violations

__all__ = ["adversary", "many", "regret", "violations"]
