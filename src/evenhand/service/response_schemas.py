"""The bodies of responses, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AlertOut", "ArmOut", "AuditOut", "BiasOut", "DecisionBatch", "DecisionOut", "DecisionsOut", "Envelope",
    "GroupOut", "HealthOut", "LiveOut", "MonitorOut", "OwedOut", "PromiseOut", "RecordOut", "RewardOut", "RowOut",
    "SeriesOut", "StateOut", "StudiesOut", "StudyOut", "ToldBatch", "ToldOut",
]  # fmt: skip

Label = str | int | list[str | int]
TICKET = "ads.17.5f0c2a9d41b7e683"


class ErrorOut(BaseModel):
    """What was refused: a permanent name, and a sentence that says how to mend it."""

    name: str = Field(examples=["ContradictionError"])
    message: str = Field(examples=["ticket 17 was told before: reward 1.0, not 0.0; nothing has changed"])


class Envelope(BaseModel):
    """Every answer that refuses."""

    error: ErrorOut


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
    reason_code: str | None = Field(None, description="The kind of the reason, for programs.", examples=["forced"])
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
