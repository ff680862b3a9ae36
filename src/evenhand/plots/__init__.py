"""Pictures: a history in, matplotlib axes out; nothing is computed here."""

from evenhand.plots.quotas import plot_cost, plot_regret, plot_shares, plot_shortfall, plot_violations

__all__ = ["plot_cost", "plot_regret", "plot_shares", "plot_shortfall", "plot_violations"]
