"""How a network learns: any optimizer and schedule of torch, and what they remember as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.sampling.models.modules import torch_module

__all__ = ["OptimizerChoice", "made_optimizer", "made_schedule", "memory_of", "remember"]

OptimizerChoice = str | Callable[[Any], Any]
"""A name in torch.optim, or a function from the weights to an optimizer."""


def made_optimizer(choice: OptimizerChoice, module: Any, learning_rate: float) -> Any:
    """Return the optimizer of a module's weights.

    Raises
    ------
    ArgumentError
        If there is none of that name, it cannot be made, or its step needs a closure.
    """
    torch = torch_module()
    weights = list(module.parameters())
    if isinstance(choice, str):
        make: Any = getattr(torch.optim, choice, None)
        if not isinstance(make, type) or not issubclass(make, torch.optim.Optimizer) or make is torch.optim.Optimizer:
            raise ArgumentError(wanted("optimizer", "a name in torch.optim such as 'Adam', or a function", choice))
    elif callable(choice):
        make = choice
    else:
        raise ArgumentError(wanted("optimizer", "a name in torch.optim such as 'Adam', or a function", choice))
    try:
        made = make(weights, lr=learning_rate) if isinstance(choice, str) else make(weights)
    except Exception as error:
        raise ArgumentError(wanted("optimizer", "one for these weights", choice, str(error))) from error
    if not isinstance(made, torch.optim.Optimizer) or isinstance(made, torch.optim.LBFGS):
        what = "an optimizer of torch whose step needs no closure"
        raise ArgumentError(wanted("optimizer", what, type(made).__name__))
    return made


def made_schedule(choice: Callable[[Any], Any] | None, optimizer: Any) -> Any:
    """Return the schedule of an optimizer, or None.

    Raises
    ------
    ArgumentError
        If it is no function that returns a schedule of torch which steps by rounds alone.
    """
    if choice is None:
        return None
    schedules = torch_module().optim.lr_scheduler
    made = choice(optimizer) if callable(choice) else choice
    if not isinstance(made, schedules.LRScheduler) or isinstance(made, schedules.ReduceLROnPlateau):
        what = "a function from the optimizer to a schedule of torch.optim.lr_scheduler that needs no metric"
        raise ArgumentError(wanted("schedule", what, choice))
    return made


def memory_of(optimizer: Any) -> dict[str, Any]:
    """Return an optimizer's moments and settings as plain data."""
    torch, state = torch_module(), optimizer.state_dict()
    moments = {
        str(key): {k: v.detach().cpu().numpy() if torch.is_tensor(v) else v for k, v in values.items()}
        for key, values in state["state"].items()
    }
    return {"moments": moments, "groups": state["param_groups"]}


def remember(optimizer: Any, saved: Any) -> None:
    """Give an optimizer the memory that `memory_of` returned."""
    torch = torch_module()
    state = {
        int(key): {k: torch.as_tensor(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}
        for key, values in saved["moments"].items()
    }
    optimizer.load_state_dict({"state": state, "param_groups": [dict(group) for group in saved["groups"]]})
