"""The OpenAPI document, made of the routes and their models."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from evenhand.service.errors import NAMES
from evenhand.service.routes.fields import Envelope
from evenhand.service.routes.routing import Endpoint
from evenhand.version import __version__

REF = "#/components/schemas/{model}"
WHEN = {
    400: "The body is not JSON, or has a name twice in one object.",
    401: "There is no key, or the key is unknown, revoked or expired.",
    403: "The key has another role, or is limited to some studies.",
    404: "There is no such study, none that the key works for, or no such ticket.",
    409: "The study's name is taken; or the ticket was closed or told otherwise before, belongs to another study, or "
    "is forged; or nothing is left to ask.",
    413: "The body or the batch is too large.",
    415: "The body's content type is not JSON.",
    422: "An argument does not fit, or the address has a parameter that the route does not take.",
    503: "The store cannot be reached or takes no writes, or the service is busy; Retry-After says when to try again.",
}
TAGS = {
    "decide": "Create studies, take decisions and change promises: keys with the role decide.",
    "report": "Report what came of decisions: keys with the role report.",
    "read": "Read studies: keys with the role read.",
    "service": "The service itself: health without a key, metrics for keys with the role read.",
}
RETRY_AFTER = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds."}}


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document of the routes that are described."""
    shown = [endpoint for endpoint in endpoints if endpoint.described]
    models: set[type[BaseModel]] = {Envelope}
    models.update(model for one in shown for model in (*one.models.get("body", ()), *one.returns))
    ordered = sorted(models, key=lambda model: model.__name__)
    _, schemas = models_json_schema([(model, "validation") for model in ordered], ref_template=REF)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in shown:
        paths.setdefault(endpoint.template, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "evenhand",
            "version": __version__,
            "description": "Studies that decide fairly while they learn: take decisions, report rewards, and watch, "
            "over HTTP. Send `Authorization: Bearer KEY`; every key has one role. Whole numbers beyond 2^53 - 1, such "
            "as labels, are sent as text and read as text or number.",
        },
        "tags": [{"name": name, "description": TAGS[name]} for name in TAGS if name in map(_tag, shown)],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "A key of the role that the route needs."}
            },
        },
    }


def _tag(endpoint: Endpoint) -> str:
    return endpoint.role if endpoint.role and endpoint.path.startswith("/studies") else "service"


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    """Return the description of one route."""
    summary, _, description = (inspect.getdoc(endpoint.handler) or "").partition("\n\n")
    content = endpoint.content or _content(endpoint.returns)
    good: dict[str, Any] = {"description": HTTPStatus(endpoint.status).phrase, "content": content}
    if endpoint.status == 201:
        good["headers"] = {"Location": {"schema": {"type": "string"}, "description": "Its path."}}
    responses = {str(endpoint.status): good}
    if endpoint.tagged:
        responses["304"] = {"description": "Nothing has changed since the ETag that was sent."}
    operation: dict[str, Any] = {
        "tags": [_tag(endpoint)],
        "operationId": endpoint.handler.__name__,
        "summary": summary.removesuffix("."),
        "description": description or summary,
        "parameters": _parameters(endpoint),
        "responses": responses,
    }
    if "body" in endpoint.models:
        body = _content(endpoint.models["body"])
        operation["requestBody"] = {"required": endpoint.default_body is None, "content": body}
    if endpoint.role is not None:
        operation |= {"security": [{"key": []}], "x-role": endpoint.role}
    for status in _refusals(endpoint):
        responses[str(status)] = {
            "description": f"{NAMES[status]} or the error's own name. {WHEN[status]}",
            "content": _content((Envelope,)),
            **({"headers": RETRY_AFTER} if status == 503 else {}),
        }
    return operation


def _refusals(endpoint: Endpoint) -> list[int]:
    """Return the statuses that a route may refuse with."""
    statuses: set[int] = set()
    if endpoint.path == "/readyz":
        statuses |= {503}
    if endpoint.role is not None:
        statuses |= {401, 403, 503}
    if "{name}" in endpoint.path or "{id}" in endpoint.path:
        statuses |= {404}
    if "body" in endpoint.models:
        statuses |= {400, 409, 413, 415, 422}
    if "ticket" in endpoint.names.get("query", ()):
        statuses |= {409}
    if not endpoint.probed:
        statuses |= {422}
    return sorted(statuses)


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    """Return the parameters in path, query and headers."""
    found = []
    for kind, place in (("path", "path"), ("query", "query"), ("headers", "header")):
        for model in endpoint.models.get(kind, ()):
            schema = model.model_json_schema()
            for name, form in schema["properties"].items():
                parameter = {"name": name, "in": place, "required": name in schema.get("required", [])}
                found.append(parameter | {"description": form.pop("description", ""), "schema": form})
    return found


def _content(models: Sequence[type[BaseModel]]) -> dict[str, Any]:
    refs = [{"$ref": REF.format(model=model.__name__)} for model in models]
    return {"application/json": {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}}
