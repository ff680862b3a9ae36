"""The paper's convolutional networks. Importing this module imports torch.

Source: S. Shekhar, G. Fields, M. Ghavamzadeh, T. Javidi, "Adaptive Sampling for Minimax Fair Classification",
NeurIPS 2021, Appendix E.
"""

from __future__ import annotations

from typing import Any

from evenhand.registry import register
from evenhand.sampling.models.torch_model import torch_module

__all__ = ["ConvolutionalNetwork"]

torch = torch_module()


@register("sampling/convolutional-network", kind="part")
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
        self._config = {"channels": channels, "size": size, "second": second, "seed": seed}
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

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return dict(self._config)
