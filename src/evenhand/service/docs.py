"""The documentation as a page: the OpenAPI document made readable, without scripts and without a network."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import orjson

__all__ = ["STYLE", "page"]

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
@media (prefers-color-scheme: light) { :root { --ground: #fff; --ink: #191d21; --link: #0b6b73; } }
@media (prefers-color-scheme: dark) { :root { --ground: #161b1e; --ink: #e8eaeb; --link: #5fc9d0; } }
html { background: var(--ground); color: var(--ink); }
a { color: var(--link); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
section { border-top: 1px solid var(--line); padding: .5rem 0; overflow-wrap: anywhere; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { border: 1px solid var(--line); border-radius: 4px; padding: .6rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; }
nav ul { columns: 18rem; padding-left: 1.2rem; }
"""
EXAMPLES: dict[str, tuple[str, str]] = {
    "create": (
        '{"name": "ads", "policy": {"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}, "seed": 1}}',
        '{"name": "ads", "policy": "quotas/fair-ucb", "decisions": 0, ...}',
    ),
    "ask": (
        "{}",
        '{"ticket": "ads.17.5f0c2a9d41b7e683", "id": 17, "round": 17, "arm": "a", "index": 0, "probabilities": null,\n'
        ' "reason": "owed its share"}',
    ),
    "tell": (
        '{"ticket": "ads.17.5f0c2a9d41b7e683", "reward": 1.0}',
        '{"ticket": "ads.17.5f0c2a9d41b7e683", "status": "told"}',
    ),
    "forget": (
        '{"ticket": "ads.17.5f0c2a9d41b7e683"}',
        '{"ticket": "ads.17.5f0c2a9d41b7e683", "status": "forgotten"}',
    ),
}
"""A request's body and its answer, by operation."""


def page(document: dict[str, Any], address: str) -> str:
    """Return the page of a document.

    Parameters
    ----------
    document : the OpenAPI document.
    address : where the service is reached, such as http://127.0.0.1:8000.
    """
    operations = [
        (method.upper(), path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    parts = [_head(document), "<nav aria-label='Routes'><ul>"]
    for tag in tags:
        for method, path, operation in operations:
            if tag in operation["tags"]:
                parts.append(f"<li><a href='#{_anchor(method, path)}'>{method} {escape(path)}</a></li>")
    parts.append("</ul></nav>")
    for tag, description in tags.items():
        parts.append(f"<h2 id='{tag}'>{_words(description)}</h2>")
        parts.extend(_operation(*one, document, address) for one in operations if tag in one[2]["tags"])
    parts.append("</main></body></html>")
    return "\n".join(parts)


def _head(document: dict[str, Any]) -> str:
    info = document["info"]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(info['title'])}: the HTTP interface</title><link rel='stylesheet' href='/docs/style.css'>"
        "<link rel='icon' href='/page/icon.svg' type='image/svg+xml'>"
        f"</head><body><main><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f"<p>{_words(info['description'])} The same for machines: <a href='/openapi.json'>openapi.json</a>.</p>"
        "<p>Send <code>Authorization: Bearer KEY</code>; every key has one role. What is refused is answered by "
        '<code>{"error": {"name": ..., "message": ...}}</code>.</p>'
    )


def _operation(method: str, path: str, operation: dict[str, Any], document: dict[str, Any], address: str) -> str:
    role = operation.get("x-role")
    parts = [
        f"<section id='{_anchor(method, path)}'><h3><code>{method} {escape(path)}</code></h3>",
        f"<p><strong>{_words(operation['summary'])}.</strong> {_words(operation.get('description', ''))} "
        + (f"Role: <em>{role}</em>.</p>" if role else "No key.</p>"),
    ]
    if operation.get("parameters"):
        rows = "".join(_parameter(parameter) for parameter in operation["parameters"])
        parts.append(f"<table><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr>{rows}</table>")
    example = EXAMPLES.get(operation.get("operationId", ""))
    parts.append(f"<pre>{escape(_curl(address + path, role, example))}</pre>")
    parts.extend(
        f"<details><summary>The body</summary><pre>{_words(form)}</pre></details>"
        for form in _forms(operation.get("requestBody", {}), document)
    )
    rows = "".join(
        f"<tr><td>{status}</td><td>{_words(answer['description'])}</td></tr>"
        for status, answer in sorted(operation["responses"].items())
    )
    parts.append(
        f"<details><summary>Answers</summary><table><tr><th>Status</th><th>When</th></tr>{rows}</table></details>"
    )
    return "\n".join([*parts, "</section>"])


def _words(text: str) -> str:
    """Return text as markup, what is between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _curl(address: str, role: str | None, example: tuple[str, str] | None) -> str:
    line = f"curl {address.replace('{name}', 'ads').replace('{id}', '17')}"
    if role:
        line += f' -H "Authorization: Bearer ${role.upper()}_KEY"'
    if example is not None:
        line += f" -H 'Content-Type: application/json' \\\n  -d '{example[0]}'\n\n{example[1]}"
    return line


def _parameter(parameter: dict[str, Any]) -> str:
    meaning = _words(parameter.get("description", ""))
    default = parameter["schema"].get("default")
    note = "" if default is None else f" Default: {escape(str(default))}."
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{parameter['in']}</td><td>{meaning}{note}</td></tr>"
    )


def _forms(body: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """Return the schemas of a body in JSON."""
    schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    references = [one["$ref"] for one in schema.get("anyOf", [schema]) if "$ref" in one]
    known = document["components"]["schemas"]
    return [orjson.dumps(known[ref.rsplit("/", 1)[1]], option=orjson.OPT_INDENT_2).decode() for ref in references]


def _anchor(method: str, path: str) -> str:
    return (method + path).lower().replace("/", "-").replace("{", "").replace("}", "")
