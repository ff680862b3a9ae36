"""A study with several workers under a seeded scheduler: processes that are killed, fenced and opened again, messages
that are lost, repeated and overtaken, clocks that jump, disks that are full.

Everything runs in one thread, and every choice comes from one seed, so that a seed that fails fails again to the
letter. What was acknowledged is written down beside the program and judged by an arithmetic of its own.

    python -m tests.studies.simulated --seeds 1000 [--first 0]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from unittest.mock import patch

import numpy as np

import evenhand as eh
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContradictionError,
    EvenhandError,
    FencedError,
    StoreError,
    UnknownTicketError,
)
from evenhand.studies import Store, Study
from evenhand.studies.log import Log
from evenhand.studies.shared_study import SharedStudy

__all__ = ["Broken", "run"]

CLOCKS = ("transaction", "worker_logs", "exchange", "membership", "study", "shared_creation", "exchanging")
"""The modules that read the clock."""
SETTINGS = [
    ({"a": "1/5", "b": "3/10"}, 3),
    ({"a": "1/2", "b": "1/2"}, 2),
    ({"a": "1/3", "b": "1/3", "c": "1/3"}, 2),
    ({"a": "1/2", "b": "1/3", "c": "0"}, 0),
    ({"a": "1/7", "b": "2/5"}, 0),
    ({"a": "1/10", "b": "1/20", "c": "1/4"}, 1),
]
LEARNERS = [eh.learners.UCB1, eh.learners.Thompson, eh.learners.DiscountedUCB]
STEPS = 45


class Broken(AssertionError):
    """What the judge found."""


class Killed(BaseException):
    """The end of a process, in the middle of what it did."""


class Process:
    """A process that reads and tells, and decides if it has a worker."""

    def __init__(self) -> None:
        self.study: SharedStudy | None = None
        self.worker: str | None = None
        self.owns = False
        """Whether nobody else has claimed its worker since, nor ended its work."""


class Simulation:
    """One run of one seed; `log` says what happened, line by line."""

    def __init__(self, seed: int, store: Store) -> None:
        self.chance, self.store, self.name = random.Random(seed), store, f"s{seed}"
        self.log: list[str] = []
        self.clock, self.faults = 1_600_000_000_000_000, False
        self.shares, self.tolerance = self.chance.choice(SETTINGS)
        self.asked: dict[int, str] = {}
        self.told: dict[int, float] = {}
        self.maybe: set[int] = set()
        """Tickets of which a report was cut off: nobody knows whether it was saved."""
        self.history: dict[str, list[dict]] = defaultdict(list)
        self.processes = [Process() for _ in range(3)]

    # ------------------------------------------------------------------ the world around it

    def now(self) -> int:
        """Return the time, which mostly goes on."""
        self.clock += self.chance.randrange(-500_000, 2_000_000) if self.chance.random() < 0.2 else 1_000
        return self.clock

    def fault(self, where: str) -> None:
        """Kill the process, or fill the disk, at some edges of transactions."""
        if self.faults and self.chance.random() < 0.06:
            kind = self.chance.choice(["killed", "killed", "full disk"])
            self.log.append(f"  {kind} {where}")
            if kind == "full disk":
                raise StoreError("database or disk is full")
            raise Killed

    @contextmanager
    def world(self) -> Iterator[None]:
        """Have the program see this world's clock, faults, messages and secrets."""
        append, writing, reports = Log.append, Store.writing, SharedStudy._reports

        def appended(log, connection, entries, *, commit=False):
            self.fault("before an entry is written")
            append(log, connection, entries, commit=commit)
            self.fault("before the transaction ends")

        @contextmanager
        def written(store, *, begin=True):
            with writing(store, begin=begin) as connection:
                yield connection
            self.fault("after the transaction ended")

        def delivered(study):
            found, unheard = reports(study)
            return {name: self.message(name, report) for name, report in found.items() if self.arrives(name)}, unheard

        with (
            patch.object(Log, "append", appended),
            patch.object(Store, "writing", written),
            patch.object(SharedStudy, "_reports", delivered),
            patch.object(Study, "_rehearse", lambda *_: None),  # it only compiles
            patch("evenhand.studies.shared_creation.new_secret", lambda: "00" * 32),
        ):
            patches = [patch(f"evenhand.studies.{module}.now", self.now) for module in CLOCKS]
            for one in patches:
                one.start()
            try:
                yield
            finally:
                for one in patches:
                    one.stop()

    def arrives(self, name: str) -> bool:
        return self.chance.random() < 0.8

    def message(self, name: str, report: dict) -> dict:
        """Return a report, or an older one again."""
        self.history[name].append(report)
        return self.chance.choice(self.history[name]) if self.chance.random() < 0.3 else report

    # ------------------------------------------------------------------ what happens

    def run(self) -> None:
        """Let things happen, and judge them."""
        with self.world():
            policy = eh.quotas.DeadlineLearn(self.chance.choice(LEARNERS)(), self.shares, self.tolerance, seed=7)
            quiet = {"exchange_rounds": None, "exchange_seconds": None}
            self.study = Study.create(self.store, policy, name=self.name, workers=self.chance.choice([2, 3]), **quiet)
            self.faults = True
            for _ in range(STEPS):
                self.step()
            self.faults = False
            judge(self)

    def step(self) -> None:
        process = self.chance.choice(self.processes)
        acts = ["ask"] * 8 + ["tell"] * 6 + ["exchange"] * 6 + ["open", "join", "leave", "forget"]
        act = self.chance.choice(acts)
        self.log.append(act)
        try:
            getattr(self, act)(process)
        except Killed:
            process.study, process.owns = None, False
        except EvenhandError as refusal:
            self.log.append(f"  {type(refusal).__name__}")

    def names(self) -> list[str]:
        return [one.name for one in self.study.membership().workers]

    def open(self, process: Process) -> None:
        name = self.chance.choice(self.names())
        for other in self.processes:
            if other.worker == name:
                other.owns = False
        process.study = process.worker = None
        process.study = Study.open(self.store, self.name, worker=name)
        process.worker, process.owns = name, True

    def ask(self, process: Process) -> None:
        if process.study is None:
            self.open(process)
        fenced = not process.owns
        count = self.chance.choice([1, 1, 3])
        decisions = process.study.ask(count=count)
        if fenced and any(decision.id >= 10**12 for decision in decisions):
            raise Broken(f"a process that lost {process.worker} decided")
        for decision in decisions:
            if decision.id in self.asked:
                raise Broken(f"ticket {decision.id} was handed out twice")
            self.asked[decision.id] = decision.arm
        self.log.append(f"  {[(one.id, one.arm) for one in decisions]}")

    def tell(self, process: Process) -> None:
        if not self.asked:
            return
        ticket = self.chance.choice(sorted(self.asked))
        reward = self.told.get(ticket, self.chance.choice([0.0, 0.5, 1.0]))
        study = process.study or self.study
        known = ticket in self.told
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
        if known and said != "already told":
            raise Broken(f"ticket {ticket} was told twice")
        self.told[ticket] = reward
        self.log.append(f"  {ticket} {reward} {said}")

    def forget(self, process: Process) -> None:
        waiting = sorted(set(self.asked) - set(self.told))
        if waiting:
            ticket = self.chance.choice(waiting)
            self.maybe.add(ticket)
            (process.study or self.study).forget(ticket)

    def exchange(self, process: Process) -> None:
        if process.study is None or not process.owns:
            self.open(process)
        self.log.append(f"  {process.study.exchange().taken}")

    def join(self, process: Process) -> None:
        name = f"j{len(self.log)}"
        process.study, process.owns = None, False
        process.study = self.study.join(name)
        process.worker, process.owns = name, True

    def leave(self, process: Process) -> None:
        name = self.chance.choice(self.names())
        for other in self.processes:
            if other.worker == name:
                other.owns = False
        self.study.leave(name)


# ---------------------------------------------------------------------- the judge


def judge(run: Simulation) -> None:
    """Check what was acknowledged and promised, by an arithmetic of its own."""
    study = Study.open(run.store, run.name)
    frame = study.frame()
    rows = frame.set_index("ticket")
    if not rows.index.is_unique:
        raise Broken("a ticket was handed out twice")
    for ticket, arm in run.asked.items():
        if ticket not in rows.index or rows.at[ticket, "arm"] != arm:
            raise Broken(f"decision {ticket} was acknowledged and is not there")
    for ticket, reward in run.told.items():
        if rows.at[ticket, "reward"] != reward and ticket not in run.maybe:
            raise Broken(f"the reward of {ticket} was acknowledged and is not there")
    for worker, own in frame.groupby("worker"):
        if own["round"].tolist() != list(range(1, len(own) + 1)):
            raise Broken(f"the order of {worker or 'the beginning'} is not its own")
    _orders(run, frame)
    _streams(study)
    _totals(study)
    problems = study.verify().problems
    if problems:
        raise Broken("; ".join(problems))


def _orders(run: Simulation, frame) -> None:
    """Every merge order keeps the promise: the least of each worker's surpluses add up to enough; and some orders."""
    shares = {arm: Fraction(share) for arm, share in run.shares.items()}
    logs = {worker: own["arm"].tolist() for worker, own in frame.groupby("worker")}
    base = logs.pop("", [])
    for arm, share in shares.items():
        total = base.count(arm) - share * len(base)
        for log in logs.values():
            surplus, least = Fraction(0), Fraction(0)
            for played in log:
                surplus += (played == arm) - share
                least = min(least, surplus)
            total += least
        if total <= -(run.tolerance + 1):
            raise Broken(f"arm {arm} lacks {-total} pulls in some order")
    for _ in range(2):
        order, left = list(base), {worker: list(log) for worker, log in logs.items() if log}
        while left:
            worker = run.chance.choice(sorted(left))
            order.append(left[worker].pop(0))
            if not left[worker]:
                del left[worker]
        counts: Counter = Counter()
        for t, arm in enumerate(order, 1):
            counts[arm] += 1
            for one, share in shares.items():
                if counts[one] < (share * t).__floor__() - run.tolerance:
                    raise Broken(f"arm {one} is short at round {t} of a merge order")


def _streams(study: SharedStudy) -> None:
    """No two workers draw from the same stream."""
    seen: dict[str, int] = {}
    for number, log in study._every_log().items():
        first = next((entry.random_state for entry in log.entries() if entry.kind == "ask"), None)
        if first is not None and seen.setdefault(first, number) != number:
            raise Broken("two workers draw the same numbers")


def _totals(study: SharedStudy) -> None:
    """Each worker knows the rewards of its own log and of what it took in, each once."""
    members = {one.name or "the serial beginning": one for one in study.membership().members.values()}
    logs = {name: study.log_of(one) for name, one in members.items()}
    for name, log in logs.items():
        policy, taken, own = log.policy, {}, 0
        for event in log.events():
            own += event.kind == "tell"
            for sender, report in (event.given.get("peers", {}) if event.kind == "take" else {}).items():
                taken[sender] = max(taken.get(sender, 0), report["number"])
        rounds = 0
        for sender, number in taken.items():
            if sender == name:
                raise Broken(f"{name} learned from itself")
            before = [event for event in logs[sender].events() if event.sequence <= number]
            own += sum(event.kind == "tell" for event in before)
            rounds += sum(event.kind == "ask" for event in before)
        state = policy._learned
        count = state.successes + state.failures if hasattr(state, "successes") else state.pulls
        if int(count.sum()) != own:
            raise Broken(f"{name} knows {int(count.sum())} rewards, and {own} were told to it and to those it heard")
        if policy.pool.rounds != rounds:
            raise Broken(f"{name} counts {policy.pool.rounds} rounds of others, and heard of {rounds}")
        if hasattr(state, "means"):
            seen = state.pulls > 0
            if not np.allclose(state.means[seen], state.sums[seen] / state.pulls[seen]):
                raise Broken(f"{name} decides by means of earlier")


def run(seed: int, store: Store | None = None) -> list[str]:
    """Run a seed; return what happened, line by line.

    Raises
    ------
    Broken
        If the judge finds anything.
    """
    simulation = Simulation(seed, Store.at(":memory:", create=True) if store is None else store)
    try:
        simulation.run()
    except (Broken, ArgumentError, FencedError) as broken:
        raise Broken(f"seed {seed}: {broken}\n" + "\n".join(simulation.log)) from broken
    return simulation.log


def main() -> None:
    """Run many seeds, and stop at the first that breaks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    store = Store.at(":memory:", create=True)
    for seed in range(given.first, given.first + given.seeds):
        run(seed, store)
        if (seed + 1 - given.first) % 100 == 0:
            sys.stdout.write(f"{seed + 1 - given.first} seeds\n")
            sys.stdout.flush()
            store.close()
            store = Store.at(":memory:", create=True)


if __name__ == "__main__":
    main()
