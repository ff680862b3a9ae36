"""The statistics of a study: shares, shortfalls and rewards over time, taken from the log entry by entry.

At most a few hundred moments are kept however long the log grows; the promise is checked at every round, in the exact
integers of an audit.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Container, Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from evenhand.audit.gaps import Gaps
from evenhand.errors import EvenhandError, ReplayError
from evenhand.kernels.arrays import Floats, Ints
from evenhand.policy.kernel_set import REASONS
from evenhand.policy.traits import traits_of
from evenhand.promises.clause import in_words
from evenhand.protocol import Label
from evenhand.quotas.quota_kernels import LOT, UNRANKED
from evenhand.quotas.quota_policy import QuotaPolicy
from evenhand.quotas.shadow_prices import PRICED
from evenhand.studies.log.chain import Entry
from evenhand.studies.log.codec import arguments_of, from_text, promise_arguments, revive, rewards_told
from evenhand.studies.log.log import CLOSED
from evenhand.studies.log.operations import CHANGES
from evenhand.studies.statistics.outcomes import Outcomes
from evenhand.studies.statistics.promise_check import PromiseCheck

MOMENTS = 400
RECENT = 200
"""How many of the last rewards the recent mean covers."""
DRIFT = 1_000
"""How many of the last decisions are compared with all before."""


NUMBERS = ("sequence", "rounds", "told", "forgotten", "forced", "certain", "_every", "_at")
ARRAYS = ("counts", "last_owed", "rewards", "rewarded", "group_counts", "deciders")
DECIDERS = ("the learner", "the promise", "the lottery", "prices", "the offer")
"""Who may decide, in the order of `Statistics.deciders`."""
BY_CODE = {"forced": 1, "capped": 1, "absent": 4}
BY_WORDS = {REASONS[LOT]: 2, REASONS[PRICED]: 3, REASONS[UNRANKED]: 4}
"""Whom of them the code of a reason names, or else its words; the learner where neither does."""
LATEST = {"last_arms": np.int64, "last_groups": np.int64, "_recent": np.float64}
"""What a snapshot holds as it is, and the last few of something, with their type."""


class Moment(NamedTuple):
    """The statistics at the end of one round: its number; the decisions for each label (n_labels,); r_i t - N_i(t)
    (n_labels,); the mean reward of all and of the last 200 reports (nan before the first); the forced decisions so
    far; and when the round was decided, in microseconds since 1970."""

    round: int
    counts: Ints
    owed: Floats
    reward_mean: float
    reward_recent: float
    forced: int
    at: int


class Epoch(NamedTuple):
    """The shares that are promised from a round on, by arm; since when, in microseconds since 1970, None for those from
    the start; by which change: "add", "retire" or "change", None for the start; what else is promised, such as caps and
    windows, in words; and the decisions for each label before it (n_labels,)."""

    round: int
    at: int | None
    kind: str | None
    shares: dict[Label, float]
    others: list[str]
    counts: list[int]


class Statistics(PromiseCheck):
    """What a log shows so far, and whether the promise held; every figure is about the decisions of the log alone.

    Parameters
    ----------
    policy : the policy as it was before the first decision.
    chosen : the rounds whose moments to keep; None for some of all rounds.

    Attributes
    ----------
    labels : the arms, groups or positions that decisions are for, in the order of every array's (n_labels,).
    sequence, rounds, told, forgotten : entries, decisions, reports and tickets closed without one so far.
    counts : decisions for each label (n_labels,).
    forced : decisions so far that the promise forced; `last_owed` (n_labels,) the last such
        round, 0 for none, and where several arms are played in a round.
    deciders : decisions so far (5,) by whom of `DECIDERS`: the learner, whose first wish among the arms on offer was
        played, or what stood in its place; the offer where the learner ranked no arm of it.
    certain : decisions so far that a lottery drew where an arm on offer had the chance 0 or 1.
    rewards, rewarded : sum of the rewards and how many there were, by label (n_labels,).
    groups : the groups of the arms where the policy knows any; `group_counts` (n_groups,) decisions for each.
    gaps : the differences of the groups' mean rewards; None where there are fewer than two groups.
    open : the open tickets: number -> (indices, when in microseconds since 1970).
    epochs : what was promised from the start, and after each change; empty where nothing is.
    last_arms, last_groups : indices of the last decisions and of their groups.
    """

    def __init__(self, policy: Any, *, chosen: Container[int] | None = None) -> None:
        traits = traits_of(policy)
        self.labels: list[Label] = list(traits.labels)
        super().__init__(policy)
        self.sequence = self.rounds = self.told = self.forgotten = self.forced = self.certain = 0
        self.deciders = np.zeros(len(DECIDERS), np.int64)
        self._by_lottery = isinstance(policy, QuotaPolicy) and policy._drawn
        k = len(self.labels)
        self.counts, self.last_owed = np.zeros(k, np.int64), np.zeros(k, np.int64)
        self.rewards, self.rewarded = np.zeros(k), np.zeros(k, np.int64)
        self.open: dict[int, tuple[tuple[int, ...], int]] = {}
        self._membership = traits.membership
        self.groups: list[Label] = [] if self._membership is None else list(self._membership.names)
        self.group_counts = np.zeros(len(self.groups), np.int64)
        self.last_arms: deque[int] = deque(maxlen=DRIFT)
        self.last_groups: deque[int] = deque(maxlen=DRIFT)
        self.gaps = Gaps(len(self.groups)) if len(self.groups) > 1 else None
        self._tickets_groups: dict[int, list[int]] = {}
        self._low, self._high = _reward_range(traits.reward_range)
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._outcomes = Outcomes()
        self.epochs: list[Epoch] = []
        self._begin_epoch(None, None)
        self._chosen, self._every, self._at = chosen, 1, 0
        self._moments: list[Moment] = []

    def advance(self, rows: Iterable[Entry]) -> None:
        """Take in stored entries, those that follow the last one taken."""
        for row in rows:
            self.take(row)
        self.flush()

    def take(self, row: Entry) -> dict[str, Any]:
        """Take in one stored entry, and return its decision, {} where it has none.

        Raises
        ------
        ReplayError
            If it is damaged.
        """
        try:
            decision: dict[str, Any] = {} if row.decision is None else from_text(row.decision)
            self._take(row, decision)
            return decision
        except (ArithmeticError, AttributeError, EvenhandError, LookupError, TypeError, ValueError) as error:
            raise ReplayError(f"entry {row.sequence} cannot be read: {error}") from error

    def _take(self, row: Entry, decision: dict[str, Any]) -> None:
        self.sequence = row.sequence
        if row.kind in CLOSED:
            self.closed(row.ticket, from_text(row.given).get("weight", 0))
        if row.kind == "ask":
            self._decided(row, decision)
        elif row.kind == "tell" or (row.kind == "expire" and rewards_told(from_text(row.given))):
            self.told += 1
            self._rewarded(row.ticket or 0, rewards_told(from_text(row.given)))
        elif row.kind in CHANGES:
            returned = decision.get("returned")
            self.changed(row.kind, arguments_of(row.given), returned)
            self._begin_epoch(row.at, row.kind)
        elif row.kind in ("forget", "expire"):
            self.forgotten += 1
            self._outcomes.closed(from_text(row.given))
            self.open.pop(row.ticket or 0, None)
            self._tickets_groups.pop(row.ticket or 0, None)

    # ------------------------------------------------------------------ what it shows

    @property
    def owed(self) -> Floats | None:
        """r_i t - N_i(t) for each label (n_labels,) now, t and N_i counted as the promise counts them; None where
        nothing is promised."""
        return self.behind

    @property
    def reward(self) -> tuple[float, float] | None:
        """The mean reward of all that were told and of the last 200; None before the first."""
        if not self._recent:
            return None
        return float(self.rewards.sum() / self.rewarded.sum()), float(np.mean(self._recent))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know before believing the rewards and the shares, in sentences."""
        about = self._outcomes.notes(self.rounds, self.forgotten, len(self.open))
        return (*about, *self.certainty, *self.outage_notes)

    @property
    def certainty(self) -> tuple[str, ...]:
        """In how many rounds of a lottery an arm was sure to be drawn, or not to be, in a sentence; () without one."""
        said = f"In {self.certain:,} of {self.rounds:,} rounds an arm on offer had the probability 0 or 1."
        return (said,) * (self._by_lottery and self.rounds > 0)

    @property
    def moments(self) -> list[Moment]:
        """Some moments from the first to now, at most about 800."""
        latest = self._moments[-1].round if self._moments else 0
        return [*self._moments, *([self._moment()] if self.rounds > latest else [])]

    # ------------------------------------------------------------------ inside

    def _decided(self, row: Entry, decision: dict[str, Any]) -> None:
        indices = _indices(decision)
        self.rounds, self._at = self.rounds + 1, row.at
        self.open[row.ticket or 0] = indices, row.at
        if indices and self.when is not None:
            given = None if row.given == "{}" else promise_arguments(row.given)
            self.decided(indices, given, row.ticket)
            chances = decision.get("probabilities")
            if self._by_lottery and chances is not None:
                on = self._on_offer(given.get("available") if given else None, ()) or range(len(chances))
                self.certain += any(chances[arm] in (0.0, 1.0) for arm in on)
        for index in indices:
            self._drawn(row, index)
        code, said = decision.get("reason_code") or "", decision.get("reason") or ""
        self.deciders[BY_CODE.get(code) or BY_WORDS.get(said, 0)] += 1
        if code == "forced":
            self.forced += 1
            if len(indices) == 1:  # the log of a slate does not say which of its arms was owed
                self.last_owed[indices[0]] = self.rounds
        if self._chosen is not None:
            if self.rounds in self._chosen:
                self._moments.append(self._moment())
        elif self.rounds == 1 or self.rounds % self._every == 0:
            self._moments.append(self._moment())
            if len(self._moments) >= 2 * MOMENTS:
                self._every *= 2
                self._moments = [m for m in self._moments if m.round == 1 or m.round % self._every == 0]

    def _drawn(self, row: Entry, index: int) -> None:
        if index >= len(self.counts):
            self._widen(index + 1)
        self.counts[index] += 1
        self.last_arms.append(index)
        if self._membership is not None:
            shown = from_text(row.given).get("groups")
            codes = self._membership.codes if shown is None else self._membership.of_round(revive(shown))
            self.group_counts[int(codes[index])] += 1
            self.last_groups.append(int(codes[index]))
            if self.gaps is not None:
                self._tickets_groups.setdefault(row.ticket or 0, []).append(int(codes[index]))

    def _rewarded(self, ticket: int, values: list[Any]) -> None:
        """Count the rewards of a ticket; groups are compared by rewards that are scaled to [0, 1] and cut there."""
        for index, value in zip(self.open.pop(ticket, ((), 0))[0], values, strict=False):
            self._recent.append(float(value))
            self.rewards[index] += value
            self.rewarded[index] += 1
            self._outcomes.add([value])
        for group, value in zip(self._tickets_groups.pop(ticket, ()), values, strict=False):
            if self.gaps is not None:
                self.gaps.take(group, min(max((value - self._low) / (self._high - self._low), 0.0), 1.0))

    def shown_gap(self, error: float) -> float | None:
        """Return by how much a group's mean reward is shown to differ from that of the others, in units of rewards; see
        `evenhand.audit.gaps.Gaps.shown`."""
        shown = None if self.gaps is None else self.gaps.shown(error)
        return None if shown is None else shown * (self._high - self._low)

    def copy(self) -> Self:
        """Return a copy that continues independently."""
        other = super().copy()
        other.gaps, other._outcomes = copy.deepcopy(self.gaps), copy.deepcopy(self._outcomes)
        return other

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        found: dict[str, Any] = {name: vars(self)[name] for name in (*NUMBERS, *ARRAYS)}
        found |= {name: np.array(vars(self)[name], dtype) for name, dtype in LATEST.items()}
        return found | {
            "check": super().snapshot(),
            "labels": self.labels,
            "open": [[ticket, at, *indices] for ticket, (indices, at) in self.open.items()],
            "tickets_groups": [[ticket, *groups] for ticket, groups in self._tickets_groups.items()],
            "gaps": None if self.gaps is None else self.gaps.snapshot(),
            "outcomes": self._outcomes.snapshot(),
            "epochs": [[*epoch] for epoch in self.epochs],
            "moments": [np.array([moment[field] for moment in self._moments]) for field in range(len(Moment._fields))],
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot of the statistics of the same log."""
        super().restore(snapshot["check"])
        vars(self).update({name: snapshot[name] for name in NUMBERS})
        vars(self).update({name: np.array(snapshot[name]) for name in ARRAYS})
        for name in LATEST:
            vars(self)[name].extend(snapshot[name].tolist())
        self.labels = list(snapshot["labels"])
        self.open = {ticket: (tuple(indices), at) for ticket, at, *indices in snapshot["open"]}
        self._tickets_groups = {ticket: groups for ticket, *groups in snapshot["tickets_groups"]}
        if self.gaps is not None:
            self.gaps.restore(snapshot["gaps"])
        self._outcomes.restore(snapshot["outcomes"])
        self.epochs = [Epoch(*epoch) for epoch in snapshot["epochs"]]
        columns = (list(column) if column.ndim > 1 else column.tolist() for column in snapshot["moments"])
        self._moments = [Moment(*row) for row in zip(*columns, strict=True)]

    def _moment(self) -> Moment:
        mean, recent = self.reward or (np.nan, np.nan)
        owed = np.full(len(self.counts), np.nan) if self.promise is None else self.owed
        assert owed is not None
        return Moment(self.rounds, self.counts.copy(), owed, mean, recent, self.forced, self._at)

    def _begin_epoch(self, at: int | None, kind: str | None) -> None:
        if self.promise is not None:
            owed = zip(self.promise.arms, self.promise.shares, strict=True)
            shares = {arm: float(share) for arm, share in owed if arm not in self.retired}
            others = in_words(one for one in self.promise.clauses if one.kind != "floor" or len(one.arms) > 1)
            self.epochs.append(Epoch(self.rounds + 1, at, kind, shares, others, self.counts.tolist()))

    def _new_label(self, label: Label) -> None:
        super()._new_label(label)
        self._widen(len(self.counts) + 1, [label])

    def _widen(self, size: int, labels: Iterable[Label] | None = None) -> None:
        """Make room for new arms, or new positions in rounds with any number of individuals."""
        more = size - len(self.counts)
        self.labels.extend(range(len(self.counts), size) if labels is None else labels)
        for name in ("counts", "last_owed", "rewards", "rewarded"):
            vars(self)[name] = np.pad(vars(self)[name], (0, more))
        self._moments = [
            moment._replace(
                counts=np.pad(moment.counts, (0, more)), owed=np.pad(moment.owed, (0, more), constant_values=np.nan)
            )
            for moment in self._moments
        ]


def _reward_range(given: tuple[float, float] | None) -> tuple[float, float]:
    """Return the range of a policy's rewards, [0, 1] where it has none."""
    low, high = given or (0.0, 1.0)
    return (low, high) if math.isfinite(high - low) and high > low else (0.0, 1.0)


def _indices(decision: dict[str, Any]) -> tuple[int, ...]:
    """Return the indices that a decision is for: one, several (the arm lists them, or indexes does), or none."""
    if "indexes" in decision:
        return tuple(decision["indexes"])
    index, arm = decision.get("index"), decision.get("arm")
    if isinstance(arm, list):
        return tuple(arm)
    return () if index is None or index < 0 else (index,)
