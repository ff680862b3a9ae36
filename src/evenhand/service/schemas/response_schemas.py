"""The bodies of responses, as the OpenAPI document describes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Label = str | int | list[str | int]
TICKET = "ads.17.5f0c2a9d41b7e683"


class ErrorOut(BaseModel):
    """An error: a permanent name, and a message that says what to do."""

    name: str = Field(examples=["ContradictionError"])
    message: str = Field(examples=["ticket 17 was told before: reward 1.0, not 0.0; nothing has changed"])


class Envelope(BaseModel):
    """The body of every refusal."""

    error: ErrorOut


class DecisionOut(BaseModel):
    """A decision; which fields it has beside the ticket depends on the policy."""

    ticket: str = Field(examples=[TICKET])
    id: int = Field(examples=[17])
    round: int | None = Field(None, description="The round, 1, 2, ...")
    phase: int | None = Field(None, description="The phase of a search.")
    arm: Label | None = Field(None, description="The arm to play.", examples=["a"])
    group: Label | None = Field(None, description="The group to sample from.")
    index: int | None = Field(None, description="The arm's or group's position, from 0; -1 for none.")
    arms: list[str | int] | None = Field(None, description="All arms to play, the best first, where there are several.")
    indexes: list[int] | None = Field(None, description="Their positions, from 0.")
    count: int | None = Field(None, description="How many rows to sample.")
    probabilities: list[float] | None = Field(None, description="What the arm was drawn from; null if not drawn.")
    reason: str | None = Field(None, description="Why.", examples=["owed its share"])
    reason_code: str | None = Field(None, description="The kind of the reason, for programs.", examples=["forced"])
    frame: dict[str, list[Any]] | None = Field(None, description="A table, by columns: what to try how often.")
    plan: list[list[int]] | None = None
    item: Label | None = Field(None, description="The id of the item to label.")
    purpose: str | None = Field(None, description="Whether the item's label trains or validates the model.")
    content: str | None = Field(None, description="What people see of the item: a text, or a picture's address.")
    choices: list[str | int] | None = Field(None, description="All labels, where they are known.")
    gap: float | None = Field(None, description="How much the probabilities of the two people of a pair differ.")
    people: dict[str, list[str]] | None = Field(None, description="What is shown of the two people, by feature.")


class DecisionBatch(BaseModel):
    """Decisions in the order of the request; a row that was refused is an error, and the others were taken."""

    decisions: list[DecisionOut | Envelope]


class ToldOut(BaseModel):
    """The status of a report."""

    ticket: str = Field(examples=[TICKET])
    status: Literal["told", "already told", "forgotten", "already forgotten"]


class AddedOut(BaseModel):
    """An arm is on offer."""

    status: Literal["added"]
    arm: str | int
    begins_after: int = Field(description="After how many rounds its promise begins.")


class RetiredOut(BaseModel):
    """An arm is off offer; its open tickets may still be told."""

    status: Literal["retired"]
    arm: str | int


class LagOut(BaseModel):
    """By how many plays an arm, or a set of arms, was behind its former share."""

    label: str | int | list[str | int]
    plays: float
    segment: str | int | None = Field(None, description="In which segment, where rounds have segments.")


class ChangedOut(BaseModel):
    """The shares were changed."""

    status: Literal["changed"]
    dropped: list[LagOut] = Field(description="What arms were behind that is not carried over to the new shares.")


class ToldRow(BaseModel):
    """The status of one row of a batch of reports, or its error."""

    ticket: Any = None
    status: Literal["told", "already told"] | None = None
    error: ErrorOut | None = None


class ToldBatch(BaseModel):
    """The status of each report, in the order of the request."""

    results: list[ToldRow]


class StudyCounts(BaseModel):
    """What every view of a study begins with."""

    name: str
    policy: str
    created: datetime
    decisions: int
    told: int
    open: int


class StudyOut(StudyCounts):
    """The outline of a study."""

    promise: Literal["kept", "broken"] | None


class UnreadableOut(BaseModel):
    """A study whose log could not be read, and why."""

    name: str
    why: str


class StudiesOut(BaseModel):
    """All studies, oldest first."""

    studies: list[StudyOut]
    unreadable: list[UnreadableOut] = Field(description="The studies whose logs could not be read just now.")


class ArmOut(BaseModel):
    """The present state of an arm, or of a group."""

    label: Label
    group: Label | None = None
    decisions: int
    share: float | None
    promised: float | None = Field(description="Its promised share.")
    owed: float | None = Field(description="By how many plays it is behind its share now; negative: ahead.")
    reward: float | None = Field(description="Its mean reward.")
    last_owed_round: int | None = Field(description="The last round in which the promise forced this arm.")


class WorstCase(BaseModel):
    """How far a promise was broken, if it was."""

    worst_shortfall: float | None
    worst_arm: Label | None
    worst_round: int | None
    rounds_in_violation: int


class CapOut(BaseModel):
    """The largest part of the rounds that an arm may have."""

    label: str | int
    cap: float


class SetOut(BaseModel):
    """What a set of arms is owed together."""

    arms: list[str | int]
    share: float


class WindowOut(BaseModel):
    """At least `plays` plays of an arm, or of a set of arms, in any `rounds` consecutive rounds."""

    label: str | int | None = Field(None, description="The arm, where it is one.")
    arms: list[str | int] | None = Field(None, description="The arms of a set.")
    plays: int
    rounds: int


class ShareOut(BaseModel):
    """An arm's promised share."""

    label: str | int
    share: float


class EpochOut(BaseModel):
    """The shares that were promised from a round on."""

    round: int
    at: datetime | None
    kind: Literal["add", "retire", "change"] | None
    shares: list[ShareOut]


class PromiseOut(WorstCase):
    """What is promised to the arms, and whether it is kept."""

    when: Literal["at every round", "at the horizon", "in the long run"]
    kept: bool | None
    tolerance: float | None = Field(description="By how many plays an arm may be behind.")
    broken_from: float | None = Field(
        None, description="The shortfall from which on the promise is broken; null where no shares are promised."
    )
    plays: int | None = Field(None, description="How many arms are played in a round, where several are.")
    caps: list[CapOut] | None = None
    sets: list[SetOut] | None = Field(None, description="Shares of sets of arms.")
    windows: list[WindowOut] | None = None
    retired: list[str | int] | None = Field(None, description="The arms that were taken off offer.")
    segments: bool | None = Field(None, description="Whether rounds have segments: all of this holds inside each.")
    history: list[EpochOut] | None = Field(None, description="The shares from the start, and after each change.")


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


class StateOut(StudyCounts):
    """The present state of a study."""

    sequence: int = Field(description="Entries in the log; it changes whenever anything does.")
    forgotten: int
    feedback: Literal["reward", "rows", "samples", "labels"] = Field(description="What its decisions are told.")
    arms: list[ArmOut]
    promise: PromiseOut | None
    reward: RewardOut | None
    bias: list[BiasOut] | None
    groups: list[GroupOut] | None


class SeriesOut(BaseModel):
    """A study at some rounds, first to last; the lists of each label hold one number per round."""

    round: list[int]
    at: list[datetime] = Field(description="When each round was decided.")
    labels: list[Label]
    shares: list[list[float | None]]
    promised: list[float | None] | None
    shortfall: list[list[float | None]] | None
    reward_mean: list[float | None]
    reward_recent: list[float | None]
    forced: list[int]


class RowOut(BaseModel):
    """One decision of a list."""

    id: int
    at: datetime
    arm: Label | None
    arms: list[str | int] | None = Field(None, description="All arms of the round, where there are several.")
    index: int | None
    reason: str | None
    probabilities: list[float] | None
    status: Literal["open", "told", "forgotten", "expired"]
    reward: Any = None
    told_at: datetime | None
    age_seconds: float = Field(description="How long it was open, until now if it still is.")


class DecisionsOut(BaseModel):
    """Decisions; `next` is the `before` of the next page, and where the oldest come first its `after`."""

    decisions: list[RowOut]
    next: int | None


class RecordOut(RowOut):
    """Everything on record about one decision."""

    decision: dict[str, Any]
    given: dict[str, Any]
    told: dict[str, Any] | None
    version: str
    random_state: list[str] | None
    key: str | None
    actor: str | None


class ForcedRow(BaseModel):
    """A decision that the promise forced."""

    id: int
    round: int
    at: datetime
    arm: Label


class ForcedOut(BaseModel):
    """The decisions that the promise forced, newest first."""

    forced: list[ForcedRow]


class AuditOut(WorstCase):
    """What a replay of the whole log found."""

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
    first_violation: list[Any] | None


class LiveOut(BaseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str


class HealthOut(LiveOut):
    """The process answers, and its store takes writes."""

    studies: int
    unreadable: int = Field(description="How many studies could not be read the last time; `GET /studies` names them.")
