"""The tables of docs/results.md, counted by paper, kind and verdict."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).with_name("results.md")
KINDS = {"paper": "the paper's", "ours": "ours", "reduced": "the paper's, not run at full size"}
WORDS = ("reproduced", "not reproduced", "inconclusive")


def rows() -> Iterator[dict[str, str]]:
    """Yield the rows of the page's tables of verdicts, by column, with the paper that the section is about."""
    paper, columns = "", list[str]()
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip(" *`") for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            paper = line.removeprefix("## ").split(":")[0].strip("`")
        if not line.startswith("|"):
            columns = []
        elif cells[-1] == "verdict":
            columns = cells
        elif columns and not line.startswith("|--"):
            yield {"paper": paper, **dict(zip(columns, cells, strict=True))}


def summary() -> str:
    """Return a table with the number of claims of each paper and kind by verdict."""
    found = Counter((row["paper"], row["kind"], row["verdict"]) for row in rows())
    lines = [f"| paper | claims | {' | '.join(WORDS)} |", "|---|---|---|---|---|"]
    for paper, kind in dict.fromkeys(key[:2] for key in found):
        counts = [str(found[paper, kind, word]) for word in WORDS]
        lines.append(f"| `{paper}` | {KINDS[kind]} | {' | '.join(counts)} |")
    return "\n".join(lines)
