"""A primary that is lost and its standby that takes over: nothing that was acknowledged is gone."""

import os
import signal

import pytest

import evenhand as eh
from evenhand.errors import StoreError
from evenhand.studies import Study
from tests.studies.postgres import binaries, primary_and_standby
from tests.studies.test_processes import checked
from tests.studies.worker import nursery
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SHARES = {"a": "1/5", "b": "3/10"}


@pytest.fixture
def pair():
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    with primary_and_standby() as servers:
        yield servers


def opened(place):
    """Return the study, None while its store cannot be reached."""
    try:
        return Study.open(place, "ads")
    except StoreError:
        return None


def work(place, journal):
    """Decide for ever; where the store is lost, open it anew until it is there again."""
    file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    study = until(lambda: opened(place), 0.1)
    while True:
        try:
            decision = study.ask()
            os.write(file, f'{{"ask": {decision.id}, "arm": "{decision.arm}"}}\n'.encode())
            study.tell(decision, 0.5)
            os.write(file, f'{{"tell": {decision.id}, "reward": 0.5}}\n'.encode())
        except StoreError:
            study = until(lambda: opened(place), 0.1)


def lines(folder):
    return {file.name: len(file.read_text().splitlines()) for file in folder.iterdir()}


def wait_for_lines(folder, more, processes):
    """Wait until every journal has so many lines more than now."""

    def all_there():
        assert all(process.exitcode is None for process in processes)
        return len(lines(folder)) == len(processes)

    until(all_there, 0.05)
    before = lines(folder)
    until(lambda: all_there() and all(n >= before[name] + more for name, n in lines(folder).items()), 0.05)


def test_a_promoted_standby_has_all_that_was_acknowledged(pair, tmp_path):
    primary, standby = pair
    primary.run("CREATE DATABASE ads")
    place = f"postgresql://postgres@/ads?host={primary.home}&host={standby.home}&target_session_attrs=read-write"
    Study.create(place, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, seed=1), name="ads").close()
    folder = tmp_path / "journals"
    folder.mkdir()
    processes = [nursery().Process(target=work, args=(place, str(folder / f"process{n}"))) for n in (1, 2)]
    for process in processes:
        process.start()
    try:
        wait_for_lines(folder, 60, processes)
        primary.kill()
        standby.control("promote")
        wait_for_lines(folder, 60, processes)
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
    asks, tells = checked(place, [*folder.iterdir()], whole=False)
    assert asks + tells > 200
