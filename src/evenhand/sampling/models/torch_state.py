"""How a torch model is saved: the name of what makes its network, the weights, and what the optimizer remembers."""

from __future__ import annotations

from typing import Any

from evenhand import registry
from evenhand.errors import ArgumentError, wanted
from evenhand.sampling.models.modules import (
    arrays_of,
    fill,
    registered_name,
    repeatable,
    saved_device,
    tensors_of,
    torch_module,
)
from evenhand.sampling.models.optimizing import memory_of, remember

__all__ = ["restored_model", "state_of", "why_unsavable"]


def why_unsavable(model: Any) -> str:
    """Return why a model cannot be saved, or nothing."""
    name = type(model.module).__name__
    if _maker(model) is None:
        what = "a class with @register(name, kind='part') and config(), to be saved, or a registered function"
        return wanted("module", what, name)
    if set(model.module.state_dict()) - {name for name, _ in tensors_of(model.module)}:
        return wanted("module", "parameters and buffers alone, to be saved", f"{name} with get_extra_state()")
    for what, choice in model.settings().items():
        if callable(choice) and registered_name(choice) is None:
            return wanted(what, "a function with @register(name, kind='part'), to be saved", choice)
    return ""


def _maker(model: Any) -> str | None:
    if model.factory is not None:
        return registered_name(model.factory)
    return registry.name_of(model.module) if hasattr(model.module, "config") else None


def state_of(model: Any) -> dict[str, Any]:
    """Return everything that `restored_model` needs.

    Raises
    ------
    ArgumentError
        If the module's class is not registered with a `config()`, or a function is not registered.
    """
    if why := why_unsavable(model):
        raise ArgumentError(why)
    settings = {
        name: {"part": registered_name(value)} if callable(value) else value for name, value in model.settings().items()
    }
    return {
        "module": _maker(model), "weights": arrays_of(model.module), "settings": settings,
        "config": {} if model.factory is not None else model.module.config(),
        "initial": arrays_of(model.untrained), **memory_of(model.optimizer),
        "progress": None if model.schedule is None else model.schedule.state_dict(),
        "classes": list(model.classes), "constant": model.constant, "rounds": model.rounds, "seed": model.seed,
        "takes_whole": model.takes_whole, **model.names,
    }  # fmt: skip


def restored_model(cls: Any, snapshot: dict[str, Any]) -> Any:
    """Return the model of a snapshot, on the device that `load` was given, or where it was, or on the processor."""
    settings = {
        name: registry.get(value["part"]).cls if isinstance(value, dict) else value
        for name, value in snapshot["settings"].items()
    }
    make, device = registry.get(snapshot["module"]).cls, saved_device(settings["device"])
    with repeatable(0, torch_module().device(device), False):
        module = make(**snapshot["config"])
    fill(module, snapshot["initial"])
    model = cls(module, **{**settings, "device": device})
    model.factory = None if isinstance(make, type) else make
    fill(model.module, snapshot["weights"])
    remember(model.optimizer, snapshot)
    if model.schedule is not None:
        model.schedule.load_state_dict(snapshot["progress"])
    model.classes, model.constant = tuple(snapshot["classes"]), snapshot["constant"]
    model.rounds, model.seed = snapshot["rounds"], snapshot["seed"]
    model.takes_whole = bool(snapshot["takes_whole"])
    model.take_names(snapshot)
    return model
