"""What a queue of items gains over labels that are drawn uniformly (ours), on handwritten digits and on Adult."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.datasets.adult import FEATURES, adult
from evenhand.experiments.claims import critical_value
from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.experiments.sampling.settings import UniformLabels
from evenhand.rng import child, generator
from evenhand.sampling import LabelQueue, LogisticModel, TablePool, group_errors
from evenhand.simulation.tasks import run_all

__all__ = ["adult_labels", "digits_labels"]

POOL = 1200
"""Digits to label; the others test."""
DIGITS = UniformLabels(labels=(100, 200, 400, 800))
ADULT = UniformLabels(labels=(200, 400, 800, 1600))


class Part(NamedTuple):
    """Rows with labels and groups."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    group: NDArray[Any]

    def taken(self, rows: NDArray[np.int64]) -> Part:
        """Return some of the rows."""
        return Part(self.X[rows], self.y[rows], self.group[rows])


@experiment(
    "sampling/labels-digits",
    "A queue of digits against uniform labelling",
    full=DIGITS,
    quick=UniformLabels(trials=4, labels=(50, 100)),
)
def digits_labels(settings: UniformLabels, runner: Runner) -> Report:
    """Label digits as odd or even; the groups are 0 and 1, 2 and 3, and so on. Each trial has another split."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    every = Part(X / 16.0, digit % 2, digit // 2)

    def split(seed: int) -> tuple[Part, Part]:
        order = generator(seed).permutation(len(digit))
        return every.taken(order[:POOL]), every.taken(order[POOL:])

    return _report("digits", split, settings, runner, DIGITS)


@experiment(
    "sampling/labels-adult",
    "A queue of Adult's rows against uniform labelling",
    full=ADULT,
    quick=UniformLabels(trials=4, labels=(100, 200)),
)
def adult_labels(settings: UniformLabels, runner: Runner) -> Report:
    """Label rows of the official training set; all trials share the test set."""
    data = adult()
    rows = TablePool(data.train, group="group", label="income", features=list(FEATURES))
    pool, test = (Part(*map(np.asarray, rows.held_out(frame))) for frame in (data.train, data.test))
    return _report("Adult", lambda seed: (pool, test), settings, runner, ADULT)


def _report(
    name: str, split: Callable[[int], tuple[Part, Part]], settings: UniformLabels, runner: Runner, full: UniformLabels
) -> Report:
    import pandas as pd

    found = run_all(_trial, ((split, settings, t) for t in range(settings.trials)), runner.jobs)
    frame = pd.DataFrame([row for rows in found for row in rows])
    frame["gain"] = frame["uniform"] - frame["queue"]
    means = frame.groupby("labels").agg(
        uniform=("uniform", "mean"), queue=("queue", "mean"), gain=("gain", "mean"), error=("gain", "sem")
    )
    claim = Claim(
        f"Labels that the queue asks for serve the worst-off group of {name} better than as many drawn uniformly",
        "LabelQueue (ours)",
        "mean gain above t standard errors at every number of labels, where t is Student's 97.5 % quantile",
        {"trials": full.trials, "labels": max(full.labels)},
    )
    said = "; ".join(
        f"{labels} labels: {row.queue:.4f} against {row.uniform:.4f}, gain {row.gain:+.4f} +- {row.error:.4f}"
        for labels, row in means.iterrows()
    )
    beyond = bool((means["gain"] > critical_value(settings.trials) * means["error"]).all())
    data = {"trials": frame, "means": means.reset_index()}
    return Report(data=data, verdicts=[claim.verdict(beyond, said, settings)])


def _trial(split: Callable[[int], tuple[Part, Part]], settings: UniformLabels, trial: int) -> list[dict[str, float]]:
    """Return the test risk of the worst-off group after so many labels: of the queue's final model, which trains on all
    of them, and of the same model on as many rows in random order.
    """
    pool, test = split(child(settings.seed, trial, 0))
    queue = LabelQueue(range(len(pool.y)), pool.X, groups=pool.group.tolist(), seed=child(settings.seed, trial, 1))
    order = generator(settings.seed, trial, 2).permutation(len(pool.y))
    told, rows = 0, []
    for labels in settings.labels:
        while told < labels:
            (item,) = queue.ask(1)
            queue.tell(item, int(pool.y[item]))
            told += 1
        uniform = LogisticModel().fit(pool.X[order[:labels]], pool.y[order[:labels]])
        asked = queue.sampler.finish().model
        rows.append({"trial": trial, "labels": labels, "queue": _worst(asked, test), "uniform": _worst(uniform, test)})
    return rows


def _worst(model: Any, test: Part) -> float:
    return float(group_errors(model, test.X, test.y, groups=test.group).max())
