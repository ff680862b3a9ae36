"""Figures 2, 3 and 4 of Patil, Ghalme, Nair and Narahari (2021)."""

from evenhand.experiments.quotas.fig2 import fig2
from evenhand.experiments.quotas.lfg import fig3, fig4

__all__ = ["fig2", "fig3", "fig4"]
