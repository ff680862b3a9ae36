"""Devices, optimizers, schedules, factories and types of rows of torch models; what cannot be is refused by name."""

import warnings

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ModelError
from evenhand.registry import register
from evenhand.sampling import OptimisticSampler, TorchModel
from evenhand.sampling.pools.rows import Rows
from evenhand.saving.state import from_bytes, to_bytes
from tests.naming import named

pytestmark = pytest.mark.compiled

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@register("tests/small-network", kind="part")
def small():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))


@register("tests/drawn-network", kind="part")
def drawn():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def weights_of(model):
    return np.concatenate([weights.detach().numpy().ravel() for weights in model.module.parameters()])


@register("tests/momentum", kind="part")
def momentum(weights):
    return torch.optim.SGD(weights, lr=0.05, momentum=0.9, nesterov=True)


@register("tests/falling", kind="part")
def falling(optimizer):
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)


def rows_of(rng, count):
    y = rng.integers(0, 2, count)
    return (rng.normal(size=(count, 4)) + y[:, None]).astype(np.float32), y


def talk(sampler, rng, rounds):
    for _ in range(rounds):
        draw = sampler.ask()
        sampler.tell(draw, *rows_of(rng, draw.count))


def sampler_of(module=small, **more):
    return OptimisticSampler(["u", "v"], TorchModel(module, **more), batch=4, classes=[0, 1], seed=1)


CHOICES = [
    {}, {"optimizer": "SGD"}, {"optimizer": "AdamW", "schedule": falling}, {"optimizer": momentum, "schedule": falling},
    {"optimizer": "Adafactor", "deterministic": True},
]  # fmt: skip


@pytest.mark.parametrize("choice", CHOICES, ids=named)
def test_factories_optimizers_and_schedules_are_saved_and_go_on_exactly(choice):
    first = sampler_of(**choice)
    talk(first, np.random.default_rng(0), 5)
    second = from_bytes(to_bytes(first))
    for one in (first, second):
        talk(one, np.random.default_rng(1), 4)
    assert to_bytes(first) == to_bytes(second)
    assert to_bytes(first.fresh()) == to_bytes(sampler_of(**choice))
    if "schedule" in choice:
        assert second.model.optimizer.param_groups[0]["lr"] == pytest.approx(
            second.model.schedule.base_lrs[0] * 0.5**second.model.rounds
        )


class Failing(torch.optim.lr_scheduler.ExponentialLR):
    fails = False

    def step(self, epoch=None):
        super().step()
        if Failing.fails:
            raise RuntimeError("no room")


@register("tests/failing", kind="part")
def failing(optimizer):
    return Failing(optimizer, 0.5)


def test_a_failing_round_takes_the_schedule_back_too(monkeypatch):
    sampler = sampler_of(optimizer=momentum, schedule=failing)
    talk(sampler, np.random.default_rng(0), 4)
    draw = sampler.ask()
    before = to_bytes(sampler)
    monkeypatch.setattr(Failing, "fails", True)
    with pytest.raises(ModelError, match="no room"):
        sampler.tell(draw, *rows_of(np.random.default_rng(2), draw.count))
    assert to_bytes(sampler) == before
    assert sampler.open_tickets == [draw.id]


def plain(weights):
    return torch.optim.SGD(weights, lr=0.1)


def test_functions_that_are_not_registered_cannot_be_saved():
    for more, match in (
        ({"module": lambda: nn.Linear(4, 2)}, "module: wanted a class with @register"),
        ({"optimizer": plain}, "optimizer: wanted a function with @register"),
        ({"schedule": lambda o: torch.optim.lr_scheduler.ConstantLR(o)}, "schedule: wanted a function with @register"),
    ):
        sampler = sampler_of(**more)
        talk(sampler, np.random.default_rng(0), 2)
        assert any(match in note for note in sampler.notes)
        with pytest.raises(ArgumentError, match=match):
            to_bytes(sampler)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"optimizer": "Best"}, "optimizer: wanted a name in torch.optim"),
        ({"optimizer": "Optimizer"}, "optimizer: wanted a name in torch.optim"),
        ({"optimizer": 3}, "optimizer: wanted a name in torch.optim"),
        ({"optimizer": "LBFGS"}, "optimizer: wanted an optimizer of torch whose step needs no closure"),
        ({"optimizer": lambda weights: weights}, "optimizer: wanted an optimizer of torch"),
        ({"optimizer": lambda weights: 1 / 0}, "optimizer: wanted one for these weights"),
        ({"schedule": lambda optimizer: 3}, "schedule: wanted a function from the optimizer"),
        ({"schedule": "StepLR"}, "schedule: wanted a function from the optimizer"),
        ({"schedule": lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o)}, "that needs no metric"),
        ({"deterministic": "yes"}, "deterministic: wanted True or False"),
        ({"stream": 1}, "stream: wanted True or False"),
        ({"module": lambda: 3}, "module: wanted a torch.nn.Module, or a function"),
        ({"module": nn.Linear(4, 2).bfloat16()}, "module: wanted weights that can be saved, got 'bfloat16 ones'"),
        ({"module": lambda: 1 / 0}, "module: wanted a torch.nn.Module, or a function"),
        ({"module": nn.Linear}, "module: wanted a torch.nn.Module, or a function"),
        *[({"device": name}, "device: wanted") for name in ("gpu", "cuda:99", "meta", "xla", torch.device("meta"))],
    ],
    ids=named,
)
def test_refusals(more, match):
    with pytest.raises(ArgumentError, match=match):
        sampler_of(**more)


def test_a_device_of_torch_is_taken():
    assert sampler_of(device=torch.device("cpu")).model.device == "cpu"


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.last = nn.Embedding(9, 6), nn.Linear(6, 2)

    def forward(self, X):
        return self.last(self.embedding(X).mean(1))


@register("tests/words", kind="part")
def words():
    torch.manual_seed(1)
    return Words()


@pytest.mark.parametrize("kind", [np.int64, np.int32, None])
def test_whole_numbers_reach_an_embedding_as_they_are(kind):
    def told(rng, count):
        y = rng.integers(0, 2, count)
        X = rng.integers(0, 4, (count, 5)) + 4 * y[:, None]
        return (X.tolist() if kind is None else X.astype(kind)), y

    sampler, rng = sampler_of(words, learning_rate=0.05), np.random.default_rng(0)
    for _ in range(12):
        draw = sampler.ask()
        sampler.tell(draw, *told(rng, draw.count))
    assert sampler.training.X.dtype == (kind or np.int64)
    again = from_bytes(to_bytes(sampler))
    X, y = told(rng, 50)
    assert (again.model.predict(X) == sampler.model.predict(X)).all()
    assert np.mean(again.finish().model.predict(X) == y) > 0.9
    check = again.certify(threshold=0.4, batch=20)
    check.tell(check.ask(), *told(rng, 20))
    assert check.counts.sum() == 20


@pytest.mark.parametrize("kind", [np.uint8, np.float16, np.int16])
def test_rows_are_kept_in_their_type_and_computed_in_single_precision(kind):
    def told(rng, count):
        X, y = rows_of(rng, count)
        return np.clip(X * 9 + 30, 0, 255).astype(kind), y

    narrow, wide = sampler_of(), sampler_of()
    for one, kept in ((narrow, kind), (wide, np.float32)):
        rng = np.random.default_rng(0)
        for _ in range(5):
            draw = one.ask()
            X, y = told(rng, draw.count)
            one.tell(draw, X.astype(kept), y)
    assert (narrow.training.X.dtype, wide.training.X.dtype) == (kind, np.float32)
    assert to_bytes(narrow.model) == to_bytes(wide.model)
    assert to_bytes(from_bytes(to_bytes(narrow))) == to_bytes(narrow)
    assert len(to_bytes(narrow)) <= len(to_bytes(wide))


def test_tables_on_a_device_take_up_new_rows_alone(monkeypatch):
    from evenhand.sampling.models.device_rows import DeviceRows

    there, table, sent = DeviceRows("cpu", False), Rows(1), []
    assert there.table(table).base is table.X
    there._held, real = True, there._up
    monkeypatch.setattr(there, "_up", lambda X: sent.append(len(X)) or real(X))
    for count in (5, 3, 60, 2):
        table.append(np.full((count, 2), count, np.uint8), [0] * count, 0)
        assert (there.table(table).numpy() == table.X[: table.count]).all()
    assert there.table(table).dtype == torch.uint8
    assert sent == [5, 3, 68, 2, 0]  # the third made the table grow
    table.truncate(4)
    table.append(np.full((2, 2), 200, np.uint8), [0] * 2, 0)
    assert (there.table(table).numpy() == table.X[:6]).all()


def test_deterministic_algorithms_are_used_while_it_computes_and_not_after():
    class Asks(nn.Linear):
        seen = ()

        def forward(self, X):
            self.seen += (torch.are_deterministic_algorithms_enabled(),)
            return super().forward(X)

    for chosen in (False, True):
        sampler = sampler_of(Asks(4, 2), deterministic=chosen)
        talk(sampler, np.random.default_rng(0), 2)
        assert set(sampler.model.module.seen) == {chosen}
        assert not torch.are_deterministic_algorithms_enabled()


def test_a_file_saved_on_a_gpu_loads_where_there_is_none(tmp_path, monkeypatch):
    sampler = sampler_of()
    talk(sampler, np.random.default_rng(0), 3)
    elsewhere = sampler.model.snapshot()
    elsewhere["settings"]["device"] = "cuda:99"
    monkeypatch.setattr(sampler.model, "snapshot", lambda: elsewhere)
    eh.save(sampler, tmp_path / "sampler.evenhand")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="saved on 'cuda:99', which is not here: the model continues on 'cpu'"):
        first = eh.load(tmp_path / "sampler.evenhand")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = eh.load(tmp_path / "sampler.evenhand", device="cpu")
    assert to_bytes(first) == to_bytes(second) == to_bytes(sampler)
    with pytest.raises(ArgumentError, match="device: wanted 'cpu', 'cuda' or 'cuda:1', got 'gpu'"):
        eh.load(tmp_path / "sampler.evenhand", device="gpu")


def test_a_function_draws_its_weights_from_the_samplers_seed_and_not_from_torchs_generator():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one = OptimisticSampler(["u", "v"], TorchModel(drawn), seed=1)
    loaded = from_bytes(to_bytes(one))
    other = OptimisticSampler(["u", "v"], TorchModel(drawn), seed=2)
    assert (torch.get_rng_state() == before).all()
    torch.manual_seed(6)
    again = OptimisticSampler(["u", "v"], TorchModel(drawn), seed=1)
    for same in (again, one.fresh(), other.fresh(seed=1), loaded, loaded.fresh()):
        assert (weights_of(same.model) == weights_of(one.model)).all()
    assert (weights_of(other.model) != weights_of(one.model)).all()
    assert (weights_of(one.fresh(seed=2).model) == weights_of(other.model)).all()
    assert (weights_of(TorchModel(drawn)) == weights_of(TorchModel(drawn))).all()


def test_a_module_keeps_the_weights_that_it_came_with():
    module = drawn()
    for seed in (1, 2):
        sampler = OptimisticSampler(["u", "v"], TorchModel(module), seed=seed)
        assert (weights_of(sampler.model) == weights_of(TorchModel(module))).all()


def test_a_model_that_was_saved_with_other_first_weights_begins_again_with_those():
    """As states have them whose function drew from torch's own generator."""
    sampler = OptimisticSampler(["u", "v"], TorchModel(drawn), batch=4, classes=[0, 1], seed=1)
    with torch.no_grad():
        for weights in sampler.model.untrained.parameters():
            weights.add_(1.0)
    twin = from_bytes(to_bytes(sampler))
    for one in (sampler, twin):
        talk(one, np.random.default_rng(0), 3)
        one.relabel("training", 0, 1 - int(one.training.y[0]))
    assert (weights_of(twin.model) == weights_of(sampler.model)).all()
    assert (weights_of(sampler.model.fresh(sampler.model.seed)) == weights_of(TorchModel(twin.model.untrained))).all()
