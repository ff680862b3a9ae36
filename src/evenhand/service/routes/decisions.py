"""The routes that decide: ask, tell and forget, one by one or in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from evenhand.descriptions.limits import check_pairs, check_shown
from evenhand.errors import ArgumentError, ContextError, EvenhandError, expected
from evenhand.frames import rows_frame
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.protocol import Decision
from evenhand.service.bodies import NO_STORE, as_json
from evenhand.service.errors import HttpRefusal, envelope, refusal_of
from evenhand.service.routes.fields import (
    EXPECTED,
    TICKET,
    Body,
    Cell,
    DecisionBatch,
    DecisionOut,
    ErrorOut,
    Name,
    Scalar,
    Ticket,
    Values,
    Weight,
)
from evenhand.service.routes.routing import Endpoint, off_loop, parse
from evenhand.service.sessions import Session
from evenhand.studies import Ask, Forget, Operation, Study, Tell
from evenhand.studies.log.codec import as_decided
from evenhand.studies.log.operations import given_or_refusal

MANY = 500
"""Rows beyond which a batch is prepared on a thread."""
Contexts = list[list[int | float]] | list[dict[str, Cell]] | dict[str, Cell]
Group = Name | list[Name]
Groups = list[Group] | dict[str, Group]
Pairs = Annotated[Values, WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}})]


class AskBody(Body):
    """One decision, or `count` decisions that see the same contexts."""

    contexts: Contexts | None = Field(
        default=None,
        description="What the round shows, a row for each arm: numbers, or an object column -> value. A single object "
        "is a row that all arms share. Text needs a policy with an encoder.",
        examples=[[[0.1, 2.0], [0.4, 1.0]]],
    )
    attributes: dict[str, Cell] | None = Field(
        default=None,
        description="What is known of whom the decision is about, instead of contexts: the policy's named features are "
        "a row that all arms share, and others are left out.",
        examples=[{"age": 31, "country": "SE"}],
    )
    groups: Groups | None = Field(
        default=None,
        description="The groups of the arms in this round, where they differ; a list is several attributes together.",
        examples=[{"a": "F", "b": ["M", "under 25"]}],
    )
    available: list[Name] | None = Field(
        default=None, description="The arms that are on offer in this round, where not all are.", examples=[["a", "b"]]
    )
    annotator: str | None = Field(default=None, description="The person who labels, so that nobody gets an item twice.")
    weight: Weight | None = Field(
        default=None, description="What the decision weighs, where shares of a weight are promised that is known now."
    )
    scores: dict[str, int | float] | None = Field(
        default=None,
        description="For a policy over learners/scores: the score of each arm that is on offer, by your own model; of "
        "equal scores the first leads. Neither contexts nor available are given beside them.",
        examples=[{"a": 0.12, "b": 0.3}],
    )
    subject: str | None = Field(
        default=None,
        description="Whom the contexts are about: they are encrypted in the log, and can be erased.",
        examples=["user-17"],
    )
    sticky: bool = Field(
        default=False,
        description="Whether the idempotency key alone decides: its first decision comes again, whatever is shown now.",
    )
    count: int | None = Field(default=None, ge=1, description="How many decisions to take; the answer is then a list.")

    def shown(self) -> dict[str, Any]:
        """Return what the policy is shown."""
        if not self.model_fields_set:
            return {}
        names = ("contexts", "groups", "available", "annotator", "weight", "scores")
        shown = {name: value for name, value in vars(self).items() if name in names}
        if isinstance(self.contexts, list) and self.contexts and isinstance(self.contexts[0], dict):
            shown["contexts"] = rows_frame(self.contexts, "contexts")
        return {name: value for name, value in shown.items() if value is not None}


class AskRow(AskBody):
    """One row of a batch."""

    key: str | None = Field(default=None, description="An idempotency key of this row.")


class AskBatch(Body):
    """Many decisions, each with contexts of its own."""

    batch: list[AskRow]


class AskHeaders(BaseModel):
    """The headers of an ask."""

    key: str | None = Field(
        None,
        alias="Idempotency-Key",
        pattern="^[!-~]([ -~]{0,98}[!-~])?$",
        description="Your own name for this decision: asking again with the same key returns the same decision. In a "
        "batch the i-th decision has the name KEY#i.",
    )


async def ask(
    request: Request,
    session: Session,
    headers: AskHeaders,
    body: AskBody | AskBatch = AskBody(),  # noqa: B008
) -> Any:
    """Take a decision, or many.

    Without `count` and `batch` the response is the bare decision. The decision is on disk, with its reason, before the
    response is sent.
    """
    state, actor = request.app.state, request.scope["key"]
    if isinstance(body, AskBody) and body.count is None:
        # the study may wait for a writer that hangs
        reads = bool(body.attributes) or (body.contexts is not None and len(body.contexts) == 1)
        operation = await off_loop(reads, lambda: _ask_operation(session, body, headers, actor))
        return await _alone(request, session, operation)
    rows = body.batch if isinstance(body, AskBatch) else [body]
    count = sum(row.count or 1 for row in rows)
    session.writer.check_room(min(count, state.max_batch))
    operations = await off_loop(
        count > MANY, lambda: _operations(session.study, rows, headers.key, actor, state.max_batch)
    )
    outcomes = await _run_all(session, operations)
    return await off_loop(len(outcomes) > MANY, lambda: _decided(request, session.study, outcomes))


def _ask_operation(session: Session, body: AskBody, headers: AskHeaders, actor: str) -> Ask:
    def read() -> dict[str, Any]:
        shown = _shown(session.study, body)
        check_shown(session.study.log.birth.policy, [shown])
        return shown

    shown, refusal = given_or_refusal(read, sticky=body.sticky)
    return Ask(given=shown, key=headers.key, subject=body.subject, sticky=body.sticky, refusal=refusal, actor=actor)


def _operations(
    study: Study, rows: Sequence[AskBody], key: str | None, actor: str, most: int
) -> list[Ask | EvenhandError]:
    """Return an operation for each decision, or what refuses it; the i-th has the number i under the request's key."""
    operations: list[Ask | EvenhandError] = []
    for row in rows:
        count, own = row.count or 1, row.key if isinstance(row, AskRow) else None
        if count > most:
            raise ArgumentError(expected("count", f"a whole number from 1 to {most}", count))
        if count > 1 and own:
            raise ArgumentError(expected("key", "one for each decision", f"one for {count}"))
        _check_size(len(operations) + count, most)
        try:
            shown, refusal = given_or_refusal(partial(_shown, study, row), sticky=row.sticky)
        except ContextError as error:
            operations += [error] * count
            continue
        one = Ask(given=shown, key=own or key, subject=row.subject, sticky=row.sticky, refusal=refusal, actor=actor)
        start = 0 if own else len(operations)
        operations += [replace(one, number=number) for number in range(start, start + count)]
    given = (operation.given for operation in operations if isinstance(operation, Ask))
    check_shown(study.log.birth.policy, given)
    return operations


def _shown(study: Study, body: AskBody) -> dict[str, Any]:
    """Return what a policy is shown; refuse one row for several arms, which may have lost the others on its way."""
    contexts, shown = body.contexts, body.shown()
    if contexts is None and body.attributes:
        policy = study.state.bare_copy()
        known = policy.contexts.named if isinstance(policy, KernelPolicy) else []
        named = {name: body.attributes[name] for name in known if name in body.attributes}
        return shown | ({"contexts": named} if named else {})
    if isinstance(contexts, list) and len(contexts) == 1:
        policy = study.state.bare_copy()
        arms = len(policy.arms or ()) if isinstance(policy, KernelPolicy) else 0
        if arms > 1:
            raise ContextError(expected("contexts", f"{arms} rows of numbers, one for each arm", "one row"))
    return shown


def _decided(request: Request, study: Study, outcomes: Sequence[Any]) -> Response:
    """Return the response to a batch of asks, and count it; raise the first refusal if all were refused."""
    good = sum(not isinstance(outcome, EvenhandError) for outcome in outcomes)
    if outcomes and not good:
        raise outcomes[0]
    request.app.state.metrics.count("ask", study.name, good)
    decisions = [
        _error(request, outcome) if isinstance(outcome, EvenhandError) else _decision(study, outcome)
        for outcome in outcomes
    ]
    return as_json({"decisions": decisions}, NO_STORE)


def _decision(study: Study, decision: Any) -> dict[str, Any]:
    """Return a decision as JSON has it, its ticket signed."""
    if type(decision) is Decision:
        alone = decision.slate is None and not isinstance(decision.arm, tuple)
        left_out = {"propensity", "arms", "indexes"} if alone else {"propensity"}
        sent = {name: value for name, value in decision.to_dict().items() if name not in left_out}
        return {"ticket": study.sign(decision.id), **sent}
    fields = {name: value for name, value in as_decided(decision).items() if name != "type"}
    if isinstance(fields.get("frame"), dict):
        fields["frame"] = fields["frame"]["$table"]
    return {"ticket": study.sign(decision.id), **fields}


class TellBody(Body):
    """What happened after a decision: the fields that the policy takes."""

    ticket: Ticket
    reward: Annotated[Values | dict[str, Scalar], WithJsonSchema({"type": ["number", "array", "object"]})] | None = (
        Field(
            default=None,
            examples=[1.0],
            description="For several arms a list in the order of the decision's `arms`, or an object arm -> reward.",
        )
    )
    violations: Pairs | bool | None = Field(
        default=None,
        description="Pairs that an auditor finds treated unfairly; true, for something, is answered with which to ask.",
    )
    acceptable: Pairs | None = Field(default=None, description="Pairs that an auditor finds treated fairly.")
    auditor: str | None = Field(default=None, description="Who names these pairs, where several people audit.")
    X: Values | None = Field(default=None, description="Rows of features, for policies that sample.")
    y: Name | list[Name] | None = Field(default=None, description="Their labels.")
    samples: dict[str, list[Cell]] | None = Field(default=None, description="The columns of a table of trials.")
    label: Name | None = Field(
        default=None, description="For an item to label: its label, or null to reject the item.", examples=["cat"]
    )
    annotator: str | None = Field(default=None, description="Who labels.")
    weight: Weight | None = Field(
        default=None, description="What the decision weighed, where shares of a weight are promised that is told later."
    )

    def told(self) -> dict[str, Any]:
        """Return what the policy is told.

        Raises
        ------
        ArgumentError
            If the columns of `samples` differ in length, or more pairs are named than any round has.
        """
        told = {name: value for name, value in vars(self).items() if name != "ticket" and value is not None}
        if "label" in self.model_fields_set:
            told["label"] = self.label
        if self.samples is not None:
            if len({len(column) for column in self.samples.values()}) > 1:
                raise ArgumentError(expected("samples", EXPECTED["samples"][1], self.samples))
            import pandas as pd

            told["samples"] = pd.DataFrame(self.samples)
        if self.violations is not None or self.acceptable is not None:
            check_pairs(told)
        return told


class TellBatch(Body):
    """Many reports; a row that is refused holds up no other."""

    batch: list[dict[str, Any]] = Field(examples=[[{"ticket": TICKET, "reward": 1.0}]])


class ToldOut(BaseModel):
    """The status of a report."""

    ticket: str = Field(examples=[TICKET])
    status: Literal["told", "already told", "forgotten", "already forgotten"]


class ToldRow(BaseModel):
    """The status of one row of a batch of reports, or its error."""

    ticket: Any = None
    status: Literal["told", "already told"] | None = None
    error: ErrorOut | None = None


class ToldBatch(BaseModel):
    """The status of each report, in the order of the request."""

    results: list[ToldRow]


async def tell(request: Request, session: Session, body: TellBody | TellBatch) -> Any:
    """Report what happened, once or many times.

    The same report again is answered `already told`; a different one is refused. In a batch each row has its own
    outcome.
    """
    state, actor = request.app.state, request.scope["key"]
    if isinstance(body, TellBody):
        large = body.samples is not None or isinstance(body.reward, dict)
        return await _alone(request, session, await off_loop(large, lambda: _tell_operation(session, body, actor)))
    _check_size(len(body.batch), state.max_batch)
    session.writer.check_room(len(body.batch))
    reports = await off_loop(
        len(body.batch) > MANY,
        lambda: [_report(session, row, f"batch[{i}]", actor) for i, row in enumerate(body.batch)],
    )
    outcomes = await _run_all(session, reports)
    return await off_loop(len(outcomes) > MANY, lambda: _told_all(request, session.study, body.batch, outcomes))


def _tell_operation(session: Session, body: TellBody, actor: str) -> Tell:
    """Return the operation of a report; a policy that plays one arm a round takes no rewards by arm."""
    if isinstance(body.reward, dict) and session.plays == 1:
        raise ArgumentError(expected("reward", EXPECTED["reward"][1], body.reward))
    return Tell(ticket=body.ticket, given=body.told(), actor=actor)


def _report(session: Session, row: dict[str, Any], where: str, actor: str) -> Tell | EvenhandError:
    """Return the operation of one row of a batch, or the error that refuses it."""
    try:
        return _tell_operation(session, parse(TellBody, row, where), actor)
    except EvenhandError as error:
        return error


def _told_all(request: Request, study: Study, batch: Sequence[Mapping[str, Any]], outcomes: Sequence[Any]) -> Response:
    """Return the response to a batch of reports, and count it."""
    request.app.state.metrics.count("tell", study.name, outcomes.count("told"))
    results = [
        {"ticket": row.get("ticket")}
        | (_error(request, outcome) if isinstance(outcome, EvenhandError) else {"status": outcome})
        for row, outcome in zip(batch, outcomes, strict=True)
    ]
    return as_json({"results": results}, NO_STORE)


class ForgetBody(Body):
    """A ticket whose outcome will never be known."""

    ticket: Ticket


async def forget(request: Request, session: Session, body: ForgetBody) -> dict[str, Any]:
    """Close a ticket whose outcome will never be known."""
    return await _alone(request, session, Forget(ticket=body.ticket, actor=request.scope["key"]))


async def _run_all(session: Session, operations: Sequence[Operation | EvenhandError]) -> list[Any]:
    """Run operations in one transaction; return their outcomes, a refusal as it is."""
    sound = [operation for operation in operations if not isinstance(operation, EvenhandError)]
    done = iter(await session.writer.run(sound) if sound else [])
    return [operation if isinstance(operation, EvenhandError) else next(done) for operation in operations]


async def _alone(request: Request, session: Session, operation: Ask | Tell | Forget) -> dict[str, Any]:
    """Run one operation, count it and return its answer; raise what refused it."""
    outcome, name = await session.run(operation), session.study.name
    if isinstance(operation, Ask):
        request.app.state.metrics.count("ask", name, 1)
        return _decision(session.study, outcome)
    if outcome in ("told", "forgotten"):
        request.app.state.metrics.count("tell" if isinstance(operation, Tell) else "forget", name, 1)
    return {"ticket": operation.ticket, "status": outcome}


def _check_size(count: int, most: int) -> None:
    if count > most:
        raise HttpRefusal(413, f"more than {most} rows in one batch; send smaller batches")


def _error(request: Request, error: EvenhandError) -> dict[str, Any]:
    """Return the row of what was refused in a batch, and count it."""
    request.app.state.metrics.count_refusal(refusal_of(error).name)
    return {"error": envelope(error)}


DECISION_ENDPOINTS = (
    Endpoint("POST", "/studies/{name}/ask", ask, "decide", (DecisionOut, DecisionBatch)),
    Endpoint("POST", "/studies/{name}/tell", tell, "report", (ToldOut, ToldBatch)),
    Endpoint("POST", "/studies/{name}/forget", forget, "report", (ToldOut,)),
)
