"""What evaluations promise, measured: real logs of two policies, coverage at every look, estimators on greedy logs."""

from evenhand.experiments.evaluation.coverage import coverage
from evenhand.experiments.evaluation.greedy_log import greedy_log
from evenhand.experiments.evaluation.open_bandit import open_bandit

__all__ = ["coverage", "greedy_log", "open_bandit"]
