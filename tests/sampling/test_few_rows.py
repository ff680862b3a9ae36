"""A classifier that needs more rows than there are waits for them: every draw and every label is taken."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from evenhand.errors import ModelError
from evenhand.registry import register
from evenhand.sampling import UniformSampler
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled

NEEDING = {
    "PCA(3)": (lambda: make_pipeline(PCA(3), LogisticRegression()), 3),
    "five neighbours": (lambda: KNeighborsClassifier(5), 5),
    "five of each label": (lambda: FiveEach(), 10),
}


@register("tests/five-each", kind="part")
class FiveEach(GaussianNB):
    """Needs five rows of each label, as five folds do."""

    def fit(self, X, y):
        if np.unique(y, return_counts=True)[1].min() < 5:
            raise ValueError("less than 5 examples of a label")
        return super().fit(X, y)


def pair(number, label):
    """A row to train and one to validate."""
    return np.random.default_rng(number).normal(size=(2, 5)) + label, [label] * 2


@pytest.mark.parametrize("name", NEEDING)
def test_it_waits_for_the_rows_it_needs_and_then_learns(name):
    """Labels in turn, one row a draw: the rows that it needs are there after as many draws, and not before."""
    make, needed = NEEDING[name]
    sampler = UniformSampler(["u", "v"], make(), loss="log", classes=[0, 1], seed=1)
    for told in range(1, needed + 3):
        sampler.tell(sampler.ask(), *pair(told, told % 2))
        waiting = [note for note in sampler.notes if "the model waits" in note]  # other notes say which risk is unknown
        assert bool(waiting) == (told < max(2, needed))
        if 2 <= told < needed:
            assert f"it cannot be trained on {told} rows yet, and predicts " in waiting[0]
            likely = [0, 1][told % 2 == 1 and told > 1]
            assert sampler.model.predict(np.zeros((2, 5))).tolist() == [likely] * 2
        again = from_bytes(to_bytes(sampler))
        assert again.notes == sampler.notes
        assert to_bytes(again) == to_bytes(sampler)
    assert sampler.open_tickets == []
    assert sampler.model.constant is None


def test_a_label_that_is_new_leaves_the_model_as_it_was_until_it_has_rows_enough():
    sampler = UniformSampler(["u", "v"], FiveEach(), batch=10, classes=[0, 1, 2], seed=1)
    draws = np.random.default_rng(0)

    def told(labels):
        y = np.resize(labels, 20)
        sampler.tell(sampler.ask(), draws.normal(size=(20, 5)) + y[:, None], y)

    told([0, 1])
    probe = draws.normal(size=(4, 5))
    before = sampler.model.predict_proba(probe)
    told([0, 1, 0, 1, 0, 1, 2, 0, 1, 0])
    assert any("has not learned from the last rows, as it needs more of them (ValueError" in n for n in sampler.notes)
    assert (sampler.model.predict_proba(probe) == before).all()
    again = from_bytes(to_bytes(sampler))
    assert (again.model.predict_proba(probe) == before).all()
    assert again.notes == sampler.notes
    told([2, 1, 0])
    told([2, 1, 0])
    assert sampler.notes == []
    assert (sampler.model.predict_proba(probe)[:, 2] > 0).all()


class Fragile(ClassifierMixin, BaseEstimator):
    """Fails on rows of its own choice, however many there are."""

    def __init__(self, once=False):
        self.once = once

    failed = False

    def fit(self, X, y):
        if not (self.once and Fragile.failed):
            Fragile.failed = True
            raise ValueError("not these")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    "model",
    [Fragile(), Fragile(once=True), make_pipeline(PCA(9), LogisticRegression())],
    ids=["always", "once", "9 of 5"],
)
def test_a_classifier_that_fails_for_another_reason_is_refused(model, monkeypatch):
    """One that fails on any rows, one that fails by chance, and one that needs more features."""
    monkeypatch.setattr(Fragile, "failed", False)
    sampler = UniformSampler(["u", "v"], model, batch=2, seed=1)
    draw = sampler.ask()
    with pytest.raises(ModelError, match=r"failed; nothing has changed: ValueError: (not these|n_components=9)"):
        sampler.tell(draw, np.random.default_rng(0).normal(size=(4, 5)), [0, 1, 0, 1])
    assert sampler.open_tickets == [draw.id]
