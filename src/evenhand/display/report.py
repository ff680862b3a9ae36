"""A report: one HTML file that opens and prints by itself, its pictures inside."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template

from evenhand.display.html import Table
from evenhand.version import __version__

Part = str | list[str] | Table | bytes
"""A paragraph, a list of lines, a table, or a picture as PNG."""
EMPTY = re.compile(r'<section><h2>[^<]*</h2>\s*(<div class="note"></div>)?</section>\n')
STATES = {True: ("kept", "✓ "), False: ("broken", "▲ "), None: ("", "")}


def page(title: str, kept: bool | None, verdict: str, again: str, parts: Mapping[str, Sequence[Part]]) -> str:
    """Return a report: its question, the answer, how to check it again, and the other parts that the template has; a
    section without any is left out."""
    state, mark = STATES[kept]
    now = f"Written by evenhand {__version__} on {datetime.now(UTC):%Y-%m-%d at %H:%M} UTC"
    words = {"title": title, "written": now, "state": state, "verdict": mark + verdict, "again": again}
    template = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    filled = dict.fromkeys(template.get_identifiers(), "") | {name: escape(text) for name, text in words.items()}
    text = template.substitute(filled | {name: "".join(map(_html, listed)) for name, listed in parts.items()})
    return EMPTY.sub("", text)


def _html(part: Part) -> str:
    if isinstance(part, Table):
        return f'<div class="scroll">{part.html()}</div>'
    if isinstance(part, bytes):
        return f'<img alt="what the text says" src="data:image/png;base64,{b64encode(part).decode()}">'
    if isinstance(part, list):
        return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in part)}</ul>" if part else ""
    return f"<p>{escape(part)}</p>"
