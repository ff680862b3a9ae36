"""The routes under /admin, for keys with the role admin: keys, monitors, alerts, erasure and workers.

Keep them inside your network.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import ArgumentError, FencedError
from evenhand.service.errors import Refusal
from evenhand.service.responses import as_json
from evenhand.service.routes import openapi
from evenhand.service.routes.read_routes import alerts_of
from evenhand.service.routes.routing import Endpoint, unlimited
from evenhand.service.schemas.request_schemas import (
    AcknowledgeBody,
    EraseBody,
    KeyBody,
    KeyPath,
    MonitorBody,
    NumberPath,
    WorkerBody,
    WorkerPath,
)
from evenhand.service.schemas.response_schemas import (
    AcknowledgedOut,
    ErasedOut,
    KeysOut,
    KeyStatusOut,
    MembershipOut,
    MonitorsOut,
    MonitorStatusOut,
    NewKeyOut,
    NewMonitorOut,
)
from evenhand.service.sessions import Session
from evenhand.studies import SharedStudy
from evenhand.studies.keys import Ring, add_key, list_keys, read_keys, revoke_key
from evenhand.studies.monitoring import monitors

__all__ = ["ADMIN_ENDPOINTS"]


def keys(request: Request) -> dict[str, Any]:
    """List all keys, without their secrets."""
    unlimited(request)
    return {"keys": [key._asdict() for key in list_keys(request.app.state.sessions.store)]}


def new_key(request: Request, body: KeyBody) -> Response:
    """Add a key; its text is in this answer and nowhere else.

    It works from now on here, and within a second in the other processes of the service.
    """
    unlimited(request)
    store = request.app.state.sessions.store
    text = add_key(store, body.role, body.note, expires=body.expires, studies=body.studies, actor=request.scope["key"])
    request.app.state.admission.guard.expire()
    made = Ring(read_keys(store)).holder(text)
    assert made is not None
    return _made({**made._asdict(), "key": text}, f"/admin/keys/{made.id}")


def withdraw_key(request: Request, path: KeyPath) -> dict[str, Any]:
    """Revoke a key; it stops working within a second."""
    unlimited(request)
    try:
        status = revoke_key(request.app.state.sessions.store, path.id, actor=request.scope["key"])
    except ArgumentError as error:
        raise Refusal(404, f"no key has the id {path.id}; GET /admin/keys lists all") from error
    request.app.state.admission.guard.expire()
    return {"id": path.id, "status": status}


def watching(request: Request, session: Session) -> dict[str, Any]:
    """List the monitors of a study with their webhooks, and its last alerts."""
    times = monitors.raised(session.study)
    rows = [{**one._asdict(), "raised": times.get(one.id, 0)} for one in monitors.listed(session.study)]
    return {"monitors": rows, "alerts": alerts_of(session.study)}


def watch(request: Request, session: Session, body: MonitorBody) -> Response:
    """Watch a metric of a study from now on.

    Alerts are posted to the webhook, signed with the `secret` as Standard Webhooks says: headers `webhook-id`,
    `webhook-timestamp` and `webhook-signature`.
    """
    made = monitors.add(session.study, **dict(body), actor=request.scope["key"])
    place = f"/admin/studies/{session.study.name}/monitors/{made.id}"
    return _made({**made._asdict(), "secret": monitors.secret(session.study, made)}, place)


def unwatch(request: Request, path: NumberPath, session: Session) -> dict[str, Any]:
    """Remove a monitor; its alerts stay on record, and an active one is cleared."""
    try:
        monitors.remove(session.study, path.id, actor=request.scope["key"])
    except ArgumentError as error:
        raise Refusal(404, str(error)) from error
    return {"id": path.id, "status": "removed"}


def acknowledge(
    request: Request,
    path: NumberPath,
    session: Session,
    body: AcknowledgeBody = AcknowledgeBody(),  # noqa: B008
) -> dict[str, Any]:
    """Say that an alert was seen, and what is done about it; it stays active until it is cleared."""
    try:
        status = monitors.acknowledge(session.study, path.id, by=request.scope["key"], note=body.note)
    except ArgumentError as error:
        raise Refusal(404, str(error)) from error
    return {"id": path.id, "status": status}


def erase(request: Request, session: Session, body: EraseBody) -> dict[str, Any]:
    """Make the encrypted contexts of a subject, or all that are older than an age, unreadable for ever.

    The subject is named in the body, because addresses end up in the logs of proxies.
    """
    return session.study.erase(body.subject, older_than=body.older_than)._asdict()


def join(request: Request, session: Session, body: WorkerBody) -> Response:
    """Add a worker to a study with several, if the tolerance has room for one more; a free process works as it."""
    joined = session.study.join(body.worker)
    if isinstance(joined, SharedStudy):
        joined.release()
    place = f"/admin/studies/{session.study.name}/workers/{body.worker}"
    return _made({"worker": body.worker, "status": "joined"}, place)


def leave(request: Request, path: WorkerPath, session: Session) -> dict[str, Any]:
    """End the work of a worker, also of one that was killed; its decisions count, and its tickets may be told."""
    try:
        session.study.leave(path.worker)
    except FencedError as error:
        raise Refusal(409, str(error)) from error
    return {"worker": path.worker, "status": "left"}


def _made(body: dict[str, Any], place: str) -> Response:
    return as_json(body, {"Location": place, "Cache-Control": "no-store"}, status=201)


async def administration(request: Request) -> dict[str, Any]:
    return openapi.document(ADMIN_ENDPOINTS)


ADMIN_ENDPOINTS = (
    Endpoint("GET", "/admin/keys", keys, "admin", (KeysOut,)),
    Endpoint("POST", "/admin/keys", new_key, "admin", (NewKeyOut,), status=201),
    Endpoint("DELETE", "/admin/keys/{id}", withdraw_key, "admin", (KeyStatusOut,)),
    Endpoint("GET", "/admin/studies/{name}/monitors", watching, "admin", (MonitorsOut,)),
    Endpoint("POST", "/admin/studies/{name}/monitors", watch, "admin", (NewMonitorOut,), status=201),
    Endpoint("DELETE", "/admin/studies/{name}/monitors/{id}", unwatch, "admin", (MonitorStatusOut,)),
    Endpoint("POST", "/admin/studies/{name}/alerts/{id}/acknowledge", acknowledge, "admin", (AcknowledgedOut,)),
    Endpoint("POST", "/admin/studies/{name}/erase", erase, "admin", (ErasedOut,)),
    Endpoint("POST", "/admin/studies/{name}/workers", join, "admin", (MembershipOut,), status=201),
    Endpoint("DELETE", "/admin/studies/{name}/workers/{worker}", leave, "admin", (MembershipOut,)),
    Endpoint("GET", "/admin/openapi.json", administration, described=False),
)
