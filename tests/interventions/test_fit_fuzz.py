"""Whatever people bring to a fitted model, it works or is refused by name."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import EvenhandError
from evenhand.interventions import CausalModel, Problem
from tests.fuzzing import many

FRAME = pd.DataFrame({"S": [0, 1, 0, 1, 1, 0], "V": ["a", "b", "a", "a", "b", "b"], "Y": [0, 1, 1, 0, 1, 0]})
MODEL = CausalModel.fit(FRAME, "S -> V -> Y")
odd = st.recursive(
    st.sampled_from(
        [None, "", "a", "b", "S", "V", "c", 0, 1, -1, 0.5, True, float("nan"), float("inf"), 10**400, b"a", 1j]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(["a", "b", 0, 1, "0", "1", (0,), None]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(odd)
@settings(max_examples=many(200))
def test_a_candidate_of_any_kind(candidate):
    for given_ in (candidate, lambda given: candidate):
        try:
            problem = Problem(MODEL, intervene="V", sensitive="S", outcome="Y", candidates={"now": None, "odd": given_})
        except EvenhandError:
            continue
        assert np.allclose(problem.tables.sum(-1), 1.0)
        assert np.isfinite(problem.posterior(draws=3, seed=1).outcomes).all()
        assert problem.sensitivity(tolerance=0.3).strength >= 1.0


@given(odd | st.text(alphabet="SVY ->,<", max_size=12), odd | st.text(alphabet="SVY ->,<", max_size=8))
@settings(max_examples=many(200))
def test_edges_of_any_kind(edges, latent):
    try:
        model = CausalModel.fit(FRAME, edges, latent=latent)
    except EvenhandError:
        return
    assert set(model.states) <= {"S", "V", "Y"}
    assert model.complete


@given(st.lists(odd, min_size=6, max_size=6), odd)
@settings(max_examples=many(100))
def test_columns_of_any_kind(cells, smoothing):
    frame = FRAME.assign(V=pd.Series(cells, dtype=object))
    for mass in (1.0, smoothing):
        try:
            model = CausalModel.fit(frame, "S -> V -> Y", smoothing=mass)
        except EvenhandError:
            continue
        assert all(np.isfinite(table).all() for table in model.tables.values())
