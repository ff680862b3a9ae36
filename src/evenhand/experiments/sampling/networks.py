"""The paper's convolutional networks, and their training. Importing this module imports torch.

Source: S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair Classification",
NeurIPS 2021, Appendix E.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evenhand.extras import optional

torch = optional("torch", "a network")
skorch = optional("skorch", "a network")
CHUNK = 256
"""Rows that go through the network at once: what the layers compute of them stays in a processor's cache."""


class ConvolutionalNetwork(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Convolution 32 (3x3, padding 1), ReLU, max-pool 2; convolution 64 (3x3), ReLU, max-pool 2; fully connected
    600, 120, 2.

    Pictures and weights are held channels last, and each maximum is taken before the ReLU: the same numbers and
    gradients in less time.

    Parameters
    ----------
    channels, size : of the images (n, channels, size, size).
    second : with the second convolution; the paper leaves it out for FashionMNIST.
    seed : for the first weights; torch's global generator is left as it was.
    """

    def __init__(self, *, channels: int, size: int, second: bool = True, seed: int = 0) -> None:
        super().__init__()
        nn = torch.nn
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers: list[Any] = [nn.Conv2d(channels, 32, 3, padding=1), nn.MaxPool2d(2), nn.ReLU()]
            width, features = size // 2, 32
            if second:
                layers += [nn.Conv2d(32, 64, 3), nn.MaxPool2d(2), nn.ReLU()]
                width, features = (width - 2) // 2, 64
            layers += [
                nn.Flatten(),
                nn.Linear(features * width * width, 600),
                nn.ReLU(),
                nn.Linear(600, 120),
                nn.ReLU(),
            ]
            self.layers = nn.Sequential(*layers, nn.Linear(120, 2)).to(memory_format=torch.channels_last)

    def forward(self, images: Any) -> Any:
        """Return logits (n, 2)."""
        return self.layers(images.to(memory_format=torch.channels_last))


class PaperNetwork(skorch.NeuralNetClassifier):  # type: ignore[misc, name-defined]
    """One step of the optimizer an epoch, over all rows, which go through the network in parts."""

    mixed = False

    def get_iterator(self, dataset: Any, training: bool = False) -> Iterable[tuple[Any, Any]]:
        """Return all rows at once for training, parts of them for prediction."""
        X = torch.from_numpy(dataset.X)
        return [(X, torch.from_numpy(dataset.y))] if training else ((part, None) for part in X.split(CHUNK))

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Add up the gradients of the mean loss of all rows."""
        X, y = batch
        self._set_training(True)
        total = torch.zeros(())
        for rows, codes in zip(X.split(CHUNK), y.to(self.device).split(CHUNK), strict=True):
            loss = torch.nn.functional.cross_entropy(self.infer(rows), codes, reduction="sum").div(len(y))
            loss.backward()
            total += loss.detach().cpu()
        return {"loss": total, "y_pred": None}

    def infer(self, x: object, **fit_params: object) -> Any:
        """Return logits (n, 2) in single precision."""
        with torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=self.mixed):
            return super().infer(x, **fit_params).float()


class MixedNetwork(PaperNetwork):
    """Multiplied in bfloat16; weights and losses stay in single precision."""

    mixed = True


def paper_network(shape: dict[str, Any], mixed: bool, device: str) -> PaperNetwork:
    """Return the untrained network of a task, which takes one step of Adam a round."""
    made = MixedNetwork if mixed else PaperNetwork
    return made(
        ConvolutionalNetwork,
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=1e-3,
        max_epochs=1,
        warm_start=True,
        train_split=None,
        callbacks="disable",
        verbose=0,
        device=device,
        **{f"module__{name}": value for name, value in shape.items()},
    )
