"""`evenhand show`: the state of a study in tables and pictures, or everything about one decision."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.inputs.observations import ticket_of
from evenhand.cli.options import JSON, STORE, STUDY, Options
from evenhand.cli.output import (
    as_json,
    draw,
    folder,
    print_text,
    promise_sentence,
    promise_verdict,
    promised_cells,
    records,
    table,
)
from evenhand.cli.refusals import in_shell
from evenhand.cli.studies.cost import COSTLESS, cost_in_log, notes_beside
from evenhand.cli.studies.pictures import pictures
from evenhand.data.csv_files import write_csv
from evenhand.display.digits import number
from evenhand.display.html import notes_of
from evenhand.groups.bias import SUPPOSED
from evenhand.promises.clause import Clause
from evenhand.saving.provenance import in_a_line, made_with
from evenhand.studies import Study
from evenhand.studies.log.durations import duration, in_utc
from evenhand.studies.log.log import Record
from evenhand.studies.statistics.state import described, summarize

LATEST = 5
MOST = 60
"""Arms in a table; of more, those that are furthest behind or were decided for most."""
COLUMNS = {"label": "arm", "owed": "behind", "decisions": "plays"}
"""What the columns of the arms are called for people."""


@Options(beside={"--open --out": "not --decision"})
def show(
    store: STORE,
    *,
    study: STUDY = None,
    decision: str = "",
    open_: Annotated[bool, typer.Option("--open")] = False,
    out: Path | None = None,
    json: JSON = False,
) -> None:
    """Show the state of a study: shares and promises, open tickets, learned bias, the last decisions with reasons.

    Parameters
    ----------
    decision : Show one decision instead: its number or its signed ticket.
    open_ : List all open tickets.
    out : Folder for arms.csv and the pictures.
    """
    with Study.open(store, study) as running:
        if decision:
            _one(running, decision, json)
            return
        statistics = running.statistics()
        found = summarize(running, statistics)
        found["open_tickets"] = sorted(statistics.open)
        found |= {name: running.log.setting.get(name) for name in ("expire_reward", "expire_after")}
        found["latest"] = [_row(record) for record in running.log.latest(LATEST)]
        policy, _ = described(running, statistics)
        tables, cost = _tables(policy), cost_in_log(policy, statistics)
        said = notes_beside(policy, cost=COSTLESS in cost)
        found |= tables | {"notes": [*found["notes"], *said, *tables.get("notes", ())], "cost": cost}
        written = [] if out is None else _write(running, found, folder(out))
    if json:
        as_json(found)
    else:
        _say(found, statistics.promise.clauses if statistics.promise else (), written, every=open_)


def bars(rows: Sequence[dict[str, Any]], blocks: str = "█│", width: int = 48) -> list[str]:
    """Return a bar of its share for each arm, with a mark where its promise ends.

    >>> rows = [{"label": "a", "share": 0.7, "promised": 0.2}, {"label": "b", "share": 0.3, "cap": 0.5}]
    >>> for line in bars(rows, "#|", 28):
    ...     print(line)
    a  ########|###################  0.7000, promised 0.2000
    b  ############        |         0.3000, at most 0.5000
    """
    names = [text if len(text) <= 20 else text[:19] + "~" for text in (str(row["label"]) for row in rows)]
    wide = max(map(len, names))
    most = max(max(row["share"], row.get("promised") or 0.0, row.get("cap") or 0.0) for row in rows)
    lines = []
    for name, row in zip(names, rows, strict=True):
        bar = [blocks[0] if place < round(row["share"] / most * width) else " " for place in range(width)]
        told = f"{row['share']:.4f}"
        for name_of_limit, words in (("promised", "promised"), ("cap", "at most")):
            if limit := row.get(name_of_limit):
                bar[min(width - 1, round(limit / most * width))] = blocks[1]
                told += f", {words} {limit:.4f}"
        lines.append(f"{name:<{wide}}  {''.join(bar)}  {told}".rstrip())
    return lines


def _one(study: Study, ticket: str, json: bool) -> None:
    found = study.log.record(ticket_of(ticket))._asdict()
    if json:
        as_json(found)
        return
    shown = {**found.pop("decision"), **found}
    for name, value in shown.items():
        if value is not None and name not in ("id", "type"):
            print_text(f"{name.replace('_', ' '):<14}{value}")


def _row(record: Record) -> dict[str, Any]:
    """Return a decision as a row of a table."""
    decided, told = record.decision, record.told or {}
    return {
        "id": record.ticket,
        "at": record.at,
        "arm": decided.get("arms") or decided.get("arm", decided.get("group")),
        "reason": decided.get("reason"),
        "status": record.status,
        "reward": told.get("reward"),
    }


def _tables(policy: Any) -> dict[str, Any]:
    """Return what a sampler or a search has found so far, and the scale on which people are compared."""
    scale, risks, recommend = (getattr(policy, name, None) for name in ("scale", "risks", "recommend"))
    found: dict[str, Any] = {} if scale is None else {"scale": str(scale)}
    if risks is not None:
        found["risks"] = risks.reset_index().to_dict("records")
    if recommend is not None:
        from evenhand.cli.recommendation_report import in_words

        best = recommend()
        rows = best.table.reset_index()
        said = {"answer": in_words(policy.problem, best, policy.tolerance), "status": best.status}
        found["recommendation"] = {**said, "candidate": best.candidate, "confidence": best.confidence}
        found["candidates"] = rows.astype(object).where(rows.notna(), None).to_dict("records")
        found["notes"] = notes_of(best)
    return found


def _say(found: dict[str, Any], clauses: tuple[Clause, ...], written: list[Path], *, every: bool) -> None:
    decisions = f"{found['decisions']} decision{'s' * (found['decisions'] != 1)}"
    print_text(
        f"{found['name']}: {found['policy']}, since {found['created']:%Y-%m-%d %H:%M}; {decisions}, "
        f"{found['told']} told, {found['forgotten']} forgotten, {found['open']} open\n"
    )
    print_text(*(f"- {in_shell(note)}" for note in found["notes"]))
    rows = every_row = arm_rows(found["arms"], clauses)
    if len(rows) > MOST:
        rows = sorted(rows, key=lambda row: (row["owed"] is None, -(row["owed"] or 0.0), -row["decisions"]))[:MOST]
    more = "" if len(rows) == len(every_row) else f" ({len(every_row) - len(rows)} more)"
    named = [{COLUMNS.get(name, name): value for name, value in row.items()} for row in rows]
    records(f"Plays{more}", named, empty=False)
    if rows and found["decisions"] and sys.stdout.isatty():
        known = sys.stdout.encoding or "ascii"
        blocks = "█│" if "█│".encode(known, "ignore").decode(known) == "█│" else "#|"
        unit = (found["promise"] or {}).get("weight", "rounds")
        print_text(f"Share of the {unit} {blocks[0]} and promised share {blocks[1]}")
        print_text("\n".join(bars(rows, blocks, max(10, shutil.get_terminal_size().columns - 50))) + "\n")
    print_text(*_sentences(found, every), *found["cost"])
    for name, title in (
        ("bias", f"Learned bias by feature, 95 % intervals ({SUPPOSED})"),
        ("risks", "Risks by group"),
        ("latest", "The last decisions"),
    ):
        records(title, found.get(name) or [], empty=False)
    if "recommendation" in found:
        from pandas import DataFrame

        from evenhand.cli.recommendation_report import compact

        print_text(found["recommendation"]["answer"])
        table("The rules", *compact(DataFrame(found["candidates"])))
    if found["reward"] is not None:
        mean, recent, window = found["reward"].values()
        recently = f"; of the last {window} told {number(recent)}" if found["told"] > window else ""
        print_text(f"Mean reward {number(mean)}{recently}.")
    if "scale" in found:
        print_text(f"People are compared on one scale: {found['scale']}.")
    if written:
        print_text("Written: " + ", ".join(map(str, written)))


def arm_rows(arms: list[dict[str, Any]], clauses: tuple[Clause, ...]) -> list[dict[str, Any]]:
    """Return a row for each arm, and for each set of arms that is promised something, with what it is promised."""
    rows = []
    for places, cells in promised_cells(clauses, [row["label"] for row in arms]).items():
        row, mine = arms[places[0]], [arms[place] for place in places]
        if len(mine) > 1:
            row = dict.fromkeys(row) | {name: sum(one[name] or 0 for one in mine) for name in ("decisions", "share")}
            row["label"] = " + ".join(str(one["label"]) for one in mine)
        rows.append(row | {"promised": None, "owed": row["owed"] if cells.get("promised") else None} | cells)
    return rows


def _sentences(found: dict[str, Any], every: bool) -> list[str]:
    lines = []
    promise = found["promise"]
    if promise is not None and promise["worst_arm"] is not None:
        worst = promise["worst_shortfall"], promise["worst_arm"], promise["worst_round"]
        lines.append(promise_sentence(promise["when"], promise["kept"], *worst, promise.get("weight")))
    if promise is not None:
        lines += _beyond_shares(promise, found["decisions"])
    tickets = found["open_tickets"]
    if tickets:
        shown = tickets if every else tickets[:12]
        more = "" if len(shown) == len(tickets) else f" and {len(tickets) - len(shown)} more; --open lists all"
        lines.append(f"Open ticket{'s' * (len(tickets) > 1)}: {', '.join(map(str, shown))}{more}.")
    if found["expire_after"] is not None:
        told = "" if found["expire_reward"] is None else f" and are then told {found['expire_reward']:g}"
        lines.append(f"Tickets expire after {duration(found['expire_after'])}{told}.")
    return lines


def _beyond_shares(promise: dict[str, Any], decisions: int) -> list[str]:
    """Return a line for each kind of promise beside fixed shares of single arms."""
    lines = []
    if promise["worst_arm"] is None and promise["kept"] is not None:
        lines.append(f"{promise_verdict(promise['when'], promise['kept'], decisions)}.")
    if "plays" in promise:
        lines.append(f"{promise['plays']} arms are played per round.")
    if promise.get("retired"):
        lines.append(f"Retired: {', '.join(map(str, promise['retired']))}.")
    for epoch in promise.get("history", ()):
        shares = ", ".join(f"{one['label']} {one['share']:.4g}" for one in epoch["shares"])
        when = "" if epoch["at"] is None else f" ({epoch['at']:%Y-%m-%d %H:%M}, {epoch['kind']})"
        lines.append(f"Shares from round {epoch['round']}{when}: {'; '.join([shares, *epoch['others']])}.")
    for plan in promise.get("planned", ()):
        promises = "; ".join(plan["promises"])
        lines.append(f"From the first decision after {in_utc(plan['begins'])}: {promises}.")
    lines += [
        f"The change planned for {in_utc(plan['begins'])} was refused: {plan['why']}."
        for plan in promise.get("refused", ())
    ]
    return lines


def _write(study: Study, found: dict[str, Any], out: Path) -> list[Path]:
    import pandas as pd

    from evenhand.cli.groups import write_bias

    origin = in_a_line(made_with())
    write_csv(pd.DataFrame(found["arms"]).assign(made_with=origin), out / "arms.csv")
    written = [out / "arms.csv"]
    for name, plot in pictures(study.statistics()).items():
        written += draw(out, name, plot)
    if found["bias"]:
        bias = pd.DataFrame(found["bias"])
        bias.attrs = {"level": 0.95, "intervals": SUPPOSED}
        written += write_bias(bias, origin, out)
    return written
