"""`evenhand certify`: whether every group's risk is at most a limit, on rows that the collection has not seen."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.cli.exit_codes import UNDECIDED
from evenhand.cli.inputs.empty_cells import without_empty_cells
from evenhand.cli.inputs.inputs import names_of
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import EMPTY, FORM, JSON, Options
from evenhand.cli.output import as_json, print_text, records
from evenhand.cli.refusals import in_shell
from evenhand.cli.sample import COLLECTION, labelled_rows
from evenhand.cli.worst_off import MEASURES, answer_notes, worth_notes
from evenhand.data.tables import column
from evenhand.display.html import notes_of
from evenhand.errors import ArgumentError, TableError, Wording, expected, expected_one_of, first_few
from evenhand.labels import Labels
from evenhand.protocol import labels_of_texts
from evenhand.sampling import ArrayPool, Certification, Sampler, TablePool, certify_once, confidence_sequence
from evenhand.sampling.one_look import rows_needed
from evenhand.saving.state import load

UNTOLD = "With so few features rows look alike: it is unknown whether the collection has seen these."
ONCE = "Rows may be looked at once: none of them counts in another certificate, and none may be added to this one."
SIDES = "Limits are one-sided: all upper ones hold at once with {:g} confidence, and so do all lower ones."
QUEUE = "write its predictions for rows with labels: evenhand label TABLE ... --predict FILE --out predicted.csv"
PREDICTED = "the columns of groups, labels and predictions, such as race,released,predicted"
COUNTED = {"false_negative": "positive rows", "false_positive": "negative rows"}
"""The rows that are counted where they are not all."""
SHOWN = 12
"""How many rows a refusal names."""


@Options(
    tables="fresh folder",
    beside={
        "--empty": "--fresh --columns",
        FORM: "--fresh --columns",
        "--loss": "--columns",
        "--columns": "not --fresh --once",
    },
)
def certify(
    folder: Path,
    *,
    threshold: Annotated[float, typer.Option("--at-most")],
    fresh: Path | None = None,
    once: bool = False,
    columns: str = "",
    loss: str = "",
    delta: float = 0.05,
    empty: EMPTY = "refuse",
    json: JSON = False,
) -> None:
    """Certify that the risk of every group is at most a limit, on rows that the collection has not seen.

    Your own model needs a table of its predictions alone, for rows that it was not trained on. Exit code 1 when the
    limit is refuted, 3 when there are too few rows to tell.

    Parameters
    ----------
    folder : The folder that evenhand sample wrote, or a table of predictions, with --columns, which is looked at once.
    threshold : The limit of every group's risk, such as 0.25.
    fresh : Labelled rows in a table; by default the rows that are left in the pool.
    once : Look at all rows at once: exact limits, which fewer rows satisfy; rows that come later do not count.
    columns : The columns of groups, labels and predictions in a table: race,released,predicted.
    loss : zero_one, false_negative or false_positive for a table of predictions; zero_one by default.
    delta : The probability with which the verdict may be wrong.
    """
    if folder.suffix == ".evenhand":
        what, hint = "a folder that evenhand sample wrote, or a table of predictions", QUEUE
        raise ArgumentError(expected("FOLDER", what, str(folder), hint))
    if columns or folder.is_file():
        if folder.is_dir():
            raise ArgumentError(expected("--columns", "nothing together with the folder of a collection", columns))
        names = names_of(columns)
        if len(names) != 3:
            raise ArgumentError(expected("--columns", PREDICTED, columns or None))
        frame = without_empty_cells(read_table(folder, text=names), names, [], empty)
        told, said = (_labels(column(frame, name).tolist()) for name in names[1:])
        said = list(map(Labels(dict.fromkeys(told)).label, said))
        if loss in MEASURES and len(labels := sorted({*told, *said}, key=str)) != 2:
            where = f"columns {names[1]!r} and {names[2]!r}"
            raise TableError(expected(where, f"two labels for {loss}", labels))
        notes = [*_never_labels(names[2], said, told), ONCE, SIDES.format(1 - delta), _looked_up(len(told), 0)]
        group, loss = column(frame, names[0]), loss or "zero_one"
        found = certify_once(told, said, groups=group, threshold=threshold, delta=delta, loss=loss)
        notes = [*worth_notes(found, "--loss"), *answer_notes(loss, {*told, *said}, said), *notes]
        _say(found, threshold, delta, loss, notes, "", "are supposed to be new to the model", json=json)
        return
    sampler, model, pool = _collected(folder)
    loss = "zero_one" if sampler.loss == "log" else str(sampler.loss)
    rows, notes = (pool, []) if fresh is None else _rows_in(fresh, pool, empty)
    unseen = np.setdiff1d(np.arange(len(rows.y)), rows.chosen)
    looked = len(unseen)
    if once:
        found = certify_once(
            rows.y[unseen],
            model.predict(rows.X[unseen]),
            groups=[rows.groups[z] for z in rows.group[unseen]],
            threshold=threshold,
            delta=delta,
            loss=loss,
            among=pool.groups,
        )
    else:
        check = Certification(pool.groups, model, threshold=threshold, delta=delta, batch=10, loss=loss)
        for away in set(pool.groups).difference(rows.groups):
            check.retire(away)
        while check.verdict == "undecided":
            draw = check.ask()
            check.tell(draw, *rows.respond(draw))
        looked -= int(rows.left.sum())
        found, level = check.risks, delta / len(pool.groups)
        found["needed"] = [
            rows_needed(wrong, n, threshold, level, lambda *given: confidence_sequence(*given[:2], delta=given[2]))
            for wrong, n in zip(check.sums.tolist(), check.counts.tolist(), strict=True)
        ]
        notes = [*notes_of(check), *notes]
        if looked < len(unseen) and check.verdict != "not_shown":
            notes.append(f"The other {len(unseen) - looked:,} rows were not needed.")
    notes += [ONCE, SIDES.format(1 - delta)] * once + [_looked_up(looked, sampler.labels)]
    said = model.predict(rows.X[unseen]).tolist()
    notes = [*worth_notes(found), *answer_notes(loss, model.classes_.tolist(), said), *notes]
    _say(found, threshold, delta, loss, notes, "" if once else "--fresh FILE", "the model has not seen", json=json)


def _labels(cells: list[Any]) -> list[Any]:
    """Return labels that stand in a column: numbers where all are whole ones, also where they are written as 1.0."""
    whole = labels_of_texts([str(cell).removesuffix(".0") for cell in cells])
    return whole if all(isinstance(label, int) for label in whole) else cells


def _never_labels(name: str, said: list[Any], told: list[Any]) -> list[str]:
    """Return what is to be said of predictions that are the label of no row.

    Raises
    ------
    TableError
        If all of them are such, of several labels: numbers for texts, or probabilities.
    """
    labels = set(told)
    never = Counter(one for one in said if one not in labels)
    if never.total() == len(said) and len(labels) > 1:
        odd = next((one for one in never if str(one) not in set(map(str, labels))), said[0])
        hint = "write what is predicted as the labels are written"
        raise TableError(expected_one_of(f"column {name!r}", sorted(labels), odd, what="labels among", hint=hint))
    return [
        f"{label!r} is predicted in {times:,} rows and is the label of none: all of them count as wrong."
        for label, times in never.most_common(SHOWN)
    ]


def _looked_up(labels: int, before: int) -> str:
    """Return how many labels were looked up."""
    return f"{labels:,} labels were looked up for this" + f", beside {before:,} for the collection" * bool(before) + "."


def _say(
    found: Any, threshold: float, delta: float, loss: str, notes: list[str], more: str, new: str, *, json: bool
) -> None:
    """Print what is shown of each group and of all, of rows that are `new` in these words, and where `more` rows may
    stand, if they may be added; exit by the verdict."""
    rows = COUNTED.get(loss, "rows")
    verdict = next((one for one in ("refuted", "not_shown") if one in found["verdict"].tolist()), "certified")
    for group, needed in found["needed"][found["verdict"] == "not_shown"].items():
        if math.isnan(needed):
            notes.append(f"No number of {rows} shows it for {group}, whose risk is not below {threshold:g} so far.")
        elif not (known := found["rows"][group]):
            notes.append(f"For {group} it takes at least {needed:,.0f} {rows}.")
        else:
            beyond = f"{needed:,.0f} more than these" if more else "none of them among these"
            notes.append(
                f"For {group} it takes about {known + needed:,.0f} {rows}, {beyond}, if the risk stays as it is."
            )
    if json:
        groups = found.reset_index().to_dict("records")
        as_json({"verdict": verdict, "at_most": threshold, "groups": groups, "notes": notes})
    else:
        shown = found.drop(columns="needed").reset_index().to_dict("records")
        records(f"Risks on {int(found['rows'].sum()):,} {rows} that {new}", shown)
        print_text("\n".join([_in_words(found, verdict, threshold, delta, more), *(f"- {note}" for note in notes)]))
    if verdict != "certified":
        raise typer.Exit(UNDECIDED if verdict == "not_shown" else 1)


def _collected(folder: Path) -> tuple[Sampler, Any, TablePool]:
    """Return what `evenhand sample` saved: the sampler, its final model and the pool.

    Raises
    ------
    ArgumentError
        If the folder holds no collection.
    """
    saved = load(folder / COLLECTION) if (folder / COLLECTION).is_file() else None
    if not isinstance(saved, dict) or set(saved) != {"sampler", "model", "pool"}:
        raise ArgumentError(expected("folder", "the folder that `evenhand sample` wrote, its --out", str(folder)))
    return saved["sampler"], saved["model"], saved["pool"]


def _rows_in(path: Path, pool: TablePool, empty: str) -> tuple[ArrayPool, list[str]]:
    """Return the rows of a table, which may not be those of the pool, and what cannot be told of them.

    Rows of few features come twice by chance: a new row stands in the pool as often as a row of the pool comes there
    again (Good and Turing), or half as often again.

    Raises
    ------
    ArgumentError, TableError
        If a row has a label or a group that the pool has not, or more rows of the table stand in the pool than chance
        explains.
    """
    assert pool.features is not None  # `evenhand sample` encodes
    features = list(pool.features.encoder.columns)
    frame = labelled_rows(path, pool.group_columns, pool.label_column, features, empty, f"--fresh {path}")
    try:
        X, y, group = pool.held_out(frame)
    except TableError as refusal:
        words = in_shell(refusal)
        where = f"--fresh {path}, " if words.startswith(("column ", "columns ")) else ""
        raise TableError(f"{where}{words}".replace("table: ", f"--fresh {path}: ", 1)) from refusal
    _check_labels(f"--fresh {path}, column {pool.label_column!r}", y, frame.index, pool)
    rows, known = ArrayPool(X, y, group=group), Counter(_as_values(pool))
    n, seen = len(y), sum(row in known for row in _as_values(rows))
    chance = 1 - sum(times == 1 for times in known.values()) / len(pool.y)
    most = chance + (1 - chance) * max(0.01, chance / 2) + 4 * (chance * (1 - chance) / n) ** 0.5
    if seen > n * most:
        hint = "leave --fresh out to use the rows left in the pool"
        got = Wording(f"{seen} of {n} rows of {path} that are in the pool")
        raise ArgumentError(expected("--fresh", "rows that the collection has not seen", got, hint))
    return rows, [UNTOLD] if most >= 1 else []


def _check_labels(where: str, y: Any, index: Any, pool: TablePool) -> None:
    """Refuse labels that the pool has not, and name their rows.

    Raises
    ------
    TableError
        If there is one.
    """
    classes = sorted(set(pool.y.tolist()))
    known = Labels(classes)
    odd = [(row + 1, label) for row, label in zip(index, y.tolist(), strict=True) if label not in known]
    if odd:
        rows = f"row{'s' * (len(odd) > 1)} {first_few([row for row, _ in odd], SHOWN)}"
        raise TableError(expected_one_of(f"{where}, {rows}", classes, odd[0][1], what="labels among"))


def _as_values(rows: ArrayPool) -> list[Any]:
    """Return each row, with its label and its group, as one value."""
    labels = [rows.groups[z] for z in rows.group]
    return list(zip((x.tobytes() for x in rows.X + 0.0), rows.y.tolist(), labels, strict=True))


def _in_words(found: Any, verdict: str, threshold: float, delta: float, more: str) -> str:
    """Return the verdict as a sentence."""
    few = ", ".join(map(str, found.index[found["verdict"] == "not_shown"]))
    limit, sure = f"{threshold:g}", f"with {1 - delta:g} confidence, for rows like these"
    if verdict == "certified":
        return f"Certified: in every group the risk is at most {limit}, {sure}."
    if verdict == "refuted":
        worst = found[found["verdict"] == "refuted"].iloc[0]
        return f"Refuted: the risk of {worst.name} is above {limit} ({worst.low:.3f} to {worst.high:.3f}), {sure}."
    give = f"give more: {more}" if more else "it takes a larger table of other rows"
    return f"Not shown: too few rows to tell whether the risk is at most {limit} for {few}; {give}."
