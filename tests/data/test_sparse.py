"""A sparse matrix is refused by name at every door that takes numbers for people, items or arms."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.sampling import ArrayPool, OptimisticSampler, label_pairs
from tests.data.test_categories import FEATURES

DENSE = np.random.default_rng(0).normal(size=(40, 2))
GROUPS, LABELS = ["f", "m"] * 20, [0, 1] * 20
LOG = pd.DataFrame({"arm": ["x", "y"] * 20, "reward": [0, 1] * 20, "p": 0.5})
COLUMNS = {"arm": "arm", "reward": "reward", "propensity": "p"}


def told(X, tell):
    sampler = OptimisticSampler(["f", "m"], seed=1)
    return tell(sampler, sampler.ask(), X)


def in_study(X):
    with eh.Study.create(":memory:", eh.learners.LinUCB(arms=["a", "b"])) as study:
        study.ask(X[:2])


DOORS = FEATURES | {
    "pairs": lambda X: label_pairs(X, LABELS, GROUPS),
    "rows of a sampler": lambda X: told(X, lambda sampler, draw, X: sampler.tell_rows(draw, X, LABELS, trains=3)),
    "labels": lambda X: ArrayPool(DENSE, X, group=GROUPS),
    "study": in_study,
    "groups": lambda X: eh.groups.TopInterval({"a": "f", "b": "m"}).ask(X[:2]),
    "individuals": lambda X: eh.similarity.LipschitzUCB(2, seed=1).ask(X),
    "people": lambda X: eh.similarity.PairQueue(X, LABELS),
    "distances": lambda X: eh.similarity.fair_distribution(LABELS, X),
    "probabilities": lambda X: eh.evaluate(LOG, X, **COLUMNS),
    "probabilities of a function": lambda X: eh.evaluate(LOG, lambda log: X, **COLUMNS),
    "expected rewards": lambda X: eh.evaluate(LOG, {"x": 0.5, "y": 0.5}, **COLUMNS, model=X),
}


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.lil_array])
@pytest.mark.parametrize("door", DOORS)
def test_a_sparse_matrix_is_refused_with_what_to_pass(door, kind):
    with pytest.raises(
        ArgumentError, match=r"^[\w ().]+: expected .*, got 'a sparse matrix of .*'; pass its \.toarray\(\)$"
    ):
        DOORS[door](kind(DENSE))
