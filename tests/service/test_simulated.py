"""The service under a seeded scheduler, and bugs that are planted to be found by it."""

import os
import threading
from contextlib import ExitStack
from unittest.mock import patch

import pytest

from evenhand.kernels.compose import flat
from evenhand.service import jobs, writer
from evenhand.service.writer import Writer
from evenhand.studies.log import replay, snapshots, transaction
from evenhand.studies.log.live_policy import LivePolicy
from evenhand.studies.log.log import Log
from evenhand.studies.log.request_keys import text_of
from evenhand.studies.log.transaction import Transaction
from tests.naming import rest_at_night
from tests.service.simulated import Broken, created, run
from tests.service.simulated_world import process

SEEDS, FIRST = (int(os.environ.get(name, usual)) for name, usual in (("EVENHAND_SEEDS", 8), ("EVENHAND_FIRST", 0)))
"""How many seeds are run, and the first of them: `make simulate SEEDS=1000 FIRST=0`."""
OFTEN = (
    "a_decision_twice_under_one_key",
    "a_promise_counted_from_a_stale_snapshot",
    "a_report_overtakes_its_ask",
    "answered_before_it_is_saved",
)
"""Found whenever the whole test runs; the others are found at night."""
MOST = 10_000
"""The most seeds within which a planted bug must be found."""
FOUND = {
    "a_decision_twice_under_one_key": 1,
    "a_promise_counted_from_a_stale_snapshot": 1,
    "a_report_overtakes_its_ask": 0,
    "all_wait_for_the_one_that_reads_the_keys": 3,
    "a_wake_up_is_lost": 33,
    "answered_before_it_is_saved": 16,
    "what_others_decided_does_not_count": 1,
    "a_ticket_that_another_process_closed_is_open": 2,
}
"""Seeds that found a bug before (2026-11-30): the search begins there, so that it is short until the worlds change."""


def test_seeds_break_nothing():
    """Seeds are run until each fault has happened: any change of the code moves those in which one does."""
    missed = {"is killed", "disk is full", "drain", "suspend", "cancel", " 503 ", "already told", "writes ask"}
    for seed in range(FIRST, FIRST + max(SEEDS, 100)):
        happened = " ".join(run(seed))
        missed = {word for word in missed if word not in happened}
        if seed + 1 >= FIRST + SEEDS and not missed:
            return
    assert not missed


def test_a_seed_happens_again_to_the_letter_whatever_was_run_before():
    created.cache_clear()
    assert run(5) == run(5)


# ---------------------------------------------------------------------- planted bugs


def answered_before_it_is_saved():
    """A request that is alone in its group is answered before its transaction ends."""
    honest, done, alone = writer._run, Transaction.run, {}

    def run(study, group):
        here = threading.get_ident()
        alone[here] = group if len(group) == 1 else []
        try:
            return honest(study, group)
        finally:
            del alone[here]

    def early(self, operations):
        outcomes = done(self, operations)
        for waiting in alone.get(threading.get_ident(), []):
            if len(waiting.operations) == len(operations) and not (waiting.left or waiting.outcomes):
                waiting.loop.call_soon_threadsafe(waiting.answer, outcomes)
        return outcomes

    return [patch.object(writer, "_run", run), patch.object(Transaction, "run", early)]


def a_wake_up_is_lost():
    """The writer looks at its queue, and sleeps without looking again."""
    honest = Writer._next

    def following(self):
        if not self._queue and not self._stopping:
            with self._lock:
                self._woken = False
                self._arrived.clear()
            self._arrived.wait()
        return honest(self)

    return [patch.object(Writer, "_next", following)]


def all_wait_for_the_one_that_reads_the_keys():
    """A request that is cancelled while it reads the keys takes all with it that wait for the same read."""

    async def result(self):
        if self._running is None or (self._running.done() and self._clock() - self._began > self._age):
            self._running = jobs.asyncio.create_task(jobs.run_detached(self._job))
            self._began = self._clock()
        return await self._running

    return [patch.object(jobs.Recent, "result", result)]


def a_decision_twice_under_one_key():
    """Each process looks for a key among its own decisions alone."""
    return [patch.object(transaction, "text_of", lambda key, number: f"{text_of(key, number)} {process()}")]


def a_promise_counted_from_a_stale_snapshot():
    """A snapshot holds the policy as it was at the one before."""
    honest, last = snapshots._state_of, {}

    def state_of(replay):
        before, last[replay.log] = last.get(replay.log), honest(replay)
        return before or last[replay.log]

    return [patch.object(snapshots, "_state_of", state_of)]


def a_report_overtakes_its_ask():
    """Who only reports does not look at what other processes wrote before."""
    honest, follow, only = LivePolicy.run, LivePolicy._follow, set()

    def run(self, operations, *, whole=False):
        only.add(self) if all(operation.kind == "tell" for operation in operations) else only.discard(self)
        return honest(self, operations, whole=whole)

    def following(self, connection):
        return self.seen if self in only and self.seen is not None else follow(self, connection)

    return [patch.object(LivePolicy, "run", run), patch.object(LivePolicy, "_follow", following)]


def what_others_decided_does_not_count():
    """The policy takes over the tickets of other processes, and counts none of their plays."""
    honest = replay.replay_entry

    def replayed(policy, entry, version):
        before = [array.copy() for array in flat(policy.engine.state)]
        reworded = honest(policy, entry, version)
        if process():
            for array, one in zip(flat(policy.engine.state), before, strict=True):
                array[...] = one
        return reworded

    return [patch.object(replay, "replay_entry", replayed)]


def a_ticket_that_another_process_closed_is_open():
    """A ticket is taken up again from the entry of its ask alone."""
    honest = Log.of_tickets

    def of_tickets(self, connection, tickets, up_to):
        return {number: entries[:1] for number, entries in honest(self, connection, tickets, up_to).items()}

    return [patch.object(Log, "of_tickets", of_tickets)]


@pytest.mark.slow
@pytest.mark.parametrize("bug", [rest_at_night(globals()[name], OFTEN) for name in FOUND])
def test_a_planted_bug_is_found(bug):
    """By the judge, or because the program stumbles over it by itself."""
    start = FOUND[bug.__name__]
    with ExitStack() as planted:
        for change in bug():
            planted.enter_context(change)
        with pytest.raises(Broken):
            list(map(run, (*range(start, MOST), *range(start))))
