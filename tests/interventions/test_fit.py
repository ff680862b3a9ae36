"""Models fitted to data: tables, latent arcs, rules, and what the data leave open."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import beta, binom

from evenhand.errors import ArgumentError, TableError
from evenhand.interventions import CSR, CausalModel, Problem, SimulatedTrial
from evenhand.interventions.posterior import _at_least, drawn_posterior, prior_shares
from evenhand.saving import state
from tests.interventions.examples import SVY

EDGES = "sex -> weight -> dose -> cured, weight -> cured"
TRUTH = next(SimulatedTrial._examples()).problem
FRAME = TRUTH.model.sample(400, seed=3)
ASKED = {"intervene": "dose", "sensitive": "sex", "outcome": "cured"}


LARGE = pd.DataFrame({name: np.arange(100) for name in "abcd"})


def fitted(frame=FRAME, edges=EDGES, **more):
    return CausalModel.fit(frame, edges, **more)


def test_tables_are_counts_with_the_prior_spread_evenly():
    model = fitted(smoothing=3.0)
    assert model.parents == {"sex": (), "weight": ("sex",), "dose": ("weight",), "cured": ("dose", "weight")}
    some = FRAME[(FRAME["weight"] == 1)]
    for at, dose in enumerate(model.states["dose"]):
        seen = (some["dose"] == dose).sum()
        assert model.counts["dose"][1, at] == seen
        assert model.tables["dose"][1, at] == pytest.approx((seen + 1.0) / (len(some) + 3.0))
    assert model.smoothing == 3.0
    assert model.complete


@pytest.mark.parametrize("states", [2, 3])
def test_the_prior_of_many_parents_is_partly_a_ridge_logistic_regression(states):
    """Its penalised likelihood, maximised by another program over columns that pandas makes; 2 sqrt(6) even rows."""
    random = np.random.default_rng(7)
    frame = pd.DataFrame({"a": random.integers(2, size=120), "b": random.integers(3, size=120)})
    frame["y"] = (random.integers(4, size=120) + frame["a"] + frame["b"]) % states
    frame = frame[(frame["a"] == 0) | (frame["b"] < 2)]
    model = CausalModel.fit(frame, "a -> y, b -> y", 0.5)
    grid = pd.MultiIndex.from_product([range(2), range(3)], names=["a", "b"]).to_frame(index=False)
    columns = np.column_stack([grid["a"], pd.get_dummies(grid["b"])]).astype(float)
    counts = model.counts["y"].reshape(6, states)
    times = np.where(counts.sum(1, keepdims=True) > 0, counts + 1 / (5 * states), 0)
    free = states - (states == 2)

    def chances(at):
        scores = at[:free] + columns @ at[free:].reshape(4, free)
        return log_softmax(np.column_stack([np.zeros(6), scores]) if free == 1 else scores, axis=1)

    best = minimize(lambda at: at[free:] @ at[free:] / 2 - (times * chances(at)).sum(), np.zeros(5 * free), tol=1e-10)
    even = 2 / 6**0.5
    mean = (1 - even) * np.exp(chances(best.x)).reshape(2, 3, states) + even / states
    np.testing.assert_allclose(model.tables["y"][1, 2], mean[1, 2], atol=1e-4)  # a row that was never seen
    np.testing.assert_allclose(
        model.tables["y"], (model.counts["y"] + 0.5 * mean) / (counts.sum(1).reshape(2, 3, 1) + 0.5), atol=1e-4
    )
    np.testing.assert_allclose(model.smoothed(2.0).tables["y"][1, 2], mean[1, 2], atol=1e-4)


def test_a_rare_state_that_a_small_group_did_not_show_is_not_ruled_out():
    """None of 12 men died: with two parents the law of a row is that under Jeffreys' prior, which reaches 18.5 %."""
    cells = [("f", "a", 0, 120), ("f", "a", 1, 30), ("f", "b", 0, 146), ("f", "b", 1, 4), ("m", "a", 0, 12)]
    frame = pd.DataFrame([*cells, ("m", "b", 0, 12)], columns=["sex", "drug", "died", "count"])
    model = CausalModel.fit(frame, "sex -> died, drug -> died")
    assert model.tables["died"][1, 1, 1] == pytest.approx(0.5 / 13)
    asked = {"intervene": "drug", "sensitive": "sex", "outcome": "died", "candidates": ["a", "b"]}
    gaps = Problem(model, **asked).posterior(seed=1).gaps["m", "f"][:, 1]
    assert np.quantile(gaps, 0.975) == pytest.approx(beta(0.5, 12.5).ppf(0.975) - 4 / 150, abs=0.02)


def test_the_extremes_of_one_arm_do_not_move_the_mean_of_another():
    """The prior is one more row with the mean of all, in place of one halfway between the extremes."""
    frame = pd.DataFrame({"sex": list("fm") * 60, "arm": ["usual"] * 80 + ["nurse"] * 40})
    frame["income"] = [200_000, *range(900, 979), *range(700, 740)]
    for graph in ("sex -> arm -> income", "sex -> arm -> income, sex -> income"):
        model = CausalModel.fit(frame, graph, measured="income")
        problem = Problem(model, intervene="arm", sensitive="sex", outcome="income", candidates=["usual", "nurse"])
        groups = frame[frame.arm == "nurse"].groupby("sex" if graph.count("income") > 1 else "arm")["income"]
        mean = frame["income"].mean()
        assert problem.outcomes[1] == pytest.approx(((groups.sum() + mean) / (groups.size() + 1)).mean())


@pytest.mark.parametrize("income", [[5.0, 15.0, 25.0, 70.0], [5.0, 5.0, 70.0, 70.0]], ids=["one by one", "equal"])
def test_few_numbers_do_not_show_that_none_vary(income):
    frame = pd.DataFrame({"sex": list("fmfm"), "arm": list("aabb"), "income": income})
    model = CausalModel.fit(frame, "sex -> income, arm -> income", measured="income")
    problem = Problem(model, intervene="arm", sensitive="sex", outcome="income", candidates=["a", "b"])
    assert problem.posterior(seed=1).best(20.0).status == "not_shown"


def test_edges_are_text_or_pairs_and_counts_stand_for_rows():
    pairs = [("sex", "weight"), ("weight", "dose"), ("dose", "cured"), ("weight", "cured")]
    counted = FRAME.groupby([*FRAME.columns], observed=True).size().rename("count").reset_index()
    for other in (fitted(edges=pairs), fitted(counted)):
        for node, table in fitted().tables.items():
            np.testing.assert_allclose(other.tables[node], table)
    assert fitted(counted).counts["sex"].sum() == 400


@pytest.mark.parametrize(
    "edges",
    [
        "sex -> weight; weight -> dose; dose -> cured; weight -> cured;",
        "sex -> weight -> dose\n  dose -> cured\r\nweight -> cured\n",
        "sex -> weight,\nweight -> dose;\ndose -> cured, weight -> cured",
        "sex -> weight ->\n dose\n -> cured; weight\n->\ncured",
        "sex --> weight --> dose ---> cured; weight -->cured",
        "dose <- weight <-- sex; dose -> cured <- weight",
        """"sex" -> 'weight'->"dose"->cured<-'weight'""",
    ],
    ids=["semicolons", "lines", "all", "lines that end with an arrow", "long arrows", "to the left", "quoted"],
)
def test_a_graph_is_read_as_people_write_it(edges):
    assert fitted(edges=edges).parents == fitted().parents


def test_an_outcome_of_words_is_refused_with_an_example():
    frame = FRAME.assign(cured=np.where(FRAME["cured"] == 1, "yes", "no"))
    with pytest.raises(ArgumentError, match=r"\['no', 'yes'\], got None; such as \{'no': 0, 'yes': 1\}"):
        Problem(fitted(frame), **ASKED, candidates=[None, "high"])
    with pytest.raises(
        ArgumentError,
        match=r"intervene: expected a node of the graph.* got 'dos'; did you mean "
        r"'dose'",
    ):
        Problem(fitted(), **(ASKED | {"intervene": "dos"}), candidates=[None, "high"])


def test_states_are_whole_numbers_or_texts_in_natural_order():
    frame = pd.DataFrame({"a": ["10", "9", "x"], "b": [2, 10, 2], "c": [True, False, True], "d": [0.5, 1.5, 0.5]})
    frame["e"] = pd.Categorical(["u", "u", "v"], categories=["u", "v", "w"])
    model = CausalModel.fit(frame, "a -> b -> c -> d -> e")
    expected = (("9", "10", "x"), (2, 10), ("false", "true"), ("0.5", "1.5"), ("u", "v", "w"))
    assert tuple(model.states.values()) == expected
    assert model.tables["e"][:, 2].min() > 0


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"frame": 3}, "a pandas DataFrame"),
        ({"edges": []}, "at least one arrow"),
        ({"frame": FRAME.drop(columns="dose")}, "column.*'dose'"),
        ({"frame": FRAME.astype(object).assign(sex=[None, *FRAME["sex"][1:]])}, "'sex', row 1: the cell is empty"),
        ({"frame": FRAME.astype(object).assign(sex=["", *FRAME["sex"][1:]])}, "'sex', row 1: the cell is empty"),
        (
            {"frame": FRAME.assign(dose=range(400))},
            "at most 100 different values, got 400; each takes a row of the table",
        ),
        ({"frame": FRAME.assign(count=-1)}, "'count', row 1"),
        ({"frame": FRAME.assign(count=0)}, "column 'count': expected a row that was seen, got 0"),
        ({"frame": LARGE, "edges": "a -> d, b -> d, c -> d"}, "parents of 'd'.*at most 10,000,000 entries"),
        ({"edges": "sex, dose"}, "edges: expected parent -> child"),
        ({"edges": "digraph { sex -> dose; }"}, "expected only arrows.* got 'digraph .*; leave out digraph, braces"),
        ({"edges": "sex -> dose # an effect"}, "only names and arrows, got 'dose # an effect'; leave out comments"),
        ({"edges": "sex -> dose [label=x]"}, r"got 'dose \[label=x\]'.*or put a name .* in quotation marks"),
        ({"edges": '"sex -> dose'}, "only names and arrows, got '\"sex'"),
        ({"edges": 'sex "at birth" -> dose'}, "only names and arrows, got 'sex at birth'"),
        ({"edges": [("sex", "dose", "cured")]}, "edges: expected pairs"),
        ({"edges": "sex -> sex"}, "two different nodes"),
        ({"edges": "sex -> dose, sex -> dose"}, "each pair once"),
        ({"edges": "sex -> dose -> weight -> sex"}, "without cycles"),
        ({"latent": [("sex", "height")]}, "column.*'height'"),
        ({"latent": "sex -> dose"}, "latent: expected pairs a <-> b"),
        ({"smoothing": 0}, "smoothing: expected a number > 0"),
    ],
)
def test_what_cannot_be_fitted_is_refused_by_name(given, names):
    with pytest.raises((ArgumentError, TableError), match=names):
        CausalModel.fit(**{"frame": FRAME, "edges": EDGES, **given})


# ---------------------------------------------------------------------- identification

NODES = pd.DataFrame({name: [0, 1, 0, 1, 1, 0] for name in ("S", "A", "B", "V", "M", "Y", "W")})
GRAPH = "S -> A -> V -> M -> Y, B -> V, B -> Y, S -> Y, Y -> W"


@pytest.mark.parametrize(
    ("latent", "reason"),
    [
        ("", None),
        ("V <-> A", None),
        ("V <-> A, V <-> B", None),
        ("W <-> Y", None),
        ("W <-> V", None),
        ("V <-> M", "join 'V' to its child 'M'"),
        ("V <-> B, B <-> M", "join 'V' to its child 'M'"),
        ("V <-> Y", "'V' and 'Y' share an unobserved cause, so that the answer is not the product"),
        ("B <-> Y", "'B' and 'Y' share an unobserved cause"),
        ("A <-> B", "'A' and 'B' share an unobserved cause"),
        ("S <-> Y", "a sensitive attribute is no root"),
    ],
)
def test_a_graph_with_latent_arcs_is_answered_or_not_shown_to_be_identified(latent, reason):
    model = CausalModel.fit(NODES, GRAPH, latent=latent)
    if reason is None:
        assert Problem(model, **SVY, candidates=[None, 1]).outcomes.shape == (2,)
        return
    with pytest.raises(ArgumentError, match=f"not shown to be identified: .*{reason}.*observe the cause"):
        Problem(model, **SVY, candidates=[None, 1])


def test_a_name_in_quotation_marks_holds_any_sign():
    frame = FRAME.rename(columns={"sex": "sex, at birth", "dose": "dose [mg] # daily"})
    model = CausalModel.fit(frame, '"sex, at birth" --> weight -> "dose [mg] # daily"; weight <--> \'sex, at birth\'')
    assert model.parents["dose [mg] # daily"] == ("weight",)
    assert model.latent == (("weight", "sex, at birth"),)


def test_an_unobserved_cause_of_v_and_its_ancestor_does_no_harm():
    """U -> A, U -> V, A -> V -> Y, S -> A: answers from tables without U are those of the graph with U."""
    random = np.random.default_rng(4)
    above = {"S": (), "U": (), "A": ("S", "U"), "V": ("A", "U"), "Y": ("A", "V")}
    tables = {node: random.dirichlet([1, 1], [2] * len(parents)) for node, parents in above.items()}
    whole = CausalModel.from_tables(dict.fromkeys(above, (0, 1)), above, tables)
    seen = {node: [p for p in parents if p != "U"] for node, parents in above.items() if node != "U"}
    known = {}
    for node, parents in seen.items():
        joint = whole.probabilities([*parents, node])
        known[node] = joint / joint.sum(-1, keepdims=True)
    part = CausalModel(dict.fromkeys(seen, (0, 1)), seen, tables=known, latent=[("A", "V")])
    rule = np.array([[0.2, 0.8], [0.9, 0.1]])
    problem = Problem(part, **SVY, candidates=[rule, rule[::-1]])
    for s in (0, 1):
        spread = np.broadcast_to(rule[:, None], (2, 2, 2))
        expected = whole.probabilities(["Y"], do={"S": s}, tables={"V": spread})[1]
        assert problem.cells.means[0, s] == pytest.approx(expected)


# ---------------------------------------------------------------------- rules


def table_of(rule, model=None):
    model = fitted() if model is None else model
    return Problem(model, **ASKED, candidates={"now": None, "rule": rule}).tables[1]


def test_a_rule_is_a_state_a_mapping_or_a_function_and_none_the_fitted_table():
    model = fitted()
    problem = Problem(model, **ASKED, candidates={"now": None, "low": "low"})
    np.testing.assert_allclose(problem.tables[0], model.tables["dose"])
    states = model.states["dose"]
    low = np.array([state == "low" for state in states], float)
    high = np.array([state == "high" for state in states], float)
    assert (problem.tables[1] == low).all()
    for rule in (
        {0: "low", 1: "high"},
        {"0": "low", "1": {"high": 1.0}},
        {(0,): "low", (1,): "high"},
        lambda given: "high" if given["weight"] else "low",
        lambda given: {"high": given["weight"], "low": 1 - given["weight"]},
    ):
        np.testing.assert_allclose(table_of(rule), [low, high])


WRITTEN = {
    "truth values": ("false", "true"),
    "numbers": (0, 1),
    "texts of numbers": ("0", "1"),
    "fractions": ("0.50", "1.50"),
}
FUNCTIONS = {
    "truth": lambda given: "high" if given["b"] else "low",
    "is": lambda given: "high" if given["b"] is True else "low",
    "one": lambda given: "high" if given["b"] == 1 else "low",
    "text of one": lambda given: "high" if given["b"] == "1" else "low",
    "text of truth": lambda given: "high" if given["b"] in ("true", "True") else "low",
    "fraction": lambda given: "high" if given["b"] == 1.5 else "low",
    "larger": lambda given: "high" if given["b"] > 0.9 else "low",
}


def over(states, rule, parents=("b",)):
    """The states of one parent, or of two, for which a rule gives "high"."""
    even = [[1 / len(states)] * len(states)] * 2
    model = CausalModel(
        {"s": ["f", "m"], "b": states, "c": ["false", "true"], "dose": ["high", "low"], "y": [0, 1]},
        {"s": [], "b": ["s"], "c": ["s"], "dose": parents, "y": ["dose"]},
        tables={"s": [0.5, 0.5], "b": even, "c": [[0.5, 0.5]] * 2, "y": [[0.5, 0.5], [0.4, 0.6]]},
    )
    problem = Problem(model, intervene="dose", sensitive="s", outcome="y", candidates={"low": "low", "rule": rule})
    return problem.tables[1][..., 0].tolist()


@pytest.mark.parametrize(
    ("states", "rules"),
    [
        ("truth values", ["truth", "is", "one", "text of truth", "larger"]),
        ("numbers", ["truth", "one", "text of one", "larger"]),
        ("texts of numbers", ["truth", "one", "text of one", "larger"]),
        ("fractions", ["fraction", "larger"]),
    ],
)
def test_a_function_sees_truth_values_and_numbers_or_compares_their_texts(states, rules):
    assert [over(WRITTEN[states], FUNCTIONS[rule]) for rule in rules] == [[0.0, 1.0]] * len(rules)


@pytest.mark.parametrize(
    ("rule", "high"),
    [
        (lambda given: "high" if given["b"] and given["c"] else "low", [[0, 0], [0, 1]]),
        (lambda given: "high" if given["b"] == "1" and given["c"] == "true" else "low", [[0, 0], [0, 1]]),
        (lambda given: "high" if given["b"] == "1" and given["c"] else "low", [[0, 0], [0, 1]]),
        (lambda given: "high" if given["b"] == "1" and not given["c"] else "low", [[0, 0], [1, 0]]),
        (lambda given: "high" if given["c"] == "true" else "low", [[0, 1], [0, 1]]),
    ],
)
def test_each_parent_is_seen_as_the_function_compares_it(rule, high):
    assert over(["0", "1"], rule, ["b", "c"]) == high


def test_states_that_say_the_same_are_told_apart_as_texts():
    assert over(["1", "1.0"], lambda given: "high" if given["b"] == "1" else "low") == [1.0, 0.0]


@pytest.mark.parametrize("rule", [lambda given: {"true": "high"}[given["b"]], lambda given: len(given["b"])])
def test_a_function_that_fails_says_what_it_was_given(rule):
    with pytest.raises(ArgumentError, match=r"failed at {'b': False} with .*truth values as True and False"):
        over(["false", "true"], rule)


def test_rules_over_two_parents_are_nested_or_keyed_by_tuples():
    model = fitted(edges=f"{EDGES}, sex -> dose")
    assert model.parents["dose"] == ("weight", "sex")
    nested = table_of({0: "low", 1: {"f": "high", "m": "mid"}}, model)
    tuples = table_of({(0, "f"): "low", (0, "m"): "low", (1, "f"): "high", (1, "m"): "mid"}, model)
    assert np.array(model.states["dose"])[nested.argmax(-1)].tolist() == [["low", "low"], ["high", "mid"]]
    np.testing.assert_array_equal(nested, tuples)


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("tiny", r"candidates\['rule'\]: expected .*one of the states .*'tiny'"),
        ({0: "low"}, "entry for each state of 'weight'.*none for 1"),
        ({0: "low", 1: "low", 2: "low"}, "each state of 'weight'.*got 2; the model has no state 2: leave it out"),
        ({0: "low", 1: "low", "1": "low"}, "each label once, got 1; it appears twice, as 1 and as '1'"),
        ({0: "low", 1: {"tall": 1.0}}, "probabilities by state at {'weight': 1}.*'tall'"),
        ({0: "low", 1: {"low": 0.7}}, "at {'weight': 1}: expected rows that sum to one"),
        ({(0, 1): "low"}, r"every key a tuple of states of \['weight'\]"),
        ({(0,): "low"}, "an entry for every combination.*none for {'weight': 1}"),
        ({0: [0.2, 0.3, 0.5], 1: "low"}, "a whole table of numbers, .*; at {'weight': 0}"),
        ({0: "low", 1: None}, "one of the states"),
        ({"height": {0: "low", 1: "low"}}, "a rule goes by a column of the graph: draw 'height' in it"),
        ({"cured": {0: "low", 1: "low"}}, "in the graph cured comes after dose, too late for a rule"),
        (lambda given: given["height"], r"the rule failed at {'weight': 0} with KeyError\('height'\)"),
        (lambda given: "tiny", "one of the states.*got \"the state 'tiny'\"; at {'weight': 0}"),
    ],
)
def test_rules_that_cannot_be_are_refused_by_name(rule, names):
    with pytest.raises(ArgumentError, match=names):
        table_of(rule)


# ---------------------------------------------------------------------- the posterior

RULES = {"now": None, "low": "low", "by weight": {0: "mid", 1: "high"}}


def test_draws_lie_around_the_fitted_answer_and_narrow_with_data():
    wide = None
    for rows in (100, 4000):
        problem = Problem(fitted(TRUTH.model.sample(rows, seed=1)), **ASKED, candidates=RULES)
        posterior = problem.posterior(draws=2000, seed=1)
        assert posterior.outcomes.shape == (2000, 3)
        np.testing.assert_allclose(posterior.outcomes.mean(0), problem.outcomes, atol=0.02)
        for pair, gaps in problem.gaps.items():
            np.testing.assert_allclose(posterior.gaps[pair].mean(0), gaps, atol=0.02)
        narrow = posterior.outcomes.std(0)
        assert wide is None or (narrow < 0.3 * wide).all()
        wide = narrow
    again = problem.posterior(draws=2000, seed=1)
    np.testing.assert_array_equal(posterior.outcomes, again.outcomes)
    assert len(problem.posterior(seed=2).outcomes) == 4000


def test_a_single_table_is_drawn_from_its_beta_law():
    """S -> V -> Y, everybody gets V = 1: the outcome is Y's row there, Beta(6.5, 2.5) under a mass of one."""
    frame = pd.DataFrame({"S": [0, 1] * 5, "V": [0, 0] + [1] * 8, "Y": [0, 1] + [1] * 6 + [0] * 2})
    problem = Problem(CausalModel.fit(frame, "S -> V -> Y"), **SVY, candidates=[None, 1])
    drawn = np.sort(problem.posterior(draws=20_000, seed=5).outcomes[:, 1])
    levels = np.arange(1, 20) / 20
    expected = beta(6.5, 2.5).ppf(levels)
    np.testing.assert_allclose(np.quantile(drawn, levels), expected, atol=0.01)


def test_an_answer_needs_the_level():
    problem = Problem(fitted(TRUTH.model.sample(3000, seed=2)), **ASKED, candidates=RULES)
    posterior = problem.posterior(draws=1000, seed=1)
    found = posterior.best(0.5)
    assert found[:2] == ("by weight", "certified")
    assert found.confidence >= 0.95
    assert found.table.loc["by weight", "verdict"] == "certified"
    assert found.table["best"].sum() == pytest.approx(1.0)
    none = posterior.best(1e-9)
    assert none[:2] == (None, "none_is_fair")
    assert (none.table["verdict"] == "unfair").all()
    edge = float(np.median(np.abs(posterior.gaps["f", "m"][:, 2])))
    open_ = posterior.best(edge)
    assert open_.status == "not_shown"
    assert open_.confidence is None
    assert open_.table.loc["by weight", "fair"] == pytest.approx(0.5, abs=0.01)


def test_rows_that_rest_on_the_prior_are_listed_where_a_candidate_puts_mass():
    frame = FRAME[~((FRAME["dose"] == "high") & (FRAME["weight"] == 1))]
    problem = Problem(fitted(frame), **ASKED, candidates=RULES)
    posterior = problem.posterior(draws=200, seed=1)
    rows = posterior.from_prior
    assert rows[["node", "given", "rows"]].to_numpy().tolist() == [["cured", "dose=high, weight=1", 0.0]]
    assert rows["candidates"].item() == ["by weight"]
    assert rows["mass"].item() == pytest.approx(problem.model.tables["weight"][:, 1].max())
    heavy = problem.model.tables["weight"][:, 1]
    expected = [problem.model.tables["dose"][1, 2] * heavy, [0, 0], heavy]
    np.testing.assert_allclose(prior_shares(problem), expected, atol=1e-12)
    worst = f"{heavy.max():.1%} with sex = {problem.groups[heavy.argmax()]}"
    heavy = problem.model.tables["sex"] @ heavy
    said = f"weighs as much or more; {heavy:.1%} of the outcome of 'by weight' rests on this, {worst}: cured given "
    assert f"{said}dose=high, weight=1." in " ".join(posterior.best(0.9).notes)
    once = FRAME[(FRAME["dose"] == "high") & (FRAME["weight"] == 1)].head(1)
    for smoothing, rows in ((1.0, [1.0]), (0.9, [])):
        model = fitted(pd.concat([frame, once]), smoothing=smoothing)
        assert Problem(model, **ASKED, candidates=RULES).posterior(draws=9).from_prior["rows"].tolist() == rows
    assert len(Problem(fitted(frame, smoothing=80.0), **ASKED, candidates=RULES).posterior(draws=9).from_prior) > 1
    assert Problem(fitted(), **ASKED, candidates=RULES).posterior(draws=10).from_prior.empty


def test_no_number_of_rows_is_said_where_none_would_show_the_answer():
    """The old never get b. If they may, however seldom, more rows like these would show what it does to them."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"S": random.choice(["f", "m"], 500), "A": random.choice(["old", "young"], 500)})
    frame["V"] = np.where(frame["A"] == "old", "a", random.choice(["a", "b"], 500))
    frame["Y"] = (random.random(500) < 0.3 + 0.3 * (frame["V"] == "b")).astype(int)
    asked = SVY | {"candidates": {"now": None, "b": "b", "a": "a"}}
    for some, said in ((0, "More rows like these would not show the answer"), (1, "About ")):
        frame.loc[frame[frame["A"] == "old"].index[:some], "V"] = "b"
        found = Problem(CausalModel.fit(frame, "S -> Y, A -> V, V -> Y, A -> Y"), **asked).posterior(seed=1).best(0.3)
        assert (found.status, found.more is None) == ("not_shown", some == 0)
        assert found.notes[0].startswith(said)
    low, high = (
        int(end.split()[-1].replace(",", "")) for end in found.notes[0].split("; ")[1].split(" over ")[0].split(" to ")
    )
    assert low <= found.more <= high


def test_a_problem_over_a_fitted_model_is_saved_whole(tmp_path):
    model = fitted(edges=f"{EDGES}, weight <-> dose")
    search = CSR(Problem(model, **ASKED, candidates=RULES), tolerance=0.3, budget=500)
    search.ask()
    state.save(search, tmp_path / "trial")
    loaded = state.load(tmp_path / "trial")
    assert state.to_bytes(loaded) == state.to_bytes(search)
    assert loaded.problem.model.latent == (("weight", "dose"),)
    assert (loaded.problem.ruled, loaded.problem.own) == ((False, True, True), (True, False, False))
    one, other = (drawn_posterior(each.problem, 50, 1).outcomes for each in (search, loaded))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (
            np.linspace(0.1, 7.9, 79) + 0.01,
            "column 'dose': expected states: at most 12 different .*group them first, --cut COLUMN=25,45 in the ",
        ),
        ([f"{n}.5" for n in range(80)], r"such as '0\.5', got 80;.* an outcome may stay if no arrow leaves it"),
        ([f"{n},5" for n in range(80)], "fractions or dates"),
        (pd.date_range("2024-01-01", periods=80), "such as '2024-01-01 00:00:00', got 80;"),
        ([f"{n}:30" for n in range(24)], "fractions or dates"),
    ],
    ids=["fractions", "texts", "commas", "dates", "times"],
)
def test_measured_columns_are_no_states(values, named):
    frame = pd.DataFrame({"dose": values, "cured": np.arange(len(values)) % 2})
    with pytest.raises(TableError, match=named):
        CausalModel.fit(frame, "dose -> cured")


def test_few_fractions_ages_and_words_are_states():
    frame = pd.DataFrame({"dose": [0.5, 1.5] * 40, "age": range(18, 98), "zip": [f"A-{n}" for n in range(80)]})
    model = CausalModel.fit(frame, "dose -> age, dose -> zip")
    assert [len(model.states[node]) for node in ("dose", "age", "zip")] == [2, 80, 80]
    texts = CausalModel.fit(frame.astype(str), "dose -> age, dose -> zip")  # as the command reads a file
    assert [len(texts.states[node]) for node in ("dose", "age", "zip")] == [2, 80, 80]
    floats = CausalModel.fit(frame.astype({"age": float}).astype(str), "dose -> age")  # as pandas writes it after a gap
    assert floats.states["age"] == tuple(f"{age}.0" for age in range(18, 98))


@pytest.mark.parametrize(("draws", "status"), [(134, "not_shown"), (135, "certified")])
def test_few_draws_certify_nothing(draws, status):
    """Every draw names one candidate, whose posterior probability is 1 but for 10^-20: what m draws show of it."""
    frame = pd.DataFrame({"S": [0, 1] * 500, "V": [0, 0, 1, 1] * 250, "Y": [0, 0, 1, 1] * 250})
    problem = Problem(CausalModel.fit(frame, "S -> V -> Y"), **SVY, candidates={"low": 0, "high": 1})
    found = problem.posterior(draws=draws, seed=1).best(0.5)
    assert found[:2] == ("high", status)
    assert found.confidence == (None if status == "not_shown" else pytest.approx(0.001 ** (1 / draws)))
    assert f"from {draws:,} draws" in " ".join(found.notes)
    too_few = f"{draws:,} draws are too few to show an answer, whatever they say."
    assert (found.notes[0] == too_few) == (status == "not_shown")


def test_the_confidence_of_draws_is_the_bound_of_clopper_and_pearson():
    """The least probability at which so many draws or more come up once in 1,000 times."""
    for said, draws in ((1, 1), (950, 1000), (3842, 4000), (3841, 4000)):
        least = _at_least(said, draws)
        assert binom.sf(said - 1, draws, least) == pytest.approx(0.001)
    assert _at_least(0, 10) == 0.0
    assert _at_least(3842, 4000) >= 0.95 > _at_least(3841, 4000)
