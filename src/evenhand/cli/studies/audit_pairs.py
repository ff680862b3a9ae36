"""`evenhand audit-pairs`: a person audits how differently individuals are treated, pair by pair."""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import numpy as np
import typer

from evenhand.arguments import real
from evenhand.cli.inputs.inputs import names_of
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import JSON, Options, is_store
from evenhand.cli.output import format_row, print_text
from evenhand.cli.refusals import as_typed, in_shell
from evenhand.cli.studies.audit_session import CONTRADICTS, PairAudit, answers_needed
from evenhand.data.tables import column, numbers
from evenhand.errors import ArgumentError, TableError, expected
from evenhand.saving.state import load, save
from evenhand.similarity import PairQueue
from evenhand.similarity.verdicts import read_auditor
from evenhand.studies import Study
from evenhand.studies.keys import add_key
from evenhand.studies.store.address import typed_address

if TYPE_CHECKING:
    import pandas as pd

STATE = Path("pairs.evenhand")
COMPETE = 4
"""How many people compete in a round where nobody says how many."""
REWARD = "reward"
"""Where the notes of a queue's policy hold the name of the column of rewards."""
MEND = "repeat what the state was begun with, or begin another --state"


@Options(
    tables="table",
    beside={
        "--read": "not --store --questions",
        "--gap": "--read",
        "--state --questions": "not --store",
        "--study": "--store",
    },
)
def audit_pairs(
    table: Path,
    *,
    features: str,
    reward: str,
    individuals: int | None = None,
    questions: Annotated[int | None, typer.Option(min=1)] = None,
    errors: float | None = None,
    check: Annotated[int | None, typer.Option(min=0)] = None,
    state: Path | None = None,
    read: Path | None = None,
    gap: float | None = None,
    auditor: str | None = None,
    store: str | None = None,
    study: str = "audit",
    auditors: Annotated[int | None, typer.Option(min=1)] = None,
    seed: int | None = None,
    json: JSON = False,
) -> None:
    """Show two people whose chances differ, and ask whether that is unfair; the pair that teaches most comes first.

    "unsure" teaches nothing. Every answer is saved in --state, and the same command continues there. A withdrawn answer
    counts as never given. Only one person at a time can use a --state; several people audit at once in a study that
    --store creates. Afterwards `evenhand choose` turns the answers into chances.

    Parameters
    ----------
    table : The individuals, one per row: CSV, Parquet, Arrow or JSON lines.
    features : Columns that describe an individual, separated by commas.
    reward : The column with the reward of each individual.
    individuals : How many people compete in a round; 4, or as in --state.
    questions : Stop after this many questions; by default when no question is left.
    errors : The share of your answers that may be wrong; 0, or as in --state.
    check : How many proposed differences you see at the end, to test what was supposed; 10, or as in --state.
    state : File in which every answer is saved at once; pairs.evenhand by default.
    read : Answers to read: columns one, other (rows of TABLE, from 1) and answer, unfair or acceptable; where several
        people judged, also auditor.
    gap : The difference of chances that the answers in --read are about: 0.2.
    auditor : Your name, if several people audit one --state; with --store all names, ann,bob, each of whom gets a link.
    store : Create a study in this store for audits in a browser; ask nothing here.
    study : The name of that study.
    auditors : How many people answer each question; 1, or as in --state.
    seed : Seed of the rows and the draws; 0, or as in --state.
    """
    names, frame = list(dict.fromkeys(names_of(features))), read_table(table)
    people, rewards = frame[[]].assign(**{name: numbers(frame, name) for name in names}), numbers(frame, reward)
    given = {"individuals": individuals, "errors": errors, "check": check, "auditors": auditors, "seed": seed}
    if read is not None and gap is None:
        hint = "0.2 asks whether it would be unfair if the chances of the two differed by 20 percentage points"
        raise ArgumentError(expected("--gap", "a number together with --read", None, hint))
    place = STATE if state is None else state
    if store is None and place.exists():
        queue = _resumed(place, people, rewards, reward, given)
    else:
        settings: dict[str, Any] = {"seed": 0} | {name: value for name, value in given.items() if value is not None}
        if individuals is None and len(people) < COMPETE:
            hint = f"pass --individuals {len(people)}" if len(people) > 1 else ""
            raise TableError(expected(str(table), f"at least {COMPETE} people", len(people), hint))
        queue = PairQueue(people, rewards, people=frame[names].astype(str), **settings)
        queue.policy.notes[REWARD] = reward
    if store is not None:
        _publish(queue, store, study, list(dict.fromkeys(names_of(auditor or ""))) or [""], json)
        return
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is said in the session's words
        if read is not None and gap is not None:
            many, notes = _judged(queue, read, real("--gap", gap, above=0, high=1), read_auditor(auditor))
            save(queue, place)
            if not json:
                read_so = f"{many} answer{'s' * (many != 1)} read, {len(queue.answers)} kept in {place}."
                print_text("\n".join([*notes, read_so]))
        else:
            with redirect_stdout(sys.stderr) if json else nullcontext():
                PairAudit(queue, place, read_auditor(auditor)).converse(questions)
    if json:
        body = {"questions": queue.round, "answers": len(queue.answers), "state": str(place), "caveat": queue.caveat}
        format_row(body | ({"notes": notes} if notes else {}))


def _publish(queue: PairQueue, store: str, study: str, auditors: list[str], json: bool) -> None:
    """Create a study of the queue, and print a link with a key of its own for each auditor."""
    links = []
    with Study.create(store, queue, name=study) as made:
        place = made.store.url
        for name in auditors:
            key = add_key(made.store, "both", f"audits {study}" + f", {name}" * bool(name), studies=[study])
            asked = {"study": study, "key": key, "about": answers_needed(queue)} | ({"annotator": name} if name else {})
            links.append({"auditor": name or None, "link": f"/audit#{urlencode(asked)}"})
    if json:
        format_row({"name": study, "store": place, "links": links})
        return
    print_text(f"Created study {study!r} in {place}. Serve it: evenhand serve --store {typed_address(place)}")
    print_text("Each link has a key that is shown only once, and begins with the address at which the store is served:")
    for one in links:
        print_text(f"{one['auditor'] or ''}: http://127.0.0.1:8000{one['link']}".removeprefix(": "))
    print_text("Behind a proxy, put its address in place of http://127.0.0.1:8000; the page is /audit there.")


def _resumed(state: Path, people: pd.DataFrame, rewards: Any, reward: str, given: dict[str, Any]) -> PairQueue:
    """Return the queue in a file, which must be about these people and have these settings."""
    if is_store(str(state)):
        hint = "a store is answered in a browser: evenhand serve --store"
        raise ArgumentError(expected("--state", "a file that audit-pairs began", str(state), hint))
    queue = load(state)
    if not isinstance(queue, PairQueue) or REWARD not in queue.policy.notes:
        raise ArgumentError(expected("--state", "a file that audit-pairs began", str(state)))
    config = queue.config()
    begun = {name: config[name] for name in given}
    begun |= {"features": ",".join(queue.scale.features or ()), "reward": queue.policy.notes[REWARD]}
    names = list(map(str, people))
    asked = {"features": ",".join(names), "reward": reward, **given}
    for name, value in asked.items():
        if value not in (None, begun[name]):
            raise ArgumentError(expected(f"--{name}", f"{as_typed(begun[name])} as in {state}", value, MEND))
    columns = {**dict(zip(names, queue.features.T, strict=True)), reward: queue.rewards}
    for name, values in columns.items():
        if not np.array_equal(values, people.get(name, rewards)):
            hint = "use the same table, or begin another --state"
            raise TableError(f"column {name!r}: its values differ from those with which {state} was begun; {hint}")
    for number in queue.open_tickets:
        queue.forget(number)
    return queue


def _judged(queue: PairQueue, file: Path, gap: float, auditor: str | None) -> tuple[int, list[str]]:
    """Take the answers in a file, all or none, about this difference of chances; return how many there are, and what is
    to be said of them."""
    frame, notes = read_table(file, text=["one", "other", "answer", "auditor"]), list[str]()
    rows = {str(row + 1): row for row in range(len(queue.rewards))}
    words = {"unfair": True, "acceptable": False}
    allowed: dict[str, dict[str, Any]] = {"one": rows, "other": rows, "answer": words}
    judges = column(frame, "auditor") if "auditor" in frame else [auditor] * len(frame)
    try:
        cells = [column(frame, name) for name in allowed]
    except TableError as error:
        raise TableError(f"{file}: {in_shell(error)}") from error
    for number, (who, *answer) in enumerate(zip(judges, *cells, strict=True), 1):
        for (name, among), value in zip(allowed.items(), answer, strict=True):
            if value not in among:
                what = "unfair or acceptable" if among is words else f"a row of the people, from 1 to {len(rows)}"
                raise TableError(expected(f"{file}: column {name!r}, row {number}", what, value))
        (one, other, word), trusted = answer, queue.policy.metric.error_rate == 0.0
        try:
            told = queue.judge(rows[one], rows[other], gap, words[word], auditor=read_auditor(who))
        except ArgumentError as error:
            raise TableError(f"{file}: row {number}: {in_shell(error)}") from error
        if trusted and queue.policy.metric.error_rate > 0.0:
            which = f"Answer {told} ({one} and {other} {word}, row {number} of {file})"
            hint = "To withdraw a wrong one, call audit-pairs without --read and type w with its number; l lists all."
            notes.append(f"{which} {CONTRADICTS}. {hint}")
    return len(frame), notes
