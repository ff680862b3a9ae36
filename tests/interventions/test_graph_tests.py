"""Independences that a graph asserts, tested on the table: against pandas, scipy and shuffles within the strata."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, chi2_contingency

from evenhand.errors import ArgumentError
from evenhand.interventions import CausalModel, Problem
from evenhand.interventions.graph_tests import asserted, graph_tests
from tests.interventions.examples import call

EDGES = "s -> x -> v -> y, x -> y"


def people(rows, seed, direct=0.0):
    """A table of the graph, or with a direct effect of s on y that the graph lacks."""
    random = np.random.default_rng(seed)
    s = random.integers(2, size=rows)
    x = (random.random(rows) < 0.3 + 0.3 * s) * 1
    v = (random.random(rows) < 0.4 + 0.2 * x) * 1
    y = (random.random(rows) < 0.3 + 0.2 * x + 0.1 * v + direct * s) * 1
    return pd.DataFrame({"s": s, "x": x, "v": v, "y": y})


def problem(frame, edges=EDGES, **more):
    asked = {"intervene": "v", "sensitive": "s", "outcome": "y", "candidates": {"now": None, "all": 1}}
    return Problem(CausalModel.fit(frame, edges, **more), **asked)


def judged(frame, edges=EDGES):
    return problem(frame, edges).graph_tests.set_index(["earlier", "later"])


def mantel_haenszel(frame, a, b, given):
    """The statistic from sums in pandas, and the number of strata that have a contrast."""
    off = spread = strata = 0
    for _, stratum in frame.groupby(given):
        n, r, c = len(stratum), stratum[a].sum(), stratum[b].sum()
        if 0 < r < n and 0 < c < n:
            off, strata = off + (stratum[a] & stratum[b]).sum() - r * c / n, strata + 1
            spread += r * (n - r) * c * (n - c) / (n * n * (n - 1))
    return off**2 / spread, strata


def test_large_strata_are_tested_by_cochran_mantel_and_haenszel():
    frame = people(3000, 1, direct=0.05)
    found = judged(frame)
    assert set(found.index) == {("s", "v"), ("s", "y")}
    for (a, b), given in ((("s", "v"), ["x"]), (("s", "y"), ["x", "v"])):
        statistic, strata = mantel_haenszel(frame, a, b, given)
        assert found.loc[(a, b), "p"] == pytest.approx(chi2.sf(statistic, 1), rel=1e-9)
        assert found.loc[(a, b), "strata"] - found.loc[(a, b), "dropped"] == strata


def test_more_states_in_one_stratum_are_tested_by_chi_square():
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"s": random.integers(3, size=600), "x": random.integers(4, size=600)})
    frame["v"], frame["y"] = random.integers(2, size=600), random.integers(2, size=600)
    found = judged(frame, "s -> v -> y, x -> y")
    pearson = chi2_contingency(pd.crosstab(frame["s"], frame["x"]), correction=False)
    assert found.loc[("s", "x"), "p"] == pytest.approx(chi2.sf(pearson.statistic * 599 / 600, pearson.dof), rel=1e-9)


def test_small_strata_are_tested_by_permutations_within_them():
    """60 people in four strata: some cell expects fewer than 5. Shuffles by pandas, 300 of them, agree up to five
    standard errors of both."""
    frame = people(60, 1, direct=0.3)
    seen, _ = mantel_haenszel(frame, "s", "y", ["x", "v"])
    random, drawn = np.random.default_rng(1), []
    groups = [group.index.to_numpy() for _, group in frame.groupby(["x", "v"])]
    for _ in range(300):
        shuffled = frame["y"].to_numpy().copy()
        for group in groups:
            shuffled[group] = random.permutation(shuffled[group])
        drawn.append(mantel_haenszel(frame.assign(y=shuffled), "s", "y", ["x", "v"])[0])
    expected = (1 + (np.array(drawn) >= seen - 1e-9).sum()) / 301
    found = judged(frame).loc[("s", "y"), "p"]
    assert found == pytest.approx(expected, abs=5 * (expected * (1 / 300 + 1 / (199 if found > 0.05 else 9999))) ** 0.5)


def test_strata_without_a_contrast_are_dropped_and_counted():
    frame = people(400, 3)
    frame.loc[(frame["x"] == 1) & (frame["v"] == 1), "y"] = 1
    assert judged(frame).loc[("s", "y"), ["strata", "dropped"]].tolist() == [4, 1]


def test_pairs_follow_the_graph():
    """The sensitive node comes first, whatever the order of the arrows; a later node with an unrecorded cause, and what
    the outcome does not hang on, are left out."""
    frame = people(200, 4).assign(z=[0, 1] * 100, w=[0, 1] * 100)
    model = problem(frame, "z -> v -> y, s -> y, y -> w").model
    structure = problem(frame, "z -> v -> y, s -> y").structure
    assert asserted(model, structure, model.parents) == [("s", "z"), ("s", "v"), ("z", "y")]
    latent = CausalModel.fit(frame, "z -> v -> y, s -> y, v <-> z")
    assert asserted(latent, structure, latent.parents) == [("z", "y")]


def test_a_refuted_graph_certifies_nothing():
    right, wrong = problem(people(4000, 5)), problem(people(4000, 5, direct=0.2))
    assert right.posterior(seed=1).best(0.3)[:2] == ("all", "certified")
    found = wrong.posterior(seed=1).best(0.3)
    assert found[:2] == ("all", "graph_refuted")
    assert (found.confidence, found.more) == (None, None)
    assert "certified" not in set(found.table["verdict"])
    said = (
        r"Your graph says that s and y are unrelated given v, x; the table says otherwise \(p = .*\): add an arrow s ->"
    )
    assert len(found.refuted) == 1
    assert re.match(said, found.refuted[0])
    mended = problem(people(4000, 5, direct=0.2), f"{EDGES}, s -> y").posterior(seed=1).best(0.4)
    assert mended[:2] == ("all", "certified")
    assert not any("onfidence" in note for note in found.notes)
    assert any("more rows would not show an answer" in note for note in found.notes)
    none = wrong.posterior(seed=1).best(1e-9)
    assert none[:2] == (None, "graph_refuted")


def test_in_a_shell_the_refutation_stands_before_the_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people(2000, 5, direct=0.2).to_csv("people.csv", index=False)
    (tmp_path / "rules.json").write_text(json.dumps({"now": None, "all": "1"}))
    asked = f'people.csv --edges "{EDGES}" --intervene v --sensitive s --outcome y --candidates rules.json --seed 1'
    said = " ".join(call(f"{asked} --tolerance 0.3").split())
    first, verdict = (
        said.index("add an arrow s -> y."),
        said.index("No rule is certified, because the table contradicts the graph"),
    )
    assert first < verdict
    assert "under this graph, the best guess is 'all': under it, people with s = " in said
    assert "is certified" not in said.replace("No rule is certified", "")
    none = json.loads(call(f"{asked} --tolerance 1e-9 --json --out answer.html"))
    assert (none["status"], len(none["refuted"])) == ("graph_refuted", 1)
    assert "the graph; under this graph, so far no rule seems fair, and the nearest to fair is '" in none["answer"]
    page = Path("answer.html").read_text()
    overturn, supposes = page.index("What would overturn it"), page.index("What it supposes")
    assert overturn < page.index("add an arrow s -&gt; y.") < supposes


def test_weights_that_are_no_counts_are_not_tested():
    assert problem(people(300, 5, direct=0.3).assign(count=0.5)).graph_tests.empty
    with pytest.raises(ArgumentError, match=r"rows: expected numbers of shape \(n, 5\)"):
        CausalModel(**problem(people(50, 1)).model.config() | {"rows": [[1, 2]]})


@pytest.mark.slow
def test_right_graphs_are_refuted_in_at_most_five_of_a_hundred_tables():
    """Tables of 80 and of 800 rows, 40 each; a rate of 0.05 has more than 9 once in 10,000 times and less."""
    for rows in (80, 800):
        models = [problem(people(rows, [rows, run])) for run in range(40)]
        assert sum(graph_tests(each.model, each.structure, seed=1)["refuted"].any() for each in models) <= 9
