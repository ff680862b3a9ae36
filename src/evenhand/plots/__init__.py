"""Pictures: results in, matplotlib axes out; nothing is computed here.

Each function draws into the axes given as `ax`, otherwise into pyplot's current axes, and returns them. Pictures of two
panels take two axes, and return their figure.
"""

from evenhand.plots.evaluation import plot_evaluation, plot_overlap
from evenhand.plots.groups import plot_bias, plot_group_share
from evenhand.plots.interventions import plot_candidates, plot_gaps, plot_outcomes, plot_sensitivity
from evenhand.plots.quotas import plot_audit, plot_cost, plot_regret, plot_shares, plot_shortfall
from evenhand.plots.sampling import plot_collection

__all__ = [
    "plot_audit",
    "plot_bias",
    "plot_candidates",
    "plot_collection",
    "plot_cost",
    "plot_evaluation",
    "plot_gaps",
    "plot_group_share",
    "plot_outcomes",
    "plot_overlap",
    "plot_regret",
    "plot_sensitivity",
    "plot_shares",
    "plot_shortfall",
]


def __dir__() -> list[str]:
    return __all__
