"""Real processes as workers, killed at any moment: nothing acknowledged is lost or doubled, and the promise holds."""

import json
import os
import random
import signal
from fractions import Fraction
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.errors import FencedError
from evenhand.studies import Study
from tests.studies.worker import nursery
from tests.waiting import until

pytestmark = pytest.mark.slow

WORKERS = int(os.environ.get("EVENHAND_WORKERS", "4"))
KILLS = int(os.environ.get("EVENHAND_KILLS", "12"))
SHARES = {"a": "1/5", "b": "3/10", "c": "1/10"}
TOLERANCE = 20


def work(place, worker, journal):
    """Decide as a worker for ever, and report rewards of any worker's tickets that lie in the journals' folder."""
    chance = random.Random(os.getpid())
    file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def acknowledged(**what):
        os.write(file, (json.dumps(what) + "\n").encode())

    study = Study.open(place, "ads", worker=worker)
    folder, waiting = os.path.dirname(journal), []
    while True:
        try:
            decision = study.ask()
        except FencedError:
            return
        acknowledged(ask=decision.id, arm=decision.arm)
        waiting.append(decision.id)
        if chance.random() < 0.1:  # a ticket of another worker
            other = chance.choice(sorted(os.listdir(folder)))
            lines = Path(folder, other).read_text().splitlines(keepends=True)[-20:]
            waiting += [json.loads(line)["ask"] for line in lines if line.endswith("\n") and '"ask"' in line][-1:]
        if chance.random() < 0.8:
            ticket = waiting.pop(chance.randrange(len(waiting)))
            study.tell(ticket, (ticket % 5) / 4)
            acknowledged(tell=ticket, reward=(ticket % 5) / 4)


def started(place, worker, journal):
    process = nursery().Process(target=work, args=(place, worker, str(journal)))
    process.start()
    return process


def said(folder):
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def test_workers_killed_at_any_moment_lose_nothing(shared, tmp_path):
    made = eh.quotas.DeadlineLearn(eh.learners.Thompson(seed=2), SHARES, TOLERANCE, seed=1)
    Study.create(shared, made, name="ads", workers=WORKERS, exchange_rounds=20).close()
    folder, chance = tmp_path / "journals", random.Random(16)
    folder.mkdir()
    running = {f"w{n}": started(shared, f"w{n}", folder / f"w{n}-0") for n in range(1, WORKERS + 1)}
    journals = {name: folder / f"{name}-0" for name in running}
    for kills in range(1, KILLS + 1):
        name, size = chance.choice(sorted(running)), chance.randrange(200, 20_000)
        until(lambda one=journals[name], size=size: one.exists() and one.stat().st_size >= size, 0.01)
        os.kill(running[name].pid, signal.SIGKILL)
        running[name].join()
        journals[name] = folder / f"{name}-{kills}"
        running[name] = started(shared, name, journals[name])
    for process in running.values():
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    study = Study.open(shared, "ads")
    frame = study.frame()
    rows = frame.set_index("ticket")
    assert rows.index.is_unique
    asks = [one for one in said(folder) if "ask" in one]
    assert len({one["ask"] for one in asks}) == len(asks) > 10 * WORKERS
    for one in said(folder):
        if "ask" in one:
            assert rows.at[one["ask"], "arm"] == one["arm"]
        else:
            assert rows.at[one["tell"], "reward"] == one["reward"]
    counts = dict.fromkeys(SHARES, 0)
    for t, arm in enumerate(frame["arm"], 1):
        counts[arm] += 1
        for label, share in SHARES.items():
            assert counts[label] >= int(Fraction(share) * t) - TOLERANCE, (t, label)
    found = study.verify()
    assert found.problems == ()
    assert min(found.room.values()) > 0
    assert set(frame["worker"]) == set(running)
    study.close()
