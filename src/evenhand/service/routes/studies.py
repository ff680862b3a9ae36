"""The routes of whole studies: create one, list all, and show the present state of each."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy.exc import IntegrityError
from starlette.requests import Request
from starlette.responses import Response

from evenhand.descriptions.policies import policy_from
from evenhand.errors import ArgumentError
from evenhand.service.bodies import NO_STORE, as_json
from evenhand.service.errors import HttpRefusal
from evenhand.service.routes.fields import Body, Label, WorstCase
from evenhand.service.routes.routing import Endpoint, unless_seen, unlimited
from evenhand.service.sessions import Session, Sessions
from evenhand.studies import Study
from evenhand.studies.statistics.state import outline, summarize


class CreateBody(Body):
    """A study to create."""

    name: str = Field(
        min_length=1,
        max_length=100,
        pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$",
        description="Letters, digits, - and _; a letter or a digit first.",
        examples=["ads"],
    )
    policy: dict[str, Any] = Field(
        description="`policy`, a registered name, beside the arguments of its constructor.",
        examples=[{"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}, "seed": 1}],
    )
    expire_after: int | float | str | None = Field(
        default=None,
        description="How long a ticket may stay open: seconds, or a text such as 7d or 12h; null for ever.",
        examples=["7d"],
    )
    expire_reward: int | float | None = Field(
        default=None,
        description="The reward of a ticket that expires, such as 0 where only clicks are reported; null for none.",
        examples=[0],
    )


async def create(request: Request, body: CreateBody) -> Response:
    """Create a study with a policy.

    A key that is limited to some studies may create them and no others.
    """
    if not request.scope["admitted"].reaches(body.name):
        unlimited(request)
    state = await request.app.state.changes.run(partial(_create, request.app.state.sessions, body))
    return as_json(state, {"Location": f"/studies/{body.name}", **NO_STORE}, status=201)


def _create(sessions: Sessions, body: CreateBody) -> Any:
    try:
        policy, after, reward = policy_from(body.policy), body.expire_after, body.expire_reward
        Study.create(sessions.store, policy, name=body.name, expire_after=after, expire_reward=reward)
    except ArgumentError as error:
        if isinstance(error.__cause__, IntegrityError):
            raise HttpRefusal(409, f"study {body.name!r} already exists; choose another name") from error
        raise
    session = sessions.open(body.name)
    session.writer.start()
    return state_of(session)


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


async def studies(request: Request) -> dict[str, Any]:
    """Return the outline of every study that the key works for, and which of them cannot be read."""
    key = request.scope.get("admitted")
    read, failed = await request.app.state.sessions.every(_outlined)
    return {
        "studies": [row for name, row in read.items() if key is None or key.reaches(name)],
        "unreadable": [{"name": name, "why": why} for name, why in failed.items() if key is None or key.reaches(name)],
    }


def _outlined(session: Session) -> dict[str, Any]:
    with session.reading() as (statistics, _):
        return outline(session.reader, statistics)


class ArmOut(BaseModel):
    """The present state of an arm, or of a group."""

    label: Label
    group: Label | None = None
    decisions: int
    weight: float | None = Field(None, description="Its weight that was told so far, where shares of one are promised.")
    share: float | None
    promised: float | None = Field(description="Its promised share.")
    owed: float | None = Field(
        description="By how many plays, or how much weight, it is behind its share now; negative: ahead."
    )
    reward: float | None = Field(description="Its mean reward.")
    last_owed_round: int | None = Field(
        description="The last round in which the promise forced this arm; null where several are played in a round."
    )


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
    """What was promised from a round on."""

    round: int
    at: datetime | None
    kind: Literal["add", "retire", "change"] | None
    shares: list[ShareOut]
    others: list[str] = Field(description="What else was promised, such as caps and windows, in words.")


class PlannedOut(BaseModel):
    """A change of the promise that is due later."""

    begins: datetime
    promises: list[str] = Field(description="What is promised from then on, in words.")


class RefusedOut(BaseModel):
    """A change of the promise that could not be made when it was due."""

    begins: datetime
    why: str


class ExcusedOut(BaseModel):
    """The plays that no cap counts, as every arm on offer was at its cap, and the first and last round with one."""

    plays: int
    first: int
    last: int
    first_at: datetime
    last_at: datetime
    away: dict[str, int] = Field(description="In how many of these rounds each arm was not on offer.")


class OutageOut(BaseModel):
    """When an arm with a share was not on offer, and how far it is behind its share now by all rounds."""

    label: str | int
    rounds: int
    behind: float
    first: int
    last: int
    first_at: datetime
    last_at: datetime


class PromiseOut(WorstCase):
    """What is promised to the arms, and whether it is kept."""

    when: Literal["at every round", "at the horizon", "in the long run"]
    kept: bool | None
    tolerance: float | None = Field(description="By how many plays, or how much weight, an arm may be behind.")
    weight: str | None = Field(None, description="What is shared, where it is not rounds, such as tokens.")
    broken_from: float | None = Field(
        None,
        description="The shortfall in plays from which on the promise is broken; null where no shares of rounds are "
        "promised.",
    )
    plays: int | None = Field(None, description="How many arms are played in a round, where several are.")
    caps: list[CapOut] | None = None
    sets: list[SetOut] | None = Field(None, description="Shares of sets of arms.")
    windows: list[WindowOut] | None = None
    clock: Literal["offered", "all"] | None = Field(
        None, description="Which rounds shares count: where all, this says so."
    )
    outages: list[OutageOut] | None = Field(None, description="When arms with a share were not on offer, if ever.")
    excused: ExcusedOut | None = None
    retired: list[str | int] | None = Field(None, description="The arms that were taken off offer.")
    history: list[EpochOut] | None = Field(None, description="What was promised from the start, and after each change.")
    planned: list[PlannedOut] | None = Field(None, description="Changes that are due later.")
    refused: list[RefusedOut] | None = Field(None, description="Changes that could not be made when they were due.")


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
    notes: list[str] = Field(description="What to know before believing the rewards.")


def study(request: Request, session: Session) -> Response:
    """Return the present state of a study: shares against promises, rewards, learned bias."""
    return unless_seen(request, session, "state", lambda: state_of(session))


def state_of(session: Session) -> dict[str, Any]:
    """Return the present state of a study."""
    with session.reading() as (statistics, _):
        return summarize(session.study, statistics)


STUDY_ENDPOINTS = (
    Endpoint("POST", "/studies", create, "decide", (StateOut,), status=201),
    Endpoint("GET", "/studies", studies, "read", (StudiesOut,)),
    Endpoint("GET", "/studies/{name}", study, "read", (StateOut,), tagged=True),
)
