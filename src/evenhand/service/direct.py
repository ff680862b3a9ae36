"""The short way of a request for one operation: no task, and no layer of the application.

What the request says is checked by the same functions as there, and its answer is the same to the letter. What must
wait before its operation is known goes through the application: a body that is large or comes in parts, a study that
is not open yet, keys that must be read again; and so does a request for several operations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.types import Scope

from evenhand.service.errors import Refusal
from evenhand.service.middleware import SECURITY, Headers, Middleware, header_lines, id_of
from evenhand.service.responses import as_message
from evenhand.service.routing import Endpoint, Router, check_reach
from evenhand.service.sessions import Session
from evenhand.service.write_routes import answer_one

__all__ = ["Direct"]

Respond = Callable[[int, bytes, bytes], None]
"""Takes a status, the lines of the headers and the body."""
SMALL = 2**12
"""Bytes of the largest body."""
SEVERAL = (b'"batch"', b'"count"', b'"samples"')
"""What stands in a body of several operations, or of one that needs much work."""
SECURITY_LINES = header_lines(SECURITY)
PROXIED = frozenset((b"x-forwarded-for", b"x-forwarded-proto"))
"""Headers that uvicorn reads before it calls the application."""


class Direct:
    """Answers requests for one operation; the application answers all others.

    Parameters
    ----------
    app : the application; its state has what both need.
    """

    def __init__(self, app: Starlette, router: Router, middleware: Middleware) -> None:
        self.app, self.state, self._router, self.middleware = app, app.state, router, middleware
        self._largest = min(SMALL, app.state.max_body)

    def awaits(self, scope: Scope) -> bool:
        """Return whether a body that has not come yet may be waited for: it is small, and the key is good."""
        endpoint, headers = self._router.find(scope), dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        if endpoint is None or endpoint.operation is None or not length.isdigit() or int(length[:20]) > self._largest:
            return False
        try:
            self.state.admission.guard.check(headers.get(b"authorization"), endpoint.role)
        except Refusal:
            return False
        return True

    def begin(self, scope: Scope, content: bytes, respond: Respond) -> bool:
        """Begin to answer a complete request, in the event loop; return False to leave it to the application."""
        endpoint = self._router.find(scope)
        if endpoint is None or endpoint.operation is None or not self._is_plain(scope, content):
            return False
        session = self.state.sessions.opened(scope["path_params"]["name"])
        if session is None or not self.state.admission.guard.fresh:
            return False
        scope["app"] = self.app
        return _Request(self, scope, endpoint, session, respond).begin(content)

    def _is_plain(self, scope: Scope, content: bytes) -> bool:
        if content and (len(content) > self._largest or any(map(content.__contains__, SEVERAL))):
            return False
        return PROXIED.isdisjoint([name for name, _ in scope["headers"]])


class _Request:
    """One request, from its body to its answer."""

    def __init__(self, direct: Direct, scope: Scope, endpoint: Endpoint, session: Session, respond: Respond) -> None:
        self._start, self._id = time.perf_counter(), id_of(scope)
        self._direct, self._scope, self._endpoint, self._session = direct, scope, endpoint, session
        self._respond = respond

    def begin(self, content: bytes) -> bool:
        """Hand the operation to the writer, or refuse it; return False if there are several."""
        state, scope, endpoint = self._direct.state, self._scope, self._endpoint
        assert endpoint.operation is not None
        try:
            state.admission.admit_now(scope, endpoint.role)
            check_reach(scope)
            operation = endpoint.operation(state, scope, **endpoint.given(scope, self._session, content))
            if operation is None:
                return False
            self._operation = operation
            self._session.writer.submit([operation], self._finish)
        except Exception as error:
            self._refuse(error)
        return True

    def _finish(self, outcomes: Any) -> None:
        """Answer with what became of the operation."""
        try:
            if isinstance(outcomes, BaseException):
                raise outcomes
            headers, body = as_message(answer_one(self._direct.state, self._session, self._operation, *outcomes))
        except Exception as error:
            self._refuse(error)
        else:
            self._end(self._endpoint.status, headers, body)

    def _refuse(self, error: Exception) -> None:
        refusal = self._direct.middleware.refuse(self._scope, error, self._id)
        response = refusal.response()
        self._end(refusal.status, response.raw_headers, bytes(response.body))

    def _end(self, status: int, headers: Headers, body: bytes) -> None:
        self._respond(status, b"%bx-request-id: %b\r\n%b" % (header_lines(headers), self._id, SECURITY_LINES), body)
        self._direct.middleware.note(self._scope, self._id, status, time.perf_counter() - self._start)
