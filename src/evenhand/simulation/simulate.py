"""`simulate` plays policies in a world, in many replications, compiled, on all cores or on a cluster."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arguments import as_whole_numbers, is_whole, one_of, yes_or_no
from evenhand.display.html import notes_of, shortened
from evenhand.display.progress import ProgressBar
from evenhand.errors import ArgumentError, SimulationInterrupted, Wording, expected
from evenhand.jobs import as_worker, parallel_jobs
from evenhand.kernels.arrays import Ints
from evenhand.labels import Labels, numbered
from evenhand.parameters import require_fresh
from evenhand.policy.traits import traits_of
from evenhand.promises.promise import Promise, check_rounds
from evenhand.protocol import Learner, Policy
from evenhand.rng import Seed, child, draw_seed
from evenhand.saving.provenance import made_with
from evenhand.simulation.delay import Delay, read_delay
from evenhand.simulation.fit import check_fit, check_given, check_learned, check_world
from evenhand.simulation.history import Variables, assemble
from evenhand.simulation.loop import begins_anew, foreign_learner, reseeding, runs_compiled
from evenhand.simulation.replication_cache import ReplicationCache, code_of, remembered_seed, signature
from evenhand.simulation.schedule import ScheduleSource, over_time, read_given
from evenhand.simulation.tasks import IN_PROCESS, Halt, chunks, interruptible, run_chunk
from evenhand.simulation.world import world_traits
from evenhand.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MOST = {"rounds": 2**53, "replications": 10**7, "checkpoints": 10**7, "jobs": 10**4}
"""The largest numbers that are taken."""
UNSHARED = "it promises nothing, and the others do not promise the same: violations and r_regret are NaN."
UNCOUNTED = "its promise is no eh.Promise, which could be counted: violations and r_regret are NaN."
LONG = 2_000
"""Signs of a description that are kept."""
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
ROUNDS_A_TASK = 1_000_000
"""Short replications are handed out together, long ones alone, so that an interruption loses little."""


def simulate(
    policies: object,
    world: Any,
    *,
    rounds: int,
    replications: int = 1,
    seed: Seed = None,
    checkpoints: int | Sequence[int] = 200,
    spacing: Literal["even", "log"] = "even",
    delay: object = None,
    missing: float = 0.0,
    offers: Any = None,
    changes: Any = None,
    learned: object = None,
    analyse: Callable[[pd.DataFrame], object] | None = None,
    jobs: int = -1,
    backend: str | None = None,
    progress: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> xr.Dataset:
    """Play policies in a world and return the history of every replication at its checkpoints.

    Policies of evenhand start without memory; learners from elsewhere are copied as they are, with what they have
    learned, and seeded by `Adapter(seed=)` or a method `reseed(seed)` of their own. All see common random numbers: the
    world's stream depends on `seed` and the replication alone. The dataset depends on neither `jobs` nor `backend`.
    Memory does not grow with `rounds`.

    Parameters
    ----------
    policies : one policy or learner, a dict name -> policy, or a list, which names each by its class.
    world : a world of evenhand, or any object with `arms`, `scores`, `totals`, `reset`, `observe` and `respond`.
    rounds : the number of rounds T.
    replications : independent repetitions.
    seed : int, Generator or None; the number that was used is the attribute `seed` of the result, as text from 2^63 on,
        which files cannot hold as an integer.
    checkpoints : at how many rounds to record the history, or the list of these rounds.
    spacing : whether a number of checkpoints is spread evenly or logarithmically.
    delay : after how many rounds a reward is told: a number; a list of logged delays, of which each round draws one;
        ("geometric", mean); None for at once. With delay d the reward of round t is told before round t + d + 1.
        `reward` and `regret` count a decision when it is taken.
    missing : the probability that the reward of a round is never told, whichever arm was played: its ticket is
        forgotten when it would have come. `reward` and `regret` count it all the same.
    offers : which arms are on offer in each round: a bool array (rounds, n_arms), or (replications, rounds, n_arms);
        the labels on offer, a list for each round; a log with a column `available` or `given`, as `study.frame()` has
        them; or a function (round, rng) -> labels or a mask. None for all arms in every round. `regret` is then
        against the best arm on offer, `offered` counts the rounds of each arm, and there is no `r_regret`.
    changes : another promise from a round on: a dict round -> `eh.Promise` or shares, which `policy.change` takes
        before that round.
    learned : a log, with columns `arm` and `reward`, that each policy learns from before every replication, as with
        `policy.learn`; None to begin with nothing learned.
    analyse : a function that is given the log of each replication, with columns `arm`, `reward` (empty where missing),
        `status` and the chance of each arm, `propensity_<arm>`, and returns a table with a column `arm`; its other
        columns become variables by arm, as with `lambda log: eh.effects(log, control="control").arms`. Rounds are then
        stepped from Python, about 0.2 ms each. None for none.
    jobs : the number of processes or threads; -1 for all cores.
    backend : joblib's: "threading" (default where all is compiled), "loky" (default otherwise), "sequential", "dask",
        "ray".
    progress : show a progress bar, on standard error or in the notebook.
    store : a folder in which finished replications are kept; called again with the same arguments, only the rest is
        played.

    Returns
    -------
    xarray.Dataset
        Dimensions `policy`, `replication`, `round` and, where it applies, `arm`. For worlds of arms: `pulls`, `reward`,
        `regret`, `r_regret`, `shortfall`, `worst_shortfall`, `violations`, `forced`. A policy that promises nothing is
        measured against the promise of the others, if they share one. `violations` counts every kind of promise: a
        floor of an arm or a set, a cap or a window that is broken at the end of a round counts once. The attribute
        `notes` holds what a reader must know about the world or a policy, where there is anything.

    Raises
    ------
    ArgumentError
        If a number is not positive, the checkpoints are not rounds, a policy has begun already, or it does not fit the
        world: other arms or groups, contexts on one side only, rewards out of its range, another kind of ticket; or if
        offers or changes do not match the number of rounds, or a policy does not support them or cannot learn from a
        log.
    TableError
        If the log lacks a column, or has an unknown arm or a reward that a policy does not take.
    SimulationInterrupted
        On Ctrl-C; its `partial` holds the finished replications.

    Warns
    -----
    UserWarning
        If replications of a learner from elsewhere share its randomness, because nothing seeds it; or if stored ones
        are played again, because the code of a class has changed.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.quotas import BernoulliArms, FairUCB
    >>> policy, world = FairUCB([0.2, 0.2, 0.2]), BernoulliArms([0.7, 0.5, 0.4])
    >>> history = eh.simulate(policy, world, rounds=1000, replications=3, seed=1)
    >>> dict(history.sizes)["replication"], bool((history.worst_shortfall < 1).all())
    (3, True)
    """
    named = _named(policies)
    check_world(world)
    progress = yes_or_no("progress", progress)
    _check_fit(named, world)
    counts = _read_counts(rounds=rounds, replications=replications)
    notes = [*notes_of(world), *(f"{name}: {note}" for name, policy in named.items() for note in notes_of(policy))]
    own, late = world_traits(world).replicate is not None, read_delay(delay, missing)
    if own:
        what = f"{type(world).__name__} plays rounds of its own, whose answers come at once"
        for name, value, nothing in (("delay", delay, None), ("missing", missing, 0), ("analyse", analyse, None)):
            if value != nothing:
                raise ArgumentError(expected(name, f"{nothing}: {what}", value))
    if analyse is not None:
        _check_analysis(analyse, named)
    learned = None if learned is None else check_learned(named, world, learned)
    kept = _checkpoints(checkpoints, spacing, int(rounds))
    folder = _read_folder(store)
    given = read_given(offers, changes, **counts, arms=tuple(world.arms))
    if given is not None and own:
        name = "changes" if offers is None else "offers"
        raise ArgumentError(expected(name, f"None in {type(world).__name__}, which plays rounds of its own", "some"))
    if replications > 1 and not own:
        _warn_of_shared_randomness(named)
    promises = _promises(named, given is not None and bool(given.changes))
    notes += _unmeasured(named, promises)
    promises = {name: promises.get(name) for name in named}
    workers = _read_workers(
        jobs, backend, own or (analyse is None and all(runs_compiled(policy, world) for policy in named.values()))
    )
    number = draw_seed(seed if seed is not None or folder is None else remembered_seed(folder))
    keep = None
    if folder is not None:
        same = signature(named, world, number, kept, late, given, learned, analyse)
        keep = ReplicationCache(folder, same, code_of(named, world))
    owed = promises if given is None else _over_all_rounds(named, promises, given, child(number, 0, 0))
    attributes = _attributes(number, named, world, int(rounds), late, given, learned, notes)
    play = partial(run_chunk, world=world, seed=number, checkpoints=kept, delay=late, given=given, learned=learned)
    play = partial(play, analyse=analyse)
    results: dict[tuple[str, int], Variables] = {}

    def assembled() -> xr.Dataset:
        return assemble(results, list(named), int(replications), kept, world, owed, attributes)

    try:
        _play_missing(results, keep, play, named, promises, workers, **counts, shown=progress)
    except (KeyboardInterrupt, Halt):
        partly = assembled()
        done = partly.sizes["replication"]
        where = "not on disk, as no folder was given"
        where = where if keep is None else "on disk; the same call continues from there"
        what = f"interrupted after {done} of {replications} replications; what was done is {where}"
        raise SimulationInterrupted(what, partly) from None
    return assembled()


def _read_counts(**numbers: Any) -> dict[str, int]:
    for name, value in numbers.items():
        if not is_whole(value) or value < 1:
            raise ArgumentError(expected(name, "a whole number >= 1", value))
        if value > MOST[name]:
            raise ArgumentError(expected(name, f"at most {MOST[name]:,}", value))
    return {name: int(value) for name, value in numbers.items()}


def _read_folder(store: object) -> Path | None:
    if not isinstance(store, str | os.PathLike | None):
        raise ArgumentError(expected("store", "the path of a folder, or None", store))
    return None if store is None else Path(store)


def _read_workers(jobs: int, backend: str | None, quick: bool) -> tuple[int, str]:
    """Return the number of workers and joblib's backend; threads where no round runs in Python (`quick`)."""
    if backend is None:
        backend = "threading" if quick else "loky"
    if not isinstance(backend, str):
        raise ArgumentError(expected("backend", "the name of a joblib backend", backend))
    if not is_whole(jobs) or jobs == 0 or abs(jobs) > MOST["jobs"]:
        raise ArgumentError(expected("jobs", "a number of processes or threads, or -1 for all cores", jobs))
    return int(jobs), backend


def _over_all_rounds(
    named: dict[str, Any], promises: dict[str, Any], given: ScheduleSource, world_seed: int
) -> dict[str, Any]:
    """Return what each policy is measured against over all rounds, where it takes what these are given."""
    first = given.schedule(0, world_seed)
    return {
        name: over_time(check_given(f"policies[{name!r}]", policy, first), promises[name], given)
        for name, policy in named.items()
    }


def _attributes(
    seed: int,
    named: dict[str, Any],
    world: object,
    rounds: int,
    delay: Delay | None,
    given: ScheduleSource | None,
    learned: Any,
    notes: list[str],
) -> dict[str, Any]:
    """Return what the history says of its making."""
    found: dict[str, Any] = {
        "seed": seed if seed < 1 << 63 else str(seed),
        "world": type(world).__name__,
        "rounds": rounds,
        "made_of": [
            f"evenhand {__version__}",
            f"world: {_described(world)}",
            *(f"{name}: {_described(policy)}" for name, policy in sorted(named.items())),
        ],
    }
    if delay is not None:
        found |= {"delay": str(delay)} | ({"missing": delay.missing} if delay.missing else {})
    if given is not None and given.changes:
        found["changes"] = [round for round, _ in given.changes]
    if learned is not None:
        found["learned"] = len(learned)
    return found | made_with() | ({"notes": notes} if notes else {})


def _described(thing: object) -> str:
    """Return the class of a policy or world and its arguments, as far as it keeps them, the same in every process."""
    said = shortened(thing)
    if type(thing).__repr__ is object.__repr__:
        kept = [name for name in inspect.signature(type(thing)).parameters if name in dir(thing) and name != "seed"]
        said = f"{type(thing).__name__}({', '.join(f'{name}={_described(getattr(thing, name))}' for name in kept)})"
    said = " ".join(ADDRESS.sub("", said).split())
    return said if len(said) <= LONG else f"{said[:LONG]} ..."


def _play_missing(
    results: dict[tuple[str, int], Variables],
    keep: ReplicationCache | None,
    play: Callable[..., tuple[str, dict[int, Variables]]],
    named: dict[str, Any],
    promises: dict[str, Any],
    workers: tuple[int, str],
    *,
    rounds: int,
    replications: int,
    shown: bool,
) -> None:
    """Add every replication to the results as it is finished: those in the store, and what `play` returns of others."""
    import joblib

    jobs, backend = workers
    missing: dict[str, list[int]] = {name: [] for name in named}
    for name in named:
        for r in range(replications):
            if keep is not None and (found := keep.read(name, r)) is not None:
                results[name, r] = found
            else:
                missing[name].append(r)
    if backend == "loky" and sum(map(len, missing.values())) <= 1:
        jobs = 1  # a process of its own takes a second to start
    size = max(1, min(ROUNDS_A_TASK // rounds, replications // (4 * (jobs if jobs > 0 else os.cpu_count() or 1))))
    inside = backend in IN_PROCESS or (backend == "loky" and jobs == 1)
    to_play = rounds * sum(map(len, missing.values()))
    with interruptible() as halt, ProgressBar("rounds", to_play, shown=shown) as bar:

        def tick(done: int) -> None:
            if halt.is_set():
                raise Halt
            bar.advance(done)

        with parallel_jobs(jobs, backend) as parallel:
            task = joblib.delayed(partial(as_worker, play, os.getpid()))
            tasks = (
                task(named[name], promise=promises[name], name=name, replications=some, tick=tick if inside else None)
                for name, some in chunks(list(named), missing, size)
            )
            for name, finished in parallel(tasks):
                for r, result in finished.items():
                    results[name, r] = result
                    if keep is not None:
                        keep.write(name, r, result)
                if not inside:
                    bar.advance(rounds * len(finished))


def _named(policies: object) -> dict[str, Any]:
    if not isinstance(policies, Mapping):
        several = policies if isinstance(policies, (list, tuple)) else [policies]
        policies = dict(zip(numbered([type(policy).__name__ for policy in several]), several, strict=True))
    if not policies:
        raise ArgumentError(expected("policies", "a policy, a list of policies, or a dict name -> policy", policies))
    for name, policy in policies.items():
        if not isinstance(name, str):
            raise ArgumentError(expected("policies", "names that are text", name))
        if isinstance(policy, type) or not isinstance(policy, (Policy, Learner)):
            raise ArgumentError(
                expected(f"policies[{name!r}]", "an object with ask and tell, or choose and update", policy)
            )
        if begins_anew(policy):
            require_fresh(f"policies[{name!r}]", policy, "pass policy.fresh(): every replication starts without memory")
    return dict(policies)


def _check_fit(named: dict[str, Any], world: Any) -> None:
    for name, policy in named.items():
        arms = traits_of(policy).arms
        if arms is not None and Labels(arms).order(world.arms) != [*range(len(arms))]:
            both = len(arms) == len(world.arms)
            got = Wording(list(arms)[:5]) if both else Wording(f"{len(arms)} arms")
            want: str = f"{len(world.arms)} arms, as the world has"
            want = Wording("the world's arms ", list(world.arms)[:5]) if both else want
            raise ArgumentError(expected(f"policies[{name!r}]", want, got))
    for name, policy in named.items():
        check_fit(f"policies[{name!r}]", policy, world)


def _check_analysis(analyse: object, named: dict[str, Any]) -> None:
    """Refuse what is no function, and policies whose decisions are for several arms or that only choose."""
    if not callable(analyse):
        raise ArgumentError(expected("analyse", "a function of a log, or None", analyse))
    for name, policy in named.items():
        if not isinstance(policy, Policy) or traits_of(policy).plays != 1:
            what = "a policy that asks for one arm in each round, whose log can be analysed"
            raise ArgumentError(expected(f"policies[{name!r}]", what, policy))


def _warn_of_shared_randomness(named: dict[str, Any]) -> None:
    foreign = {name: policy for name, policy in named.items() if foreign_learner(policy) is not None}
    shared = [name for name, policy in foreign.items() if reseeding(policy) is None]
    if shared:
        warnings.warn(
            f"all replications of {', '.join(map(repr, shared))} share the randomness of a learner that evenhand "
            "cannot seed; pass seed= to its Adapter, or give it a method reseed(seed)",
            stacklevel=3,
        )


def _checkpoints(checkpoints: int | Sequence[int], spacing: str, rounds: int) -> Ints:
    one_of("spacing", spacing, ("even", "log"))
    if is_whole(checkpoints) and 1 <= min(checkpoints, rounds) <= MOST["checkpoints"]:
        if checkpoints >= rounds:
            return np.arange(1, rounds + 1)
        if spacing == "log" and checkpoints > 1:
            return _spread(int(checkpoints), rounds)
        points = np.linspace(rounds / checkpoints, rounds, int(checkpoints))
        return np.unique(np.clip(np.rint(points), 1, rounds).astype(np.int64))
    if is_whole(checkpoints) and checkpoints > MOST["checkpoints"]:
        raise ArgumentError(expected("checkpoints", f"at most {MOST['checkpoints']} of them", checkpoints))
    given = as_whole_numbers(checkpoints)
    if given is None or not given.size or given.min() < 1 or given.max() > rounds:
        raise ArgumentError(expected("checkpoints", f"a number >= 1, or rounds from 1 to {rounds}", checkpoints))
    return np.unique(np.append(given, rounds))


def _spread(count: int, rounds: int) -> Ints:
    """Return so many rounds, each about as many times the one before, or the next where that would be the same."""
    points = [1]
    for left in range(count - 1, 0, -1):
        points.append(max(points[-1] + 1, round(points[-1] * (rounds / points[-1]) ** (1 / left))))
    return np.array(points, np.int64)


def _promises(named: dict[str, Any], change: bool) -> dict[str, Any]:
    """Return for each policy the promise that it is measured against: its own, also one of nothing where promises
    change, or the one that all others make; a promise of another kind, which nobody can count, is left out."""
    stated = {name: traits_of(policy).promise for name, policy in named.items()}
    own = {
        name: one if one is not None and (one.clauses or change) else None
        for name, one in stated.items()
        if one is None or isinstance(one, Promise)
    }
    made = [promise for promise in own.values() if promise is not None]
    for promise in made:
        check_rounds(promise)
    common = made[0] if made and all(promise == made[0] for promise in made) else None
    return {name: common if promise is None else promise for name, promise in own.items()}


def _unmeasured(named: dict[str, Any], promises: dict[str, Any]) -> list[str]:
    """Return why some policies are measured against no promise, where they or others promise anything."""
    some = any(promise is not None for promise in promises.values())
    reasons = {name: UNSHARED if name in promises else UNCOUNTED for name in named if promises.get(name) is None}
    return [f"{name}: {why}" for name, why in reasons.items() if some or why == UNCOUNTED]
