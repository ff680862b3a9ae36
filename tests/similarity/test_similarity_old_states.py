"""Policies and studies that were saved while a robust belief matched moments go on as they would have."""

import gzip
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.similarity import MahalanobisOracle
from evenhand.studies import Study

OLD = Path(__file__).parent.parent / "states"
SAID = json.loads((OLD / "similarity-next.json").read_text())
"""What the version that saved them decided and asked next."""
A = np.array([[0.5, 0.1], [0.0, 0.4]])


def test_a_policy_that_went_over_decides_and_learns_as_it_did():
    policy, rng, said = eh.load(OLD / "robust-moments.state"), np.random.default_rng(2), []
    assert (policy.belief, policy.metric.guarantee) == ("moments", "measured, not certified")
    for _ in range(10):
        x = rng.uniform(-0.6, 0.6, (4, 2))
        decision = policy.ask(x)
        p = decision.probabilities
        true, gap = np.linalg.norm((x[:, None] - x[None]) @ A.T, axis=2), abs(p[:, None] - p)
        places = [(i, j) for i in range(4) for j in range(i + 1, 4) if gap[i, j] > 1e-9]
        pairs = [pair for pair in places if (true[pair] < gap[pair]) != (rng.random() < 0.15)]
        said.append([decision.index, *(float(one).hex() for one in p)])
        policy.tell(decision, None if decision.index < 0 else float(x[decision.index].sum()), pairs)
    assert said == SAID["policy"]


def test_a_queue_that_went_over_asks_as_it_did():
    queue, rng, said = eh.load(OLD / "pair-queue-moments.state"), np.random.default_rng(2), []
    assert queue.policy.belief == queue.belief == "moments"
    for n in range(8):
        who = ("ann", "bob")[n % 2]
        task = queue.ask(annotator=who)
        said.append([task.item, float(task.gap).hex()])
        queue.tell(task, ("unfair", "acceptable")[int(rng.random() < 0.5)], annotator=who)
    assert said == SAID["queue"]


@pytest.mark.parametrize("name", ["audit", "many"])
def test_a_study_of_before_verifies_and_goes_on(name, tmp_path):
    place = tmp_path / f"{name}.evenhand"
    place.write_bytes(gzip.decompress((OLD / f"{name}.evenhand.gz").read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Study.open(place) as study:
            assert study.verify().ok
            study.ask(annotator="cid") if name == "audit" else study.ask(0.5 * np.eye(2))
            assert study.verify().ok


def test_projected_volume_decides_as_it_did():
    policy, rng, said = eh.load(OLD / "projected-volume.state"), np.random.default_rng(3), []
    for _ in range(6):
        x = rng.uniform(-0.6, 0.6, (4, 2))
        decision = policy.ask(x)
        said.append([*decision.arm, *(float(p).hex() for p in decision.probabilities)])
        told = MahalanobisOracle(A)(x, decision.probabilities)
        policy.tell(decision, [float(x[i].sum()) for i in decision.arm], told)
    assert said == SAID["projected"]
