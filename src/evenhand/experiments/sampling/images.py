"""FashionMNIST, CIFAR-10 and UTKFace with the paper's networks (Figures 4-6, 11, 13, 14): made for a GPU, resumable.

Each scheme and trial is saved at every checkpoint; the same command goes on where it stopped. Before it starts, one
step is timed and the expected cost is printed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.datasets.images import Images as Pictures
from evenhand.datasets.images import scaled
from evenhand.experiments.framework import Claim, Report, Runner, experiment
from evenhand.experiments.sampling.settings import Images
from evenhand.experiments.sampling.tables import ADAPTIVE, BEATS_UNIFORM, at_last, schemes_for, table_1
from evenhand.experiments.sampling.trials import Scheme
from evenhand.plots.sampling import plot_worst_risk
from evenhand.plots.style import figure
from evenhand.rng import child, generator
from evenhand.sampling import ArrayPool, OptimisticSampler, TorchModel, collect, group_errors, label_pairs
from evenhand.sampling.rows import Rows
from evenhand.sampling.torch_model import torch_module
from evenhand.state import load, save

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cifar10_experiment", "expected_seconds", "fashion_mnist_experiment", "utkface_experiment"]

QUICK: dict[str, Any] = {"trials": 1, "rounds": 3, "batch": 10, "step": "epoch", "test_rows": 200, "checkpoints": 3}
SAVE_EVERY = 60.0
"""Seconds between two savings of a running collection; a finished one leaves its history alone."""
PAIRS = {
    "fashion-mnist": (
        ("T-shirt", "Shirt"), ("Trouser", "Dress"), ("Pullover", "Coat"), ("Sandal", "Bag"),
        ("Sneaker", "Ankle boot"),
    ),
    "cifar10": (("airplane", "ship"), ("automobile", "truck"), ("bird", "cat"), ("deer", "dog"), ("frog", "horse")),
}  # fmt: skip
NEEDS = {"rounds": 200, "trials": 10}
LEVEL = Claim(
    "A_opt reaches an accuracy of 0.936 on the worst-off pair", "Table 1, FashionMNIST", "within 0.01 of it", NEEDS
)


class Task(NamedTuple):
    """A pool to draw from, held-out rows, and the network's shape."""

    pool: ArrayPool
    X: Any
    y: Any
    group: Any
    shape: dict[str, Any]


@experiment(
    "sampling/fashion-mnist",
    "FashionMNIST: accuracy of the worst-off pair",
    full=Images("fashion-mnist", rounds=500, trials=10),
    quick=Images("fashion-mnist", **QUICK),
)
def fashion_mnist_experiment(settings: Images, runner: Runner) -> Report:
    """Five pairs of clothes; the network without the second convolution."""
    from evenhand.datasets.fashion_mnist import fashion_mnist

    def task(seed: int) -> Task:
        return _pairs(fashion_mnist(), settings, {"channels": 1, "size": 28, "second": False, "seed": seed})

    report = _run(settings, runner, task)
    ends = at_last(report.data["history"], "A_opt")
    report.verdicts.append(LEVEL.verdict(abs(ends.mean() - 0.936) <= 0.01, f"{ends.mean():.4f}", settings))
    return report


@experiment(
    "sampling/cifar10",
    "CIFAR-10: accuracy of the worst-off pair",
    full=Images("cifar10", rounds=500, trials=10),
    quick=Images("cifar10", **QUICK),
)
def cifar10_experiment(settings: Images, runner: Runner) -> Report:
    """Five pairs of animals and vehicles."""
    from evenhand.datasets.cifar10 import cifar10

    def task(seed: int) -> Task:
        return _pairs(cifar10(), settings, {"channels": 3, "size": 32, "second": True, "seed": seed})

    return _run(settings, runner, task)


@experiment(
    "sampling/utkface",
    "UTKFace: accuracy of gender in the worst-off ethnicity",
    full=Images("utkface", rounds=200, trials=10),
    quick=Images("utkface", **QUICK),
)
def utkface_experiment(settings: Images, runner: Runner) -> Report:
    """Gender by five ethnicities, a fresh split for each trial: four fifths to draw from."""
    from evenhand.datasets.utkface import ETHNICITIES, utkface

    def task(seed: int) -> Task:
        faces = utkface()
        group = np.array(ETHNICITIES)[faces.ethnicity]
        order = generator(seed, 2).permutation(len(group))
        drawn, held = order[: 4 * len(order) // 5], order[4 * len(order) // 5 :]
        pool = ArrayPool(scaled(faces.images[drawn]), faces.gender[drawn], group=group[drawn], replace=settings.replace)
        shape = {"channels": 3, "size": 50, "second": True, "seed": seed}
        return Task(pool, scaled(faces.images[held]), faces.gender[held], group[held], shape)

    return _run(settings, runner, task)


def _pairs(pictures: Pictures, settings: Images, shape: dict[str, Any]) -> Task:
    numbers = {name: i for i, name in enumerate(pictures.names)}
    pairs: dict[Any, Any] = {f"{a} / {b}": (numbers[a], numbers[b]) for a, b in PAIRS[settings.data]}
    pool = label_pairs(scaled(pictures.train), pictures.train_labels, pairs, replace=settings.replace)
    held = label_pairs(scaled(pictures.test), pictures.test_labels, pairs)
    return Task(pool, held.X, held.y, np.array(held.groups)[held.group], shape)


def _cut(task: Task, settings: Images) -> Task:
    """Keep `test_rows` of the held-out rows, where there are so many."""
    if settings.test_rows is None or settings.test_rows >= len(task.y):
        return task
    kept = generator(settings.seed, 3).permutation(len(task.y))[: settings.test_rows]
    return task._replace(X=task.X[kept], y=task.y[kept], group=task.group[kept])


def _model(settings: Images, task: Task) -> TorchModel:
    from evenhand.sampling.networks import ConvolutionalNetwork

    torch = torch_module()
    device = settings.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    step: Any = settings.step
    return TorchModel(ConvolutionalNetwork(**task.shape), step=step, batch_size=settings.batch, device=device)


def _schemes(settings: Images, task: Task) -> dict[str, Scheme]:
    more: dict[str, Any] = {
        "model": _model(settings, task), "batch": settings.batch, "classes": [0, 1],
        "validation_rows": settings.validation_rows,
    }  # fmt: skip
    groups = task.pool.groups
    plus: dict[str, Scheme] = {
        "A_opt+": lambda seed: OptimisticSampler(
            groups, exploration=settings.exploration, trend=settings.trend, seed=seed, **more
        )
    }
    return {**schemes_for(groups, task.pool.proportions, **more), **plus}


def expected_seconds(settings: Images, task: Task, schemes: int) -> float:
    """Return the expected seconds of the whole experiment: a timed round, and how rounds grow with what is
    collected.
    """
    model = _model(settings, task)
    model.begin((0, 1))
    rows, per_round = Rows(1), settings.batch
    count = min(10 * per_round, len(task.pool.y))
    rows.append(task.pool.X[:count], (np.arange(count) % 2).tolist(), 0)
    model.update(rows, 0)
    started = time.perf_counter()
    model.update(rows, 0)
    model.codes(rows.X[:count])
    each = (time.perf_counter() - started) / count
    growth = settings.rounds * (settings.rounds + 1) / 2 * per_round
    collected = min(growth, settings.rounds * len(task.pool.y) / 2)
    tests = settings.checkpoints * min(len(task.y), settings.test_rows or len(task.y)) / 2
    return each * schemes * settings.trials * (collected + tests)


def _run(settings: Images, runner: Runner, task_for: Callable[[int], Task]) -> Report:
    import pandas as pd

    first = _cut(task_for(child(settings.seed, 0)), settings)
    names = list(_schemes(settings, first))
    seconds = expected_seconds(settings, first, len(names))
    device = _model(settings, first).device
    print(
        f"{settings.data}: {len(names)} schemes x {settings.trials} trials x {settings.rounds} rounds on {device}: "
        f"about {seconds / 60:.1f} minutes; interrupted, the same command goes on",
        file=sys.stderr,
    )
    parts = []
    for trial in range(settings.trials):
        task = first if trial == 0 else _cut(task_for(child(settings.seed, trial)), settings)
        for number, (name, scheme) in enumerate(_schemes(settings, task).items()):
            sampler = scheme(child(settings.seed, trial, number))
            file = None if runner.store is None else runner.store / f"{trial}-{number}.evenhand"
            history = _collected(sampler, task, child(settings.seed, trial, 99), settings, file)
            parts.append(history.assign(scheme=name, trial=trial))
    frame = pd.concat(parts, ignore_index=True)
    drawn, axes = figure()
    plot_worst_risk(frame, axes)
    report = Report(data={"history": frame, "table_1": table_1(frame.assign(final_risk=frame["test_risk"]))})
    report.figures["worst_risk"] = drawn
    uniform = at_last(frame, "Uniform")
    for name in (*ADAPTIVE, "A_opt+"):
        ends = at_last(frame, name)
        claim = Claim(BEATS_UNIFORM.says.format(name), "Table 1", BEATS_UNIFORM.tolerance, NEEDS)
        gain = ends - uniform
        beyond = 2 * gain.sem() if settings.trials > 1 else np.inf
        told = f"{ends.mean():.4f} against {uniform.mean():.4f}"
        report.verdicts.append(claim.verdict(gain.mean() > beyond, told, settings))
    report.remarks.append(f"Expected before the start: {seconds / 60:.1f} minutes on {device}.")
    if settings.trials == 1:
        report.remarks.append("One trial and few rounds: this shows that the experiment runs, and judges no claim.")
    return report


def _collected(sampler: Any, task: Task, seed: int, settings: Images, file: Path | None) -> pd.DataFrame:
    """Run one collection, or take it up where `file` (its state) and the history beside it stopped."""
    import pandas as pd

    history: list[pd.DataFrame] = []
    done, partial = (None, None) if file is None else (file.with_suffix(".csv"), file.with_suffix(".part.csv"))
    if done is not None and done.exists():
        return pd.read_csv(done)
    if file is not None and partial is not None and file.exists():
        sampler, noted = load(file), pd.read_csv(partial)
        history.append(noted[noted["round"] <= sampler.rounds])
    pool = task.pool
    pool.reset(seed)
    drawn = sampler.training.by_group + sampler.validation.by_group
    pool.advance({group: int(n) for group, n in zip(pool.groups, drawn, strict=True)})
    saved = time.perf_counter()
    for part in range(1, settings.checkpoints + 1):
        upto = round(settings.rounds * part / settings.checkpoints)
        if upto <= sampler.rounds:
            continue
        history.append(
            collect(
                sampler, pool, rounds=upto, checkpoints=[upto],
                test=lambda model: group_errors(model, task.X, task.y, groups=task.group),
            )
        )  # fmt: skip
        if file is not None and partial is not None and time.perf_counter() - saved > SAVE_EVERY:
            file.parent.mkdir(parents=True, exist_ok=True)
            pd.concat(history).to_csv(partial, index=False)
            save(sampler, file)
            saved = time.perf_counter()
        if sampler.rounds < upto:
            break
    found = pd.concat(history, ignore_index=True)
    if file is not None and done is not None and partial is not None:
        done.parent.mkdir(parents=True, exist_ok=True)
        found.to_csv(done, index=False)
        file.unlink(missing_ok=True)
        partial.unlink(missing_ok=True)
    return found
