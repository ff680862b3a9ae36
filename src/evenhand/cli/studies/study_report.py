"""The report on a study: who was promised what from when on, what they had, what changed, and whether it was kept."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from evenhand.audit.decision_log import moments_of
from evenhand.audit.findings import Audit, when_broken, with_times
from evenhand.audit.period import between
from evenhand.cli.output import drawing, promise_verdict
from evenhand.cli.promised import changes, who
from evenhand.cli.refusals import in_shell
from evenhand.cli.report_parts import (
    AGAIN,
    BY_CONTEXTS,
    COUNTED,
    LATEST,
    NOTES,
    WEIGHED,
    WHO,
    Found,
    as_table,
    cost_of,
    got,
    own_words,
    promised_lines,
    reworded,
    totals_of,
)
from evenhand.cli.studies.pictures import pictures
from evenhand.cli.studies.show import COLUMNS, arm_rows
from evenhand.cli.studies.verify import in_words as in_sentences
from evenhand.display.html import notes_of
from evenhand.display.report import Aside, Part, Typed
from evenhand.policy.traits import traits_of
from evenhand.studies import Study
from evenhand.studies.statistics.periods import statistics_between
from evenhand.studies.statistics.state import summarize
from evenhand.studies.statistics.statistics import Statistics
from evenhand.studies.store.address import typed_address
from evenhand.studies.verify import Verification


def study_report(place: str, name: str | None, call: Sequence[str], since: str, until: str) -> Found:
    """Return the report on a study, or on its decisions from one time on and before another, in the words of `call`."""
    with Study.open(place, name) as running:
        found, statistics, frame = running.verify(), running.statistics(), running.frame()
        inside, only = between(moments_of(frame["at"], "at"), since, until, "decisions")
        first, last = int(inside.argmax()) + 1, len(frame) - int(inside[::-1].argmax()) if len(frame) else 0
        before, seen = (
            statistics_between(running.log, first, last) if since or until else (Statistics(None), statistics)
        )
        arms, policy = summarize(running, statistics)["arms"], running.state.bare_copy()
        of, created, store = running.name, running.created, typed_address(running.store.url)
    words, promise = own_words(call, [one["label"] for one in arms]), seen.promise
    arm, rows = "arms" if "arms" in frame else "arm", frame[first - 1 : last]
    latest = rows[["ticket", "at", arm, "reason", "status", "reward"]].tail(LATEST)
    told: dict[str, Any] = {"who": [], "changes": []}
    parts: dict[str, list[Part]] = {WHO: [as_table(pd.DataFrame(arm_rows(arms, ())).rename(columns=COLUMNS))]}
    if promise is not None:
        finding = _as_audit(seen, before, frame["at"].dt.floor("s"))
        told = {"who": who(finding), "changes": changes(finding, _events(seen, first))}
        forced = f"The promise forced {seen.forced - before.forced:,} of {len(rows):,} decisions."
        earned = rows.loc[rows["reward"].notna(), [arm, "reward"]].explode([arm, "reward"]).astype({"reward": float})
        by_means = cost_of(promise, earned[arm].to_numpy(), earned["reward"])
        by_means = [BY_CONTEXTS] if traits_of(policy).contextual else by_means
        counted = WEIGHED.format(promise.weight) if promise.weight else COUNTED
        parts = {
            WHO: got(finding, False, None),
            "What changed": [as_table(pd.DataFrame(told["changes"]))] if told["changes"] else [],
            "What is promised": [promised_lines(promise), *[Aside(counted)] * (seen.when == "at every round")],
            "Totals": [as_table(totals_of(earned, arm, "reward", finding))],
            "What it costs": [forced, *statistics.certainty, *by_means],
        }
    parts |= {
        "The picture": [drawing(plot, words) for plot in pictures(seen, before).values()],
        "The last decisions": [as_table(latest.assign(at=latest["at"].dt.floor("s")))],
    }
    if not found.decisions:
        parts = {heading: parts[heading] for heading in ("What is promised",) if heading in parts}
    notes = [in_shell(note) for note in (*notes_of(policy), *found.notes)]
    lines = [line for line in in_sentences(of, found) if line.removeprefix("note: ") not in notes]
    parts["What the log shows"] = [f"The study began on {created:%Y-%m-%d at %H:%M} UTC.", lines]
    known = ["--known", found.digest] if found.digest else []
    parts[AGAIN] = [Typed(f"evenhand verify {store} {shlex.join(['--study', of, *known])}")]
    if since or until:
        notes = [f"{only} are counted. What the log shows is about all of it.", *notes]
        rule = "Plays and shares are those of rounds {:,} to {:,}; behind is counted since each promise began."
        parts[WHO] = [Aside(rule.format(first, last)), *parts[WHO]]
    kept, verdict = _verdict(found, seen, (first, last) if since or until else None)
    return f"Study {of}", kept, words(verdict), reworded(parts | {NOTES: [notes]}, words), told


def _verdict(found: Verification, seen: Statistics, period: tuple[int, int] | None) -> tuple[bool | None, str]:
    """Return whether the promise was kept, or was kept from one round to another, and the answer as a sentence."""
    problems = found.problems[: len(found.problems) - (found.promise_kept is False)]
    kept = found.promise_kept if period is None else seen.kept
    if problems:
        return False, problems[0]
    if not found.decisions:
        return None, promise_verdict("", None, 0)
    if found.promise is None:
        return None, "The log is sound; the policy makes no promise that it can show"
    first, last = period or (1, found.decisions)
    if kept is False and seen.first_violation:
        broken = when_broken(seen.violations, last - first + 1, f"round {seen.first_violation[0]:,}")
        return False, f"The promise was broken {broken}"
    where = f", from round {first:,} to round {last:,}" if period else ""
    return kept, promise_verdict(found.promise, kept) + where


def _as_audit(seen: Statistics, before: Statistics, times: Any) -> Audit:
    """Return what the statistics of a study show after others as the audit of its log."""
    worst = seen.worst_case()
    earlier = np.pad(before.counts, (0, len(seen.counts) - len(before.counts)))
    found = Audit(
        kept=seen.violations == 0,
        rounds=seen.rounds,
        **{name: worst[name] or 0 for name in ("worst_shortfall", "worst_arm", "worst_round")},
        rounds_in_violation=seen.violations,
        first_violation=seen.first_violation,
        arms=pd.DataFrame({"arm": seen.labels, "pulls": seen.counts - earlier}),
        timeline=pd.DataFrame({"round": []}),
        promise=seen.promise,
        promises=pd.DataFrame(seen.promises),
        before=before.rounds,
    )
    return with_times(found, times)


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
