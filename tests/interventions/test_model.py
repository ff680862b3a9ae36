import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import ArgumentError
from evenhand.interventions import CausalModel
from tests.fuzzing import many
from tests.reference import interventions as twin

MODEL = CausalModel.from_tables(
    {"rain": ["yes", "no"], "sun": ["yes", "no"], "wet": ["dry", "damp", "soaked"]},
    {"rain": [], "sun": ["rain"], "wet": ["rain", "sun"]},
    {
        "rain": [0.2, 0.8],
        "sun": [[0.1, 0.9], [0.5, 0.5]],
        "wet": [[[0.1, 0.2, 0.7], [0.0, 0.1, 0.9]], [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1]]],
    },
)


@st.composite
def networks(draw):
    """Random networks of two to five nodes of two or three states."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(2, 5))
    names = [f"n{i}" for i in range(size)]
    states = {name: tuple(range(draw(st.integers(2, 3)))) for name in names}
    parents = {name: tuple(p for p in names[:i] if draw(st.booleans())) for i, name in enumerate(names)}
    tables = {n: random.dirichlet(np.ones(len(states[n])), [len(states[p]) for p in parents[n]]) for n in names}
    return CausalModel.from_tables(states, parents, tables)


@given(networks(), st.data())
@settings(max_examples=many(60))
def test_elimination_agrees_with_enumeration_under_interventions(model, data):
    nodes = data.draw(st.lists(st.sampled_from(model.order), min_size=1, max_size=3, unique=True))
    held = data.draw(st.sampled_from(model.order))
    state = data.draw(st.sampled_from(model.states[held]))
    soft = data.draw(st.sampled_from(model.order))
    other = np.random.default_rng(1).dirichlet(np.ones(model.shape(soft)[-1]), model.shape(soft)[:-1])
    expected = np.zeros([len(model.states[node]) for node in nodes])
    for at, mass in twin.joint(model, {soft: other}, {held: state}):
        expected[tuple(at[node] for node in nodes)] += mass
    found = model.probabilities(nodes, do={held: state}, tables={soft: other})
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_samples_have_the_law_of_the_model_under_both_kinds_of_intervention():
    soft = [[0.5, 0.5], [0.2, 0.8]]
    frame = MODEL.sample(40_000, do={"rain": "no"}, tables={"sun": soft}, seed=5)
    assert (frame["rain"] == "no").all()
    exact = MODEL.probabilities(["sun", "wet"], do={"rain": "no"}, tables={"sun": soft}).reshape(-1)
    found = frame.groupby(["sun", "wet"], observed=False).size().to_numpy()
    cells = exact > 0
    chi = ((found - 40_000 * exact)[cells] ** 2 / (40_000 * exact[cells])).sum()
    assert chi < 27.9  # chi-square, 5 degrees of freedom: exceeded by chance 4 times in 100,000
    assert found[~cells].sum() == 0


def test_unknown_nodes_states_and_missing_tables_are_refused():
    with pytest.raises(ArgumentError, match="near it: rain"):
        MODEL.probabilities(["rains"])
    partial = CausalModel.from_tables(MODEL.states, MODEL.parents, {"wet": MODEL.tables["wet"]})
    assert not partial.complete
    with pytest.raises(ArgumentError, match="'rain', 'sun'"):
        partial.sample(3)
    assert partial.probabilities(["wet"], do={"rain": "no", "sun": "yes"}).tolist() == [0.8, 0.1, 0.1]
