"""`evenhand price`: what a promise costs in the long run, and what each of its clauses does; and the table of it, which
other commands show as well."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand import quotas
from evenhand.cli.inputs.inputs import limits_of, means_of, shares_of
from evenhand.cli.inputs.promises import promise_in
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import FORM, JSON, Options
from evenhand.cli.output import as_json, cell, print_text, records, say_notes
from evenhand.cli.refusals import in_shell
from evenhand.data.tables import column, in_column_order
from evenhand.display.digits import exact, with_signs
from evenhand.errors import ArgumentError, expected
from evenhand.frames import is_frame
from evenhand.promises.clause import AT_MOST
from evenhand.promises.promise import Promise, read_promise
from evenhand.quotas.price import saw_contexts

if TYPE_CHECKING:
    from evenhand.protocol import Label

BY_CONTEXTS = (
    "What the promise costs is not known: the policy sees contexts, and the mean rewards of arms do not say what it "
    "would earn without the promise. If every arm had a known chance in each round, as in a lottery, the log can be "
    "replayed with the promise and without it by `eh.evaluate` in Python, with an array of the contexts, such as those "
    "in the column `given` of a study's log."
)
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
        given = means_of(means)
        arms = list(given) if isinstance(given, dict) else list(range(len(given)))
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
    print_text(*clause_notes(found, len(rows) - MOST_CLAUSES))
    say_notes(found)


def clause_rows(found: quotas.Price) -> list[dict[str, Any]]:
    """Return a row for people of each clause that is found to cost anything, or would, those that cost most first."""
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
    nothing = "nothing as it is" + ", as far as the rewards show" * (found.rewards > 0)
    said += [f"{idle} clause{'s' * (idle != 1)} of {every} cost{'s' * (idle == 1)} {nothing}."] if idle else []
    return said
