"""The fair program is optimal and treats names alike, whatever is asked; verdicts may come late and in any order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import ClosedTicketError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB, MahalanobisOracle, fair_distribution
from tests.fuzzing import many

SELECT = st.sampled_from(["one", "many"])
PLACE = st.tuples(*[st.integers(-5, 5).map(lambda n: n / 8)] * 2)


@st.composite
def programs(draw):
    """Draw rewards and distances on a grid, so that ties are exact or wide apart."""
    k = draw(st.integers(1, 7))
    rewards = np.array(draw(st.lists(st.integers(-8, 8), min_size=k, max_size=k))) / 4
    distances = np.zeros((k, k))
    for i in range(k):
        for j in range(i):
            distances[i, j] = distances[j, i] = draw(st.integers(0, 20)) / 16
    return rewards, distances


@given(programs(), SELECT, st.randoms(use_true_random=False))
def test_the_fair_program_does_not_care_about_the_order(program, select, random):
    a, c = program
    order = list(range(a.size))
    random.shuffle(order)
    p = fair_distribution(a, c, select=select)
    assert fair_distribution(a[order], c[np.ix_(order, order)], select=select) == pytest.approx(p[order], abs=1e-9)


@given(st.lists(st.tuples(PLACE, st.integers(-8, 8)), min_size=2, max_size=8), SELECT)
def test_individuals_in_one_place_get_one_probability(individuals, select):
    x = np.array([place for place, _ in individuals] + [individuals[0][0]])
    rewards = np.array([reward / 4 for _, reward in individuals] + [-individuals[0][1] / 4])
    p = fair_distribution(rewards, MahalanobisOracle([[0.4, 0.1], [0.0, 0.3]]).distances(x), select=select)
    for i, j in np.argwhere((x[:, None] == x[None]).all(axis=2)):
        assert p[i] == pytest.approx(p[j], abs=1e-12)


ASK = st.lists(PLACE, min_size=1, max_size=5)
STEPS = st.lists(st.one_of(ASK, st.tuples(st.sampled_from(["tell", "forget"]), st.integers(0, 9))), max_size=30)


@given(STEPS, st.integers(0, 30))
@settings(max_examples=many(60))
def test_late_verdicts_teach_the_truth_in_any_order_and_across_a_save(steps, saved_at):
    auditor, policy, waiting = MahalanobisOracle([[0.4, 0.1], [0.0, 0.3]]), LipschitzUCB(2, seed=1), {}
    twin, shown = policy, []
    for n, step in enumerate(steps):
        if n == saved_at:
            twin = from_bytes(to_bytes(policy))
        both = [policy] if twin is policy else [policy, twin]
        if isinstance(step, list):
            decisions = [each.ask(step) for each in both]
            waiting[decisions[0].id] = decisions[0], step
            shown.append(step)
        elif waiting:
            number = list(waiting)[step[1] % len(waiting)]
            decision, people = waiting.pop(number)
            reward = float(np.sum(people[decision.index])) if decision.index >= 0 else None
            for each in both:
                if step[0] == "forget":
                    each.forget(number)
                else:
                    each.tell(number, reward, auditor(people, decision.probabilities))
                with pytest.raises(ClosedTicketError):
                    each.tell(number, reward)
        assert policy.open_tickets == list(waiting)
    assert to_bytes(twin) == to_bytes(policy)
    for people in shown:
        low, guess, high = policy.distances(people)
        true = auditor.distances(np.array(people))
        assert ((low <= true + 1e-9) & (true <= high + 1e-9)).all()
        assert ((low <= guess) & (guess <= high)).all()
