"""Figures 1 to 5 of Schumann, Lang, Mattei and Dickerson (2022), and the rate of their Theorem 1."""

from evenhand.experiments.groups.rate import rate
from evenhand.experiments.groups.real import real_data
from evenhand.experiments.groups.synthetic import regrets, shares

__all__ = ["rate", "real_data", "regrets", "shares"]
