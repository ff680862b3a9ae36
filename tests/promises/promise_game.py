"""What a promise must withstand: every learner there can be in small cases, spiteful ones in long conversations.

A promise such as N_i(t) >= floor(r_i t) - alpha is to hold whatever the learner proposes and whatever rewards come.
Of fixed shares all proposals are tried in small cases, one conversation for each way the rule can be driven, and long
conversations with drawn shares, sums of exactly one and tiny shares among them, where the learner wants what hurts
most, always the same, or anything. Then come promises with every part, every pair and every triple of
`tests.promises.generated_promises.PARTS` that the class takes: small ones beside the game of all their states, which
says what could be granted, and long ones. Nothing is taken from the policy but its decisions and what it says of them.

`make check POLICY=quotas/fair-ucb` plays it against a registered policy, after the contract.
"""

from __future__ import annotations

import copy
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any, Protocol

import numpy as np

from evenhand import registry
from evenhand.errors import ArgumentError, ContractError, EvenhandError, expected
from evenhand.policy.traits import traits_of
from evenhand.promises.plain_data import promise_fields
from evenhand.promises.promise import Promise
from evenhand.rng import Seed, draw_seed
from tests.promises.generated_promises import PARTS, Case, drawn_case
from tests.promises.trial import Trial, Wishes

__all__ = ["PromiseReport", "check_promise", "main"]

SMALL = {2: (8, (2, 3, 5, 7)), 3: (6, (3, 4))}
"""For each number of arms: how many rounds are tried exhaustively, and the denominators of the shares."""
TOLERANCES = (0.0, 1.5)
KNOWN = ("learner", "shares", "promise", "tolerance", "horizon", "arms", "seed", "windows")
MOST_ARMS = 9
JUDGED = 40
"""How many rounds the game of all states is played beside a small promise."""
ALONE = 6
"""How many small promises with one part alone are tried."""
NEEDED = {
    "slates": {"shares", "plays"},
    "caps": {"caps"},
    "windows": {"windows"},
    "lottery": {"shares", "lottery"},
}
"""What a class takes at least to be tried with such a part, where that is not `shares` alone."""
FLOORS = frozenset({"floors"})

Shares = tuple[Fraction, ...]


@dataclass(frozen=True)
class PromiseReport:
    """What was tried before a promise was found to hold.

    Attributes
    ----------
    conversations : how many, in all.
    refused : the shares that the class refused, by how many.
    worst_shortfall : the largest floor(r_i t) - N_i(t) - floor(alpha) that was seen, at most 0; of fixed shares, None
        where none were tried.
    kinds : what else was tried, alone, in pairs and in triples: sets, slates, caps, windows, arms on offer,
        changes, lottery.
    """

    conversations: int
    refused: int
    worst_shortfall: int | None
    kinds: tuple[str, ...]


class Adversary(Protocol):
    """Chooses what the learner proposes, or which reward comes, when it is asked; it sees the pulls so far."""

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return one of 0 .. choices - 1."""
        ...


class Script:
    """An adversary that goes through everything it can be asked for: an odometer with a wheel for each question."""

    def __init__(self) -> None:
        self.picked: list[int] = []
        self._sizes: list[int] = []
        self._at = 0

    def __str__(self) -> str:
        return f"proposals or rewards {self.picked}"

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return what the script says, 0 where it says nothing yet."""
        if self._at == len(self.picked):
            self.picked.append(0)
            self._sizes.append(choices)
        self._at += 1
        return self.picked[self._at - 1]

    def advance(self) -> bool:
        """Go on to the next script; False after the last."""
        self._at = 0
        while self.picked and self.picked[-1] + 1 == self._sizes[-1]:
            self.picked.pop(), self._sizes.pop()
        if self.picked:
            self.picked[-1] += 1
        return bool(self.picked)


class Spiteful:
    """Always wants what is owed least, the worst that a rule with deadlines can meet."""

    def __str__(self) -> str:
        return "a spiteful learner"

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return the arm with the least claim; of two rewards the one that keeps things as they are."""
        if choices != len(shares):
            return 0
        round = sum(pulls) + 1
        return min(range(choices), key=lambda i: shares[i] * round - pulls[i])


class Stubborn:
    """Always wants the same."""

    def __init__(self, choice: int) -> None:
        self._choice = choice

    def __str__(self) -> str:
        return f"a learner that always proposals arm {self._choice}"

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return the same choice."""
        return self._choice % choices


class Fickle:
    """Wants anything, a while the same."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random, self._left, self._choice = random, 0, 0

    def __str__(self) -> str:
        return "a learner of changing proposals"

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return a random choice, kept for a random number of rounds."""
        if self._left == 0:
            self._left, self._choice = int(self._random.geometric(0.1)), int(self._random.integers(choices))
        self._left -= 1
        return self._choice % choices


def check_promise(policy_class: Any, *, rounds: int = 2_000, cases: int = 40, seed: Seed = 0) -> PromiseReport:
    """Try to break a promise: find a decision that breaks a clause, a reason, a chance or a claim that is wrong.

    Parameters
    ----------
    policy_class : a class, or a function that returns a policy, with a parameter `shares` or `windows`; it is given a
        dict of fractions by arms and sets of arms, and where it has such parameters a `learner`, a
        `tolerance`, `plays`, `caps`, a `cap_tolerance`, a `lottery`, a `horizon`, the `arms` and a `seed`; or
        with a parameter `promise`, which is an `eh.Promise`. Where the policy keeps its promise "at the horizon", that
        round alone is checked. Where `grants_all` says so, `DeadlineLearn` refuses a proposal only where no rule that
        keeps the promise could grant it, unless an attribute `exact` is False.
    rounds : length of the long conversations.
    cases : how many long conversations, and a third of how many pairs and triples of parts.
    seed : of what is drawn.

    Raises
    ------
    ContractError
        If the promise breaks or something wrong is said; the message says in which round, and names the promise, the
        proposals and the seed.
    ArgumentError
        If the class takes no shares, needs an argument that is not known here, or refuses all shares.
    """
    drawn = draw_seed(seed)
    random, search = np.random.default_rng(drawn), _Search(policy_class, drawn)
    for shares, length in _small_cases() if search.takes("shares") else ():
        for tolerance in TOLERANCES if search.takes("tolerance") else TOLERANCES[:1]:
            script, case = Script(), _fixed(shares, tolerance)
            while search.converse(case, length, script) and script.advance():
                pass
    for _ in range(cases if search.takes("shares") else 0):
        shares = _drawn_shares(random)
        tolerance = float(random.choice([0.0, 0.0, 0.5, 1.0, 2.3])) if search.takes("tolerance") else 0.0
        search.converse(_fixed(shares, tolerance), rounds, _drawn_adversary(random, shares), random)
    kinds = tuple(part for part in PARTS[1:] if search.knows(part))
    for parts, judged in _combined(kinds, cases, random, search.takes("shares")):
        found = drawn_case(parts, random, small=judged)
        if found is not None:
            length = min(rounds, JUDGED) if judged else -(-rounds // 2)
            search.converse(found, length, _drawn_adversary(random, _rates(found.promise)), random, judged)
    if search.conversations == 0:
        raise ArgumentError(expected("policy_class", "one that takes shares", f"{search.name}: {search.refusal}"))
    return PromiseReport(search.conversations, len(search.refused), search.worst, kinds)


def _combined(
    kinds: Sequence[str], cases: int, random: np.random.Generator, floors: bool
) -> Iterator[tuple[frozenset[str], bool]]:
    """Yield which parts are tried together, and whether in small promises, beside the game of all their states."""
    parts = ("floors", *kinds) if floors and kinds else kinds
    several = [frozenset(some) for size in (2, 3) for some in combinations(parts, size)]
    yield from ((frozenset({kind}), True) for kind in kinds for _ in range(ALONE))
    yield from ((several[at], True) for at in random.permutation(len(several))[: 3 * cases])
    yield from ((frozenset({kind}), False) for kind in kinds for _ in range(-(-cases // 8)))


@contextmanager
def _unheard() -> Iterator[None]:
    """Silence the warning that a learner which proposes one arm is not heard: the game has proposals refused on
    purpose."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "learner: Wishes names an arm")
        yield


class _Search:
    """Conversations with the policies of one class, and what came of them."""

    def __init__(self, policy_class: Any, seed: int) -> None:
        self.conversations, self.worst = 0, None
        self.refused: set[Shares] = set()
        self.refusal, self._seed = "", seed
        self._make: Callable[..., Any] = policy_class
        self.name = getattr(policy_class, "__name__", str(policy_class))
        self._parameters = inspect.signature(policy_class).parameters
        needed = [name for name, p in self._parameters.items() if p.default is p.empty and name not in KNOWN]
        if not {"shares", "windows", "promise"} & set(self._parameters) or needed:
            got = f"{self.name}, which needs {', '.join(needed) or 'none'}"
            hint = "pass a function of shares, learner and tolerance that fills in the rest"
            raise ArgumentError(expected("policy_class", "a class that takes shares or windows", got, hint))

    def takes(self, name: str) -> bool:
        """Return whether the constructor has such a parameter, or takes a promise as a whole."""
        return name in self._parameters or "promise" in self._parameters

    def knows(self, part: str) -> bool:
        """Return whether the class takes promises with such a part."""
        drawn = (drawn_case({part}, np.random.default_rng(seed)) for seed in range(50))
        case = next(case for case in drawn if case is not None and _needed(case) <= NEEDED.get(part, {"shares"}))
        try:
            policy = self._made(case, None)
            if policy is None or traits_of(policy).holds_when in ("at the horizon", "in the long run"):
                return False
            if part == "changes":
                policy.change(dict(zip(case.promise.arms, case.promise.shares, strict=True)))
            with _unheard():
                if part == "arms on offer":
                    policy.ask(available=list(case.promise.arms))
        except (AttributeError, EvenhandError, TypeError):
            return False
        return True

    def converse(
        self,
        case: Case,
        rounds: int,
        adversary: Adversary,
        random: np.random.Generator | None = None,
        judged: bool = False,
    ) -> bool:
        """Judge one conversation, with late reports where `random` is given; False if the promise is refused."""
        promise = case.promise
        rates, pulls = _rates(promise), [0] * len(promise.arms)

        def pick(choices: int, arms: Sequence[int]) -> int:
            seen = (tuple(rates[arm] for arm in arms), [pulls[arm] for arm in arms]) if arms else (rates, pulls)
            return adversary.pick(choices, *seen)

        wishes = Wishes(pick, len(promise.arms), promise.plays > 1) if "learner" in self._parameters else None
        policy = self._made(case, wishes, rounds)
        if policy is None:
            return False
        kept = traits_of(policy).holds_when or "at every round"
        trial = Trial(policy, case, wishes, pick, pulls, random, judged)
        for round in range(1, rounds + 1):
            with _unheard():
                found = trial.round(kept != "at the horizon" or round == rounds)
            if found is not None:
                what = f"{found.fault} in round {round}: {found.seen}"
                raise ContractError(
                    f"{self.name} {what}, under {_written(trial.promise, case)} and {adversary} (seed {self._seed})"
                )
        self.conversations += 1
        if trial.worst is not None and case.parts == FLOORS:
            self.worst = trial.worst if self.worst is None else max(self.worst, trial.worst)
        return True

    def _made(self, case: Case, wishes: Wishes | None, rounds: int = 1) -> Any:
        """Return a policy with this promise, by its parts where these say it all; None where it is refused."""
        promise = case.promise
        refusals: tuple[type[Exception], ...] = (EvenhandError,)
        arms = list(promise.arms)
        given = {"learner": wishes or Wishes(lambda n, arms: 0, len(arms), promise.plays > 1), "horizon": rounds}
        given |= {"seed": 1, "arms": arms, "lottery": case.lottery, "promise": promise} | _parts(promise)
        if "shares" in self._parameters and not self._says_all(case):
            given = {name: given[name] for name in ("learner", "horizon", "seed", "lottery")} | {"shares": promise}
            refusals = (EvenhandError, TypeError, AttributeError)
        lacking = case.parts != FLOORS and any(not self.takes(name) for name in _needed(case))
        if lacking:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return self._make(**{name: value for name, value in given.items() if name in self._parameters})
        except refusals as error:
            self.refusal = str(error)
            if case.parts == FLOORS:
                self.refused.add(promise.shares)
            return None

    def _says_all(self, case: Case) -> bool:
        """Return whether the parts of a promise say it all, what may be on offer included."""
        if "arms on offer" not in case.parts and not case.promise.windows:
            return True
        return Promise(**_parts(case.promise)) == case.promise


def _parts(promise: Promise) -> dict[str, Any]:
    """Return a promise as the arguments that make it, without those that say nothing, and what may be on offer."""
    return {name: value for name, value in promise_fields(promise).items() if name != "offers"}


def _needed(case: Case) -> set[str]:
    """Return the parameters without which a promise cannot be made."""
    names = {*_parts(case.promise), *(() if case.lottery is None else ("lottery",))}
    return names if case.promise.owes else names - {"shares"}


def _fixed(shares: Shares, tolerance: float) -> Case:
    """Return the case of shares of single arms alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Case(Promise(list(shares), tolerance), FLOORS)


def _rates(promise: Promise) -> Shares:
    """Return what is owed to single arms, by which an adversary decides what hurts."""
    windows = {members[0]: Fraction(*window) for members, window in promise.windows}
    return tuple(max(share, windows.get(arm, share)) for arm, share in zip(promise.arms, promise.shares, strict=True))


def _written(promise: Promise, case: Case) -> str:
    """Return a promise as it is typed, and how it was tried."""
    typed = re.sub(r"Fraction\((\d+), (\d+)\)", r'"\1/\2"', repr(promise))
    beside = [part for part in PARTS if part in case.parts & {"arms on offer", "changes"}]
    said = [typed, *([] if case.lottery is None else [f"lottery={case.lottery:g}"])]
    return ", ".join([*said, *(["with " + " and ".join(beside)] if beside else [])])


def _small_cases() -> Iterator[tuple[Shares, int]]:
    """Yield shares over small denominators, sums of one and just below, and how many rounds to search."""
    for arms, (rounds, denominators) in SMALL.items():
        for denominator in denominators:
            for numerators in product(range(denominator + 1), repeat=arms):
                full = denominator - 1 <= sum(numerators) <= denominator
                if full and list(numerators) == sorted(numerators, reverse=True):
                    yield tuple(Fraction(n, denominator) for n in numerators), rounds


def _drawn_shares(random: np.random.Generator) -> Shares:
    """Return shares that sum to at most one: even, lopsided, tiny, or exactly full."""
    arms = int(random.integers(2, MOST_ARMS + 1))
    kind = random.choice(["even", "full", "loose", "tiny"])
    if kind == "even":
        return (Fraction(1, arms),) * arms
    weights = [int(w) for w in random.integers(0, 1000, arms)]
    weights[int(random.integers(arms))] += 1
    if kind == "tiny":
        weights = [1 + int(w) for w in random.integers(0, 5, arms)]
    rest = {"full": 0, "loose": int(random.integers(1, 500)), "tiny": 10 ** int(random.integers(2, 7))}[str(kind)]
    return tuple(Fraction(weight, sum(weights) + rest) for weight in weights)


def _drawn_adversary(random: np.random.Generator, shares: Shares) -> Adversary:
    kind = random.choice(["spiteful", "stubborn", "fickle"])
    if kind == "spiteful":
        return Spiteful()
    return Stubborn(int(random.integers(len(shares)))) if kind == "stubborn" else Fickle(copy.deepcopy(random))


def main(name: str, *, rounds: int = 2_000, cases: int = 40) -> int:
    """Play the game against every registered policy of a name, or beginning of names, that takes shares and keeps them
    at every round or at a horizon; return 1 where one breaks its promise."""
    code = 0
    for entry in registry.entries(prefix=name) if name.endswith("/") else [registry.get(name)]:
        takes_shares = "shares" in inspect.signature(entry.cls).parameters
        if not takes_shares or entry.cls._traits.holds_when in (None, "in the long run"):
            print(f"{entry.name}: no promise of shares to break")
            continue
        try:
            report = check_promise(entry.cls, rounds=rounds, cases=cases)
            print(f"{entry.name}: its promise held in {report.conversations:,} conversations")
        except ContractError as error:
            code = 1
            print(f"{entry.name}: FAILED: {error}")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
