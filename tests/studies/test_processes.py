"""Several processes on one study: those that are killed lose nothing acknowledged, and nothing counts twice."""

import functools
import json
import os
import random
import signal
from contextlib import suppress

import pytest

import evenhand as eh
from evenhand.errors import StoreError
from evenhand.studies import Store, Study
from tests.studies.postgres import primary_and_standby
from tests.studies.worker import SHARES, nursery, work
from tests.waiting import until

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("EVENHAND_KILLS", "8"))
CONVERSATIONS = int(os.environ.get("EVENHAND_CONVERSATIONS", "300"))
PATIENCE = 300


def both_have_decided(journals, least):
    """Whether each process has decided, and both together so often."""
    decisions = [len(acknowledged(one)[0]) for one in journals]
    return all(decisions) and sum(decisions) >= least


def start(target, *given):
    process = nursery().Process(target=target, args=given)
    process.start()
    return process


def acknowledged(*journals):
    """What the workers were told, line by line; a line that was cut short was not acknowledged to anybody."""
    lines = [line for journal in journals if journal.exists() for line in journal.read_text().splitlines(keepends=True)]
    said = [json.loads(line) for line in lines if line.endswith("\n")]
    return [one for one in said if "ask" in one], [one for one in said if "tell" in one]


def checked(place, journals, *, whole):
    """Compare what was acknowledged with the log, which may hold a little more where a process was killed."""
    study = Study.open(place, "ads")
    asks, tells = acknowledged(*journals)
    log = study.frame().set_index("ticket")
    ids = [one["ask"] for one in asks]
    assert len(set(ids)) == len(ids)
    assert log.index.tolist() == list(range(1, len(log) + 1))
    for one in asks + tells:
        ticket = one.pop("ask", None) or one.pop("tell")
        assert log.loc[ticket, [*one]].to_dict() == one
    if whole:
        assert sorted(ids) == log.index.tolist()
        assert len(tells) == log["status"].eq("told").sum() == len(log)
    finding = study.verify()
    assert (finding.problems, finding.promise_kept) == ((), True)
    study.close()
    return len(asks), len(tells)


def test_four_processes_on_one_study(shared, tmp_path):
    policy = eh.quotas.FairLearn(eh.learners.Thompson(seed=2), SHARES, seed=1)
    Study.create(shared, policy, name="ads").close()
    journals = [tmp_path / f"journal{n}" for n in range(4)]
    workers = [start(work, shared, CONVERSATIONS // 4, str(journal)) for journal in journals]
    for worker in workers:
        worker.join(PATIENCE)
        assert worker.exitcode == 0
    assert checked(shared, journals, whole=True) == (CONVERSATIONS, CONVERSATIONS)


def test_killed_at_any_moment_nothing_is_lost(shared, tmp_path):
    Study.create(shared, eh.quotas.FairUCB(SHARES, seed=1), name="ads").close()
    chance = random.Random(20211)
    journals = []
    for kill in range(KILLS):
        now = [tmp_path / f"journal{kill}-{n}" for n in range(2)]
        workers = [start(work, shared, -1, str(journal)) for journal in now]
        decisions = chance.randrange(2, 60)
        until(functools.partial(both_have_decided, now, decisions), 0.001)
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join(PATIENCE)
            assert worker.exitcode == -signal.SIGKILL
        journals += now
    asks, tells = checked(shared, journals, whole=False)
    assert asks >= 2 * KILLS
    assert tells >= KILLS


def create(place, name):
    Study.create(place, eh.quotas.FairUCB(SHARES, seed=1), name=name)


def test_several_processes_make_one_store(shared):
    workers = [start(create, shared, f"study{n}") for n in range(4)]
    for worker in workers:
        worker.join(PATIENCE)
        assert worker.exitcode == 0
    store = Store.at(shared)
    assert sorted(store.names()) == [f"study{n}" for n in range(4)]


def test_the_file_is_written_through_to_the_disk(tmp_path):
    study = Study.create(tmp_path / "ads.evenhand", eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    with study.store.reading() as connection:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    assert found == ["wal", 2]


# ---------------------------------------------------------------------- a standby that takes over


def work_on(place, journal):
    """Decide for ever; where the store is lost, begin anew until it is there again."""
    while True:
        with suppress(StoreError):
            work(place, -1, journal)


def wait_for_lines(journals, more, processes):
    """Wait until every journal has so many lines more than now."""

    def lines():
        assert all(process.exitcode is None for process in processes)
        return [journal.read_bytes().count(b"\n") if journal.exists() else 0 for journal in journals]

    before = lines()
    until(lambda: all(now >= then + more for now, then in zip(lines(), before, strict=True)), 0.05)


@pytest.mark.nightly
@pytest.mark.usefixtures("programs")
def test_a_promoted_standby_has_all_that_was_acknowledged(tmp_path):
    journals = [tmp_path / f"journal{n}" for n in range(2)]
    with primary_and_standby() as (primary, standby):
        primary.run("CREATE DATABASE ads")
        place = f"postgresql://postgres@/ads?host={primary.home}&host={standby.home}&target_session_attrs=read-write"
        Study.create(place, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, seed=1), name="ads").close()
        processes = [start(work_on, place, str(journal)) for journal in journals]
        try:
            wait_for_lines(journals, 60, processes)
            primary.kill()
            standby.control("promote")
            wait_for_lines(journals, 60, processes)
        finally:
            for process in processes:
                process.kill()
                process.join()
        asks, tells = checked(place, journals, whole=False)
    assert asks + tells > 200
