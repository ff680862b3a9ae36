"""The OpenAPI document: the reading routes as FastAPI describes them, the conversation as written down here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from evenhand.service import models
from evenhand.service.arrow import COLUMNS, MEDIA_TYPE
from evenhand.service.refusals import NAMES
from evenhand.service.routes import ROUTES
from evenhand.studies.keys import Role

__all__ = ["described"]

REF = "#/components/schemas/{model}"
WHEN = {
    400: "The body is not JSON, or not an Arrow stream.",
    401: "No key, or one that is unknown or revoked.",
    403: "The key has another role.",
    404: "There is no such study, or no such ticket.",
    409: "The study's name is taken; or the ticket was closed or told otherwise before, is another study's, or forged; "
    "or nothing is left to ask.",
    413: "The body or the batch is too large.",
    415: "The body's content type is neither JSON nor Arrow.",
    422: "An argument is not what was wanted.",
    429: "Too fast; Retry-After says when to come again.",
    503: "The store cannot be reached or takes no writes, or too much is being done; Retry-After says when to come "
    "again.",
}
TAGS = [
    {"name": "decide", "description": "Create studies and take decisions: keys with the role decide."},
    {"name": "report", "description": "Tell what came of decisions: keys with the role report."},
    {"name": "read", "description": "Look on: keys with the role read."},
    {
        "name": "service",
        "description": "The service itself: health without a key, metrics for keys with the role read.",
    },
]
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Your own name for this decision: sent again, the same decision is returned. In a batch the i-th "
    "decision has the name KEY#i.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,100}$"},
}
NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "The study's name.",
    "schema": {"type": "string", "minLength": 1},
    "example": "ads",
}
BINARY = {"schema": {"type": "string", "format": "binary"}}


def described(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return what builds the document of an application, once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    return openapi


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _, own = models_json_schema([(model, "validation") for model in MODELS], ref_template=REF)
    schemas.update(own["$defs"])
    components["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "A key of the role that the route needs."}
    }
    for path, item in _conversation().items():
        document["paths"].setdefault(path, {}).update(item)
    for route in ROUTES:
        for method, role in route.methods.items():
            operation = document["paths"].get(route.template, {}).get(method.lower())
            if operation is not None:
                _complete(operation, route.template, method, role)
    return document


def _complete(operation: dict[str, Any], template: str, method: str, role: Role | None) -> None:
    """Add to an operation its role and every status that it may refuse with."""
    statuses = set() if template in ("/livez", "/readyz", "/healthz") else {429}
    if template in ("/readyz", "/healthz"):
        statuses |= {503}
    if role is not None:
        operation["security"] = [{"key": []}]
        operation["x-role"] = role
        statuses |= {401, 403, 503}
    if "{" in template:
        statuses |= {404}
    if method == "POST":
        statuses |= {400, 409, 413, 415, 422}
    if operation.get("parameters") and template != "/studies/{name}":
        statuses |= {422}
    if template.endswith("/page/{file}"):
        statuses -= {422}
    operation["responses"].pop("422", None)
    for status in sorted(statuses):
        headers = (
            {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds."}} if status in (429, 503) else {}
        )
        operation["responses"][str(status)] = {
            "description": f"{NAMES[status]} or the error's own name. {WHEN[status]}",
            "content": {"application/json": {"schema": _ref(models.Envelope)}},
            **({"headers": headers} if headers else {}),
        }


def _conversation() -> dict[str, Any]:
    """Return the paths of the routes that are answered at the door."""
    create = _operation("decide", "create", "Create a study", "Put a policy into the store under a name.")
    create["requestBody"] = _body(models.CreateBody)
    create["responses"]["201"] = _answer("The study as it stands.", models.StateOut)
    create["responses"]["201"]["headers"] = {"Location": {"schema": {"type": "string"}, "description": "Its path."}}
    ask = _operation(
        "decide",
        "ask",
        "Take a decision, or many",
        "Without `count` and `batch` the answer is the bare decision. The decision is on disk, with its reason, "
        f"before it is sent. An Arrow stream has a row a decision: {COLUMNS['ask']}.",
        NAME,
        KEY,
    )
    ask["requestBody"] = _body(models.AskBody, models.AskBatch, arrow=True, required=False)
    ask["responses"]["200"] = _answer("Decided.", models.DecisionOut, models.DecisionBatch, arrow=True)
    tell = _operation(
        "report",
        "tell",
        "Tell what happened, once or many times",
        "The same again is answered `already told`; anything else about the ticket is refused. In a batch each row has "
        f"its own outcome. An Arrow stream has a row a report: {COLUMNS['tell']}.",
        NAME,
    )
    tell["requestBody"] = _body(models.TellBody, models.TellBatch, arrow=True)
    tell["responses"]["200"] = _answer("Written down.", models.ToldOut, models.ToldBatch, arrow=True)
    forget = _operation("report", "forget", "Close a ticket", "Nothing will ever be told of it.", NAME)
    forget["requestBody"] = _body(models.ForgetBody)
    forget["responses"]["200"] = _answer("Closed.", models.ToldOut)
    return {
        "/studies": {"post": create},
        "/studies/{name}/ask": {"post": ask},
        "/studies/{name}/tell": {"post": tell},
        "/studies/{name}/forget": {"post": forget},
    }


def _operation(tag: str, id: str, summary: str, description: str, *parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "tags": [tag],
        "operationId": id,
        "summary": summary,
        "description": description,
        "parameters": list(parameters),
        "responses": {},
    }


def _body(*forms: type[BaseModel], arrow: bool = False, required: bool = True) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _one_of(forms)}}
    if arrow:
        content[MEDIA_TYPE] = BINARY
    return {"required": required, "content": content}


def _answer(description: str, *forms: type[BaseModel], arrow: bool = False) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": _one_of(forms)}}
    if arrow:
        content[MEDIA_TYPE] = BINARY
    return {"description": description, "content": content}


def _one_of(forms: tuple[type[BaseModel], ...]) -> dict[str, Any]:
    return _ref(forms[0]) if len(forms) == 1 else {"anyOf": [_ref(form) for form in forms]}


def _ref(form: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": REF.format(model=form.__name__)}


MODELS = (
    models.Envelope,
    models.CreateBody,
    models.AskBody,
    models.AskBatch,
    models.TellBody,
    models.TellBatch,
    models.ForgetBody,
    models.DecisionOut,
    models.DecisionBatch,
    models.ToldOut,
    models.ToldBatch,
    models.StateOut,
)
