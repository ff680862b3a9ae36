"""The fair program against HiGHS, its tie rule against a quadratic program, and what it refuses."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from evenhand.similarity import fair_distribution, program
from tests.fuzzing import many
from tests.reference.similarity_program import HighsProgram, nearest_to_uniform

KINDS = ("general", "tied rewards", "tied distances", "all tied", "zeros", "negative", "metric", "wide")


def instance(rng, kind, k):
    a = rng.normal(size=k)
    c = rng.uniform(0, 0.5, size=(k, k))
    if kind in ("tied rewards", "all tied"):
        a = rng.integers(-2, 3, size=k).astype(float)
    if kind in ("tied distances", "all tied"):
        c = rng.integers(0, 4, size=(k, k)) / 8
    if kind == "zeros":
        a, c = a * (rng.random(k) < 0.5), c * (rng.random((k, k)) < 0.5)
    if kind == "negative":
        a = -np.abs(a) * (rng.random(k) < 0.8)
    if kind == "metric":
        x = rng.normal(size=(k, 3))
        c = 0.2 * np.linalg.norm(x[:, None] - x[None], axis=2)
    if kind == "wide":
        c = c * 6
    c = np.triu(c, 1)
    return a, c + c.T


@pytest.mark.parametrize("select", ["one", "many"])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_highs_on_instances_of_each_kind_and_stays_feasible(kind, select):
    """What goes wrong in one of 100 instances is seen with a probability of 0.95 in each case."""
    rng = np.random.default_rng([KINDS.index(kind), select == "one"])
    programs = {k: HighsProgram(k, select == "one") for k in range(1, 11)}
    for n in range(many(300)):
        k = 1 + n % 10
        a, c = instance(rng, kind, k)
        p = fair_distribution(a, c, select=select)
        value, _ = programs[k].solve(a, c)
        assert a @ p == pytest.approx(value, abs=1e-9)
        assert (np.abs(p[:, None] - p[None]) <= c + 1e-12 + np.eye(k)).all()
        assert p.min() >= -1e-12
        assert p.max() <= 1 + 1e-12
        assert select == "many" or p.sum() <= 1 + 1e-12


@pytest.mark.parametrize("select", ["one", "many"])
def test_ties_go_to_the_optimum_closest_to_uniform(select):
    rng = np.random.default_rng(5)
    compared = 0
    for n in range(60):
        k = 2 + n % 5
        a, c = instance(rng, ("tied rewards", "all tied", "zeros")[n % 3], k)
        p = fair_distribution(a, c, select=select)
        slow = nearest_to_uniform(a, c, select == "one", a @ p)
        if slow is not None:
            compared += 1
            assert ((p - 1 / k) ** 2).sum() == pytest.approx(((slow - 1 / k) ** 2).sum(), abs=1e-5)
    assert compared > 30


def test_the_untied_optimum_of_many_individuals_never_passes_the_step_cap(monkeypatch):
    monkeypatch.setattr(program, "_by_highs", lambda *args: pytest.fail("the climb gave up"))
    rng = np.random.default_rng(6)
    for kind in KINDS:
        for k in (20, 40):
            for _ in range(many(9)):
                a, c = instance(rng, kind, k)
                fair_distribution(a, c)


@pytest.mark.parametrize("select", ["one", "many"])
@pytest.mark.parametrize("kind", KINDS)
def test_prices_prove_the_value_by_duality(kind, select):
    rng = np.random.default_rng(7)
    for n in range(40):
        k = 1 + n % 8
        a, c = instance(rng, kind, k)
        solved = fair_distribution(a, c, select=select, details=True)
        surplus = a - solved.budget_price - solved.prices.sum(axis=1) + solved.prices.sum(axis=0)
        cap = 1.0 if select == "many" else 0.0
        bound = solved.budget_price + (solved.prices * c).sum() + cap * np.maximum(surplus, 0).sum()
        if select == "one":
            assert surplus.max() <= 1e-9
        assert bound == pytest.approx(solved.value, abs=1e-9)
        assert (solved.prices >= 0).all()
        for i, j in np.argwhere(solved.prices > 1e-9):
            assert solved.probabilities[i] - solved.probabilities[j] == pytest.approx(c[i, j], abs=1e-9)
            assert (i, j) in solved.tight
        gaps = [solved.prices[pair] for pair in solved.tight]
        assert gaps == sorted(gaps, reverse=True)


def test_the_fallback_gives_the_same_optimum_and_prices():
    rng = np.random.default_rng(8)
    for n in range(60):
        a, c = instance(rng, "general", 2 + n % 6)
        for select, budget in (("one", 1.0), ("many", np.inf)):
            mine = fair_distribution(a, c, select=select, details=True)
            other = program._by_highs(a, c, budget, np.ones(a.size))
            assert other.value == pytest.approx(mine.value, abs=1e-9)
            assert np.abs(other.probabilities - mine.probabilities).max() < 1e-7
            assert np.abs(other.prices - mine.prices).max() < 1e-7


def test_threads_do_not_disturb_one_another():
    rng = np.random.default_rng(9)
    cases = [instance(rng, "general", 12) for _ in range(50)]
    alone = [fair_distribution(*case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            together = list(pool.map(lambda case: fair_distribution(*case), cases))
            assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_places_for_groups_of_alike_people_are_shared_out_as_by_highs_for_every_person():
    rng = np.random.default_rng(9)
    for n in range(60):
        k, places = 2 + n % 5, float(1 + n % 4)
        a, c = instance(rng, ("general", "tied rewards", "zeros")[n % 3], k)
        sizes = rng.integers(1, 4, k).astype(float)
        member = np.repeat(np.arange(k), sizes.astype(int))
        mine = program.solved(a, c, places, sizes)
        apart = program._by_highs(a[member], c[np.ix_(member, member)], places, np.ones(member.size))
        assert mine.value == pytest.approx(apart.value, abs=1e-9)
        assert mine.value == pytest.approx(program._by_highs(a, c, places, sizes).value, abs=1e-9)
        assert sizes @ mine.probabilities <= places + 1e-9
        assert mine.probabilities.max() <= 1 + 1e-12
        assert (np.abs(mine.probabilities[:, None] - mine.probabilities) <= c + 1e-9 + np.eye(k)).all()


def test_places_that_earn_the_same_are_shared_alike():
    told = program.solved(np.ones(2), np.full((2, 2), np.inf), 3.0, np.array([4.0, 2.0]))
    np.testing.assert_allclose(told.probabilities, 0.5)
