"""A trial's table: rules by any column that was measured before, what the arms show by themselves, and a page."""

import json
from html import unescape
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from evenhand.errors import ArgumentError, EvenhandError, TableError
from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.interventions.arms import by_arm, group_sizes, state_sizes
from evenhand.interventions.posterior import Posterior
from evenhand.saving import state
from tests.interventions.examples import call

GRAPH = "s -> x -> y, s -> y, t -> y, z -> y"
ASKED = {"intervene": "t", "sensitive": "s", "outcome": "y"}
BY_X = {"x": {"0": 1, "1": 0}}


def trial(rows=800, seed=3):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(2, size=(rows, 3)), columns=["s", "t", "z"])
    frame["x"] = (random.random(rows) < 0.3 + 0.4 * frame["s"]) * 1
    frame["y"] = (random.random(rows) < 0.2 + 0.3 * frame["t"] * (1 - frame["x"]) + 0.1 * frame["s"]) * 1
    return frame


def problem(frame=None, candidates=None, smoothing=1e-6, **more):
    model = CausalModel.fit(trial() if frame is None else frame, GRAPH, smoothing)
    rules = {"all": 1, "by x": BY_X} if candidates is None else candidates
    return Problem(model, **ASKED, candidates=rules, **{"randomised": True, **more})


def test_a_rule_names_a_column_without_an_arrow():
    """E[Y] is the mean over x, s and z of the means of Y in the cells that the rule gives, from a pivot by pandas."""
    frame = trial()
    cells = frame.groupby(["s", "z", "x", "t"])["y"].mean()
    p_s, p_z = (frame[name].value_counts(normalize=True) for name in ("s", "z"))
    p_x = frame.groupby("s")["x"].value_counts(normalize=True)
    expected = sum(p_s[s] * p_z[z] * p_x[s, x] * cells[s, z, x, 1 - x] for s, z, x in product((0, 1), repeat=3))
    assert problem().outcomes[1] == pytest.approx(expected, abs=1e-4)
    assert problem().posterior(draws=2000, seed=1).outcomes[:, 1].mean() == pytest.approx(expected, abs=0.01)


def test_the_table_in_use_is_the_lottery_whatever_rules_name():
    found = problem(candidates={"now": None, "by x": BY_X}, smoothing=1.0)
    assert found.tables[0].shape == (2, 2)
    lottery = trial()["t"].mean()
    np.testing.assert_allclose(found.tables[0][:, 1], lottery, atol=1e-3)
    assert state.from_bytes(state.to_bytes(CSR(found, tolerance=0.2, budget=90))).problem.lot == ()


def test_rules_inside_rules_name_their_columns_in_any_order():
    both = problem(candidates=[1, {"z": {"0": 0, "1": {"x": {"0": 1, "1": {"0": 0.5, "1": 0.5}}}}}])
    assert both.model.parents["t"] == ("z", "x")
    assert both.tables[1][..., 1].tolist() == [[0, 0], [1, 0.5]]
    arrows = CausalModel.fit(trial(), f"{GRAPH}, z -> t, x -> t")
    by_name = Problem(arrows, **ASKED, candidates=[1, BY_X])
    assert by_name.tables[1][..., 1].tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"candidates": [1, {"y": {"0": 1, "1": 0}}]}, "expected rules by columns that 't' does not change, got 'y'"),
        (
            {"candidates": [1, {"x": {"under 1": 1}}]},
            "got 'under 1'.*; the states are no bands: group them first, --cut C",
        ),
        ({"candidates": [1, {"x": {"0": 1, "1": {"x": {"0": 1, "1": 1}}}}]}, "each once.*got 'x'"),
        ({"randomised": False}, r"got 'x'; draw an arrow x -> t, or .* drawn by lot \(randomised=\)"),
        ({"randomised": "t"}, "randomised: expected True or False"),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(given, names):
    with pytest.raises(ArgumentError, match=names):
        problem(**given)


def test_a_rule_that_can_be_read_in_two_ways_is_refused_with_both_spellings():
    model = CausalModel.fit(trial(), f"{GRAPH}, x -> t")
    asked, rule = {"model": model, **ASKED}, {"1": 1, "0": 0}
    ways = {"x": rule}, {"x": {0: rule, 1: rule}}
    with pytest.raises(ArgumentError, match="read in one way") as refused:
        Problem(**asked, candidates=[1, rule])
    assert f"write {ways[0]} for a rule by 'x', or {ways[1]} for one lottery for all" in str(refused.value)
    read = Problem(**asked, candidates=[1, *ways]).tables[1:, :, 1].tolist()
    assert read == [[0, 1], [1, 1]]
    for shares, total in (({"0": 0.6, "1": 0.5}, 1.1), ({"1": 0.6}, 0.6)):
        with pytest.raises(ArgumentError, match=f"expected rows that sum to one, got {total};"):
            Problem(**asked, candidates=[1, shares])
    clear = Problem(**asked, candidates=[{"x": {"1": 1, "0": 0}}, {"1": 0.5, "0": 0.5}, {"1": 0, "0": 0}])
    assert clear.tables[..., 1].tolist() == [[0, 1], [0.5, 0.5], [0, 0]]


def check_arms(found, frame):
    for arm, rows in frame.groupby("t")["y"]:
        expected = [len(rows), rows.mean(), *ttest_1samp(rows, 0).confidence_interval(0.95)]
        assert found.loc[arm, ["people", "outcome", "outcome_low", "outcome_high"]].tolist() == pytest.approx(expected)


def test_arms_are_those_of_pandas_and_scipy():
    frame = trial()
    found = by_arm(problem(frame, smoothing=1.0), seed=1)
    check_arms(found, frame)
    assert found["model"].tolist() == pytest.approx(frame.groupby("t")["y"].mean().tolist(), abs=0.03)
    assert group_sizes(problem(frame)) == {f"s = {s}": size for s, size in frame["s"].value_counts().items()}
    assert state_sizes(problem(frame), "x") == frame["x"].value_counts().to_dict()


def test_a_lottery_has_no_unrecorded_cause_and_is_tested_as_one():
    drawn = problem()
    with pytest.raises(ArgumentError, match=r"between: .*\('s', 'y'\).*; 't' was drawn by lot"):
        drawn.sensitivity(tolerance=0.2)
    assert drawn.sensitivity(tolerance=0.2, between=("S", "Y")).strength > 1
    tests = drawn.graph_tests.set_index(["earlier", "later"])
    assert {("s", "t"), ("x", "t"), ("z", "t")} <= set(tests.index) | {(b, a) for a, b in tests.index}
    uneven = trial().assign(t=lambda rows: (np.arange(len(rows)) % 5 < 1 + 3 * rows["x"]) * 1)
    said = " ".join(problem(uneven).refuted)
    assert "x and t are unrelated" in said or "t and x are unrelated" in said


def test_more_is_a_range_with_its_group_and_never_beyond_ten_times_the_data():
    few = problem(trial(120, 5), smoothing=1.0).posterior(seed=1)
    gaps = np.abs(few.gaps[0, 1]).mean(0)
    found = few.best(float(gaps[1]) + 0.05)
    assert found.status == "not_shown"
    assert "over at least half of what is probable" in found.notes[0]
    lead = (few.means[:, 0] - few.means[:, 1]) * few.problem.cells.prior
    spread = np.array([*few.means.var(0), lead.var(0)])
    shares = spread / spread.sum(1, keepdims=True)
    assert any(f"{share:.0%} of what is unknown" in found.notes[0] for share in shares.max(1))
    close = few.best(float(gaps.max()))
    assert close.notes[0].startswith("Not by data like these: ten times as many rows would not show the answer")


@pytest.mark.parametrize(
    ("gap", "told"),
    [
        (0.0, "the outcomes of 'none' and 'all' are too nearly alike. Most is to be learned from people with s = 1"),
        (0.3, "the gap of 'none' is too near the tolerance 0.3. Most is to be learned from people with s = 1"),
    ],
)
def test_the_obstacle_is_what_keeps_the_answer_from_being_shown(gap, told):
    """By crafted draws: 'by x' has the gap that is nearest to the tolerance and no chance; two others have one."""
    posed = problem(candidates={"all": 1, "none": 0, "by x": BY_X}, smoothing=1.0)
    random = np.random.default_rng(5)
    means = np.full((4000, 3, 2), 0.5) + random.normal(0.0, [[0.01, 0.02]], (4000, 3, 2))
    means[:, 1] += [0.0005 + gap, 0.0005]
    means[:, 2] -= [0.4, 0.1]
    average = means.mean(0)
    drawn = Posterior(posed, means @ posed.cells.prior, means, (average @ posed.cells.prior, average), average[None])
    found = drawn.best(0.3)
    nearest = (found.table["fair"] - 0.5).abs()
    assert nearest["by x"] < 0.05
    assert found.notes[0].split("because ")[1].startswith(told)
    apart = (means[:, 0] - means[:, 1]) * posed.cells.prior if gap == 0.0 else means[:, 1]
    assert f"{apart.var(0)[1] / apart.var(0).sum():.0%} of what is unknown of the " in found.notes[0]


# ---------------------------------------------------------------------- in a shell


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trial().rename(columns={"z": "age"}).assign(age=lambda rows: 20 + 20 * rows["age"]).to_csv("t.csv", index=False)
    (tmp_path / "rules.json").write_text(json.dumps({"all": "1", "nobody": "0", "by x": BY_X}))
    return tmp_path


GIVEN = "--intervene t --sensitive s --outcome y --candidates rules.json --randomised t"
SHELL = f't.csv --edges "{GRAPH.replace("z", "age")}" {GIVEN} --cut age=30'


def test_people_read_who_has_the_lower_chance_and_how_many_there_are(folder):
    said = " ".join(call(f"{SHELL} --tolerance 0.3 --seed 1 --out answer.html").split())
    frame = trial()
    for s, size in frame["s"].value_counts().items():
        assert f"s = {s} ({size} people)" in said
    assert f"Bands of age: under 30 ({(frame['z'] == 0).sum()} people)" in said
    assert (
        "people with s = 1 seem to have, perhaps by chance, a lower chance of y = 1 than people with s = 0, by " in said
    )
    assert "influences both t and y" not in said
    page = (folder / "answer.html").read_text(encoding="utf-8")
    assert page.count("data:image/png") == 2
    for words in ("The rules", "The trial by itself", "evenhand recommend t.csv", "--randomised t", "s = 1"):
        assert words in page
    unfair = " ".join(call(f"{SHELL} --tolerance 0.001 --seed 1").split())
    assert "the nearest to fair is '" in unfair
    assert "With fairness set aside" in unfair


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("--randomised x", "--randomised: expected the column of --intervene, t, got 'x'"),
        ("--cut age=5", "--cut: expected limits that divide age, got 'age=5'; everybody is in '5 or more'"),
    ],
)
def test_options_of_a_trial_that_cannot_be_are_refused(folder, options, names):
    with pytest.raises(EvenhandError, match=names):
        call(f"{SHELL} --tolerance 0.1 {options}")


def test_a_first_rule_that_never_plays_an_arm_is_named(folder):
    said = " ".join(call(f"{SHELL} --tolerance 0.3 --budget 900 --trial a.eh").split())
    assert "Trials of the first candidate, 'all', say nothing of t = 0, which it never gives" in said


def test_a_search_over_a_refuted_graph_certifies_nothing():
    frame = trial(3000).assign(y=lambda rows: rows["y"] | rows["s"])
    posed = Problem(CausalModel.fit(frame, "s -> x -> y, t -> y, z -> y"), **ASKED, candidates=[None, 1])
    assert posed.recommend(0.3).status == CSR(posed, tolerance=0.3, budget=90).recommend().status == "graph_refuted"
    half = Problem(CausalModel.fit(frame.assign(count=0.5), GRAPH), **ASKED, candidates=[None, 1])
    assert any("was not tested against the graph" in note for note in half.posterior(seed=1).best(0.3).notes)


# ---------------------------------------------------------------------- an outcome in its own units


def earnings(rows=1500, seed=6):
    random = np.random.default_rng(seed)
    frame = trial(rows, seed).drop(columns="y")
    mean = 4000 + 3000 * frame["t"] - 2000 * frame["s"] + 1000 * frame["x"]
    return frame.assign(y=np.where(random.random(rows) < 0.3, 0.0, random.exponential(mean)))


def paid(frame, **more):
    model = CausalModel.fit(frame, GRAPH, 1e-6, measured="y", **more)
    return Problem(model, **ASKED, candidates={"all": 1, "nobody": 0}, randomised=True)


def test_a_measured_outcome_has_the_means_of_its_cells_and_their_standard_errors():
    """Means and variances by pandas: the gap under a rule is that of cell means, its error that of their errors."""
    frame = earnings()
    cells = frame.groupby(["s", "x", "t", "z"])["y"]
    p_x, p_z = frame.groupby("s")["x"].value_counts(normalize=True), frame["z"].value_counts(normalize=True)
    exact = paid(frame)
    posterior = exact.posterior(draws=4000, seed=1)
    for k, t in enumerate((1, 0)):
        group = [sum(p_x[s, x] * p_z[z] * cells.mean()[s, x, t, z] for x in (0, 1) for z in (0, 1)) for s in (0, 1)]
        assert exact.gaps[0, 1][k] == pytest.approx(group[0] - group[1], rel=1e-3)
        errors = cells.var() / cells.size()
        error = sum((p_x[s, x] * p_z[z]) ** 2 * errors[s, x, t, z] for s, x, z in product((0, 1), repeat=3)) ** 0.5
        assert posterior.gaps[0, 1][:, k].mean() == pytest.approx(group[0] - group[1], abs=0.1 * error)
        assert posterior.gaps[0, 1][:, k].std() == pytest.approx(error, rel=0.1)
    check_arms(by_arm(exact, seed=1), frame)


def test_a_measured_outcome_is_tested_and_kept_and_its_searches_are_refused():
    frame = earnings()
    assert paid(frame).refuted == ()
    model = CausalModel.fit(frame, GRAPH.replace("t -> y, ", "") + ", t -> z", measured="y")
    assert any("t and y" in said for said in Problem(model, **ASKED, candidates=[1, 0]).refuted)
    with pytest.raises(ArgumentError, match=r"problem: expected an outcome of few states, got 'y'; divide it"):
        CSR(paid(frame), tolerance=100, budget=90)
    words = r"measured: expected a node without arrows from it, one of .*'y'.* got 'x'"
    with pytest.raises(ArgumentError, match=words):
        CausalModel.fit(frame, GRAPH, measured="x")
    with pytest.raises(TableError, match="column 'y': expected numbers that differ"):
        CausalModel.fit(frame.assign(y=1.0), GRAPH, measured="y")


def test_earnings_stand_in_dollars(folder):
    earnings().rename(columns={"z": "age"}).assign(age=lambda rows: 20 + 20 * rows["age"]).to_csv("t.csv", index=False)
    body = json.loads(call(f"{SHELL} --tolerance 5000 --seed 1 --json"))
    arms = earnings().groupby("t")["y"].mean()
    assert [row["outcome"] for row in body["arms"]] == pytest.approx(arms.tolist())
    assert body["table"][0]["outcome"] == pytest.approx(arms[1], rel=0.05)
    assert "have a lower average y than people with s = 0, by " in body["answer"]


# ---------------------------------------------------------------------- one answer


@pytest.mark.parametrize("tolerance", [0.02, 0.09, 0.12, 0.3])
def test_nothing_that_is_said_contradicts_the_table_beside_it(tmp_path, monkeypatch, tolerance):
    """The gap is 0.1, its interval -0.02 to 0.2: each sentence on fairness, against the printed estimates."""
    monkeypatch.chdir(tmp_path)
    size, ones = [150, 150, 150, 150], [90, 75, 60, 45]
    cells = pd.DataFrame({"s": [1, 0, 1, 0], "t": [1, 1, 0, 0]})
    frame = cells.loc[np.repeat(range(4), size)].assign(y=np.concatenate([np.arange(150) < n for n in ones]) * 1)
    frame.to_csv("t.csv", index=False)
    (tmp_path / "rules.json").write_text(json.dumps({"all": "1", "nobody": "0"}))
    asked = f't.csv --edges "s -> y, t -> y" {GIVEN} --seed 1 --tolerance {tolerance}'
    body = json.loads(call(f"{asked} --json --out a.html"))
    page = unescape((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert body["answer"] in page
    rows = {row["candidate"]: row for row in body["table"]}
    gaps = {name: row["gap[0, 1]"] for name, row in rows.items()}
    assert gaps == pytest.approx(dict.fromkeys(rows, -0.1), abs=0.002)
    named = body["candidate"] or min(gaps, key=lambda name: abs(gaps[name]))
    inside = abs(gaps[named]) < tolerance
    assert f"this is {'' if inside else 'not '}within the tolerance of {100 * tolerance:g} point" in body["answer"]
    assert f"{named!r}" in body["answer"]
    if rows[named]["verdict"] == "undecided":
        assert f"with probability {rows[named]['fair']:.3f}" in body["answer"]
    fair = {name: row["outcome"] for name, row in rows.items() if abs(gaps[name]) < tolerance}
    best = max(fair, key=fair.get, default=None)
    exact = "No rule is fair" if best is None else f"{best!r} is the best fair rule"
    assert all(cause["words"].startswith(exact) for cause in body["sensitivity"])
    assert bool(body["sensitivity"]) == (best == body["candidate"])
    assert ("If the estimates are exact, the answer is another" in page) == (best != body["candidate"])


def test_the_estimates_are_those_of_the_tables_and_the_mean_of_the_draws():
    drawn = problem(smoothing=1.0).posterior(seed=1)
    table = drawn.best(0.2).table
    np.testing.assert_allclose(table["outcome"], drawn.problem.outcomes)
    np.testing.assert_allclose(table["gap[0, 1]"], drawn.problem.gaps[0, 1])
    error = drawn.gaps[0, 1].std(0) / np.sqrt(len(drawn.outcomes))
    assert (np.abs(table["gap[0, 1]"] - drawn.gaps[0, 1].mean(0)) < 4 * error).all()
    assert table["outcome"].tolist() != problem(smoothing=1.0).posterior(seed=1, smoothing=30).expected[0].tolist()
