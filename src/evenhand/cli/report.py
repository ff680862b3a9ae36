"""`evenhand report`: whether a promise was kept, as one HTML file for people who have neither evenhand nor a key."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.audit.decision_log import read_plays, read_rounds
from evenhand.audit.findings import when_broken
from evenhand.cli.audit import PROMISED, Audited, due_rows, promised_rows, taking_audited
from evenhand.cli.exit_codes import UNDECIDED
from evenhand.cli.inputs.inputs import columns_of
from evenhand.cli.options import JSON, STUDY, Options, is_store
from evenhand.cli.output import answer, drawing, is_page, promise_verdict
from evenhand.cli.price import COSTLESS, clause_notes, clause_rows, cost_in_log, cost_of_study, known_price
from evenhand.cli.refusals import command_line, in_shell, typed_options
from evenhand.data.tables import numbers
from evenhand.display.html import Table, notes_of
from evenhand.display.report import Aside, Part, Png, Typed, page
from evenhand.errors import ArgumentError, expected
from evenhand.promises.clause import in_words
from evenhand.quotas.price import saw_contexts

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.audit import Audit
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
Found = tuple[str, bool | None, str, dict[str, Any]]
"""Of what, whether the promise was kept, the answer as a sentence, and the sections."""
WORDS = ("arm", "round", "play", "decision", "reward")
"""What a reader may call otherwise."""
AGAIN, NOTES = "How to check it again", "Before you believe it"


@Options(tables="log", beside=PROMISED)
@taking_audited
def report(
    audited: Audited,
    context: typer.Context,
    log: Annotated[str, typer.Argument(metavar="STORE|LOG")],
    *,
    study: STUDY = None,
    reward: str = "",
    call: list[str] | None = None,
    out: Path = Path("report.html"),
    json: JSON = False,
) -> None:
    """Write one HTML file that opens without a server: the promise, whether and where it was broken, a picture, the
    cost, the last decisions with reasons, and how to check it again. Exit code 1 when the promise was broken.

    Parameters
    ----------
    log : The store of a study, or a log as `evenhand audit` reads it.
    reward : A log's column of rewards, to estimate what the promise costs.
    call : What the reader calls an arm, round, play, decision or reward: arm=carrier, or arm=city/cities.
    out : The HTML file to write.
    """
    if not is_page(out):
        raise ArgumentError(expected("--out", "a file that ends in .html", str(out)))
    store = is_store(log)
    for name, option in typed_options(context).items():
        if name not in ("log", "out", "call", "json") and store != (name == "study"):
            beside = "the store of a study, which holds its promise" if store else "a log"
            raise ArgumentError(expected(option, f"nothing together with {beside}", context.params.get(name)))
    again = command_line(context, "audit", ("reward", "out", "call", "json"))
    called = call or []
    found = _of_study(log, study, called) if store else log_report(audited, log, reward, again, called)
    of, kept, verdict, parts = found
    out.write_text(page(f"Was the promise kept? {of}", kept, verdict, parts), encoding="utf-8")
    notes = parts[NOTES][0]
    said = "\n".join([f"{verdict}.", f"Written: {out}", *(f"- {note}" for note in notes)])
    answer({"file": str(out), "kept": kept, "verdict": verdict, "notes": notes}, said, json)
    by = audited.keywords["by"]  # a promise that can still be kept is not broken
    if kept is False or not (kept or store or by):
        raise typer.Exit(UNDECIDED if kept is None else 1)


def log_report(audited: Audited, log: str, reward: str, again: str, call: Sequence[str] = ()) -> Found:
    """Return the report on a log, in the words of `call`."""
    import pandas as pd

    from evenhand.plots import plot_audit

    finding, frame = audited(log=[Path(log)])
    words = _own_words(call, finding.promise.arms)
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
        last = [_table(rows[[name for name in dict.fromkeys(shown) if name in rows]], "_")]
        if reward:
            known = frame.dropna(subset=reward) if reward in frame else frame
            earned, plays = numbers(known, reward), read_plays(known, named["arm"], dict.fromkeys(finding.promise.arms))
            alone = len(plays.labels) == len(known)
            cost = ["Not known: arms share rewards."]
            if alone:
                told = pd.DataFrame({named["arm"]: plays.labels, reward: earned})
                cost = _cost(known_price(finding.promise, told, named["arm"], reward, contexts=saw_contexts(frame)))
                worth = reward, told.groupby(named["arm"])[reward].mean().to_dict()
                totals = [_table(_totals(told, named["arm"], reward, finding), "_")]
            cost = [f"Not known: the promise is about {by}, not about rounds."] if by else cost
    inside = f"value of {named['segment']}" if named["segment"] else ""
    if Path(log).is_file():
        with Path(log).open("rb") as file:
            again += f"\nsha256sum {shlex.quote(log)}    # {hashlib.file_digest(file, 'sha256').hexdigest()}"
    breach, ahead = finding.first_breach, finding.outlook
    got = _table(pd.DataFrame(promised_rows(finding, "round", bool(named["segment"]), worth)))
    parts = {
        "What is promised": [_promised(finding.promise, inside), Aside(WEIGHED.format(by) if by else COUNTED)],
        "By the end of the period": [f"{ahead.verdict}.", _table(pd.DataFrame(due_rows(ahead)))] if ahead else [],
        "The picture": [drawing(partial(plot_audit, finding), words)],
        "Who got what": [*([f"The first breach: {breach}."] if breach else []), got],
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
    return log, kept_so_far, words((ahead or finding).verdict), _reworded(parts, words)


def _of_study(place: str, name: str | None, call: Sequence[str]) -> Found:
    """Return the report on a study, in the words of `call`."""
    import pandas as pd

    from evenhand.cli.studies.show import COLUMNS, arm_rows, pictures
    from evenhand.cli.studies.verify import in_words as in_sentences
    from evenhand.studies import Study
    from evenhand.studies.statistics.state import summarize
    from evenhand.studies.store.address import typed_address

    with Study.open(place, name) as running:
        found, statistics, frame = running.verify(), running.statistics(), running.frame()
        arms, clauses = summarize(running, statistics)["arms"], statistics.promise.clauses if statistics.promise else ()
        policy, of = running.state.bare_copy(), running.name
        store = typed_address(running.store.url)
    words = _own_words(call, [one["label"] for one in arms])
    promise, changes = statistics.promise, len(statistics.epochs) - 1
    cost: list[Part] = []
    arm = "arms" if "arms" in frame else "arm"
    last = frame[["ticket", "at", arm, "reason", "status", "reward"]].tail(LATEST)
    said = _promised(promise) if promise is not None else []
    said += [f"changed {changes} times; each round was checked against the promise in force"] if changes > 0 else []
    if promise is not None:
        counted, found_cost = cost_in_log(policy, statistics), cost_of_study(policy, statistics, frame)
        cost = [*counted, *statistics.certainty]
        cost += [] if COSTLESS in counted and isinstance(found_cost, str) else _cost(found_cost)
    if found.promise_kept is False and found.first_violation:
        first = f"round {found.first_violation[0]:,}"
        verdict = f"The promise was broken {when_broken(found.rounds_in_violation, found.decisions, first)}"
    elif (found.promise is None and found.decisions) or found.problems:
        nothing = "The log is sound; the policy makes no promise that it can show"
        verdict = found.problems[0] if found.problems else nothing
    else:
        verdict = promise_verdict(str(found.promise), found.promise_kept, found.decisions)
    notes = [in_shell(note) for note in (*notes_of(policy), *found.notes)]
    shown = [line for line in in_sentences(of, found) if line.removeprefix("note: ") not in notes]
    counted = [Aside(COUNTED)] if said and statistics.when == "at every round" else []
    parts: dict[str, Any] = {"What is promised": [said, *counted], "What the log shows": [shown]}
    if found.decisions:
        parts |= {
            "The picture": [drawing(plot, words) for plot in pictures(statistics).values()],
            "Who got what": [_table(pd.DataFrame(arm_rows(arms, clauses)).rename(columns=COLUMNS))],
            "What it costs": cost,
            "The last decisions": [_table(last.assign(at=last["at"].dt.floor("s")))],
        }
    known = ["--known", found.digest] if found.digest else []
    again = f"evenhand verify {store} {shlex.join(['--study', of, *known])}"
    kept = False if not found.ok else found.promise_kept if found.decisions else None
    parts |= {AGAIN: [Typed(again)], NOTES: [notes]}
    return f"Study {of}", kept, words(verdict), _reworded(parts, words)


def _totals(told: pd.DataFrame, arm: str, reward: str, finding: Audit) -> pd.DataFrame:
    """Return the plays of each arm in the log, and the mean and the sum of its rewards that are known; then of all."""
    import pandas as pd

    plays = finding.arms.set_index("arm")["pulls"]
    by_arm = told.groupby(arm)[reward].agg(["count", "mean", "sum"]).reindex(plays.index)
    rows = pd.concat([by_arm, told[reward].agg(["count", "mean", "sum"]).to_frame("all").T])
    part = [*(plays / finding.rounds), plays.sum() / finding.rounds]
    known = rows["count"].fillna(0).astype(int)
    columns = {arm: rows.index, "plays": [*plays, plays.sum()], "share": part, "rewards": known}
    return pd.DataFrame(columns | {f"mean {reward}": rows["mean"], f"total {reward}": rows["sum"]})


def _promised(promise: Promise, inside: str = "") -> list[str]:
    """Return all that is promised, a line for each part, and inside each of what."""
    plays = [f"{promise.plays} arms are played per round"] if promise.plays > 1 else []
    where = [f"all of this inside each {inside}"] if inside else []
    return [*in_words(promise.clauses, len(promise.arms)), *plays, *where]


def _cost(price: Price | str) -> list[Part]:
    """Return what keeping the promise costs, each of its clauses, and what that supposes."""
    import pandas as pd

    if isinstance(price, str):
        return [price]
    rows = pd.DataFrame(clause_rows(price))
    clauses: list[Part] = [] if rows.empty else [Table.of(rows, "What each clause costs, in reward per round")]
    return [f"{price.finding}. {' '.join(price.notes)}", *clauses, " ".join(clause_notes(price))]


def _own_words(texts: Sequence[str], labels: Sequence[Any]) -> Words:
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


def _reworded(parts: dict[str, Any], words: Words) -> dict[str, Any]:
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


def _table(frame: pd.DataFrame, joint: str = " ") -> Table:
    """Return the columns of a table in which something stands, the words of a name joined so."""
    filled = frame.dropna(axis="columns", how="all").reset_index(drop=True)
    return Table.of(filled.rename(columns=lambda name: str(name).replace("_", joint)))
