from .evaluation import (
    plot_effects as plot_effects,
    plot_evaluation as plot_evaluation,
    plot_overlap as plot_overlap,
)
from .groups import plot_bias as plot_bias, plot_group_share as plot_group_share, plot_parity as plot_parity
from .interventions import (
    plot_candidates as plot_candidates,
    plot_gaps as plot_gaps,
    plot_outcomes as plot_outcomes,
    plot_sensitivity as plot_sensitivity,
)
from .quotas import (
    plot_audit as plot_audit,
    plot_cost as plot_cost,
    plot_regret as plot_regret,
    plot_shares as plot_shares,
    plot_shortfall as plot_shortfall,
)
from .sampling import plot_collection as plot_collection
