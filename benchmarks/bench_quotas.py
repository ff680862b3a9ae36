"""How fast the trunk and quotas run: against plain C, river and MABWiser, from a cold process, in memory.

python -m benchmarks.bench_quotas [--out DIR] [--quick]
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from river import bandit

import evenhand as eh
from benchmarks.timing import Measure, child, interleaved, options, ratio, report, seconds
from evenhand.quotas import BernoulliArms, FairUCB
from evenhand.rng import child as seed_of
from evenhand.rng import stream

MEANS = [0.8, 0.78, 0.77, 0.76, 0.75, 0.74, 0.73, 0.72, 0.71, 0.70]
SHARE = 0.05
ARMS = list(range(len(MEANS)))
SEED = 1
FEW = {"river": 20_000, "MABWiser": 1_000}
"""Rounds of the slow ones; they are no faster with more."""


def plain_c(folder: Path) -> Callable[[int], np.ndarray]:
    """Build fair_ucb.c and return it as a function: rounds -> pulls (10,), rewards as in simulate(seed=1)."""
    library = folder / "fair_ucb.so"
    source = Path(__file__).with_name("fair_ucb.c")
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).fair_ucb
    function.restype = None

    def play(rounds: int) -> np.ndarray:
        numerators, means = np.full(len(MEANS), 1, np.int64), np.array(MEANS)
        words, pulls, sums = stream(seed_of(SEED, 0, 0)), np.zeros(len(MEANS), np.int64), np.zeros(len(MEANS))
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (numerators, means, words, pulls, sums)]
        whole = [ctypes.c_int64(n) for n in (rounds, len(MEANS), round(1 / SHARE), 0)]
        function(whole[0], whole[1], pointers[0], whole[2], whole[3], *pointers[1:])
        return pulls

    return play


def simulated(rounds: int, replications: int = 1, jobs: int = 1) -> Any:
    """Play Fair-UCB in Instance 1 of the paper."""
    policy, world = FairUCB([SHARE] * len(MEANS)), BernoulliArms(MEANS)
    return eh.simulate(policy, world, rounds=rounds, replications=replications, seed=SEED, jobs=jobs)


def with_river(rounds: int) -> None:
    """Play river's UCB in the same world."""
    policy, random = bandit.UCB(delta=1, seed=SEED), np.random.default_rng(SEED)
    for _ in range(rounds):
        arm = policy.pull(ARMS)
        policy.update(arm, 1.0 if random.random() < MEANS[arm] else 0.0)


def with_mabwiser(rounds: int) -> None:
    """Play MABWiser's UCB1 in the same world."""
    policy, random = MAB(ARMS, LearningPolicy.UCB1(alpha=1.0), seed=SEED), np.random.default_rng(SEED)
    policy.fit(ARMS, [0.0] * len(ARMS))
    for _ in range(rounds):
        arm = policy.predict()
        policy.partial_fit([arm], [1.0 if random.random() < MEANS[arm] else 0.0])


def simulation(repetitions: int, quick: bool) -> list[Measure]:
    """One core: nanoseconds a round, and who takes how many times as long."""
    measures = []
    with tempfile.TemporaryDirectory() as folder:
        in_c = plain_c(Path(folder))
        for rounds in (10**6,) if quick else (10**6, 10**7):
            same = (in_c(rounds) == simulated(rounds).pulls.values[0, 0, -1]).all()
            found = interleaved(
                {
                    "evenhand": lambda rounds=rounds: seconds(lambda: simulated(rounds)) / rounds,
                    "C": lambda rounds=rounds: seconds(lambda: in_c(rounds)) / rounds,
                    "river": lambda: seconds(lambda: with_river(FEW["river"])) / FEW["river"],
                    "MABWiser": lambda: seconds(lambda: with_mabwiser(FEW["MABWiser"])) / FEW["MABWiser"],
                },
                repetitions,
            )
            nanoseconds = {name: 1e9 * statistics.median(values) for name, values in found.items()}
            of = f"T = {rounds:.0e}".replace("e+0", "e")
            measures += [
                Measure(f"Fair-UCB, 10 arms, {of}", nanoseconds["evenhand"], "ns a round", remark="all of simulate()"),
                Measure(
                    "the same loop in C, -O3, against it",
                    ratio(found["C"], found["evenhand"]),
                    "times",
                    1,
                    True,
                    f"{nanoseconds['C']:.3g} ns; aim 5 times; {'same' if same else 'OTHER'} decisions",
                ),
            ]
            for name, least in (("river", 300), ("MABWiser", 3000)):
                measures.append(
                    Measure(
                        f"{name}'s UCB loop against it",
                        ratio(found[name], found["evenhand"]),
                        "times",
                        least,
                        True,
                        f"{nanoseconds[name] / 1000:.3g} us a round, {FEW[name]} rounds",
                    )
                )
            if not same:
                raise SystemExit("evenhand and the C loop pulled the arms differently: the lazy argmax is not exact")
    return measures


def threads(repetitions: int, quick: bool) -> list[Measure]:
    """Replications on two threads against one, the best of each; the C loop likewise shows what there is to get."""
    rounds, replications = 10**6, 16
    with tempfile.TemporaryDirectory() as folder:
        in_c = plain_c(Path(folder))

        def c_loops(jobs: int) -> None:
            with ThreadPoolExecutor(jobs) as pool:
                list(pool.map(in_c, [rounds // 4] * replications))

        works = {
            "one": lambda: simulated(rounds, replications, 1),
            "two": lambda: simulated(rounds, replications, 2),
            "C on one": lambda: c_loops(1),
            "C on two": lambda: c_loops(2),
        }
        cases = {name: lambda work=work: seconds(work, time.perf_counter) for name, work in works.items()}
        best = {name: min(values) for name, values in interleaved(cases, 2 * repetitions).items()}
    load = f"{best['one']:.3f} s and {best['two']:.3f} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    most = best["C on one"] / best["C on two"]
    return [
        Measure("two threads against one, 16 replications", best["one"] / best["two"], "times", 1.8, True, load),
        Measure("the C loop on two threads against one", most, "times", remark="what the machine has to give"),
    ]


def online(repetitions: int, quick: bool) -> list[Measure]:
    """One decision and its reward, online."""
    rounds = 20_000
    rewards = np.random.default_rng(SEED).random(rounds).round().tolist()

    def ours() -> float:
        policy = FairUCB([SHARE] * len(MEANS))
        policy.engine.compile()

        def play() -> None:
            for reward in rewards:
                policy.tell(policy.ask(), reward)

        return seconds(play) / rounds

    def rivers() -> float:
        policy = bandit.UCB(delta=1, seed=SEED)

        def play() -> None:
            for reward in rewards:
                policy.update(policy.pull(ARMS), reward)

        return seconds(play) / rounds

    found = interleaved({"ours": ours, "river": rivers}, repetitions)
    river = 1e6 * statistics.median(found["river"])
    return [
        Measure("FairUCB.ask + tell, 10 arms", 1e6 * statistics.median(found["ours"]), "us", 3, remark="an aim"),
        Measure(
            "river's UCB pull + update against it",
            ratio(found["river"], found["ours"]),
            "times",
            1,
            True,
            f"{river:.3g} us",
        ),
    ]


def memory(repetitions: int, quick: bool) -> list[Measure]:
    """Peak memory of a whole process against its number of rounds, from Linux: getrusage counts the parent too."""
    peaks = {}
    for rounds in (10**5, 10**7):
        code = (
            "import evenhand as eh; from evenhand.quotas import BernoulliArms, FairUCB; "
            f"policy, world = FairUCB({[SHARE] * len(MEANS)}), BernoulliArms({MEANS}); "
            f"eh.simulate(policy, world, rounds={rounds}, seed={SEED}, jobs=1); "
            "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
        )
        peaks[rounds] = statistics.median(float(child("-c", code).output) / 1024 for _ in range(3))
    remark = f"{peaks[10**5]:.1f} MiB and {peaks[10**7]:.1f} MiB"
    return [Measure("peak memory, T = 1e7 against 1e5", peaks[10**7] / peaks[10**5], "times", 1.2, remark=remark)]


def main() -> None:
    arguments = options(__doc__)
    repetitions = 3 if arguments.quick else 10
    measures = [
        measure
        for section in (simulation, threads, online, memory)
        for measure in section(repetitions, arguments.quick)
    ]
    report("quotas", "Trunk and quotas", measures)


if __name__ == "__main__":
    main()
