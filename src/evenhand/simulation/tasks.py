"""Replications as tasks: handed to joblib's workers, stopped when the user says so."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from evenhand.kernels.arrays import Ints
from evenhand.policy.traits import traits_of
from evenhand.protocol import Decision
from evenhand.rng import child
from evenhand.simulation.analysis import analysed
from evenhand.simulation.delay import Delay
from evenhand.simulation.fit import check_given
from evenhand.simulation.history import Variables, variables
from evenhand.simulation.loop import replicate
from evenhand.simulation.schedule import ScheduleSource
from evenhand.simulation.world import world_traits

if TYPE_CHECKING:
    import pandas as pd

IN_PROCESS = ("threading", "sequential")


class Halt(Exception):
    """Raised inside a worker when the user has interrupted the simulation."""


def run_chunk(
    policy: object,
    world: Any,
    promise: object,
    name: str,
    replications: list[int],
    seed: int,
    checkpoints: Ints,
    tick: Callable[[int], None] | None = None,
    delay: Delay | None = None,
    given: ScheduleSource | None = None,
    learned: pd.DataFrame | None = None,
    analyse: Callable[[pd.DataFrame], object] | None = None,
) -> tuple[str, dict[int, Variables]]:
    """Run some replications of one policy; the seeds depend on the replication alone, not on who runs it."""
    results: dict[int, Variables] = {}
    plays_alone = world_traits(world).replicate
    for replication in replications:
        seeds: dict[str, Any] = {"world_seed": child(seed, replication, 0), "policy_seed": child(seed, replication, 1)}
        done = 0

        def stop(rounds: int) -> None:
            nonlocal done
            if tick is not None:
                tick(rounds - done)
            done = rounds

        if plays_alone is not None:
            results[replication] = plays_alone(policy, **seeds, checkpoints=checkpoints, stop=stop)
        else:
            schedule = None if given is None else given.schedule(replication, seeds["world_seed"])
            if schedule is not None and given is not None and callable(given.offers):
                check_given(f"policies[{name!r}]", policy, schedule)
            more: dict[str, Any] = {"delay": delay, "schedule": schedule, "learned": learned}
            log: list[tuple[Decision, float]] | None = None if analyse is None else []
            trace = replicate(policy, world, promise, **seeds, checkpoints=checkpoints, stop=stop, log=log, **more)
            plays = traits_of(policy).plays
            found = variables(trace, world, promise, checkpoints, plays, schedule=schedule)
            if analyse is not None and log is not None:
                found |= analysed(analyse, log, world.arms, found)
            results[replication] = found
    return name, results


def chunks(names: list[str], missing: dict[str, list[int]], size: int) -> Iterator[tuple[str, list[int]]]:
    """Deal out what is missing, early replications of all policies first, so that an interruption leaves whole ones."""
    longest = max((len(r) for r in missing.values()), default=0)
    for start in range(0, longest, size):
        for name in names:
            if missing[name][start : start + size]:
                yield name, missing[name][start : start + size]


@contextlib.contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets, before it raises KeyboardInterrupt, so that threads hear of it too."""
    halt = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield halt
        return
    before = signal.getsignal(signal.SIGINT)

    def handle(number: int, frame: object) -> None:
        halt.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    try:
        yield halt
    finally:
        signal.signal(signal.SIGINT, before)
