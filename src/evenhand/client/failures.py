"""Errors of a service as exceptions of evenhand."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from evenhand import errors
from evenhand.errors import EvenhandError, ServiceError

SHOWN = 200
"""Characters of a foreign response in an error."""


def error_of(envelope: Any, status: int | None = None) -> EvenhandError:
    """Return the exception for the {"name", "message"} of an error.

    It is of the kind that the library raises for the same cause, and a ServiceError for what only a service refuses.

    >>> error_of({"name": "RewardError", "message": "reward: wanted a number in [0, 1], got 7.0"})
    RewardError('reward: wanted a number in [0, 1], got 7.0')
    """
    name, message = str(envelope["name"]), str(envelope["message"])
    kind = getattr(errors, name, None) if name in errors.__all__ else None
    if isinstance(kind, type) and issubclass(kind, EvenhandError) and kind is not ServiceError:
        return kind(message)
    said = "the service refuses this" if status is None else f"the service answers {status} ({name})"
    return ServiceError(f"{said}: {message}", status, name)


def refusal_of(status: int, content: bytes) -> EvenhandError:
    """Return the exception for a response that is no success, from whatever answers at the address."""
    try:
        return error_of(json.loads(content)["error"], status)
    except (ValueError, KeyError, TypeError):
        said = content[:SHOWN].decode("utf-8", "replace").strip()
        phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "an unknown status"
        mend = "this is not the answer of an evenhand service: check the address, and the proxies before it"
        return ServiceError(f"{status} ({phrase}) from the service's address: {said!r}; {mend}", status)


def unreadable(content: bytes) -> ServiceError:
    """Return the exception for a success whose body is not what the service sends."""
    said = content[:SHOWN].decode("utf-8", "replace").strip()
    return ServiceError(f"the answer is not one of an evenhand service: {said!r}; check the address", 200)
