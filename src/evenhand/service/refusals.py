"""How a refusal looks over HTTP: one envelope, one status for each name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from evenhand import errors
from evenhand.errors import EvenhandError

__all__ = ["NAMES", "STATUS", "Refusal", "envelope", "refusal_of"]

STATUS: dict[type[EvenhandError], int] = {
    errors.UnknownStudyError: 404,
    errors.UnknownTicketError: 404,
    errors.ForeignTicketError: 409,
    errors.ContradictionError: 409,
    errors.ClosedTicketError: 409,
    errors.ExhaustedError: 409,
    errors.RegistryError: 422,
    errors.ArgumentError: 422,
    errors.MissingExtraError: 422,
    errors.ReplayError: 500,
    errors.StateFileError: 500,
}
"""The status of what evenhand refuses; the nearest class counts."""

NAMES: dict[int, str] = {
    400: "BadRequestError",
    401: "KeyError",
    403: "RoleError",
    404: "NotFoundError",
    405: "MethodError",
    406: "NotAcceptableError",
    408: "TooSlowError",
    409: "ConflictError",
    413: "TooLargeError",
    415: "ContentTypeError",
    422: "ArgumentError",
    429: "TooFastError",
    431: "TooLargeError",
    500: "DefectError",
    503: "BusyError",
}
"""The names of refusals that come from HTTP alone."""

_NOTHING: Mapping[str, str] = {}


class Refusal(Exception):
    """A refusal with its status, its name and what to do about it."""

    def __init__(self, status: int, message: str, *, name: str = "", headers: Mapping[str, str] = _NOTHING) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers
        self.name = name or NAMES[status]

    def body(self) -> bytes:
        """Return the answer's body."""
        return orjson.dumps({"error": envelope(self)})


def refusal_of(error: BaseException) -> Refusal:
    """Return the refusal that tells of an error; what nobody foresaw is a defect and shows nothing of itself, and where
    the store is, and what its driver says, is for the log alone."""
    if isinstance(error, Refusal):
        return error
    for kind in type(error).__mro__:
        if kind is errors.StoreError:
            later = {"Retry-After": "1"}
            return Refusal(503, "the store cannot be reached; try again", name=type(error).__name__, headers=later)
        if kind in STATUS:
            return Refusal(STATUS[kind], str(error), name=type(error).__name__)
    return Refusal(500, "this is a defect of evenhand, not an answer; its log tells more under this request's id")


def envelope(error: BaseException) -> dict[str, Any]:
    """Return {"name", "message"} of an error, as it stands in every answer that refuses."""
    refusal = refusal_of(error)
    return {"name": refusal.name, "message": refusal.message}
