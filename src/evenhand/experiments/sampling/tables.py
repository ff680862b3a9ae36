"""Adult (Figure 3) and German (Figure 12): worst-group accuracy on real tables, with the columns of Table 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from evenhand.datasets.tables import ADULT_FEATURES, GERMAN_FEATURES, load_adult, load_german
from evenhand.experiments.framework import Claim, ClaimVerdict, Report, Runner, certainty, critical_value, experiment
from evenhand.experiments.sampling.trials import ImageTrials, Scheme, Tables, over_trials, run_trials, worst_risks
from evenhand.plots.means import plot_means
from evenhand.plots.style import figure, log_counts, one_legend
from evenhand.rng import generator
from evenhand.sampling import (
    EpsilonGreedySampler,
    GreedySampler,
    OptimisticSampler,
    ProportionalSampler,
    TablePool,
    UniformSampler,
    group_errors,
)

ADULT = Tables(rounds=4000, trials=30, checkpoints=(50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 4000))
GERMAN = Tables(rounds=350, trials=500, checkpoints=(25, 50, 100, 150, 200, 250, 300, 350))
ADAPTIVE = ("A_opt", "epsilon-greedy", "Greedy")
BEYOND = "t standard errors, where t is Student's 97.5 % quantile and at least 2"
UNFINISHED = "no finished trial yet"
ENOUGH = 10
"""The paper's number of trials: only from there on does an interval around zero speak against a gain."""
BEATS_UNIFORM = Claim(
    "{} ends with a higher accuracy of the worst-off group than Uniform",
    "Table 1",
    f"mean gain over Uniform at the last round above {BEYOND}",
)
UNCURATED_LAST = Claim(
    "Uncurated data ends with the lowest accuracy of the worst-off group",
    "Table 1",
    f"mean accuracy below Uniform's by more than {BEYOND}",
)
EARLY = Claim(
    "Adaptive schemes need fewer examples than Uniform",
    "Figures 3 and 12",
    f"mean gain of A_opt over Uniform at {{}} rounds above {BEYOND}",
)


def schemes_for(groups: Sequence[Any], proportions: Any, **more: Any) -> dict[str, Scheme]:
    """Return the five schemes of Table 1 with a safe start."""
    return {
        "A_opt": lambda seed: OptimisticSampler(groups, exploration=0.1, seed=seed, **more),
        "epsilon-greedy": lambda seed: EpsilonGreedySampler(groups, epsilon=0.1, seed=seed, **more),
        "Greedy": lambda seed: GreedySampler(groups, seed=seed, **more),
        "Uniform": lambda seed: UniformSampler(groups, seed=seed, **more),
        "Uncurated": lambda seed: ProportionalSampler(groups, proportions=proportions, seed=seed, **more),
    }


@experiment(
    "sampling/adult",
    "Adult: accuracy of the worst-off group",
    full=ADULT,
    quick=Tables(rounds=500, trials=4, checkpoints=(50, 100, 200, 300, 500)),
)
def adult_experiment(settings: Tables, runner: Runner) -> Report:
    """Run the five schemes on the official split; all trials share the test set."""
    data = load_adult()
    pool = TablePool(data.train, group="group", label="income", features=list(ADULT_FEATURES))
    X, y, group = pool.held_out(data.test)

    def place(seed: int) -> tuple[Any, Any]:
        pool.reset(seed)
        return pool, lambda model: group_errors(model, X, y, groups=group)

    frame = run_trials(schemes_for(pool.groups, pool.proportions), place, settings, runner.jobs, final=True)
    return _report(frame, settings, ADULT, "Figure 3", early=300)


@experiment(
    "sampling/german",
    "German Credit: accuracy of the worst-off group",
    full=GERMAN,
    quick=Tables(rounds=350, trials=20, checkpoints=(50, 100, 200, 350)),
)
def german_experiment(settings: Tables, runner: Runner) -> Report:
    """Run the five schemes on fresh splits: 700 customers to draw from, 300 to test on."""
    frame = load_german()

    def place(seed: int) -> tuple[Any, Any]:
        order = generator(seed, 1).permutation(len(frame))
        pool = TablePool(frame.iloc[order[:700]], group="group", label="bad", features=list(GERMAN_FEATURES))
        X, y, group = pool.held_out(frame.iloc[order[700:]])
        pool.reset(seed)
        return pool, lambda model: group_errors(model, X, y, groups=group)

    proportions = [float((frame["group"] == z).mean()) for z in ("men", "women")]
    history = run_trials(schemes_for(("men", "women"), proportions), place, settings, runner.jobs, final=True)
    report = _report(history, settings, GERMAN, "Figure 12", early=100)
    report.remarks.append(
        "350 rounds of two rows are all 700 customers: at the last round every scheme holds the same rows, and only "
        "which of them trained and which validated differs."
    )
    return report


def _report(frame: pd.DataFrame, settings: Tables, full: Tables, where: str, early: int) -> Report:
    drawn, panels = figure(9.5, 6.4, columns=2, rows=2, share_y="row")
    refits = (("test_risk", ""), ("final_risk", ", refitted"))
    curves = []
    for (risk, gain), (value, when) in zip(panels.T, refits, strict=True):
        for axes, against in ((risk, None), (gain, "Uniform")):
            table = over_trials(worst_risks(frame, value, against), value).assign(measure=value, against=against)
            title, up = f"Risk of the worst-off group{when}", "risk (1 - accuracy)"
            if against is not None:
                title, up = f"Risk above that of {against}{when}", "difference of risks"
            plot_means(table, "round", "scheme", of="trials", title=title, across="round", up=up, ax=axes)
            log_counts(axes)
            curves.append(table)
    one_legend(drawn, 5)
    figures = {"worst_risk": (drawn, pd.concat(curves))}
    report = Report(data={"history": frame, "table_1": table_1(frame)}, figures=figures)
    late, soon = ({"rounds": rounds, "trials": full.trials} for rounds in (full.rounds, early))
    report.verdicts += verdicts_on_table_1(frame, settings, ADAPTIVE, f"{where}, Table 1", late)
    at = min(early, settings.rounds)
    claim = replace(EARLY, where=where, tolerance=EARLY.tolerance.format(at), needs=soon)
    report.verdicts.append(against_uniform(claim, frame[frame["round"] <= at], "A_opt", settings))
    return report


def at_last(frame: pd.DataFrame, scheme: str) -> Any:
    """Return the worst group's test accuracy at the last round, by trial."""
    mine = worst_risks(frame[frame["scheme"] == scheme])
    return 1 - mine.groupby("trial")["test_risk"].last()


def verdicts_on_table_1(
    frame: pd.DataFrame, settings: Tables | ImageTrials, schemes: Sequence[str], where: str, needs: Mapping[str, float]
) -> Iterator[ClaimVerdict]:
    """Yield the verdicts on how these schemes, and uncurated data, end beside Uniform."""
    for name in schemes:
        claim = replace(BEATS_UNIFORM, says=BEATS_UNIFORM.says.format(name), where=where, needs=needs)
        yield against_uniform(claim, frame, name, settings)
    yield against_uniform(replace(UNCURATED_LAST, where=where, needs=needs), frame, "Uncurated", settings, sign=-1)


def against_uniform(
    claim: Claim,
    frame: pd.DataFrame,
    scheme: str,
    settings: Tables | ImageTrials,
    value: Callable[[pd.DataFrame, str], Any] = at_last,
    *,
    sign: int = 1,
) -> ClaimVerdict:
    """Compare a scheme with Uniform on the trials that both have finished."""
    first, second = value(frame, scheme), value(frame, "Uniform")
    common = first.index.intersection(second.index)
    trials = replace(settings, trials=len(common))
    if not len(common):
        return claim.verdict(False, UNFINISHED, trials)
    return gain_verdict(claim, first[common], second[common], trials, sign=sign)


def gain_verdict(
    claim: Claim, first: Any, second: Any, settings: Tables | ImageTrials, *, sign: int = 1
) -> ClaimVerdict:
    """Judge whether the first is above the second (below with sign = -1) by more than `critical_value` standard errors.

    One or two trials stay inconclusive, whatever they show, and fewer than `ENOUGH` where their interval holds zero.
    """
    gain = sign * (first - second)
    mean, error, trials = gain.mean(), gain.sem(), len(gain)
    beyond = critical_value(trials) * error
    if abs(mean) <= beyond:
        claim = replace(claim, needs={**claim.needs, "trials": max(ENOUGH, claim.needs["trials"])})
    said = f"{first.mean():.4f} against {second.mean():.4f}, gain {mean:+.4f} "
    if trials > 1:
        said += f"+- {error:.4f} in {trials} trials ({critical_value(trials):.2f} standard errors: {beyond:.4f})"
    else:
        said += "in one trial"
    if 0 < mean <= beyond:
        said += "; the sign is right, the interval too wide"
    enough = settings.rounds >= claim.needs["rounds"] and trials > 2
    sure = certainty(mean, error, trials) if enough else 0.0
    return claim.verdict(bool(mean > beyond), said, settings, certainty=sure)


def table_1(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the worst group's accuracy at the end, mean and standard deviation over trials, with and without the
    final refit.
    """
    rows = []
    for name in dict.fromkeys(frame["scheme"]):
        mine = frame[frame["scheme"] == name]
        values: dict[str, float] = {}
        for label, column in (("accuracy", "test_risk"), ("accuracy_after_refit", "final_risk")):
            ends = 1 - worst_risks(mine, column).groupby("trial")[column].last()
            values |= {label: float(ends.mean()), f"{label}_deviation": float(np.std(ends, ddof=1))}
        rows.append({"scheme": name, **values, "rounds": int(mine["round"].max()), "labels": int(mine["labels"].max())})
    return pd.DataFrame(rows)
