"""Torch modules: imported when they are asked for, copied, split into mini-batches, and their weights as arrays."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

from numpy.typing import NDArray

from evenhand.errors import ArgumentError, MissingExtraError, wanted

__all__ = ["arrays_of", "checked_device", "fill", "mini_batches", "tensors_of", "torch_module", "untrained"]


def torch_module() -> Any:
    """Return the module `torch`.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("networks need torch; install it with: pip install 'evenhand[torch]'") from error
    return torch


def checked_device(device: Any) -> str:
    """Return the name of a device that is there.

    Raises
    ------
    ArgumentError
        If it is not.
    """
    torch = torch_module()
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ArgumentError(wanted("device", "'cpu' or 'cuda'", device)) from error
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise ArgumentError(wanted("device", "a device that is there", device, "use device='cpu'"))
    return str(device)


def untrained(module: Any) -> Any:
    """Return a copy of the module on the processor.

    Raises
    ------
    ArgumentError
        If it has nothing to train, or cannot be copied.
    """
    torch = torch_module()
    if any(torch.nn.parameter.is_lazy(weights) for weights in module.parameters()):
        raise ArgumentError(
            wanted("module", "one whose weights have a size", "lazy ones", "run a row through it first")
        )
    if not any(weights.requires_grad for weights in module.parameters()):
        raise ArgumentError(wanted("module", "one with weights to train", type(module).__name__))
    try:
        return copy.deepcopy(module).cpu()
    except Exception as error:
        raise ArgumentError(
            wanted("module", "one that copy.deepcopy can copy", type(module).__name__, str(error))
        ) from error


def mini_batches(count: int, size: int) -> list[slice]:
    """Return mini-batches of `size` rows; a last one of a single row joins the one before, as batch norms want."""
    edges = [*range(0, count, size), count]
    if size > 1 and len(edges) > 2 and edges[-1] - edges[-2] == 1:
        del edges[-2]
    return [slice(start, end) for start, end in pairwise(edges)]


def tensors_of(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the module's parameters and buffers by name."""
    return chain(module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))


def arrays_of(module: Any) -> dict[str, NDArray[Any]]:
    """Return the module's parameters and buffers as arrays."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors_of(module)}


def fill(module: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Set the tensors of those names."""
    torch = torch_module()
    with torch.no_grad():
        for name, tensor in tensors_of(module):
            if name in arrays:
                tensor.copy_(torch.as_tensor(arrays[name]))
