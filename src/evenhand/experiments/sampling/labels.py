"""What a queue of items is worth (ours): unbiased validation, labels in batches, labels that are wrong in one group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.experiments.claims import certainty
from evenhand.experiments.framework import Claim, Report, Runner, Verdict, experiment
from evenhand.experiments.sampling.settings import Labels
from evenhand.plots.style import DASHED, SHADES, figure, finish
from evenhand.rng import child, generator
from evenhand.sampling import Draw, LabelQueue, LogisticModel, SyntheticModel1
from evenhand.simulation.tasks import run_all

__all__ = ["labels"]

NEEDS = {"trials": 40, "labels": 400}
FIXED = Claim(
    "Validation items that are fixed before any choice show the risk without bias",
    "LabelQueue (ours)",
    "mean bias within three standard errors of 0, and within .015",
    NEEDS,
)
LEFT = Claim(
    "Items that an uncertain model leaves over show too low a risk",
    "LabelQueue (ours)",
    "mean bias below 0 by more than two standard errors",
    NEEDS,
)
CHOSEN = Claim(
    "Half of the items that an uncertain model chooses shows too high a risk",
    "LabelQueue (ours)",
    "mean bias above 0 by more than two standard errors",
    NEEDS,
)
BATCHES = Claim(
    "Labels in batches of 40 serve the worst-off group as labels one by one do",
    "LabelQueue (ours)",
    "mean worst risk higher by less than .01",
    NEEDS,
)
NOISE = Claim(
    "Wrong labels in the easy group draw the sampler away from the hard one",
    "LabelQueue (ours)",
    "share of the hard group lower and its risk higher, each by more than two standard errors",
    NEEDS,
)
ITEMS = 1200
"""Items of each group."""
FLIPPED = 0.25
LOOK: dict[str, Any] = {"medianprops": {"color": SHADES[1], "linewidth": 1.6}}


@experiment("sampling/labels", "A queue of items to label", full=Labels(), quick=Labels(trials=6, labels=200))
def labels(settings: Labels, runner: Runner) -> Report:
    """Label pools of two Gaussian groups by a queue, and compare what it sees with the risks over whole pools."""
    import pandas as pd

    found = run_all(_trial, ((settings, trial) for trial in range(settings.trials)), runner.jobs)
    frame = pd.DataFrame(found)
    drawn, (bias, share) = figure(9.5, 3.6, columns=2)
    names = {"fixed_bias": "fixed before", "left_bias": "left over", "chosen_bias": "half of the chosen"}
    bias.boxplot([frame[name] for name in names], tick_labels=list(names.values()), **LOOK)
    bias.axhline(0.0, **DASHED)
    finish(bias, "Bias by the items that validate", "items that validate", "validation risk minus risk", legend=False)
    share.boxplot([frame["share"], frame["noisy_share"]], tick_labels=["all true", f"{FLIPPED:.0%} wrong"], **LOOK)
    title = "Wrong labels in the easy group u draw rows from v"
    finish(share, title, "labels of group u", "share of group v in the training set", legend=False)
    share.set_ylim(0, 1)
    return Report(data={"trials": frame}, figures={"labels": drawn}, verdicts=_verdicts(frame, settings))


def _verdicts(frame: Any, settings: Labels) -> list[Verdict]:
    trials = settings.trials

    def said(values: Any) -> str:
        return f"{values.mean():+.4f} +- {values.sem():.4f}"

    fixed, left, chosen = (frame[name] for name in ("fixed_bias", "left_bias", "chosen_bias"))
    cost = frame["batch_risk"] - frame["risk"]
    moved, harm = frame["share"] - frame["noisy_share"], frame["noisy_risk"] - frame["risk"]
    unbiased = bool(abs(fixed.mean()) < min(3 * fixed.sem(), 0.015))
    both = [moved, harm]
    return [
        FIXED.verdict(unbiased, said(fixed), settings),
        LEFT.verdict(bool(-left.mean() > 2 * left.sem()), said(left), settings,
                     certainty=certainty(left.mean(), left.sem(), trials)),
        CHOSEN.verdict(bool(chosen.mean() > 2 * chosen.sem()), said(chosen), settings,
                       certainty=certainty(chosen.mean(), chosen.sem(), trials)),
        BATCHES.verdict(
            bool(cost.mean() < 0.01),
            f"worst risk {frame['batch_risk'].mean():.4f} against {frame['risk'].mean():.4f}, cost {said(cost)}",
            settings,
        ),
        NOISE.verdict(
            all(bool(values.mean() > 2 * values.sem()) for values in both),
            f"share {frame['noisy_share'].mean():.2f} for {frame['share'].mean():.2f}, "
            f"worst risk {frame['noisy_risk'].mean():.4f} for {frame['risk'].mean():.4f}", settings,
            certainty=certainty([v.mean() for v in both], [v.sem() for v in both], trials),
        ),
    ]  # fmt: skip


def _trial(settings: Labels, trial: int) -> dict[str, float]:
    X, y, groups = _pool(child(settings.seed, trial, 0))
    seed = child(settings.seed, trial, 1)
    one = _labelled(X, y, groups, settings.labels, seed)
    batch = _labelled(X, y, groups, settings.labels, seed, at_once=40)
    flipped = (generator(seed, 2).random(len(y)) < FLIPPED) & (groups == "u")
    noisy = _labelled(X, np.where(flipped, 1 - y, y), groups, settings.labels, seed)
    return {
        **_biases(one, X, y, groups, generator(seed, 3)),
        "risk": _worst(one.model, X, y, groups),
        "batch_risk": _worst(batch.model, X, y, groups),
        "noisy_risk": _worst(noisy.model, X, y, groups),
        "share": float((one.training["group"] == "v").mean()),
        "noisy_share": float((noisy.training["group"] == "v").mean()),
    }


def _pool(seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    world = SyntheticModel1(instance="I")
    world.reset(seed)
    parts = [world.respond(Draw(1, 1, group, index, ITEMS, "")) for index, group in enumerate("uv")]
    X, y = (np.concatenate(both) for both in zip(*parts, strict=True))
    return X, y.astype(int), np.repeat(["u", "v"], ITEMS)


def _labelled(X: Any, y: Any, groups: Any, budget: int, seed: int, at_once: int = 1) -> LabelQueue:
    queue = LabelQueue(range(len(y)), X, groups=groups.tolist(), seed=seed)
    for _ in range(budget // at_once):
        for item in queue.ask(at_once):
            queue.tell(item, int(y[item]))
    return queue


def _worst(model: Any, X: Any, y: Any, groups: Any) -> float:
    wrong = model.predict(X) != y
    return float(max(wrong[groups == group].mean() for group in "uv"))


def _biases(queue: LabelQueue, X: Any, y: Any, groups: Any, draws: np.random.Generator) -> dict[str, float]:
    """Return the bias of three ways to validate in group v, where the model is uncertain most often."""
    wrong = queue.model.predict(X) != y
    mine = groups == "v"
    chosen = queue.training.loc[queue.training["group"] == "v", "id"].to_numpy()
    fixed = queue.validation.loc[queue.validation["group"] == "v", "id"].to_numpy()
    left = mine.copy()
    left[[*chosen, *fixed]] = False
    held = draws.permutation(chosen)[: len(chosen) // 2]
    rest = queue.training.loc[~queue.training["id"].isin(held), "id"].to_numpy()
    half = LogisticModel().fit(X[rest], y[rest]).predict(X) != y
    return {
        "fixed_bias": float(wrong[fixed].mean() - wrong[mine].mean()),
        "left_bias": float(wrong[left].mean() - wrong[mine].mean()),
        "chosen_bias": float(half[held].mean() - half[mine].mean()),
    }
