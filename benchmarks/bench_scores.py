"""Three workers on one store: a model outside whose scores are given, beside the same model as a learner in an adapter.

python -m benchmarks.bench_scores [--out DIR] [--quick]

Twelve arms of eight features, four with a share, a store in a file. Each worker asks and tells in turn. As a learner
each arm has a model, which every worker trains on every reward; outside there is one, trained before.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time

import numpy as np
from sklearn.linear_model import Ridge, SGDRegressor

import evenhand as eh
from benchmarks.timing import Measure, options, report
from evenhand.learners import Scores, from_sklearn

ARMS = [f"arm {place}" for place in range(12)]
OWED = {arm: 0.05 if place < 4 else 0 for place, arm in enumerate(ARMS)}
LEARNERS = {
    "Scores": Scores,
    "SGDRegressor": lambda: from_sklearn(SGDRegressor(), seed=1),
    "Ridge": lambda: from_sklearn(Ridge(), seed=1),
}


def work(store: str, outside: bool, seed: int, rounds: int) -> tuple[list[float], float]:
    """Return how long each ask took, with the prediction of a model outside, and what the processor took for a round;
    in milliseconds, without the first round, which compiles."""
    random = np.random.default_rng(seed)
    model = Ridge().fit(random.random((500, 8)), random.random(500))
    waits, started = [], 0.0
    with eh.Study.open(store) as study:
        for _ in range(rounds):
            rows, begun = random.random((12, 8)), time.perf_counter()
            given = {"scores": dict(zip(ARMS, model.predict(rows), strict=True))} if outside else {"contexts": rows}
            decision = study.ask(**given)
            waits.append(1000 * (time.perf_counter() - begun))
            study.tell(decision, float(random.random() < rows[decision.index].mean()))
            started = started or time.process_time()
    return waits[1:], 1000 * (time.process_time() - started) / (rounds - 1)


def main() -> None:
    arguments = options(__doc__)
    rounds = 50 if arguments.quick else 500
    measures: list[Measure] = []
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(3) as pool:
        for name, learner in LEARNERS.items():
            store = f"{folder}/{name}.evenhand"
            eh.Study.create(store, eh.quotas.DeadlineLearn(learner(), OWED, seed=1)).close()
            found = pool.starmap(work, [(store, name == "Scores", seed, rounds) for seed in range(3)])
            waits = statistics.quantiles([wait for one, _ in found for wait in one], n=100)
            measures += [Measure(f"{name}: ask, p{p}", waits[p - 1], "ms") for p in (50, 99)]
            processor = statistics.mean(took for _, took in found)
            measures.append(Measure(f"{name}: processor for a round of one worker", processor, "ms"))
    report("scores", "Three workers on one store", measures)


if __name__ == "__main__":
    main()
