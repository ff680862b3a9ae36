import contextlib
import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenhand.errors import ArgumentError, EvenhandError, TableError
from evenhand.interventions import CausalModel
from tests.fuzzing import many
from tests.interventions.examples import networks
from tests.reference import interventions as twin

BIF = """
network "sprinkler" { property author someone; }
// a comment
variable rain { type discrete [ 2 ] { yes, no }; }
variable wet {
  type discrete [ 3 ] { dry, damp, "soaked" };
  property position = (1, 2);
}
variable sun { type discrete [2] { yes, no }; }
probability ( rain ) { table 0.2, 0.8; }
probability ( sun | rain ) { default 0.5, 0.5; (yes) 0.1, 0.9; }
probability ( wet | rain, sun ) {
  (yes, yes) 0.1, 0.2, 0.7;
  (no, yes) 0.8, 0.1, 0.1;
  (yes, no) 0.0, 0.1, 0.9;
  (no, no) 0.6, 0.3, 0.1;
}
"""


@pytest.fixture
def bif(tmp_path):
    path = tmp_path / "net.bif"
    path.write_text(BIF)
    return path


def test_a_bif_file_is_read_entry_by_entry(bif):
    model = CausalModel.from_bif(bif)
    assert model.states["wet"] == ("dry", "damp", "soaked")
    assert model.parents == {"rain": (), "sun": ("rain",), "wet": ("rain", "sun")}
    assert model.tables["wet"][1, 0].tolist() == [0.8, 0.1, 0.1]
    assert model.tables["sun"].tolist() == [[0.1, 0.9], [0.5, 0.5]]


def test_a_gzipped_file_and_a_table_entry_with_parents_read_the_same(bif, tmp_path):
    packed = tmp_path / "net.bif.gz"
    flat = BIF.replace("default 0.5, 0.5; (yes) 0.1, 0.9;", "table 0.1, 0.5, 0.9, 0.5;")
    packed.write_bytes(gzip.compress(flat.encode()))
    one, other = CausalModel.from_bif(bif), CausalModel.from_bif(packed)
    assert all((one.tables[node] == other.tables[node]).all() for node in one.states)


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("(yes, yes) 0.1, 0.2, 0.7;", "", "wet"),
        ("(yes, yes)", "(yes, maybe)", "wet"),
        ("0.2, 0.8; }", "0.2, 0.8;", "no end"),
        ("( rain )", "( hail )", "hail"),
        ("discrete [2]", "continuous", "sun"),
        ("0.2, 0.8;", "0.2, x;", "rain"),
    ],
)
def test_a_damaged_bif_file_is_refused_by_name(bif, old, new, names):
    assert old in BIF
    bif.write_text(BIF.replace(old, new, 1))
    with pytest.raises(TableError, match=names):
        CausalModel.from_bif(bif)


@given(st.data())
@settings(max_examples=many(300), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_to_a_bif_file_it_is_read_or_refused(tmp_path, data):
    at = data.draw(st.integers(0, len(BIF)))
    until = data.draw(st.integers(at, min(len(BIF), at + 40)))
    put = data.draw(
        st.sampled_from(["", "{", "}", ";", "(", ")", "|", ",", '"', " 0.5 ", " nan ", " yes ", " table ", "/*"])
    )
    path = tmp_path / "mutated.bif"
    path.write_text(BIF[:at] + put + BIF[until:])
    with contextlib.suppress(EvenhandError):
        model = CausalModel.from_bif(path)
        assert all(np.allclose(table.sum(-1), 1) for table in model.tables.values())


def test_an_absent_or_foreign_file_is_refused(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        CausalModel.from_bif(tmp_path / "absent.bif")
    foreign = tmp_path / "foreign.bif"
    foreign.write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="BIF"):
        CausalModel.from_bif(foreign)


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


def test_samples_have_the_law_of_the_model_under_both_kinds_of_intervention(bif):
    model = CausalModel.from_bif(bif)
    soft = [[0.5, 0.5], [0.2, 0.8]]
    frame = model.sample(40_000, do={"rain": "no"}, tables={"sun": soft}, seed=5)
    assert (frame["rain"] == "no").all()
    exact = model.probabilities(["sun", "wet"], do={"rain": "no"}, tables={"sun": soft}).reshape(-1)
    found = frame.groupby(["sun", "wet"], observed=False).size().to_numpy()
    cells = exact > 0
    chi = ((found - 40_000 * exact)[cells] ** 2 / (40_000 * exact[cells])).sum()
    assert chi < 27.9  # chi-square, 5 degrees of freedom: exceeded by chance 4 times in 100,000
    assert found[~cells].sum() == 0


def test_samples_repeat_by_seed_and_skip_what_is_not_asked_for(bif):
    model = CausalModel.from_bif(bif)
    one, other = (model.sample(50, nodes=["sun"], seed=3) for _ in range(2))
    assert one.equals(other)
    assert list(one.columns) == ["sun"]


@pytest.mark.data
def test_pyagrum_infers_the_same_on_hepar2(hepar2):
    gum = pytest.importorskip("pyagrum")
    model = CausalModel.from_bif(hepar2)
    network = gum.loadBN(str(hepar2.parent / "plain.bif"))
    inference = gum.LazyPropagation(network)
    inference.setEvidence({"sex": "male"})
    inference.makeInference()
    found = model.probabilities(["carcinoma"], do={"sex": "male"})
    np.testing.assert_allclose(found, inference.posterior("carcinoma").toarray(), atol=1e-7)


S, P = {"a": [0, 1], "b": [0, 1]}, {"a": [], "b": ["a"]}


@pytest.mark.parametrize(
    ("states", "parents", "tables", "names"),
    [
        (S, {"a": ["b"], "b": ["a"]}, {}, "cycles"),
        (S, {"a": [], "b": ["c"]}, {}, "parents.*'c'"),
        (S, P, {"a": [0.5, 0.6]}, "sum to one"),
        (S, P, {"a": [[0.5, 0.5]]}, "shape"),
        (S, P, {"a": [1.5, -0.5]}, "probabilities >= 0"),
        (S, P, {"a": ["x", "y"]}, "numbers"),
        (S, {"a": []}, {"b": [0.5, 0.5]}, "parents of 'b'"),
        ({"a": [0, 0]}, {}, {}, "distinct"),
        ({"a": [0.5, 1.5]}, {}, {}, "str or int"),
        ({1: [0, 1]}, {}, {}, "named by text"),
        ({"a": "yes"}, {}, {}, "list of states"),
    ],
)
def test_what_is_no_model_is_refused_by_name(states, parents, tables, names):
    with pytest.raises(ArgumentError, match=names):
        CausalModel.from_tables(states, parents, tables)


def test_unknown_nodes_states_and_missing_tables_are_refused(bif):
    model = CausalModel.from_bif(bif)
    with pytest.raises(ArgumentError, match="near it: rain"):
        model.probabilities(["rains"])
    with pytest.raises(ArgumentError, match="a state of 'rain'"):
        model.probabilities(["wet"], do={"rain": "maybe"})
    with pytest.raises(ArgumentError, match="count"):
        model.sample(-1)
    partial = CausalModel.from_tables(model.states, model.parents, {"wet": model.tables["wet"]})
    assert not partial.complete
    with pytest.raises(ArgumentError, match="'rain', 'sun'"):
        partial.sample(3)
    assert partial.probabilities(["wet"], do={"rain": "no", "sun": "yes"}).tolist() == [0.8, 0.1, 0.1]
