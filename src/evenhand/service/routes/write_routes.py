"""The routes that write: create a study, ask, tell, forget, change its promise; one by one or in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from sqlalchemy.exc import IntegrityError
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import ArgumentError, ContextError, EvenhandError, SharesError, wanted
from evenhand.labels import by_label
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.promises.versions import rows_of
from evenhand.protocol import Decision
from evenhand.service.errors import Refusal, envelope, refusal_of
from evenhand.service.responses import as_json
from evenhand.service.routes.read_routes import state_of
from evenhand.service.routes.routing import Endpoint, off_loop, parse, unlimited
from evenhand.service.schemas.request_schemas import (
    EXPECTED,
    AddBody,
    AskBatch,
    AskBody,
    AskHeaders,
    AskRow,
    ChangeBody,
    CreateBody,
    ForgetBody,
    RetireBody,
    TellBatch,
    TellBody,
)
from evenhand.service.schemas.response_schemas import (
    AddedOut,
    ChangedOut,
    DecisionBatch,
    DecisionOut,
    RetiredOut,
    StateOut,
    ToldBatch,
    ToldOut,
)
from evenhand.service.sessions import Session, Sessions
from evenhand.studies import Operation, Study
from evenhand.studies.limits import check_shown
from evenhand.studies.log.codec import as_decided
from evenhand.studies.log.operations import given_or_refusal
from evenhand.studies.specification import policy_from, promise_from

NO_STORE = {"Cache-Control": "no-store"}
MANY = 500
"""Rows beyond which a batch is prepared on a thread."""


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
        one_row = body.contexts is not None and len(body.contexts) == 1  # the study may wait for a writer that hangs
        operation = await off_loop(one_row, lambda: _ask_operation(session, body, headers, actor))
        return await _alone(request, session, operation)
    rows = body.batch if isinstance(body, AskBatch) else [body]
    count = sum(row.count or 1 for row in rows)
    session.writer.check_room(min(count, state.max_batch))
    operations = await off_loop(
        count > MANY, lambda: _operations(session.study, rows, headers.key, actor, state.max_batch)
    )
    outcomes = await _performed(session, operations)
    return await off_loop(len(outcomes) > MANY, lambda: _decided(request, session.study, outcomes))


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
    outcomes = await _performed(session, reports)
    return await off_loop(len(outcomes) > MANY, lambda: _told_all(request, session.study, body.batch, outcomes))


def _told_all(request: Request, study: Study, batch: Sequence[Mapping[str, Any]], outcomes: Sequence[Any]) -> Response:
    """Return the response to a batch of reports, and count it."""
    request.app.state.metrics.count("tell", study.name, outcomes.count("told"))
    results = [
        {"ticket": row.get("ticket")}
        | (_error(request, outcome) if isinstance(outcome, EvenhandError) else {"status": outcome})
        for row, outcome in zip(batch, outcomes, strict=True)
    ]
    return as_json({"results": results}, NO_STORE)


async def forget(request: Request, session: Session, body: ForgetBody) -> dict[str, Any]:
    """Close a ticket whose outcome will never be known."""
    return await _alone(request, session, Operation("forget", body.ticket, actor=request.scope["key"]))


async def add(request: Request, session: Session, body: AddBody) -> dict[str, Any]:
    """Put a new arm on offer, or a retired one again."""
    given = {"arm": body.arm, "share": body.share}
    return {"status": "added", "arm": body.arm, "begins_after": await _changed(request, session, "add", given)}


async def retire(request: Request, session: Session, body: RetireBody) -> dict[str, Any]:
    """Take an arm off offer; all other promises go on."""
    await _changed(request, session, "retire", {"arm": body.arm})
    return {"status": "retired", "arm": body.arm}


async def change(request: Request, session: Session, body: ChangeBody) -> dict[str, Any]:
    """Promise other shares, or all else, from now on: rounds and decisions are counted from this change."""
    if (body.shares is None) == (body.promise is None):
        raise ArgumentError(wanted("shares", "either shares or promise", "neither" if body.promise is None else "both"))
    labels = await session.reads.run(partial(_labels, session))
    shares: Any = body.shares
    if isinstance(shares, dict):
        shares = by_label(shares, "shares", "an object arm -> share", labels, refusal=SharesError)
    if body.promise is not None:
        shares = promise_from(body.promise, labels, bounded=True)
    dropped = await _changed(request, session, "change", {"shares": shares})
    return {"status": "changed", "dropped": rows_of(dropped)}


async def _changed(
    request: Request, session: Session, kind: Literal["add", "retire", "change"], given: dict[str, Any]
) -> Any:
    """Change a study's promise and return what the policy returned."""
    (outcome,) = await session.writer.perform([Operation(kind, given=given, actor=request.scope["key"])])
    if isinstance(outcome, EvenhandError):
        raise outcome
    return outcome


def _labels(session: Session) -> list[Any]:
    with session.reading() as (statistics, _):
        return list(statistics.labels)


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
        Study.create(sessions.store, policy_from(body.policy), name=body.name, expire_after=body.expire_after)
    except ArgumentError as error:
        if isinstance(error.__cause__, IntegrityError):
            raise Refusal(409, f"study {body.name!r} already exists; choose another name") from error
        raise
    session = sessions.open(body.name)
    session.writer.start()
    return state_of(session)


async def _performed(session: Session, operations: Sequence[Operation | EvenhandError]) -> list[Any]:
    """Perform operations in one transaction; return their outcomes, a refusal as it is."""
    sound = [operation for operation in operations if isinstance(operation, Operation)]
    done = iter(await session.writer.perform(sound) if sound else [])
    return [next(done) if isinstance(operation, Operation) else operation for operation in operations]


def _operations(
    study: Study, rows: Sequence[AskBody], key: str | None, actor: str, most: int
) -> list[Operation | EvenhandError]:
    """Return an operation for each decision, or what refuses it; the i-th has the number i under the request's key."""
    operations: list[Operation | EvenhandError] = []
    for row in rows:
        count, own = row.count or 1, row.key if isinstance(row, AskRow) else None
        if count > most:
            raise ArgumentError(wanted("count", f"a whole number from 1 to {most}", count))
        if count > 1 and own:
            raise ArgumentError(wanted("key", "one for each decision", f"one for {count}"))
        _check_size(len(operations) + count, most)
        try:
            shown, refusal = given_or_refusal(partial(_shown, study, row), sticky=row.sticky)
        except ContextError as error:
            operations += [error] * count
            continue
        operations += [
            Operation("ask", None, dict(shown), own or key, actor, 0 if own else i, row.subject, row.sticky, refusal)
            for i in range(len(operations), len(operations) + count)
        ]
    given = (operation.given for operation in operations if isinstance(operation, Operation))
    check_shown(study.log.birth.policy, given)
    return operations


def _shown(study: Study, body: AskBody) -> dict[str, Any]:
    """Return what a policy is shown; refuse one row for several arms, which may have lost the others on its way."""
    contexts, shown = body.contexts, body.shown()
    if isinstance(contexts, list) and len(contexts) == 1:
        policy = study.state.bare_copy()
        arms = len(policy.arms or ()) if isinstance(policy, KernelPolicy) else 0
        if arms > 1:
            raise ContextError(wanted("contexts", f"{arms} rows of numbers, one for each arm", "one row"))
    return shown


def _told(session: Session, body: TellBody) -> dict[str, Any]:
    """Return what the policy is told; one that plays one arm a round takes no rewards by arm."""
    if isinstance(body.reward, dict) and session.plays == 1:
        raise ArgumentError(wanted("reward", EXPECTED["reward"][1], body.reward))
    return body.told()


def _tell_operation(session: Session, body: TellBody, actor: str) -> Operation:
    return Operation("tell", body.ticket, _told(session, body), None, actor)


def _report(session: Session, row: dict[str, Any], where: str, actor: str) -> Operation | EvenhandError:
    """Return the operation of one row of a batch, or the error that refuses it."""
    try:
        return _tell_operation(session, parse(TellBody, row, where), actor)
    except EvenhandError as error:
        return error


def _ask_operation(session: Session, body: AskBody, headers: AskHeaders, actor: str) -> Operation:
    def read() -> dict[str, Any]:
        shown = _shown(session.study, body)
        check_shown(session.study.log.birth.policy, [shown])
        return shown

    shown, refusal = given_or_refusal(read, sticky=body.sticky)
    return Operation("ask", None, shown, headers.key, actor, 0, body.subject, body.sticky, refusal)


async def _alone(request: Request, session: Session, operation: Operation) -> dict[str, Any]:
    """Perform one operation, count it and return its answer; raise what refused it."""
    (outcome,) = await session.writer.perform([operation])
    if isinstance(outcome, EvenhandError):
        raise outcome
    if operation.kind == "ask" or outcome in ("told", "forgotten"):
        request.app.state.metrics.count(operation.kind, session.study.name, 1)
    if operation.kind == "ask":
        return _decision(session.study, outcome)
    return {"ticket": operation.ticket, "status": outcome}


def _check_size(count: int, most: int) -> None:
    if count > most:
        raise Refusal(413, f"more than {most} rows in one batch; send smaller batches")


def _decision(study: Study, decision: Any) -> dict[str, Any]:
    """Return a decision as JSON has it, its ticket signed."""
    if type(decision) is Decision:
        alone = decision.slate is None and not isinstance(decision.arm, tuple)
        several = {} if alone else {"arms": list(decision.arms), "indexes": list(decision.indexes)}
        return {"ticket": study.sign(decision.id), **decision._asdict(), **several}
    fields = {name: value for name, value in as_decided(decision).items() if name != "type"}
    if isinstance(fields.get("frame"), dict):
        fields["frame"] = fields["frame"]["$table"]
    return {"ticket": study.sign(decision.id), **fields}


def _error(request: Request, error: EvenhandError) -> dict[str, Any]:
    """Return the row of what was refused in a batch, and count it."""
    request.app.state.metrics.count_refusal(refusal_of(error).name)
    return {"error": envelope(error)}


WRITE_ENDPOINTS = (
    Endpoint("POST", "/studies/{name}/ask", ask, "decide", (DecisionOut, DecisionBatch)),
    Endpoint("POST", "/studies/{name}/tell", tell, "report", (ToldOut, ToldBatch)),
    Endpoint("POST", "/studies/{name}/forget", forget, "report", (ToldOut,)),
    Endpoint("POST", "/studies/{name}/add", add, "decide", (AddedOut,)),
    Endpoint("POST", "/studies/{name}/retire", retire, "decide", (RetiredOut,)),
    Endpoint("POST", "/studies/{name}/change", change, "decide", (ChangedOut,)),
    Endpoint("POST", "/studies", create, "decide", (StateOut,), status=201),
)
