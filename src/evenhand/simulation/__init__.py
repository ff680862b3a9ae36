"""Policies in worlds: the compiled loop, replications, backends, history."""

from evenhand.simulation.simulate import simulate
from evenhand.simulation.world import KernelWorld, WorldKernels

__all__ = ["KernelWorld", "WorldKernels", "simulate"]


def __dir__() -> list[str]:
    return __all__
