"""A decision from start to end on real data: who gets the next place in a programme for diabetes patients.

The arms are six groups of patients, sex by age band; the reward of a place is the need of the patient who gets it, the
disease's progression scaled to [0, 1]. Left alone, a learner gives nearly every place to the group with the greatest
need. The promise: at every moment each group has at least four fifths of the places that its share of the 442 patients
amounts to.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evenhand import audit
from evenhand.datasets.tables import load_diabetes
from evenhand.learners import Thompson
from evenhand.protocol import Decision
from evenhand.quotas import DeadlineLearn, LoggedArms
from evenhand.rng import child
from evenhand.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

GUARANTEE = Fraction(4, 5)


@dataclass(frozen=True)
class Programme:
    """What was decided and what it cost."""

    shares: dict[Any, Fraction]
    decisions: list[Decision]
    log: pd.DataFrame
    """One row per decision: `round`, `arm`, `need`, `reason`."""
    finding: audit.Audit
    history: xr.Dataset
    """Replications of the same programme, with the promise and without."""


def run(*, places: int = 1000, replications: int = 200, seed: int = 442, jobs: int = -1) -> Programme:
    """Give away the places one by one under the promise, audit the log, and simulate what the promise costs."""
    import pandas as pd

    patients = load_diabetes()
    counts = patients.group.value_counts()
    shares = {group: GUARANTEE * Fraction(int(n), len(patients)) for group, n in sorted(counts.items())}
    world = LoggedArms(patients, arm="group", reward="need")
    policy = DeadlineLearn(Thompson(), shares, seed=child(seed, 0))
    world.reset(child(seed, 1))
    decisions, needs = [], []
    for _ in range(places):
        decision = policy.ask(*world.observe())
        (need,) = world.respond(decision)
        policy.tell(decision, need)
        decisions.append(decision)
        needs.append(need)
    log = pd.DataFrame(
        {
            "round": [d.round for d in decisions],
            "arm": [d.arm for d in decisions],
            "need": needs,
            "reason": [d.reason for d in decisions],
        }
    )
    history = simulate(
        {"with the promise": policy.fresh(), "without": Thompson(arms=list(world.arms))},
        world,
        rounds=places,
        replications=replications,
        seed=seed,
        jobs=jobs,
    )
    return Programme(shares, decisions, log, audit.promise(log, arm="arm", shares=shares), history)


def draw(programme: Programme) -> Figure:
    """Draw the shares against what is owed, the shortfall over time, and the regret, which shows the cost."""
    from evenhand import plots
    from evenhand.plots.style import figure, finish, one_legend

    drawn, (shares, shortfall, regret) = figure(width=10.5, height=4.2, columns=3)
    plots.plot_shares(programme.history, ax=shares)
    plots.plot_shortfall(programme.history, ax=shortfall)
    plots.plot_regret(programme.history, ax=regret)
    finish(shares, "Who gets the places", "group", "share of the places", legend=False)
    finish(shortfall, "Group furthest behind so far", "place", "whole places behind (log above 1)", legend=False)
    finish(regret, "What the promise costs", "place", "need lost against the best group", legend=False)
    one_legend(drawn)
    return drawn
