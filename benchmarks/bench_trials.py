"""A trial by lottery: how likely some allocation is certain, and what hard and soft caps do to 400 patients.

python -m benchmarks.bench_trials [--out DIR] [--quick]

D1 and D2: 400 patients, shares 1/4, 1/10, 1/10, 1/10 for the control, A, B and C, Thompson sampling that is told an
outcome after a geometric number of further patients, 31 on average, and of one patient in twenty never; rates .25, .25,
.25, .40. D1 draws by a lottery of .5 under caps of 45 % for every arm, D2 by a lottery of 1 without caps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.bench_propensities import Stubborn
from benchmarks.timing import Measure, options, report
from evenhand.cli.output import table
from evenhand.kernels.arrays import Bools, Floats, Ints
from evenhand.kernels.compose import OPEN, entry, flat, kernel
from evenhand.learners import Thompson
from evenhand.policy.kernel_set import RewardContext
from evenhand.quotas import DeadlineLearn

ARMS = ("control", "A", "B", "C")
SHARES = dict(zip(ARMS, ("1/4", "1/10", "1/10", "1/10"), strict=True))
RATES = np.array([0.25, 0.25, 0.25, 0.40])
PATIENTS, DELAY, MISSING = 400, 31, 0.05
LENGTHS = (50, 100, 400, 1000)
BY_HAND = {"D1": ((106, 62, 63, 169), 125.0, 0.93), "D2": ((118, 64, 64, 154), 123.3, 0.815)}
"""Of 600 trials in numpy: patients of each arm, successes, and how often the best arm was the most used."""
TRIALS_BY_HAND = 600

choose = update = OPEN


class Patients(NamedTuple):
    """What would happen to each patient (n,): the outcome under each arm (n, n_arms), and when they become known, in
    the order in which they do."""

    outcomes: Floats
    order: Ints
    due: Ints
    arms: Ints
    closed: Bools
    """(n, n_arms): which arms had chance 0."""


@kernel
def treat(params: Any, state: Any, contexts: Floats, waiting: Ints, patients: Patients) -> None:
    known = 0
    for round in range(1, patients.arms.size + 1):
        while known < patients.due.size and patients.due[known] < round:
            told = patients.order[known]
            arm, ticket = patients.arms[told], RewardContext(told + 1, np.nan)
            update(params, state, contexts, arm, patients.outcomes[told, arm], ticket)
            known += 1
        arm = choose(params, state, contexts, round, waiting)[0]
        patients.arms[round - 1] = arm
        for other in range(state.open.size):
            patients.closed[round - 1, other] = state.open[other] == 0


def patients_of(random: np.random.Generator, n: int) -> Patients:
    """Draw the patients of a trial."""
    known = np.flatnonzero(random.random(n) >= MISSING)
    due = known + 1 + random.geometric(1 / DELAY, known.size)
    order = np.argsort(due, kind="stable")
    outcomes = (random.random((n, len(ARMS))) < RATES).astype(float)
    return Patients(outcomes, known[order], due[order], np.zeros(n, np.int64), np.zeros((n, len(ARMS)), np.bool_))


def trials(policy: DeadlineLearn, random: np.random.Generator, n: int, times: int) -> Iterator[Patients]:
    """Yield so many trials of n patients, each from the start."""
    policy._begin(0)
    params, state = policy.engine.params, policy.engine.state
    run = entry(treat, choose=policy._kernels.choose, update=policy._kernels.update)
    arrays = flat(state)
    begun = [array.copy() for array in arrays]
    streams = [state.stream, *([state.learner.stream] if "stream" in state.learner._fields else [])]
    for _ in range(times):
        for array, start in zip(arrays, begun, strict=True):
            array[...] = start
        for stream in streams:
            stream[:] = random.integers(0, 2**64, stream.size, np.uint64)
        patients = patients_of(random, n)
        run(params, state, np.zeros((0, 0)), policy.engine.waiting, patients)
        yield patients


def certain(times: int) -> None:
    """Print how likely a trial of n patients has an allocation that is certain, for the worst of two stubborn
    learners."""
    rows, random = [], np.random.default_rng(1)
    every = dict.fromkeys(ARMS, "45%")
    cells = [(tolerance, {}) for tolerance in (0, 1, 2, 4, 6)] + [(4, {"caps": every, "cap_tolerance": 4})]
    for tolerance, caps in cells:
        row = [f"{tolerance}{', soft caps of 45 %' if caps else ''}"]
        for lottery in (0.5, 1.0):
            worst = np.zeros(len(LENGTHS))
            for wanted in ("control", "A"):
                shares = {wanted: SHARES[wanted]} | SHARES
                policy = DeadlineLearn(Stubborn(), shares, tolerance, lottery=lottery, seed=1, **caps)
                alone = np.array([one.closed.sum(axis=1) == 3 for one in trials(policy, random, LENGTHS[-1], times)])
                worst = np.maximum(worst, [alone[:, :n].any(axis=1).mean() for n in LENGTHS])
            row.append(", ".join(f"{chance:.4f}" for chance in worst))
        rows.append(row)
    columns = ["tolerance", "lottery .5", "lottery 1"]
    table(f"Chance that an allocation is certain, n = {LENGTHS}, {times:,} trials a cell", columns, rows)


def capped(times: int) -> list[Measure]:
    """Compare D1 and D2 with those by hand, and soft caps with hard ones."""
    caps = {"caps": dict.fromkeys(ARMS, "45%"), "cap_tolerance": 4}
    designs = {
        "D1": DeadlineLearn(Thompson(), SHARES, 4, lottery=0.5, hard_caps=True, seed=1, **caps),
        "D1, soft caps": DeadlineLearn(Thompson(), SHARES, 4, lottery=0.5, seed=1, **caps),
        "D2": DeadlineLearn(Thompson(), SHARES, 4, lottery=1.0, seed=1),
    }
    found, rows, random = [], [], np.random.default_rng(2)
    for name, policy in designs.items():
        done = [*trials(policy, random, PATIENTS, times)]
        counts = np.array([np.bincount(one.arms, minlength=len(ARMS)) for one in done])
        successes = np.array([one.outcomes[np.arange(PATIENTS), one.arms].sum() for one in done])
        most = counts.argmax(axis=1) == len(ARMS) - 1
        zeros = np.array([one.closed.any(axis=1).sum() for one in done])
        # an arm weighted by its chances is expected to weigh as much as the part of the rounds in which it had one
        bias = -RATES[-1] * np.mean([one.closed[:, -1].mean() for one in done])
        row = [name, *(f"{n:.1f}" for n in counts.mean(axis=0)), f"{successes.mean():.2f}", f"{most.mean():.3f}"]
        rows.append([*row, f"{zeros.mean():.3f}", f"{bias:+.4f}"])
        if name in BY_HAND:
            by_hand, good, best = BY_HAND[name]
            compared = [
                *zip(ARMS, counts.T, by_hand, strict=True),
                ("successes", successes, good),
                ("best", most, best),
            ]
            for what, ours, other in compared:
                error = ours.std() * np.sqrt(1 / times + 1 / TRIALS_BY_HAND)
                off = float(abs(ours.mean() - other) / error)
                said = f"{ours.mean():.3g} against {other:g}"
                found.append(Measure(f"{name}, {what}, against numpy by hand", off, "standard errors", 3, remark=said))
    columns = ["design", *ARMS, "successes", "best most used", "rounds with a zero", "bias of weighting C"]
    table(f"{times:,} trials of {PATIENTS} patients", columns, rows)
    return found


def main() -> None:
    given = options(__doc__)
    begun = time.perf_counter()
    report("trials", "Trials", capped(200 if given.quick else 4_000))
    certain(200 if given.quick else 4_000)
    print(f"{time.perf_counter() - begun:.0f} seconds")


if __name__ == "__main__":
    main()
