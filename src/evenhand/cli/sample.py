"""`evenhand sample`: choose a training set from a labelled pool, under a budget, for the worst-off group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.inputs.empty_cells import without_empty_cells
from evenhand.cli.inputs.inputs import names_of, numbers_by_name
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import EMPTY, JSON, Options
from evenhand.cli.output import answer, as_json, draw, folder, print_text, say_notes
from evenhand.cli.worst_off import compared, say_compared
from evenhand.data.csv_files import write_csv
from evenhand.data.tables import NUMBER, column, numbers
from evenhand.display.progress import ProgressBar, tracked
from evenhand.errors import ArgumentError, expected, expected_one_of
from evenhand.plots.sampling import plot_collection
from evenhand.protocol import labels_of_texts
from evenhand.sampling import Collected, EstimatorModel, OptimisticSampler, Sampler, TablePool, collect
from evenhand.sampling.repeats import gain_over_uniform
from evenhand.saving.state import save

if TYPE_CHECKING:
    import pandas as pd

COLLECTION = "collection.evenhand"
"""The sampler, the final model and the pool: one file, so that none of them is of another run."""
MOST_LABELS = 100
"""More labels than this are numbers to predict, and no classes."""


@Options(tables="pool", beside={"--mixture": "not --reweighted", "--repeats": "not --out"})
def sample(
    pool: Path,
    *,
    group: str,
    budget: float,
    label: str = "",
    features: str = "",
    costs: str = "",
    batch: int = 1,
    loss: str = "zero_one",
    trend: float = 0.0,
    reweighted: bool = False,
    mixture: bool = False,
    repeats: Annotated[int | None, typer.Option(min=2)] = None,
    multiclass: bool = False,
    empty: EMPTY = "refuse",
    seed: int | None = None,
    out: Path = Path("out/sample"),
    json: JSON = False,
) -> None:
    """Choose training rows from a pool so that the risk of the worst-off group is low.

    Parameters
    ----------
    pool : The pool, one example per row: CSV, Parquet, Arrow or JSON lines, or -.
    group : The column of groups, or several: sex,race.
    budget : The number of labels to buy, or their total cost with --costs.
    label : The column of labels; for a pool without labels use evenhand label.
    features : The columns to learn from; by default all others.
    costs : The cost of a label in each group: a=1,b=3.
    batch : The training rows per round; the same number of rows validate.
    loss : zero_one, log, false_negative or false_positive.
    trend : The weight of the trend of recent accuracies.
    reweighted : Apply minimax reweighting at the end.
    mixture : Mix 60 models at the end, for groups that no single model serves.
    repeats : Repeat the draw with so many seeds, 20 say, and give its gain over uniform draws alone.
    multiclass : Take more than two labels, with scikit-learn's logistic regression.
    seed : The seed; by default drawn and reported.
    out : Folder for the rows, the mixture and the picture.
    """
    columns, groups = names_of(features) or None, names_of(group)
    frame = labelled_rows(pool, groups, label, columns, empty)
    world = TablePool(frame, group=groups, label=label, features=columns)
    world.grouping.refuse("group")
    paid = numbers_by_name(costs, "--costs") if costs else None
    options: dict[str, Any] = {"batch": batch, "loss": loss, "costs": paid, "budget": budget, "trend": trend}
    options |= {"seed": seed} | _classes(world, loss, multiclass, "--mixture" * mixture or "--reweighted" * reweighted)
    sampler = OptimisticSampler(world.groups, **options)
    if repeats is not None:
        numbers = tracked(range(repeats), "repeats", repeats, shown=not json)
        gain = gain_over_uniform(sampler, world, numbers, reweighted=reweighted, mixture=mixture)
        found = {"gain": gain.mean, "low": gain.low, "high": gain.high, "gains": gain.gains.tolist()}
        answer(found | {"seed": sampler.seed}, f"{gain} Seed {sampler.seed}; nothing was written.", json)
        return
    folder(out)
    for note in (said := sampler.notes):
        typer.echo(f"Before it is spent: {note}", err=True)
    world.reset(sampler.seed)
    history = _run(sampler, world, budget, quiet=json)
    finished: Collected = sampler.finish(reweighted=reweighted, mixture=mixture)
    finished.notes = (*world.notes, *finished.notes)
    if len(world.chosen) == len(world.y) and finished.cost < budget:
        left = f"{budget - finished.cost:g} of the budget of {budget:g} is left, as every pool is used up"
        finished.notes = (left, *finished.notes)

    risks = sampler.risks.assign(share=finished.mixture).reset_index()
    drawn = frame.set_axis(frame.index + 1).iloc[world.chosen]  # rows count from 1, as messages name them
    write_csv(drawn.reset_index(names="row", allow_duplicates=True), out / "rows.csv")
    write_csv(risks, out / "mixture.csv")
    write_csv(history, out / "history.csv")
    save({"sampler": sampler, "model": finished.model, "pool": world}, out / COLLECTION)
    draw(out, "sample", partial(plot_collection, history), width=9.5, height=3.6, columns=2)
    found = compared(sampler, finished, world, reweighted=reweighted, mixture=mixture)
    if json:
        body = {"rounds": finished.rounds, "labels": finished.labels, "cost": finished.cost, "seed": sampler.seed}
        as_json(body | {"groups": risks.to_dict("records"), **found, "folder": str(out)}, finished)
        return
    finished.notes = tuple(note for note in finished.notes if note not in said)
    say_notes(finished)
    model = "mixture of 60 models" if mixture else "final model"
    print_text(f"Rows, shares of groups, history, picture, and sampler, {model} and pool in one file are in {out}")
    say_compared(found, f"{finished.rounds} rounds, {finished.labels} labels, seed {sampler.seed}", out)


def labelled_rows(
    path: str | Path,
    groups: Sequence[str],
    label: str,
    features: Sequence[str] | None,
    empty: str,
    option: str = "--label",
) -> pd.DataFrame:
    """Return the rows of a table that have a label, with the labels as `TablePool` reads them; `option` is what a
    refusal of the column names.

    Raises
    ------
    ArgumentError, TableError
        If nothing is labelled, or the table cannot be read.
    """
    frame = read_table(path, text=[name for name in (*groups, label) if name not in (features or ())])
    more = f"--id COLUMN --group {','.join(groups)} --features COLUMN,COLUMN --labels A,B --tasks next.csv"
    hint = f"if no row has a label yet, begin with: evenhand label {path} {more}"
    if not label or (label in frame.columns and frame[[label]].isna().all(axis=None)):
        why = f"every cell is empty; {hint}" if label else hint
        raise ArgumentError(expected(option, "a column with labels", label or None, why))
    if label not in frame.columns:
        raise ArgumentError(expected_one_of(option, list(frame.columns), label, what="one of the columns", hint=hint))
    others = features or [name for name in frame.columns if name not in (*groups, label)]
    frame = without_empty_cells(frame, [*groups, label], others, empty)
    if list(frame.columns).count(label) == 1:
        labels = labels_of_texts(column(frame, label).tolist())
        # a column of decimals is one of numbers: its fractions are refused as labels
        measured = all(NUMBER.fullmatch(str(one)) for one in labels) and any("." in str(one) for one in labels)
        frame[label] = numbers(frame, label) if measured else labels
    return frame


def _run(sampler: Sampler, world: TablePool, budget: float, *, quiet: bool) -> Any:
    with ProgressBar("highest validation risk so far ...", budget, shown=not quiet) as bar:

        def watch(running: Sampler) -> None:
            said = None
            if running.rounds % 10 == 0:
                sums, counts = running.validation_losses()
                known = [(float(sums[z] / counts[z]), str(g)) for z, g in enumerate(running.groups) if counts[z]]
                risk, group = max(known, default=(1.0, "?"))
                said = f"highest validation risk so far {risk:.3f} ({group})"
            bar.reach(running.spent, said)

        every = max(1, int(budget / (2 * sampler.batch) / 100))
        return collect(sampler, world, rounds=len(world.y) + 1, checkpoints=range(1, len(world.y), every), watch=watch)


def _classes(world: TablePool, loss: str, multiclass: bool, ending: str) -> dict[str, Any]:
    """Return the labels of a pool, and the model where they are more than logistic regression here has; `ending` is the
    option of a last step that takes two.
    """
    labels = sorted(set(world.y.tolist()))
    if not 2 <= len(labels) <= (MOST_LABELS if multiclass else 2):
        shown = ", ".join(map(str, labels[:5])) + (", ..." if len(labels) > 5 else "")
        got = f"{world.label_column!r} with {len(labels)}: {shown}"
        what = f"a column of 2 to {MOST_LABELS} labels" if multiclass else "a column of two labels"
        hint = "keep the rows of two labels, or merge labels" + ("" if multiclass else ", or pass --multiclass")
        raise ArgumentError(f"--label: expected {what}, got {got}; {hint}")
    if len(labels) == 2:
        return {"classes": labels}
    if loss in ("false_negative", "false_positive"):
        raise ArgumentError(expected("--loss", f"zero_one or log for {len(labels)} labels", loss))
    if ending:
        raise ArgumentError(expected(ending, "two labels", len(labels)))
    from sklearn.linear_model import LogisticRegression

    return {"classes": labels, "model": EstimatorModel(LogisticRegression(max_iter=1000))}
