"""Routes: each is declared once, with its path, its role, and the models that decode, check and document it.

A handler says by the names and annotations of its parameters what it takes: `path`, `query` and `headers`, each a
model; `session`, the open study that the path names; and `body`, a model or a choice of one for a single item and one
for a batch. They are checked in the order of the parameters.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, get_args, get_type_hints

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from evenhand.data.json_files import DECODER
from evenhand.errors import ArgumentError, UnknownStudyError, expected
from evenhand.service.bodies import JSON, LARGE, as_json, compress, header, read_body
from evenhand.service.errors import HttpRefusal, from_validation
from evenhand.service.routes.fields import StudyPath
from evenhand.service.sessions import Session
from evenhand.studies.keys import Key, Role

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
BULK = ThreadPoolExecutor(1, "evenhand bulk")
"""Where large requests are read and answered, one at a time: threads that compute share one processor with the event
loop, and each of them would hold up all small requests."""


@dataclass(eq=False)
class Endpoint:
    """One route, as an ASGI application.

    Attributes
    ----------
    handler : takes the request and what its parameters name, and returns a response, or data that becomes one in JSON.
        It runs on a thread, in a `Lane`, unless it is a coroutine function. The first line of its docstring is the
        summary in the OpenAPI document, the rest the description.
    role : the role that a key needs; None for a route without a key.
    returns : the models of the body of the response; `content` describes another body, by media type.
    status : the status of the response.
    tagged : whether the response has an ETag, and is 304 for a client that has seen it.
    described : whether the OpenAPI document shows the route.
    probed : whether the route answers whatever query its address has, as load balancers add one to pass caches; every
        other route refuses what it does not take.
    """

    method: str
    path: str
    handler: Callable[..., Any]
    role: Role | None = None
    returns: tuple[type[BaseModel], ...] = ()
    content: Mapping[str, Any] | None = None
    status: int = 200
    tagged: bool = False
    described: bool = True
    probed: bool = False

    def __post_init__(self) -> None:
        self.template = self.path.replace(":path", "")
        hints = get_type_hints(self.handler)
        self.takes = [name for name in hints if name not in ("request", "return")]
        self.models: dict[str, tuple[type[BaseModel], ...]] = {
            name: get_args(hints[name]) or (hints[name],) for name in self.takes if name != "session"
        }
        if "session" in self.takes:
            self.models.setdefault("path", (StudyPath,))
        self.names = {kind: _names(models) for kind, models in self.models.items()}
        body = inspect.signature(self.handler).parameters.get("body")
        self.default_body = None if body is None or body.default is body.empty else body.default
        self._caching = {"Cache-Control": "no-cache" if self.method == "GET" else "no-store"}
        self._blocking = not inspect.iscoroutinefunction(self.handler)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        await request.app.state.guard.admit(scope, self.role)
        answer = await self._called(request, await self._arguments(request))
        response = answer if isinstance(answer, Response) else as_json(answer, self._caching, status=self.status)
        await (await compress(response, request) if self.method == "GET" else response)(scope, receive, send)

    async def _called(self, request: Request, given: dict[str, Any]) -> Any:
        """Return what the handler returns; one that reads a study runs in the study's own lane."""
        if not self._blocking:
            return await self.handler(request, **given)
        lane = request.app.state.changes if self.method != "GET" else request.app.state.reads
        if self.method == "GET" and "session" in given:
            lane = given["session"].reads
        return await lane.run(partial(self.handler, request, **given))

    async def _arguments(self, request: Request) -> dict[str, Any]:
        """Return the handler's arguments, decoded and checked."""
        query = {} if self.probed else self._query(request)
        found: dict[str, Any] = {}
        for kind in self.takes:
            if kind == "session":
                found[kind] = await _reach(request)
            elif kind == "body":
                content = await read_body(
                    request.receive, header(request.scope, b"content-length"), request.app.state.max_body
                )
                found[kind] = await off_loop(len(content) > LARGE, partial(self._body, request.scope, content))
            elif kind == "headers":
                found[kind] = _headers_in(request.scope, self.models[kind][0], self.names[kind])
            else:
                found[kind] = parse(self.models[kind][0], request.path_params if kind == "path" else query)
        return found

    def _query(self, request: Request) -> dict[str, str]:
        """Return the query of an address by name; refuse what the route does not take, or takes once and got twice."""
        query: dict[str, str] = {}
        for name, text in request.query_params.multi_items():
            if name in query:
                raise ArgumentError(f"query: expected {name} once, got it several times")
            if name not in self.names.get("query", ()):
                said = {kind: ", ".join(names) for kind, names in self.names.items()}
                where = {"body": "the body takes", "headers": "send the header"}
                hint = "; ".join(f"{words} {said[kind]}" for kind, words in where.items() if kind in said)
                raise ArgumentError(expected("query", said.get("query", "no parameters"), name, hint))
            query[name] = text
        return query

    def _body(self, scope: Scope, content: bytes) -> BaseModel:
        """Return a body in JSON as the model that fits."""
        given = header(scope, b"content-type") or b""
        kind = JSON if given == JSON.encode() else given.decode("latin-1").partition(";")[0].strip().lower()
        models = self.models["body"]
        if not content and self.default_body is not None:
            return self.default_body
        if kind != JSON:
            got = kind[:80] or "none"
            raise HttpRefusal(415, f"expected the content type {JSON}, got {got}; send the header Content-Type: {JSON}")
        try:
            raw = orjson.loads(content)
            if content.count(b":") > 1:
                DECODER.decode(content.decode())  # refuses a name that an object has twice; orjson takes the last
        except (ValueError, RecursionError) as error:
            raise HttpRefusal(400, f"the body cannot be read as JSON: {error}") from error
        if not isinstance(raw, dict):
            raise ArgumentError(expected("body", "a JSON object", raw))
        return parse(models[-1] if "batch" in raw else models[0], raw)


async def _reach(request: Request) -> Any:
    """Return the session of the study that the path names, if the request's key works for it."""
    name, key = request.path_params["name"], request.scope.get("admitted")
    if key is not None and not key.reaches(name):
        raise UnknownStudyError(f"no study of this key is named {name[:100]!r}; it is limited to {_listed(key)}")
    return await request.app.state.sessions.reach(name)


def unlimited(request: Request) -> None:
    """Check that a request's key works for all studies.

    Raises
    ------
    HttpRefusal
        403 if it is limited to some.
    """
    key = request.scope.get("admitted")
    if key is not None and key.studies is not None:
        raise HttpRefusal(403, f"this key is limited to {_listed(key)}; this needs a key for all studies")


def unless_seen(request: Request, session: Session, mark: str, body: Callable[[], Any]) -> Response:
    """Return 304 if the client's `If-None-Match` names the log as it is now."""
    tag = f'"{session.reader.log.sequence}-{mark}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    seen = request.headers.get("if-none-match", "")
    if tag in (part.strip().removeprefix("W/").replace("-gzip", "") for part in seen.split(",")):
        return Response(status_code=304, headers=headers)
    return as_json(body(), headers)


def _listed(key: Key) -> str:
    names = key.studies or ()
    return ("the study " if len(names) == 1 else "the studies ") + ", ".join(names)


def _names(models: Sequence[type[BaseModel]]) -> list[str]:
    """Return the names in a request that the fields of some models have."""
    return list(dict.fromkeys(field.alias or name for model in models for name, field in model.model_fields.items()))


def _headers_in(scope: Scope, model: type[M], names: Sequence[str]) -> M:
    """Return those headers that a model names."""
    values = {name: header(scope, name.lower().encode()) for name in names}
    return parse(model, {name: value.decode("latin-1") for name, value in values.items() if value is not None})


def parse(model: type[M], raw: Mapping[str, Any], where: str = "") -> M:
    """Return a request's part as a model; `where` begins the message of what does not fit.

    Raises
    ------
    ArgumentError
        If a name is unknown or missing, or a value does not fit.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise from_validation(error, model, raw, where) from error


async def off_loop(large: bool, job: Callable[[], T]) -> T:
    """Return what a job returns; a large one runs on a thread, so that other requests need not wait for it."""
    return await asyncio.get_running_loop().run_in_executor(BULK, job) if large else job()
