"""The answer of `evenhand sample`: who is worst off under the final model, and who would be after a uniform draw."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.output import records, say

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.sampling import Collected, Sampler, TablePool

MEASURES = {"false_negative": "share of missed positives", "false_positive": "share of false alarms"}
"""What the risk is where it is not the error rate."""


def compared(sampler: Sampler, finished: Collected, pool: TablePool, *, reweighted: bool) -> dict[str, Any]:
    """Return how the final model does on the rows that were not drawn, `fresh` by group, and who is worst off: under
    it, and under the model of a uniform draw that costs as much, on the rows that this one has not seen."""
    from evenhand.sampling.final import fresh_risks, uniform_draw

    model, drawn = uniform_draw(sampler, pool, finished.cost, reweighted=reweighted)
    fresh = fresh_risks(finished.model, pool, pool.chosen, sampler.loss)
    uniform = fresh_risks(model, pool, drawn, sampler.loss)
    table = fresh.assign(uniform=uniform["risk"], share=finished.mixture).rename(columns={"rows": "fresh_rows"})
    return {
        "fresh": table.reset_index().to_dict("records"), "risk": MEASURES.get(str(sampler.loss), "error rate"),
        "worst_off": _worst(fresh), "uniform": {"rows": len(drawn), "worst_off": _worst(uniform)},
    }  # fmt: skip


def say_compared(found: dict[str, Any], title: str, out: Path) -> None:
    """Print the table, then the answer with its interval, what it is beside, and how to certify a limit."""
    records(title, found["fresh"])
    worst, other = found["worst_off"], found["uniform"]["worst_off"]
    certify = f"Certify a limit of yours: evenhand certify {shlex.quote(str(out))} --at-most"
    if worst is None or other is None:
        say("The pool has too few rows left to judge the model by: certify it on fresh rows before you rely on it.")
        say(f"{certify} 0.2 --fresh FILE")
        return
    one, two = (
        f"{each['group']}, {found['risk']} {each['risk']:.3f} ({each['low']:.3f} to {each['high']:.3f})"
        for each in (worst, other)
    )
    among = " of the groups that can be judged" * bool(worst["notes"])
    say(f"Worst off{among}: {one} on {worst['rows']:,} rows that were not drawn.")
    say(f"After one uniform draw of {found['uniform']['rows']:,} rows: {two}.")
    if max(worst["low"], other["low"]) <= min(worst["high"], other["high"]):
        say("The intervals overlap: neither draw is shown to serve the worst-off group better.")
    say("With 95 % confidence the intervals of all groups hold at once, for new rows like those of the pool.")
    for note in worst["notes"]:
        say(f"- {note}")
    say(f"{certify} {math.ceil(100 * worst['limit']) / 100:g}")


def _worst(risks: pd.DataFrame) -> dict[str, Any] | None:
    """Return the group with the highest risk among those that have rows enough to say anything, the highest limit of
    these groups, and what is to be said of the others."""
    from evenhand.data.groupings import Grouping

    groups = Grouping.of_rows(risks.index.tolist(), risks["rows"].to_numpy())
    if not groups.judged.any():
        return None
    judged = risks[groups.judged]
    worst: dict[str, Any] = judged.reset_index().to_dict("records")[judged["risk"].argmax()]  # type: ignore[assignment]
    notes = list(groups.note("groups", "have too few rows left to be judged"))
    return worst | {"limit": float(judged["high"].max()), "notes": notes}
