"""One scale for everybody: different people stay different, and whoever is beyond it is refused."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import EvenhandError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import KnownDistance, LinearContexts, LipschitzUCB, MahalanobisOracle, Scale

POOL = pd.DataFrame({"age": [20, 60, 40, 30], "income": [1.0, 9.0, 2.0, 4.0]})


def test_one_scale_holds_for_everybody_and_keeps_different_people_different():
    scale = Scale.of(POOL)
    policy, bare = LipschitzUCB(2, scale=scale, seed=1), LipschitzUCB(2, seed=1)
    shown, rows = POOL[["income", "age"]].iloc[:3], scale(POOL)
    for _ in range(5):
        mine, theirs = policy.ask(shown), bare.ask(rows[:3])
        assert np.array_equal(mine.probabilities, theirs.probabilities)
        for one, decision in ((policy, mine), (bare, theirs)):
            one.tell(decision, 0.5 if decision.index >= 0 else None, acceptable=[(0, 1)])
    for one, x, y in ((policy, [20, 1.0], [60, 9.0]), (bare, rows[0], rows[1])):
        one.verdict(x, y, 0.3, unfair=False)
    assert np.array_equal(policy.distances(shown), bare.distances(rows[:3]))
    later = from_bytes(to_bytes(policy))
    assert np.array_equal(later.ask(shown).probabilities, policy.ask(shown).probabilities)
    assert "(age - 37.5) / " in policy._card().text()
    alone = LipschitzUCB(2, scale=Scale([0.0, 0.0], [3.0, 3.0]), metric=KnownDistance([[1.0, 0.0]]))
    assert alone.distances([[3.0, 0.0], [1.0, 0.0]])[1][0, 1] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LipschitzUCB(3, scale=Scale.of(POOL)), "scale: expected a Scale of 3 features"),
        (lambda: LipschitzUCB(2, scale=Scale.of(POOL)).ask([[90, 1.0]]), "on the policy's scale, got .*such people"),
        (lambda: LipschitzUCB(2, scale=Scale.of(POOL)).verdict([1], [2], 0.2, True), "people: expected 2 features"),
        (lambda: Scale([0.0], [0.0]), "unit: expected 1 numbers above 0"),
        (lambda: Scale([0.0], [1.0], ["a", "b"]), "features: expected 1 names"),
        (lambda: Scale.of([["x", 1]]), "people: expected numbers"),
        (lambda: Scale.of(POOL)(POOL[["age"]]), "income"),
    ],
)
def test_a_scale_that_does_not_fit_is_refused(make, says):
    with pytest.raises(EvenhandError, match=says):
        make()


def test_a_feature_that_all_share_stays_and_no_rounding_makes_it_one_that_differs():
    scale = Scale.of(np.column_stack([np.full(50, 0.1), np.arange(50.0)]))
    rows = scale(np.column_stack([np.full(50, 0.1), np.arange(50.0)]))
    assert np.ptp(rows[:, 0]) == 0.0 < rows[0, 0]
    assert np.sqrt((rows**2).sum(axis=1)).max() == pytest.approx(1.0)


def test_a_simulated_policy_sees_people_on_its_scale():
    world = LinearContexts([0.5, 0.3], MahalanobisOracle([[0.9, 0.3]]), individuals=3)
    wide = LipschitzUCB(2, scale=Scale([0.0, 0.0], [2.0, 2.0]), metric=KnownDistance([[1.8, 0.6]]), noise_scale=0.1)
    told = eh.simulate(wide, world, rounds=30, seed=1, jobs=1)
    assert float(told.violated_rounds[0, 0, -1]) == 0.0
    blind = LipschitzUCB(2, metric=KnownDistance([[1.8, 0.6]]), noise_scale=0.1)
    assert float(eh.simulate(blind, world, rounds=30, seed=1, jobs=1).violated_rounds[0, 0, -1]) > 0.0
