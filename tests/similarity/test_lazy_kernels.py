"""The first decisions run as plain Python, bit for bit as the machine code that follows."""

import itertools
import subprocess
import sys

import pytest

from evenhand.saving.state import to_bytes
from evenhand.similarity import (
    EllipsoidDistance,
    LinearContexts,
    LipschitzUCB,
    MahalanobisOracle,
    MomentDistance,
    ProjectedVolumeDistance,
)
from evenhand.similarity.lazy_kernels import MOST_PLAIN_CALL, PLAIN_WORK, distance_kernels, lazy_kernel, round_kernels
from tests.naming import at_night
from tests.similarity.conversations import talk

A_FEW = """
import sys
from evenhand.similarity import *
policy = LipschitzUCB(2, seed=1)
world = LinearContexts([0.5, 0.3], MahalanobisOracle([[0.4, 0.1]], seed=3), individuals=3)
world.reset(1)
for _ in range(5):
    decision = policy.ask(*world.observe())
    policy.tell(decision, *world.respond(decision))
policy.distances(decision.probabilities[:2].reshape(1, 2)), policy.questions(policy.ask(*world.observe()))
print(policy.round, "numba" in sys.modules)
"""


def test_a_few_decisions_do_not_wait_for_a_compiler():
    done = subprocess.run([sys.executable, "-c", A_FEW], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["6", "False"]


def conversation(metric, select, rounds):
    """The decisions of a policy, and its state."""
    policy = LipschitzUCB(2, metric=metric, select=select, individuals=3, seed=4)
    oracle = MahalanobisOracle([[0.4, 0.1]], seed=3, error_rate=metric.error_rate)
    world = LinearContexts([0.5, -0.3], oracle, individuals=3, contexts="ball", select=select)
    world.reset(9)
    said = [(decision.arm, decision.probabilities.tobytes()) for _, decision, _ in talk(policy, world, rounds)]
    return said, to_bytes(policy)


@pytest.fixture
def run_for(monkeypatch):
    """Make kernels anew that run as plain Python for so much work."""

    def make(work):
        monkeypatch.setattr("evenhand.similarity.lazy_kernels.PLAIN_WORK", work)
        monkeypatch.setattr("evenhand.similarity.lazy_kernels.MOST_PLAIN_CALL", work)
        round_kernels.cache_clear(), distance_kernels.cache_clear()

    yield make
    round_kernels.cache_clear(), distance_kernels.cache_clear()


METRICS = {
    "ellipsoid": (EllipsoidDistance(), 150),
    "one a pair": (EllipsoidDistance(shared=False), 150),
    "moments": (MomentDistance(), 40),
    "errors": (MomentDistance(error_rate=0.1), 150),
    "projected volume": (ProjectedVolumeDistance(seed=1), 8),
}
OFTEN = [("moments", "many"), ("projected volume", "one")]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "select"),
    [case if case in OFTEN else at_night(*case) for case in itertools.product(METRICS, ["one", "many"])],
)
def test_plain_python_and_machine_code_decide_and_learn_the_very_same(name, select, run_for):
    metric, rounds = METRICS[name]
    run_for(10**15)
    plain = conversation(metric, select, rounds)
    run_for(-1)
    assert conversation(metric, select, rounds) == plain
    assert round_kernels(metric._update_kernel, metric.plain_work).ask._compiled is not None


@pytest.mark.compiled
def test_a_call_that_would_take_long_is_compiled_at_once():
    class Entered:
        uncompiled = type("Kernel", (), {"function": staticmethod(lambda x: "plain")})
        compiled = staticmethod(lambda x: "compiled")

    run = lazy_kernel(Entered(), lambda x: x)
    calls = (1, MOST_PLAIN_CALL - 1, MOST_PLAIN_CALL, 1)
    assert [run(entries) for entries in calls] == ["plain", "plain", "compiled", "compiled"]
    run = lazy_kernel(Entered(), lambda x: x)
    said = [run(MOST_PLAIN_CALL // 2) for _ in range(2 * PLAIN_WORK // MOST_PLAIN_CALL + 2)]
    assert said.index("compiled") == 2 * PLAIN_WORK // MOST_PLAIN_CALL


def test_a_shared_learner_has_one_answer_for_every_pair():
    learner = EllipsoidDistance()
    learner.verdict([0.5, 0.2], [0.1, 0.0], 0.2, True, pair=3)
    assert learner.bounds([0.5, 0.2], [0.1, 0.0], pair=5) == learner.bounds([0.5, 0.2], [0.1, 0.0])
