"""Torch modules as models: trained, saved and loaded exactly, refused where they cannot be."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError, ContextError, ModelError
from evenhand.registry import register
from evenhand.sampling import OptimisticSampler, TorchModel
from evenhand.sampling.models.modules import mini_batches
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled

torch = pytest.importorskip("torch")


def pictures(rng, index, count):
    y = rng.integers(0, 2, count)
    X = rng.normal(size=(count, 1, 8, 8)).astype(np.float32)
    X[:, 0, index, :] += 2 * y[:, None] - 1
    return X, y


def network(seed=0):
    from evenhand.sampling.models.networks import ConvolutionalNetwork

    return ConvolutionalNetwork(channels=1, size=8, second=False, seed=seed)


def talk(sampler, rng, rounds):
    groups = []
    for _ in range(rounds):
        draw = sampler.ask()
        sampler.tell(draw, *pictures(rng, draw.index, draw.count))
        groups.append(draw.group)
    return groups


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("step", ["full", "epoch", "batch"])
def test_saved_and_loaded_it_goes_on_exactly(step):
    first = OptimisticSampler(["u", "v"], TorchModel(network(), step=step, batch_size=4), batch=4, seed=1)
    talk(first, np.random.default_rng(0), 5)
    second = from_bytes(to_bytes(first))
    assert talk(first, np.random.default_rng(1), 4) == talk(second, np.random.default_rng(1), 4)
    X = pictures(np.random.default_rng(2), 0, 30)[0]
    assert (first.model.predict_proba(X) == second.model.predict_proba(X)).all()


def test_mixed_precision_is_saved_and_goes_on_exactly():
    first = OptimisticSampler(["u", "v"], TorchModel(network(), mixed_precision=True), batch=4, seed=1)
    talk(first, np.random.default_rng(0), 5)
    second = from_bytes(to_bytes(first))
    assert second.model.mixed_precision
    assert talk(first, np.random.default_rng(1), 3) == talk(second, np.random.default_rng(1), 3)
    X = pictures(np.random.default_rng(2), 0, 30)[0]
    mixed, single = first.model.predict_proba(X), TorchModel(network())
    assert (mixed == second.model.predict_proba(X)).all()
    assert {weights.dtype for weights in first.model.module.parameters()} == {torch.float32}
    twin = OptimisticSampler(["u", "v"], single, batch=4, seed=1)
    talk(twin, np.random.default_rng(0), 5)
    talk(twin, np.random.default_rng(1), 3)
    assert 0 < np.abs(twin.model.predict_proba(X) - mixed).max() < 0.05


def test_the_network_computes_what_the_paper_describes():
    from evenhand.sampling.models.networks import ConvolutionalNetwork

    nn, ours = torch.nn, ConvolutionalNetwork(channels=3, size=10, seed=4)
    paper = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64, 600), nn.ReLU(), nn.Linear(600, 120), nn.ReLU(), nn.Linear(120, 2),
    )  # fmt: skip
    paper.load_state_dict(ours.layers.state_dict())
    X = torch.linspace(-1, 1, 7 * 300).reshape(7, 3, 10, 10).sin()
    for one in (ours, paper):
        nn.functional.cross_entropy(one(X), torch.tensor([0, 1, 0, 1, 1, 0, 1])).backward()
    torch.testing.assert_close(ours(X), paper(X), rtol=1e-5, atol=1e-6)
    for first, second in zip(ours.parameters(), paper.parameters(), strict=True):
        torch.testing.assert_close(first.grad, second.grad, rtol=1e-4, atol=1e-7)


def test_it_learns_and_the_final_training_helps_itself_to_all_rows():
    sampler = OptimisticSampler(
        ["u", "v"], TorchModel(network(), step="epoch", batch_size=8, final_rounds=2), batch=8, seed=1
    )
    talk(sampler, np.random.default_rng(0), 16)
    X, y = pictures(np.random.default_rng(9), 0, 200)
    assert np.mean(sampler.model.predict(X) == y) > 0.9
    report = sampler.finish()
    assert np.mean(report.model.predict(X) == y) > 0.9
    assert report.model.rounds == sampler.model.rounds + 2


def test_a_fresh_copy_has_the_first_weights():
    model = TorchModel(network())
    sampler = OptimisticSampler(["u", "v"], model, batch=2, seed=1)
    talk(sampler, np.random.default_rng(0), 4)
    again = sampler.fresh().model.module.state_dict()
    assert all(torch.equal(value, again[name]) for name, value in network().state_dict().items())


def test_refusals():
    with pytest.raises(ArgumentError, match="module: wanted a torch"):
        TorchModel("network")
    with pytest.raises(ArgumentError, match="step: wanted"):
        TorchModel(network(), step="two")
    with pytest.raises(ArgumentError, match="mixed_precision: wanted True or False"):
        TorchModel(network(), mixed_precision="bf16")
    with pytest.raises(ArgumentError, match=r"inside evenhand\.sampling\.TorchModel"):
        OptimisticSampler(["u", "v"], network())
    if not torch.cuda.is_available():
        with pytest.raises(ArgumentError, match="device: wanted"):
            TorchModel(network(), device="cuda")
    plain = OptimisticSampler(["u", "v"], TorchModel(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))))
    with pytest.raises(ArgumentError, match="module: wanted a class"):
        to_bytes(plain)


@register("tests/noisy-network", kind="part")
class Noisy(torch.nn.Module):
    """Dropout, a batch norm, and an activation that is kept, which torch cannot copy; fails when told to."""

    fails_at = None

    def __init__(self, dropout=0.5, norm=True, always=False):
        super().__init__()
        self._config = {"dropout": dropout, "norm": norm, "always": always}
        self.first, self.last = torch.nn.Linear(64, 8), torch.nn.Linear(8, 2)
        self.norm = torch.nn.BatchNorm1d(8) if norm else torch.nn.Identity()
        self.register_buffer("calls", torch.zeros(1), persistent=False)
        with torch.no_grad():
            for number, weights in enumerate(self.parameters()):
                weights.copy_(torch.linspace(-0.3, 0.2 + 0.1 * number, weights.numel()).reshape(weights.shape))

    def config(self):
        return dict(self._config)

    def forward(self, X):
        if self.training:
            self.calls += 1
            if Noisy.fails_at is not None and self.calls.item() >= Noisy.fails_at[0]:
                raise Noisy.fails_at[1]
        drawn = self._config["always"] or self.training
        self.kept = self.norm(torch.relu(self.first(X.flatten(1))))
        return self.last(torch.nn.functional.dropout(self.kept, self._config["dropout"], training=drawn))


def sampler_of(step="epoch", seed=1, **more):
    model = TorchModel(Noisy(**more), step=step, batch_size=3, learning_rate=0.05)
    return OptimisticSampler(["u", "v"], model, batch=3, classes=[0, 1], seed=seed)


@pytest.mark.parametrize("step", ["full", "epoch", "batch"])
def test_dropout_draws_from_the_samplers_seed_and_goes_on_exactly(step):
    first, twin, other = sampler_of(step), sampler_of(step), sampler_of(step, seed=2)
    torch.manual_seed(1)
    talk(first, np.random.default_rng(0), 6)
    torch.manual_seed(2)
    talk(twin, np.random.default_rng(0), 6)
    assert to_bytes(first) == to_bytes(twin)
    talk(other, np.random.default_rng(0), 6)
    assert (other.model.module.first.weight != first.model.module.first.weight).any()
    second = from_bytes(to_bytes(first))
    assert talk(first, np.random.default_rng(1), 5) == talk(second, np.random.default_rng(1), 5)
    assert to_bytes(first) == to_bytes(second)
    X = pictures(np.random.default_rng(2), 0, 30)[0]
    finals = [sampler.finish().model.predict_proba(X) for sampler in (first, second)]
    assert (finals[0] == finals[1]).all()


def test_a_network_that_draws_when_it_predicts_is_repeatable_too():
    sampler = sampler_of(always=True)
    talk(sampler, np.random.default_rng(0), 4)
    X = pictures(np.random.default_rng(2), 0, 30)[0]
    assert (sampler.model.predict_proba(X) == sampler.model.predict_proba(X)).all()


def test_torchs_global_generator_is_left_as_it_was():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    sampler = OptimisticSampler(["u", "v"], TorchModel(network()), batch=3, classes=[0, 1], seed=1)
    talk(sampler, np.random.default_rng(0), 3)
    from_bytes(to_bytes(sampler)), sampler.finish(), sampler.certify(threshold=0.3)
    assert (torch.get_rng_state() == before).all()


FAILURES = [ValueError("one row"), RuntimeError("shapes"), torch.OutOfMemoryError("full"), MemoryError("full")]


@pytest.mark.parametrize("step", ["full", "epoch", "batch"])
@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_failing_step_leaves_weights_moments_and_buffers_as_they_were(step, failure, monkeypatch):
    sampler, twin = sampler_of(step), sampler_of(step)
    for one in (sampler, twin):
        talk(one, np.random.default_rng(0), 4)
    draw = sampler.ask()
    assert twin.ask() == draw
    rows, before = pictures(np.random.default_rng(3), draw.index, draw.count), to_bytes(sampler)
    later = 2 if step == "epoch" else 1  # after the first mini-batch has moved the weights, where there are several
    monkeypatch.setattr(Noisy, "fails_at", (sampler.model.module.calls.item() + later, failure))
    expected = ModelError if type(failure) in (ValueError, RuntimeError) else type(failure)
    with pytest.raises(expected):
        sampler.tell(draw, *rows)
    monkeypatch.setattr(Noisy, "fails_at", None)
    assert to_bytes(sampler) == before
    assert sampler.open_tickets == [draw.id]
    other = pictures(np.random.default_rng(4), draw.index, draw.count)
    for one in (sampler, twin):
        one.tell(draw, *other)
    assert to_bytes(sampler) == to_bytes(twin)


@pytest.mark.parametrize("step", ["full", "epoch", "batch"])
def test_batch_norms_train_on_any_number_of_rows_beyond_one(step):
    sampler = OptimisticSampler(
        ["u", "v"], TorchModel(Noisy(), step=step, batch_size=2), batch=1, classes=[0, 1], seed=0
    )
    talk(sampler, np.random.default_rng(0), 9)
    assert sampler.rounds == 9


def test_mini_batches_leave_no_single_row():
    for count in range(1, 30):
        for size in range(1, 9):
            parts = [list(range(count))[part] for part in mini_batches(count, size)]
            assert [row for part in parts for row in part] == list(range(count))
            assert all(len(part) >= min(2, size, count) for part in parts)
            assert all(len(part) <= size + 1 for part in parts)


def test_weights_that_are_not_finite_are_refused_and_taken_back():
    sampler = OptimisticSampler(["u", "v"], TorchModel(Noisy(norm=False), learning_rate=1e30), batch=3, seed=1)
    with pytest.raises(ArgumentError, match="module: wanted weights that stay finite"):
        talk(sampler, np.random.default_rng(0), 40)
    assert all(torch.isfinite(weights).all() for weights in sampler.model.module.parameters())


@pytest.mark.parametrize(
    ("module", "match"),
    [
        (lambda: torch.nn.LazyLinear(2), "module: wanted one whose weights have a size"),
        (lambda: torch.nn.Flatten(), "module: wanted one with weights to train"),
        (lambda: torch.nn.Linear(2, 2).requires_grad_(False), "module: wanted one with weights to train"),
        (lambda: used(), "module: wanted one that copy.deepcopy can copy"),
    ],
    ids=range(4),
)
def test_modules_that_cannot_be_trained_are_refused_when_the_model_is_made(module, match):
    with pytest.raises(ArgumentError, match=match):
        TorchModel(module())


def used():
    module = Noisy()
    module(torch.zeros(3, 64))
    return module


@pytest.mark.parametrize("device", ["tpu", 3.5, None, "cuda:99", ""])
def test_devices_that_are_not_there_are_refused(device):
    with pytest.raises(ArgumentError, match="device: wanted"):
        TorchModel(network(), device=device)


def test_rows_and_outputs_of_another_shape_are_refused_at_the_first_draw():
    sampler = OptimisticSampler(["u", "v"], TorchModel(network()), seed=0)
    draw = sampler.ask()
    for X in (np.zeros((2, 1, 12, 12)), np.zeros((2, 64)), np.zeros((2, 3, 8, 8))):
        with pytest.raises(ContextError, match="X: wanted rows that the network can take"):
            sampler.tell(draw, X, [0, 0])
    for module in (torch.nn.Linear(64, 1), torch.nn.Sequential(torch.nn.Linear(64, 4), torch.nn.Unflatten(1, (2, 2)))):
        narrow = OptimisticSampler(["u", "v"], TorchModel(module), seed=0)
        with pytest.raises(ArgumentError, match=r"module: wanted a network that returns logits \(n, 2\)"):
            narrow.tell(narrow.ask(), np.zeros((2, 64)), [0, 0])
    sampler.tell(draw, np.zeros((2, 1, 8, 8)), [0, 0])


def test_a_network_of_more_outputs_than_labels_predicts_labels():
    module = torch.nn.Linear(64, 10)
    with torch.no_grad():
        module.bias[9] = 50.0
    sampler = OptimisticSampler(["u", "v"], TorchModel(module), classes=[0, 1], seed=0)
    sampler.tell(sampler.ask(), np.zeros((2, 64)), [0, 1])
    talk_flat(sampler, 3)
    assert set(sampler.model.predict(np.zeros((4, 64)))) <= {0, 1}
    assert sampler.model.predict_proba(np.zeros((4, 64))).shape == (4, 2)


def talk_flat(sampler, rounds):
    for _ in range(rounds):
        draw = sampler.ask()
        sampler.tell(draw, np.ones((draw.count, 64)), np.arange(draw.count) % 2)


def test_a_module_that_cannot_be_saved_says_so_from_the_start():
    class Stateful(Noisy):
        def get_extra_state(self):
            return {"a": 1}

        def set_extra_state(self, state):
            pass

    register("tests/stateful-network", kind="part")(Stateful)
    for module, match in (
        (torch.nn.Linear(64, 2), "module: wanted a class with @register"),
        (Stateful(), "module: wanted parameters and buffers alone"),
    ):
        sampler = OptimisticSampler(["u", "v"], TorchModel(module), seed=0)
        assert any(note.startswith("this sampler cannot be saved: module") for note in sampler.notes)
        with pytest.raises(ArgumentError, match=match):
            to_bytes(sampler)
