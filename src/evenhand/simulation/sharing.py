"""Whether workers can keep a promise together, and how: the same answer for a study and for a simulation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from evenhand.errors import ArgumentError, SharesError, figure, wanted
from evenhand.policy.policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.promises.plain import arguments_of
from evenhand.promises.promise import Promise
from evenhand.promises.workers import (
    LONGEST,
    Plan,
    burn_in,
    is_plain,
    least_tolerance,
    own_promise,
    owned,
    plan,
)
from evenhand.rng import Seed

__all__ = ["beginner", "plan_of", "shared_promise", "worker_of"]


def shared_promise(policy: Any) -> Promise | None:
    """Return the promise that several workers are to keep, None where the policy promises nothing.

    Raises
    ------
    ArgumentError
        If no rule is known by which several workers keep it.
    """
    traits = traits_of(policy)
    name, promise = type(policy).__name__, traits.promise
    if not isinstance(policy, KernelPolicy) or (promise is None and traits.windows):
        mend = "use workers=1, or DeadlineLearn(learner, 0, windows=...)" if traits.windows else "use workers=1"
        raise ArgumentError(wanted("policy", "a learner, or DeadlineLearn, for several workers", name, mend))
    if traits.kept is None or promise is None:
        return None
    if not traits.divisible:
        mend = "use workers=1"
        if traits.kept == "at every round":
            mend = "DeadlineLearn(UCB1(), shares) promises the same, and with lottery=0.5 draws by lottery"
        raise ArgumentError(wanted("policy", "DeadlineLearn, whose promise several workers can keep", name, mend))
    if promise.behind is not None:
        raise ArgumentError(wanted("policy", "a tolerance in the place of behind=, for several workers", name))
    if promise.overlap() is not None:
        first, second = promise.overlap()
        what = "sets of arms that are nested or apart, for several workers"
        raise ArgumentError(wanted("policy", what, f"{list(first)} and {list(second)}, which overlap"))
    return promise


def plan_of(promise: Promise | None, workers: int) -> Plan | None:
    """Return how so many workers keep a promise together, None where nothing is promised.

    Raises
    ------
    SharesError
        If they cannot; the message names the least tolerance that would do, or the windows that they would keep.
    """
    if promise is None:
        return None
    found = plan(promise, workers)
    if found is None:
        raise _too_small(promise, workers)
    try:
        own_promise(promise, found.endowment)
    except SharesError as refusal:
        windows = [clause for clause in promise.clauses if clause.kind == "window"]
        own = own_windows(promise, found.endowment)
        raise SharesError(
            f"workers: {workers} workers that do not hear each other keep {'; '.join(map(str, windows))} only if each "
            f"keeps {own} in rounds of its own, and that cannot be kept: {refusal}; use fewer workers or longer windows"
        ) from refusal
    return found


def own_windows(promise: Promise, endowment: list[Fraction]) -> str:
    """Return in words which windows of its own a worker keeps."""
    given = zip(owned(promise), endowment, strict=True)
    said = (clause._replace(rate=(1, int(e) + 1)) for clause, e in given if clause.kind == "window")
    return "; ".join(map(str, said))


def _too_small(promise: Promise, workers: int) -> SharesError:
    """Return the refusal of a promise whose tolerance so many workers cannot share; it names the least that would
    do."""
    clauses = owned(promise)
    floors = [clause for clause in clauses if clause.kind == "floor"]
    caps = [clause for clause in clauses if clause.kind == "cap"]
    enough = f"a tolerance of {least_tolerance(floors, workers)} is enough"
    now = f"cannot keep these shares with a tolerance of {figure(promise.tolerance)}"
    if caps:
        enough = f"a tolerance of {least_tolerance(floors, workers)} and a cap_tolerance of "
        enough += f"{least_tolerance(caps, workers)} are enough"
        now += f" and a cap_tolerance of {figure(promise.cap_tolerance)}"
    why = "the shares sum to one, so no arm can get ahead first"
    if not is_plain(clauses) or promise.plays > 1:
        why = "each needs a part of it for what the others may do meanwhile"
    elif sum(promise.shares) < 1:
        length = burn_in(promise.shares, promise.slack, workers)
        size = f"{length} rounds" if length is not None else f"more than {LONGEST:,} rounds"
        why = f"without one they would have to begin with {size} one after another"
    return SharesError(f"workers: {workers} workers that decide at the same time {now}: {why}; {enough}")


def worker_of(policy: Any, endowment: Any, seed: Seed) -> Any:
    """Return the policy of a worker that was given this much of each clause, before its first round."""
    return policy.under(own_promise(policy.promise, endowment), seed)


def beginner(policy: Any, pulls: list[int], rounds: int, seed: Seed) -> Any:
    """Return the policy of a serial beginning of so many rounds, in which each arm must be played so often."""
    shares = {arm: Fraction(n, max(1, rounds)) for arm, n in zip(policy.promise.arms, pulls, strict=True)}
    said = arguments_of(policy.promise) | {"shares": shares, "tolerance": 0.0}
    return policy.under(Promise(**said), seed)
