"""The verdicts of the papers' claims, read from the tables of the pages, for docs/results.md."""

from collections.abc import Iterator
from pathlib import Path

PAPERS = {
    "quotas": "Patil, Ghalme, Nair, Narahari (JMLR 2021): guaranteed shares",
    "groups": "Schumann, Lang, Mattei, Dickerson (AAMAS 2022): biased feedback",
    "sampling": "Shekhar, Fields, Ghavamzadeh, Javidi (NeurIPS 2021): the next training example",
    "similarity": "Gillen, Jung, Kearns, Roth (NeurIPS 2018): an unknown metric",
    "interventions": "Gao, Feng (2021): the best fair candidate",
    "changing-worlds": "Garivier, Moulines (2011): worlds that change",
}


def claims(page: str) -> Iterator[list[str]]:
    """Yield the claim, the measurement and the verdict of each row of a page's tables of verdicts."""
    columns: list[str] = []
    for line in (Path(__file__).parent / f"{page}.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.replace("\\|", "\0").strip("| ").split(" | ")]
        if not line.startswith("|"):
            columns = []
        elif cells[-1] == "verdict":
            columns = cells
        elif columns and not line.startswith("|--"):
            row = dict(zip(columns, cells, strict=False))
            found = [row.get("claim") or cells[-3], cells[-2], row.get("verdict", cells[-1])]
            yield [cell.replace("\0", "\\|") for cell in found]


ROWS = {page: [*claims(page)] for page in PAPERS}
FAILED = {page: [row for row in rows if "not" in row[2].replace("*", "").split()] for page, rows in ROWS.items()}
HELD = {page: [row for row in rows if row not in FAILED[page]] for page, rows in ROWS.items()}


def summary() -> str:
    """Return a table with the number of claims of each paper that hold and that do not."""
    lines = ["| paper | claims | hold as stated | do not, at least in part |", "|---|---|---|---|"]
    for page, paper in PAPERS.items():
        lines.append(f"| [{paper}]({page}.md) | {len(ROWS[page])} | {len(HELD[page])} | {len(FAILED[page])} |")
    return "\n".join(lines)


def table(rows: dict[str, list[list[str]]]) -> str:
    """Return a table of claims with the page that each is from."""
    lines = ["| page | claim | measured | verdict |", "|---|---|---|---|"]
    lines += [f"| [{page}]({page}.md) | {' | '.join(row)} |" for page in PAPERS for row in rows[page]]
    return "\n".join(lines)
