"""`evenhand price`: what a promise costs in the long run, and what each of its clauses does; and the table of it, which
other commands show as well."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import quotas
from evenhand.cli.inputs.inputs import limits_of, named_shares, numbers_by_name, numbers_of, shares_of
from evenhand.cli.inputs.promises import promise_in
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import FORM, JSON, Options
from evenhand.cli.output import as_json, cell, print_text, records, say_notes
from evenhand.cli.refusals import in_shell
from evenhand.data.tables import OFFERED, column, in_column_order
from evenhand.display.digits import exact, number, with_signs
from evenhand.errors import ArgumentError, expected
from evenhand.frames import is_frame
from evenhand.policy.traits import traits_of
from evenhand.promises.clause import AT_MOST
from evenhand.promises.promise import Promise, read_promise
from evenhand.quotas.price import saw_contexts
from evenhand.quotas.quota_policy import QuotaPolicy
from evenhand.studies.log.codec import revive
from evenhand.studies.statistics.statistics import DECIDERS, Statistics

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.protocol import Label

BY_CONTEXTS = (
    "What the promise costs is not known: the policy sees contexts, and the mean rewards of arms do not say what it "
    "would earn without the promise. `evenhand evaluate --contexts` replays a learner on a log with it and without."
)
COSTLESS = "So the promise has cost nothing."
MOST_CLAUSES = 30
"""How many clauses a terminal shows, those that cost most."""


@Options(
    tables="log",
    beside={
        "--arm --reward": "LOG",
        "--means": "not LOG",
        "--promise": "not --shares --cap --window",
        FORM: "LOG --shares --promise",
    },
)
def price(
    log: Path | None = None,
    *,
    arm: str = "arm",
    reward: str = "reward",
    means: str = "",
    shares: str = "",
    cap: str = "",
    window: str = "",
    promise: Path | None = None,
    json: JSON = False,
) -> None:
    """Show what a promise costs in the long run, and what each share, cap and window costs: what one more percentage
    point would cost and one less would save.

    Parameters
    ----------
    log : A table of past plays and rewards: CSV, Parquet, Arrow or JSON lines, or -.
    arm : The column with the arm of each play.
    reward : The column with its reward.
    means : The mean reward of each arm instead of a log: a=0.9,b=0.5, or 0.9,0.5.
    shares : Promised share of each arm: 0.02, or a=0.2,b=1/3, or a CSV with columns arm, share.
    cap : The most that an arm may have: 0.5, or a=0.5,b=1/3.
    window : Least plays in any consecutive rounds: a=2/25,b=10 is twice in any 25, once in any 10.
    promise : A promise file as for `evenhand new --promise`, instead of the options above.
    """
    if log is None and not means:
        raise ArgumentError("LOG: name a table of plays and rewards, or pass --means a=0.9,b=0.5")
    given: Any
    if log is not None:
        given = read_table(log, text=[arm])
        arms = in_column_order(given, [arm], column(given, arm))
    else:
        named = named_shares(means, "--means")
        given = numbers_of(means, "--means") if named is None else numbers_by_name(named, "--means")
        arms = list(range(len(given))) if named is None else list(given)
    promised = promise_of(arms, shares, cap, window, promise).varied(offers="all")  # as the price supposes
    found = quotas.price(promised, given, arm=arm, reward=reward)
    if json:
        as_json({"promise": str(promised)} | price_body(found), found)
        return
    print_text(f"Promised: {promised}.")
    say_price(found)


def promise_of(arms: list[Label], shares: str, cap: str, window: str, file: Path | None) -> Promise:
    """Return what the options promise."""
    if file is not None:
        return promise_in(file, arms)
    if not (shares or cap or window):
        raise ArgumentError(expected("--shares", "--shares, --cap, --window or --promise", None))
    owed = shares_of(shares, arms) if shares else dict.fromkeys(arms, 0)
    return read_promise(owed, arms=arms, **limits_of(cap, window))


def known_price(
    promise: Promise, means: Any, arm: str = "arm", reward: str = "reward", *, contexts: bool = False
) -> quotas.Price | str:
    """Return what a promise costs in the long run, or a sentence that says why it is not known, as where a policy sees
    `contexts`."""
    if contexts or (is_frame(means) and saw_contexts(means)):
        return BY_CONTEXTS
    try:
        return quotas.price(promise, means, arm=arm, reward=reward)
    except ArgumentError as error:
        return f"What the promise costs in the long run is not known: {in_shell(error)}."


def cost_in_log(policy: Any, statistics: Statistics, before: Statistics | None = None) -> list[str]:
    """Return who decided, counted from the log of a study after others, in sentences; and that the promise has cost
    nothing, if nobody but the learner did."""
    rounds = statistics.rounds - (before.rounds if before else 0)
    if statistics.when is None or not rounds:
        return []
    if not isinstance(policy, QuotaPolicy):
        forced = statistics.forced - (before.forced if before else 0)
        return [f"The promise forced {forced:,} of {rounds:,} decisions."]
    own, *others = (statistics.deciders - (before.deciders if before else 0)).tolist()
    counts = [(who, count) for who, count in zip(DECIDERS[1:], others, strict=True) if count or who == DECIDERS[1]]
    counted = "; ".join(f"{who} decided {count:,}" for who, count in counts)
    said = f"Of {rounds:,} decisions {own:,} were the learner's first wish; {counted}."
    free = own == rounds and not policy._drawn and not policy._priced
    return [said, *[COSTLESS] * free]


def cost_of_study(policy: Any, statistics: Statistics, frame: pd.DataFrame) -> quotas.Price | str:
    """Return what the promise of a study costs in the long run or, if the policy sees contexts, a sentence: what its
    changes have cost by the learner's own scores, where these are expected rewards."""
    import pandas as pd

    traits, arm = traits_of(policy), "arms" if "arms" in frame else "arm"
    if traits.contextual is False:
        told = frame.loc[frame["reward"].notna(), [arm, "reward"]].explode([arm, "reward"]).astype({"reward": float})
        return known_price(statistics.promise, pd.DataFrame({"arm": told[arm].to_numpy(), "reward": told["reward"]}))
    lost = []
    if traits.scored is not None and math.isfinite(traits.scored[0]):
        offers = frame.get(OFFERED, pd.Series([statistics.labels] * len(frame)))
        for given, decided, offer in zip(frame["given"], frame["decision"], offers, strict=True):
            if "contexts" in given:  # else they were erased
                scores = dict(zip(statistics.labels, np.ravel(revive(given["contexts"])).tolist(), strict=False))
                played = decided.get("arms") or [decided["arm"]]
                best = sorted((scores[one] for one in offer), reverse=True)[: len(played)]
                lost.append(sum(best) - sum(scores[one] for one in played))
    if not lost:
        return BY_CONTEXTS
    return (
        f"By the model's own reckoning, its scores in {len(lost):,} decisions, the changes of its first wishes cost "
        f"{number(sum(lost))} in all, {number(sum(lost) / len(lost))} a decision."
    )


def price_body(found: quotas.Price | str) -> dict[str, Any]:
    """Return a price for programs."""
    if isinstance(found, str):
        return {"cost": None, "notes": [found]}
    numbers = {name: getattr(found, name) for name in ("cost", "low", "high", "free", "kept", "shares", "rewards")}
    return numbers | {"clauses": found.clauses.to_dict("records"), "notes": list(found.notes)}


def say_price(found: quotas.Price | str) -> None:
    """Print what a promise costs, and each of its clauses, those that cost most first."""
    if isinstance(found, str):
        print_text(found)
        return
    print_text(f"{found.finding}.")
    rows = clause_rows(found)
    records("What each clause costs, in reward per round", rows[:MOST_CLAUSES])
    for line in clause_notes(found, len(rows) - MOST_CLAUSES):
        print_text(line)
    say_notes(found)


def clause_rows(found: quotas.Price) -> list[dict[str, Any]]:
    """Return a row for people of each clause that costs anything, or would, those that cost most first."""
    binding = found.clauses[(found.clauses[["cost", "tighter", "looser"]] != 0).any(axis=1)]

    def said(value: float) -> str | None:
        return None if math.isnan(value) else with_signs(value)[0] if found.rewards else exact(value)

    def row_of(row: dict[Any, Any]) -> dict[str, Any]:
        promised = f"{'at most' if row['promise'] in AT_MOST else 'at least'} {row['limit']}"
        costs = {"costs": said(row["cost"])}
        if found.rewards and not math.isnan(row["cost_low"]):
            cost, low, high = with_signs(row["cost"], row["cost_low"], row["cost_high"])
            costs = {"costs": f"{cost} ({low} to {high})"}
        points = {"a point tighter costs": said(row["tighter"]), "a point looser saves": said(row["looser"])}
        return {"arm": cell(row["arm"]), "promised": promised} | costs | points

    return [row_of(row) for row in binding.sort_values("cost", ascending=False, kind="stable").to_dict("records")]


def clause_notes(found: quotas.Price, left_out: int = 0) -> list[str]:
    """Return the sentences below a table of clauses, of which so many are left out."""
    binding, every = len(clause_rows(found)), len(found.clauses)
    said = ["A point is a percentage point: tighter is one more promised, or one less of a cap."] if binding else []
    said += [f"{left_out} more clauses cost less; --json lists them all."] if left_out > 0 else []
    idle = every - binding
    said += [f"{idle} clause{'s' * (idle != 1)} of {every} cost{'s' * (idle == 1)} nothing as it is."] if idle else []
    return said
