"""The answer of `evenhand sample`: who is worst off under the final model, and who would be after a uniform draw."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.cli.output import print_text, records
from evenhand.errors import first_few
from evenhand.kernels.arrays import Ints

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.sampling import Collected, Sampler, TablePool

MEASURES = {"false_negative": "share of missed positives", "false_positive": "share of false alarms"}
"""What the risk is where it is not the error rate."""
NAMED = 3
"""How many groups are named that may be worse off."""


def compared(
    sampler: Sampler, finished: Collected, pool: TablePool, *, reweighted: bool, mixture: bool
) -> dict[str, Any]:
    """Return how the final model does on the rows that were not drawn, `fresh` by group, and who is worst off: under
    it, and under the model of a uniform draw that costs as much, on the rows that this one has not seen."""
    from evenhand.sampling.collected import fresh_risks, uniform_draw

    model, drawn = uniform_draw(sampler, pool, finished.cost, reweighted=reweighted, mixture=mixture)
    fresh = fresh_risks(finished.model, pool, pool.chosen, sampler.loss)
    uniform = fresh_risks(model, pool, drawn, sampler.loss)
    table = fresh.join(uniform["risk"].rename("uniform")).assign(share=finished.mixture)
    table = table.rename(columns={"rows": "fresh_rows"})
    table = table[sorted(table.columns, key=lambda name: name == "most_frequent")]  # which comes last, if it is there
    sizes, classes = np.bincount(pool.group, minlength=len(pool.groups)), finished.model.classes_.tolist()
    said = finished.model.predict(pool.X).tolist()
    return {
        "fresh": table.reset_index().to_dict("records"),
        "risk": MEASURES.get(str(sampler.loss), "error rate"),
        "worst_off": worst_of(fresh, sizes),
        "uniform": {"rows": len(drawn), "worst_off": worst_of(uniform, sizes)},
        "worth": [*worth_notes(fresh, "--loss"), *answer_notes(str(sampler.loss), classes, said)],
    }


def worth_notes(risks: pd.DataFrame, option: str = "") -> list[str]:
    """Return in which groups a model errs as often as whoever always gives the most frequent label, and what to do
    where an option chooses the kind of error that counts."""
    if "most_frequent" not in risks:
        return []
    no_better = risks.index[(risks["risk"] >= risks["most_frequent"]) & (risks["risk"] > 0.0)].tolist()
    if not no_better:
        return []
    always = f"the answer {risks.attrs['most_frequent']!r} for everybody"
    mend = f" Where one kind of error counts more, choose {option} false_negative or false_positive." * bool(option)
    return [f"In {first_few(no_better, NAMED)} the model errs no less than {always}: it may not be worth having.{mend}"]


def answer_notes(loss: str, labels: Iterable[Any], said: list[Any]) -> list[str]:
    """Return which label counts as positive, and whether a model gives all rows the same, where one kind of error
    counts."""
    if loss not in MEASURES:
        return []
    always = f"The model answers {said[0]!r} for everybody: it may not be worth having."
    return [*[always] * (len(set(said)) == 1), f"{max(labels)!r} counts as positive."]


def say_compared(found: dict[str, Any], title: str, out: Path) -> None:
    """Print the table, then the answer with its interval, what it is beside, and how to certify a limit."""
    records(title, found["fresh"])
    worst, other = found["worst_off"], found["uniform"]["worst_off"]
    certify = f"Certify your own limit: evenhand certify {shlex.quote(str(out))} --at-most"
    print_text(*found["worth"])
    if worst is None or other is None:
        print_text(
            "Too few rows are left in the pool to judge the model: certify it on fresh rows before you rely on it."
        )
        print_text(f"{certify} 0.2 --fresh FILE")
        return
    one, two = (
        f"{each['group']}, {found['risk']} {each['risk']:.3f} ({each['low']:.3f} to {each['high']:.3f})"
        for each in (worst, other)
    )
    among, alike = " of the groups that can be judged" * bool(worst["notes"]), worst["perhaps"]
    print_text(f"Worst off{among}: {one} on {worst['rows']:,} rows that were not drawn.")
    if alike:
        print_text(f"It may also be {first_few(alike, NAMED)}: the intervals overlap.")
    print_text(f"After one uniform draw of {found['uniform']['rows']:,} rows: {two}.")
    if worst["least"] > other["limit"] or other["least"] > worst["limit"]:
        better = "the uniform draw" if worst["least"] > other["limit"] else "this draw"
        print_text(f"With 90 % confidence {better} served the worst-off group better: the intervals do not overlap.")
    else:
        print_text("Neither draw is shown to serve the worst-off group better: the intervals overlap.")
    print_text("With 95 % confidence the intervals of all groups hold at once, for new rows like those of the pool.")
    print_text(*(f"- {note}" for note in worst["notes"]))
    fresh = " --fresh FILE, with rows of every group" * bool(worst["notes"])
    print_text(f"{certify} {min(math.ceil(100 * worst['limit']) / 100, 0.99):g}{fresh}")


def worst_of(risks: pd.DataFrame, sizes: Ints) -> dict[str, Any] | None:
    """Return the group with the highest risk among those that have rows enough to say anything, others that are
    `perhaps` worse off, the interval of the highest risk, `least` to `limit`, and what is to be said of the others;
    `sizes` (m,) are all rows of each group, also those drawn."""
    from evenhand.data.groupings import Grouping

    groups = Grouping.of_rows(risks.index.tolist(), risks["rows"].to_numpy())._replace(sizes=sizes)
    if not groups.judged.any():
        return None
    judged = risks[groups.judged].sort_values("risk", ascending=False, kind="stable")
    least, limit = float(judged["low"].max()), float(judged["high"].max())
    worst: dict[str, Any] = judged.reset_index().to_dict("records")[0]  # type: ignore[assignment]
    perhaps = [group for group in judged.index[judged["high"] >= least] if group != worst["group"]]
    notes = list(groups.note("groups", "have too few rows left to be judged"))
    return worst | {"perhaps": perhaps, "least": least, "limit": limit, "notes": notes}
