"""WindowLearn: every arm at least so often in any so many consecutive rounds, whatever came before.

Shares over all rounds so far let an arm that was ahead wait for long. A window does not: "at least twice in any 25
consecutive rounds" holds from every round on. The tests of what may be played, with their proofs, stand at the head of
`evenhand.promises.windows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, SharesError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import by_label
from evenhand.learners.ucb1 import UCB1
from evenhand.policy import KernelPolicy
from evenhand.promises.windows import chain, grant, pick, safe_states
from evenhand.protocol import Label, arm_labels
from evenhand.quotas.problem import Promise
from evenhand.quotas.under_quota import Ranking, UnderQuota
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["WindowLearn", "read_windows"]

LONGEST = 1_000_000
"""Rounds of a window."""
MOST_TOKENS = 10_000

Window = tuple[int, int]


class WindowParams(NamedTuple):
    owners: Ints
    """(n_tokens,): the arm of each token, tokens of short periods first."""
    windows: Ints
    periods: Ints
    safe: np.ndarray[Any, np.dtype[np.bool_]]
    """For every combination of times left whether it is safe; empty where the chain of periods decides."""
    learner: Any


class WindowState(NamedTuple):
    pulls: Ints
    left: Ints
    """(n_tokens,): within how many rounds the token must be served."""
    spare: Ints
    ahead: Ints
    scores: Floats
    chosen: Ints
    learner: Any


def read_windows(windows: Any, arms: int | Sequence[Label] | None) -> dict[Label, Window]:
    """Return the window (c, a) of each arm that has one: at least c plays in any a consecutive rounds.

    >>> read_windows({"new": 10, "old": (2, 25)}, ["new", "old", "other"])
    {'new': (1, 10), 'old': (2, 25)}

    Raises
    ------
    SharesError
        If there is none, one is neither a number of rounds nor a pair, an arm is unknown, or they need more rounds than
        there are.
    """
    what = "a dict arm -> number of rounds, or arm -> (plays, rounds)"
    given = by_label(windows, "windows", what, refusal=SharesError)
    if not isinstance(given, Mapping) or not given:
        raise SharesError(wanted("windows", what, windows))
    if arms is None and len(given) < 2:
        raise ArgumentError(wanted("arms", "at least two arms", list(given), "name those without a window in arms="))
    labels = arm_labels(list(given) if arms is None else arms)
    read: dict[Label, Window] = {}
    for label, window in given.items():
        if label not in labels:
            raise SharesError(wanted("windows", f"windows of the arms {list(labels)}", f"no arm {label!r}"))
        pair = (1, window) if is_whole(window) else window
        sound = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(is_whole(number) for number in pair)
        if not sound or not 1 <= pair[0] <= pair[1] <= LONGEST:
            say = f"a number of rounds, or (plays, rounds) with 1 <= plays <= rounds <= {LONGEST:,}"
            raise SharesError(wanted(f"windows[{label!r}]", say, window))
        read[label] = int(pair[0]), int(pair[1])
    needed = sum((Fraction(c, a) for c, a in read.values()), Fraction(0))
    if needed > 1:
        over = f"together they need {float(needed):.6g} of the rounds, more than 1 by {float(needed - 1):.6g}"
        raise SharesError(f"windows: {over}; lengthen some of them")
    return read


@register("quotas/window-learn")
class WindowLearn(UnderQuota, KernelPolicy):
    """Play any learner so that every arm comes at least c times in any a consecutive rounds.

    The learner's wish is granted where every window can still be kept after it: exactly where any rule could grant it
    if the windows have at most 65,536 combinations of times left, and by a chain of periods otherwise. By windows of
    density sum c/a up to 5/6 nothing is known to be refused; from there to 1 some cannot be scheduled, such as (2, 3,
    n) for every n.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`; forced pulls feed it too.
    windows : a dict arm -> a, at least once in any a rounds, or arm -> (c, a), at least c times; arms that are not
        named are owed nothing.
    arms : labels of all arms, where some have no window.
    seed : seed of the learner's random choices.

    Raises
    ------
    SharesError
        If the windows cannot be read, need more rounds than there are, or no schedule is found for them.
    ArgumentError
        If the learner has decided before or cannot choose and update.

    Examples
    --------
    >>> from evenhand.learners import UCB1
    >>> policy = WindowLearn(UCB1(), {"small": (2, 10), "new": 5}, arms=["large", "small", "new"])
    >>> for _ in range(50):
    ...     decision = policy.ask()
    ...     policy.tell(decision, 1.0 if decision.arm == "large" else 0.0)
    >>> policy.pulls["small"] >= 10, policy.pulls["new"] >= 10
    (True, True)

    Source: the head of `evenhand.promises.windows`.
    """

    rule = Ranking(pick, grant)
    kept: ClassVar[Any] = "in every window"

    def __init__(
        self, learner: Any, windows: Any, arms: int | Sequence[Label] | None = None, *, seed: Seed = None
    ) -> None:
        if arms is None:
            arms = getattr(learner, "arms", None)
        self.windows = read_windows(windows, arms)
        labels = arm_labels(list(self.windows) if arms is None else arms)
        tokens = [(labels.index(arm), a) for arm, (c, a) in self.windows.items() for _ in range(c)]
        if len(tokens) > MOST_TOKENS:
            raise SharesError(wanted("windows", f"at most {MOST_TOKENS:,} plays in all windows", len(tokens)))
        lengths = [a for _, a in tokens]
        self._safe = safe_states(lengths)
        periods = chain(lengths) if self._safe is None else lengths
        if periods is None or (self._safe is not None and not self._safe[tuple(a - 1 for a in lengths)]):
            found = "no schedule keeps them" if periods is not None else "no chain of periods keeps them"
            density = sum(1 / a for a in lengths)
            raise SharesError(
                f"windows: {found}, at {density:.6g} of the rounds; lengthen some until they need at most 5/6"
            )
        order = range(len(tokens)) if self._safe is not None else sorted(range(len(tokens)), key=periods.__getitem__)
        self._tokens = [(*tokens[n], periods[n]) for n in order]
        none = Promise.read(dict.fromkeys(labels, 0), 0.0, labels)
        self._set_up(learner, none, seed)
        self.promise = None  # type: ignore[assignment]

    @property
    def pulls(self) -> dict[Label, int]:
        """How often each arm was decided for so far."""
        with self._lock:
            return dict(zip(self._labels, self._state.pulls.tolist(), strict=True))

    def quota_parameters(self, learner: Any) -> WindowParams:
        owners, windows, periods = (np.array(column, np.int64) for column in zip(*self._tokens, strict=True))
        safe = np.zeros(0, np.bool_) if self._safe is None else self._safe.ravel()
        return WindowParams(owners, windows, periods, safe, learner)

    def quota_memory(self, learner: Any) -> WindowState:
        arms, tokens = len(self.arms or ()), len(self._tokens)
        left = np.array([window for _, window, _ in self._tokens], np.int64)
        none = np.full(1, -1, np.int64)
        return WindowState(
            np.zeros(arms, np.int64),
            left,
            np.zeros(1, np.int64),
            np.zeros(tokens, np.int64),
            np.zeros(arms),
            none,
            learner,
        )

    def call_work(self) -> int:
        if self._safe is not None:
            return super().call_work() + len(self._tokens) ** 2
        longest = 2 * max(window for _, window, _ in self._tokens)
        return super().call_work() + longest * len(self._tokens)

    @classmethod
    def examples(cls) -> Iterator[tuple[WindowLearn, Any]]:
        from evenhand.learners.thompson import Thompson
        from evenhand.quotas.worlds import BernoulliArms

        yield cls(UCB1(), {"a": 4, "b": (2, 9)}, ["a", "b", "c"]), BernoulliArms({"a": 0.3, "b": 0.5, "c": 0.8})
        yield cls(Thompson(), {0: 7, 1: 50, 2: 60, 3: 70}), BernoulliArms([0.2, 0.9, 0.4, 0.3])
