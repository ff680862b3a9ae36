"""The report on a log, and what it has in common with that on a study: its parts, and the words of its reader."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.audit.decision_log import read_plays, read_rounds
from evenhand.audit.findings import Audit
from evenhand.cli.audit import Audited, due_rows
from evenhand.cli.inputs.inputs import columns_of
from evenhand.cli.output import drawing
from evenhand.cli.price import clause_notes, clause_rows, known_price
from evenhand.cli.promised import Means, changes, free_rows, means_of, promised_rows, who
from evenhand.cli.refusals import in_shell
from evenhand.data.tables import column, numbers
from evenhand.display.html import Table
from evenhand.display.report import Aside, Part, Png, Typed
from evenhand.errors import ArgumentError, expected
from evenhand.promises.clause import in_words
from evenhand.quotas.price import saw_contexts

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.promises.promise import Promise
    from evenhand.quotas.price import Price

LATEST = 8
COUNTED = (
    "A share r with a tolerance of a plays means: after every round t an arm has had at least r t plays, rounded down, "
    "less a. A cap c with a tolerance of b: at most c t plays, rounded up, and b. Only rounds in which the arm was on "
    "offer count. All of this is counted after every round in whole numbers; nothing is estimated."
)
"""How a promise that holds at every round is counted."""
WEIGHED = (
    "A share r of {0} with a tolerance of a means: after every round r times the sum of {0} so far, less what the arm "
    "has of it, is at most a. A cap c with a tolerance of b: what the arm has, less c times the sum, is at most b. "
    "Only rounds in which the arm was on offer count. All of this is counted after every round in whole numbers of the "
    "last digit; nothing is estimated."
)
"""The same where decisions have weights."""
Words = Callable[[str], str]
"""What says a text in the words that the reader uses."""
Found = tuple[str, bool | None, str, dict[str, Any], dict[str, Any]]
"""Of what, whether the promise was kept, the answer as a sentence, the sections, and who is promised what."""
WORDS = ("arm", "round", "play", "decision", "reward")
"""What a reader may call otherwise."""
WHO, AGAIN, NOTES = "Who got what", "How to check it again", "Before you believe it"


def log_report(audited: Audited, log: str, reward: str, again: str, call: Sequence[str] = ()) -> Found:
    """Return the report on a log, in the words of `call`."""
    import pandas as pd

    from evenhand.plots import plot_audit

    finding, frame = audited(log=[Path(log)])
    words = own_words(call, finding.promise.arms)
    cost: list[Part] = ["Not known: the log was read in batches."]
    named, last, worth, by = audited.keywords, [], None, finding.promise.weight
    totals: list[Part] = []
    if isinstance(frame, pd.DataFrame):
        cost = ["Not known: name the column of rewards with --reward."]
        order = columns_of(named["order"] or (), frame.columns)
        rounds = read_rounds(frame, order or None, named["round"] or None)
        rows = frame.assign(round=rounds.of_row + 1).sort_values("round", kind="stable").tail(LATEST)
        kept = (named["arm"], named["segment"], named["available"], named["weight"])
        shown = ("round", *order, *kept, "reason", reward)
        last = [as_table(rows[[name for name in dict.fromkeys(shown) if name in rows]], "_")]
        if reward:
            there = frame[reward].notna().to_numpy() if reward in frame else slice(None)
            known = frame[there]
            earned, plays = numbers(known, reward), read_plays(known, named["arm"], dict.fromkeys(finding.promise.arms))
            alone = len(plays.labels) == len(known)
            cost = ["Not known: arms share rewards."]
            if alone:
                told = pd.DataFrame({named["arm"]: plays.labels, reward: earned})
                cost = cost_of(known_price(finding.promise, told, named["arm"], reward, contexts=saw_contexts(frame)))
                where = {"segment": column(known, named["segment"]) if named["segment"] else None}
                when = {"round": rounds.of_row[there] + 1}
                worth = reward, means_of(pd.DataFrame({"arm": plays.labels, "reward": earned} | when | where))
                totals = [as_table(totals_of(told, named["arm"], reward, finding), "_")]
            cost = [f"Not known: the promise is about {by}, not about rounds."] if by else cost
    inside = f"value of {named['segment']}" if named["segment"] else ""
    if Path(log).is_file():
        with Path(log).open("rb") as file:
            again += f"\nsha256sum {shlex.quote(log)}    # {hashlib.file_digest(file, 'sha256').hexdigest()}"
    breach, ahead = finding.first_breach, finding.outlook
    first = [f"The first breach: {breach}."] if breach else []
    parts = {
        WHO: [*first, *got(finding, bool(named["segment"]), worth)],
        "What changed": [as_table(pd.DataFrame(changed))] if (changed := changes(finding)) else [],
        "What is promised": [promised_lines(finding.promise, inside), Aside(WEIGHED.format(by) if by else COUNTED)],
        "By the end of the period": [f"{ahead.verdict}.", as_table(pd.DataFrame(due_rows(ahead)))] if ahead else [],
        "The picture": [drawing(partial(plot_audit, finding), words)],
        "Totals": totals,
        "What it costs": cost,
        "The last decisions": last,
        AGAIN: [Typed(again)],
        NOTES: [list(map(in_shell, finding.notes))],
    }
    kept_so_far = finding.kept if finding.enough else None
    if ahead:
        parts[NOTES] = [[f"{finding.verdict}, counted after each.", *map(in_shell, finding.notes)]]
        kept_so_far = ahead.kept if not (ahead.kept and ahead.rest) else None
    return (
        log,
        kept_so_far,
        words((ahead or finding).verdict),
        reworded(parts, words),
        {"who": who(finding), "changes": changed},
    )


def got(
    finding: Audit,
    segments: bool = False,
    worth: tuple[str, Means] | None = None,
    means: Means | None = None,
) -> list[Part]:
    """Return who is promised what and had how much, each by name, and then the others, with their mean rewards."""
    import pandas as pd

    tables: list[Part] = []
    for caption, rows in {
        "Who is promised something (behind by less than 0: ahead)": promised_rows(
            finding, "round", segments, worth, means
        ),
        "Who is promised nothing": [] if segments else free_rows(finding, means),
    }.items():
        tables += [replace(as_table(pd.DataFrame(rows)), caption=caption)] if rows else []
    return tables


def totals_of(told: pd.DataFrame, arm: str, reward: str, finding: Audit) -> pd.DataFrame:
    """Return the plays of each arm in the log, and the mean and the sum of its rewards that are known; then of all."""
    import pandas as pd

    plays = finding.arms.set_index("arm")["pulls"]
    by_arm = told.groupby(arm)[reward].agg(["count", "mean", "sum"]).reindex(plays.index)
    rows = pd.concat([by_arm, told[reward].agg(["count", "mean", "sum"]).to_frame("all").T])
    part = [*(plays / finding.rounds), plays.sum() / finding.rounds]
    known = rows["count"].fillna(0).astype(int)
    columns = {arm: rows.index, "plays": [*plays, plays.sum()], "share": part, "rewards": known}
    return pd.DataFrame(columns | {f"mean {reward}": rows["mean"], f"total {reward}": rows["sum"]})


def promised_lines(promise: Promise, inside: str = "") -> list[str]:
    """Return all that is promised, a line for each part, and inside each of what."""
    plays = [f"{promise.plays} arms are played per round"] if promise.plays > 1 else []
    where = [f"all of this inside each {inside}"] if inside else []
    return [*in_words(promise.clauses, len(promise.arms)), *plays, *where]


def cost_of(price: Price | str) -> list[Part]:
    """Return what keeping the promise costs, each of its clauses, and what that supposes."""
    import pandas as pd

    if isinstance(price, str):
        return [price]
    rows = pd.DataFrame(clause_rows(price))
    clauses: list[Part] = [] if rows.empty else [Table.of(rows, "What each clause costs, in reward per round")]
    return [f"{price.finding}. {' '.join(price.notes)}", *clauses, " ".join(clause_notes(price))]


def own_words(texts: Sequence[str], labels: Sequence[Any]) -> Words:
    """Return what says a text in the reader's words, which `texts` name, about arms of these labels."""
    told: dict[str, tuple[str, str]] = {}
    for text in ",".join(texts).split(",") if texts else []:
        word, _, own = text.partition("=")
        one, _, several = own.strip().partition("/")
        if word not in WORDS or not one:
            raise ArgumentError(expected("--call", f"WORD=OWN with a word among {', '.join(WORDS)}", text))
        told[word] = one, several or f"{one}s"
    if not told:
        return str
    search = re.compile(rf"\b(an? )?({'|'.join(told)})(s?)\b")
    if mixed := [label for label in labels if search.search(str(label))]:
        raise ArgumentError(expected("--call", "words that are in no arm's label", str(mixed[0])))

    def own_word(found: re.Match[str]) -> str:
        own = told[found[2]][bool(found[3])]
        return f"{'an ' if own[0].lower() in 'aeiou' else 'a '}{own}" if found[1] else own

    return lambda text: search.sub(own_word, text)


def reworded(parts: dict[str, Any], words: Words) -> dict[str, Any]:
    """Return the sections of a report in these words."""
    return {heading: [_part_reworded(one, words) for one in given] for heading, given in parts.items()}


def _part_reworded(part: Part, words: Words) -> Part:
    """Return a part of the report in these words; what is typed stays as it is, and what is drawn has them."""
    if isinstance(part, Table):
        table = part

        def row(i: int) -> list[Any]:
            return [words(cell) if isinstance(cell, str) else cell for cell in table.row(i)]

        return Table([*map(words, part.columns)], part.count, row, words(part.caption))
    if isinstance(part, (Typed, Png)):
        return part
    return [*map(words, part)] if isinstance(part, list) else type(part)(words(part))


def as_table(frame: pd.DataFrame, joint: str = " ") -> Table:
    """Return the columns of a table in which something stands, the words of a name joined so."""
    filled = frame.dropna(axis="columns", how="all").reset_index(drop=True)
    return Table.of(filled.rename(columns=lambda name: str(name).replace("_", joint)))
