"""Kernels: composition that is never served stale, random numbers with the right distribution, ties."""

import numpy as np
import pytest
from scipy import stats

from evenhand.kernels.compose import OPEN, LazyKernel, bind, entry, fingerprint, kernel
from evenhand.kernels.random import below, beta, gamma, normal, uniform
from evenhand.learners import UCB1
from evenhand.learners.indices import untried
from evenhand.rng import child, generator, stream

pytestmark = pytest.mark.compiled

inner = OPEN
OFFSET = 3


@kernel
def twice(x):
    return 2 * x


@kernel
def thrice(x):
    return 3 * x


@kernel
def template(x):
    return inner(x) + OFFSET


def test_a_template_is_filled_by_name_and_the_same_composition_is_the_same_function():
    assert bind(template, inner=twice)(5) == 13
    assert bind(template, inner=thrice)(5) == 18
    assert entry(template, inner=thrice)(5) == 18
    assert bind(template, inner=twice) is bind(template, inner=twice)


def test_the_fingerprint_follows_every_kernel_and_constant_that_is_reached():
    prints = {
        fingerprint(bind(template, inner=twice)),
        fingerprint(bind(template, inner=thrice)),
        fingerprint(bind(template, inner=bind(template, inner=twice))),
        fingerprint(bind(template, inner=twice, OFFSET=4)),
    }
    assert len(prints) == 4
    assert fingerprint(bind(template, inner=twice)) in prints


def test_a_cached_entry_carries_its_fingerprint_in_its_name():
    one, other = (entry(template, inner=inner).uncompiled for inner in (twice, thrice))
    assert one.function.__qualname__ != other.function.__qualname__
    assert one.function.__qualname__ == f"template_{fingerprint(one)}"


def words(seed):
    return stream(seed, 5)


def test_xoshiro_is_the_published_generator():
    """Blackman and Vigna's xoshiro256+: the reference step, in Python's integers."""
    state = words(1)
    s = [int(word) for word in state]
    mask = (1 << 64) - 1
    with np.errstate(over="ignore"):
        for _ in range(500):
            result = (s[0] + s[3]) & mask
            t = (s[1] << 17) & mask
            s[2] ^= s[0]
            s[3] ^= s[1]
            s[1] ^= s[2]
            s[0] ^= s[3]
            s[2] ^= t
            s[3] = ((s[3] << 45) | (s[3] >> 19)) & mask
            assert uniform(state) == (result >> 11) * 2.0**-53
    assert [int(word) for word in state] == s


@kernel
def fill(stream, values, shape, other):
    for i in range(values.shape[1]):
        values[0, i] = uniform(stream)
        values[1, i] = normal(stream)
        values[2, i] = gamma(stream, shape)
        values[3, i] = beta(stream, shape, other)
        values[4, i] = below(stream, 6)


def test_random_numbers_have_their_distributions():
    """Kolmogorov's statistic of n = 20,000 draws is above 2.7 / sqrt(n) with probability 2 exp(-2 * 2.7^2) < 1e-6."""
    n = 20_000
    values = np.zeros((5, n))
    entry(fill)(words(3), values, 2.5, 4.0)
    laws = [stats.uniform(), stats.norm(), stats.gamma(2.5), stats.beta(2.5, 4.0)]
    for drawn, law in zip(values, laws, strict=False):
        assert stats.kstest(drawn, law.cdf).statistic < 2.7 / np.sqrt(n)
    # each face within 0.02 of 1/6: Hoeffding, 6 * 2 exp(-2 n 0.02^2) < 2e-6
    faces = np.bincount(values[4].astype(int), minlength=6) / n
    assert len(faces) == 6
    assert np.abs(faces - 1 / 6).max() < 0.02


def test_streams_are_named_by_seed_and_path():
    seen = {tuple(stream(*path).tolist()) for path in [(1,), (2,), (1, 0), (1, 1), (1, 0, 0), (1, 1, 0)]}
    assert len(seen) == 6
    assert len({child(1), child(2), child(1, 0), child(1, 1), child(1, 0, 1)}) == 5
    assert child(1, 0) == child(1, 0) >= 0
    assert generator(1, 2).random() == generator(1, 2).random() != generator(1, 3).random()


@pytest.mark.parametrize(
    ("pulls", "waiting", "arm"),
    [
        ([0, 0, 0], [1, 0, 0], 1),
        ([0, 0, 0], [2, 1, 1], 1),
        ([1, 0, 0], [0, 1, 0], 2),
        ([1, 0, 0], [0, 1, 1], -1),
    ],
)
def test_the_arm_to_try_first(pulls, waiting, arm):
    assert untried(np.array(pulls), np.array(waiting)) == arm


def test_an_entry_runs_as_plain_python_at_first_and_gives_the_same_numbers_compiled():
    given = []
    gradual = LazyKernel(entry(template, inner=twice), (5,), 2, given.append)
    assert [gradual(5), gradual(5)] == [13, 13]
    assert not given
    assert gradual(5) == 13
    assert given[0](5) == 13


def test_a_policy_compiles_when_it_has_decided_often_enough_and_when_it_is_told_to(monkeypatch):
    policies = {"late": UCB1(arms=3), "early": UCB1(arms=3), "told": UCB1(arms=3)}
    monkeypatch.setattr("evenhand.policy.engine.PLAIN_WORK", 10**9)
    policies["late"].ask()
    policies["told"].ask()
    policies["told"].engine.compile()
    monkeypatch.setattr("evenhand.policy.engine.PLAIN_WORK", 1000)
    policies["early"].ask()
    for t in range(40):
        decisions = [policy.ask() for policy in policies.values()]
        assert decisions[0] == decisions[1] == decisions[2]
        for policy in policies.values():
            policy.tell(decisions[0].id, t % 3 / 2)
    plain = {name: isinstance(policy.engine.calls.ask, LazyKernel) for name, policy in policies.items()}
    assert plain == {"late": True, "early": False, "told": False}
