"""What a promise must withstand: every learner there can be in small cases, spiteful ones in long conversations.

A promise such as N_i(t) >= floor(r_i t) - alpha is to hold whatever the learner wishes and whatever rewards come. In
small cases all wishes are tried, one conversation for each way the rule can be driven; in long ones shares are drawn,
sums of exactly one and tiny shares among them, and the learner wants what hurts most, always the same, or anything.
Nothing is taken from the policy but its decisions: the promise is counted here, in whole numbers.
"""

from __future__ import annotations

import copy
import inspect
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Protocol

import numpy as np

from evenhand.arguments import whole
from evenhand.checks.promise_cases import KINDS, Case, drawn_case, small_cases
from evenhand.checks.promise_trial import can_play, play
from evenhand.errors import ArgumentError, ContractError, EvenhandError, wanted
from evenhand.rng import Seed, draw_seed
from evenhand.traits import traits_of

__all__ = ["PromiseReport", "check_promise"]

SMALL = {2: (8, (2, 3, 5, 7)), 3: (6, (3, 4))}
"""For each number of arms: how many rounds are tried exhaustively, and the denominators of the shares."""
TOLERANCES = (0.0, 1.5)
KNOWN = ("learner", "shares", "tolerance", "horizon", "arms", "seed", "windows")
MOST_ARMS = 9

Shares = tuple[Fraction, ...]


@dataclass(frozen=True)
class PromiseReport:
    """What was tried before a promise was found to hold.

    Attributes
    ----------
    conversations, rounds : how many, in all.
    refused : the shares that the class refused, by how many.
    worst_shortfall : the largest floor(r_i t) - N_i(t) - floor(alpha) that was seen, at most 0; of fixed shares, None
        where none were tried.
    kinds : what else was tried: slates, caps, sets, windows, arms on offer, segments, changes.
    """

    conversations: int
    rounds: int
    refused: int
    worst_shortfall: int | None
    kinds: tuple[str, ...] = ()


class Adversary(Protocol):
    """Chooses what the learner wishes, or which reward comes, when it is asked; it sees the pulls so far."""

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return one of 0 .. choices - 1."""
        ...


class Script:
    """An adversary that goes through everything it can be asked for: an odometer with a wheel for each question."""

    def __init__(self) -> None:
        self.picked: list[int] = []
        self._sizes: list[int] = []
        self._at = 0

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

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return the same choice."""
        return self._choice % choices


class Fickle:
    """Wants anything, a while the same."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random, self._left, self._choice = random, 0, 0

    def pick(self, choices: int, shares: Shares, pulls: Sequence[int]) -> int:
        """Return a random choice, kept for a random number of rounds."""
        if self._left == 0:
            self._left, self._choice = int(self._random.geometric(0.1)), int(self._random.integers(choices))
        self._left -= 1
        return self._choice % choices


class _Learner:
    """A learner whose wishes are an adversary's; copies are the same, as their wishes are looked up here."""

    def __init__(self, adversary: Adversary, shares: Shares, pulls: list[int], ranks: bool = False) -> None:
        self._adversary, self._shares, self._pulls, self._ranks = adversary, shares, pulls, ranks

    def choose(self) -> Any:
        if not self._ranks:
            return self._adversary.pick(len(self._shares), self._shares, self._pulls)
        left, ranking = list(range(len(self._shares))), []
        while left:
            shares, pulls = tuple(self._shares[arm] for arm in left), [self._pulls[arm] for arm in left]
            ranking.append(left.pop(self._adversary.pick(len(left), shares, pulls)))
        return ranking

    def update(self, index: int, reward: float) -> None:
        pass

    def __deepcopy__(self, memo: Any) -> _Learner:
        return self


def check_promise(policy_class: Any, *, rounds: int = 2_000, cases: int = 40, seed: Seed = 0) -> PromiseReport:
    """Try to break the promise of a quota rule: N_i(t) >= floor(r_i t) - alpha for every arm at every round.

    Small cases are searched exhaustively; in long ones shares, learners, rewards and late reports are drawn.

    Parameters
    ----------
    policy_class : a class, or a function that returns a policy, with a parameter `shares`; it is given a list of
        fractions, and where it has such parameters a `learner`, a `tolerance`, a `horizon` and a `seed`. Where the
        policy keeps its promise "at the horizon", that round alone is checked.
    rounds : length of the long conversations.
    cases : how many long conversations.
    seed : of what is drawn.

    Raises
    ------
    ContractError
        If the promise breaks; the message says for which shares, tolerance and wishes, and in which round.
    ArgumentError
        If the class takes no shares, needs an argument that is not known here, refuses all shares, or promises nothing
        but in the long run.

    Examples
    --------
    >>> import evenhand as eh
    >>> eh.check_promise(eh.quotas.DeadlineLearn, cases=5, rounds=300).worst_shortfall
    0
    """
    rounds, cases = whole("rounds", rounds, low=1), whole("cases", cases, low=0)
    trial = _Trial(policy_class)
    random = np.random.default_rng(draw_seed(seed))
    for shares, length in _small_cases() if trial.takes("shares") else ():
        for tolerance in TOLERANCES if trial.takes("tolerance") else TOLERANCES[:1]:
            script = Script()
            while trial.converse(shares, tolerance, length, script, f"wishes or rewards {script.picked}"):
                if not script.advance():
                    break
    for _ in range(cases if trial.takes("shares") else 0):
        shares = _drawn_shares(random)
        tolerance = float(random.choice([0.0, 0.0, 0.5, 1.0, 2.3])) if trial.takes("tolerance") else 0.0
        adversary, name = _drawn_adversary(random, shares)
        trial.converse(shares, tolerance, rounds, adversary, name, random)
    kinds = tuple(kind for kind in KINDS if trial.knows(kind))
    for case, length in small_cases():
        if case.kind in kinds:
            script = Script()
            while trial.play(case, length, script, f"choices {script.picked}"):
                if not script.advance():
                    break
    for kind in kinds:
        for _ in range(-(-cases // 8)):
            case = drawn_case(kind, random)
            adversary, name = _drawn_adversary(random, _wished(case))
            trial.play(case, -(-rounds // 2), adversary, name, random)
    if trial.conversations == 0:
        raise ArgumentError(wanted("policy_class", "one that takes shares", f"{trial.name}: {trial.refusal}"))
    return PromiseReport(trial.conversations, trial.rounds, len(trial.refused), trial.worst, kinds)


class _Trial:
    """Conversations with the policies of one class, and what came of them."""

    def __init__(self, policy_class: Any) -> None:
        if not callable(policy_class):
            raise ArgumentError(wanted("policy_class", "a class of policies", policy_class))
        self._make, self.name = policy_class, getattr(policy_class, "__name__", str(policy_class))
        self._parameters = inspect.signature(policy_class).parameters
        needed = [name for name, p in self._parameters.items() if p.default is p.empty and name not in KNOWN]
        if not {"shares", "windows"} & set(self._parameters) or needed:
            got = f"{self.name}, which needs {', '.join(needed) or 'none'}"
            mend = "pass a function of shares, learner and tolerance that fills in the rest"
            raise ArgumentError(wanted("policy_class", "a class that takes shares or windows", got, mend))
        self.conversations = self.rounds = 0
        self.worst: int | None = None
        self.refused: set[Shares] = set()
        self.refusal = ""

    def takes(self, name: str) -> bool:
        """Say whether the constructor has such a parameter."""
        return name in self._parameters

    def converse(
        self,
        shares: Shares,
        tolerance: float,
        rounds: int,
        adversary: Adversary,
        name: str,
        random: np.random.Generator | None = None,
    ) -> bool:
        """Check the promise in one conversation, with late reports where `random` is given; False if it is refused."""
        pulls = [0] * len(shares)
        policy = self._policy(shares, tolerance, rounds, _Learner(adversary, shares, pulls))
        if policy is None:
            return False
        kept = traits_of(policy).kept or "at every round"
        if kept == "in the long run":
            raise ArgumentError(wanted("policy_class", "one with a promise for finite rounds", f"{self.name}: {kept}"))
        slack, waiting = math.floor(tolerance), []
        for round in range(1, rounds + 1):
            decision = policy.ask()
            if type(decision.index) is not int or not 0 <= decision.index < len(pulls):
                raise ContractError(f"{self.name}: decided for arm {decision.index!r} of {len(pulls)}")
            pulls[decision.index] += 1
            if kept == "at every round" or round == rounds:
                self._count(shares, tolerance, slack, pulls, round, name)
            waiting.append(decision)
            while waiting and (random is None or random.random() < 0.6):
                late = waiting.pop(0 if random is None else int(random.integers(len(waiting))))
                policy.tell(late, self._reward(adversary, shares, pulls))
        self.conversations += 1
        self.rounds += rounds
        return True

    def knows(self, kind: str) -> bool:
        """Say whether the class takes promises of this kind."""
        needs = {"slates": "plays", "caps": "caps", "windows": "windows"}.get(kind, "shares")
        case = next(case for case, _ in small_cases() if case.kind == kind)
        return self.takes(needs) and can_play(case, lambda case: self._made(case, Stubborn(0)))

    def play(
        self, case: Case, rounds: int, adversary: Adversary, name: str, random: np.random.Generator | None = None
    ) -> bool:
        """Check a promise of another kind in one conversation; False if it is refused."""
        pulls = [0] * case.arms
        policy = self._made(case, adversary, pulls)
        if policy is None:
            return False
        shares = _wished(case)
        play(self.name, policy, case, lambda n: adversary.pick(n, shares, pulls), random, rounds, pulls, name)
        self.conversations += 1
        self.rounds += rounds
        return True

    def _made(self, case: Case, adversary: Adversary, pulls: list[int] | None = None) -> Any:
        learner = _Learner(adversary, _wished(case), [0] * case.arms if pulls is None else pulls, case.plays > 1)
        given = {"learner": learner, "horizon": 1, **case._asdict(), "arms": list(range(case.arms)), "seed": 1}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return self._make(**{name: value for name, value in given.items() if self.takes(name)})
        except EvenhandError as error:
            self.refusal = str(error)
            return None

    def _policy(self, shares: Shares, tolerance: float, rounds: int, learner: Any) -> Any:
        given = {
            "learner": learner,
            "shares": list(shares),
            "tolerance": tolerance,
            "horizon": rounds,
            "seed": 1,
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return self._make(**{name: value for name, value in given.items() if self.takes(name)})
        except EvenhandError as error:
            self.refused.add(shares)
            self.refusal = str(error)
            return None

    def _reward(self, adversary: Adversary, shares: Shares, pulls: Sequence[int]) -> float:
        return 0.0 if self.takes("learner") else float(adversary.pick(2, shares, pulls))

    def _count(self, shares: Shares, tolerance: float, slack: int, pulls: Sequence[int], round: int, name: str) -> None:
        for arm, (share, n) in enumerate(zip(shares, pulls, strict=True)):
            behind = share.numerator * round // share.denominator - n - slack
            self.worst = behind if self.worst is None else max(self.worst, behind)
            if behind > 0:
                said = ", ".join(map(str, shares))
                raise ContractError(
                    f"{self.name} breaks its promise: shares [{said}], tolerance {tolerance:g}, {name}: after round "
                    f"{round} arm {arm} has had {n} of the {behind + n} pulls that it is owed; the pulls are {pulls}"
                )


def _wished(case: Case) -> Shares:
    """Return the shares of single arms, by which an adversary decides what hurts."""
    windows = {arm: Fraction(*window) for arm, window in (case.windows or {}).items()}
    return tuple((case.shares or windows).get(arm, Fraction(0)) for arm in range(case.arms))


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


def _drawn_adversary(random: np.random.Generator, shares: Shares) -> tuple[Adversary, str]:
    kind = random.choice(["spiteful", "stubborn", "fickle"])
    if kind == "spiteful":
        return Spiteful(), "a spiteful learner"
    if kind == "stubborn":
        arm = int(random.integers(len(shares)))
        return Stubborn(arm), f"a learner that always wishes arm {arm}"
    return Fickle(copy.deepcopy(random)), "a learner of changing wishes"
