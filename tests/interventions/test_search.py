import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import ArgumentError, ClosedTicketError, TableError, TicketError
from evenhand.interventions import CSR, SRIS, OneShot, SimulatedTrial, TwoStageCSR
from evenhand.interventions.allocation_program import phase_count, phase_sizes, rounded
from evenhand.interventions.measures import EvidenceDraws
from evenhand.interventions.trial_tables import evidence_of
from evenhand.saving import state
from tests.interventions.examples import WORLD, logged, mediated, two_attributes
from tests.reference import interventions as twin

SEARCHES = {
    "csr": lambda p: CSR(p, tolerance=0.1, budget=400),
    "csr-pooled": lambda p: CSR(p, tolerance=0.1, budget=400, delta=None),
    "csr-v1": lambda p: CSR(p, tolerance=0.1, budget=400, reuse=False, pooled=False),
    "two-stage": lambda p: TwoStageCSR(p, tolerance=0.1, budget=400),
    "sris": lambda p: SRIS(p, budget=400),
    "one-shot": lambda p: OneShot(p, tolerance=0.1, budget=400),
}


@pytest.fixture(params=SEARCHES.values(), ids=SEARCHES)
def search(request):
    return request.param(WORLD.problem)


def run(search, seed, rounds=None):
    """Talk a search to its end, or for some rounds; return what was planned."""
    WORLD.reset(seed)
    plans = []
    while not search.finished and rounds != len(plans):
        allocation = search.ask()
        plans.append(allocation.frame)
        search.tell(allocation, *WORLD.respond(allocation))
    return plans


@given(st.integers(1, 10**6))
def test_phases_spend_the_budget_exactly(budget):
    sizes = phase_sizes(budget, phase_count(budget))
    assert sum(sizes) == budget
    assert all(abs(n - sizes[0] / level) <= 2 for level, n in enumerate(sizes, 1))


@given(st.data())
def test_rounding_spends_the_size_and_never_more_money_than_there_is(data):
    width = data.draw(st.integers(2, 12))
    shares = np.array(data.draw(st.lists(st.floats(0, 1), min_size=width, max_size=width)))
    shares[0] += 0.1
    shares /= shares.sum()
    costs = np.array([0.0, *data.draw(st.lists(st.floats(0, 5), min_size=width - 1, max_size=width - 1))])
    carried, allowed, spent = np.zeros(width), 0.0, 0.0
    for size in data.draw(st.lists(st.integers(1, 200), min_size=1, max_size=6)):
        wish = size * shares + carried
        allowed += float(size * shares @ costs)
        plan = rounded(wish, size, costs, allowed - spent)
        carried = wish - plan
        spent += float(plan @ costs)
        assert plan.sum() == size
        assert (plan >= 0).all()
        assert spent <= allowed + 1e-6


def test_costs_stay_below_the_mean_that_was_promised(search):
    for frame in run(search, seed=2):
        assert (frame["count"] > 0).all()
    assert search.cost <= search.budget * (1 / np.sqrt(search.budget)) + 1e-9
    assert search.trials <= search.budget


def test_a_told_ticket_is_closed_and_an_open_one_can_be_shown_again(search):
    allocation = search.ask()
    assert search.allocation(allocation.id).frame.equals(allocation.frame)
    assert search.open_tickets == [1]
    search.tell(allocation, pd.DataFrame(columns=[*allocation.frame.columns, *WORLD.problem.nodes, "sex"]))
    before = state.to_bytes(search)
    with pytest.raises(TicketError, match="an Allocation"):
        search.tell("first", *WORLD_ROWS)
    with pytest.raises(TicketError, match="before the first ask"):
        search.tell(None, *WORLD_ROWS)
    with pytest.raises(ClosedTicketError):
        search.allocation(1)
    assert state.to_bytes(search) == before


def test_an_allocation_says_why(search):
    first = search.ask()
    assert first.reason_code == "explored"
    assert first.reason.startswith(f"phase 1 of {len(search.phases())}: ")
    search.forget(first)
    while not search.finished:
        search.forget(search.ask())
    last = search.ask()
    assert (last.reason_code, last.reason, int(last.plan.sum())) == ("other", "no trials are left", 0)


def test_several_open_tickets_spend_the_budget_once(search):
    WORLD.reset(1)
    tickets = [search.ask() for _ in range(30)]
    assert sum(ticket.frame["count"].sum() for ticket in tickets) == search.budget == search.trials
    assert tickets[-1].frame.empty
    for ticket in tickets[::-1]:
        search.tell(ticket, *WORLD.respond(ticket))
    assert search.finished
    assert search._all.trials.sum() == search.budget


def test_nothing_is_answered_without_trials(search):
    tested = search.recommend().status == "not_shown"
    while not search.finished:
        found = search.recommend()
        assert found[:2] == (None, "not_shown" if tested else "uncertified")
        assert (found.confidence, found.more) == (None, None)
        assert found.notes[0].startswith("It is unclear how many more trials are needed") == tested
        assert found.table["outcome_low"].isna().all()
        search.forget(search.ask())
    assert search.recommend()[:2] == (None, "not_shown" if tested else "uncertified")
    search.tell(search.ask(), pd.DataFrame(columns=["candidate", "sex", *WORLD.problem.nodes]))
    assert search.recommend().candidate is None


WORLD.reset(3)
WORLD_ROWS = WORLD.respond(CSR(WORLD.problem, tolerance=0.1, budget=400).ask())


def test_searches_over_logs_and_several_attributes_are_saved_whole(tmp_path):
    over_a_log, full = logged()
    for problem, world in ((over_a_log, SimulatedTrial(full)), (two_attributes(4), SimulatedTrial(two_attributes(4)))):
        search = CSR(problem, tolerance=0.5, budget=300, costs=[1.0] * len(problem.candidates), mean_cost=1.0)
        world.reset(1)
        for _ in range(2):
            allocation = search.ask()
            search.tell(allocation, *world.respond(allocation))
        state.save(search, tmp_path / "search")
        loaded = state.load(tmp_path / "search")
        assert state.to_bytes(loaded) == state.to_bytes(search)
        assert loaded.problem.groups == problem.groups
        pd.testing.assert_frame_equal(loaded.ask().frame, search.ask().frame)


def test_more_trials_than_were_asked_for_and_rows_of_other_allocations_are_refused(search):
    """A million rows for an allocation of a few, and the same file told twice."""
    WORLD.reset(6)
    allocation = search.ask()
    (samples,) = WORLD.respond(allocation)
    before = state.to_bytes(search)
    for more in (
        samples.assign(count=samples["count"] * 1_000_000),
        pd.concat([samples, samples.head(1).assign(count=1)]),
        pd.concat([samples, samples.tail(1).assign(count=1)]),
    ):
        with pytest.raises(TableError, match=r"samples: expected at most \d.* trials of '\w+' with S .*, got"):
            search.tell(allocation, more)
    assert state.to_bytes(search) == before
    search.tell(allocation, samples)
    if not search.finished:
        following = search.ask()
        with pytest.raises(TableError, match="column 'ticket', row 1: expected 2, the allocation told, got 1"):
            search.tell(following, samples)
        search.tell(following, *WORLD.respond(following))


def test_a_log_counts_once(search):
    log = WORLD.problem.model.sample(50, seed=1)
    search.learn(log)
    with pytest.raises(TableError, match="log: expected trials that were not told before"):
        search.learn(log)
    assert search.told.trials.sum() == 50


def test_a_finished_search_hands_out_nothing_more_and_still_learns(search):
    run(search, seed=7)
    allocation, before = search.ask(), search._all.trials.sum()
    assert allocation.frame.empty
    chosen, named = search.remaining.copy(), search.recommend()[:2]
    with pytest.raises(TableError, match="at most 0 trials"):
        search.tell(allocation, WORLD_ROWS[0].drop(columns="ticket"))
    search.tell(allocation, WORLD_ROWS[0].head(0))
    assert search.recommend()[:2] == named
    assert search._all.trials.sum() == before
    assert (search.remaining == chosen).all()


def test_logged_trials_count_before_the_first_ask_and_only_then():
    search = CSR(WORLD.problem, tolerance=0.1, budget=400, reuse=False, pooled=False)
    log = WORLD.problem.model.sample(5000, seed=1)
    search.tell(None, log)
    assert search.recommend().table.loc["now", "outcome"] == pytest.approx(WORLD.problem.outcomes[0], abs=0.03)
    search.forget(search.ask())
    assert search.estimates().outcome_known.all()
    assert search.trials < 400
    search.forget(search.ask())
    assert not search.estimates().outcome_known.any(), "V1 judges the second phase by its own samples"
    with pytest.raises(TableError, match="only logged trials of the deployed 'now'"):
        CSR(WORLD.problem, tolerance=0.1, budget=400).tell(None, log.assign(candidate="even"))


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("problem", [mediated(1), two_attributes(4)], ids=["one", "two"])
def test_csr_drops_whom_the_paper_drops(problem, reuse):
    search = CSR(problem, tolerance=0.7 * problem.scale, budget=3000, reuse=reuse, pooled=False)
    random = np.random.default_rng(2)
    draws = EvidenceDraws(problem.cells)
    remaining, so_far = set(range(len(problem.candidates))), problem.cells.nothing()
    while not search.finished:
        drawn = draws(search.plan(), random)
        so_far = so_far + drawn
        level = search.phase + 1
        found = problem.clipped(so_far if reuse else drawn, level)
        search.absorb(drawn)
        if not (found.gap_known.all() and found.outcome_known.all()):
            continue
        remaining, fair = twin.judged(found.outcomes, found.gaps.T, remaining, 0.7, level)
        assert set(np.flatnonzero(search.remaining)) == remaining
        if fair:
            assert set(np.flatnonzero(search.certified)) == fair
    assert search.phase > 4


def test_simulated_and_told_searches_are_one():
    told, direct = (CSR(WORLD.problem, tolerance=0.1, budget=400) for _ in range(2))
    WORLD.reset(9)
    while not told.finished:
        allocation = told.ask()
        (samples,) = WORLD.respond(allocation)
        told.tell(allocation, samples)
        direct.plan()
        direct.absorb(evidence_of(WORLD.problem, samples))
    assert direct._choice() == told._choice()
    assert direct.dropped == told.dropped


def test_every_status_of_the_papers_rules_comes_up():
    easy = CSR(WORLD.problem, tolerance=0.1, budget=40_000, pooled=False)
    run(easy, seed=1)
    assert easy.recommend()[:2] == ("even", "certified")
    none = CSR(WORLD.problem, tolerance=0.001, budget=4000, pooled=False)
    run(none, seed=1)
    assert none.recommend()[:2] == (None, "no_fair_candidate")
    low = easy.recommend().table
    assert low.loc["now", "verdict"] == "dropped"
    assert low.loc["now", "reason"] == "outcome below the best fair one"
    assert low.loc["now", "phase"] >= 5
    staged = TwoStageCSR(WORLD.problem, tolerance=0.001, budget=40_000)
    run(staged, seed=1)
    assert staged.recommend()[:2] == (None, "no_fair_candidate")
    shot = OneShot(WORLD.problem, tolerance=0.001, budget=4000)
    run(shot, seed=1)
    assert shot.recommend()[:2] == (None, "no_fair_candidate")


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda f: f.drop(columns="dose"), "columns.*'dose'"),
        (lambda f: f.drop(columns="candidate"), "expected one of .* got 'candidate'"),
        (lambda f: f.assign(ticket=7), "column 'ticket', row 1: expected 1, the allocation told, got 7"),
        (lambda f: f.assign(cured=[9, *f["cured"][1:]]), "column 'cured', row 1.*9"),
        (lambda f: f.assign(candidate="who"), "column 'candidate', row 1.*'who'"),
        (
            lambda f: f.assign(weight=[None, *f["weight"][1:]]),
            "column 'weight', row 1: the cell is empty; fill it or drop",
        ),
        (lambda f: f.assign(count=-1), "column 'count', row 1"),
        (lambda f: f.assign(count=0.5), "column 'count', row 1"),
        (lambda f: f.assign(**{"do(sex)": "f", "sex": "m"}), "column 'sex'.*held at, 'f'"),
        (lambda f: f.assign(**{"do(sex)": "x"}), r"column 'do\(sex\)', row 1.* got 'x'"),
        (lambda f: pd.concat([f, f[["dose"]]], axis=1), r"each column once.*'dose'"),
        (lambda f: f.to_dict(), "a data frame"),
    ],
)
def test_samples_that_cannot_be_are_refused_by_row_and_column_and_change_nothing(change, names):
    search = CSR(WORLD.problem, tolerance=0.1, budget=400)
    allocation = search.ask()
    before = state.to_bytes(search)
    with pytest.raises(TableError, match=names):
        search.tell(allocation, change(WORLD_ROWS[0]))
    assert state.to_bytes(search) == before
    search.tell(allocation, WORLD_ROWS[0])


def test_with_two_attributes_all_are_held_or_none():
    problem = two_attributes(4)
    search, world = CSR(problem, tolerance=0.5, budget=200), SimulatedTrial(problem)
    world.reset(1)
    allocation = search.ask()
    (samples,) = world.respond(allocation)
    assert {"do(sex)", "do(old)"} <= set(allocation.frame.columns)
    with pytest.raises(TableError, match=r"'do\(old\)'"):
        search.tell(allocation, samples.drop(columns="do(old)"))
    samples.loc[samples["do(sex)"].notna().idxmax(), "do(old)"] = None
    with pytest.raises(TableError, match=r"column 'do\(old\)', row \d+: the cell is empty"):
        search.tell(allocation, samples)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda p: CSR(p, tolerance=0.0, budget=400), "tolerance"),
        (lambda p: CSR(p, tolerance=0.1, budget=3, delta=None), "budget: .*phases"),
        (lambda p: CSR(p, tolerance=0.1, budget=10**400), "budget"),
        (lambda p: TwoStageCSR(p, tolerance=0.1, budget=1), "budget"),
        (lambda p: OneShot(p, tolerance=0.1, budget=0), "budget"),
        (lambda p: SRIS(p, budget=400, mean_cost=-1), "mean_cost"),
        (lambda p: SRIS(p, budget=400, costs=[1, 2, 3], mean_cost=0.5), "costs"),
        (lambda p: CSR("problem", tolerance=0.1, budget=400), "problem"),
        (lambda p: CSR(p, tolerance=0.1, budget=400).recommend(confidence=1.0), "confidence"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, delta=0.0), "delta"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, pooled="no"), "pooled"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, reuse=2), "reuse"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, slack=-0.1), "slack"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, slack=0.1, pooled=False), "slack"),
        (lambda p: CSR(p, tolerance=0.1, budget=400, slack=0.1, delta=None), "slack"),
        (lambda p: SimulatedTrial("problem"), "problem"),
        (lambda p: SimulatedTrial(logged()[0]), "problem: expected a Problem over a complete model"),
        (lambda p: SimulatedTrial(p).respond(None), "world: expected reset"),
    ],
)
def test_what_is_no_search_is_refused_by_name(make, names):
    with pytest.raises(ArgumentError, match=names if ":" in names else f"{names}: expected"):
        make(WORLD.problem)
