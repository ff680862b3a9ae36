"""Estimators from logs, against those of obp (the Open Bandit Pipeline): DR and SNIPS over 10^6 rows, 34 arms.

python -m benchmarks.bench_evaluation [--obp PYTHON] [--quick] [--out DIR]

obp needs older libraries, so it runs in an interpreter of its own, in turns with ours: --obp names it.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import evenhand as eh
from benchmarks.timing import Measure, options, report
from evenhand.evaluation.estimators import read_candidate, read_estimates
from evenhand.evaluation.logged import Logged, read_logged
from evenhand.evaluation.value_curve import ValueCurve

ARMS = 34
LEAST = 20.0
"""obp's estimators take at least so many times as long."""
OBP = """
import json, sys, time
import numpy as np
from obp.ope import DoublyRobust, SelfNormalizedInverseProbabilityWeighting as SNIPS
data = np.load(sys.argv[1])
rows = len(data["arm"])
every = lambda one: np.repeat(one[None, :, None], rows, axis=0)
common = dict(reward=data["reward"], action=data["arm"], pscore=data["p"], action_dist=every(data["policy"]),
              position=np.zeros(rows, int))
dr = dict(common, estimated_rewards_by_reg_model=every(data["model"]))
for line in sys.stdin:
    made, given = (DoublyRobust(), dr) if line.strip() == "dr" else (SNIPS(), common)
    started = time.process_time()
    value = made.estimate_policy_value(**given)
    print(json.dumps([time.process_time() - started, value]), flush=True)
"""


def drawn(rows: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a log drawn evenly, a candidate and expected rewards."""
    random = np.random.default_rng(1)
    means, policy = random.uniform(0.1, 0.9, ARMS), random.dirichlet(np.ones(ARMS))
    arms = random.integers(ARMS, size=rows)
    rewards = (random.random(rows) < means[arms]) * 1.0
    log = pd.DataFrame({"arm": arms, "reward": rewards, "p": 1 / ARMS})
    return log, policy, np.clip(means + random.normal(0, 0.1, ARMS), 0, 1)


def estimated(logged: Logged, policy: Any, model: Any, estimator: Any) -> tuple[float, float]:
    """Return the processor's time of an estimate, with its standard error, and the value."""
    started = time.process_time()
    candidate = read_candidate(policy, logged)
    estimates = read_estimates(model, logged, past_alone=True) if estimator == "dr" else None
    value_curve = ValueCurve(logged, candidate, estimator, estimates, 8.0)
    while value_curve.rounds < len(logged.codes):
        value_curve.take(len(logged.codes), bounded=False)
    value_curve.bounds(0.05, "normal")
    return time.process_time() - started, value_curve.value


def main() -> None:
    arguments = options(__doc__, {"obp": str})
    rows, turns = (100_000, 3) if arguments.quick else (1_000_000, 10)
    log, policy, model = drawn(rows)
    columns: dict[str, Any] = {"arm": "arm", "reward": "reward", "propensity": "p"}
    logged = read_logged(log, **columns, contexts=None, position=None, order=None, unit=None)
    plain, expected = list(policy), dict(enumerate(model))
    measures = []
    for estimator in ("dr", "snips"):
        ours = [estimated(logged, plain, expected, estimator) for _ in range(turns + 1)][1:]
        spent = float(np.median([seconds for seconds, _ in ours]))
        measures.append(Measure(f"{estimator}, {rows:,} rows, {ARMS} arms", 1e3 * spent, "ms"))
        if arguments.obp:
            theirs = _obp(arguments.obp, log, policy, model, estimator, turns)
            times = float(np.median([a[0] / b[0] for a, b in zip(theirs, ours, strict=True)]))
            apart = abs(theirs[0][1] - ours[0][1])
            measures.append(Measure(f"obp's {estimator} against it", times, "times", LEAST, True))
            measures.append(Measure(f"their difference, {estimator}", apart, "", 1e-9))
    for name, settings in {"an interval at every look": {}, "a normal interval": {"interval": "normal"}}.items():
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        eh.evaluate(log, plain, **columns, **settings)
        spent = time.process_time() - started
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        measures.append(Measure(f"evaluate, from a data frame, {name}", spent, "s", remark=f"{grown:.0f} MiB more"))
    report("evaluation", "Estimators from logs", measures)


def _obp(
    python: str, log: pd.DataFrame, policy: Any, model: Any, estimator: str, turns: int
) -> list[tuple[float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.npz"
        np.savez(path, **{name: log[name].to_numpy() for name in log}, policy=policy, model=model)
        asked = "\n".join([estimator] * (turns + 1)) + "\n"
        bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [python, "-c", OBP, str(path)], input=asked, text=True, capture_output=True, check=True, env=bare
        )
        return [tuple(json.loads(line)) for line in done.stdout.splitlines() if line.startswith("[")][1:]


if __name__ == "__main__":
    main()
