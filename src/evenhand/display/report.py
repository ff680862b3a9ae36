"""A report: one HTML file that opens and prints by itself, its pictures inside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template
from typing import Self

from evenhand.display.html import Table
from evenhand.version import __version__


class Aside(str):
    """A paragraph in small letters."""


class Typed(str):
    """Lines as they are typed."""


class Png(bytes):
    """A picture as PNG, and what it shows in words."""

    shows: str

    def __new__(cls, content: bytes, shows: str) -> Self:
        made = super().__new__(cls, content)
        made.shows = shows
        return made


Part = str | list[str] | Table | Png
"""A paragraph, a list of lines, a table, or a picture."""
STATES = {True: ("kept", "✓ "), False: ("broken", "▲ "), None: ("", "")}


def page(of: str, kept: bool | None, verdict: str, sections: Mapping[str, Sequence[Part]]) -> str:
    """Return a report: of what, the answer, and its sections by their headings; one without any part is left out."""
    state, mark = STATES[kept]
    now = f"Written by evenhand {__version__} on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC"
    words = {"of": of, "written": now, "state": state, "verdict": mark + verdict}
    filled = {heading: "".join(map(_html, parts)) for heading, parts in sections.items()}
    shown = "\n".join(f"<section><h2>{escape(at)}</h2>{inside}</section>" for at, inside in filled.items() if inside)
    template = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    return template.substitute({name: escape(text) for name, text in words.items()} | {"sections": shown})


def _html(part: Part) -> str:
    if isinstance(part, Table):
        return f'<div class="scroll">{part.html(whole=True)}</div>'
    if isinstance(part, Png):
        return f'<img alt="{escape(part.shows)}" src="data:image/png;base64,{b64encode(part).decode()}">'
    if isinstance(part, list):
        return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in part)}</ul>" if part else ""
    if isinstance(part, Typed):
        return f"<pre>{escape(part)}</pre>"
    return f'<p class="note">{escape(part)}</p>' if isinstance(part, Aside) else f"<p>{escape(part)}</p>"
