"""What commands print: tables for people, JSON for programs, files below --out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["as_json", "number", "picture", "say", "table"]


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table, numbers to the right."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for i, column in enumerate(columns):
        right = all(isinstance(row[i], (int, float)) or _numeric(row[i]) for row in rows)
        drawn.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(number(cell) if isinstance(cell, float) else str(cell) for cell in row))
    Console().print(drawn)


def number(value: float) -> str:
    """Write a number with four digits, or a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def say(line: str) -> None:
    """Print a line for people."""
    from rich.console import Console

    Console(highlight=False).print(line, soft_wrap=True)


def as_json(body: Any) -> None:
    """Print one JSON document; numbers that are not finite become null."""
    print(json.dumps(_clean(body), indent=2))


def picture(figure: Figure, folder: Path, name: str) -> Path:
    """Write a picture and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=150)
    return path


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _numeric(cell: Any) -> bool:
    text = str(cell).strip("+-%")
    return bool(text) and text.replace(".", "", 1).replace("e-", "").isdigit()
