"""Networks of skorch as models: trained, saved and loaded exactly, refused where they cannot be."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError, ModelError
from evenhand.registry import register
from evenhand.sampling import EstimatorModel, OptimisticSampler
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
nn = torch.nn


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@register("tests/small-network", kind="part")
class Small(nn.Module):
    """Dropout and a batch norm; fails when told to."""

    fails = None

    def __init__(self, width=8, dropout=0.2, always=False):
        super().__init__()
        self.first, self.norm, self.last = nn.LazyLinear(width), nn.BatchNorm1d(width), nn.Linear(width, 2)
        self.dropout, self.always = dropout, always

    def forward(self, X):
        if Small.fails is not None and self.training:
            raise Small.fails
        kept = self.norm(torch.relu(self.first(X.float().flatten(1))))
        return self.last(nn.functional.dropout(kept, self.dropout, training=self.training or self.always))


@register("tests/words", kind="part")
def words():
    return nn.Sequential(nn.Embedding(9, 6), nn.Flatten(), nn.Linear(30, 2))


def net(module=Small, **more):
    settings = {"criterion": nn.CrossEntropyLoss, "optimizer": torch.optim.Adam, "lr": 0.05, "max_epochs": 1}
    settings |= {"batch_size": 4, "iterator_train__drop_last": False, "train_split": None, "verbose": 0}
    return skorch.NeuralNetClassifier(module, **settings | {"warm_start": True} | more)


def rows_of(rng, count, labels=(0, 1)):
    y = rng.integers(0, 2, count)
    return rng.normal(size=(count, 4)) + 3 * y[:, None], np.array(labels)[y]


def sampler_of(module=Small, *, seed=1, batch=4, classes=(0, 1), **more):
    return OptimisticSampler(["u", "v"], net(module, **more), batch=batch, classes=list(classes), seed=seed)


def talk(sampler, rng, rounds, rows=rows_of):
    groups = []
    for _ in range(rounds):
        draw = sampler.ask()
        sampler.tell(draw, *rows(rng, draw.count))
        groups.append(draw.group)
    return groups


def weights_of(sampler):
    module = sampler.model.estimator.module_
    return np.concatenate([weights.detach().numpy().ravel() for weights in module.parameters()])


CHOICES = {
    "epoch": {},
    "one step": {"batch_size": -1},
    "shuffled": {"iterator_train__shuffle": True, "module__dropout": 0.5},
    "drawn in predictions": {"module__always": True, "module__dropout": 0.5},
    "anew each round": {"warm_start": False, "max_epochs": 3},
    "momentum": {"optimizer": torch.optim.SGD, "optimizer__momentum": 0.9},
    "falling": {"callbacks": [("fall", skorch.callbacks.LRScheduler(policy="StepLR", step_size=2))]},
}


@pytest.mark.parametrize("choice", CHOICES)
def test_saved_and_loaded_it_goes_on_exactly(choice):
    first = sampler_of(**CHOICES[choice])
    talk(first, np.random.default_rng(0), 5)
    second = from_bytes(to_bytes(first))
    assert (weights_of(first) == weights_of(second)).all()
    assert talk(first, np.random.default_rng(1), 3) == talk(second, np.random.default_rng(1), 3)
    assert to_bytes(first) == to_bytes(second)
    X = rows_of(np.random.default_rng(2), 30)[0]
    for one, other in ((first.model, second.model), (first.finish().model, second.finish().model)):
        assert (one.predict_proba(X) == other.predict_proba(X)).all()


def test_it_draws_from_the_samplers_seed_and_leaves_torchs_generator_as_it_was():
    shuffled = CHOICES["shuffled"]
    first, twin, other = sampler_of(**shuffled), sampler_of(**shuffled), sampler_of(seed=2, **shuffled)
    for number, one in enumerate((first, twin, other)):
        torch.manual_seed(number)
        before = torch.get_rng_state()
        talk(one, np.random.default_rng(0), 5)
        assert (torch.get_rng_state() == before).all()
    assert (weights_of(first) == weights_of(twin)).all()
    assert (weights_of(first) != weights_of(other)).any()
    assert to_bytes(first.fresh()) == to_bytes(sampler_of(**shuffled))


@pytest.mark.parametrize("refit", ["exact", "partial_fit"])
def test_it_learns_and_predicts_labels_of_any_kind(refit):
    model = EstimatorModel(net(), refit=refit)
    sampler = OptimisticSampler(["u", "v"], model, batch=8, classes=["no", "yes"], seed=1)
    talk(sampler, np.random.default_rng(0), 12, lambda rng, count: rows_of(rng, count, ("no", "yes")))
    X, y = rows_of(np.random.default_rng(9), 200, ("no", "yes"))
    for learned in (sampler.model, sampler.finish().model):
        assert np.mean(learned.predict(X) == y) > 0.9
        chances = learned.predict_proba(X)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-6)
        assert (chances.argmax(axis=1) == (learned.predict(X) == "yes")).all()
    check = sampler.certify(threshold=0.4, batch=20)
    check.tell(check.ask(), *rows_of(np.random.default_rng(3), 20, ("no", "yes")))
    assert from_bytes(to_bytes(check)).counts.sum() == 20


def test_a_class_that_no_row_has_yet_has_a_probability():
    sampler = OptimisticSampler(["u", "v"], net(Three), batch=4, classes=["a", "b", "c"], seed=1)
    talk(sampler, np.random.default_rng(0), 4, lambda rng, count: rows_of(rng, count, ("a", "c")))
    assert sampler.model.predict_proba(np.zeros((5, 4))).shape == (5, 3)
    assert set(sampler.model.predict(np.zeros((5, 4)))) <= {"a", "b", "c"}


class Three(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 3))


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32])
def test_rows_are_kept_in_their_type(kind):
    def told(rng, count):
        X, y = rows_of(rng, count)
        return np.clip(X * 9 + 30, 0, 255).astype(kind).reshape(count, 1, 2, 2), y

    sampler = sampler_of()
    talk(sampler, np.random.default_rng(0), 5, told)
    assert sampler.training.X.dtype == kind
    assert to_bytes(from_bytes(to_bytes(sampler))) == to_bytes(sampler)


def test_whole_numbers_reach_an_embedding_as_they_are():
    def told(rng, count):
        y = rng.integers(0, 2, count)
        return rng.integers(0, 4, (count, 5)) + 4 * y[:, None], y

    sampler, rng = sampler_of(words), np.random.default_rng(0)
    talk(sampler, rng, 12, told)
    X, y = told(rng, 50)
    assert (from_bytes(to_bytes(sampler)).model.predict(X) == sampler.model.predict(X)).all()
    assert np.mean(sampler.finish().model.predict(X) == y) > 0.9


FAILURES = [ValueError("one row"), RuntimeError("shapes"), torch.OutOfMemoryError("full"), MemoryError("full")]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_failing_step_leaves_the_network_as_it_was(failure, monkeypatch):
    sampler, twin = sampler_of(), sampler_of()
    for one in (sampler, twin):
        talk(one, np.random.default_rng(0), 4)
    draw, weights = sampler.ask(), weights_of(sampler)
    monkeypatch.setattr(Small, "fails", failure)
    expected = ModelError if type(failure) in (ValueError, RuntimeError) else type(failure)
    with pytest.raises(expected):
        sampler.tell(draw, *rows_of(np.random.default_rng(3), draw.count))
    monkeypatch.setattr(Small, "fails", None)
    assert (weights_of(sampler) == weights).all()
    assert sampler.open_tickets == [draw.id]
    sampler.forget(draw)
    for one in (sampler, twin):
        talk(one, np.random.default_rng(4), 2)
    assert (weights_of(sampler) == weights_of(twin)).all()


def test_weights_that_do_not_stay_finite_are_refused_and_taken_back():
    sampler = sampler_of(optimizer=torch.optim.SGD, lr=1e30)
    with pytest.raises(ArgumentError, match="estimator: expected weights that stay finite"):
        talk(sampler, np.random.default_rng(0), 40)
    assert np.isfinite(weights_of(sampler)).all() if sampler.model.estimator.initialized_ else True


def test_what_is_no_network_of_skorch_or_cannot_be_saved_is_refused_by_name():
    with pytest.raises(ArgumentError, match=r"a torch module inside skorch\.NeuralNetClassifier"):
        OptimisticSampler(["u", "v"], Small())
    for module, what in ((nn.Sequential(nn.Linear(4, 2)), "model.module: Sequential"), (Three, "model.module: Three")):
        sampler = sampler_of(module)
        assert any(note.startswith(f"this sampler cannot be saved: {what}") for note in sampler.notes)
        with pytest.raises(ArgumentError, match=what):
            to_bytes(sampler)
    sampler = sampler_of()
    talk(sampler, np.random.default_rng(0), 3)
    with pytest.raises(ArgumentError, match="model: expected one that has neither decided nor learned"):
        OptimisticSampler(["u", "v"], sampler.model)


def test_the_papers_network_computes_what_the_paper_describes():
    from evenhand.experiments.sampling.networks import ConvolutionalNetwork

    ours = ConvolutionalNetwork(channels=3, size=10, seed=4)
    paper = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 600),
        nn.ReLU(),
        nn.Linear(600, 120),
        nn.ReLU(),
        nn.Linear(120, 2),
    )
    paper.load_state_dict(ours.layers.state_dict())
    X = torch.linspace(-1, 1, 7 * 300).reshape(7, 3, 10, 10).sin()
    for one in (ours, paper):
        nn.functional.cross_entropy(one(X), torch.tensor([0, 1, 0, 1, 1, 0, 1])).backward()
    torch.testing.assert_close(ours(X), paper(X), rtol=1e-5, atol=1e-6)
    for first, second in zip(ours.parameters(), paper.parameters(), strict=True):
        torch.testing.assert_close(first.grad, second.grad, rtol=1e-4, atol=1e-7)
