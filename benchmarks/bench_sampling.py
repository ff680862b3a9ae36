"""Speed of adaptive sampling: exact refits against scikit-learn's, Figure 2 as a whole, and how a round grows.

    python benchmarks/bench_sampling.py [--quick]

Both sides of a ratio run in one process on one thread and are measured in processor time. The Adult rows need
EVENHAND_DATA.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from evenhand.errors import DatasetError
from evenhand.experiments.sampling.synthetic import in_model_1, three_schemes
from evenhand.experiments.sampling.trials import SyntheticTrials, run_trials
from evenhand.sampling import EstimatorModel, OptimisticSampler, SyntheticModel1, TablePool, UniformSampler


def collected(sampler: Any, world: Any, rounds: int) -> tuple[float, Any]:
    """Return the processor seconds of the conversation, the world's share taken out, and the sampler."""
    world.reset(1)
    spent = 0.0
    for _ in range(rounds):
        started = time.process_time()
        draw = sampler.ask()
        spent += time.process_time() - started
        rows = world.respond(draw)
        started = time.process_time()
        sampler.tell(draw, *rows)
        spent += time.process_time() - started
    return spent, sampler


def error(sampler: Any) -> float:
    """Return how far the coefficients are from scikit-learn's at tight tolerance."""
    n = sampler.training.count
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)
    exact.fit(sampler.training.X[:n], sampler.training.y[:n])
    off = np.append(exact.coef_[0], exact.intercept_) - np.append(sampler.model.coef_[0], sampler.model.intercept_)
    return float(np.abs(off).max())


def against_lbfgs(name: str, world: Any, rounds: int, goal: int) -> None:
    """Print our seconds, scikit-learn's, the ratio and the error of the coefficients."""
    collected(OptimisticSampler(world.groups, classes=[0, 1], seed=0), world, 20)
    ours, mine = collected(OptimisticSampler(world.groups, classes=[0, 1], seed=0), world, rounds)
    scikit = OptimisticSampler(world.groups, LogisticRegression(), classes=[0, 1], seed=0)
    theirs, _ = collected(scikit, world, rounds)
    seconds = f"{ours:9.3f} s {theirs:9.2f} s {theirs / ours:7.0f} x"
    print(f"{name:<42} {seconds}   goal {goal} x   coefficients off by {error(mine):.0e}")


def adult_pool() -> TablePool:
    """Return the training split of Adult as a pool."""
    from evenhand.datasets.tables import ADULT_FEATURES, load_adult

    return TablePool(load_adult().train, group="group", label="income", features=list(ADULT_FEATURES))


def growth(make: Callable[[], Any], world: Any, sizes: list[int], name: str) -> None:
    """Print the cost of a round after so many rounds."""
    world.reset(2)
    sampler, cells = make(), []
    for size in sizes:
        while sampler.rounds < size:
            draw = sampler.ask()
            sampler.tell(draw, *world.respond(draw))
        spent, _ = _next_rounds(sampler, world, 10)
        cells.append(f"{1e3 * spent / 10:8.3f} ms at {size}")
    print(f"{name:<42} " + "  ".join(cells))


def _next_rounds(sampler: Any, world: Any, rounds: int) -> tuple[float, Any]:
    started = time.process_time()
    for _ in range(rounds):
        draw = sampler.ask()
        sampler.tell(draw, *world.respond(draw))
        sampler.validation_losses()
    return time.process_time() - started, sampler


class Pictures:
    """A world of noise pictures, 1 x 28 x 28, that never runs dry."""

    groups = ("u", "v")

    def reset(self, seed: int) -> None:
        """Start anew."""
        self.rng = np.random.default_rng(seed)

    def respond(self, draw: Any) -> tuple[Any, Any]:
        """Return pictures and labels."""
        return self.rng.random((draw.count, 1, 28, 28), dtype=np.float32), self.rng.integers(0, 2, draw.count)


class Embeddings:
    """A world of rows with d features, an eighth of which tell the classes apart: of length 1, or not scaled."""

    groups = ("u", "v")

    def __init__(self, d: int, *, scaled: bool = True) -> None:
        self.d, self.scaled = d, scaled

    def reset(self, seed: int) -> None:
        """Start anew."""
        self.rng = np.random.default_rng(seed)

    def respond(self, draw: Any) -> tuple[Any, Any]:
        """Return rows and labels."""
        y = self.rng.integers(0, 2, draw.count)
        X = self.rng.normal(size=(draw.count, self.d))
        telling = max(1, self.d // 8)
        X[:, :telling] += (2 * y - 1)[:, None] * 0.7 / np.sqrt(telling)
        return X / np.linalg.norm(X, axis=1, keepdims=True) if self.scaled else X, y


def embeddings(quick: bool) -> None:
    """Print the cost of a round with many features, beside scikit-learn's fits of the same rows, cold and warm."""
    print("\nA round of embeddings: ours, LogisticRegression() cold, and with warm_start=True after each round, ms;")
    print("how far the coefficients are off, ours and the warm ones:")
    widths = (128, 768) if quick else (2, 32, 128, 200, 400, 768, 1200, 2000)
    for d, scaled in [*((d, True) for d in widths), (768, False), (2000, False)]:
        world = Embeddings(d, scaled=scaled)
        world.reset(d)
        sampler = UniformSampler(world.groups, classes=[0, 1], seed=1)
        for rounds in (100, 300) if quick else (100, 300, 1000):
            while sampler.rounds < rounds - 20:
                draw = sampler.ask()
                sampler.tell(draw, *world.respond(draw))
            ours, cold, warm, off = _beside(sampler, world)
            print(
                f"{d:>5} features{'' if scaled else ', unscaled'} at {rounds:>4} "
                f"{ours:8.2f} {cold:8.2f} {warm:8.2f}   {error(sampler):.0e} {off:.0e}"
            )


def _beside(sampler: Any, world: Any) -> tuple[float, float, float, float]:
    """Return the milliseconds of a round of ours, a cold and a warm fit over the next 20 rounds, and how far the warm
    one's coefficients are off.
    """
    ours = cold = warm = 0.0
    kept, rows = LogisticRegression(warm_start=True), sampler.training
    kept.fit(rows.X[: rows.count], rows.y[: rows.count])
    for _ in range(20):
        ours += _next_rounds(sampler, world, 1)[0]
        X, y = rows.X[: rows.count], rows.y[: rows.count]
        started = time.process_time()
        LogisticRegression().fit(X, y)
        middle = time.process_time()
        kept.fit(X, y)
        cold, warm = cold + middle - started, warm + time.process_time() - middle
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X, y)
    off = float(max(np.abs(exact.coef_ - kept.coef_).max(), abs(exact.intercept_ - kept.intercept_)[0]))
    return 50 * ours, 50 * cold, 50 * warm, off


def main(quick: bool) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print(f"{'':<42} {'evenhand':>11} {'lbfgs':>11} {'ratio':>9}")
    against_lbfgs("A_opt, SyntheticModel1, 1000 rounds", SyntheticModel1(instance="I"), 1000, 40)
    rounds = 200 if quick else 1000
    try:
        pool = adult_pool()
        against_lbfgs(f"A_opt, Adult (108 features), {rounds} rounds", pool, rounds, 15)
    except DatasetError as absent:
        pool = None
        print(f"Adult left out: {absent}")
    settings = SyntheticTrials(trials=10 if quick else 100, seed=1)
    started = time.perf_counter()
    run_trials(three_schemes(), lambda seed: in_model_1("I", seed), settings, jobs=2)
    took = time.perf_counter() - started
    print(f"Figure 2, {settings.trials} trials x 3 schemes, two workers: {took:.1f} s (goal 60 s for 100)")
    embeddings(quick)
    print("\nCost of a round after so many rounds (training and validation):")
    sizes = [250, 500, 1000, 2000]
    plain = SyntheticModel1(instance="I")
    growth(lambda: OptimisticSampler(["u", "v"], seed=0), plain, sizes, "logistic, 2 features")
    if pool is not None:
        growth(lambda: OptimisticSampler(pool.groups, classes=[0, 1], seed=0), pool, sizes, "logistic, 108 features")
    try:
        import torch

        from evenhand.experiments.sampling.networks import paper_network
    except ImportError:
        print("networks left out: torch or skorch is not installed")
        return
    torch.set_num_threads(1)
    for refit, recent in (("exact", None), ("partial_fit", None), ("partial_fit", 50)):

        def make(refit: Any = refit, recent: Any = recent) -> Any:
            network = paper_network({"channels": 1, "size": 28, "second": False}, False, "cpu")
            model = EstimatorModel(network, refit=refit)
            return OptimisticSampler(["u", "v"], model, batch=10, validation_rows=recent, seed=0)

        name = f"network, refit={refit!r}, validation_rows={recent}"
        growth(make, Pictures(), [5, 10, 20] if quick else [10, 20, 40], name)


if __name__ == "__main__":
    with threadpool_limits(1):
        main("--quick" in sys.argv)
