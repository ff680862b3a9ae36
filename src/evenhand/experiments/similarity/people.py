"""Real people: individuals alike in all but a protected attribute come to be treated alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.similarity import EllipsoidDistance, LipschitzUCB, MahalanobisOracle, Scale, TableIndividuals

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["compas", "diabetes"]

ALIKE = Claim(
    "Individuals alike in all but a protected attribute come to be treated alike",
    "ours; the auditor's distance leaves the attribute out",
    "twins' largest difference of probability is at most epsilon in the last tenth of the rounds, more in the first",
    {"rounds": 1_500},
)
STOPS = Claim(
    "Violations above epsilon stop on real contexts as well",
    "Theorem 4 holds for any contexts",
    "the second half of the rounds adds at most 5 % of all violations",
    {"rounds": 1_500},
)


@dataclass(frozen=True)
class People:
    """A table of people, audited by a distance that leaves one attribute out."""

    rounds: int
    protected: str
    features: tuple[str, ...]
    reward: str
    individuals: int = 6
    precision: float = 0.02
    seed: int = 5


def watch(frame: pd.DataFrame, settings: People) -> Report:
    """Let a policy decide about rows of the table; each round one individual has a twin who differs in the
    attribute."""
    import pandas as pd

    d = len(settings.features)
    place = settings.features.index(settings.protected)
    weights = np.full(d, 1.5)
    weights[place] = 0.0
    oracle = MahalanobisOracle(np.diag(weights))
    world = TableIndividuals(
        frame, features=settings.features, reward=settings.reward, oracle=oracle, individuals=settings.individuals
    )
    learner = EllipsoidDistance(precision=settings.precision, structure="diagonal")
    room = Scale([0.0] * d, [2.0**0.5] * d)  # a twin's one new value lengthens a row of length 1 to sqrt 2 at most
    policy = LipschitzUCB(
        d, precision=settings.precision, metric=learner, noise_scale=0.1, scale=room, seed=settings.seed
    )
    world.reset(settings.seed)
    values = np.unique(world.rows[:, place])
    rows, violated = [], 0
    for t in range(1, settings.rounds + 1):
        (x,) = world.observe()
        x[1] = x[0]
        x[1, place] = values[0] if x[0, place] == values[-1] else values[-1]
        decision = policy.ask(x)
        p = np.asarray(decision.probabilities)
        gap = np.abs(p[:, None] - p[None, :])
        violated += int(np.triu(gap > oracle.distances(x) + settings.precision, 1).sum())
        rewards = world.expected
        reward = None if decision.index < 0 else float(rewards[0 if decision.index == 1 else decision.index])
        policy.tell(decision, reward, oracle(x, p))
        rows.append({"round": t, "twins": gap[0, 1], "violations": violated})
    table, report = pd.DataFrame(rows), Report()
    tenth = settings.rounds // 10
    first, final = table.twins[:tenth].max(), table.twins[-tenth:].max()
    late = 1 - table.violations[settings.rounds // 2] / max(violated, 1)
    report.data["table"] = table
    parted = f"twins differ by at most {first:.3f} at first, {final:.4f} at last"
    stopped = f"{violated} violations, {100 * late:.1f} % of them in the second half"
    report.verdicts = [
        ALIKE.verdict(final <= settings.precision < first, parted, settings),
        STOPS.verdict(late <= 0.05, stopped, settings),
    ]
    report.figures["twins"] = _draw(table, settings)
    report.remarks.append("The contexts are standardised; a twin is told the reward of the row it was copied from.")
    return report


def _draw(table: pd.DataFrame, settings: People) -> Figure:
    from evenhand.plots.style import SHADES, figure, finish, style

    drawn: Any
    drawn, axes = figure(8.0, 3.8)
    with style():
        axes.plot(table["round"], table.twins, ".", color=SHADES[0], markersize=3, label="this round")
        axes.plot(
            table["round"], table.twins.rolling(50, min_periods=1).max(), color="black", label="largest of 50 rounds"
        )
        axes.axhline(settings.precision, color=SHADES[1], linestyle="--", label=f"epsilon = {settings.precision:g}")
        axes.set_xscale("log")
        finish(
            axes, f"Twins alike in all but {settings.protected.replace('_', ' ')}", "round", "difference of probability"
        )
    return drawn


MEASURED = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")


@experiment(
    "similarity/diabetes",
    "Patients alike in all but sex come to be treated alike",
    full=People(rounds=5_000, protected="sex", features=MEASURED, reward="need"),
    quick=People(rounds=1_500, protected="sex", features=MEASURED, reward="need"),
)
def diabetes(settings: People, runner: Runner) -> Report:
    """Decide whom of six patients to treat first, on scikit-learn's diabetes data (no download)."""
    from evenhand.datasets.diabetes import load_diabetes

    return watch(load_diabetes(), settings)


KNOWN = ("age", "priors", "juvenile", "felony", "male", "african_american")


@experiment(
    "similarity/compas",
    "Defendants alike in all but race come to be treated alike",
    full=People(rounds=5_000, protected="african_american", features=KNOWN, reward="free"),
    quick=People(rounds=1_500, protected="african_american", features=KNOWN, reward="free"),
)
def compas(settings: People, runner: Runner) -> Report:
    """Decide whom of six defendants to release, on ProPublica's table."""
    from evenhand.datasets.compas_two_years import load_compas_two_years

    return watch(load_compas_two_years(), settings)
