"""Whatever is given for each arm, group or candidate is read by its labels, or refused; never by its position alone."""

import pandas as pd
import pytest

from evenhand import Promise, audit
from evenhand.errors import ArgumentError, ContextError, SharesError
from evenhand.groups import TopInterval
from evenhand.groups.problem import Groups
from evenhand.interventions import CausalModel, Problem
from evenhand.protocol import arm_labels
from evenhand.quotas import BernoulliArms, FairUCB
from evenhand.sampling import OptimisticSampler, ProportionalSampler
from evenhand.saving.state import from_bytes, to_bytes
from tests.naming import named

A_SHARE, A_NUMBER = "shares: expected a list, or a dict arm -> share", "expected a list .* or a dict group -> number"
BY_LABEL = {
    "FairUCB": (FairUCB, A_SHARE),
    "Promise": (Promise, A_SHARE),
    "audit": (lambda given: audit.promise(pd.DataFrame({"arm": ["a", "b"]}), arm="arm", shares=given), A_SHARE),
    "means": (BernoulliArms, "means: expected a probability for each arm"),
    "proportions": (lambda given: ProportionalSampler(["a", "b"], proportions=given), f"proportions: {A_NUMBER}"),
    "costs": (lambda given: OptimisticSampler(["a", "b"], costs=given), f"costs: {A_NUMBER}"),
    "costs of trials": (lambda given: problem().read_costs(given), "costs: expected 2 finite numbers"),
    "values": (lambda given: problem(values=given), "values: expected a number for each state"),
    "candidates": (lambda given: problem(candidates=given), "candidates: expected a dict label -> table"),
}
UNCLEAR = {
    "a set has no order": {0.2, 0.3},
    "names 'a' twice": pd.Series([0.2, 0.3], index=["a", "a"]),
    r"a table of shape \(1, 2\)": pd.DataFrame({"a": [0.1], "b": [0.2]}),
    "'12'": "12",
}


CASES = {(name, words) for name in BY_LABEL for words in UNCLEAR} - {("audit", "'12'")}
"""A single share is one for every arm of an audit."""


@pytest.mark.parametrize(("name", "words"), sorted(CASES))
def test_what_is_given_with_unclear_labels_is_refused(name, words):
    door, expected = BY_LABEL[name]
    with pytest.raises(ArgumentError, match=f"{expected}.*, got .*{words}"):
        door(UNCLEAR[words])


def test_an_audit_refuses_a_list_of_shares_for_arms_that_it_does_not_order():
    log = pd.DataFrame({"arm": ["b", "a"]})
    for listed in ([0.2, 0.3], (0.2, 0.3)):
        with pytest.raises(SharesError, match="a dict arm -> share, or one number for every arm"):
            audit.promise(log, arm="arm", shares=listed)


MEMBERS = pd.Series({"b": "M", "a": "F"})
CONTEXTS = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}, index=["b", "a"])


def test_contexts_and_groups_of_a_round_are_read_by_arm():
    by_arm, by_place = TopInterval({"a": "F", "b": "M"}, seed=1), TopInterval({"a": "F", "b": "M"}, seed=1)
    assert Groups.read({"a": "F", "b": "M"}).of_round(MEMBERS).tolist() == [0.0, 1.0]
    for _ in range(20):
        decision = by_arm.ask(CONTEXTS, groups=MEMBERS)
        other = by_place.ask(CONTEXTS.loc[["a", "b"]].to_numpy(), groups=["F", "M"])
        assert decision == other
        for policy in (by_arm, by_place):
            policy.tell(decision.id, 1.0 if decision.arm == "a" else 5.0)


def test_a_saved_policy_knows_the_columns_of_its_contexts_by_their_names():
    policy = TopInterval({"a": "F", "b": "M"}, seed=1)
    with pytest.raises(ContextError, match="each column once"):
        policy.ask(CONTEXTS.set_axis(["x", "x"], axis=1))
    policy.ask(CONTEXTS)
    with pytest.raises(ContextError, match=r"the columns \['x', 'y'\], as before, got .*'z'"):
        from_bytes(to_bytes(policy)).ask(CONTEXTS.rename(columns={"y": "z"}))


@pytest.mark.parametrize(
    "index", [["a", "c"], ["a", "a"], [1, 0], [5, 6], ["b", None]], ids=["other", "twice", "numbers", "rows", "none"]
)
def test_contexts_with_other_labels_than_the_arms_are_refused(index):
    policy = TopInterval({"a": "F", "b": "M"})
    with pytest.raises(ContextError, match=r"one entry for each of \['a', 'b'\]( \(text\))?, got"):
        policy.ask(CONTEXTS.set_axis(index))
    assert policy.open_tickets == []
    policy.ask(CONTEXTS.reset_index(drop=True))


def test_sampling_reads_costs_and_proportions_by_group():
    by_group = pd.Series({"b": 3.0, "a": 1.0})
    assert OptimisticSampler(["a", "b"], costs=by_group).costs == {"a": 1.0, "b": 3.0}
    assert ProportionalSampler(["a", "b"], proportions=by_group)._weights.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    "bad", [{"a", "b"}, frozenset("ab"), pd.DataFrame({"a": [1], "b": [2]}), [["a"], ["b"]], 10**12], ids=named
)
def test_arms_and_groups_without_an_order_are_refused(bad):
    for name, door in (("arms", arm_labels), ("groups", OptimisticSampler), ("arms", lambda a: FairUCB(0.01, arms=a))):
        with pytest.raises(ArgumentError, match=f"{name}: expected"):
            door(bad)


def test_means_are_read_by_arm():
    assert BernoulliArms(pd.Series({"b": 0.7, "a": 0.5})).arms == ("b", "a")


STATES = {"sex": ["f", "m"], "dose": ["low", "high"], "cured": [0, 1]}
PARENTS = {"sex": [], "dose": ["sex"], "cured": ["dose"]}
DOSE = pd.DataFrame({"high": [0.6, 0.2], "low": [0.4, 0.8]}, index=["m", "f"])
TABLES = {
    "sex": pd.Series({"m": 0.7, "f": 0.3}),
    "dose": DOSE,
    "cured": pd.DataFrame({1: [0.9, 0.3], 0: [0.1, 0.7]}, index=["high", "low"]),
}


def test_conditional_tables_are_read_by_their_states():
    model = CausalModel.from_tables(STATES, PARENTS, TABLES)
    assert model.tables["sex"].tolist() == [0.3, 0.7]
    assert model.tables["dose"].tolist() == [[0.8, 0.2], [0.4, 0.6]]
    assert model.tables["cured"].tolist() == [[0.7, 0.3], [0.1, 0.9]]
    plain = DOSE.loc[["f", "m"], ["low", "high"]].to_numpy()
    for table in (pd.DataFrame(plain), plain, plain.tolist()):
        assert CausalModel.from_tables(STATES, PARENTS, {"dose": table}).tables["dose"].tolist() == plain.tolist()
    for bad in (DOSE.set_axis(["m", "x"]), DOSE.set_axis(["m", "m"]), DOSE.set_axis(["low", "x"], axis=1)):
        with pytest.raises(ArgumentError, match=r"tables\['dose'\]: expected one entry for each of"):
            CausalModel.from_tables(STATES, PARENTS, {"dose": bad})


def problem(**settings):
    model = CausalModel.from_tables(STATES, PARENTS, TABLES)
    candidates = {"now": DOSE, "more": DOSE.rename(columns={"high": "low", "low": "high"})}
    given = {"intervene": "dose", "sensitive": "sex", "outcome": "cured", "candidates": candidates} | settings
    return Problem(model, **given)


def test_costs_values_and_candidates_are_read_by_label():
    found = problem(candidates=pd.Series({"now": DOSE, "more": DOSE.to_numpy()[::-1, ::-1]}))
    assert found.candidates == ("now", "more")
    assert found.tables.tolist() == [[[0.8, 0.2], [0.4, 0.6]]] * 2
    assert found.read_costs(pd.Series({"more": 2.0, "now": 0.0})).tolist() == [0.0, 2.0]
    assert problem(values=pd.Series({1: 5.0, 0: 3.0})).low == 3.0
    with pytest.raises(ArgumentError, match="candidates: expected each label once, got 'caf\u00e9'; it appears twice"):
        problem(candidates={"caf\u00e9": DOSE, "cafe\u0301": DOSE})
