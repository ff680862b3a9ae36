"""The conversation: tickets, rows, labels, budgets, pools that run dry, and the rule of each scheme."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContextError,
    ExhaustedError,
    ModelError,
    SharesError,
    UnknownArmError,
)
from evenhand.sampling import (
    ArrayPool,
    EpsilonGreedySampler,
    EstimatorModel,
    GreedySampler,
    OptimisticSampler,
    ProportionalSampler,
    UniformSampler,
    mann_kendall,
    vc_deviation,
)
from evenhand.sampling.schemes import theory_bounds
from evenhand.saving.state import from_bytes, load, save, to_bytes
from tests.fuzzing import many
from tests.reference import sampling as slow
from tests.sampling.labelled_items import begun, talk

pytestmark = pytest.mark.compiled

SCHEMES = [
    lambda **more: OptimisticSampler(["u", "v"], **more),
    lambda **more: OptimisticSampler(["u", "v"], trend=0.1, **more),
    lambda **more: OptimisticSampler(["u", "v"], bound="theory", vc_dimension=3, **more),
    lambda **more: EpsilonGreedySampler(["u", "v"], **more),
    lambda **more: GreedySampler(["u", "v"], **more),
    lambda **more: UniformSampler(["u", "v"], **more),
    lambda **more: ProportionalSampler(["u", "v"], proportions=[0.8, 0.2], **more),
]


@pytest.mark.parametrize(("trend", "xi"), [(0.0, 0.5), (0.1, 0.0)])
def test_the_rule_is_that_of_the_slow_twin(trend, xi):
    sampler = OptimisticSampler(2, exploration=0.1, trend=trend, forced=xi, ties="first", seed=0)
    twin, world = slow.OptimisticLoop(2, 0.1, trend, xi), begun(seed=5)
    for _ in range(80):
        draw = sampler.ask()
        assert draw.index == twin.choose()
        X, y = world.respond(draw)
        sampler.tell(draw, X, y)
        twin.learn(draw.index, X, y.tolist())


@settings(max_examples=many(60))
@given(st.lists(st.integers(0, 4), max_size=25))
def test_mann_kendall_is_its_definition(values):
    score, variance, z = mann_kendall(values)
    expected, spread = slow.mann_kendall(values)
    assert score == expected
    assert variance == pytest.approx(spread)
    assert z == pytest.approx(expected / spread**0.5 if spread > 0 else 0.0)


@pytest.mark.parametrize("values", [["a"], None, [[1, 2], [3, 4]], [1.0, np.nan], "12", 3], ids=str)
def test_a_series_without_an_order_has_no_trend(values):
    with pytest.raises(ArgumentError, match="values: expected a list of numbers, in the order of time"):
        mann_kendall(values)


@pytest.mark.parametrize("model", [None, LogisticRegression()], ids=["ours", "scikit-learn's"])
def test_a_model_reads_a_data_frame_by_the_names_of_its_columns(model, tmp_path):
    draws, sampler = np.random.default_rng(0), OptimisticSampler(["u", "v"], model, seed=1)
    with pytest.raises(ModelError, match="the model has seen no labels yet; tell a draw first"):
        sampler.model.predict([[1.0, 2.0]])
    for _ in range(30):
        a, b = draws.normal(size=2), 100 * draws.normal(size=2)
        sampler.tell(sampler.ask(), pd.DataFrame({"a": a, "b": b}), (a > 0).astype(int))
    rows = pd.DataFrame({"a": draws.normal(size=9), "b": 100 * draws.normal(size=9)})
    final = sampler.finish().model
    save(final, tmp_path / "model.eh")
    save(sampler, tmp_path / "sampler.eh")
    for each in (sampler.model, final, load(tmp_path / "model.eh"), load(tmp_path / "sampler.eh").model):
        right = each.predict(rows.to_numpy())
        assert len(set(right)) == 2
        assert (each.predict(rows[["b", "a"]]) == right).all()
        assert np.allclose(each.predict_proba(pl.from_pandas(rows[["b", "a"]])), each.predict_proba(rows.to_numpy()))
        with pytest.raises(ContextError, match=r"X: expected the columns \['a', 'b'\], as before, got .*'c'"):
            each.predict(rows.rename(columns={"b": "c"}))
        for bad in (np.ones((2, 3)), np.ones(2), [["a", "b"]], [[np.nan, 1.0]], None):
            with pytest.raises(ArgumentError):
                each.predict(bad)
            with pytest.raises(ArgumentError):
                each.predict_proba(bad)


def test_theory_bound_is_equation_4():
    samples, risks = np.array([40, 10, 50]), np.array([0.1, 0.3, 0.2])

    def e(n):
        return vc_deviation(n, dimension=3, groups=3, delta=0.1)

    assert e(10) == pytest.approx(slow.vc_deviation(10, 3, 3, 0.1))
    assert theory_bounds(risks, samples, e, 1.5) == pytest.approx(slow.theory_bounds(risks, samples, e, 1.5))


def test_every_scheme_starts_safely():
    for scheme in SCHEMES[:5]:
        sampler, world = scheme(seed=0), begun(0)
        talk(sampler, world, 400)
        assert (sampler.training.by_group >= 400**0.5 - 1).all()
    without = OptimisticSampler(["u", "v"], forced=None, seed=0)
    assert talk(without, begun(0), 20) == ["u", "v"] * 10
    paper = OptimisticSampler(["u", "v"], forced=None, warmup=1, seed=0)
    assert [paper.ask().reason for _ in range(3)][:2] == ["warm-up: every group in turn"] * 2


@pytest.mark.parametrize(
    "loss", ["zero_one", "log", "false_negative", "false_positive", lambda y, predicted: 2.0 * (y != predicted)]
)
def test_risks_are_those_of_the_current_model_in_every_loss(loss):
    sampler, world = OptimisticSampler(["u", "v"], loss=loss, seed=0), begun(0)
    talk(sampler, world, 60)
    rows, model = sampler.validation, sampler.model
    mine = rows.group[: rows.count] == 1
    X, y = rows.X[: rows.count][mine], rows.y[: rows.count][mine]
    wrong = model.predict(X) != y
    expected = {
        "log": lambda: -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean(),
        "false_negative": lambda: wrong[y == 1].mean(),
        "false_positive": lambda: wrong[y == 0].mean(),
        "zero_one": lambda: wrong.mean(),
    }.get(loss, lambda: 2.0 * wrong.mean())()
    risk = sampler.risks.loc["v"]
    assert risk["risk"] == pytest.approx(expected)
    assert loss != "zero_one" or risk["low"] <= risk["risk"] <= risk["high"]


def test_a_risk_that_stays_unknown_is_noted():
    sampler = OptimisticSampler(["u", "v"], loss="false_negative", classes=["no", "yes"], seed=0)
    for _ in range(40):
        draw = sampler.ask()
        label = "yes" if draw.group == "u" else "no"
        sampler.tell(draw, np.random.default_rng(draw.id).normal(size=(2, 2)), [label] * 2)
    assert any("risk of 'v' is unknown" in note for note in sampler.notes)
    assert np.isnan(sampler.risks.loc["v", "risk"])
    assert sampler.training.by_group[0] >= 5


def test_only_the_last_validation_rows_when_asked():
    sampler, world = OptimisticSampler(["u", "v"], validation_rows=5, seed=0), begun(0)
    talk(sampler, world, 60)
    assert sampler.risks["validation"].tolist() == [5, 5]


def test_a_pool_that_runs_dry_leaves_the_choice():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 47)
    pool = ArrayPool(rng.normal(size=(47, 2)) + y[:, None], y, group=["a"] * 7 + ["b"] * 40)
    sampler = UniformSampler(pool.groups, batch=2, seed=0)
    with pytest.raises(ExhaustedError, match="no rows are left to draw"):
        talk(sampler, pool, 47)
    assert sampler.labels == 47 == sorted(pool.chosen)[-1] + 1
    assert len(set(pool.chosen)) == 47
    assert sampler.notes == ["the pool of 'a' is empty after 7 rows", "the pool of 'b' is empty after 40 rows"]
    assert sampler.finish().labels == 47


def test_budget_and_costs():
    sampler, world = UniformSampler(["u", "v"], costs={"u": 1.0, "v": 3.0}, budget=20.0, seed=0), begun(0)
    with pytest.raises(ExhaustedError, match="budget"):
        talk(sampler, world, 100)
    report = sampler.finish()
    assert report.cost == sampler.spent == 2 * sampler._draws[0] + 6 * sampler._draws[1]
    assert 18 < report.cost <= 20
    cheap = OptimisticSampler(["u", "v"], costs=[2.0, 1.0], seed=0)
    cheap._draws[:] = cheap._asked[:] = 5
    assert cheap.ask().group == "v"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"budget": 23.0}, "fewer than 6 validation rows in each of the 2 groups, and fewer say nothing"),
        ({"budget": 24.0}, None),
        ({"budget": 71.0, "costs": [1.0, 2.0]}, None),
        ({"budget": 35.0, "costs": [1.0, 2.0]}, "take 36, or merge groups"),
        ({"budget": 59.0, "batch": 10}, "pays only for draws of 20 rows, as many of each group: they are"),
        ({"budget": 60.0, "batch": 10}, None),
        ({"budget": 59.0, "warmup": 2, "batch": 6, "forced": None}, "as many of each group"),
    ],
)
def test_a_budget_that_is_too_small_is_said_before_it_is_spent(settings, words):
    (*notes,) = OptimisticSampler(["u", "v"], seed=0, **settings).notes
    assert [words in note for note in notes] == ([True] if words else [])


def test_a_uniform_scheme_is_not_told_that_it_is_uniform():
    assert UniformSampler(["u", "v"], budget=40.0, batch=10, seed=0).notes == []


def test_draws_that_no_label_guides_are_said_to_be_uniform():
    sampler, world = OptimisticSampler(["u", "v"], seed=0), begun(0)
    draws = [sampler.ask() for _ in range(20)]
    (note,) = sampler.notes
    assert note.startswith("40 rows were chosen at once without a label, which is nearly a uniform draw; ask for")
    for draw in draws:
        sampler.tell(draw, *world.respond(draw))
    assert sampler.notes == []
    for _ in range(20):
        sampler.ask()
    assert sampler.notes == ["40 rows were chosen at once after 40 labels; ask for fewer at a time"]


@pytest.mark.parametrize(
    ("rows", "labels", "error", "match"),
    [
        (np.zeros((2, 3)), [0, 1], ContextError, "X: expected rows of shape"),
        (np.full((2, 2), np.nan), [0, 1], ContextError, "X: expected finite numbers"),
        (np.full((2, 2), -np.inf), [0, 1], ContextError, "X: expected finite numbers"),
        (np.full((2, 2), -3.5e38), [0, 1], ContextError, "X: expected numbers up to"),
        ([["a", "b"], ["c", "d"]], [0, 1], ContextError, "X: expected an array of numbers"),
        ([[0, 1], [2]], [0, 1], ContextError, "X: expected"),
        (np.zeros((3, 2)), [0, 1, 0], ContextError, "X: expected at most the 2 rows"),
        (np.zeros(2), [0, 1], ContextError, "X: expected an array with a row"),
        (np.zeros((2, 2)), [0, 7], ArgumentError, "y: expected labels among"),
        (np.zeros((2, 2)), [0], ArgumentError, "y: expected 2 labels"),
    ],
)
def test_bad_rows_are_refused_and_change_nothing(rows, labels, error, match):
    sampler, world = OptimisticSampler(["u", "v"], seed=0), begun(0)
    talk(sampler, world, 10)
    draw, before = sampler.ask(), to_bytes(sampler)
    with pytest.raises(error, match=match):
        sampler.tell(draw, rows, labels)
    assert to_bytes(sampler) == before
    sampler.tell(draw, *world.respond(draw))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"groups": ["u"]}, ArgumentError, "groups: expected at least two"),
        ({"groups": ["u", "u"]}, ArgumentError, "groups: expected each label once"),
        ({"costs": {"u": -1.0, "v": 1.0}}, ArgumentError, r"costs\['u'\]: expected a number >= 0"),
        ({"costs": {"u": 1.0}}, ArgumentError, "costs: expected a number for each group"),
        ({"costs": {"u": 1.0, "v": 1.0, "w": 1.0}}, UnknownArmError, "costs: expected one of the groups"),
        ({"budget": 7.0, "batch": 2}, ArgumentError, "budget: expected enough for a draw of 4 rows of each of the 2"),
        ({"exploration": -0.1}, ArgumentError, "exploration: expected a number >= 0"),
        ({"batch": 0}, ArgumentError, "batch: expected a whole number >= 1"),
        ({"forced": 2.0}, ArgumentError, "forced: expected a number >= 0 and <= 1"),
        ({"bound": "practice"}, ArgumentError, "bound: expected one of 'heuristic'"),
        ({"ties": "best"}, ArgumentError, "ties: expected"),
        ({"loss": "hinge"}, ArgumentError, "loss: expected"),
        ({"seed": -1}, ArgumentError, "seed: expected"),
        ({"bound": "theory"}, ArgumentError, "bound: expected either vc_dimension= or"),
        ({"classes": [1]}, ArgumentError, "classes: expected at least two"),
        ({"classes": [1, 2, 3]}, ArgumentError, "classes: expected two labels"),
        ({"model": 3}, ArgumentError, "estimator: expected"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        OptimisticSampler(**{"groups": ["u", "v"], **arguments})


def test_more_refusals():
    with pytest.raises(SharesError):
        ProportionalSampler(["u", "v"], proportions=[0, 0])
    with pytest.raises(ArgumentError, match="epsilon"):
        EpsilonGreedySampler(["u", "v"], epsilon=1.5)
    with pytest.raises(UnknownArmError):
        UniformSampler(["u", "v"]).retire("w")
    with pytest.raises(ArgumentError, match="finish"):
        UniformSampler(["u", "v"]).finish()
    with pytest.raises(ArgumentError, match="partial_fit"):
        EstimatorModel(DecisionTreeClassifier(), refit="partial_fit")


def test_the_final_refit_uses_all_rows():
    sampler, world = UniformSampler(["u", "v"], seed=0), begun(0)
    talk(sampler, world, 40)
    report = sampler.finish()
    assert (report.rounds, report.labels) == (40, 80)
    assert report.model._known == 80
    assert (sampler.finish(final_refit=False).model.coefficients == sampler.model.coefficients).all()


def test_epsilon_and_proportions_are_kept():
    sampler, world = EpsilonGreedySampler(["u", "v"], epsilon=1.0, forced=None, warmup=1, seed=0), begun(0)
    share = talk(sampler, world, 600).count("u") / 600
    assert abs(share - 0.5) < 4 * (0.25 / 600) ** 0.5
    sampler = ProportionalSampler(["u", "v"], proportions=[0.8, 0.2], seed=0)
    share = talk(sampler, world, 600).count("u") / 600
    assert abs(share - 0.8) < 4 * (0.16 / 600) ** 0.5


def test_random_ties_are_fair_and_first_ties_are_not():
    def first_choice(ties, seed):
        sampler = OptimisticSampler(["u", "v"], forced=None, warmup=1, ties=ties, seed=seed)
        for _ in range(2):
            sampler.tell(sampler.ask(), np.zeros((2, 2)), [0, 0])
        return sampler.ask().group

    chosen = [first_choice("random", seed) for seed in range(200)]
    assert abs(chosen.count("u") - 100) < 4 * 50**0.5
    assert {first_choice("first", seed) for seed in range(5)} == {"u"}


@settings(max_examples=many(30))
@given(
    scheme=st.sampled_from(SCHEMES),
    batch=st.integers(1, 3),
    acts=st.lists(
        st.tuples(st.sampled_from(["ask", "tell", "short", "forget", "again", "save"]), st.integers(0, 9)), max_size=60
    ),
)
def test_any_conversation_keeps_its_books(scheme, batch, acts):
    sampler, world, open_draws, closed = scheme(batch=batch, seed=0), begun(0), [], []
    told = 0
    for act, pick in acts:
        if act == "ask":
            try:
                open_draws.append(sampler.ask())
            except ExhaustedError:
                assert len(sampler.notes) >= 2
        elif act in ("tell", "short") and open_draws:
            draw = open_draws.pop(pick % len(open_draws))
            X, y = world.respond(draw)
            kept = len(y) if act == "tell" else pick % len(y)
            sampler.tell(draw, X[:kept], y[:kept])
            told += kept
            closed.append(draw)
        elif act == "forget" and open_draws:
            closed.append(draw := open_draws.pop(pick % len(open_draws)))
            sampler.forget(draw.id)
        elif act == "again" and closed:
            with pytest.raises(ClosedTicketError):
                sampler.tell(closed[pick % len(closed)], np.zeros((1, 2)), [0])
        elif act == "save":
            sampler = from_bytes(to_bytes(sampler))
        assert sampler.open_tickets == [draw.id for draw in open_draws]
        assert sampler.labels == told == sampler.training.count + sampler.validation.count
        assert 0 <= sampler.training.count - sampler.validation.count <= sampler.rounds
        waiting = np.bincount([draw.index for draw in open_draws], minlength=2)
        assert (sampler._asked == sampler.training.by_group + batch * waiting).all()
        assert sampler.spent == told + 2 * batch * len(open_draws)
