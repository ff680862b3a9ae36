"""`evenhand choose`: from the answers of audit-pairs to everybody's chance, and a draw by these chances."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import JSON, STUDY, Options, is_store
from evenhand.cli.output import as_json, print_text, records, say_notes
from evenhand.cli.studies.audit_pairs import REWARD
from evenhand.data.csv_files import write_csv
from evenhand.data.tables import numbers
from evenhand.display.digits import number
from evenhand.errors import ArgumentError, wanted
from evenhand.rng import draw_seed

SHOWN = 5
"""Pairs that are shown."""


@Options(tables="table", beside={"--seed": "--out"})
def choose(
    table: Path, *, state: str, places: Annotated[int, typer.Option(min=1)], reward: str = "", against: str = "",
    study: STUDY = None,
    out: Path | None = None, seed: Annotated[int | None, typer.Option(min=0)] = None, json: JSON = False,
) -> None:  # fmt: skip
    """Give everybody a chance of a place, and draw who is chosen. The chances are the best on average that treat nobody
    more differently than the answers allow.

    Unknown distances count as small: the fewer answers, the more alike the chances. The output names
    the unknown pairs that cost the average most.

    Parameters
    ----------
    table : The people to choose from, one per row, with the audit's columns.
    state : The file of answers of audit-pairs, or the store of its study.
    places : How many people are chosen.
    reward : The column with each person's reward; by default rewards are predicted from the people of the audit.
    against : Compare with taking the highest of this column.
    out : Write TABLE with the columns chance and chosen to this CSV file.
    seed : The seed of the draw; by default drawn and reported.
    """
    frame, queue = read_table(table), _queue(state, study)
    taken = {"chance", "chosen"} & set(frame)
    if out is not None and taken:
        raise ArgumentError(wanted("--out", "a TABLE without the columns chance and chosen", min(taken)))
    own, known = queue.policy.notes.get(REWARD, "reward"), reward
    gains = numbers(frame, known) if known else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes say it
        found = queue.chances(frame, gains, places=places)
        worth = queue.predicted(frame) if gains is None else gains
    if out is not None:
        seed = draw_seed(seed)
        rows = found.draw(seed)
        drawn = frame.index.isin(frame.index[rows])
        write_csv(frame.assign(chance=found.chances, chosen=["yes" if one else "no" for one in drawn]), out)
    unknown, what = found.unknown.to_dict("records"), known or f"predicted {own}"
    first = np.argsort(-numbers(frame, against), kind="stable")[:places] if against else ()
    instead = float(worth[first].mean()) if against else None
    if json:
        body = found._asdict() | {"chances": found.chances.tolist(), "unknown": unknown, "reward": what}
        body |= {"against": instead} if against else {}
        as_json(body if out is None else body | {"seed": seed})
        return
    mean, best, lot = map(number, (found.mean, found.best, found.lot))
    print_text(
        f"{places} place{'s' * (places > 1)} for {len(frame)} people: draws by these chances have {what} {mean} on "
        f"average; the best {places} would have {best}, a draw by lot {lot}."
    )
    if instead is not None:
        print_text(f"The {places} with the highest {against} would have {number(instead)}.")
    allow = "1 answer allows" if len(queue.answers) == 1 else f"{len(queue.answers)} answers allow"
    print_text(f"Chances go from {found.chances.min():.1%} to {found.chances.max():.1%}, as far apart as {allow}.")
    for pair in unknown[:SHOWN]:
        for who in ("one", "other"):
            row = pair[who]
            features = ", ".join(f"{name} {frame[name].iloc[row]}" for name in queue.scale.features)
            pair[who] = f"row {row + 1}: {features}"
    shown = unknown[:SHOWN]
    records(f"Unknown distances that cost most ({len(shown)} of {len(unknown)} that cost anything)", shown)
    say_notes(found)
    if out is not None:
        mean = f"whose mean {what} is {number(worth[rows].mean())}"
        print_text(f"Written: {out}. Drawn with --seed {seed}: {places} of {len(frame)} people, {mean}.")


def _queue(state: str, name: str | None) -> Any:
    """Return the queue in a file, or that of the study of this name in a store."""
    from evenhand import load
    from evenhand.similarity import PairQueue
    from evenhand.studies import Study

    if is_store(state):
        with Study.open(state, name) as study:
            queue = study.policy
    elif name is not None:
        raise ArgumentError(wanted("--study", "nothing together with a file of answers", name))
    else:
        queue = load(state)
    if not isinstance(queue, PairQueue):
        raise ArgumentError(wanted("--state", "answers of audit-pairs", type(queue).__name__))
    return queue
