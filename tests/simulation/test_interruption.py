"""Stopped by the user: what is done is kept, and a store takes it up again, in any process."""

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import xarray as xr

import evenhand as eh
from evenhand.errors import SimulationInterrupted
from evenhand.learners import UCB1
from evenhand.quotas import BernoulliArms, FairLearn, FairUCB
from evenhand.simulation.tasks import interruptible
from tests.strategies import Stubborn

ARMS = {"a": 0.7, "b": 0.5}


class Impatient(BernoulliArms):
    """Bernoulli arms, stepped from Python, at which the user presses Ctrl-C in the given round of the whole run."""

    observed = 0
    stops_at = None

    def observe(self):
        Impatient.observed += 1
        if Impatient.observed == Impatient.stops_at:
            raise KeyboardInterrupt
        return super().observe()


@pytest.fixture
def impatient():
    Impatient.observed = 0
    yield Impatient(ARMS)
    Impatient.stops_at = None


def run(world, store=None, **more):
    policies = {"0": Stubborn(0), "1": Stubborn(1)}
    settings = {"rounds": 50, "replications": 4, "seed": 3, "checkpoints": 5, "jobs": 1, "store": store}
    return eh.simulate(policies, world, **settings | more)


@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_an_interruption_leaves_whole_replications_in_partial(impatient, backend):
    whole = run(impatient)
    Impatient.observed, Impatient.stops_at = 0, 230  # in the third of the replications of two policies
    words = r"after 2 of 4 replications; what was done is not on disk"
    with pytest.raises(SimulationInterrupted, match=words) as stopped:
        run(impatient, backend=backend)
    finished = whole.isel(replication=slice(2)).assign_attrs(replications=2)
    xr.testing.assert_identical(stopped.value.partial, finished)


def test_an_interruption_before_anything_is_done_has_an_empty_partial(impatient):
    Impatient.stops_at = 10
    with pytest.raises(SimulationInterrupted, match="after 0 of 4") as stopped:
        run(impatient)
    assert stopped.value.partial.sizes["replication"] == 0


def test_a_store_takes_up_what_was_done_and_ends_as_if_nothing_had_happened(impatient, tmp_path):
    whole = run(impatient)
    Impatient.observed, Impatient.stops_at = 0, 230
    with pytest.raises(SimulationInterrupted, match="done is on disk; the same call continues from there"):
        run(impatient, store=tmp_path)
    Impatient.observed, Impatient.stops_at = 0, None
    xr.testing.assert_identical(run(impatient, store=tmp_path), whole)
    assert Impatient.observed == 8 * 50 - 4 * 50  # four of eight replications had been finished
    Impatient.observed = 0
    xr.testing.assert_identical(run(impatient, store=tmp_path), whole)
    assert Impatient.observed == 0


def test_a_store_without_a_seed_goes_on_with_the_seed_it_drew(tmp_path):
    def play():
        return eh.simulate(UCB1(), BernoulliArms(ARMS), rounds=50, replications=2, jobs=1, store=tmp_path)

    xr.testing.assert_identical(play(), play())


def test_ctrl_c_is_heard_by_threads_and_the_old_handler_comes_back():
    before, heard = signal.getsignal(signal.SIGINT), []

    def work():
        with interruptible() as halt:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(60)
            finally:
                heard.append(halt.is_set())

    with pytest.raises(KeyboardInterrupt):
        work()
    assert heard == [True]
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_nothing_is_installed():
    seen = []
    before = signal.getsignal(signal.SIGINT)

    def work():
        with interruptible() as halt:
            seen.append((signal.getsignal(signal.SIGINT) is before, halt.is_set()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(True, False)]


SCRIPT = """
import sys
import threading
import evenhand as eh
from evenhand.errors import SimulationInterrupted
from evenhand.quotas import BernoulliArms, FairUCB
from evenhand.simulation import tasks
replicate, once = tasks.replicate, threading.Lock()

def announced(*given, stop, **named):
    def first(rounds):
        if once.acquire(blocking=False):  # of two threads, one says it
            print("in the loop", flush=True)
        stop(rounds)
    return replicate(*given, stop=first, **named)

world, settings = BernoulliArms([0.7, 0.5]), dict(replications=500, seed=1, checkpoints=4, jobs=2)
eh.simulate(FairUCB([0.2, 0.3]), world, rounds=100, seed=1)
print("ready", flush=True)
tasks.replicate = announced
try:
    eh.simulate(FairUCB([0.2, 0.3]), world, rounds=10**8, **settings)
except SimulationInterrupted as stopped:
    print("stopped", stopped.partial.sizes["replication"] < 500, flush=True)
    sys.exit(0)
sys.exit(9)
"""


LEFT_ALONE = """
import evenhand as eh
from evenhand.quotas import BernoulliArms
eh.simulate(eh.learners.UCB1(), BernoulliArms([0.7, 0.5]), rounds=50, replications=8, jobs=2, backend="loky", seed=1)
print("idle", flush=True)
input()
"""


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", LEFT_ALONE], text=True, **pipes) as parent:
        assert parent.stdout.readline().strip() == "idle"
        threads = Path(f"/proc/{parent.pid}/task").iterdir()
        workers = [pid for thread in threads for pid in (thread / "children").read_text().split()]
        assert len(workers) >= 2
        ends = [os.pidfd_open(int(pid)) for pid in workers]
        parent.kill()
    for end in ends:
        ended = select.select([end], [], [], 60)[0]
        os.close(end)
        assert ended


@pytest.mark.slow
@pytest.mark.compiled
def test_a_real_ctrl_c_stops_compiled_loops_in_threads_within_seconds(tmp_path):
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout.readline().strip() == "ready"
        assert running.stdout.readline().strip() == "in the loop"
        running.send_signal(signal.SIGINT)
        said, complaint = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 0, complaint
    assert said.strip() == "stopped True"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_of_two_processes_gives_the_same_dataset():
    distributed = pytest.importorskip("distributed")
    policies = {"fair": FairUCB({"a": 0.2, "b": 0.3}), "foreign": FairLearn(Stubborn(0), {"a": 0.2, "b": 0.3})}
    world, settings = BernoulliArms(ARMS), {"rounds": 200, "replications": 6, "seed": 5, "checkpoints": 4}
    here = eh.simulate(policies, world, **settings, jobs=1, backend="sequential")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len({*client.run(os.getpid).values(), os.getpid()}) == 3
        for jobs in (-1, 1):
            xr.testing.assert_identical(eh.simulate(policies, world, **settings, backend="dask", jobs=jobs), here)


def test_a_dask_backend_without_a_cluster_is_refused_by_name():
    pytest.importorskip("distributed")
    from evenhand.errors import ArgumentError

    with pytest.raises(ArgumentError, match="backend: expected a joblib backend that is ready to run, got 'dask'"):
        eh.simulate(FairUCB([0.1, 0.1]), BernoulliArms([0.1, 0.2]), rounds=10, backend="dask")
