"""The output of commands: tables for people, JSON for programs, files in --out."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.refusals import in_shell
from evenhand.display.digits import number, plain_number, reads_as_number
from evenhand.errors import ArgumentError, expected, expected_one_of
from evenhand.saving.provenance import in_a_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

    from evenhand.display.report import Png
    from evenhand.promises.clause import Clause
    from evenhand.protocol import Label

CONTROL = re.compile(r"[^\n -~\u00a0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\U0010ffff]")
"""Characters that a terminal obeys, or that turn the order of the text around; a new line is not among them."""
PROMISE_WORDS = {None: "not promised", True: "yes", False: "NO"}
"""Whether a promise was kept, in a table."""
PROMISED = {"floor": "promised"}
"""The columns of what is promised, by the kind of a clause; others have the name of their kind."""
FAMILY = re.compile(r"(^|\+)[a-z]+/(?=[a-z][a-z0-9-]*(?:\+|$))")
"""What stands before the name of a registered policy."""
MOST_NOTES = 10
"""How many notes a terminal shows."""
PICTURES = ("png", "pdf", "svg")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table, numbers to the right; if a word of it would be broken, with the names of columns and rows on
    several lines, or if its rows are few, with a row for each column."""
    console = _console()
    lines = [[visible(short(column)) for column in columns]]
    for row in rows:
        cells = zip(columns, row, strict=True)
        lines.append([visible(str(WORDS.get(name, cell)(value))) for name, value in cells])
    right = [all(row[i] is None or reads_as_number(row[i]) for row in rows) for i in range(len(columns))]
    shapes = [(lines, right)]
    if len(rows) < len(columns):
        shapes.append((list(map(list, zip(*lines, strict=True))), [False] + [True] * len(rows)))
    for shape, numeric in shapes:
        for shown in _wrapped(shape):
            drawn = _drawn(title, shown, numeric)
            printed = "".join(segment.text for segment in console.render(drawn))
            if all(word in printed for line in shown for text in line for word in text.split()):
                console.print(drawn)
                return
    console.print(_drawn(title, *shapes[-1]))


def _wrapped(lines: Sequence[Sequence[str]]) -> Iterator[Sequence[Sequence[str]]]:
    """Yield a table with the names of its columns and rows whole, then on more and more lines, broken at blanks and
    within compounds."""
    yield lines
    names = [*lines[0], *(line[0] for line in lines[1:])]
    longest = max(map(len, names))
    shortest = max(len(piece) for name in names for piece in textwrap.wrap(name, 1, break_long_words=False) or [""])
    for width in sorted({shortest + (longest - shortest) * step // 8 for step in range(8)}, reverse=True):
        fold = partial(textwrap.fill, width=max(width, 1), break_long_words=False)
        yield [list(map(fold, lines[0])), *([fold(line[0]), *line[1:]] for line in lines[1:])]


def _drawn(title: str, lines: Sequence[Sequence[str]], right: Sequence[bool]) -> Table:
    from rich.table import Table

    drawn = Table(title=visible(title), title_justify="left", title_style="bold", header_style="bold")
    for name, numeric in zip(lines[0], right, strict=True):
        drawn.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for line in lines[1:]:
        drawn.add_row(*line)
    return drawn


def short(name: Any) -> str:
    """Return the name of a policy as a table shows it: without its family, and of a long distribution both ends.

    >>> short("deadline-learn+learners/thompson"), short("a=0.25,b=0.25,c=0.25,d=0.125,e=0.125")
    ('deadline-learn+thompson', 'a=0.25,...,e=0.125')
    """
    name = FAMILY.sub(r"\1", str(name))
    parts = name.split(",")
    return f"{parts[0]},...,{parts[-1]}" if len(name) > 32 and len(parts) > 2 else name


WORDS: dict[str, Callable[[Any], Any]] = {
    "policy": short,
    "verdict": lambda value: "not shown" if value == "not_shown" else cell(value),
    "reward": lambda value: ", ".join(map(str, map(cell, value))) if isinstance(value, list) else cell(value),
}
"""The columns whose cells people read otherwise than programs."""


def records(title: str, rows: Sequence[Mapping[Any, Any]], *, empty: bool = True) -> None:
    """Print rows with the same names as a table; with `empty=False`, without the columns in which nothing stands."""
    names = [name for name in (rows[0] if rows else ()) if empty or any(row[name] is not None for row in rows)]
    if names:
        table(title, [name.replace("_", " ") for name in names], [[row[name] for name in names] for row in rows])


def promised_cells(clauses: Iterable[Clause], arms: Sequence[Label]) -> dict[tuple[int, ...], dict[str, Any]]:
    """Return what is promised to each arm, by its place, and to each set of arms, by theirs: cells by their columns,
    which are those of the kinds that are promised.

    >>> from fractions import Fraction
    >>> from evenhand.promises.clause import Clause
    >>> promised_cells([Clause("floor", ("b",), Fraction(1, 4)), Clause("floor", ("a", "b"), Fraction(1, 2))], "ab")
    {(0,): {'promised': None}, (1,): {'promised': 0.25}, (0, 1): {'promised': 0.5}}
    """
    from evenhand.labels import Labels

    known, clauses = Labels(arms), list(clauses)
    columns = list(dict.fromkeys(PROMISED.get(clause.kind, clause.kind) for clause in clauses))
    cells: dict[tuple[int, ...], dict[str, Any]] = {(place,): dict.fromkeys(columns) for place in range(len(arms))}
    for clause in clauses:
        found = tuple(place for place in known.places(clause.arms) if place >= 0)
        rate = clause.rate_as_text if isinstance(clause.rate, tuple) else float(clause.rate)
        cells.setdefault(found, dict.fromkeys(columns))[PROMISED.get(clause.kind, clause.kind)] = rate
    return cells


def answer(body: Any, words: str, json: bool) -> None:
    """Print the result of a command on one line: JSON for programs, words for people."""
    if json:
        format_row(body)
    else:
        print_text(words)


def cell(value: Any) -> Any:
    """Return a value as a cell of a table: a dash for None, few digits, times in UTC without a fraction, several labels
    as one."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, (tuple, list)):
        return " + ".join(map(str, value))
    return "-" if value is None else number(value) if isinstance(value, float) else value


def print_text(*lines: str) -> None:
    """Print lines for people."""
    for line in lines:
        _console().print(visible(line), soft_wrap=True)


def visible(text: str) -> str:
    r"""Return a text whose control characters are written out: a label or a note may come from anybody.

    >>> print(visible("\x1b[2J"))
    \x1b[2J
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say_notes(about: Any, *left_out: str) -> None:
    """Print the notes of an object but those that are left out, the first few of many."""
    from evenhand.display.html import notes_of

    notes = [note for note in notes_of(about) if note not in left_out]
    print_text(*(f"- {in_shell(note)}" for note in notes[:MOST_NOTES]))
    if len(notes) > MOST_NOTES:
        print_text(f"- ... and {len(notes) - MOST_NOTES} more notes; --json lists them all")


def promise_verdict(when: str, kept: bool | None, decisions: int = 1) -> str:
    """Return whether a study kept its promise, in words."""
    if not decisions:
        return "There is no decision yet"
    if when == "in the long run":
        return "The promise is for the long run: no single round can break it"
    if kept is None:
        return f"The promise {when} is not due yet"
    return f"The promise was kept {when}" if kept else f"The promise {when} was BROKEN"


def promise_sentence(
    when: str, kept: bool | None, worst_shortfall: float, arm: object, at: object, weight: str | None = None
) -> str:
    """Return the sentence that says whether a study kept its promise, and how far an arm was behind: in plays, or by
    how much of a weight."""
    if worst_shortfall <= 0:
        return f"{promise_verdict(when, kept)}; no arm was ever behind its share."
    behind = f"{worst_shortfall:.4g}" if weight is None else f"{plain_number(worst_shortfall)} {weight}"
    return f"{promise_verdict(when, kept)}; worst shortfall {behind}, arm {cell(arm)}, round {at}."


def as_json(body: Any, about: Any = None) -> None:
    """Print one JSON document; numbers that are not finite become null, whole ones beyond 2^53 texts, times text as in
    ISO 8601. With an object that it is about, `notes` are those of the object."""
    from evenhand.display.html import notes_of

    noted = {} if about is None else {"notes": notes_of(about)}
    _write(json.dumps(_clean(body | noted if noted else body), indent=2))


def format_row(body: Any) -> None:
    """Print one JSON document on one line."""
    _write(json.dumps(_clean(body)))


def _write(text: str) -> None:
    """Write a line to standard output at once; a reader who leaves changes nothing."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        discard_output()


def discard_output() -> None:
    """Send to nowhere what is still to be printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def folder(out: Path) -> Path:
    """Return the folder named by --out, created if missing.

    Raises
    ------
    ArgumentError
        If it is a file, or nothing can be written there.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(expected("--out", "a folder", str(out), error.strerror or "")) from error
    if not os.access(out, os.W_OK | os.X_OK):
        raise ArgumentError(expected("--out", "a folder that can be written to", str(out)))
    return out


def picture_formats(text: str) -> list[str]:
    """Read what --pictures says, such as pdf,svg,png."""
    kinds = [kind.strip() for kind in text.split(",")]
    if odd := [kind for kind in kinds if kind not in PICTURES]:
        raise ArgumentError(expected_one_of("--pictures", PICTURES, odd[0]))
    return kinds


def saved(figure: Figure, kind: str = "png") -> bytes:
    """Return a picture as the content of a file; a sign that the fonts lack is an empty box."""
    content = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        figure.savefig(content, format=kind, dpi=150, metadata=in_a_picture(kind))
    return content.getvalue()


def draw(
    folder: Path,
    name: str,
    plot: Callable[..., Any],
    *,
    width: float = 7.2,
    height: float = 3.8,
    columns: int = 1,
    formats: Sequence[str] = ("png",),
) -> list[Path]:
    """Write a picture that `plot` draws on empty axes, given as `ax`, in these formats and return the paths."""
    from evenhand.plots.style import figure

    drawn, axes = figure(width, height, columns)
    plot(ax=axes)
    paths = [folder / f"{name}.{kind}" for kind in formats]
    for path, kind in zip(paths, formats, strict=True):
        path.write_bytes(saved(drawn, kind))
    return paths


def is_page(out: Path) -> bool:
    """Return whether a file is to be an HTML page."""
    return out.suffix.lower() in (".html", ".htm")


def drawing(
    plot: Callable[..., Any],
    words: Callable[[str], str] = str,
    *,
    width: float = 7.2,
    height: float = 3.8,
    columns: int = 1,
) -> Png:
    """Return a picture that `plot` draws on empty axes, given as `ax`; all that is written in it is said in these
    words, and it shows what the titles and axes say."""
    from matplotlib.text import Text

    from evenhand.display.report import Png
    from evenhand.plots.style import figure

    drawn, axes = figure(width, height, columns)
    plot(ax=axes)
    for text in drawn.findobj(Text):
        text.set_text(words(text.get_text()))
    said = ((one.get_title("left"), one.get_xlabel(), one.get_ylabel()) for one in drawn.axes)
    shows = "; ".join(": ".join(filter(None, texts)) for texts in said if any(texts))
    return Png(saved(drawn), " ".join(shows.split()))


def _console() -> Console:
    """Return standard output as it is written: labels are no markup, and a reader who leaves changes nothing."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            discard_output()

    return Output(markup=False, emoji=False, highlight=False)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    import numpy as np

    from evenhand.data.json_files import in_digits

    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, datetime):
        return value.isoformat()
    return in_digits(value)
