"""Policies from plain data: what can be described is made, what cannot be is refused by name, nothing else happens."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.descriptions.policies import FROM_PYTHON, policy_from
from evenhand.errors import ArgumentError, EvenhandError, RegistryError, SharesError
from tests.naming import named

GROUPS = {"ann": "F", "bob": "M", "cid": "M"}
PROBLEM = {
    "model": {
        "states": {"sex": ["f", "m"], "dose": [0, 1], "cured": [0, 1]},
        "parents": {"sex": [], "dose": ["sex"], "cured": ["dose"]},
        "tables": {"sex": [0.5, 0.5], "dose": [[0.8, 0.2], [0.4, 0.6]], "cured": [[0.7, 0.3], [0.1, 0.9]]},
    },
    "intervene": "dose",
    "sensitive": "sex",
    "outcome": "cured",
    "candidates": {"now": None, "same for all": [[0.5, 0.5], [0.5, 0.5]]},
}
SEARCH = {"problem": PROBLEM, "tolerance": 0.1, "budget": 500}
DESCRIBED = {
    "learners/lin-ucb": {"discount": 0.99, "arms": ["a", "b"]},
    "learners/scores": {"low": 0, "high": 2, "arms": ["a", "b"]},
    "learners/thompson": {"arms": [7, "7"]},
    "learners/ucb1": {"arms": ["a", "b"]},
    "quotas/deadline-learn": {"learner": "learners/ucb1", "shares": {"a": "70%", "b": 0.1}},
    "quotas/fair-learn": {"learner": {"policy": "learners/thompson"}, "shares": {"a": "1/3", "b": 0.2}},
    "quotas/fair-ucb": {"shares": {"a": 0.2, "b": 0.3}, "tolerance": 2},
    "quotas/horizon-fair-ucb": {"shares": [0.2, 0.3], "horizon": 100},
    "quotas/lfg": {"shares": 0.2, "arms": ["a", "b"], "eta": 10.0},
    "groups/group-fair-top-interval": {"groups": GROUPS, "sensitive": "F", "within": "chain"},
    "groups/interval-chaining": {"groups": GROUPS},
    "groups/linear-thompson": {"groups": ["F", "M"], "spread": 1.0},
    "groups/naive-fair": {"groups": GROUPS, "inner": {"policy": "groups/linear-thompson", "groups": GROUPS}},
    "groups/top-interval": {"groups": {"ann": ["F", "under 25"], "bob": ["M", "under 25"]}},
    "similarity/lipschitz-ucb": {
        "dimension": 2,
        "metric": {"part": "similarity/ellipsoid-distance", "shared": False},
        "individuals": 3,
    },
    "similarity/known-reward-lipschitz": {"theta": [0.5, 0.1], "metric": "similarity/moment-distance"},
    "sampling/epsilon-greedy": {"groups": ["u", "v"], "epsilon": 0.3},
    "sampling/greedy": {"groups": 2, "loss": "log"},
    "sampling/optimistic": {"groups": ["u", "v"], "model": {"part": "sampling/logistic-model", "C": 0.5}},
    "sampling/proportional": {"groups": ["u", "v"], "proportions": {"u": 0.25, "v": 0.75}},
    "sampling/uniform": {"groups": ["u", "v"], "costs": {"u": 1, "v": 2}, "budget": 10},
    "interventions/csr": SEARCH,
    "interventions/one-shot": SEARCH,
    "interventions/sris": {"problem": PROBLEM, "budget": 500},
    "interventions/two-stage-csr": SEARCH,
}


def test_every_registered_policy_can_be_described_or_is_refused_by_name():
    """Those that are not described here are by the arguments of their own examples, or are listed as for Python."""
    every = {e.name: e.cls for e in registry.entries("policy")}
    assert {*DESCRIBED, "sampling/certification"} <= {*every}
    for name in {*every} - {*DESCRIBED, "sampling/certification"}:
        policy, _ = next(iter(examples(every[name])))
        assert repr(policy_from({"policy": name, **policy.config()})) == repr(policy)
    assert {*FROM_PYTHON} <= {e.name for kind in ("policy", "part") for e in registry.entries(kind)}


@pytest.mark.parametrize(("name", "arguments"), DESCRIBED.items(), ids=lambda v: v if isinstance(v, str) else "")
def test_what_is_described_is_made_and_goes_through_json(name, arguments, tmp_path):
    text = json.dumps({"policy": name, **arguments})
    spec = json.loads(text)
    policy = policy_from(spec)
    assert json.dumps(spec) == text, "the data is left as it was"
    assert registry.name_of(policy) == name
    eh.save(policy, tmp_path / "policy")
    assert repr(eh.load(tmp_path / "policy")) == repr(policy)


def test_a_described_policy_decides_as_the_one_made_in_python():
    described = policy_from(
        {"policy": "quotas/fair-learn", "learner": "learners/thompson", "shares": {"a": "1/3", "b": 0.2}, "seed": 5}
    )
    made = eh.quotas.FairLearn(eh.learners.Thompson(), {"a": "1/3", "b": 0.2}, seed=5)
    for t in range(40):
        mine, other = described.ask(), made.ask()
        assert mine == other
        described.tell(mine, float(t % 3 == 0))
        made.tell(other, float(t % 3 == 0))


def test_a_seed_is_drawn_where_none_is_given():
    seeds = {policy_from({"policy": "quotas/fair-ucb", "shares": [0.1, 0.1]}).seed for _ in range(3)}
    assert len(seeds) == 3


def test_labels_that_are_numbers_are_found_under_their_text():
    spec = {"policy": "quotas/fair-ucb", "shares": {"17": 0.2, "18": 0.3}}
    assert policy_from(spec).arms == ("17", "18")
    assert policy_from({**spec, "arms": [17, 18]}).arms == (17, 18)
    both = policy_from({"policy": "quotas/fair-ucb", "shares": {"17": 0.2, "b": 0.3}, "arms": ["17", "b"]})
    assert both.arms == ("17", "b")
    pooled = policy_from({"policy": "sampling/proportional", "groups": 2, "proportions": {"0": 0.25, "1": 0.75}})
    assert pooled.proportions == {0: 0.25, 1: 0.75}
    values = {"policy": "interventions/sris", "problem": {**PROBLEM, "values": {"0": -1, "1": 5}}, "budget": 500}
    assert policy_from(values).problem.scale == 6.0


def test_a_candidate_that_is_null_has_the_models_own_table():
    states, tables = PROBLEM["model"]["states"], PROBLEM["model"]["tables"]
    aged = {
        "states": {**states, "old": ["no", "yes"]},
        "parents": {**PROBLEM["model"]["parents"], "old": []},
        "tables": {**tables, "old": [0.5, 0.5]},
    }
    rules = {"now": None, "old": {"old": {"no": {"0": 1}, "yes": {"1": 1}}}}
    drawn = policy_from({**CSR, "problem": {**PROBLEM, "model": aged, "candidates": rules, "randomised": True}}).problem
    assert drawn.lot == ("sex",)
    assert drawn.model.parents["dose"] == ("sex", "old")
    assert drawn.tables[0].tolist() == [[row, row] for row in tables["dose"]]
    problem = policy_from({"policy": "interventions/csr", **SEARCH}).problem
    assert problem.candidates == ("now", "same for all")
    assert problem.outcomes.round(2).tolist() == [0.54, 0.6]


FAIR = {"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}}
CSR = {"policy": "interventions/csr", **SEARCH}
LEARN = {"policy": "quotas/fair-learn", "shares": [0.1, 0.1]}
ALIKE = {"policy": "similarity/lipschitz-ucb", "dimension": 2}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "policy: expected an object"),
        ({"policy": "sampling/certification", "groups": 2}, "what plain data can describe"),
        ({"policy": "learners/ucb1"}, "arms: expected a number of arms or a list of labels"),
        ({"policy": "quotas/fair-learn"}, "quotas/fair-learn needs learner, shares"),
        ({**FAIR, "shares": None}, "quotas/fair-ucb needs shares"),
        ({**FAIR, "tolerence": 1}, "got 'tolerence'; did you mean 'tolerance'?"),
        ({**FAIR, "tolerance": True}, "tolerance: expected a number"),
        ({**FAIR, "tolerance": float("nan")}, "tolerance: expected numbers, text"),
        ({**FAIR, "seed": -1}, "seed: expected a whole number from 0 to 2^63 - 1"),
        ({**FAIR, "seed": True}, "seed: expected a whole number or null"),
        ({**FAIR, "shares": {1: 0.2, 2: 0.2}}, "shares: expected objects whose keys are text"),
        ({**FAIR, "shares": {"a\0": 0.2, "b": 0.2}}, "without NUL"),
        ({**FAIR, "shares": {"a": 0.2, "b\ud800": 0.2}}, "halves of characters"),
        ({**FAIR, "arms": 10**15}, "arms: expected at most 1,000"),
        ({**FAIR, "arms": [["a"], ["b"]]}, "arms: expected labels"),
        ({**LEARN, "learner": 7}, 'learner: expected an object with "policy"'),
        ({**LEARN, "learner": {"policy": "learners/ucb1", "arm": 2}}, "did you mean 'arms'?"),
        ({**LEARN, "learner": {"policy": "learners/ucb1", "arms": 3}}, "shares: expected 3, one for each arm"),
        ({**ALIKE, "dimension": 2.0}, "dimension: expected a whole number"),
        ({**ALIKE, "margin": "no"}, "margin: expected true or false"),
        ({**ALIKE, "select": "two"}, "select: expected one of 'one', 'many'"),
        ({**ALIKE, "dimension": 10**4}, "numbers that the metric learner keeps"),
        ({"policy": "similarity/known-reward-lipschitz", "theta": "abc"}, "theta: expected"),
        (
            {"policy": "sampling/proportional", "groups": 2, "proportions": [1e308, 1e308]},
            "cannot be built from these arguments: overflow",
        ),
        ({**CSR, "problem": "model.bif"}, "problem: expected an object with model"),
        ({**CSR, "problem": {**PROBLEM, "log": []}}, "problem: expected arguments among"),
        ({**CSR, "problem": {"model": {}}}, "problem: needs intervene, sensitive, outcome, candidates"),
        ({**CSR, "problem": {**PROBLEM, "candidates": [[1]]}}, "problem.candidates: expected an object"),
        ({**CSR, "problem": {**PROBLEM, "outcome": ["cured"]}}, "outcome: expected a node of the graph"),
        (
            {**CSR, "problem": {**PROBLEM, "candidates": {str(i): None for i in range(101)}}},
            "candidates: expected at most 100",
        ),
        ({**CSR, "budget": 10**9}, "budget: expected at most 100,000,000"),
    ],
    ids=named,
)
def test_what_cannot_be_is_refused_by_name(spec, words):
    with pytest.raises(ArgumentError) as refusal:
        policy_from(spec)
    assert words in str(refusal.value)


def test_unknown_names_and_shares_that_a_rule_cannot_keep_have_errors_of_their_own():
    with pytest.raises(RegistryError, match="near it: quotas/fair-ucb"):
        policy_from({"policy": "quotas/fair-ubc"})
    with pytest.raises(RegistryError, match="no policy is named"):
        policy_from({"policy": "quotas/bernoulli-arms", "means": [1, 1]})
    with pytest.raises(SharesError, match="DeadlineLearn keeps the promise"):
        policy_from({**FAIR, "shares": {"a": 0.6, "b": 0.3}})


def test_many_states_are_refused_where_the_data_is_somebody_elses():
    nodes = [f"n{i}" for i in range(24)]
    states = PROBLEM["model"]["states"] | {node: [0, 1] for node in nodes}
    model = {**PROBLEM["model"], "states": states}
    spec = {**CSR, "problem": {**PROBLEM, "model": model}}
    with pytest.raises(ArgumentError, match="combinations"):
        policy_from(spec)
    model["parents"] = PROBLEM["model"]["parents"] | {node: [] for node in nodes}
    assert policy_from(spec, bounded=False).problem.candidates == ("now", "same for all")


def test_policies_inside_one_another_have_a_limit():
    spec = FAIR
    for _ in range(3):
        spec = {"policy": "quotas/fair-learn", "learner": spec, "shares": {"a": 0.2, "b": 0.3}}
    with pytest.raises(ArgumentError, match=r"learner.learner.learner: expected at most 3 policies"):
        policy_from(spec)


def test_deep_data_is_refused():
    shares = 0.1
    for _ in range(40):
        shares = [shares]
    with pytest.raises(ArgumentError, match="at most 20 deep"):
        policy_from({"policy": "quotas/fair-ucb", "shares": shares})


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from([*DESCRIBED])
DATA = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@settings(max_examples=400)
@given(st.sampled_from([*DESCRIBED]), st.data())
def test_whatever_comes_is_made_or_refused(name, data):
    """Any other exception would be a defect that a stranger can cause over a network."""
    spec = {"policy": name, **DESCRIBED[name]}
    spec[data.draw(st.sampled_from([*spec]))] = data.draw(DATA)
    try:
        policy = policy_from(spec)
    except EvenhandError:
        return
    assert registry.name_of(policy) in DESCRIBED
