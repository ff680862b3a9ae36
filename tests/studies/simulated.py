"""A study with several workers under a seeded scheduler: processes that are killed, fenced, slow and opened again,
leases, messages that are lost, repeated and overtaken, clocks that jump, disks that are full, slow or unreadable.

Everything runs in one thread, and every choice comes from one seed, so that a seed that fails fails again to the
letter. What was acknowledged is written down beside the program and judged by an arithmetic of its own.

    python -m tests.studies.simulated --seeds 1000 [--first 0] [--jobs 2] [--record FILE] [--service]

Most worlds are small, some are large. With a record, a run that was interrupted goes on where it stopped. With
`--service` the worlds are those of `tests.service.simulated`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import evenhand as eh
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContradictionError,
    EvenhandError,
    FencedError,
    SharesError,
    StoreError,
    UnknownTicketError,
)
from evenhand.studies import Store, Study
from evenhand.studies.workers.shared_study import SharedStudy
from tests.studies.simulated_judge import Broken, judge
from tests.studies.simulated_world import Killed, World

__all__ = ["Broken", "Simulation", "run"]

SETTINGS = [
    ({"a": "1/5", "b": "3/10"}, 3),
    ({"a": "1/2", "b": "1/2"}, 2),
    ({"a": "1/3", "b": "1/3", "c": "1/3"}, 2),
    ({"a": "1/2", "b": "1/3", "c": "0"}, 0),
    ({"a": "1/7", "b": "2/5"}, 0),
    ({"a": "1/10", "b": "1/20", "c": "1/4"}, 1),
]
LEARNERS = [eh.learners.UCB1, eh.learners.Thompson, eh.learners.DiscountedUCB]
ACTS = {"ask": 8, "tell": 6, "exchange": 6, "open": 1, "lease": 1, "renew": 1, "join": 1, "leave": 1, "forget": 1}
QUIET = {"exchange_rounds": None, "exchange_seconds": None}
NAME = "s"
CHUNK = 50
"""Seeds that one process runs before it reports."""


class Size(NamedTuple):
    """How large a world is, and how often worlds are so."""

    weight: int
    steps: int
    processes: int
    workers: tuple[int, ...]
    more: int
    """What is added to the tolerance, so that all workers have an endowment."""


SIZES = [Size(176, 12, 2, (2, 3), 0), Size(22, 45, 3, (2, 3), 0), Size(2, 150, 5, (5, 6), 4)]


class Process:
    """A process that reads and tells, and decides if it has a worker."""

    def __init__(self) -> None:
        self.study: SharedStudy | None = None
        self.worker: str | None = None
        self.owns = False
        """Whether nobody else has claimed its worker since, nor ended its work."""
        self.busy = False
        """Whether it waits for a disk."""


class Desk:
    """Where workers join and leave."""

    def __init__(self, store: Store, name: str) -> None:
        self.process, self.study = Process(), Study.open(store, name)

    def names(self) -> list[str]:
        return [one.name for one in self.study.membership().workers]

    def __enter__(self) -> None:
        self.process.busy = True

    def __exit__(self, *raised: object) -> None:
        self.process.busy = False


class Simulation:
    """One run of one seed; `log` says what happened, line by line.

    Parameters
    ----------
    seed : decides everything.
    store : where to create the study; None for a store of its own, mostly one in which it was created before.
    """

    def __init__(self, seed: int, store: Store | None = None) -> None:
        self.chance, self.name = random.Random(seed), f"{NAME}{seed}" if store else NAME
        self.log: list[str] = []
        self.size = self.chance.choices(SIZES, [size.weight for size in SIZES])[0]
        self.setting, self.learner = self.chance.randrange(len(SETTINGS)), self.chance.randrange(len(LEARNERS))
        self.shares, tolerance = SETTINGS[self.setting]
        self.tolerance = tolerance + self.size.more
        self.workers = self.chance.choice(self.size.workers)
        self.world = World(self.chance, self.log, files=self.chance.random() < 0.3)
        self.store = store
        self.asked: dict[int, str] = {}
        self.told: dict[int, float] = {}
        self.telling: dict[int, float] = {}
        """The rewards that somebody is telling."""
        self.maybe: set[int] = set()
        """Tickets of which a report was cut off: nobody knows whether it was saved."""
        self.keyed: dict[str, set[int]] = defaultdict(set)
        """The decisions that were acknowledged under a key."""
        self.unsure: set[str] = set()
        """Keys of which an ask was cut off."""
        self.asking = False
        """Whether somebody asks under a key."""
        self.joining: set[str] = set()
        """The names under which somebody tried to join."""
        self.processes = [Process() for _ in range(self.size.processes)]

    # ------------------------------------------------------------------ the whole

    def run(self) -> None:
        """Let things happen, and judge them."""
        with self.world.around():
            self.begin()
            self.world.others = self.step
            self.world.faults = True
            for _ in range(self.size.steps):
                self.step()
            self.world.faults = False
            self.recover()
            self.study: SharedStudy = Study.open(self.store, self.name)
            judge(self, self.study, whole=self.size is not SIZES[0] or self.chance.random() < 0.25)

    def begin(self) -> None:
        """Have the study: created now, under faults, or as it was created before."""
        if self.store is None and self.chance.random() < 0.93:
            key = self.setting, self.tolerance, self.learner, self.workers, self.world.files
            self.store = self.world.begin_with(created(*key))
        else:
            self.store = self.store or Store.at(":memory:", create=True)
            self.world.faults = True
            tried = 0
            while not self.create():
                self.log.append("create again")
                tried += 1
                if tried > 50:
                    raise Broken("the study cannot be created any more")
            self.world.faults = False
        self.desk = Desk(self.store, self.name)

    def create(self) -> bool:
        """Create the study, and say whether it is there; what was begun before must not stand in the way."""
        try:
            create(self.store, self.name, self.setting, self.tolerance, self.learner, self.workers)
        except (Killed, EvenhandError):
            with suppress(StoreError):  # nobody can read whether it is there
                return self.name in self.store.names()
            return False
        return True

    def step(self) -> None:
        """Have a process that does not wait do something."""
        idle = [process for process in self.processes if not process.busy]
        if not idle:
            return
        process = self.chance.choice(idle)
        act = self.chance.choices([*ACTS], [*ACTS.values()])[0]
        self.log.append(act)
        process.busy = True
        try:
            getattr(self, act)(process)
        except Killed:
            process.study, process.owns = None, False
        except EvenhandError as refusal:
            self.log.append(f"  {type(refusal).__name__}")
        finally:
            process.busy = False

    def recover(self) -> None:
        """When all faults are over, a worker can be opened and decides; one that left halfway leaves, and one that
        joined halfway joins."""
        study = self.desk.study
        left = [one.name for one in study.membership().workers if one.returned is None]
        for name in left if self.size is not SIZES[0] else left[:1]:
            try:
                worker = Study.open(self.store, self.name, worker=name)
            except FencedError:
                study.leave(name)
                continue
            decision = worker.ask()
            self.asked[decision.id] = decision.arm
        for name in sorted(self.joining):
            if name not in self.desk.names():
                with suppress(SharesError):
                    study.join(name)

    # ------------------------------------------------------------------ what happens

    def take_over(self, process: Process, study: SharedStudy, name: str) -> None:
        process.study = study
        self.lose(name)
        process.worker, process.owns = name, True

    def lose(self, worker: str) -> None:
        for other in self.processes:
            if other.worker == worker:
                other.owns = False

    def open(self, process: Process) -> None:
        name = self.chance.choice(self.desk.names())
        process.study, process.worker, process.owns = None, None, False
        self.take_over(process, Study.open(self.store, self.name, worker=name), name)

    def lease(self, process: Process) -> None:
        process.study, process.worker, process.owns = None, None, False
        study = Study.open(self.store, self.name)
        self.take_over(process, study, study.lease(1.0))

    def renew(self, process: Process) -> None:
        if process.study is not None:
            process.study.renew()
            if process.study.worker is None:
                process.study, process.owns = None, False

    def ask(self, process: Process) -> None:
        if process.study is None:
            self.open(process)
        if self.chance.random() < 0.15:
            self.ask_with_key(process, self.chance.choice("kl"))
            return
        fenced = not process.owns
        decisions = process.study.ask(count=self.chance.choice([1, 1, 3]))
        if fenced and any(decision.id >= 10**12 for decision in decisions):
            raise Broken(f"a process that lost {process.worker} decided")
        for decision in decisions:
            if decision.id in self.asked:
                raise Broken(f"ticket {decision.id} was handed out twice")
            self.asked[decision.id] = decision.arm
        self.log.append(f"  {[(one.id, one.arm) for one in decisions]}")

    def ask_with_key(self, process: Process, key: str) -> None:
        """Ask under a key: the same again gives the same decision, whoever asks; one who asks meanwhile would wait."""
        if self.asking:
            return
        known = set(self.keyed[key])
        self.asking = True
        try:
            decision = process.study.ask(key=key)
        except BaseException:
            if not known:
                self.unsure.add(key)
            raise
        finally:
            self.asking = False
        self.log.append(f"  {key} {decision.id} {decision.arm}")
        if known and decision.id not in known and key not in self.unsure:
            raise Broken(f"key {key} had decision {known}, and has now {decision.id}")
        self.keyed[key].add(decision.id)
        self.asked[decision.id] = decision.arm

    def tell(self, process: Process) -> None:
        if not self.asked:
            return
        ticket = self.chance.choice(sorted(self.asked))
        study = self.who_tells(process)
        known = ticket in self.told
        rewards = {**self.told, **self.telling}
        reward = self.telling[ticket] = rewards[ticket] if ticket in rewards else self.chance.choice([0.0, 0.5, 1.0])
        try:
            said = study.tell(ticket, reward)
        except (ContradictionError, ClosedTicketError):
            if ticket not in self.maybe:
                raise Broken(f"ticket {ticket} was refused though nothing else was told of it") from None
            return
        except UnknownTicketError:
            raise Broken(f"ticket {ticket} was acknowledged and is not known") from None
        except BaseException:
            self.maybe.add(ticket)
            raise
        finally:
            self.telling.pop(ticket, None)
        if known and said != "already told":
            raise Broken(f"ticket {ticket} was told twice")
        self.told[ticket] = reward
        self.log.append(f"  {ticket} {reward} {said}")

    def forget(self, process: Process) -> None:
        waiting = sorted(set(self.asked) - set(self.told))
        if waiting and process.study is not None:
            ticket = self.chance.choice(waiting)
            self.maybe.add(ticket)
            self.who_tells(process).forget(ticket)

    def who_tells(self, process: Process) -> SharedStudy:
        if process.study is None:
            process.study = Study.open(self.store, self.name)
        return process.study

    def exchange(self, process: Process) -> None:
        if process.study is None or not process.owns:
            self.open(process)
        self.log.append(f"  {process.study.exchange().taken}")

    def join(self, process: Process) -> None:
        """Add a worker, again under the same name if it was cut off before."""
        taken = self.desk.names()
        name = next(name for name in (f"j{n}" for n in range(len(taken) + 1)) if name not in taken)
        if not self.desk.process.busy:
            process.study, process.owns = None, False
            self.joining.add(name)
            with self.desk:
                self.take_over(process, self.desk.study.join(name), name)

    def leave(self, process: Process) -> None:
        if not self.desk.process.busy:
            name = self.chance.choice(self.desk.names())
            with self.desk:
                self.desk.study.leave(name)
            self.lose(name)


def create(store: Store, name: str, setting: int, tolerance: int, learner: int, workers: int) -> None:
    policy = eh.quotas.DeadlineLearn(LEARNERS[learner](), SETTINGS[setting][0], tolerance, seed=7)
    Study.create(store, policy, name=name, workers=workers, **QUIET)


@cache
def created(setting: int, tolerance: int, learner: int, workers: int, files: bool) -> dict[str, bytes]:
    """Return the stores of a new study."""
    world = World(random.Random(0), [], files=files)
    home = Store.at(":memory:", create=True)
    with world.around():
        create(home, NAME, setting, tolerance, learner, workers)
    return world.saved(home)


def run(seed: int, store: Store | None = None) -> list[str]:
    """Run a seed; return what happened, line by line.

    Raises
    ------
    Broken
        If the judge finds anything.
    """
    simulation = Simulation(seed, store)
    try:
        simulation.run()
    except (Broken, ArgumentError, FencedError) as broken:
        raise Broken(f"seed {seed}: {broken}\n" + "\n".join(simulation.log)) from broken
    finally:
        simulation.world.end()
    return simulation.log


# ---------------------------------------------------------------------- many seeds


def run_chunk(seeds: range, service: bool = False) -> tuple[range, list[tuple[int, str]]]:
    """Run seeds, of the service or of studies; return those that broke, and how."""
    run_seed = importlib.import_module("tests.service.simulated").run if service else run
    broken = []
    for seed in seeds:
        try:
            run_seed(seed)
        except Exception as error:
            broken.append((seed, f"{type(error).__name__}: {error}"))
    return seeds, broken


def chunks(first: int, seeds: int, record: Path | None) -> Iterator[range]:
    """Yield the seeds that are to be run, without those that the record names."""
    done = set() if record is None or not record.exists() else {line.split()[0] for line in record.open()}
    for start in range(first, first + seeds, CHUNK):
        chunk = range(start, min(start + CHUNK, first + seeds))
        if shown(chunk) not in done:
            yield chunk


def shown(chunk: range) -> str:
    return f"{chunk.start}-{chunk.stop - 1}"


def main() -> None:
    """Run many seeds; say for each that breaks how to run it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", type=Path, help="a file of the seeds that were run; they are not run again")
    parser.add_argument("--service", action="store_true", help="simulate the service, with instances and clients")
    given = parser.parse_args()
    again = "python -m tests.studies.simulated" + " --service" * given.service
    left = list(chunks(given.first, given.seeds, given.record))
    started, ran, failed = time.monotonic(), 0, 0
    with Pool(given.jobs) as pool, suppress(KeyboardInterrupt):
        for chunk, broken in pool.imap_unordered(partial(run_chunk, service=given.service), left):
            ran, failed = ran + len(chunk), failed + len(broken)
            for seed, how in broken:
                sys.stdout.write(f"{how}\nseed {seed} broke; again: {again} --seeds 1 --first {seed}\n")
            if given.record is not None:
                with given.record.open("a") as record:
                    record.write(f"{shown(chunk)} {' '.join(str(seed) for seed, _ in broken) or 'sound'}\n")
            seconds = time.monotonic() - started
            sys.stdout.write(f"{ran} of {sum(map(len, left))} seeds, {failed} broke, {seconds:.0f} s\n")
            sys.stdout.flush()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
