"""The forms of requests and answers, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AlertOut",
    "ArmOut",
    "AskBatch",
    "AskBody",
    "AuditOut",
    "BiasOut",
    "CreateBody",
    "DecisionBatch",
    "DecisionOut",
    "DecisionsOut",
    "Envelope",
    "ForgetBody",
    "GroupOut",
    "HealthOut",
    "LiveOut",
    "MonitorOut",
    "OwedOut",
    "PromiseOut",
    "RecordOut",
    "RewardOut",
    "RowOut",
    "SeriesOut",
    "StateOut",
    "StudiesOut",
    "StudyOut",
    "TellBatch",
    "TellBody",
    "ToldBatch",
    "ToldOut",
]

Label = str | int | list[str | int]
Row = list[float]
Groups = list[str | int] | dict[str, str | int]
TICKET = "ads.17.5f0c2a9d41b7e683"
TICKET_TEXT = "The ticket as ask returned it: it names the study and cannot be made up."


class In(BaseModel):
    """A request's body: no other names than these."""

    model_config = ConfigDict(extra="forbid")


class ErrorOut(BaseModel):
    """What was refused: a permanent name, and a sentence that says how to mend it."""

    name: str = Field(examples=["ContradictionError"])
    message: str = Field(examples=["ticket 17 was told before: reward 1.0, not 0.0; nothing has changed"])


class Envelope(BaseModel):
    """Every answer that refuses."""

    error: ErrorOut


class CreateBody(In):
    """A study to create."""

    name: str = Field(
        min_length=1,
        max_length=100,
        pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$",
        description="Letters, digits, - and _; a letter or a digit first.",
    )
    policy: dict[str, Any] = Field(
        description="`policy`, a registered name, beside the arguments of its constructor.",
        examples=[{"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}, "seed": 1}],
    )
    expire_after: float | str | None = Field(
        None,
        description="How long a ticket may stay open: seconds, or a text such as 7d or 12h; null for ever.",
        examples=["7d"],
    )


class AskBody(In):
    """One decision, or with `count` as many that are shown the same."""

    contexts: list[Row] | None = Field(None, description="What the round shows: a row of numbers for each arm.")
    groups: Groups | None = Field(None, description="The groups of the arms in this round, where they differ.")
    count: int | None = Field(None, ge=1, description="So many decisions at once; the answer is then a list.")


class AskRow(In):
    """What one decision of a batch is shown."""

    contexts: list[Row] | None = None
    groups: Groups | None = None


class AskBatch(In):
    """Many decisions, each shown contexts of its own."""

    batch: list[AskRow]


class TellBody(In):
    """What happened: as many of these as the policy takes."""

    ticket: str = Field(description=TICKET_TEXT, examples=[TICKET])
    reward: float | list[float] | None = Field(None, description="The reward.", examples=[1.0])
    violations: list[list[int]] | None = Field(None, description="Pairs that an auditor finds treated unfairly.")
    acceptable: list[list[int]] | None = Field(None, description="Pairs that an auditor finds treated fairly.")
    X: list[Row] | None = Field(None, description="Rows of features, for policies that sample.")
    y: list[float | str] | None = Field(None, description="Their labels.")
    samples: dict[str, list[float | str]] | None = Field(None, description="Columns of a table of trials.")


class TellBatch(In):
    """Many reports, each as a single one would be; a row that cannot be is refused alone."""

    batch: list[dict[str, Any]] = Field(examples=[[{"ticket": TICKET, "reward": 1.0}]])


class ForgetBody(In):
    """A ticket of which nothing will ever be told."""

    ticket: str = Field(description=TICKET_TEXT, examples=[TICKET])


class DecisionOut(BaseModel):
    """A decision; which fields it has beside the ticket depends on the policy."""

    ticket: str = Field(examples=[TICKET])
    id: int = Field(examples=[17])
    round: int | None = Field(None, description="The round, 1, 2, ...")
    phase: int | None = Field(None, description="The phase of a search.")
    arm: Label | None = Field(None, description="The arm to play.", examples=["a"])
    group: Label | None = Field(None, description="The group to sample from.")
    index: int | None = Field(None, description="The arm's or group's position, from 0; -1 for nobody.")
    count: int | None = Field(None, description="How many rows to sample.")
    probabilities: list[float] | None = Field(None, description="What the arm was drawn from; null if not drawn.")
    reason: str | None = Field(None, description="Why.", examples=["owed its share"])
    frame: dict[str, list[Any]] | None = Field(None, description="What to try how often, by columns.")
    plan: list[list[int]] | None = None


class Refused(BaseModel):
    """A row of a batch that was refused; the others were done."""

    error: ErrorOut


class DecisionBatch(BaseModel):
    """Decisions in the order of the request."""

    decisions: list[DecisionOut | Refused]


class ToldOut(BaseModel):
    """What became of a report."""

    ticket: str = Field(examples=[TICKET])
    status: Literal["told", "already told", "forgotten", "already forgotten"]


class ToldRow(BaseModel):
    """What became of a report in a batch."""

    ticket: Any = None
    status: Literal["told", "already told"] | None = None
    error: ErrorOut | None = None


class ToldBatch(BaseModel):
    """What became of each report, in the order of the request."""

    results: list[ToldRow]


class StudyOut(BaseModel):
    """A study among others."""

    name: str
    policy: str
    created: datetime
    decisions: int
    told: int
    open: int
    promise: Literal["kept", "broken"] | None
    alerts: int


class StudiesOut(BaseModel):
    """All studies, oldest first."""

    studies: list[StudyOut]


class ArmOut(BaseModel):
    """An arm, or a group, as it stands."""

    label: Label
    group: Label | None = None
    decisions: int
    share: float | None
    promised: float | None = Field(description="The share that it is promised.")
    owed: float | None = Field(description="By how many decisions it is behind its share now; < 0: ahead.")
    reward: float | None = Field(description="Its mean reward.")
    last_owed_round: int | None = Field(description="The last round that it got because it was owed its share.")


class PromiseOut(BaseModel):
    """What is promised to the arms, and whether it is kept."""

    when: Literal["at every round", "at the horizon", "in the long run"]
    kept: bool | None
    tolerance: float
    worst_shortfall: float | None
    worst_arm: Label | None
    worst_round: int | None
    rounds_in_violation: int


class RewardOut(BaseModel):
    """Mean reward: of everything, and of the last `window` reports."""

    mean: float
    recent: float
    window: int


class BiasOut(BaseModel):
    """A group's learned bias in one feature, with its confidence interval (null: unbounded)."""

    group: Label
    reference: Label
    feature: Any
    bias: float | None
    low: float | None
    high: float | None


class GroupOut(BaseModel):
    """A group's share of the decisions."""

    label: Label
    share: float | None


class AlertOut(BaseModel):
    """A threshold that was passed."""

    id: int
    monitor: int
    metric: str
    subject: str | None
    since: datetime
    value: float
    threshold: float
    sequence: int
    cleared: datetime | None


class MonitorOut(BaseModel):
    """What is watched."""

    id: int
    metric: str
    subject: str | None
    threshold: float
    window: int


class StateOut(BaseModel):
    """A study as it stands."""

    name: str
    policy: str
    created: datetime
    sequence: int = Field(description="Entries in the log; it changes whenever anything does.")
    decisions: int
    told: int
    forgotten: int
    open: int
    arms: list[ArmOut]
    promise: PromiseOut | None
    reward: RewardOut | None
    bias: list[BiasOut] | None
    groups: list[GroupOut] | None
    alerts: list[AlertOut]
    monitors: list[MonitorOut]


class SeriesOut(BaseModel):
    """The course of a study at some rounds, first to last; lists by label hold one number a round."""

    round: list[int]
    labels: list[Label]
    shares: list[list[float | None]]
    promised: list[float | None] | None
    shortfall: list[list[float | None]] | None
    reward_mean: list[float | None]
    reward_recent: list[float | None]
    forced: list[int]


class RowOut(BaseModel):
    """A decision among others."""

    id: int
    at: datetime
    arm: Label | None
    index: int | None
    reason: str | None
    probabilities: list[float] | None
    status: Literal["open", "told", "forgotten", "expired"]
    reward: Any = None
    told_at: datetime | None
    age_seconds: float = Field(description="How long it was open, until now if it still is.")


class DecisionsOut(BaseModel):
    """Decisions, newest first; `next` is the `before` of the next page."""

    decisions: list[RowOut]
    next: int | None


class RecordOut(RowOut):
    """All that is known of one decision."""

    decision: dict[str, Any]
    given: dict[str, Any]
    told: dict[str, Any] | None
    version: str
    random_state: list[str] | None
    key: str | None
    actor: str | None


class OwedRow(BaseModel):
    """A decision that was owed."""

    id: int
    round: int
    at: datetime
    arm: Label


class OwedOut(BaseModel):
    """Who was owed a share when, newest first."""

    owed: list[OwedRow]


class AuditOut(BaseModel):
    """What replaying the whole log found."""

    model_config = ConfigDict(extra="allow")

    ok: bool
    problems: list[str]
    entries: int
    decisions: int
    told: int
    forgotten: int
    open: int
    versions: list[str]
    promise: str | None
    promise_kept: bool | None
    worst_shortfall: float | None
    worst_arm: Label | None
    worst_round: int | None
    rounds_in_violation: int
    first_violation: list[Any] | None


class LiveOut(BaseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str


class HealthOut(LiveOut):
    """The process answers, and its store takes writes."""

    studies: int
