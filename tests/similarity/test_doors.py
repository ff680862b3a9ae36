"""Whatever is handed to a public callable and is not what was expected is refused by name, and nothing changes."""

import inspect

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, RewardError, TableError, VerdictError
from evenhand.saving.state import to_bytes
from evenhand.similarity import (
    EllipsoidDistance,
    KnownDistance,
    KnownRewardLipschitz,
    LinearContexts,
    LipschitzUCB,
    MahalanobisOracle,
    MomentDistance,
    PosteriorDistance,
    ProjectedVolumeDistance,
    Scale,
    TableIndividuals,
    fair_distribution,
    regret_bound,
    violations_bound,
)

A = [[0.4, 0.1], [0.0, 0.3]]
PAIR = [[1.0, 0.0], [0.0, 1.0]]
TABLE = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.5], "r": [0, 1, 1], "t": ["x", "y", "z"]})

NUMBER = ["0.5", 1j, np.nan, np.inf, -1, np.True_, 10**400, [0.5], np.array([0.5, 0.5])]
WHOLE = ["3", 2.5, np.nan, True, -1, [3]]
FLAG = ["yes", 1, 0.0, []]
WORD = ["other", True, ["one"], np.array(["one", "one"])]
COMPLEX = [[1j, 0], [0, 1]]
TABLES = [np.array([[np.nan, 0.0], [0.0, 1.0]]), [["1", "0"], ["0", "1"]], COMPLEX, np.array(COMPLEX), "ab", [], 1.0]
TABLES += [[[1.0], [0.0, 1.0]], [[1.0, None], [0.0, 1.0]], [[10**400, 0], [0, 1]], {1.0}, [[[1.0, 0.0]]]]
TABLES += [np.array([["2020-01-01"]], dtype="datetime64[D]"), np.ma.masked_equal([[1.0, 0.0], [0.0, 1.0]], 0.0)]
ROW = [["1", "0"], [1j, 0], [np.nan, 0], [np.inf, 0], [None, 0], [10**400, 0], "ab", 0.5, [[1, 0]], []]

WRONG = {
    "A": [*TABLES, None, [[1e300]]],
    "at_most": [*NUMBER, 0.5],
    "clusters": TABLES,
    "contexts": [*WORD, None],
    "delta": [*NUMBER, None, 0, 1],
    "details": [*FLAG, None],
    "dimension": [*WHOLE, None, 0, 10**12],
    "distances": [
        *(*TABLES, None, [[np.nan, 0.1], [0.1, 0]], [[0, 0.1], [0.1, -5]], [[0, 0.1]], np.zeros((3, 3))),
        *([[0, 0.2], [0.1, 0]], [[0, -0.1], [-0.1, 0]], [[0, np.inf], [0.1, 0]]),
    ],
    "error_rate": [*NUMBER, None, 0.5],
    "features": ["ab", [], None, 3, ["a", "a"]],
    "individuals": [*WHOLE, 0, 10**9],
    "many": [*FLAG, None],
    "margin": [*FLAG, None],
    "metric": [A, "moments", MomentDistance],
    "names": [*WORD, None],
    "noise": [*NUMBER, None, 1e300],
    "noise_scale": [*NUMBER, None, 0],
    "on_contradiction": [*WORD, None],
    "oracle": [3, None, "x", len],
    "precision": [*NUMBER, None],
    "radius": [*NUMBER, 0],
    "rewards": [*ROW, None, [1e301, 0]],
    "ridge": [*NUMBER, None, 0],
    "rounds": [*WHOLE, None, 0, 10**400],
    "scale": [*WORD, A, Scale([0.0], [1.0])],
    "seed": ["x", 1.5, -1, True],
    "select": [*WORD, None],
    "shared": [*FLAG, None],
    "silence": [*WORD, None],
    "spread": [*NUMBER, None],
    "structure": ["lowrank", 3, None, [[0], [0]], [[1]], [[0, "1"]], [[0.0], [1.0]], [[True, 0]], [], {"a": 1}, "01"],
    "theta": [*ROW, [1e300, 1]],
    "thin": NUMBER,
    "tolerance": [*NUMBER, 1],
    "truth": [3, A, lambda x, p: []],
}
"""What is refused wherever an argument has this name."""
CALLS = [
    (EllipsoidDistance, {}),
    (MomentDistance, {}),
    (PosteriorDistance, {}),
    (ProjectedVolumeDistance, {}),
    (KnownDistance, {"A": A}),
    (LipschitzUCB, {"dimension": 2}),
    (KnownRewardLipschitz, {"theta": [0.5, 0.1]}),
    (MahalanobisOracle, {"A": A}),
    (LinearContexts, {"theta": [0.5, 0.1], "oracle": MahalanobisOracle(A)}),
    (TableIndividuals, {"frame": TABLE, "features": ["a", "b"], "reward": "r", "oracle": MahalanobisOracle(A)}),
    (fair_distribution, {"rewards": [0.9, 0.5], "distances": [[0, 0.1], [0.1, 0]]}),
    (violations_bound, {"A": A, "individuals": 3, "precision": 0.02}),
    (regret_bound, {"A": A, "individuals": 3, "rounds": 100, "precision": 0.02}),
]


def refusal(call, error=ArgumentError):
    """Return what a call says that is refused, "accepted" where it is not."""
    try:
        call()
    except error as refused:
        return str(refused)
    return "accepted"


def refuse(call, valid, argument, values):
    """See that each value is refused, by the argument's name."""
    for value in values:
        said = refusal(lambda value=value: call(**{**valid, argument: value}))
        assert said != "accepted", f"{argument}={value!r:.200}"
        assert argument in said, f"{value!r:.200}: {said}"


@pytest.mark.parametrize(("call", "valid"), CALLS, ids=[call.__name__ for call, _ in CALLS])
def test_callables_refuse_by_name(call, valid):
    call(**valid)
    for argument in inspect.signature(call).parameters:
        refuse(call, valid, argument, WRONG.get(argument, []))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: LipschitzUCB(2, precision=0), "precision: expected"),
        (lambda: LinearContexts([0.5], MahalanobisOracle([[0.4]]), individuals=None), "individuals: expected"),
        (lambda: LinearContexts([0.5], lambda x, p: []), "truth: expected a MahalanobisOracle to measure against"),
        (lambda: LinearContexts([1.0], MahalanobisOracle(A)), "oracle: expected a matrix A with 1 columns"),
        (lambda: LinearContexts([0.5, 0.1], MahalanobisOracle(A), clusters=[[1.0]]), "clusters: expected"),
        (lambda: TableIndividuals(TABLE, features=["a"], reward="r", oracle=MahalanobisOracle(A)), "oracle: expected"),
        (lambda: LipschitzUCB(2, metric=EllipsoidDistance(shared=False)), "individuals: expected"),
        (lambda: LipschitzUCB(2, individuals=3).ask(PAIR), "expected 3 individuals"),
        (lambda: LipschitzUCB(2).ask([[1.0], [0.0]]), "one row per individual"),
        (
            lambda: LipschitzUCB(2).ask([[3.0, 4.0], [0.1, 0.0]]),
            r"norms of at most 1, got '5 for individual 0'; rescale the features with Scale",
        ),
        (lambda: LipschitzUCB(3, theta=[0.7, 0.4]), "dimension: expected 2, one a weight in theta, got 3"),
        (lambda: MomentDistance().verdict([1.0], [0.0], 0.3, True, auditor=""), "auditor: expected a name"),
    ],
)
def test_what_one_callable_alone_refuses(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()


def taught():
    made = EllipsoidDistance(radius=1.0, shared=False)
    made.begin(2, 3)
    made.verdict([1.0, 0.0], [0.0, 0.0], 0.5, unfair=False, pair=1)
    return made


def asked():
    """Return a policy and an open decision that treats three individuals differently."""
    policy = LipschitzUCB(theta=[1.0, 0.0], metric=KnownDistance([[0.3, 0.0]]), seed=1)
    return policy, next(
        d for d in (policy.ask([[1.0, 0.0], [0.4, 0.0], [0.0, 0.0]]) for _ in range(50)) if d.index >= 0
    )


APART = {"x": [1.0, 0.0], "y": [0.0, 0.0]}
XY = {
    "x": [*ROW, None, [1.0, 0.0, 0.0], [1e300, 0.0]],
    "y": [*ROW, None, [1.0], [1e300, 0.0]],
    "pair": [*WHOLE, None, 3],
}
XY_GAP = XY | {"gap": [*NUMBER, None, 1.5]}
PAIRS = ["01", "a", 3, 1.5, {(0, 1): 1}, (0, 1), [(0,)], [(0, 1, 2)], ["01"], [(0, "1")], [(0, 1.0)], [(False, True)]]
PAIRS += [[(0, 3)], [(-1, 0)], [(1, 1)], [None], np.array([0, 1]), np.array([[0.0, 1.0]]), [[[0], [1, 2]]], object()]
LEARNED = {
    "bounds": (taught, lambda one: one.bounds, APART, XY),
    "verdict": (
        taught,
        lambda one: one.verdict,
        APART | {"gap": 0.7, "unfair": False},
        XY_GAP | {"unfair": [*FLAG, None]},
    ),
    "value of asking": (taught, lambda one: one.value_of_asking, APART | {"gap": 0.7}, XY_GAP),
    "contradictions": (taught, lambda one: one.contradictions, {}, {"radius": [*NUMBER, 0]}),
    "withdraw": (taught, lambda one: one.withdraw, {"verdict": 1}, {"verdict": [*WHOLE, None, True, 1.0, 0, 2]}),
    "ask": (
        lambda: asked()[0],
        lambda one: one.ask,
        {"contexts": PAIR},
        {"contexts": [*TABLES, None, [[1e300, 0.0]], [[1.0]], np.zeros((10_001, 2))]},
    ),
    "distances": (lambda: asked()[0], lambda one: one.distances, {"contexts": PAIR}, {"contexts": [*TABLES, None]}),
    "an oracle": (
        lambda: None,
        lambda one: MahalanobisOracle(A),
        {"contexts": PAIR, "probabilities": [0.5, 0.5]},
        {"contexts": [*TABLES, None, [[1.0]]], "probabilities": [*ROW, None, [0.5], [-0.1, 0.5], [0.5, 1.1]]},
    ),
}


@pytest.mark.parametrize("name", LEARNED)
def test_methods_refuse_by_name_and_change_nothing(name):
    make, method, valid, bad = LEARNED[name]
    for argument, values in bad.items():
        one = make()
        before = None if one is None else to_bytes(one)
        refuse(method(one), valid, argument, values)
        assert one is None or to_bytes(one) == before
    method(make())(**valid)


REWARDS = ["1.0", 1j, np.nan, np.inf, np.True_, 1e300, -1e300, 10**400, {1.0}, {}, [1.0, 2.0], [], np.array(1.0)]


@pytest.mark.parametrize(
    ("argument", "values", "error"),
    [
        ("reward", [*REWARDS, None, object(), ["1"], [True], pd.Series(["a"])], RewardError),
        ("violations", [*PAIRS, None], VerdictError),
        ("acceptable", [*PAIRS, None], VerdictError),
    ],
)
def test_what_is_told_is_refused_by_name_and_changes_nothing(argument, values, error):
    policy, decision = asked()
    before = to_bytes(policy)
    for value in values:
        said = refusal(lambda value=value: policy.tell(decision, **{"reward": 1.0, argument: value}), error)
        assert argument in said, f"{value!r}: {said}"
        assert to_bytes(policy) == before
    policy.tell(decision, np.float32(1.0), np.False_, acceptable=np.array([[0, 1]]))


def test_a_learner_that_was_refused_its_first_question_has_not_begun():
    for call in (
        lambda one: one.bounds([1.0], [0.0], pair="x"),
        lambda one: one.bounds([1.0], [0.0, 0.0]),
        lambda one: one.verdict([1.0], [0.0], 1.5, True),
        lambda one: one.verdict([1.0], [0.0], 0.0, True),
        lambda one: one.begin(10**12),
    ):
        one = MomentDistance()
        with pytest.raises(ArgumentError):
            call(one)
        assert one.dimension is None
        one.bounds([1.0, 0.0], [0.0, 0.0])
    blocks = MomentDistance(structure=[[0, 1], [2]])
    with pytest.raises(ArgumentError, match="structure: expected blocks that name each of 2 features"):
        blocks.bounds([1.0, 0.0], [0.0, 0.0])
    assert blocks.bounds([1.0, 0.0, 0.0], [0.0, 0.0, 0.0])[0] == 0.0
    with pytest.raises(ArgumentError, match="dimension: expected 2, the columns of A"):
        LipschitzUCB(3, metric=KnownDistance(A))


def test_numbers_of_other_kinds_are_taken():
    from fractions import Fraction

    assert MomentDistance(radius=np.float32(2), tolerance=Fraction(1, 4), shared=np.True_).radius == 2.0
    assert fair_distribution([Fraction(9, 10), 0], [[0, 1], [1, 0]]).tolist() == [1.0, 0.0]
    assert fair_distribution(np.array([1, 0], dtype=np.int8), [[np.inf, 1], [1, 5]]).tolist() == [1.0, 0.0]
    frame = pd.DataFrame({"member": [True, False], "age": [0.0, 0.2]})
    assert LipschitzUCB(np.int64(2), seed=1).ask(frame).round == 1
    assert violations_bound([[0.0]], individuals=2, precision=0.1) == 4.0


def test_numbers_that_are_very_small_or_scaled_stay_finite():
    policy = LipschitzUCB(2, scale=Scale([0.0, 0.0], [5e69, 5e69]), seed=1)
    big = policy.ask([[3e69, 4e69], [1e-200, 0.0]]).probabilities
    assert np.isfinite(big).all()
    one = MomentDistance(radius=1e70)
    assert all(np.isfinite(one.bounds([1e69, 0.0], [0.0, 0.0])))


def test_a_world_wants_a_reset_and_a_decision_about_its_individuals():
    place = LinearContexts([0.5, 0.1], MahalanobisOracle(A), individuals=2)
    with pytest.raises(ArgumentError, match=r"world\.reset\(seed\)"):
        place.observe()
    with pytest.raises(ArgumentError, match="seed: expected"):
        place.reset("x")
    with pytest.raises(ArgumentError, match="world: expected a world that shows"):
        eh.simulate(LipschitzUCB(3), place, rounds=10, seed=1, jobs=1)
    place.reset(1)
    policy, _ = asked()
    for wrong in (3, None, "x", policy.ask([[1.0, 0.0], [0.4, 0.0], [0.0, 0.0]])):
        with pytest.raises(ArgumentError, match="ticket: expected"):
            place.respond(wrong)


def test_tables_that_no_world_can_show():
    given = {"features": ["a", "b"], "reward": "r", "oracle": MahalanobisOracle(A)}
    for second in (["b"], "t", 3, "c"):
        with pytest.raises(TableError):
            TableIndividuals(TABLE, **{**given, "features": ["a", second]})
    for reward in ("t", "q", ["r"], None):
        with pytest.raises(TableError):
            TableIndividuals(TABLE, **{**given, "reward": reward})
    for column in ("a", "r"):
        with pytest.raises(TableError, match=f"column '{column}', row 2"):
            TableIndividuals(TABLE.assign(**{column: [1.0, 1e200, 0.0]}), **given)
    with pytest.raises(TableError, match="frame: expected"):
        TableIndividuals([[1.0, 2.0]], **given)
