"""Several workers, compiled: the same numbers, to the last bit, as when each is asked and told from Python."""

import importlib

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import evenhand as eh
from evenhand.groups import BiasedLinearArms, GroupFairTopInterval, IntervalChaining, LinearThompson, TopInterval
from evenhand.kernels.compose import OPEN, bind, fingerprint, kernel
from evenhand.kernels.stacked import copier, row_of, stack
from evenhand.learners import (
    KLUCB,
    MOSS,
    UCB1,
    DiscountedUCB,
    EpsilonGreedy,
    Exp3,
    Thompson,
)
from evenhand.policy.traits import traits_of
from evenhand.quotas import BernoulliArms, DeadlineLearn, LoggedArms
from evenhand.simulation.delay import read_delay
from evenhand.simulation.exchange import derive_kernel
from evenhand.simulation.loop import replicate
from evenhand.simulation.team import Team
from tests.naming import at_night
from tests.reference.stepped import Stepped

simulation = importlib.import_module("evenhand.simulation.simulate")
RANDOM = np.random.default_rng(0)
LOG = pd.DataFrame({"arm": RANDOM.integers(0, 4, 300), "reward": RANDOM.random(300)})
FRACTIONS = LoggedArms(LOG, arm="arm", reward="reward")
"""Rewards whose sums depend on the order in which they are added."""
WHOLE = BernoulliArms([0.6, 0.5, 0.5, 0.5])
GROUPS = BiasedLinearArms(arms=4, sensitive=2)
EARNED = {"shares": [0.1] * 4, "tolerance": 0}
"""Eleven workers first decide 60 rounds one after another."""
CASES = {
    "ucb1": (UCB1(arms=4), FRACTIONS),
    "ucb1, whole": (UCB1(arms=4), WHOLE),
    "kl-ucb": (KLUCB(arms=4), FRACTIONS),
    "moss": (MOSS(arms=4), FRACTIONS),
    "thompson": (Thompson(arms=4), FRACTIONS),
    "epsilon-greedy": (EpsilonGreedy(arms=4), FRACTIONS),
    "discounted-ucb": (DiscountedUCB(0.95, arms=4), FRACTIONS),
    "deadline-learn+ucb1": (DeadlineLearn(UCB1(), **EARNED), FRACTIONS),
    "deadline-learn+thompson": (DeadlineLearn(Thompson(), [0.25] * 4, 12), WHOLE),
    "deadline-learn+discounted-ucb": (DeadlineLearn(DiscountedUCB(0.95), **EARNED), FRACTIONS),
    "top-interval": (TopInterval(GROUPS.groups), GROUPS),
    "group-fair": (GroupFairTopInterval(GROUPS.groups), GROUPS),
    "interval-chaining": (IntervalChaining(GROUPS.groups), GROUPS),
    "linear-thompson": (LinearThompson(GROUPS.groups, draws=3), GROUPS),
    "deadline-learn+linear-thompson": (
        DeadlineLearn(LinearThompson(GROUPS.groups, intercept=True), **EARNED, arms=GROUPS.arms),
        GROUPS,
    ),
    "deadline-learn, a cap by lottery": (
        DeadlineLearn(
            UCB1(), eh.Promise([0.1, 0.1, 0, 0], 12, caps={3: 0.5}, cap_tolerance=12), lottery=0.5, arms=range(4)
        ),
        FRACTIONS,
    ),
    "deadline-learn, a set": (DeadlineLearn(UCB1(), {(0, 1): 0.4, 2: 0.1, 3: 0}, 12), FRACTIONS),
    "deadline-learn, windows": (DeadlineLearn(UCB1(), eh.Promise([0.0] * 4, windows={0: 60, 1: (2, 90)})), FRACTIONS),
}

OFTEN = ("ucb1", "deadline-learn+ucb1")
"""Compiled whenever the whole test runs; the others are compiled at night."""
ALIKE = ("deadline-learn, a set", "deadline-learn, windows")
"""Played by the kernels of the one before them, which take a minute to compile; as plain Python alone."""


def same(name, workers, every, delay, rounds=150, compiled=False):
    """Say whether kernels and asks and tells leave the same trace."""
    policy, world = CASES[name]
    team = Team(policy, workers, every)
    assert team.compiled
    settings = {"policy_seed": 3, "world_seed": 4, "checkpoints": np.arange(1, rounds + 1), "stop": lambda done: None}
    promise, late = traits_of(policy).promise, read_delay(delay)
    fast = replicate(team, world, promise, **settings, delay=late, compiled=compiled)
    slow = replicate(Stepped(team), world, promise, **settings, delay=late)
    return all(a.tobytes() == b.tobytes() for a, b in zip(fast, slow, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_kernels_as_plain_python_play_what_asks_and_tells_play(name):
    assert same(name, 11, 4, ("geometric", 9))


@pytest.mark.parametrize(("every", "delay"), [(5, None), (None, 2)])
@pytest.mark.parametrize("name", ["ucb1", "deadline-learn+ucb1", "top-interval"])
def test_they_do_so_at_once_and_alone(name, every, delay):
    assert same(name, 3, every, delay)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name if name in OFTEN else at_night(name) for name in CASES if name not in ALIKE])
def test_the_compiled_loop_plays_what_asks_and_tells_play(name):
    for workers, every, delay in ((3, 5, None), (11, 4, ("geometric", 9)), (3, None, 2)):
        assert same(name, workers, every, delay, rounds=1000, compiled=True), (workers, every)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_simulation_is_the_same_compiled_and_stepped(monkeypatch, tmp_path):
    """Also when it goes on, compiled, from what was played in Python, and on threads."""
    policies = {"ucb1": UCB1(), "fair": CASES["deadline-learn+ucb1"][0]}
    call = {"rounds": 300, "seed": 5, "checkpoints": 7, "workers": 11, "exchange_rounds": 4}
    stepped = eh.simulate(policies, WHOLE, replications=4, **call)
    eh.simulate(policies, WHOLE, replications=2, **call, store=tmp_path)
    monkeypatch.setattr(simulation, "STEPPED_ROUNDS", 0)
    xr.testing.assert_identical(eh.simulate(policies, WHOLE, replications=4, **call, jobs=2), stepped)
    xr.testing.assert_identical(eh.simulate(policies, WHOLE, replications=4, **call, store=tmp_path), stepped)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("backend", ["dask", at_night("ray")])
def test_a_cluster_plays_the_same_workers(backend, monkeypatch):
    monkeypatch.setattr(simulation, "STEPPED_ROUNDS", 0)
    call = {"rounds": 300, "replications": 4, "seed": 5, "checkpoints": 7, "workers": 3, "exchange_rounds": 10}
    here = eh.simulate(CASES["deadline-learn+ucb1"][0], WHOLE, **call, jobs=1, backend="sequential")
    if backend == "ray":
        ray = pytest.importorskip("ray")
        ray.init(num_cpus=2, include_dashboard=False)
        try:
            there = eh.simulate(CASES["deadline-learn+ucb1"][0], WHOLE, **call, jobs=2, backend="ray")
        finally:
            ray.shutdown()
    else:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster),
        ):
            there = eh.simulate(CASES["deadline-learn+ucb1"][0], WHOLE, **call, backend="dask")
    xr.testing.assert_identical(there, here)


def test_a_learner_that_derives_in_python_alone_is_stepped():
    class Otherwise(UCB1):
        def derive(self, state):
            super().derive(state)

    assert derive_kernel(Otherwise(arms=3)) is None
    assert not Team(Otherwise(arms=3), 2, 10).compiled
    assert Team(Otherwise(arms=3), 2, None).compiled
    assert Team(Exp3(arms=3), 2, None).compiled


def test_the_kernel_that_derives_does_what_its_python_twin_does():
    random = np.random.default_rng(1)
    for _ in range(50):
        one, two = UCB1(arms=20), UCB1(arms=20)
        pulls = random.integers(0, 9, 20)
        for policy in (one, two):
            policy._state.pulls[:] = pulls
            policy._state.duel[:] = 7
        one._state.sums[:] = two._state.sums[:] = random.random(20) * pulls
        one.derive(one._state)
        derive_kernel(two)(two._state)
        assert [a.tobytes() for a in one._state] == [b.tobytes() for b in two._state]


def test_a_row_of_stacked_arrays_is_a_view():
    states = [UCB1(arms=n)._state for n in (3, 3, 3)]
    arrays = stack(states)
    row = row_of(states[0])(arrays, 1)
    row.pulls[:] = [4, 5, 6]
    assert arrays[0].tolist() == [[0, 0, 0], [4, 5, 6], [0, 0, 0]]
    read, write = copier([0, 1])
    values = np.zeros(6)
    read(arrays, 1, values, 0)
    assert values.tolist() == [4, 5, 6, 0, 0, 0]
    write(arrays, 2, values + 1, 0)
    assert arrays[0][2].tolist() == [5, 6, 7]
    assert arrays[1][2].tolist() == [1, 1, 1]


number, inner = 0, OPEN


@kernel
def _adds(x):
    return inner(x) + number


def test_a_template_inside_itself_counts_with_all_that_it_is_bound_to():
    """Machine code on disk is found by this fingerprint: two kernels that differ deep inside must not share it."""

    def nested(deep):
        return bind(_adds, number=1, inner=bind(_adds, number=deep, inner=abs))

    assert nested(2)(-5) == 8
    assert nested(3)(-5) == 9
    assert fingerprint(nested(2)) != fingerprint(nested(3))
