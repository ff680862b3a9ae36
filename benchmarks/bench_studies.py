"""How fast studies are that lose nothing: conversations a second, as ratios in one run.

python -m benchmarks.bench_studies [--out DIR] [--quick] [--against CHECKOUT] [--folder DIR]

A conversation is one ask and one tell, each on disk before it returns. The floor is sqlite3 by itself: two inserts of
rows of the same size, each committed with the same settings. Optuna is the tool with an ask-and-tell of the same kind:
`study.ask()`, a suggestion, `study.tell()`, in its SQLite storage and in its journal file. With `--against` another
checkout of evenhand takes turns with this one. The files are in `--folder`.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import evenhand as eh
from benchmarks.converse import SHARES, Talker
from benchmarks.timing import Measure, interleaved, options, ratio, report
from evenhand.studies import Ask, Study, Tell

ROW = "x" * 330
"""As long as the entries of a decision and of its report are on average."""


def main() -> None:
    arguments = options(__doc__, {"against": Path, "folder": Path})
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    size, turns = (100, 3) if arguments.quick else (400, 10)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        report("studies", "Studies that last", measures(Path(folder), size, turns, arguments.against))


def measures(folder: Path, size: int, turns: int, against: Path | None) -> list[Measure]:
    talkers = {"file": Talker(f"{folder}/a.evenhand"), "memory": Talker(":memory:")}
    if against is not None:
        other = {"other file": Talker(f"{folder}/b.evenhand", against), "other memory": Talker(":memory:", against)}
        talkers |= other
    journal = JournalStorage(JournalFileBackend(str(folder / "optuna.log")))
    found = interleaved(
        {
            **{name: partial(talker.seconds, size) for name, talker in talkers.items()},
            "sqlite3": timed(sqlite_single(folder / "floor.db"), size),
            "batch": timed(evenhand_batch(":memory:"), size),
            "optuna": timed(optuna_single(f"sqlite:///{folder / 'optuna.db'}"), max(5, size // 20)),
            "journal": timed(optuna_single(journal), max(5, size // 20)),
        },
        turns,
    )
    rate = {name: 1 / statistics.median(values) for name, values in found.items()}
    talkers["file"].begin(size)
    slowest = statistics.quantiles(talkers["file"].waits(), n=100)[98] * 1e3
    for talker in talkers.values():
        talker.end()
    compared = []
    for name in ("file", "memory") if against is not None else ():
        limit = 2 / 3 if name == "memory" else None
        values = found[name], found[f"other {name}"]
        compared.append(Measure(f"rate against {against}, {name}", 1 / ratio(*values), "times", limit, True))
    if against is not None:
        commits = ratio(found["other file"], found["sqlite3"])
        compared.append(Measure(f"{against} against two bare commits", commits, "times"))
    return [
        *compared,
        Measure("ask + tell in an SQLite file", rate["file"], "a second", 500, True),
        Measure("  its p99 of one call", slowest, "ms", 20),
        Measure("  against two bare commits of sqlite3", ratio(found["file"], found["sqlite3"]), "times", 4),
        Measure("  Optuna's SQLite storage against it", ratio(found["optuna"], found["file"]), "times", 1, True),
        Measure("  Optuna's journal file against it", ratio(found["journal"], found["file"]), "times", 1, True),
        Measure("ask + tell in memory", rate["memory"], "a second"),
        Measure("  a hundred in a transaction", rate["batch"], "a second", 5_000, True),
    ]


def timed(conversation: Callable[[int], None], size: int) -> Callable[[], float]:
    """Return what measures the seconds of one conversation, by the clock: waiting for the disk counts."""

    def measure() -> float:
        started = time.perf_counter()
        conversation(size)
        return (time.perf_counter() - started) / size

    return measure


def evenhand_batch(place: Path | str) -> Callable[[int], None]:
    study = Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name="ads")

    def converse(size: int) -> None:
        for _ in range(size // 100):
            asked = study.run([Ask()] * 100)
            study.run([Tell(ticket=decision.id, given={"reward": 0.5}) for decision in asked])

    return converse


def sqlite_single(place: Path) -> Callable[[int], None]:
    connection = sqlite3.connect(place, isolation_level=None)
    for command in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE log (number, entry)"):
        connection.execute(command)
    numbers = count()

    def converse(size: int) -> None:
        for _ in range(2 * size):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO log VALUES (?, ?)", (next(numbers), ROW))
            connection.execute("COMMIT")

    return converse


def optuna_single(storage: object) -> Callable[[int], None]:
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))

    def converse(size: int) -> None:
        for _ in range(size):
            trial = study.ask()
            trial.suggest_categorical("arm", list(SHARES))
            study.tell(trial, 0.5)

    return converse


if __name__ == "__main__":
    main()
