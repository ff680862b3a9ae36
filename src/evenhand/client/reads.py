"""The requests that read, and how their answers are read: one function for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from evenhand.client.calls import Call
from evenhand.errors import ArgumentError, wanted

T = TypeVar("T")


def studies() -> Call[list[dict[str, Any]]]:
    """Return the request for the outline of every study."""
    return _get("/studies", lambda content: json.loads(content)["studies"])


def state(study: str) -> Call[dict[str, Any]]:
    """Return the request for a study's present state."""
    return _get(f"/studies/{study}", json.loads)


def shares(study: str) -> Call[dict[Any, float]]:
    """Return the request for the share of each arm."""
    return _get(f"/studies/{study}", _shares)


def decisions(
    study: str, before: int | None, limit: int, arm: str | None, reason: str | None, open: bool | None
) -> Call[dict[str, Any]]:
    """Return the request for a page of decisions."""
    query = {"before": before, "limit": limit, "arm": arm, "reason": reason, "open": open}
    return _get(f"/studies/{study}/decisions", json.loads, query)


def record(study: str, id: int) -> Call[dict[str, Any]]:
    """Return the request for one decision."""
    if not isinstance(id, int):
        raise ArgumentError(wanted("id", "the number of a decision", id))
    return _get(f"/studies/{study}/decisions/{id}", json.loads)


def series(study: str, points: int) -> Call[dict[str, Any]]:
    """Return the request for a study's course."""
    return _get(f"/studies/{study}/series", json.loads, {"points": points})


def history(study: str, form: str, timeout: float) -> Call[list[dict[str, Any]]]:
    """Return the request for all decisions as rows."""
    return _get(f"/studies/{study}/history", json.loads, {"format": "json", "form": form}, timeout)


def download(study: str, format: str, form: str, timeout: float) -> Call[bytes]:
    """Return the request for all decisions as a file."""
    return _get(f"/studies/{study}/history", bytes, {"format": format, "form": form}, timeout)


def verify(study: str, timeout: float) -> Call[dict[str, Any]]:
    """Return the request for an audit."""
    return _get(f"/studies/{study}/audit", json.loads, None, timeout)


def _get(
    path: str, read: Callable[[bytes], T], query: Mapping[str, Any] | None = None, timeout: float | None = None
) -> Call[T]:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return Call("GET", path, "read", read, query=given, timeout=timeout)


def _shares(content: bytes) -> dict[Any, float]:
    arms = json.loads(content)["arms"]
    labels = [tuple(arm["label"]) if isinstance(arm["label"], list) else arm["label"] for arm in arms]
    return {label: arm["share"] or 0.0 for label, arm in zip(labels, arms, strict=True)}
