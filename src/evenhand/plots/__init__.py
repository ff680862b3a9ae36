"""Pictures: a history in, matplotlib axes out; nothing is computed here."""

from evenhand.plots.evaluation import plot_evaluation, plot_overlap
from evenhand.plots.groups import plot_bias, plot_group_share
from evenhand.plots.quotas import plot_audit, plot_cost, plot_regret, plot_shares, plot_shortfall

__all__ = [
    "plot_audit",
    "plot_bias",
    "plot_cost",
    "plot_evaluation",
    "plot_group_share",
    "plot_overlap",
    "plot_regret",
    "plot_shares",
    "plot_shortfall",
]


def __dir__() -> list[str]:
    return __all__
