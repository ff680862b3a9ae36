"""The routes that change a promise: add or retire an arm, or promise something else."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field
from starlette.requests import Request

from evenhand.descriptions.promises import promise_from
from evenhand.errors import ArgumentError, SharesError, Wording, expected
from evenhand.labels import Labels
from evenhand.promises.versions import rows_of
from evenhand.service.routes.fields import Body, Named, Share
from evenhand.service.routes.routing import Endpoint
from evenhand.service.sessions import Session
from evenhand.studies import Change
from evenhand.studies.log.codec import moment


class AddBody(Body):
    """An arm to put on offer."""

    arm: Named = Field(description="Its label: a new one, or that of a retired arm.", examples=["d"])
    share: Share = Field(default=0, description="Its promised share.", examples=["1/5"])
    cap: Share | None = Field(default=None, description="The most that it may have; null for no limit.")


class AddedOut(BaseModel):
    """An arm is on offer."""

    status: Literal["added"]
    arm: str | int
    begins_after: int = Field(description="After how many rounds its promise begins.")


async def add(request: Request, session: Session, body: AddBody) -> dict[str, Any]:
    """Put a new arm on offer, or a retired one again."""
    arm = Labels(await session.reads.run(partial(_labels, session))).typed(body.arm)
    given = {"arm": arm, "share": body.share, "cap": body.cap}
    wait = await session.run(Change(kind="add", given=given, actor=request.scope["key"]))
    return {"status": "added", "arm": arm, "begins_after": wait}


class RetireBody(Body):
    """An arm to take off offer."""

    arm: Named = Field(examples=["d"])


class RetiredOut(BaseModel):
    """An arm is off offer; its open tickets may still be told."""

    status: Literal["retired"]
    arm: str | int


async def retire(request: Request, session: Session, body: RetireBody) -> dict[str, Any]:
    """Take an arm off offer; all other promises go on."""
    await session.run(Change(kind="retire", given={"arm": body.arm}, actor=request.scope["key"]))
    return {"status": "retired", "arm": body.arm}


class ChangeBody(Body):
    """Other shares, or another promise: one of the two; neither withdraws what was planned for `begins`."""

    shares: dict[str, Share] | list[Share] | None = Field(
        default=None, description="The share of each arm on offer.", examples=[{"a": "1/2", "b": 0.1}]
    )
    promise: dict[str, Any] | None = Field(
        default=None,
        description="Everything that is promised from now on, as for a new study.",
        examples=[{"shares": {"a": "1/2"}, "caps": {"b": "1/4"}, "tolerance": 2}],
    )
    begins: str | None = Field(
        default=None,
        description="When it is due, if not now: a time (UTC without a zone), a date, or a duration such as 12h.",
        examples=["2030-12-01T00:00+01:00"],
    )


class LagOut(BaseModel):
    """By how many plays an arm, or a set of arms, was behind its former share."""

    label: str | int | list[str | int]
    plays: float


class ChangedOut(BaseModel):
    """The shares were changed, or will be."""

    status: Literal["changed", "planned", "withdrawn"]
    begins: datetime | None = Field(None, description="When the change is due.")
    dropped: list[LagOut] = Field(description="What arms were behind that is not carried over to the new shares.")


async def change(request: Request, session: Session, body: ChangeBody) -> dict[str, Any]:
    """Replace the promise, now or right before the first decision after `begins`: rounds and decisions are counted from
    this change."""
    nothing = body.shares is None and body.promise is None
    if (nothing and body.begins is None) or not (body.shares is None or body.promise is None):
        got = Wording("neither" if body.promise is None else "both")
        raise ArgumentError(expected("shares", "either shares or promise", got))
    labels = await session.reads.run(partial(_labels, session))
    shares: Any = body.shares
    if isinstance(shares, dict):
        shares = Labels(labels).read(shares, "shares", "an object arm -> share", refusal=SharesError)
    if body.promise is not None:
        offered = await session.reads.run(partial(_labels, session, retired=False))
        shares = promise_from(body.promise, offered, bounded=True)
    operation = Change(kind="change", given={"shares": shares}, actor=request.scope["key"], begins=body.begins)
    dropped = await session.run(operation)
    due = operation.due
    status = "changed" if due is None else "withdrawn" if nothing else "planned"
    return {"status": status, "dropped": rows_of(dropped), "begins": None if due is None else moment(due)}


def _labels(session: Session, retired: bool = True) -> list[Any]:
    with session.reading() as (statistics, _):
        return [label for label in statistics.labels if retired or label not in statistics.retired]


PROMISE_ENDPOINTS = (
    Endpoint("POST", "/studies/{name}/add", add, "decide", (AddedOut,)),
    Endpoint("POST", "/studies/{name}/retire", retire, "decide", (RetiredOut,)),
    Endpoint("POST", "/studies/{name}/change", change, "decide", (ChangedOut,)),
)
