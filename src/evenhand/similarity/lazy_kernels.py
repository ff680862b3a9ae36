"""Kernels as called from Python: plain Python at first, compiled once that pays.

All metric learners with one `cut` share their machine code, and so do the policies that have such a learner.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import OPEN, EntryPoint, Kernel, LazyKernel, entry, kernel, packer
from evenhand.rng import stream
from evenhand.similarity import rule
from evenhand.similarity.metric import direct, ends, learn_kernel
from evenhand.similarity.metric_state import MetricState, pack_metric
from evenhand.similarity.rule import draw, learn_reward

PLAIN_WORK, MOST_PLAIN_CALL = 3_000_000, 1_000_000
"""How many array entries a kernel touches as plain Python before it is compiled, about a second, and how many in one
call. Compiling takes up to a minute, loading what was compiled before a second."""

PROGRAM_WORK = 30
"""How much more a pair takes where linear programs certify its interval."""

pack_state = packer(rule.new_state(1, 2, 1.0, stream(0)))
pack_params = packer(rule.RoundParams(True, True, 0.1, 0.1, 1.0, 1.0, True, rule.ALL, np.zeros(0)))
decide = learn = OPEN
PROGRAMS, U = MetricState._fields.index("programs"), MetricState._fields.index("u")


@kernel
def _ends(x: Floats, y: Floats, index: int, metric: tuple[Any, ...]) -> Any:
    state = pack_metric(*metric)
    direct(state, x, y)
    if state.length[0] == 0.0:
        return 0.0, 0.0, 0.0
    return ends(state, index)


@kernel
def _learn(
    x: Floats, y: Floats, index: int, gap: float, unfair: bool, precision: float, metric: tuple[Any, ...]
) -> Any:
    state = pack_metric(*metric)
    direct(state, x, y)
    return learn(state, index, gap, unfair, precision)


@kernel
def _ask(contexts: Floats, round: int, params: tuple[Any, ...], state: tuple[Any, ...], metric: tuple[Any, ...]) -> Any:
    settings, own = pack_params(*params), pack_state(*state)
    decide(settings, own, pack_metric(*metric), contexts, round)
    return draw(settings, own)


@kernel
def _learn_reward(x: Floats, reward: float, state: tuple[Any, ...]) -> Any:
    learn_reward(pack_state(*state), x, reward)


@kernel
def _learn_verdicts(
    contexts: Floats,
    p: Floats,
    undecided: Ints,
    said: Ints,
    status: Ints,
    params: tuple[Any, ...],
    metric: tuple[Any, ...],
) -> Any:
    return learn(pack_params(*params), pack_metric(*metric), contexts, p, undecided, said, status)


class DistanceKernels(NamedTuple):
    """What a metric learner calls."""

    ends: LazyKernel
    """(x, y, index, metric) -> the least square of the distance, the guess, the largest square."""
    learn: LazyKernel
    """(x, y, index, gap, unfair, precision, metric) -> what came of the verdict."""


class RoundKernels(NamedTuple):
    """What a policy calls in a round."""

    ask: LazyKernel
    """(contexts, round, params, state, metric) -> the first who was drawn, or -1."""
    learn_reward: LazyKernel
    """(x, reward, state)"""
    learn_verdicts: LazyKernel
    """(contexts, p, undecided, said, status, params, metric) -> how many contradicted every metric."""


@functools.cache
def distance_kernels(cut: Kernel, plain_work: int) -> DistanceKernels:
    """Return the kernels of metric learners with this `cut`; for `plain_work` see `DistanceLearner`."""

    def work(*arguments: Any) -> int:
        return pair_work(plain_work, arguments[-1])

    return DistanceKernels(lazy_kernel(entry(_ends), work), lazy_kernel(entry(_learn, learn=learn_kernel(cut)), work))


@functools.cache
def round_kernels(cut: Kernel, plain_work: int) -> RoundKernels:
    """Return the kernels of policies over metric learners with this `cut`."""

    def round_work(contexts: Floats, *arguments: Any) -> int:
        k = len(contexts)
        return k * k * pair_work(plain_work, arguments[-1]) // 2 + k**3

    def small_work(*arguments: object) -> int:
        return PLAIN_WORK + 1 if ask.is_compiled else 0

    decide, learn = rule.rule_kernels(learn_kernel(cut))
    ask = lazy_kernel(entry(_ask, decide=decide), round_work)
    learn_verdicts = lazy_kernel(entry(_learn_verdicts, learn=learn), round_work)
    return RoundKernels(ask, lazy_kernel(entry(_learn_reward), small_work), learn_verdicts)


def lazy_kernel(entered: EntryPoint, work: Callable[..., int]) -> LazyKernel:
    """Return an entry that is compiled after so many calls; `work` says how many array entries a call touches."""

    def cost(*arguments: object) -> int:
        entries = work(*arguments)
        return entries if entries < MOST_PLAIN_CALL else PLAIN_WORK + 1

    return LazyKernel(entered, None, PLAIN_WORK, cost=cost)


def pair_work(plain_work: int, metric: tuple[Any, ...]) -> int:
    """Return about how many array entries a kernel touches for a pair, with this flat state of a metric learner."""
    programs, m = metric[PROGRAMS], metric[U].size
    return plain_work * int(m) ** 2 * (PROGRAM_WORK if programs else 1)
