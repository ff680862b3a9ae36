"""scikit-learn's classifiers, pipelines included, are saved as plain data, seeded, and refused by name where not."""

import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from evenhand.errors import ArgumentError, StateFileError
from evenhand.registry import register
from evenhand.sampling import Certification, EstimatorModel, OptimisticSampler, UniformSampler
from evenhand.saving.objects import rebuilt, recipe
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from tests.sampling.labelled_items import begun, talk

pytestmark = pytest.mark.compiled


@register("tests/shift", kind="part")
class Shift(TransformerMixin, BaseEstimator):
    """A step of a user's own, registered."""

    def __init__(self, by=0.0):
        self.by = by

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X + self.by


class Unknown(Shift):
    """A step that nobody registered."""


CLASSIFIERS = {
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression(C=0.5)),
    "nested": Pipeline(
        [
            ("union", FeatureUnion([("a", StandardScaler()), ("b", PolynomialFeatures(2))])),
            ("columns", ColumnTransformer([("one", StandardScaler(), [0]), ("two", "passthrough", slice(1, 4))])),
            ("tree", DecisionTreeClassifier(max_depth=3)),
        ]
    ),
    "ufunc and types": make_pipeline(
        SimpleImputer(missing_values=np.nan), FunctionTransformer(np.arctan, np.tan), MLPClassifier((5, 3), max_iter=20)
    ),
    "forest": make_pipeline(StandardScaler(), RandomForestClassifier(5)),
    "voting": VotingClassifier([("a", GaussianNB()), ("b", SGDClassifier(loss="log_loss"))], voting="soft"),
    "kernel": GaussianProcessClassifier(kernel=2.0 * RBF(0.5) + WhiteKernel(0.1), optimizer=None),
    "own step": make_pipeline(Shift(by=1.5), GaussianNB()),
    "partial fit": EstimatorModel(SGDClassifier(loss="log_loss"), refit="partial_fit"),
    "warm start": MLPClassifier((4,), max_iter=3, warm_start=True),
    "warm step": make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=3, warm_start=True)),
    "random state": DecisionTreeClassifier(splitter="random", random_state=np.random.RandomState(3)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_saved_and_loaded_it_goes_on_exactly(name):
    def make():
        return OptimisticSampler(["u", "v"], copy.deepcopy(CLASSIFIERS[name]), batch=2, classes=[0, 1], seed=3)

    first, twin = make(), make()
    assert talk(first, begun(), 8) == talk(twin, begun(), 8)
    assert to_bytes(first) == to_bytes(twin)
    second = from_bytes(to_bytes(first))
    assert to_bytes(second) == to_bytes(first)
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert (first.model.predict_proba(X) == second.model.predict_proba(X)).all()
    assert talk(first, begun(2), 5) == talk(second, begun(2), 5)
    assert (first.model.predict_proba(X) == second.model.predict_proba(X)).all()
    assert not any("saved" in note for note in first.notes)


def test_another_seed_is_another_forest_in_a_pipeline_and_the_one_that_was_passed_is_not_changed():
    X, found = np.random.default_rng(0).normal(size=(200, 2)), []
    for seed in (1, 1, 2):
        sampler = UniformSampler(["u", "v"], CLASSIFIERS["forest"], batch=5, classes=[0, 1], seed=seed)
        talk(sampler, begun(), 6)
        found.append(sampler.model.predict_proba(X).tolist())
    assert found[0] == found[1] != found[2]
    assert CLASSIFIERS["forest"][-1].random_state is None
    assert not hasattr(CLASSIFIERS["forest"][-1], "estimators_")


UNSAVABLE = {
    "function": (make_pipeline(FunctionTransformer(lambda X: X + 1), GaussianNB()), r"steps\[0\]\[1\]\.func: <lambda>"),
    "own class": (make_pipeline(Unknown(), GaussianNB()), r"model\.steps\[0\]\[1\]: Unknown cannot be saved"),
    "frozen": (FrozenEstimator(GaussianNB().fit([[0.0], [1.0]], [0, 1])), "model: FrozenEstimator cannot be saved"),
    "scorer": (GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2, scoring=max), r"model\.scoring: max"),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_what_cannot_be_saved_says_so_from_the_start_and_is_no_study(name, tmp_path):
    classifier, match = UNSAVABLE[name]
    sampler = UniformSampler(["u", "v"], classifier, seed=0)
    assert [note for note in sampler.notes if note.startswith("this sampler cannot be saved: model")]
    with pytest.raises(ArgumentError, match=match):
        to_bytes(sampler)
    with pytest.raises(ArgumentError, match=match):
        Study.create(tmp_path / "new.evenhand", sampler)
    assert not (tmp_path / "new.evenhand").exists()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("loss", {"loss": lambda y, prediction: (y != prediction) * 1.0}),
        ("deviation", {"bound": "theory", "deviation": lambda n: 1 / n}),
    ],
)
def test_a_function_cannot_be_saved_and_the_notes_say_so(name, arguments):
    sampler = OptimisticSampler(["u", "v"], seed=0, **arguments)
    said = f"{name}: a function cannot be saved"
    assert any(said in note for note in sampler.notes)
    with pytest.raises(ArgumentError, match=said):
        to_bytes(sampler)


@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), make_pipeline(StandardScaler(), LinearRegression()), StandardScaler(), GaussianNB],
    ids=range(4),
)
def test_what_is_no_classifier_is_refused(estimator):
    with pytest.raises(ArgumentError, match="estimator: expected a scikit-learn classifier"):
        UniformSampler(["u", "v"], estimator)


def test_searches_and_stacks_are_described_and_made_again():
    for estimator in (
        GridSearchCV(CLASSIFIERS["pipeline"], {"logisticregression__C": [0.1, 1]}, cv=StratifiedKFold(3)),
        StackingClassifier([("a", GaussianNB())], LogisticRegression(), cv=2),
        CalibratedClassifierCV(GaussianNB(), method="isotonic"),
    ):
        again = rebuilt(recipe(estimator))
        assert repr(again) == repr(estimator)
        assert again is not estimator


@pytest.mark.parametrize(
    "node",
    [
        {"made": "os:system", "arguments": {}},
        {"made": "sklearn.datasets._base:urlretrieve", "arguments": {}},
        {"made": "sklearn.datasets._openml:urlopen", "arguments": {"url": "http://localhost"}},
        {"made": "sklearn.utils._bunch:Bunch", "arguments": {}},
        {"made": "sklearn.tree:Absent", "arguments": {}},
        {"new": "sklearn.tree._classes:DecisionTreeClassifier", "arguments": {}},
        {"new": "skorch.classifier:NeuralNetClassifier", "arguments": {}},
        {"ufunc": "load"},
        {"number": "fromfile"},
        {"registered": "os:system"},
        {"class": "builtins:eval"},
        {"class": "os:system"},
        {"class": "torch.hub:load"},
        {"class": "torch.optim.adam:Absent"},
    ],
)
def test_nothing_but_estimators_is_made_from_data(node):
    with pytest.raises(StateFileError):
        rebuilt({"root": {"at": 0}, "nodes": [node]})


def test_a_certification_of_a_classifier_is_saved_with_what_trained_it():
    sampler, world = UniformSampler(["u", "v"], CLASSIFIERS["forest"], batch=4, classes=[0, 1], seed=0), begun()
    talk(sampler, world, 12)
    X = np.random.default_rng(0).normal(size=(80, 2))
    for model in (None, sampler.model, sampler.finish().model, sampler.finish(final_refit=False).model):
        check = sampler.certify(threshold=0.4, batch=10, model=model)
        again = from_bytes(to_bytes(check))
        assert (again.model.predict_proba(X) == check.model.predict_proba(X)).all()
        assert len(set(again.model.predict(X))) == 2
    elsewhere = Certification(["u", "v"], GaussianNB().fit(X, X[:, 0] > 0), threshold=0.4)
    for alone in (elsewhere, Certification(["u", "v"], sampler.model, threshold=0.4)):
        with pytest.raises(ArgumentError, match="model: expected a model that a sampler trained"):
            to_bytes(alone)
