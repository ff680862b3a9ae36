"""Errors over HTTP: one envelope, and one status for each name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from evenhand import errors
from evenhand.data.json_files import to_json
from evenhand.errors import SHOWN, ArgumentError, EvenhandError, TicketError, expected, shown
from evenhand.service.routes.fields import EXPECTED

STATUS: dict[type[EvenhandError], int] = {
    errors.UnknownStudyError: 404,
    errors.UnknownTicketError: 404,
    errors.ForeignTicketError: 409,
    errors.ContradictionError: 409,
    errors.ClosedTicketError: 409,
    errors.ExhaustedError: 409,
    errors.InFlightError: 409,
    errors.RegistryError: 422,
    errors.ArgumentError: 422,
    errors.MissingExtraError: 422,
    errors.ReplayError: 500,
    errors.StateFileError: 500,
}
"""The status of each error of evenhand; the nearest base class counts."""

NAMES: dict[int, str] = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "RoleError",
    404: "NotFoundError",
    405: "MethodError",
    408: "TooSlowError",
    409: "ConflictError",
    413: "TooLargeError",
    415: "ContentTypeError",
    422: "ArgumentError",
    500: "DefectError",
    503: "BusyError",
}
"""The names of refusals that only exist over HTTP."""
LATER = (408, 429, 503)
"""The statuses after which the same request may succeed, though nothing in it is mended."""


class HttpRefusal(Exception):
    """An error response: its status, its name, and a message that says what to do."""

    def __init__(self, status: int, message: str, *, name: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}
        self.name = name or NAMES[status]

    def response(self) -> Response:
        """Return the response, which no cache may keep."""
        body = to_json({"error": envelope(self)})
        return Response(body, self.status, {"Cache-Control": "no-store", **self.headers}, "application/json")


def busy(message: str, seconds: int, name: str = "") -> HttpRefusal:
    """Return the refusal of what may be tried again after so many seconds."""
    return HttpRefusal(503, message, name=name, headers={"Retry-After": str(seconds)})


def refusal_of(error: BaseException) -> HttpRefusal:
    """Return the refusal that answers an error.

    An unforeseen error is a defect: its response reveals nothing about it. The store's address and its driver's
    messages go only to the log.
    """
    if isinstance(error, HttpRefusal):
        return error
    for kind in type(error).__mro__:
        if kind is errors.StoreError:
            return busy("the store cannot be reached; try again", 1, "StoreError")
        if kind in STATUS and isinstance(error, EvenhandError):
            return HttpRefusal(STATUS[kind], error.refusal or str(error), name=type(error).__name__)
    return HttpRefusal(500, "internal error: this is a bug in evenhand; see its log under this request's id")


def from_validation(
    error: ValidationError, model: type[BaseModel], raw: Mapping[str, Any], where: str = ""
) -> ArgumentError:
    """Return the error, of evenhand's own kinds, for the first part of a request that does not fit its model."""
    first = error.errors(include_url=False)[0]
    path = first["loc"]
    if path[0] == "batch" and len(path) > 2 and isinstance(path[2], str):
        where, path, raw = f"batch[{path[1]}]", path[2:], raw["batch"][path[1]]
        (model,) = get_args(model.model_fields["batch"].annotation)
    name = str(path[0])
    if first["type"] == "extra_forbidden":
        fields = ", ".join(model.model_fields)
        alone = " alone" if len(model.model_fields) == 1 else ""
        return ArgumentError(expected(where or "body", f"{fields}{alone}", name))
    label = f"{where}: {name}" if where else name
    kind, what = EXPECTED[name]
    value = raw.get(name)
    hint = ""
    if kind is TicketError and isinstance(value, int):
        hint = "numbers can be guessed: send the signed text that ask returned"
    return kind(expected(label, what, value, hint))


def envelope(error: BaseException) -> dict[str, Any]:
    """Return the {"name", "message", "repeatable"} of an error, which refusals have, and its parts where it has any."""
    refusal = refusal_of(error)
    said: dict[str, Any] = {"name": refusal.name, "message": refusal.message, "repeatable": refusal.status in LATER}
    parts = refusal.message
    if not isinstance(parts, errors.Refusal):
        return said
    got = parts.got if len(repr(parts.got)) <= SHOWN else shown(parts.got)
    return said | {"argument": parts.name, "expected": parts.expected, "got": got, "hint": parts.hint or None}
