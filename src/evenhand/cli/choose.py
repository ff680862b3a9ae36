"""`evenhand choose`: whom to choose by the records, without the gap between similar people; or from the answers of
audit-pairs everybody's chance, and a draw by these chances."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.audit.similar import supposed
from evenhand.cli.inputs.inputs import names_of
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import JSON, STUDY, Options, is_store
from evenhand.cli.output import as_json, drawing, is_page, print_text, records, say_notes
from evenhand.cli.refusals import command_line, in_shell
from evenhand.cli.studies.audit_pairs import REWARD
from evenhand.data.csv_files import write_csv
from evenhand.data.tables import numbers
from evenhand.display.digits import in_words, number, with_signs
from evenhand.display.html import Table
from evenhand.display.report import Part, Typed, page
from evenhand.errors import ArgumentError, expected
from evenhand.kernels.arrays import Floats
from evenhand.rng import draw_seed

SHOWN = 5
"""Pairs that are shown."""
LISTED = 60
"""People that are shown."""
MANY = 1_000
"""So many people take some seconds."""
CLOSE, PAIRS = 6, 15
"""So many are looked at as close to somebody, who is the first of them; so many pairs are shown."""


@Options(
    tables="table applicants",
    arguments={"frame": "TABLE"},
    beside={
        "--seed": "--out",
        "--state --study --against": "not --group",
        "--features --sensitive --applicants": "--group",
    },
)
def choose(
    context: typer.Context,
    table: Path,
    *,
    places: Annotated[int, typer.Option(min=1)],
    state: str = "",
    reward: str = "",
    against: str = "",
    study: STUDY = None,
    group: str = "",
    features: str = "",
    sensitive: str = "",
    applicants: Path | None = None,
    out: Path | None = None,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    json: JSON = False,
) -> None:
    """Choose people. With --group: those with the largest recorded reward, and those with the largest once the gap
    between similar people is taken out of the records of one group; who enters, who leaves, and what it costs. With
    --state: everybody's chance from the answers of audit-pairs, and a draw by these chances. They are the best on
    average that treat nobody more differently than the answers allow.

    With --state unknown distances count as small: the fewer answers, the more alike the chances. The output names the
    unknown pairs that cost the average most.

    Parameters
    ----------
    table : The people to choose from, one per row; with --state with the audit's columns.
    places : How many people are chosen.
    state : The file of answers of audit-pairs, or the store of its study.
    reward : The column with each person's reward; with --state rewards are predicted from the people of the audit
        unless it is given.
    against : With --state: compare with taking the highest of this column.
    group : The column of groups; rewards may be biased against one.
    features : Columns in which people are alike, such as rank and years.
    sensitive : The group whose records the gap is taken out of; of two by default the one with fewer rows.
    applicants : A table of people without a reward, to choose from instead.
    out : Write TABLE, or the applicants, to this CSV file: with chance and chosen, or with what each counts with; or
        for FILE.html a page to hand over.
    seed : The seed of the draw; by default drawn and reported.
    """
    if out is not None and not is_page(out) and out.suffix.lower() != ".csv":
        raise ArgumentError(expected("--out", "a file that ends in .csv or .html", str(out)))
    if group:
        _by_record(context, table, applicants, out, json)
        return
    if not state:
        raise ArgumentError(expected("--state", "the answers of audit-pairs, or --group instead", None))
    frame, queue = read_table(table), _queue(state, study)
    taken = {"chance", "chosen"} & set(frame)
    if out is not None and taken:
        raise ArgumentError(expected("--out", "a TABLE without the columns chance and chosen", min(taken)))
    own, known = queue.policy.notes.get(REWARD, "reward"), reward
    gains = numbers(frame, known) if known else None
    if len(frame) > MANY and not json:
        typer.echo(f"The chances of {len(frame):,} people: one moment ...", err=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes say it
        found = queue.chances(frame, gains, places=places)
        worth = queue.predicted(frame) if gains is None else gains
    unknown, what = found.unknown.to_dict("records"), known or f"predicted {own}"
    instead = float(worth[np.argsort(-numbers(frame, against), kind="stable")[:places]].mean()) if against else None
    allow = "1 answer allows" if len(queue.answers) == 1 else f"{len(queue.answers)} answers allow"
    mean, best, lot = map(number, (found.mean, found.best, found.lot))
    said = [
        f"{places:,} place{'s' * (places > 1)} for {len(frame):,} people: draws by these chances have {what} {mean} on "
        f"average; the best {places} would have {best}, a draw by lot {lot}.",
        *([] if instead is None else [f"The {places} with the highest {against} would have {number(instead)}."]),
        f"Chances go from {found.chances.min():.1%} to {found.chances.max():.1%}, as far apart as {allow}.",
    ]
    values = {name: numbers(frame, name) for name in queue.scale.features}
    if out is not None:
        seed = draw_seed(seed)
        rows = found.draw(seed)
        if is_page(out):
            drawn = f"Drawn with --seed {seed}: row{'s' * (places > 1)} {', '.join(map(str, rows + 1))}."
            place = queue.scale(frame)
            out.write_text(_page(values, place, found, [*said, drawn], command_line(context)), encoding="utf-8")
        else:
            chosen = np.where(frame.index.isin(frame.index[rows]), "yes", "no")
            write_csv(frame.assign(chance=found.chances, chosen=chosen), out)
    if json:
        body = found._asdict() | {"chances": found.chances.tolist(), "unknown": unknown, "reward": what}
        body |= {"against": instead} if against else {}
        as_json(body if out is None else body | {"seed": seed})
        return
    print_text("\n".join(said))
    shown = [pair | {who: _person(values, pair[who]) for who in ("one", "other")} for pair in unknown[:SHOWN]]
    records(f"Unknown distances that cost most ({len(shown)} of {len(unknown)} that cost anything)", shown)
    say_notes(found)
    if out is not None:
        mean = f"whose mean {what} is {number(worth[rows].mean())}"
        print_text(f"Written: {out}. Drawn with --seed {seed}: {places:,} of {len(frame):,} people, {mean}.")


def _person(values: Mapping[str, Floats], row: int) -> str:
    """Say who stands in a row: its number and the features."""
    return f"row {row + 1}: {', '.join(f'{name} {column[row]:.7g}' for name, column in values.items())}"


def _page(values: Mapping[str, Floats], place: Floats, found: Any, said: list[str], again: str) -> str:
    """Return a page: what was said, the chances over the feature that they follow most, and those people among the
    closest to each other, at these places (n, d), whose chances differ most."""
    from scipy.spatial import cKDTree

    from evenhand.plots.similarity import plot_chances

    main = max(values, key=lambda name: abs(np.cov(values[name], found.chances)[0, 1]) / (values[name].std() or 1.0))
    near = cKDTree(place).query(place, min(CLOSE, len(place)))[1]
    gaps = found.chances[:, None] - found.chances[near]
    other, most = near[np.arange(len(near)), gaps.argmax(axis=1)], gaps.max(axis=1)
    pairs = [row for row in np.argsort(-most) if most[row] > 0][:PAIRS]
    lines = [[_person(values, row), _person(values, other[row]), f"{100 * most[row]:.1f}"] for row in pairs]
    close = Table(["one", "other", "points"], len(lines), lines.__getitem__)
    parts: dict[str, list[Part]] = {
        "The chances": [drawing(partial(plot_chances, values[main], found.chances, main))],
        "What it means": [said],
        "People close to each other whose chances differ most": [
            close if lines else "All people have the same chance."
        ],
        "Before you believe it": [[in_shell(note) for note in found.notes]],
        "How it was computed": [Typed(again)],
    }
    return page("Who gets a place?", None, said[0], parts)


def _by_record(context: typer.Context, table: Path, applicants: Path | None, out: Path | None, json: bool) -> None:
    """Print who has a place by the records, and who once the gap is taken out."""
    from evenhand.groups.chosen import MARKS, choose

    typed = {name: context.params[name] for name in ("group", "reward", "places")}
    features, sensitive = names_of(context.params["features"]), context.params["sensitive"] or None
    for option, given in (("--reward", typed["reward"]), ("--features", features)):
        if not given:
            raise ArgumentError(expected(option, "a column" if option == "--reward" else "columns", None))
    people = None if applicants is None else read_table(applicants, text=[typed["group"]])
    frame = read_table(table, text=[typed["group"]])
    found = choose(frame, **typed, features=features, sensitive=sensitive, applicants=people)
    names = ["by record", "after correction", *map("if {}".format, in_words(found.gap.low, found.gap.high))]
    chosen, stay = found.listed()
    counts = iter(with_signs(*chosen[["record", "corrected"]].to_numpy(float).ravel()))
    rows = [
        {"row": at + 1, found.column: one[found.column], "record": next(counts), "corrected": next(counts)}
        | {name: "x" if one[mark] else "" for name, mark in zip(names, MARKS, strict=True)}
        for at, one in zip(chosen.index, chosen.to_dict("records"), strict=True)
    ]
    stays = f"{stay:,} people have a place in every column; all others are listed first."
    if out is not None and is_page(out):
        parts: dict[str, list[Part]] = {
            "The gap between similar people": [found.gap.sentences(found.reward, found.level), supposed()],
            "Who has a place": [Table(list(rows[0]), len(rows), lambda at: list(rows[at].values())), stays],
            "Before you believe it": [[in_shell(note) for note in found.notes]],
            "How to check it again": [Typed(command_line(context))],
        }
        out.write_text(page(f"Who has a place, by {found.reward}?", None, found.finding(), parts), encoding="utf-8")
    elif out is not None:
        write_csv(found.people, out)
    if json:
        as_json(vars(found) | {"people": found.people.to_dict("records"), "gap": found.gap._asdict()}, found)
        return
    print_text(str(found))
    say_notes(found)
    records(f"Who has a place, by {found.reward}", rows[:LISTED])
    more = f"and {len(rows) - LISTED:,} more, whom --out FILE writes; " * (len(rows) > LISTED)
    print_text(f"{more}{stays}")
    if out is not None:
        print_text(f"Written: {out}")


def _queue(state: str, name: str | None) -> Any:
    """Return the queue in a file, or that of the study of this name in a store."""
    from evenhand import load
    from evenhand.similarity import PairQueue
    from evenhand.studies import Study

    if is_store(state):
        with Study.open(state, name) as study:
            queue = study.policy
    elif name is not None:
        raise ArgumentError(expected("--study", "nothing together with a file of answers", name))
    else:
        queue = load(state)
    if not isinstance(queue, PairQueue):
        raise ArgumentError(expected("--state", "answers of audit-pairs", type(queue).__name__))
    return queue
