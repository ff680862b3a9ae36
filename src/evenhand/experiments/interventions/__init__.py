"""Gao and Feng, "Identifying Best Fair Intervention" (2021): Figures 3, 5 and 6, and Theorem 2."""

from evenhand.experiments.interventions import constraints, hepar

__all__ = ["constraints", "hepar"]
