"""WindowLearn: every arm at least so often in any so many consecutive rounds, whatever came before.

Shares over all rounds so far let an arm that was ahead wait for long. A window does not: "at least twice in any 25
consecutive rounds" holds from every round on. The tests of what may be played, with their proofs, stand at the head of
`evenhand.promises.windows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evenhand.errors import SharesError, wanted
from evenhand.kernels.arrays import Floats, Ints
from evenhand.learners.ucb1 import UCB1
from evenhand.policy.policy import KernelPolicy
from evenhand.promises.promise import read_promise
from evenhand.promises.schedules import find_schedule, phases
from evenhand.promises.windows import chain, grant, pick, safe_states
from evenhand.protocol import Label
from evenhand.quotas.under_quota import Ranking, UnderQuota
from evenhand.registry import register
from evenhand.rng import Seed

__all__ = ["WindowLearn"]


class WindowParams(NamedTuple):
    owners: Ints
    """(n_tokens,): the arm of each token, tokens of short periods first."""
    windows: Ints
    periods: Ints
    safe: np.ndarray[Any, np.dtype[np.bool_]]
    """For every combination of times left whether it is safe; empty where there are too many."""
    phases: Ints
    """(n_phases, n_tokens): within how many rounds each token comes from each round of a schedule on; empty where the
    table or a chain of periods decides."""
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


@register("quotas/window-learn")
class WindowLearn(UnderQuota, KernelPolicy):
    """Play any learner so that every arm comes at least c times in any a consecutive rounds.

    The learner's wish is granted where every window can still be kept after it: exactly where any rule could grant it
    if the windows have at most 65,536 combinations of times left, and otherwise by a chain of periods or, where none is
    sparse enough, by a schedule that a search finds. Windows of density sum c/a up to 5/6 can always be scheduled, but
    a long search gives up; from there to 1 some cannot be scheduled, such as (2, 3, n) for every n.

    Parameters
    ----------
    learner : one of `evenhand.learners`, a contextual policy, or any object with `choose()` and `update(index,
        reward)`; forced pulls feed it too.
    windows : a dict arm -> a, at least once in any a rounds, or arm -> (c, a), at least c times; arms that are not
        named are owed nothing.
    arms : labels of all arms, where some have no window.
    plays, caps : 1 and None; `DeadlineLearn` takes others, beside shares.
    seed : seed of the learner's random choices.

    Raises
    ------
    SharesError
        If the windows cannot be read, need more rounds than there are, or no schedule is found for them.
    ArgumentError
        If several plays or caps are asked for, or the learner has decided before or cannot choose and update.

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

    caps = None
    rule = Ranking(pick, grant)
    kept: ClassVar[Any] = "in every window"

    def __init__(
        self,
        learner: Any,
        windows: Any,
        arms: int | Sequence[Label] | None = None,
        *,
        plays: int = 1,
        caps: Any = None,
        seed: Seed = None,
    ) -> None:
        self._one_play_without_caps(plays, caps)
        if arms is None:
            arms = getattr(learner, "arms", None)
        promise = read_promise(windows=windows, offers="all", arms=arms)
        if any(len(members) > 1 for members, _ in promise.windows):
            mend = "DeadlineLearn(learner, 0, windows=) takes windows of sets of arms"
            raise SharesError(wanted("windows", "windows of single arms", windows, mend))
        self.windows = {arm: window for (arm,), window in promise.windows}
        labels = promise.arms
        tokens = [(labels.index(arm), a) for arm, (c, a) in self.windows.items() for _ in range(c)]
        lengths = [a for _, a in tokens]
        self._safe, schedule = safe_states(lengths), None
        periods = chain(lengths) if self._safe is None else lengths
        if periods is None:
            periods, schedule = lengths, find_schedule(lengths)
            assert schedule is not None
        self._phases = np.zeros((0, len(tokens)), np.int64) if schedule is None else phases(schedule, len(tokens))
        order = range(len(tokens)) if periods is lengths else sorted(range(len(tokens)), key=periods.__getitem__)
        self._tokens = [(*tokens[n], periods[n]) for n in order]
        none = read_promise(0, arms=labels)
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
        return WindowParams(owners, windows, periods, safe, self._phases, learner)

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
        if self._phases.size:
            return super().call_work() + self._phases.size * len(self._labels)
        longest = 2 * max(window for _, window, _ in self._tokens)
        return super().call_work() + longest * len(self._tokens)

    @classmethod
    def examples(cls) -> Iterator[tuple[WindowLearn, Any]]:
        from evenhand.learners.thompson import Thompson
        from evenhand.quotas.worlds import BernoulliArms

        yield cls(UCB1(), {"a": 4, "b": (2, 9)}, ["a", "b", "c"]), BernoulliArms({"a": 0.3, "b": 0.5, "c": 0.8})
        yield cls(Thompson(), {0: 7, 1: 50, 2: 60, 3: 70}), BernoulliArms([0.2, 0.9, 0.4, 0.3])
