"""Run calls side by side, in processes or threads of joblib."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal

from evenhand.errors import ArgumentError, expected
from evenhand.extras import optional
from evenhand.processes import end_with, renew_in_child


@contextlib.contextmanager
def parallel_jobs(jobs: int, backend: str) -> Iterator[Any]:
    """Yield the `joblib.Parallel` of that backend, its results unordered as they come (with ray, all at the end).

    Raises
    ------
    MissingExtraError
        If the backend's package is not installed.
    ArgumentError
        If joblib knows no such backend, or it has no cluster to run on.
    """
    joblib = _import_joblib()
    if backend == "ray":
        optional("ray.util.joblib", "backend 'ray'").register_ray()
    if backend == "dask":
        optional("distributed", "backend 'dask'")
    try:
        context = joblib.parallel_config(backend=backend, n_jobs=jobs)
    except ValueError as error:
        raise ArgumentError(
            expected("backend", "a joblib backend that is ready to run", backend, str(error))
        ) from error
    as_they_come: Any = {"return_as": "list" if backend == "ray" else "generator_unordered"}
    with context, restarts_unreported(), joblib.Parallel(**as_they_come) as parallel:
        yield parallel


def run_all(
    call: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    jobs: int,
    prefer: Literal["threads"] | None = None,
) -> list[Any]:
    """Return what the call returns for each tuple of arguments, in their order, from so many processes, or
    threads, unless `joblib.parallel_config` says otherwise."""
    joblib = _import_joblib()
    task = joblib.delayed(partial(as_worker, call, os.getpid()))
    with restarts_unreported():
        return list(joblib.Parallel(n_jobs=jobs, prefer=prefer)(task(*given) for given in arguments))


def as_worker(call: Callable[..., Any], parent: int, /, *given: object, **named: object) -> Any:
    """Call a function in a worker, which ends with its parent."""
    end_with(parent)
    return call(*given, **named)


def _import_joblib() -> Any:
    """Return joblib; a forked process starts workers of its own, as it would wait for those of its parent for ever."""
    import joblib
    from joblib.externals.loky import reusable_executor

    renew_in_child(reusable_executor, _without_workers)
    return joblib


def _without_workers(loky: Any) -> object:
    inherited, loky._executor, loky._executor_lock = loky._executor, None, threading.RLock()
    return inherited


@contextlib.contextmanager
def restarts_unreported() -> Iterator[None]:
    """Keep joblib from warning that it replaced a process.

    It replaces a process whose memory has grown, and warns of it in the thread that hands out the tasks. Where
    warnings are errors (`python -W error`, pytest), this thread ends, no task is handed out any more, and the call
    never returns.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        yield
