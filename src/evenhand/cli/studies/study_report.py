"""The report on a study: who was promised what from when on, what they had, what changed, and whether it was kept."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from evenhand.audit.decision_log import moments_of
from evenhand.audit.findings import Audit
from evenhand.audit.period import between, when_broken
from evenhand.cli import log_report as parts_of
from evenhand.cli.output import drawing, promise_verdict
from evenhand.cli.price import BY_CONTEXTS
from evenhand.cli.promised import changes, means_of, who
from evenhand.cli.refusals import in_shell
from evenhand.cli.studies.cost import COSTLESS, cost_in_log, cost_of_study, notes_beside
from evenhand.cli.studies.pictures import pictures
from evenhand.cli.studies.show import COLUMNS, arm_rows
from evenhand.cli.studies.verify import in_words as in_sentences
from evenhand.display.report import Aside, Part, Typed
from evenhand.studies import Study
from evenhand.studies.statistics.state import described, summarize
from evenhand.studies.statistics.statistics import MOMENTS, Statistics
from evenhand.studies.statistics.summaries import statistics_up_to
from evenhand.studies.store.address import typed_address
from evenhand.studies.verify import Verification

RULE = (
    "Plays are those of rounds {:,} to {:,}; a share is of those among them in which the arm was on offer; behind is "
    "counted since each promise began."
)


def study_report(place: str, name: str | None, call: Sequence[str], since: str, until: str) -> parts_of.Found:
    """Return the report on a study, or on its decisions from one time on and before another, in the words of `call`."""
    with Study.open(place, name) as running:
        found, seen, frame = running.verify(), running.statistics(), running.frame()
        frame["round"] = np.arange(1, len(frame) + 1)
        inside, only = between(moments_of(frame["at"], "at"), since, until, "decisions")
        first, last, before = 1, len(frame), Statistics(None)
        arms, policy = summarize(running, seen)["arms"], described(running, seen)[0]
        if since or until:
            first, last = int(inside.argmax()) + 1, last - int(inside[::-1].argmax())
            chosen = np.linspace(first, last, MOMENTS).astype(int).tolist()
            before, seen = (statistics_up_to(running.log, rounds, chosen) for rounds in (first - 1, last))
        of, created, store = running.name, running.created, typed_address(running.store.url)
    words, promise = parts_of.own_words(call, [one["label"] for one in arms]), seen.promise
    arm, rows = "arms" if "arms" in frame else "arm", frame[first - 1 : last]
    latest = rows[["ticket", "at", arm, "reason", "status", "reward"]].tail(parts_of.LATEST)
    told: dict[str, Any] = {"who": [], "changes": []}
    costs = False
    as_table = parts_of.as_table
    parts: dict[str, list[Part]] = {
        parts_of.WHO: [as_table(pd.DataFrame(arm_rows(arms, ())).rename(columns=COLUMNS))] if arms else []
    }
    if promise is not None:
        finding = _as_audit(seen, before, frame["at"].dt.floor("s"))
        told = {"who": who(finding), "changes": changes(finding, _events(seen, first))}
        told_of = rows.loc[rows["reward"].notna(), [arm, "reward", "round"]].rename(columns={arm: "arm"})
        means = means_of(told_of.explode(["arm", "reward"]).astype({"reward": float}))
        deciders, price = cost_in_log(policy, seen, before), cost_of_study(policy, seen, rows)
        cost = [] if COSTLESS in deciders and isinstance(price, str) else parts_of.cost_of(price)
        costs = COSTLESS in deciders or price != BY_CONTEXTS
        counted = parts_of.WEIGHED.format(promise.weight) if promise.weight else parts_of.COUNTED
        parts = {
            parts_of.WHO: [
                *[Aside(RULE.format(first, last))] * bool(since or until),
                *parts_of.got(finding, means=means),
            ],
            "What changed": [as_table(pd.DataFrame(told["changes"]))] if told["changes"] else [],
            "What is promised": [parts_of.promised_lines(promise), *[Aside(counted)] * (seen.when == "at every round")],
            "What it costs": [*deciders, *seen.certainty, *cost],
        }
    parts |= {
        "The picture": [drawing(plot, words) for plot in pictures(seen, first).values()],
        "The last decisions": [as_table(latest.assign(at=latest["at"].dt.floor("s")))],
    }
    if not found.decisions:
        parts = {heading: parts[heading] for heading in ("What is promised",) if heading in parts}
    notes = [f"{only} are counted. What the log shows is about all of it."] * bool(since or until)
    notes += [in_shell(note) for note in (*notes_beside(policy, cost=costs), *found.notes)]
    if promise is not None and promise.in_flight is not None and seen.open:
        notes += [f"Who got what leaves out the decisions from the first on whose {promise.weight} is not told yet."]
    lines = [line for line in in_sentences(of, found) if line.removeprefix("note: ") not in notes]
    parts["What the log shows"] = [f"The study began on {created:%Y-%m-%d at %H:%M} UTC.", lines]
    known = ["--known", found.digest] if found.digest else []
    parts[parts_of.AGAIN] = [Typed(f"evenhand verify {store} {shlex.join(['--study', of, *known])}")]
    kept, verdict = _verdict(found, seen, before)
    verdict += f", from round {first:,} to round {last:,}" * bool(since or until)
    return f"Study {of}", kept, words(verdict), parts_of.reworded(parts | {parts_of.NOTES: [notes]}, words), told


def _verdict(found: Verification, seen: Statistics, before: Statistics) -> tuple[bool | None, str]:
    """Return whether the promise was kept in the rounds since `before`, and the answer as a sentence."""
    problems = found.problems[: len(found.problems) - (found.promise_kept is False)]
    if problems:
        return False, problems[0]
    if not found.decisions or found.promise is None:
        nothing = "The log is sound; the policy makes no promise that it can show"
        return None, nothing if found.decisions else promise_verdict("", None, 0)
    times, first = seen.violations - before.violations, seen.first_violation
    if found.promise != "at every round" or not times:
        kept = seen.kept if found.promise != "at every round" else True
        return kept, promise_verdict(found.promise, kept)
    at = f"round {first[0]:,}" if first and not before.violations else ""
    return False, f"The promise was broken {when_broken(times, seen.rounds - before.rounds, at)}"


def _as_audit(seen: Statistics, before: Statistics, times: Any) -> Audit:
    """Return what the statistics of a study show after others as the audit of its log."""
    earlier = {(row["promise"], row["arm"], row["since"]): row for row in before.promises}
    rows = [row for row in seen.promises if not row["until"] or row["until"] > before.rounds]
    for row in rows:
        known = earlier.get((row["promise"], row["arm"], row["since"]), {})
        row |= {name: row[name] - known.get(name, 0) for name in ("had", "of", "rounds_in_violation")}
        row["share"] = row["had"] / row["of"] if row["of"] else None
        if known:  # when it was worst, and first broken, may be before
            row |= {"worst_shortfall": None, "worst_excess": None, "broken_by": 0, "first_broken": 0}
    return Audit(
        kept=not seen.violations,
        rounds=seen.rounds,
        worst_shortfall=0.0,
        worst_arm=None,
        worst_round=0,
        rounds_in_violation=seen.violations,
        first_violation=seen.first_violation,
        arms=pd.DataFrame(),
        timeline=pd.DataFrame(),
        promise=seen.promise,
        promises=pd.DataFrame(rows),
        times=times,
        before=before.rounds,
    )


def _events(seen: Statistics, first: int) -> dict[int, str]:
    """Return what happened to the promise of a study from a round on, by the round before which it did."""
    events: dict[int, list[str]] = {}
    for earlier, epoch in pairwise(seen.epochs):
        there, then = epoch.shares.keys(), earlier.shares.keys()
        said = [f"{arm} joined" for arm in epoch.shares if arm not in then]
        said += [f"{arm} was retired" for arm in earlier.shares if arm not in there]
        if epoch.round >= first:
            events.setdefault(epoch.round, []).extend(said or ["another promise"])
    return {round: ", ".join(said) for round, said in events.items()}
