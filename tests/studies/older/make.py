"""Write a store with studies of every kind of conversation, each with open tickets and keys of the older forms.

Run once with the version whose store is to be kept: python make.py 0.1.0.evenhand.gz. The version of commit 3d24932
wrote 0.1.0.evenhand.gz: snapshots that hold the open tickets, in format 1, and reasons that say "never tried before"
of arms that wait for their first reward.
"""

import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.errors import EvenhandError
from evenhand.studies import Operation, Study
from evenhand.studies.log import snapshots

ROUNDS = 14


def main(target: Path) -> None:
    snapshots.ENTRIES = 16
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "older.evenhand"
        for name, (policy, shown, happened) in conversations().items():
            study = Study.create(store, policy, name=name)
            converse(study, shown, happened)
            study.close()
        target.write_bytes(gzip.compress(store.read_bytes(), mtime=0))


def conversations():
    rng = np.random.default_rng(7)
    grouped = {"a": "m", "b": "w", "c": "w"}
    circle = np.array([[1.0, 0.0], [0.0, 0.9], [0.5, 0.5], [-0.3, 0.2]])
    sides = ["left", "right"]
    model = eh.interventions.CausalModel.from_tables(
        {"S": ["u", "v"], "D": ["no", "yes"], "Y": [0, 1]},
        {"S": [], "D": ["S"], "Y": ["D"]},
        {"S": [0.5, 0.5], "D": [[0.6, 0.4], [0.3, 0.7]], "Y": [[0.8, 0.2], [0.4, 0.6]]},
    )
    problem = eh.interventions.Problem(
        model, intervene="D", sensitive="S", outcome="Y",
        candidates={"now": model.tables["D"], "same": [[0.5, 0.5], [0.5, 0.5]]},
    )  # fmt: skip
    trial = eh.interventions.SimulatedTrial(problem)
    trial.reset(3)
    return {
        "shares": (eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1), tuple, lambda d: (d.id % 3 / 2,)),
        "drawn": (
            eh.quotas.FairLearn(eh.learners.EpsilonGreedy(0.3, seed=2), {"ads": 0.2, "news": 0.3}, seed=1),
            tuple, lambda d: (d.id % 3 / 2,),
        ),
        "grouped": (
            eh.groups.TopInterval(grouped, seed=1),
            lambda: (rng.normal(size=(3, 2)),), lambda d: (float(d.index) - 1.0,),
        ),
        "alike": (
            eh.similarity.LipschitzUCB(2, seed=1),
            lambda: (circle[rng.permutation(4)],), lambda d: (0.5 if d.index >= 0 else None,),
        ),
        "labels": (
            eh.sampling.OptimisticSampler(sides, warmup=1, seed=1),
            tuple, lambda d: (rng.normal(size=(d.count, 2)), rng.integers(0, 2, d.count)),
        ),
        "doses": (eh.interventions.CSR(problem, tolerance=0.3, budget=400), tuple, trial.respond),
    }  # fmt: skip


def converse(study, shown, happened):
    """Ask and tell; the first reports come after several asks, and some tickets stay open."""
    waiting = []
    for t in range(ROUNDS):
        try:
            waiting.append(study.ask(*shown(), key=f"round {t}" if t % 2 else None))
        except EvenhandError:
            break
        if t >= 4 and t % 3 < 2:
            late = waiting.pop(-2 if t % 2 else 0)
            study.tell(late, *happened(late))
        if t == 9:
            study.forget(waiting.pop(1))
    if study.name == "shares":
        study.perform([Operation("ask", key=f"night.{n}") for n in (1, 2, 3)])
        study.perform([Operation("ask", key=f"batch#{n}") for n in (0, 1, 2)])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
