"""The parts that the reports on logs and on studies have in common, and the words of their readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.audit.findings import Audit
from evenhand.cli.price import clause_notes, clause_rows, known_price
from evenhand.cli.promised import free_rows, promised_rows
from evenhand.display.html import Table
from evenhand.display.report import Part, Png, Typed
from evenhand.errors import ArgumentError, expected
from evenhand.promises.clause import in_words

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.promises.promise import Promise

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
BY_CONTEXTS = "What keeping it costs is not known: the learner sees contexts, and an arm does not earn the same in all."
Words = Callable[[str], str]
"""What says a text in the words that the reader uses."""
Found = tuple[str, bool | None, str, dict[str, Any], dict[str, Any]]
"""Of what, whether the promise was kept, the answer as a sentence, the sections, and who is promised what."""
WORDS = ("arm", "round", "play", "decision", "reward")
"""What a reader may call otherwise."""
WHO, AGAIN, NOTES = "Who got what", "How to check it again", "Before you believe it"


def got(finding: Audit, segments: bool, worth: tuple[str, Any] | None) -> list[Part]:
    """Return who is promised what and had how much, each by name, and then the others."""
    import pandas as pd

    others = [] if segments else free_rows(finding)
    rows = [promised_rows(finding, "round", segments, worth), others]
    captions = ("Who is promised something (behind by less than 0: ahead)", "Who is promised nothing")
    return [
        replace(as_table(pd.DataFrame(some)), caption=caption * bool(others))
        for some, caption in zip(rows, captions, strict=True)
        if some
    ]


def totals_of(told: pd.DataFrame, arm: str, reward: str, finding: Audit) -> pd.DataFrame:
    """Return the plays of each arm in the log, and the mean and the sum of its rewards that are known; then of all."""
    import pandas as pd

    rounds, plays = finding.rounds - finding.before, finding.arms.set_index("arm")["pulls"]
    by_arm = told.groupby(arm)[reward].agg(["count", "mean", "sum"]).reindex(plays.index)
    rows = pd.concat([by_arm, told[reward].agg(["count", "mean", "sum"]).to_frame("all").T])
    part = [*(plays / rounds), plays.sum() / rounds]
    known = rows["count"].fillna(0).astype(int)
    columns = {arm: rows.index, "plays": [*plays, plays.sum()], "share": part, "rewards": known}
    return pd.DataFrame(columns | {f"mean {reward}": rows["mean"], f"total {reward}": rows["sum"]})


def promised_lines(promise: Promise, inside: str = "") -> list[str]:
    """Return all that is promised, a line for each part, and inside each of what."""
    plays = [f"{promise.plays} arms are played per round"] if promise.plays > 1 else []
    where = [f"all of this inside each {inside}"] if inside else []
    return [*in_words(promise.clauses, len(promise.arms)), *plays, *where]


def cost_of(promise: Promise, labels: Any, rewards: Any) -> list[Part]:
    """Return what keeping the promise costs, each of its clauses, and what that supposes."""
    import pandas as pd

    price = known_price(promise, pd.DataFrame({"arm": labels, "reward": rewards}))
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
