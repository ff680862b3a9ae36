"""How strong an unobserved cause must be: against linear programs, and against worlds that have such a cause."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from evenhand.interventions import CausalModel, Problem, SimulatedTrial
from evenhand.interventions.confounding import MeanBounds, Terms, bounds, confounded_groups, confounded_values
from tests.interventions import examples
from tests.interventions.examples import SVY, fitted_below, two_attributes
from tests.naming import spread
from tests.reference import interventions as twin

WORLD = next(SimulatedTrial._examples()).problem
PROBLEMS = {"mediator": WORLD, **examples.PROBLEMS}


def beside(seed, values=3, levels=2, groups=2):
    """S -> V -> M -> Y and S -> Z, with Z -> Y and Z -> M beside V: Y's other parent is no parent of V."""
    random = np.random.default_rng(seed)
    parents = {"S": (), "X": ("S",), "Z": ("S",), "V": ("X",), "M": ("V", "Z"), "Y": ("M", "X", "Z")}
    sizes = {"S": groups, "X": 2, "Z": 2, "V": values, "M": 2, "Y": levels}
    tables = {n: random.dirichlet(np.full(sizes[n], 2.0), [sizes[p] for p in parents[n]]) for n in parents}
    model = CausalModel.from_tables({n: tuple(range(size)) for n, size in sizes.items()}, parents, tables)
    candidates = list(random.dirichlet(np.full(values, 1.0), (3, 2)))
    return Problem(model, **SVY, candidates=candidates)


LATENT = {
    "one mediator": (WORLD, []),
    "two attributes": (two_attributes(4), ["old"]),
    "beside": (beside(1), ["Z"]),
    "beside, three values of S": (beside(2, groups=3), ["Z"]),
    "four values": (beside(4, values=4), ["Z"]),
    "fitted": (fitted_below(), []),
}


@pytest.mark.parametrize(("name", "strength"), spread(itertools.product(LATENT, [1.3, 4.0]), 4))
def test_ranges_are_those_of_latent_laws(name, strength):
    """Outcomes, gaps and leads, against programs over every law that a cause may have; to 1e-12."""
    problem, others = LATENT[name]
    world, k = confounded_values(problem), len(problem.candidates)
    means, groups, prior = world.means(strength), len(problem.groups), problem.cells.prior
    one, other = np.eye(k)[k - 1][:, None], np.eye(k)[1][:, None]
    apart = np.eye(groups)[0] - np.eye(groups)[1]
    weights, fixed = world.outcomes
    lead = Terms(weights[1:2] - weights[k - 1 :], fixed[1:2] - fixed[k - 1 :])
    numbers = [(world.outcomes, k - 1, one * prior), (world.gaps, k - 1, one * apart), (lead, 0, (other - one) * prior)]
    for terms, at, weights in numbers:
        low, high = bounds(terms, means)
        assert low[at] == pytest.approx(twin.latent_end(problem, weights, strength, others), abs=1e-12)
        assert high[at] == pytest.approx(-twin.latent_end(problem, -weights, strength, others), abs=1e-12)


@pytest.mark.parametrize(("problem", "others"), LATENT.values(), ids=LATENT)
def test_a_rival_must_be_fair_and_as_good_under_the_same_cause(problem, others):
    """The least lead of the best fair candidate over another whose gaps stay below the tolerance."""
    tolerance = 0.05 + float(np.abs(list(problem.gaps.values())).max(0).min())
    found = problem.sensitivity(tolerance=tolerance)
    named, k = found._named, len(problem.candidates)
    means, limit = found._world.means(1.5), tolerance / problem.scale
    for j in set(range(k)) - {named}:
        weights = (np.eye(k)[named] - np.eye(k)[j])[:, None] * problem.cells.prior
        least = twin.latent_end(problem, weights, 1.5, others, fair=(j, limit))
        lead, fixed = found._lead
        mine = means.value(lead[j], *found._fairness(j)) + fixed[j]
        assert mine == pytest.approx(least, abs=1e-9)


def test_the_published_strengths():
    """A table of 1,500 patients: 'by weight' may be as good at 1.520; the gap of the named one at 1.31."""
    model = CausalModel.fit(WORLD.model.sample(1500, seed=4), "sex -> weight -> dose -> cured, weight -> cured")
    rules = {
        "now": None,
        "high for all": "high",
        "by weight": {0: "mid", 1: "high"},
        "careful": {0: "low", 1: {"mid": 0.5, "high": 0.5}},
    }
    problem = Problem(model, intervene="dose", sensitive="sex", outcome="cured", candidates=rules)
    found = problem.sensitivity(tolerance=0.2)
    assert found.strength == pytest.approx(1.520, abs=5e-4)
    assert str(found).endswith("then 'by weight' may be fair and as good.")
    gap = found.range(1.31).loc["high for all"]
    assert gap["gap_low[f, m]"] == pytest.approx(0.0301, abs=5e-4)
    assert gap["gap_high[f, m]"] == pytest.approx(0.1261, abs=5e-4)


def test_of_many_values_the_intervals_stand_for_the_program():
    many = beside(5, values=7)
    found = many.sensitivity(tolerance=0.3)
    assert not found.exact
    assert beside(5, values=6).sensitivity(tolerance=0.3).exact
    few = beside(4, values=4)
    means = confounded_values(few).means(2.0)
    wide, tight = (bounds(confounded_values(few).outcomes, one) for one in (MeanBounds(means.low, means.high), means))
    assert (wide[0] <= tight[0] + 1e-9).all()
    assert (wide[0] < tight[0] - 1e-6).any()
    assert (wide[1] >= tight[1] - 1e-9).all()


@pytest.mark.parametrize("strength", [1.1, 1.6, 4.0])
def test_of_a_measured_outcome_the_spread_of_each_cell_limits_what_a_cause_can_do(strength):
    """The ranges hold those of the recorded outcomes of the cells, and no law of their means and variances goes on."""
    random = np.random.default_rng(3)
    frame = pd.DataFrame(random.integers(2, size=(4000, 2)), columns=["s", "t"])
    frame["y"] = random.normal(10.0 + frame["s"] + 2.0 * frame["t"], 1.0 + frame["t"])
    frame.loc[0, "y"], frame.loc[1, "y"] = -50.0, 70.0
    model = CausalModel.fit(frame, "s -> t -> y, s -> y", 1e-6, measured="y")
    posed = Problem(model, intervene="t", sensitive="s", outcome="y", candidates={"now": None, "all": 1})
    found = posed.sensitivity(tolerance=30.0).range(strength).loc["all"]
    prior, share, ends = frame["s"].value_counts(normalize=True), frame.groupby("s")["t"].mean(), []
    for s in (0, 1):
        cell = frame[(frame["s"] == s) & (frame["t"] == 1)]["y"]
        law = np.full(len(cell), 1.0 / len(cell))
        recorded = twin.tilted_mean(law, cell.to_numpy(), strength, True) - cell.mean()
        limit = moved_mean(cell.mean(), cell.std(), cell.mean() + np.linspace(-30, 30, 1201), strength)
        ends.append(prior[s] * (1.0 - share[s]) * np.array([recorded, limit]))
    recorded, limit = sum(ends)
    assert recorded <= found["outcome_high"] - found["outcome"]
    assert found["outcome_high"] - found["outcome"] == pytest.approx(limit, rel=0.03)
    groups = posed.sensitivity(tolerance=30.0, between=("S", "Y")).range(strength).loc["all"]
    law = frame[frame["t"] == 1].groupby("s")["y"].std()
    widths = (strength - 1.0) / strength**0.5 * sum((1.0 - prior[s]) * law[s] for s in (0, 1))
    assert groups["gap_high[0, 1]"] - groups["gap[0, 1]"] == pytest.approx(widths, rel=0.03)


def moved_mean(mean, deviation, grid, strength):
    """Return by how much a cause may raise a mean at most: the best of all laws on a grid with this mean and deviation,
    and of all ways to give the weight `strength` to 1 / (strength + 1) of their mass, by a linear program."""
    heavy, one = np.repeat([1.0, 0.0], grid.size), np.ones(2 * grid.size)
    y = np.tile(grid - mean, 2)
    kept = np.stack([one, heavy, y, y**2])
    right = [1.0, 1.0 / (strength + 1.0), 0.0, deviation**2]
    return -linprog(-np.where(heavy, strength, 1.0 / strength) * y, A_eq=kept, b_eq=right).fun


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_without_a_cause_nothing_moves(problem):
    for between in (("V", "Y"), ("S", "Y")):
        table = problem.sensitivity(tolerance=0.3 * problem.scale, between=between).range(1.0)
        np.testing.assert_allclose(table["outcome"], problem.outcomes)
        for end in ("low", "high"):
            np.testing.assert_allclose(table[f"outcome_{end}"], problem.outcomes)
        wide = problem.sensitivity(tolerance=0.3 * problem.scale, between=between).range(2.0)
        assert (wide["outcome_low"] <= table["outcome"] + 1e-12).all()
        assert (wide["outcome_high"] >= table["outcome"] - 1e-12).all()


def test_a_cause_of_s_moves_gaps_and_not_outcomes():
    world = confounded_groups(WORLD)
    means = world.means(2.0)
    low, high = bounds(world.outcomes, means)
    np.testing.assert_allclose(low, high)
    low, high = bounds(world.gaps, means)
    prior, k = WORLD.cells.prior, 1
    laws = WORLD.model
    ends = []
    for s, state in enumerate(("f", "m")):
        law = laws.probabilities(["cured"], do={"sex": state}, tables={"dose": WORLD.tables[k]})
        tilt = [twin.tilted_mean(law, WORLD.scores, 2.0, up) for up in (False, True)]
        ends.append([prior[s] * law[1] + (1 - prior[s]) * end for end in tilt])
    assert low[k] == pytest.approx(ends[0][0] - ends[1][1])
    assert high[k] == pytest.approx(ends[0][1] - ends[1][0])


def test_strength_is_where_the_answer_may_first_be_another():
    for between in (("dose", "cured"), ("sex", "cured")):
        found = WORLD.sensitivity(tolerance=0.1, between=between)
        assert (found.answer, found.between) == ("even", between)
        for strength, holds in ((found.strength / 1.0001, True), (found.strength * 1.0001, False)):
            table = found.range(strength)
            rivals = table[(table["verdict"] != "unfair") & (table["lead_low"] <= 0)].index.difference(["even"])
            assert (table.loc["even", "verdict"] == "fair" and rivals.empty) >= holds
            if between[0] == "dose":
                assert (table.loc["even", "verdict"] == "fair" and rivals.empty) == holds
    none = WORLD.sensitivity(tolerance=0.02)
    assert none.answer is None
    assert (none.range(none.strength / 1.0001)["verdict"] == "unfair").all()
    assert (none.range(none.strength * 1.0001)["verdict"] == "undecided").any()
    assert "lead_low" not in none.range(1.1)


def test_it_is_said_in_words():
    said = str(WORLD.sensitivity(tolerance=0.1))
    assert said == (
        "'even' is the best fair rule unless something unrecorded influences both dose and cured: it would have to "
        "turn a chance of 50 % for a value of dose into 56.9 % or more (the odds, the chance for over the chance "
        "against, change by a factor of 1.32); then 'rich' may be fair and as good."
    )
    tied = WORLD.sensitivity(tolerance=0.2)
    assert tied.strength == 1.0
    assert "if something unrecorded influences both dose and cured ever so little: then 'rich'" in str(tied)


def test_no_cause_changes_what_nearly_everybody_shows():
    """V = S and Y = V but for one row in a hundred: whatever moves that row, both candidates stay unfair."""
    frame = pd.DataFrame({"S": [0] * 100 + [1] * 100, "V": [0] * 99 + [1] * 100 + [0], "Y": [0] * 99 + [1] * 101})
    model, rule = CausalModel.fit(frame, "S -> V -> Y"), {"S": {0: 0, 1: 1}}
    split = Problem(model, **SVY, candidates={"now": None, "split": rule})
    found = split.sensitivity(tolerance=0.2)
    assert (found.answer, found.strength) == (None, np.inf)
    assert str(found) == "No rule is fair, however strongly something unrecorded influences both V and Y."
    assert found.curve()["strength"].max() == 4.0


def test_the_observed_mean_of_what_runs_now_does_not_move():
    problem = fitted_below()
    table = problem.sensitivity(tolerance=1.0).range(3.0)
    assert table.loc[0, "outcome_low"] == pytest.approx(table.loc[0, "outcome_high"])
    assert table.loc[0, "outcome"] == pytest.approx(problem.outcomes[0])
    assert (table["outcome_low"][1:] < table["outcome_high"][1:] - 0.01).all()
