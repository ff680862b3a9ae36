"""Policies in worlds: the compiled loop, replications, backends, history."""

from evenhand.simulation.environments import from_gymnasium, to_gymnasium
from evenhand.simulation.simulate import simulate
from evenhand.simulation.world import KernelWorld, WorldKernels

__all__ = ["KernelWorld", "WorldKernels", "from_gymnasium", "simulate", "to_gymnasium"]


def __dir__() -> list[str]:
    return __all__
