"""The value of a policy that learns, from a replay, with its interval and the audit of its promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, TableError, wanted
from evenhand.evaluation.course import look_rounds
from evenhand.evaluation.diagnosis import weights_of
from evenhand.evaluation.findings import Evaluation
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.replay import Replayed, least_chance, read_learner, replay, sure_rounds
from evenhand.evaluation.sequences import running_mean
from evenhand.kernels.arrays import Floats
from evenhand.progress import ProgressBar

if TYPE_CHECKING:
    from evenhand.quotas import Audit

__all__ = ["Settings", "evaluate_learners", "learns"]

Interval = tuple[float, float]


def learns(policy: Any) -> bool:
    """Return whether a policy decides by what it was told, so that it has to be replayed."""
    both = callable(getattr(policy, "ask", None)) and callable(getattr(policy, "tell", None))
    return both and not isinstance(policy, type)


class Settings(NamedTuple):
    """How policies are replayed, see `evaluate`."""

    level: float
    anytime: bool
    rounds: int | None
    replays: int
    seed: int


def evaluate_learners(
    policies: Mapping[str, Any], logged: Logged, settings: Settings, bar: ProgressBar
) -> tuple[dict[str, Evaluation], dict[str, Interval]]:
    """Return the evaluation of each policy over the same number of rounds, and an interval of each, all of which hold
    together.

    Raises
    ------
    TableError
        If a replay ends before the number of rounds.
    """
    if logged.positions:
        mend = "evaluate the rows of one position, such as log[log['position'] == 1]"
        what = "None where a policy is replayed: a replay mixes the positions"
        raise ArgumentError(wanted("position", what, list(logged.places), mend))
    ready = {name: read_learner(name, policy, logged) for name, policy in policies.items()}
    counts = np.bincount(logged.codes, minlength=len(logged.arms))
    if logged.contexts is None:
        sure = min(sure_rounds(policy, counts) for policy in ready.values())
    else:  # rows are taken with the least chance each: all but one in a thousand replays reach so many
        expected = len(logged.codes) * least_chance(logged)
        sure = int(max(0.0, expected - 3 * expected**0.5))
    rounds = max(2, sure) if settings.rounds is None else whole("rounds", settings.rounds, low=2)
    runs: dict[str, list[Replayed]] = {}
    for name, policy in ready.items():
        runs[name] = []
        for number in range(settings.replays):
            runs[name].append(replay(policy, logged, settings.seed, number))
            bar.advance()
        reached = min(len(run.rewards) for run in runs[name])
        if reached < rounds:
            what, mend = f"at most {reached}, as a replay ends there", "ask for fewer, or bring a longer log"
            raise TableError(wanted("rounds", what, rounds, mend))
    found = {name: _evaluation(ready[name], runs[name], logged, rounds, sure, settings) for name in ready}
    share = (1 - settings.level) / len(policies)
    return found, {name: _bounds(_rewards(runs[name], rounds), share, settings.anytime)[-1] for name in ready}


def _rewards(runs: list[Replayed], rounds: int) -> Floats:
    return np.array([run.rewards[:rounds] for run in runs])


def _bounds(rewards: Floats, error: float, exact: bool) -> Floats:
    """Return the interval after each round (n_rounds, 2)."""
    if exact:
        return np.column_stack([running_mean(rewards, error / 2), 1 - running_mean(1 - rewards, error / 2)])
    from scipy.stats import norm

    n = np.arange(1, rewards.shape[1] + 1)
    means = np.cumsum(rewards, axis=1) / n
    squares = np.cumsum(rewards**2, axis=1) / n
    wide = norm.isf(error / 2) * np.sqrt(np.maximum(squares - means**2, 0.0).mean(axis=0) / n)
    return np.column_stack([means.mean(axis=0) - wide, means.mean(axis=0) + wide])


def _evaluation(
    policy: Any, runs: list[Replayed], logged: Logged, rounds: int, sure: int, settings: Settings
) -> Evaluation:
    import pandas as pd

    rewards = _rewards(runs, rounds)
    means = np.cumsum(rewards.mean(axis=0)) / np.arange(1, rounds + 1)
    bounds = _bounds(rewards, 1 - settings.level, settings.anytime)
    at = np.array(look_rounds(rounds))
    reached = min(len(run.rewards) for run in runs)
    notes = [
        f"The value is the mean of {len(runs)} replays, of the first {rounds} rounds; the interval is of the mean "
        "expected reward of the decisions that were taken in them.",
    ]
    if logged.contexts is None:
        notes.append("An arm is taken to pay alike whatever is shown and whenever it is played: no contexts are named.")
    if rounds > sure:
        notes.append(
            f"Only {sure} rounds are sure to be reached; all {len(runs)} replays reached {rounds}, but if some would "
            "not, the value is biased towards those that do."
        )
    return Evaluation(
        value=float(rewards.sum() / rewards.size),
        low=float(bounds[-1, 0]),
        high=float(bounds[-1, 1]),
        rounds=rounds,
        effective_rounds=float(rounds),
        curve=pd.DataFrame({"round": at, "value": means[at - 1], "low": bounds[at - 1, 0], "high": bounds[at - 1, 1]}),
        audit=_audited(policy, runs[0]),
        estimator="replay",
        level=settings.level,
        anytime=settings.anytime and len(runs) == 1,
        reached=reached,
        weights=weights_of(logged, None),
        notes=tuple(notes),
    )


def _audited(policy: Any, found: Replayed) -> Audit | None:
    """Return the audit of a policy's promise in the rounds of a replay, None where it promises nothing."""
    import pandas as pd

    from evenhand.quotas import audit

    shares, windows = getattr(policy, "shares", None), getattr(policy, "windows", None)
    if shares is None and windows is None:
        return None
    behind = getattr(policy, "behind", None)
    tolerance = float(max(behind.values())) if behind else getattr(policy, "tolerance", 0.0)
    return audit(
        pd.DataFrame({"arm": pd.Series(found.arms)}),
        arm="arm",
        shares=shares,
        tolerance=tolerance,
        caps={arm: cap for arm, cap in (getattr(policy, "caps", None) or {}).items() if cap is not None} or None,
        cap_tolerance=getattr(policy, "cap_tolerance", 0.0),
        windows=windows,
    )
