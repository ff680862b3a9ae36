"""A study's log as a table, a row a decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evenhand.studies.log.codec import from_text, moment, shown_arguments
from evenhand.studies.log.log import CLOSED, Log
from evenhand.studies.log.request_keys import shown_key
from evenhand.studies.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    "ticket", "round", "at", "arm", "index", "reason", "probabilities", "propensity", "given", "status", "told_at",
    "reward", "told", "decision", "version", "random_state", "key", "actor", "digest",
]  # fmt: skip


def log_table(store: Store, log: Log) -> pd.DataFrame:
    """Return the decisions, a row each, in the order in which they were taken.

    Columns: `ticket`, `round`, `at` (UTC), `arm` (the group of a draw, nothing for an allocation), `index`, `reason`,
    `probabilities` (a list, or None), `propensity` (the probability with which the arm was chosen, of several arms with
    which just these were; nan where the log does not say), `given` (the arguments of `ask`), `status` ("open", "told",
    "forgotten" or "expired"), `told_at`, `reward` (None where none was told), `told` (all that was told), `decision`
    (all that was decided), `version`, `random_state`, `key`, `actor`, `digest` (of the entry in the log). Where several
    arms are played in a round, `arms` has all of them, the best first, `reward` is a list in their order, and
    `slate_propensity` has for each of them the probability that it was among those played.
    """
    import pandas as pd

    rows: dict[int, dict[str, Any]] = {}
    with store.reading() as connection:
        for entry in log.rows(connection):
            given, decision = shown_arguments(entry.given), from_text(entry.decision)
            if entry.kind == "ask":
                arm = decision.get("arm", decision.get("group"))
                rows[entry.ticket or 0] = {
                    "ticket": entry.ticket,
                    "round": decision.get("round", decision.get("phase")),
                    "at": moment(entry.at),
                    "arm": tuple(arm) if isinstance(arm, list) else arm,
                    "index": decision.get("index"),
                    "reason": decision.get("reason"),
                    "probabilities": decision.get("probabilities"),
                    "propensity": _propensity(decision),
                    "given": given,
                    "status": "open",
                    "told_at": None,
                    "reward": None,
                    "told": None,
                    "decision": {name: value for name, value in decision.items() if name != "type"},
                    "version": entry.version,
                    "random_state": from_text(entry.random_state),
                    "key": shown_key(entry.key),
                    "actor": entry.actor,
                    "digest": entry.digest,
                }
                if "arms" in decision:
                    chances = decision.get("probabilities")
                    among = None if chances is None else {a: chances[i] for a, i in _slate(decision)}
                    rows[entry.ticket or 0] |= {"arms": decision["arms"], "slate_propensity": among}
            elif entry.ticket is not None and entry.ticket in rows:
                rows[entry.ticket]["status"] = CLOSED[entry.kind]
                if entry.kind == "tell":
                    rows[entry.ticket] |= {"told_at": moment(entry.at), "told": given, "reward": given.get("reward")}
    more = ["arms", "slate_propensity"] if any("arms" in row for row in rows.values()) else []
    table = pd.DataFrame(list(rows.values()), columns=COLUMNS + more)
    table["propensity"] = table["propensity"].astype(float)
    for name in ("at", "told_at"):
        table[name] = pd.to_datetime(table[name], utc=True)
    return table


def _slate(decision: dict[str, Any]) -> Iterator[tuple[Any, int]]:
    """Yield the arms of a decision for several, with their positions."""
    return zip(decision["arms"], decision["indexes"], strict=True)


def _propensity(decision: dict[str, Any]) -> float | None:
    """Return the probability of what was decided, None where the log does not say."""
    chances, index = decision.get("probabilities"), decision.get("index")
    if chances is None or index is None or index < 0 or "arms" in decision:
        return decision.get("propensity")
    return float(chances[index])
