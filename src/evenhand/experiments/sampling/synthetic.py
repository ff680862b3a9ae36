"""Figures 1, 2, 8 and 10: mixtures and risks in the synthetic models, where fair mixture and risks are exact."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from evenhand.experiments.framework import Claim, ClaimVerdict, Report, Runner, experiment, growth, slower
from evenhand.experiments.sampling.tables import ADAPTIVE, schemes_for
from evenhand.experiments.sampling.trials import Curves, Scheme, SyntheticTrials, over_trials, run_trials, worst_risks
from evenhand.jobs import run_all
from evenhand.plots.means import plot_means
from evenhand.plots.style import DASHED, figure, one_legend
from evenhand.rng import generator
from evenhand.sampling import (
    EpsilonGreedySampler,
    LogisticModel,
    OptimisticSampler,
    SyntheticModel1,
    SyntheticModel2,
    UniformSampler,
)

GROUPS = ["u", "v"]
INSTANCES: tuple[Any, ...] = ("I", "II")
SIZES = {"full": SyntheticTrials(), "quick": SyntheticTrials(300, 8, 15)}
CLOSED = Claim(
    "The fair mixture equalises the risks of the two groups",
    "Section 3, Figure 1",
    "search and closed form |mu_v|^2 / (|mu_u|^2 + |mu_v|^2) agree to 1e-4, risks at it to 1e-4",
)
FIG1_PRINTED = Claim("In instance I the fair share of group u is 0.23", "Figure 1", "within 0.01 of the exact value")
FIG1_SHAPE = Claim(
    "A group's risk falls with its share, the other's rises",
    "Figure 1",
    "exact risks are monotone on the grid, measured ones correlate beyond 0.9 in the same sense",
    {"shares": 11, "rows": 300, "trials": 5},
)
at_full_size = partial(Claim, needs={"rounds": 1000, "trials": 100})
CONVERGES = at_full_size(
    "The mixture of {} goes to the fair one",
    "Figure 2",
    "at the last round the mean share of u is within 0.05 of pi*(u)",
)
STUCK = at_full_size(
    "... from a single sample a group, as the paper starts",
    "Figure 2, Algorithm 1",
    "no more than 1 trial in 100 ends with a group drawn ten times or fewer",
)
RATE = at_full_size(
    "The excess risk of {} over the minimax risk falls at least as fast as n^(-1/2)",
    "Theorem 1 for A_opt, Theorem 2 for epsilon-greedy; both run with the heuristic bound",
    "slope of log excess against log n over the last tenfold, and its 95 % interval over ten batches, below -1/2",
)
OVER = at_full_size(
    "Exploring too much keeps {} away from the fair mixture",
    "Figure 10",
    "mean share of u at the last round further from pi*(u) than with little exploration, by two standard errors",
)
TREND_GAIN = at_full_size(
    "The trend term helps the group that can still improve",
    "Figure 8",
    "risk of v at the last round: A_opt+ below A_opt by more than two standard errors",
)
TREND_BEST = at_full_size(
    "A_opt+ serves that group better than epsilon-greedy and Uniform",
    "Figure 8",
    "risk of v at the last round below that of both by more than two standard errors",
)
REWEIGHTED = at_full_size(
    "Adaptive collection is needed: reweighting what was collected uniformly does not reach it",
    "Section 6 leaves the last training step open",
    "worst risk of uniform collection with reweighting above that of A_opt by more than two standard errors",
    kind="ours",
)


def placed(world: Any, seed: int) -> tuple[Any, Any]:
    """Return a world, reset, and its exact test."""
    world.reset(seed)
    return world, lambda model: world.population_risk(model.coef_, model.intercept_)


def in_model_1(instance: Any, seed: int) -> tuple[Any, Any]:
    """Return the world of an instance, reset, and its exact test."""
    return placed(SyntheticModel1(instance=instance), seed)


@experiment("sampling/fig1", "Risk of each group against the mixture", full=Curves(), quick=Curves(11, 300, 5))
def fig1(settings: Curves, runner: Runner) -> Report:
    """Exact risks of the population's logistic classifier, and of classifiers trained on finite samples."""
    from scipy.stats import t

    report = Report()
    drawn, across = figure(9.5, 3.9, columns=2, share_y=True)
    tables = []
    for axes, instance in zip(across, INSTANCES, strict=True):
        world = SyntheticModel1(instance=instance)
        rows = []
        for i, share in enumerate(np.linspace(0.02, 0.98, settings.shares)):
            exact = world.population_risk(*world.classifier([share, 1 - share]))
            found = np.array(
                [
                    _trained(world, share, settings.rows, generator(settings.seed, i, trial))
                    for trial in range(settings.trials)
                ]
            )
            measured, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(settings.trials)
            half = t.ppf(0.975, settings.trials - 1) * error
            rows += [
                {"instance": instance, "share": share, "group": g, "exact": exact[z], "measured": measured[z]}
                | {"low": measured[z] - half[z], "high": measured[z] + half[z], "level": 0.95}
                for z, g in enumerate(GROUPS)
            ]
        frame = pd.DataFrame(rows)
        fair = float(world.fair_mixture()[0])
        tables.append(frame)
        report.verdicts += _curve_verdicts(world, frame, instance, fair, settings)
        title = f"Risk of each group, instance {instance}\nfair mixture: share of u is {fair:.3f}"
        shown = frame.rename(columns={"measured": "mean"}).assign(trials=settings.trials)
        axes.plot(frame["share"], frame["exact"], "k.", markersize=3, label="exact")
        axes.axvline(fair, **DASHED, label="fair mixture")
        across = "share of group u in the training set"
        plot_means(shown, "share", "group", of="trials", title=title, across=across, up="risk", ax=axes)
    report.figures["fig1"] = drawn, pd.concat(tables)
    return report


def _trained(world: Any, share: float, rows: int, rng: np.random.Generator) -> Any:
    first = max(1, round(share * rows))
    parts = [world.sample(0, first, rng), world.sample(1, max(1, rows - first), rng)]
    X, y = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    model = LogisticModel().fit(X, y)
    return world.population_risk(model.coef_, model.intercept_)


def _curve_verdicts(
    world: Any, frame: pd.DataFrame, instance: str, fair: float, settings: Curves
) -> list[ClaimVerdict]:
    squares = (world.means[:, 1] ** 2).sum(axis=1)
    closed = squares[1] / squares.sum()
    risks = world.population_risk(*world.classifier([fair, 1 - fair]))
    agree = abs(closed - fair) < 1e-4 and abs(risks[0] - risks[1]) < 1e-4
    said = f"search {fair:.4f}, closed form {closed:.4f}, risks {risks[0]:.4f} and {risks[1]:.4f} ({instance})"
    found = [CLOSED.verdict(agree, said)]
    if instance == "I":
        found.append(FIG1_PRINTED.verdict(abs(fair - 0.23) <= 0.01, f"exact value {fair:.3f}"))
    u, v = (frame[frame["group"] == g] for g in GROUPS)
    monotone = bool((u["exact"].diff().dropna() <= 0).all() and (v["exact"].diff().dropna() >= 0).all())
    ties = (u["share"].corr(u["measured"], method="spearman"), v["share"].corr(v["measured"], method="spearman"))
    shown = f"rank correlations {ties[0]:.2f} for u, {ties[1]:.2f} for v ({instance})"
    return [*found, FIG1_SHAPE.verdict(monotone and ties[0] < -0.9 and ties[1] > 0.9, shown, settings)]


def three_schemes() -> dict[str, Scheme]:
    """Return the schemes of Figure 2 with a safe start."""
    every = schemes_for(GROUPS, None)
    return {name: every[name] for name in ADAPTIVE}


@experiment("sampling/fig2", "Mixture over the rounds, three schemes", **SIZES)
def fig2(settings: SyntheticTrials, runner: Runner) -> Report:
    """Run the three schemes, and A_opt from the paper's one-sample start, in both instances."""
    schemes = three_schemes()
    schemes["A_opt, one-sample start"] = lambda seed: OptimisticSampler(
        GROUPS, exploration=0.1, forced=None, warmup=1, seed=seed
    )
    report, found = _mixtures("fig2", schemes, settings, runner)
    for instance, frame, fair in found:
        last = frame[frame["round"] == settings.rounds]
        for name in three_schemes():
            report.verdicts.append(_near(name, last, fair, settings, f"({instance})"))
        report.verdicts += [_rate(name, instance, frame, settings) for name in ("A_opt", "epsilon-greedy")]
        starts = last[last["scheme"] == "A_opt, one-sample start"]
        few = (starts.groupby("trial")["share"].min() * settings.rounds <= 10).mean()
        report.verdicts.append(STUCK.verdict(few <= 0.01, f"{few:.0%} of the trials ({instance})", settings))
    return report


def _rate(name: str, instance: Any, frame: pd.DataFrame, settings: SyntheticTrials) -> ClaimVerdict:
    world = SyntheticModel1(instance=instance)
    least = world.population_risk(*world.classifier(world.fair_mixture())).max()
    risks = worst_risks(frame[(frame["scheme"] == name) & (frame["round"] >= settings.rounds / 10)])
    excess = risks.assign(batch=risks["trial"] % 10).groupby(["batch", "round"])["test_risk"].mean().unstack() - least
    slope, wide = growth(excess.columns, excess)
    return slower(replace(RATE, says=RATE.says.format(name)), slope, wide, -0.5, instance, settings)


def _mixtures(
    figure_name: str, schemes: dict[str, Scheme], settings: SyntheticTrials, runner: Runner
) -> tuple[Report, list[tuple[str, pd.DataFrame, float]]]:
    """Run schemes in both instances and draw their mixtures; return the report, and of each instance its history and
    the fair share of u."""
    report, found, tables = Report(), [], []
    drawn, across = figure(9.5, 3.9, columns=2, share_y=True)
    for axes, instance in zip(across, INSTANCES, strict=True):
        frame = run_trials(schemes, partial(in_model_1, instance), settings, runner.jobs)
        fair = float(SyntheticModel1(instance=instance).fair_mixture()[0])
        report.data[f"history_{instance}"] = frame
        axes.axhline(fair, **DASHED, label="fair mixture")
        tables.append(_drawn_share(axes, frame, "u", f", instance {instance}").assign(instance=instance))
        found.append((instance, frame, fair))
    report.figures[figure_name] = drawn, pd.concat(tables)
    return report, found


def _drawn_share(axes: Any, frame: pd.DataFrame, group: str, where: str = "") -> pd.DataFrame:
    """Draw a group's share of the training set over the rounds, and return what was drawn."""
    table = over_trials(frame[frame["group"] == group], "share").assign(group=group, measure="share")
    title, up = f"Share of group {group} in training{where}", f"share of group {group}"
    plot_means(table, "round", "scheme", of="trials", title=title, across="round", up=up, ax=axes)
    axes.set_ylim(0, 1)
    return table


def _near(name: str, last: pd.DataFrame, fair: float, settings: SyntheticTrials, where: str) -> ClaimVerdict:
    shares: Any = last[(last["scheme"] == name) & (last["group"] == "u")]["share"]
    said = f"mean share of u {shares.mean():.3f} +- {shares.sem():.3f}, fair {fair:.3f} {where}"
    named = replace(CONVERGES, says=CONVERGES.says.format(name))
    return named.verdict(abs(shares.mean() - fair) <= 0.05, said, settings)


@experiment("sampling/fig10", "Too much exploration", **SIZES)
def fig10(settings: SyntheticTrials, runner: Runner) -> Report:
    """Run A_opt with c0 = 1 and epsilon-greedy with epsilon = 0.5, beside both with a tenth and a fifth of that."""
    schemes: dict[str, Scheme] = {
        "A_opt, c0 = 1": lambda seed: OptimisticSampler(GROUPS, exploration=1.0, seed=seed),
        "A_opt, c0 = 0.1": lambda seed: OptimisticSampler(GROUPS, exploration=0.1, seed=seed),
        "epsilon-greedy, 0.5": lambda seed: EpsilonGreedySampler(GROUPS, epsilon=0.5, seed=seed),
        "epsilon-greedy, 0.1": lambda seed: EpsilonGreedySampler(GROUPS, epsilon=0.1, seed=seed),
    }
    report, found = _mixtures("fig10", schemes, settings, runner)
    for instance, frame, fair in found:
        last: Any = frame[(frame["round"] == settings.rounds) & (frame["group"] == "u")].groupby("scheme")["share"]
        shares, errors = last.mean(), last.sem()
        off = (shares - fair).abs()
        for name, much, little in (("A_opt", "c0 = 1", "c0 = 0.1"), ("epsilon-greedy", "0.5", "0.1")):
            first, second = f"{name}, {much}", f"{name}, {little}"
            more = off[first] - off[second] > 2 * np.hypot(errors[first], errors[second])
            said = f"{much}: {shares[first]:.3f}, {little}: {shares[second]:.3f}, fair {fair:.3f} ({instance})"
            report.verdicts.append(replace(OVER, says=OVER.says.format(name)).verdict(more, said, settings))
    return report


@experiment("sampling/fig8", "The trend term, A_opt+", **SIZES)
def fig8(settings: SyntheticTrials, runner: Runner) -> Report:
    """Run A_opt, A_opt+ and the baselines in SyntheticModel2, without forced exploration as the paper has it."""
    start: dict[str, Any] = {"forced": None, "warmup": 10}
    schemes: dict[str, Scheme] = {
        "A_opt": lambda seed: OptimisticSampler(GROUPS, exploration=0.1, seed=seed, **start),
        "A_opt+": lambda seed: OptimisticSampler(GROUPS, exploration=0.1, trend=0.1, seed=seed, **start),
        "epsilon-greedy": lambda seed: EpsilonGreedySampler(GROUPS, epsilon=0.1, seed=seed, **start),
        "Uniform": lambda seed: UniformSampler(GROUPS, seed=seed),
        "A_opt, forced exploration": lambda seed: OptimisticSampler(GROUPS, exploration=0.1, seed=seed),
    }
    frame = run_trials(schemes, lambda seed: placed(SyntheticModel2(), seed), settings, runner.jobs)
    report = Report(data={"history": frame})
    drawn, (left, right) = figure(9.5, 3.9, columns=2)
    share = _drawn_share(left, frame, "v")
    risk = over_trials(frame[frame["group"] == "v"], "test_risk").assign(group="v", measure="test risk")
    plot_means(risk, "round", "scheme", of="trials", title="Risk of group v", across="round", up="risk", ax=right)
    one_legend(drawn, 5)
    report.figures["fig8"] = drawn, pd.concat([share, risk])
    last = frame[(frame["round"] == settings.rounds) & (frame["group"] == "v")]
    risks = {name: last[last["scheme"] == name].set_index("trial")["test_risk"] for name in schemes}
    said = ", ".join(f"{name} {risk.mean():.3f}" for name, risk in risks.items())
    report.verdicts.append(TREND_GAIN.verdict(_below(risks["A_opt+"], risks["A_opt"]), said, settings))
    others = (risks["epsilon-greedy"], risks["Uniform"])
    report.verdicts.append(TREND_BEST.verdict(all(_below(risks["A_opt+"], other) for other in others), said, settings))
    return report


def _below(first: Any, second: Any) -> bool:
    gain = second - first
    return bool(gain.mean() > 2 * gain.sem())


@experiment("sampling/reweighting", "Minimax reweighting as the last step", **SIZES)
def reweighting(settings: SyntheticTrials, runner: Runner) -> Report:
    """Compare uniform and adaptive collection, with plain training and with minimax reweighting at the end."""
    from evenhand.rng import child
    from evenhand.sampling.labelling.collection import collect

    def one(instance: str, trial: int) -> list[dict[str, Any]]:
        rows = []
        for name, scheme in {"A_opt": OptimisticSampler, "Uniform": UniformSampler}.items():
            world, test = in_model_1(instance, child(settings.seed, trial))
            sampler = scheme(GROUPS, seed=child(settings.seed, trial, 1))
            collect(sampler, world, rounds=settings.rounds, checkpoints=1)
            for last, fair in (("plain", False), ("reweighted", True)):
                risk = float(test(sampler.finish(reweighted=fair).model).max())
                rows.append({"instance": instance, "trial": trial, "scheme": f"{name}, {last}", "worst_risk": risk})
        return rows

    report, tables = Report(), []
    for instance in INSTANCES:
        found = run_all(one, ((instance, t) for t in range(settings.trials)), runner.jobs)
        frame = pd.DataFrame([row for rows in found for row in rows])
        tables.append(frame)
        risks = {name: part.set_index("trial")["worst_risk"] for name, part in frame.groupby("scheme", sort=False)}
        best = SyntheticModel1(instance=instance)
        floor = best.population_risk(*best.classifier(best.fair_mixture())).max()
        said = ", ".join(f"{name!s} {risk.mean():.4f}" for name, risk in risks.items())
        needed = _below(risks["A_opt, plain"], risks["Uniform, reweighted"])
        report.verdicts.append(REWEIGHTED.verdict(needed, f"{said}, minimax {floor:.4f} ({instance})", settings))
    report.data["worst_risks"] = pd.concat(tables)
    return report
