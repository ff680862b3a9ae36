"""Torch modules as models: trained, saved and loaded exactly, refused where they cannot be."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError
from evenhand.sampling import OptimisticSampler, TorchModel
from evenhand.state import from_bytes, to_bytes

torch = pytest.importorskip("torch")


def pictures(rng, index, count):
    y = rng.integers(0, 2, count)
    X = rng.normal(size=(count, 1, 8, 8)).astype(np.float32)
    X[:, 0, index, :] += 2 * y[:, None] - 1
    return X, y


def network(seed=0):
    from evenhand.sampling.networks import ConvolutionalNetwork

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
    with pytest.raises(ArgumentError, match=r"inside evenhand\.sampling\.TorchModel"):
        OptimisticSampler(["u", "v"], network())
    if not torch.cuda.is_available():
        with pytest.raises(ArgumentError, match="device: wanted"):
            TorchModel(network(), device="cuda")
    plain = OptimisticSampler(["u", "v"], TorchModel(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))))
    with pytest.raises(ArgumentError, match="module: wanted a class"):
        to_bytes(plain)
