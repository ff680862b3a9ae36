"""Torch modules: imported when they are asked for, copied, split into mini-batches, and their weights as arrays."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.extras import optional
from evenhand.rng import child
from evenhand.saving.saved import LOADING_DEVICE
from evenhand.saving.saved import fill as fill_array

__all__ = [
    "arrays_of", "built", "checked_device", "fill", "mini_batches", "registered_name", "repeatable", "saved_device",
    "tensors_of", "torch_module", "untrained",
]  # fmt: skip


def torch_module() -> Any:
    """Return the module `torch`.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    return optional("torch", "a network")


def checked_device(device: Any) -> str:
    """Return the name of a device that is there, given as a name or a `torch.device`.

    Raises
    ------
    ArgumentError
        If it is not.
    """
    torch = torch_module()
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ArgumentError(wanted("device", "'cpu', 'cuda' or 'cuda:1'", device)) from error
    if not _is_there(found):
        raise ArgumentError(wanted("device", "a device that is there", str(device), "use device='cpu'"))
    return str(device)


def _is_there(device: Any) -> bool:
    torch = torch_module()
    if device.type == "cuda":
        return (device.index or 0) < torch.cuda.device_count()
    return device.type == "cpu" or (device.type == "mps" and torch.backends.mps.is_available())


def saved_device(device: str) -> str:
    """Return the device for a model that was saved on `device`: the one that `load` was given, else the same, else the
    processor, with a warning.
    """
    if LOADING_DEVICE.get() is not None:
        return checked_device(LOADING_DEVICE.get())
    if _is_there(torch_module().device(device)):
        return device
    warnings.warn(f"saved on {device!r}, which is not here: the model continues on 'cpu'", UserWarning, stacklevel=2)
    return "cpu"


def registered_name(function: Any) -> str | None:
    """Return the name under which a function is registered, or None."""
    return getattr(function, "registered_name", None)


def built(module: Any, seed: int, device: str) -> tuple[Any, Callable[[], Any] | None]:
    """Return the module, and the function that it came from, if it is one; what that draws, it draws from `seed`, the
    model's.

    Raises
    ------
    ArgumentError
        If it is neither a module nor a function that returns one.
    """
    kind = torch_module().nn.Module
    if isinstance(module, kind):
        return module, None
    what = "a torch.nn.Module, or a function without arguments that returns one"
    if isinstance(module, type) or not callable(module):
        raise ArgumentError(wanted("module", what, module if isinstance(module, type) else type(module).__name__))
    try:
        with repeatable(child(seed, 0, 3), torch_module().device(device), False):
            found = module()
    except Exception as error:
        raise ArgumentError(wanted("module", what, module, f"{type(error).__name__}: {error}")) from error
    if not isinstance(found, kind):
        raise ArgumentError(wanted("module", what, f"one that returns {type(found).__name__}"))
    return found, module


@contextmanager
def repeatable(seed: int, device: Any, deterministic: bool) -> Iterator[None]:
    """Draw all that torch draws from a seed, by deterministic algorithms alone if asked for; torch's global generators
    and settings are left as they were.
    """
    torch = torch_module()
    gpus = [torch.cuda.current_device() if device.index is None else device.index] if device.type == "cuda" else []
    before = torch.get_deterministic_debug_mode()
    with torch.random.fork_rng(devices=gpus):
        torch.default_generator.manual_seed(seed)
        for gpu in gpus:
            torch.cuda.default_generators[gpu].manual_seed(seed)
        if deterministic:
            torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(before)


def untrained(module: Any) -> Any:
    """Return a copy of the module on the processor.

    Raises
    ------
    ArgumentError
        If it has nothing to train, or cannot be copied or saved.
    """
    torch = torch_module()
    if any(torch.nn.parameter.is_lazy(weights) for weights in module.parameters()):
        raise ArgumentError(
            wanted("module", "one whose weights have a size", "lazy ones", "run a row through it first")
        )
    if not any(weights.requires_grad for weights in module.parameters()):
        raise ArgumentError(wanted("module", "one with weights to train", type(module).__name__))
    if any(tensor.dtype == torch.bfloat16 for _, tensor in tensors_of(module)):
        mend = "give it in single precision, with mixed_precision=True"
        raise ArgumentError(wanted("module", "weights that can be saved", "bfloat16 ones", mend))
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


def fill(module: Any, arrays: Any) -> None:
    """Set a module's tensors to saved arrays.

    Raises
    ------
    StateFileError
        If an array has another type or shape.
    """
    torch = torch_module()
    with torch.no_grad():
        for name, tensor in tensors_of(module):
            held = np.empty(tuple(tensor.shape), tensor.detach().cpu().numpy().dtype)
            fill_array(held, arrays[name], f"weights {name}")
            tensor.copy_(torch.as_tensor(held))
