"""FashionMNIST, CIFAR-10 and UTKFace with the paper's networks (Figures 4-6, 11, 13, 14): made for a GPU, resumable.

Each scheme and trial is a job of its own, whose history is kept; the same command adds those that are missing.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evenhand.datasets.images import scaled
from evenhand.errors import ArgumentError, expected
from evenhand.experiments.framework import Claim, ClaimVerdict, Report, Runner, experiment
from evenhand.experiments.sampling.tables import (
    ADAPTIVE,
    BEYOND,
    UNFINISHED,
    against_uniform,
    at_last,
    schemes_for,
    table_1,
    verdicts_on_table_1,
)
from evenhand.experiments.sampling.trials import ImageTrials, Scheme, over_trials, worst_risks
from evenhand.extras import optional
from evenhand.jobs import run_all
from evenhand.plots.means import plot_means
from evenhand.plots.style import figure
from evenhand.rng import child, generator
from evenhand.sampling import ArrayPool, EstimatorModel, OptimisticSampler, collect, group_errors, label_pairs
from evenhand.saving.state import write

NEEDS = {"rounds": 200, "trials": 3}
"""A gain is judged by Student's law, so three trials suffice for a verdict: it then needs 4.3 standard errors."""
LATE = 0.3
"""The share of the rounds after which schemes are compared: before it, all of them are in the safe start's reach."""
WHERE = "Figures 4-6, 11, 13, 14"
AHEAD = Claim(
    "A_opt is ahead of Uniform on the worst-off group while it collects",
    WHERE,
    f"mean gain over Uniform at rounds 60 to 200 (30 % to the end) above {BEYOND}",
    NEEDS,
)
MIXTURE = Claim(
    "A_opt draws most from the group that is worst off under Uniform",
    "Figure 4",
    "at the last round of every trial, that group has the largest share of the training rows",
    NEEDS,
)
PUBLISHED = {"fashion-mnist": (0.936, 500), "utkface": (0.946, 200)}
"""Of A_opt in Table 1, after so many rounds."""
LEVEL = Claim(
    "A_opt reaches the published accuracy of the worst-off group", "Table 1", "within 0.01", {"trials": 3, "batch": 50}
)
PAIRS = {
    "fashion-mnist": (
        ("T-shirt", "Shirt"),
        ("Trouser", "Dress"),
        ("Pullover", "Coat"),
        ("Sandal", "Bag"),
        ("Sneaker", "Ankle boot"),
    ),
    "cifar10": (("airplane", "ship"), ("automobile", "truck"), ("bird", "cat"), ("deer", "dog"), ("frog", "horse")),
}
QUICK: dict[str, Any] = {"trials": 1, "rounds": 3, "batch": 10, "test_rows": 200, "checkpoints": 3}
REDUCED: dict[str, Any] = {"trials": 3, "rounds": 200, "mixed_precision": True}
SCHEMES = (*ADAPTIVE, "Uniform", "Uncurated", "A_opt+")


def image_report(frame: pd.DataFrame, settings: ImageTrials) -> Report:
    """Return the verdicts, tables and pictures of the histories of all schemes and trials."""
    drawn, (shares, risks) = figure(11.0, 3.8, columns=2)
    mixture = over_trials(frame[frame["scheme"] == "A_opt"], "share", "group").assign(scheme="A_opt", measure="share")
    labels = {"across": "round", "title": "Mixture of the training set, A_opt", "up": "share of the rows"}
    plot_means(mixture, "round", "group", of="trials", **labels, ax=shares)
    shares.set_ylim(0, 1)
    worst = over_trials(worst_risks(frame), "test_risk")
    labels |= {"title": f"Risk of the worst-off group, {settings.data}", "up": "risk (1 - accuracy)"}
    plot_means(worst, "round", "scheme", of="trials", **labels, ax=risks)
    ends = table_1(frame.assign(final_risk=frame["test_risk"])).drop(
        columns=["accuracy_after_refit", "accuracy_after_refit_deviation"]
    )
    figures = {"mixture_and_risk": (drawn, pd.concat([mixture, worst.assign(measure="worst test risk")]))}
    report = Report(data={"history": frame, "table_1": ends}, figures=figures)
    report.verdicts += verdicts_on_table_1(frame, settings, (*ADAPTIVE, "A_opt+"), "Table 1", NEEDS)
    report.verdicts.append(against_uniform(AHEAD, frame, "A_opt", settings, _late))
    report.verdicts.append(_mixture_verdict(frame, settings))
    if settings.data in PUBLISHED:
        published, rounds = PUBLISHED[settings.data]
        ends = at_last(frame, "A_opt")
        reached = f"{ends.mean():.4f} in {len(ends)} trial{'s' * (len(ends) > 1)}" if len(ends) else UNFINISHED
        trials = replace(settings, trials=len(ends))
        claim = replace(LEVEL, needs={**LEVEL.needs, "rounds": rounds})
        near = abs(ends.mean() - published) <= 0.01
        report.verdicts.append(claim.verdict(near, f"{reached}; published {published}", trials))
    if settings.trials == 1:
        report.remarks.append("A single trial has no standard error: it shows that the experiment runs.")
    return report


def _late(frame: pd.DataFrame, scheme: str) -> Any:
    """Return the worst-off group's mean test accuracy over the later rounds, by trial."""
    mine = worst_risks(frame[frame["scheme"] == scheme])
    return 1 - mine[mine["round"] >= LATE * mine["round"].max()].groupby("trial")["test_risk"].mean()


def _mixture_verdict(frame: pd.DataFrame, settings: ImageTrials) -> ClaimVerdict:
    last = frame[frame["round"] == frame.groupby(["scheme", "trial"])["round"].transform("max")]
    mine, equal = (last[last["scheme"] == name].set_index("group") for name in ("A_opt", "Uniform"))
    common = sorted(set(mine["trial"]) & set(equal["trial"]))
    hits = [
        mine.loc[mine["trial"] == trial, "share"].idxmax() == equal.loc[equal["trial"] == trial, "test_risk"].idxmax()
        for trial in common
    ]
    shares = mine.groupby("group")["share"].mean().sort_values(ascending=False)
    said = ", ".join(f"{group} {share:.2f}" for group, share in shares.items())
    trials = replace(settings, trials=len(common))
    return MIXTURE.verdict(all(hits), f"in {sum(hits)} of {len(hits)} trials; {said or UNFINISHED}", trials)


class ImageTask(NamedTuple):
    """A pool to draw from, held-out rows, and the network's shape."""

    pool: ArrayPool
    X: Any
    y: Any
    group: Any
    shape: dict[str, Any]


TaskFor = Callable[[int], ImageTask]
"""From a trial's seed to its task."""


def pairs_task(settings: ImageTrials, seed: int) -> ImageTask:
    """Return five pairs of clothes, by the network without the second convolution, or of animals and vehicles."""
    from evenhand.datasets.images import load_cifar10, load_fashion_mnist

    clothes = settings.data == "fashion-mnist"
    pictures = load_fashion_mnist() if clothes else load_cifar10()
    numbers = {name: i for i, name in enumerate(pictures.names)}
    pairs: dict[Any, Any] = {f"{a} / {b}": (numbers[a], numbers[b]) for a, b in PAIRS[settings.data]}
    pool = label_pairs(scaled(pictures.train), pictures.train_labels, pairs, replace=settings.replace)
    held = label_pairs(scaled(pictures.test), pictures.test_labels, pairs)
    shape = {"channels": 1 if clothes else 3, "size": 28 if clothes else 32, "second": not clothes, "seed": seed}
    return ImageTask(pool, held.X, held.y, np.array(held.groups)[held.group], shape)


def utkface_task(settings: ImageTrials, seed: int) -> ImageTask:
    """Return gender by five ethnicities, a fresh split for each trial: four fifths to draw from."""
    from evenhand.datasets.images import ETHNICITIES, load_utkface

    faces = load_utkface()
    group = np.array(ETHNICITIES)[faces.ethnicity]
    order = generator(seed, 2).permutation(len(group))
    drawn, held = order[: 4 * len(order) // 5], order[4 * len(order) // 5 :]
    pool = ArrayPool(scaled(faces.images[drawn]), faces.gender[drawn], group=group[drawn], replace=settings.replace)
    shape = {"channels": 3, "size": 50, "second": True, "seed": seed}
    return ImageTask(pool, scaled(faces.images[held]), faces.gender[held], group[held], shape)


def shortened(task: ImageTask, settings: ImageTrials) -> ImageTask:
    """Keep `test_rows` of the held-out rows, where there are so many."""
    if settings.test_rows is None or settings.test_rows >= len(task.y):
        return task
    kept = generator(settings.seed, 3).permutation(len(task.y))[: settings.test_rows]
    return task._replace(X=task.X[kept], y=task.y[kept], group=task.group[kept])


def _sizes(data: str, rounds: int, batch: int) -> dict[str, ImageTrials]:
    """Return the settings of each size. The reduced size draws fewer rows at a time of CIFAR-10 and UTKFace, as their
    files hold a part of the pictures."""
    full, quick = ImageTrials(data, rounds=rounds, trials=10), ImageTrials(data, **QUICK)
    return {"full": full, "quick": quick, "reduced": ImageTrials(data, batch=batch, **REDUCED)}


@experiment(
    "sampling/fashion-mnist", "FashionMNIST: accuracy of the worst-off pair", **_sizes("fashion-mnist", 500, 50)
)
@experiment("sampling/cifar10", "CIFAR-10: accuracy of the worst-off pair", **_sizes("cifar10", 500, 10))
@experiment("sampling/utkface", "UTKFace: accuracy of gender in the worst-off ethnicity", **_sizes("utkface", 200, 5))
def images(settings: ImageTrials, runner: Runner) -> Report:
    """Run the schemes on pictures."""
    task_for = utkface_task if settings.data == "utkface" else pairs_task
    return _run(settings, runner, functools.partial(task_for, settings))


def _model(settings: ImageTrials, task: ImageTask) -> EstimatorModel:
    from evenhand.experiments.sampling.networks import paper_network

    device = settings.device
    if device == "auto":
        device = "cuda" if optional("torch", "a network").cuda.is_available() else "cpu"
    return EstimatorModel(paper_network(task.shape, settings.mixed_precision, device))


def _schemes(settings: ImageTrials, task: ImageTask) -> dict[str, Scheme]:
    more: dict[str, Any] = {
        "model": _model(settings, task),
        "batch": settings.batch,
        "classes": [0, 1],
        "validation_rows": settings.validation_rows,
    }
    groups = task.pool.groups
    plus: dict[str, Scheme] = {
        "A_opt+": lambda seed: OptimisticSampler(
            groups, exploration=settings.exploration, trend=settings.trend, seed=seed, **more
        )
    }
    return {**schemes_for(groups, task.pool.proportions, **more), **plus}


def _run(settings: ImageTrials, runner: Runner, task_for: TaskFor) -> Report:
    """Collect by every scheme in every trial, the schemes of the first trial first, and report."""
    _claim_folder(settings, runner.store)
    jobs, remarks = list(itertools.product(range(settings.trials), range(len(SCHEMES)))), []
    what = f"{len(jobs)} collections"
    if runner.finished_only:
        jobs = [job for job in jobs if (file := _file(runner.store, *job)) and file.exists()]
        remarks = [f"Finished so far: {len(jobs)} of {what}."]
        if not jobs:
            raise ArgumentError(expected("--finished-only", "a folder with a finished collection", str(runner.store)))
    else:
        print(f"{settings.data}: {what}. Interrupted, the same command continues.", file=sys.stderr)
    work = ((settings, runner.store, task_for, *job) for job in jobs)
    parts = run_all(_one, work, 1 if runner.finished_only else runner.jobs)
    report = image_report(pd.concat(parts, ignore_index=True), settings)
    report.remarks += remarks
    return report


def _file(store: Path | None, trial: int, number: int) -> Path | None:
    return None if store is None else store / f"{trial}-{number}.csv"


def _one(settings: ImageTrials, store: Path | None, task_for: TaskFor, trial: int, number: int) -> pd.DataFrame:
    """Return the history of one scheme in one trial."""
    file = _file(store, trial, number)
    if file is not None and file.exists():
        return pd.read_csv(file)
    with _one_thread():
        task = shortened(task_for(child(settings.seed, trial)), settings)
        name = SCHEMES[number]
        sampler = _schemes(settings, task)[name](child(settings.seed, trial, number))
        task.pool.reset(child(settings.seed, trial, 99))
        found = collect(
            sampler,
            task.pool,
            rounds=settings.rounds,
            checkpoints=settings.checkpoints,
            test=lambda model: group_errors(model, task.X, task.y, groups=task.group),
        )
    found = found.assign(scheme=name, trial=trial)
    if file is not None:
        write(file, found.to_csv(index=False).encode())
    return found


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute on one thread: workers fill the processor, and sums come in the same order everywhere."""
    torch = optional("torch", "a network")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _claim_folder(settings: ImageTrials, store: Path | None) -> None:
    """Note the settings in the folder of finished trials.

    Raises
    ------
    ArgumentError
        If trials of other settings lie there.
    """
    if store is None:
        return
    ours = {k: v for k, v in dataclasses.asdict(settings).items() if k not in ("trials", "device")}
    noted = store / "settings.json"
    if noted.exists() and (theirs := json.loads(noted.read_text())) != ours:
        differ = [name for name in ours if theirs.get(name) != ours[name]]
        hint = "choose another folder, or delete this one"
        raise ArgumentError(
            expected("--out", "a folder without trials of other settings", f"{differ} in {store}", hint)
        )
    store.mkdir(parents=True, exist_ok=True)
    write(noted, json.dumps(ours).encode())
