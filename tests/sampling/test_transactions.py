"""A draw is taken in as a whole or not at all: where the model or the loss fails, everything is as before."""

import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evenhand.errors import ArgumentError, ContextError, EvenhandError, ModelError
from evenhand.registry import register
from evenhand.sampling import (
    EpsilonGreedySampler,
    EstimatorModel,
    LabelQueue,
    LogisticModel,
    OptimisticSampler,
    UniformSampler,
)
from evenhand.sampling.models.classifier import Classifier
from evenhand.saving.state import to_bytes
from tests.sampling.labelled_items import begun, talk

pytestmark = pytest.mark.compiled


def twins(make, rounds=12):
    """Return two equal conversations in equal worlds."""
    pairs = []
    for _ in range(2):
        sampler, world = make(), begun()
        talk(sampler, world, rounds)
        pairs.append((sampler, world))
    return pairs


@register("tests/brittle", kind="part")
class Brittle(ClassifierMixin, BaseEstimator):
    """Counts what it has seen, and fails after it has begun to learn, when told to."""

    failure = None

    def __init__(self, warm_start=False):
        self.warm_start = warm_start

    def fit(self, X, y):
        self.seen_ = getattr(self, "seen_", 0) + len(X)
        return self.partial_fit(X, y)

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.unique(y)
        self.total_ = getattr(self, "total_", np.zeros(X.shape[1]))
        self.total_ += X.sum(axis=0)
        if Brittle.failure is not None:
            raise Brittle.failure
        return self

    def predict(self, X):
        return self.classes_[(X @ self.total_ > 0).astype(int) % len(self.classes_)]


MODELS = {
    "logistic": LogisticModel,
    "exact": lambda: EstimatorModel(Brittle()),
    "warm start": lambda: EstimatorModel(Brittle(warm_start=True)),
    "partial fit": lambda: EstimatorModel(Brittle(), refit="partial_fit"),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("failure", [ValueError("no"), RuntimeError("no"), MemoryError("full"), KeyboardInterrupt()])
def test_a_failing_update_leaves_everything_as_it_was(kind, failure, monkeypatch):
    (sampler, world), (twin, other) = twins(
        lambda: OptimisticSampler(["u", "v"], MODELS[kind](), trend=0.1, batch=2, seed=3)
    )
    draw = sampler.ask()
    X, y = world.respond(draw)
    assert twin.ask() == draw
    twin.tell(draw, *other.respond(draw))
    before = to_bytes(sampler)
    with monkeypatch.context() as patch:
        if kind == "logistic":
            patch.setattr(LogisticModel, "_refit", fails_after(LogisticModel._refit, failure))
        patch.setattr(Brittle, "failure", failure)
        with pytest.raises((EvenhandError, MemoryError, KeyboardInterrupt)) as refused:
            sampler.tell(draw, X, y)
    if isinstance(failure, (ValueError, RuntimeError)):
        assert isinstance(refused.value, ModelError)
        assert refused.value.__cause__ is failure
        assert "nothing has changed" in str(refused.value)
    assert to_bytes(sampler) == before
    assert sampler.open_tickets == [draw.id]
    sampler.tell(draw, X, y)
    assert to_bytes(sampler) == to_bytes(twin)
    assert talk(sampler, world, 10) == talk(twin, other, 10)
    assert to_bytes(sampler) == to_bytes(twin)


def fails_after(method, failure):
    def failing(*arguments):
        method(*arguments)
        raise failure

    return failing


def test_a_failure_with_the_second_label_takes_the_label_back_too(monkeypatch):
    sampler = OptimisticSampler(["u", "v"], EstimatorModel(Brittle()), seed=0)
    for _ in range(3):
        sampler.tell(sampler.ask(), np.ones((2, 2)), ["yes", "yes"])
    draw, before = sampler.ask(), None
    before = to_bytes(sampler)
    monkeypatch.setattr(Brittle, "failure", ValueError("no"))
    with pytest.raises(ModelError):
        sampler.tell(draw, np.zeros((2, 2)), ["no", "yes"])
    assert to_bytes(sampler) == before
    assert sampler.model.predict(np.zeros((1, 2))).tolist() == ["yes"]
    monkeypatch.setattr(Brittle, "failure", None)
    sampler.tell(draw, np.zeros((2, 2)), ["other", "yes"])
    assert sampler.model.classes_.tolist() == ["other", "yes"]


class Majority(Classifier):
    """A model with nothing but what samplers ask for."""

    fails = False

    def __init__(self):
        super().__init__()
        self.constant, self.counts, self.seen = None, np.zeros(2), []

    def fresh(self, seed=0):
        return Majority()

    def update(self, rows, first):
        self.counts += np.bincount(rows.y[first : rows.count], minlength=2)
        self.seen.append(rows.count)
        if Majority.fails:
            raise RuntimeError("no")

    def final(self, rows, first):
        raise NotImplementedError

    def learned_codes(self, X):
        return np.full(len(X), self.counts.argmax())

    learned_probabilities = final


def test_a_model_of_ones_own_is_brought_back_too(monkeypatch):
    sampler, world = UniformSampler(["u", "v"], Majority(), classes=[0, 1], seed=0), begun()
    talk(sampler, world, 20)
    kept, draw = copy.deepcopy(vars(sampler.model)), sampler.ask()
    monkeypatch.setattr(Majority, "fails", True)
    with pytest.raises(ModelError, match="Majority"):
        sampler.tell(draw, *world.respond(draw))
    assert sampler.model.counts.tolist() == kept["counts"].tolist()
    assert sampler.model.seen == kept["seen"]


@pytest.mark.parametrize("trend", [0.0, 0.1])
def test_a_failing_loss_refuses_the_draw_before_it_comes_in(trend):
    failing = []

    def loss(y, prediction):
        if failing:
            raise KeyError("no")
        return (y != prediction).astype(float)

    sampler, world = OptimisticSampler(["u", "v"], loss=loss, trend=trend, seed=0), begun()
    talk(sampler, world, 10)
    draw, rows = sampler.ask(), sampler.training.count
    failing.append(1)
    with pytest.raises(ModelError, match="KeyError"):
        sampler.tell(draw, *world.respond(draw))
    assert (sampler.training.count, sampler.rounds, sampler.open_tickets) == (rows, 10, [draw.id])
    failing.clear()
    talk(sampler, world, 5)


@pytest.mark.parametrize(
    "loss", [lambda y, p: "x", lambda y, p: 1.0, lambda y, p: y * np.nan, lambda y, p: [1j] * len(y)]
)
def test_a_loss_that_is_no_number_a_row_is_refused(loss):
    sampler = UniformSampler(["u", "v"], loss=loss, classes=[0, 1], seed=0)
    with pytest.raises(ArgumentError, match="loss: expected a function"):
        sampler.tell(sampler.ask(), np.ones((2, 2)), [0, 1])
    assert sampler.training.count == 0


def test_a_failing_ask_draws_nothing_from_the_random_stream():
    more = {"epsilon": 0.0, "warmup": 1, "forced": None, "classes": [0, 1], "seed": 0}
    sampler, world = EpsilonGreedySampler(["u", "v"], Majority(), **more), begun()
    talk(sampler, world, 6)
    before, counts, sampler.model.counts = sampler._stream.copy(), sampler.model.counts, None
    with pytest.raises(ModelError, match="Majority"):
        sampler.ask()
    assert (sampler._stream.tolist(), sampler.round) == (before.tolist(), 6)
    sampler.model.counts = counts
    assert sampler.ask().round == 7


@pytest.mark.parametrize("model", [None, GaussianNB(), EstimatorModel(SGDClassifier(), refit="partial_fit")])
def test_pictures_are_refused_at_the_first_draw_by_name(model):
    sampler = OptimisticSampler(["u", "v"], model, seed=0)
    draw, before = sampler.ask(), to_bytes(sampler)
    with pytest.raises(ContextError, match=r"X: expected rows of numbers .* got \(2, 4, 4\); flatten them"):
        sampler.tell(draw, np.zeros((2, 4, 4)), [0, 0])
    assert to_bytes(sampler) == before


def test_a_pipeline_that_flattens_may_take_pictures():
    from sklearn.preprocessing import FunctionTransformer

    flat, y = FunctionTransformer(lambda X: X.reshape(len(X), -1)), np.arange(20) % 2
    sampler = UniformSampler(["u", "v"], make_pipeline(flat, GaussianNB()), batch=10, seed=0)
    sampler.tell(sampler.ask(), np.random.default_rng(0).normal(size=(20, 4, 4)) + 3 * y[:, None, None], y)
    assert sampler.model.predict(np.full((1, 4, 4), 3.0)).tolist() == [1]


def test_large_numbers_of_any_scale_are_fitted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 2)) + y[:, None]
    plain, large = LogisticModel(C=1e6).fit(X, y), LogisticModel(C=1e6).fit(X * [1e30, 1e-3], y)
    assert (plain.predict(X) == large.predict(X * [1e30, 1e-3])).all()
    for C in (1e300, 10**400, np.complex128(1.0)):
        with pytest.raises(ArgumentError, match="C: expected"):
            LogisticModel(C=C)


def test_float32_rows_do_not_round_those_that_come_later():
    sampler = UniformSampler(["u", "v"], classes=[0, 1], seed=0)
    sampler.tell(sampler.ask(), np.ones((2, 1), np.float32), [0, 1])
    sampler.tell(sampler.ask(), np.array([[1.0 + 1e-12], [0.0]]), [0, 1])
    assert sampler.training.X[1, 0] == 1.0 + 1e-12


def test_a_draw_without_rows_is_told_as_an_empty_list():
    sampler = UniformSampler(["u", "v"], seed=0)
    sampler.tell(sampler.ask(), [], [])
    assert sampler.notes == [
        "the pool of 'u' is empty after 0 rows",
        "the risk of 'u' is unknown: no row validates it",
    ]


def test_a_loss_that_needs_probabilities_is_refused_when_the_sampler_is_made():
    with pytest.raises(ArgumentError, match="loss: expected"):
        OptimisticSampler(["u", "v"], SGDClassifier(), loss="log")
    OptimisticSampler(["u", "v"], make_pipeline(StandardScaler(), LogisticRegression()), loss="log")


def test_one_label_says_nothing_about_positives_and_negatives():
    for loss in ("false_negative", "false_positive"):
        for label in (0, 1, "no"):
            sampler = OptimisticSampler(["u", "v"], loss=loss, seed=0)
            for _ in range(4):
                sampler.tell(sampler.ask(), np.zeros((2, 1)), [label, label])
            assert sampler.risks["risk"].isna().all()
            assert sampler.risks["validation"].tolist() == [0, 0]


def test_a_model_that_fails_on_a_corrected_label_leaves_the_queue_as_it_was(monkeypatch):
    sampler = UniformSampler(["u", "v"], EstimatorModel(Brittle()), classes=["no", "yes"], seed=0)
    queue = LabelQueue(list(range(24)), np.ones((24, 2)), groups=["u", "v"] * 12, sampler=sampler, choice="uniform")
    told = {}
    for label in ["yes", "no"] * 4:
        task = queue.ask()
        queue.tell(task, label)
        if task.purpose == "training":
            told[task.item] = label
    item, label = told.popitem()
    other = "no" if label == "yes" else "yes"
    before = to_bytes(queue)
    monkeypatch.setattr(Brittle, "failure", ValueError("no"))
    with pytest.raises(ModelError, match="nothing has changed"):
        queue.correct(item, other)
    assert to_bytes(queue) == before
    monkeypatch.setattr(Brittle, "failure", None)
    queue.correct(item, other)
    assert to_bytes(queue) != before
