"""The value of a policy that learns, from a replay, with its interval and the audit of its promise."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from evenhand import audit
from evenhand.arguments import whole
from evenhand.audit.confidence_sequences import BettingProcess, Book
from evenhand.display.html import notes_of
from evenhand.display.progress import ProgressBar
from evenhand.errors import NOTHING, ArgumentError, TableError, Wording, argument, expected
from evenhand.evaluation.comparison import compared
from evenhand.evaluation.diagnosis import CHOSEN, check_log, check_normal, overlap_of, weights_of
from evenhand.evaluation.findings import Comparison, Evaluation, Interval
from evenhand.evaluation.logged import Logged
from evenhand.evaluation.propensities import doubts
from evenhand.evaluation.replay import Replayed, least_chance, read_learner, replay, rounds_of
from evenhand.evaluation.value_curve import look_rounds
from evenhand.kernels.arrays import Floats, Ints
from evenhand.policy.traits import traits_of


class ReplaySettings(NamedTuple):
    """How policies are replayed, see `evaluate`."""

    level: float
    interval: Interval
    stationary: bool
    rounds: int | None
    replays: int
    seed: int
    each: bool


def evaluate_learners(
    policies: Mapping[str, Any], logged: Logged, arm: str, settings: ReplaySettings, bar: ProgressBar
) -> Evaluation | Comparison:
    """Return the evaluation of a policy, or of several over the same number of rounds with their differences.

    Raises
    ------
    TableError
        If all replays end before the number of rounds; if the log gave an arm no chance in some rows.
    """
    if logged.positions:
        hint = "evaluate the rows of one position, such as log[log['position'] == 1]"
        what: str = Wording(NOTHING, " where a policy is replayed: a replay mixes the positions")
        raise ArgumentError(expected("position", what, list(logged.places), hint))
    ready = {name: read_learner(name, policy, logged) for name, policy in policies.items()}
    if not logged.counted or logged.contexts is not None:
        check_log(logged, arm)
    logged = _covered(logged, settings.stationary)
    sure, most, why = _lengths(ready, logged)
    lengths = _doubled(sure, most) if settings.rounds is None else [whole("rounds", settings.rounds, low=2)]
    if not lengths:
        hint = f"{why}; use a longer log"
        if not logged.counted and logged.contexts is None:
            alone = " out if the log's choices depended on nothing but its own arms and rewards"
            hint = Wording(f"{hint}, or leave ", argument("propensity"), alone)
        what = "rows by which a replay can last 2 rounds"
        raise TableError(expected("log", what, Wording(f"{most} rounds"), hint))
    if lengths[-1] > most:
        limit = why if logged.contexts is not None or not logged.fixed else "a replay has used up an arm's rows by then"
        what, hint = f"at most {most}, as {limit}", "ask for fewer, or use a longer log"
        raise ArgumentError(expected("rounds", what, lengths[-1], hint))
    runs: dict[str, list[Replayed]] = {}
    for name, policy in ready.items():
        runs[name] = []
        for number in range(settings.replays):
            runs[name].append(replay(policy, logged, lengths[-1], settings.seed, number))
            bar.advance()
        if not any(len(run.rewards) >= lengths[0] for run in runs[name]):
            longest = max(len(run.rewards) for run in runs[name])
            what = f"a number that some replay reaches; the longest had {longest}"
            hint = Wording("pass ", argument("rounds", longest))
            raise TableError(expected("rounds", what, lengths[0], "ask for fewer" if settings.rounds else hint))
    shortest = min(len(run.rewards) for run in chain(*runs.values()))
    rounds = max((length for length in lengths if length <= shortest), default=lengths[0])
    runs = {name: [Replayed(run.arms[:rounds], run.rewards[:rounds]) for run in each] for name, each in runs.items()}
    there = {name: [run for run in each if len(run.rewards) == rounds] for name, each in runs.items()}
    if settings.interval == "normal":
        for run in chain(*there.values()):
            check_normal(run.rewards, np.ones(rounds))
    notes = _notes(logged, settings, rounds, lengths, min(map(len, there.values())), (sure, most, why))
    choices = 1 if settings.interval == "anytime" and settings.replays == 1 else len(lengths)
    error, last = (1 - settings.level) / choices, np.array([rounds])
    found = {name: _evaluation(ready[name], there[name], logged, notes, settings, error) for name in ready}
    error /= 2 if settings.each else len(policies)
    bounds = {name: tuple(_bounds(_rewards(there[name]), error, settings.interval, last)[0].tolist()) for name in ready}
    first, *others = runs
    spreads = {name: _spread(runs[name], runs[first], rounds) for name in others}
    return compared(found, bounds, spreads, each=settings.each)


def _doubled(sure: int, most: int) -> list[int]:
    """Return the numbers of rounds of which a replay takes the largest that is reached: they are fixed before rewards
    are seen and few, so that an interval can allow for the choice."""
    first = max(sure, 2)
    return [first << power for power in range(most.bit_length()) if first << power <= most]


def _spread(runs: list[Replayed], others: list[Replayed], rounds: int) -> float:
    """Return the standard deviation of a difference between two policies over the replays, in which both see the rows
    in the same order; nan of fewer than two."""
    apart = [
        one.rewards.mean() - other.rewards.mean()
        for one, other in zip(runs, others, strict=True)
        if len(one.rewards) == len(other.rewards) == rounds
    ]
    return float(np.std(apart, ddof=1)) if len(apart) > 1 else float("nan")


def _covered(logged: Logged, stationary: bool) -> Logged:
    """Return the rows in which every arm had a chance: only in these is a row of each arm taken at the same rate."""
    overlap, certain = overlap_of(logged), logged.chances == 1
    if overlap is None and (len(logged.arms) == 1 or not certain.any()):
        return logged
    if overlap is not None and overlap.min() == 1:
        return logged
    if not stationary:
        got = f"1 for the arm that was played in {100 * certain.mean():.3g} % of the rows, so that no other had any"
        if overlap is not None:
            arm, share = overlap.idxmin(), overlap.min()
            got = f"none for arm {arm!r} in {100 * (1 - share):.3g} % of the rows"
        alike = "if rewards are the same in the other rows, leave these out with "
        hint, what = Wording(alike, argument("stationary", True)), "a chance for every arm in every row of a replay"
        raise TableError(expected("propensity", what, Wording(got), hint))
    return logged.only(~certain if logged.every is None else np.all(logged.every > 0, axis=1))


def _lengths(policies: Mapping[str, Any], logged: Logged) -> tuple[int, int, str]:
    """Return how many rounds every replay is sure to reach, how many one can reach, and what limits them."""
    if logged.fixed and logged.contexts is None:
        counts = np.bincount(logged.codes, minlength=len(logged.arms))
        least = int(counts.argmin())
        found = [rounds_of(policy, logged) for policy in policies.values()]
        why = f"arm {logged.arms[least]!r} has {counts[least]} of {len(logged.codes)} rows"
        return min(sure for sure, _ in found), min(most for _, most in found), why
    chance = least_chance(logged)  # of a row to be taken; all but one in a thousand replays are so long, and so short
    expected = len(logged.codes) * chance
    spread = 4 * expected**0.5
    why = f"the least chance of an arm, {chance:.3g}, is the share of the rows that a replay can use"
    return int(max(0.0, expected - spread)), int(expected + spread), why


def _notes(
    logged: Logged, settings: ReplaySettings, rounds: int, lengths: list[int], there: int, limits: tuple[int, int, str]
) -> tuple[str, ...]:
    sure, most, why = limits
    mean = "of one replay" if settings.replays == 1 else f"the mean of {settings.replays} replays"
    notes = [
        f"The value is {mean}, of the first {rounds} rounds; the interval is of the mean expected reward of the "
        "decisions that were taken in them.",
        CHOSEN,
        *logged.notes,
    ]
    if logged.fixed and logged.contexts is None:
        notes.append("No contexts are given: each arm is assumed to pay the same in every context and at all times.")
    else:
        notes.append("All rows are assumed to come from the same distribution.")
    notes.append("Rows are taken to be independent, also those of one person.")
    if logged.counted:
        notes.append(
            "No propensities are given: the log's choices are assumed to depend only on its own arms and rewards."
        )
    if logged.whole is not None:
        notes.append(
            f"Only the {len(logged.codes)} of {len(logged.whole.codes)} rows are used in which every arm had a chance."
        )
    if there < settings.replays:
        notes.append(
            f"Only {there} of {settings.replays} replays reached {rounds} rounds: the value is of these alone, and "
            f"biased towards them. This log supports about {sure} rounds of this policy, because {why}."
        )
    elif len(lengths) > 1:
        notes.append(
            f"This log supports about {rounds} rounds of this policy, the most of {', '.join(map(str, lengths))} that "
            f"every replay reached; {sure} are sure, because {why}. The interval allows for this choice; the value may "
            "be slightly biased by it, as what a replay earns decides how long it lasts."
        )
    elif rounds > sure:
        notes.append(
            f"Only {sure} rounds are sure to be reached; every replay reached {rounds}, but if some would not, the "
            "value is biased towards those that do."
        )
    else:
        leave = Wording("; leave ", argument("rounds"), " out for the value over as many as every replay reaches")
        more = leave if most > sure else ""
        notes.append(Wording(f"This log supports about {sure} rounds of this policy, because {why}", more, "."))
    return tuple(notes)


def _rewards(runs: list[Replayed]) -> Floats:
    return np.array([run.rewards for run in runs])


def _bounds(rewards: Floats, error: float, interval: Interval, at: Ints) -> Floats:
    """Return the interval after some rounds (n_looks, 2): of one run after all of them at once, of several after each
    by itself."""
    if interval != "normal":
        runs, found = [(Book(), Book()) for _ in rewards], []
        for start, end in pairwise([0, *at.tolist()]):
            for (below, above), mine in zip(runs, rewards[:, start:end], strict=True):
                below.add(mine)
                above.add(-mine, 1.0)
            below, above = (Book.averaged(books) for books in zip(*runs, strict=True))
            found.append(BettingProcess([below], [above]).interval(error, 0.0, 1.0))
        return np.array(found)
    from scipy.stats import norm

    means = np.cumsum(rewards, axis=1)[:, at - 1] / at
    squares = np.cumsum(rewards**2, axis=1)[:, at - 1] / at
    wide = norm.isf(error / 2) * np.sqrt(np.maximum(squares - means**2, 0.0).mean(axis=0) / at)
    return np.clip(np.column_stack([means.mean(axis=0) - wide, means.mean(axis=0) + wide]), 0.0, 1.0)


def _evaluation(
    policy: Any, runs: list[Replayed], logged: Logged, notes: tuple[str, ...], settings: ReplaySettings, error: float
) -> Evaluation:
    import pandas as pd

    rewards, table = _rewards(runs), weights_of(logged, None)
    rounds = rewards.shape[1]
    at = np.array(look_rounds(rounds))
    means = np.cumsum(rewards.mean(axis=0))[at - 1] / at
    bounds = _bounds(rewards, error, settings.interval, at)
    return Evaluation(
        value=float(rewards.sum() / rewards.size),
        low=float(bounds[-1, 0]),
        high=float(bounds[-1, 1]),
        rounds=rounds,
        effective_rounds=float(rounds),
        curve=pd.DataFrame({"round": at, "value": means, "low": bounds[:, 0], "high": bounds[:, 1]}),
        audit=_audited(policy, runs),
        estimator="replay",
        level=settings.level,
        interval="once" if settings.interval == "anytime" and len(runs) > 1 else settings.interval,
        weights=table,
        notes=(*notes, *notes_of(policy), *doubts(logged, table)),
        overlap=overlap_of(logged),
    )


def _audited(policy: Any, runs: list[Replayed]) -> audit.Audit | None:
    """Return the audit of a policy's promise in all rounds of the first replay that broke it, of the first replay if
    none did; None where it promises nothing that holds at every round."""
    import pandas as pd

    promise = traits_of(policy).promise
    if traits_of(policy).holds_when != "at every round" or not promise.clauses:
        return None
    found = [audit.promise(pd.DataFrame({"arm": pd.Series(run.arms)}), arm="arm", promise=promise) for run in runs]
    return next((one for one in found if not one.kept), found[0])
