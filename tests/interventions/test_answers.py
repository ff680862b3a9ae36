"""Answers at a stated confidence: wrong no more often than said, never without trials, and never by default."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.interventions.allocation_program import phase_count, phase_sizes
from evenhand.interventions.candidate_bets import Bets, BettingLook, _gained, _mean, gap, lead, least, outcome
from evenhand.interventions.cells import CellCounts
from evenhand.interventions.csr import gaps_of
from evenhand.interventions.measures import EvidenceDraws, replay, simulated_searches
from evenhand.interventions.structure import through_v_alone
from evenhand.rng import generator
from evenhand.saving import state
from tests.fuzzing import many
from tests.interventions.examples import SVY, WORLD, mediated, straight, two_attributes
from tests.naming import long
from tests.reference import interventions as twin


def two_by_two(*chances):
    """S -> V -> Y of two states each, a candidate's P(V = 1 | S = 0) and P(V = 1 | S = 1); E[Y | V] is 0.1 or 0.9."""
    tables = [[[1 - p, p] for p in pair] for pair in chances]
    return straight(tables, now=tables[0], outcome=[[0.9, 0.1], [0.1, 0.9]])


TEMPTING = two_by_two((0.5, 0.5), (0.8, 0.55), (0.6, 0.3))
"""At E = 0.2 the first candidate is fair alone; the second is better, and its gap is 0.2 exactly."""
HARDLY_FAIR = two_by_two((0.5, 0.8), (0.6, 0.35 + 1e-9), (0.3, 0.7))
"""At E = 0.2 the second candidate is fair by less than any number of trials shows."""


@pytest.mark.parametrize(("problem", "wrong"), [(TEMPTING, "certified"), (HARDLY_FAIR, "none_is_fair")])
def test_answers_are_wrong_no_more_often_than_said(problem, wrong):
    """The bound is passed by a rate of 0.1 once in 1,000 times."""
    search = CSR(problem, tolerance=0.2, budget=1500, delta=0.1, costs=[0, 0, 0])
    found = simulated_searches({"csr": search}, replications=many(100), seed=5)
    errors = ((found["status"] == wrong) & ~found["correct"]).sum()
    assert errors <= binom.ppf(0.999, many(100), 0.1)
    assert set(found["status"]) <= {"certified", "not_shown", "none_is_fair"}
    right = CSR(two_by_two((0.5, 0.5), (0.8, 0.4), (0.6, 0.2)), tolerance=0.2, budget=3000)
    answers = simulated_searches({"csr": right}, replications=10, seed=6)
    assert (answers["status"] == "certified").mean() > 0.8


def test_a_small_tolerance_does_not_make_every_candidate_unfair():
    """The paper's radius ends at 3 / 2^10 here, so that it can call nobody fair at E = 0.001, and says that none is."""
    fair = two_by_two((0.5, 0.5), (0.6, 0.6))
    tested, paper = (CSR(fair, tolerance=0.001, budget=4000, pooled=pooled) for pooled in (True, False))
    for search in (tested, paper):
        replay(search, EvidenceDraws(fair.cells), generator(1))
    assert paper.recommend()[:2] == (None, "no_fair_candidate")
    assert tested.recommend()[:2] == (1, "certified"), "whatever V does, these candidates do not look at S"
    near = CSR(two_by_two((0.5, 0.501249), (0.6, 0.601249)), tolerance=0.001, budget=4000)
    replay(near, EvidenceDraws(near.problem.cells), generator(1))
    assert near.recommend().status == "not_shown"


def mediator():
    """S -> X -> Y, S -> V and X -> V -> Y, two states each: rows of one value of S do not speak of the other."""
    tables = [
        [[[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]],
        [[[0.5, 0.5], [0.1, 0.9]], [[0.3, 0.7], [0.6, 0.4]]],
    ]
    model = CausalModel.from_tables(
        {"S": [0, 1], "X": [0, 1], "V": [0, 1], "Y": [0, 1]},
        {"S": [], "X": ["S"], "V": ["S", "X"], "Y": ["X", "V"]},
        {
            "S": [0.4, 0.6],
            "X": [[0.3, 0.7], [0.6, 0.4]],
            "V": tables[0],
            "Y": [[[0.9, 0.1], [0.4, 0.6]], [[0.7, 0.3], [0.2, 0.8]]],
        },
    )
    return Problem(model, **SVY, candidates=tables)


def at_truth(problem, contrast):
    """The true value of a contrast."""
    means, prior = problem.cells.means, problem.cells.prior
    return sum(sign * (means[k] @ prior if s is None else means[k, s]) for k, s, sign in contrast)


def row_laws(problem):
    """The law (K, S, places, Y states) of a row given its candidate and S."""
    cells = problem.cells
    place = cells.grains[1]
    law = np.zeros((*cells.density.shape[:2], cells.rules[0, 0].size, cells.scores.size))
    np.add.at(law, (slice(None), slice(None), place), cells.law_of(cells))
    return law / law.sum((2, 3), keepdims=True)


def mean_stakes(before, drawn, contrast, limits, through_v):
    """The mean stakes against some limits after rows drawn each by its law, over everything that can be seen."""
    total = np.zeros(len(limits))
    for seen in product(*(range(law.size) for _, law in drawn)):
        rows, chance = np.zeros_like(before.rows), 1.0
        for (at, law), cell in zip(drawn, seen, strict=True):
            rows[(0, *at)].reshape(-1)[cell] += 1
            chance *= law.reshape(-1)[cell]
        play = BettingLook(before, rows, through_v).play(contrast)
        total += [chance * (1.0 if play is None else np.exp(_mean(_gained(play, limit)))) for limit in limits]
    return total


GAPS = {"gap": gap(0, 0, 1), "the other way": gap(1, 1, 0)}


PLACES = {"through V": TEMPTING, "mediator": mediator()}
KNOWN, FITTED = (False, False), (True, False)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("contrast", "learned", "unknown"),
    [
        ("gap", False, KNOWN),
        ("the other way", False, FITTED),
        long("gap", True, FITTED),
        long("the other way", True, KNOWN),
    ],
)
def test_no_bet_gains_on_average_where_the_limit_is_the_truth(place, contrast, learned, unknown):
    """The mean stake after a delivery of fixed numbers, over everything that can be seen: at most 1, exactly; whatever
    was guessed before, whatever the tables of the model."""
    problem, contrast = PLACES[place], GAPS[contrast]
    laws, random = row_laws(problem), np.random.default_rng(3)
    before = CellCounts(problem.cells, (*unknown, *[False] * (len(problem.candidates) - 2)))
    if learned:
        before.rows += random.poisson(2.0, before.rows.shape)
    drawn = [(at, laws[at]) for at in ((0, 0), (1, 1), (1, 0), (0, 1))]
    truth = at_truth(problem, contrast)
    limits = truth, truth + 0.15, truth - 0.15
    mean, above, below = mean_stakes(before, drawn, contrast, limits, problem is TEMPTING)
    assert mean <= 1 + 1e-12
    assert above < mean
    assert below > 1


@pytest.mark.parametrize(
    "problem",
    [TEMPTING, mediator(), mediated(3, groups=3), two_attributes(4)],
    ids=["through V", "mediator", "three", "attributes"],
)
def test_bets_are_what_a_gambler_makes_row_by_row(problem):
    """Two deliveries against the slow twin, which reads rows and knows the candidates' tables alone."""
    random, laws, shape = np.random.default_rng(8), row_laws(problem), CellCounts(problem.cells, problem.own).rows.shape
    through = through_v_alone(problem.model, problem.structure)
    bets, deliveries = Bets(CellCounts(problem.cells, problem.own), through), []
    groups = len(problem.groups)
    for size in (24, 17):
        rows, told = np.zeros(shape), []
        for n in range(size):
            kind, k = n % 2, int(random.integers(len(problem.candidates)))
            s = int(random.integers(groups))
            cell = int(random.choice(laws[k, s].size, p=laws[k, s].reshape(-1)))
            rows[kind, k, s].reshape(-1)[cell] += 1
            told.append((kind, k, s, *np.unravel_index(cell, shape[3:])))
        bets.learn(rows, logged=False)
        deliveries.append(told)
    for contrast in (gap(1, 0, 1), gap(0, groups - 1, 0), lead(0, 2 % len(problem.candidates)), outcome(1, -1)):
        for limit in (-0.6, -0.05, 0.0, 0.4):
            expected = twin.row_stakes(problem, deliveries, contrast, limit, through)
            assert bets._staked(contrast, limit) == pytest.approx(np.log(expected), abs=1e-9)


def test_rows_of_a_fitted_table_speak_of_themselves_alone():
    """A deployed rule of unknown law, in a log where it is confounded: nothing of it enters what is said of others."""
    cells = mediator().cells
    bets, without = (Bets(CellCounts(cells, (True, False)), False) for _ in range(2))
    rows = np.random.default_rng(1).poisson(5.0, (2, *cells.rules.shape, 2)).astype(float)
    others = rows.copy()
    others[:, 0] = 0.0
    bets.learn(rows, logged=False)
    without.learn(others, logged=False)
    assert without.lower([gap(0, 0, 1)], 0.1)[0] == -1.0
    assert bets.lower([gap(0, 0, 1)], 0.1)[0] > -1.0
    assert bets.lower([gap(1, 0, 1)], 0.1) == without.lower([gap(1, 0, 1)], 0.1)
    logged = Bets(CellCounts(cells, (True, False)), False)
    logged.learn(rows, logged=True)
    assert logged.lower([gap(0, 0, 1)], 0.1)[0] == -1.0, "the log of a rule of unknown law is no delivery"


def test_what_a_candidate_alone_gives_is_not_said_by_trials_of_others():
    rules = Problem(TEMPTING.model, **SVY, candidates=[0, 1])
    bets = Bets(CellCounts(rules.cells, rules.own), True)
    rows = np.zeros((2, 2, 2, 1, 2, 2))
    rows[:, 0, :, :, 0] = 10.0
    bets.learn(rows, logged=False)
    assert bets.lower([outcome(0)], 0.1)[0] > 0.0
    assert bets.lower([outcome(1), outcome(1, -1)], 0.1).tolist() == [0.0, -1.0]
    assert np.isnan(bets.estimate([outcome(1)])[0])


@pytest.mark.parametrize("budget", [2000, 1_000_000])
def test_a_search_stops_as_soon_as_it_has_an_answer(budget):
    """Whatever the budget: looks come after max(5 K S, N/4) trials each."""
    problem = two_by_two((0.5, 0.5), (0.8, 0.4), (0.6, 0.2))
    search = CSR(problem, tolerance=0.2, budget=budget, costs=[0, 0, 0])
    sizes = [phase.size for phase in search.phases()]
    spent = np.cumsum([0, *sizes])
    assert sum(sizes) == budget
    assert sizes[:-1] == [max(30, int(np.ceil(before / 4))) for before in spent[:-2]]
    found = simulated_searches({"csr": search}, replications=20, seed=1)
    assert (found["status"] == "certified").all()
    assert found["trials"].max() <= 800
    paper = CSR(problem, tolerance=0.2, budget=budget, delta=None)
    assert [phase.size for phase in paper.phases()] == phase_sizes(budget, phase_count(budget))


@pytest.mark.parametrize("problem", [TEMPTING, two_attributes(4)], ids=["two", "many"])
def test_each_end_of_the_table_holds_at_the_level_of_its_test(problem):
    """The bound is passed by the right rate of one of the ends once in 1,000 times."""
    search = CSR(problem, tolerance=0.2 * problem.scale, budget=600, delta=0.1)
    draws, missed = EvidenceDraws(problem.cells), []
    for run in range(many(20)):
        replay(search, draws, generator(7, run))
        table = search.recommend().table
        wrong = [table["outcome_low"] > problem.outcomes, problem.outcomes > table["outcome_high"]]
        for (a, b), gaps in problem.gaps.items():
            a, b = ("/".join(map(str, g)) if isinstance(g, tuple) else g for g in (a, b))
            if f"gap[{a}, {b}]" in table:
                wrong += [table[f"gap_low[{a}, {b}]"] > gaps, gaps > table[f"gap_high[{a}, {b}]"]]
        missed.append(wrong)
    level = 0.1 / (len(problem.candidates) - 1 + len(problem.pairs))
    assert np.sum(missed, axis=0).max() <= binom.ppf(1 - 0.001 / np.size(missed[0]), many(20), level)


def test_a_certificate_lies_in_its_interval():
    """The gap was shown to be below the tolerance at some look, and the interval keeps what was shown."""
    tables = {"V": [[0.6, 0.4], [0.3, 0.7]], "Y": [[[0.8, 0.2], [0.7, 0.3]], [[0.3, 0.7], [0.4, 0.6]]]}
    states, parents = {"S": ["f", "m"], "V": ["lo", "hi"], "Y": [0, 1]}, {"S": [], "V": ["S"], "Y": ["V", "S"]}
    model = CausalModel.from_tables(states, parents, {"S": [0.5, 0.5], **tables})
    rules = {"now": None, "hi": "hi", "half": {"lo": 0.5, "hi": 0.5}}
    problem = Problem(model, **SVY, candidates=rules)
    search, shown = CSR(problem, tolerance=0.2, budget=3000), 0
    for run in range(6):
        replay(search, EvidenceDraws(problem.cells), generator(3, run))
        fair = search.recommend().table[search.certified]
        assert fair.filter(regex=r"gap_(low|high)\[").abs().to_numpy().max(initial=0.0) < 0.2 + 1e-6
        shown += len(fair)
    assert shown > 3


def test_ends_are_where_the_tests_change_their_minds():
    cells, random = TEMPTING.cells, np.random.default_rng(1)
    plans = [np.array([[size, 5, 0], [4, 0, 3], [0, 6, 2]]) for size in (40, 25)]
    bets = Bets(CellCounts(cells, (False, False, False)), True)
    for plan in plans:
        bets.learn(EvidenceDraws(cells)(plan, random).rows.reshape(2, *cells.rules.shape, -1), logged=False)
    contrasts = [*gaps_of(range(3), 2), *(outcome(k) for k in range(3)), *(outcome(k, -1) for k in range(3))]
    for contrast, end in zip(contrasts, bets.lower(contrasts, 0.05), strict=True):
        assert bets.exceed([contrast], end - 1e-6, 0.05)[0] or end == least(contrast)
        assert not bets.exceed([contrast], end + 1e-6, 0.05)[0]


def test_normal_intervals_say_that_they_take_the_tables_as_exact():
    search = CSR(WORLD.problem, tolerance=0.1, budget=400)
    replay(search, EvidenceDraws(WORLD.problem.cells), generator(3))
    said = "each by itself, and take the model's tables as exact"
    assert said in " ".join(search.recommend(confidence=0.9).notes)
    assert said not in " ".join(search.recommend().notes)


def test_an_answer_says_how_sure_it_is_and_unpacks_as_before():
    search = CSR(WORLD.problem, tolerance=0.1, budget=40_000, delta=0.02)
    replay(search, EvidenceDraws(WORLD.problem.cells), generator(1))
    found = search.recommend()
    candidate, status, table = found
    assert (candidate, status, found.confidence) == ("even", "certified", 0.98)
    assert table.loc["even", "verdict"] == "certified"
    assert set(table.loc[["now", "rich"], "verdict"]) == {"dropped"}
    assert search.finished
    assert search.trials < search.budget
    none = CSR(WORLD.problem, tolerance=0.005, budget=200_000)
    replay(none, EvidenceDraws(WORLD.problem.cells), generator(1))
    assert none.recommend()[:2] == (None, "none_is_fair")
    assert none.recommend().confidence == 0.95
    assert (none.recommend().table["reason"] == "gap above the tolerance").all()


def test_with_a_slack_candidates_that_are_as_good_need_not_be_told_apart(tmp_path):
    """At E = 0.2 "even" and "rich" are both fair, and their outcomes are equal."""
    found = {}
    for slack in (0.0, 0.1):
        search = CSR(WORLD.problem, tolerance=0.2, budget=8000, slack=slack)
        found[slack] = simulated_searches({"csr": search}, replications=many(20), seed=1)
    assert (found[0.0]["status"] == "not_shown").mean() > 0.8
    assert (found[0.1]["status"] == "certified").mean() > 0.8
    assert set(found[0.1].loc[found[0.1]["status"] == "certified", "candidate"]) <= {"even", "rich"}
    replay(search, EvidenceDraws(WORLD.problem.cells), generator(1))
    table = search.recommend().table
    assert "better than the certified candidate by at most the slack, if at all" in set(table["reason"])
    state.save(search, tmp_path / "search")
    assert state.load(tmp_path / "search").recommend()[:2] == search.recommend()[:2]
