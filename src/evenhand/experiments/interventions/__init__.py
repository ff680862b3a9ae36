"""Gao and Feng, "Identifying Best Fair Intervention" (2021): Figures 3, 5 and 6, and Theorem 2; and what the tested
answers and the fitted models of ours are worth."""

from evenhand.experiments.interventions import confidence, constraints, divergence, fitted, hepar, trials

__all__ = ["confidence", "constraints", "divergence", "fitted", "hepar", "trials"]
