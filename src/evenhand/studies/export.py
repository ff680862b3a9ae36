"""A study's log as a table, one row per decision, and as logged bandit feedback, which off-policy estimators read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.data.contexts import read_shown
from evenhand.data.probabilities import by_arm
from evenhand.data.tables import EACH, LEFT_OUT, OFFERED
from evenhand.errors import ArgumentError, expected
from evenhand.frames import is_frame
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import Traits, traits_of
from evenhand.protocol import Label
from evenhand.studies.log.codec import CHECKED, arguments_of, revive
from evenhand.studies.log.log import Log, Record, as_event, closed_record, open_record
from evenhand.studies.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.studies import Study

COLUMNS = [
    "ticket",
    "round",
    "at",
    "arm",
    "index",
    "reason",
    "probabilities",
    "propensity",
    "given",
    "status",
    "told_at",
    "reward",
    "told",
    "decision",
    "version",
    "random_state",
    "key",
    "actor",
    "digest",
]


def log_table(store: Store, log: Log, first: Traits) -> pd.DataFrame:
    """Return the decisions, one row for each, in the order in which they were taken; `first` are the traits of the
    policy before them.

    Columns: `ticket`, `round`, `at` (UTC), `arm` (the group of a draw, nothing for an allocation), `index`, `reason`,
    `probabilities` (a list, or None), `propensity` (the probability with which the arm, or exactly these arms where
    there are several, was chosen; nan where unknown), `given` (the arguments of `ask`), `status` ("open", "told",
    "forgotten" or "expired"), `told_at`, `reward` (None where none was told; an expired ticket may have been told one),
    `told` (all that was told), `decision`
    (all that was decided), `version`, `random_state`, `key`, `actor`, `digest` (of the entry in the log). Where several
    arms are played in a round, `arms` has all of them, the best first, `reward` is a list in their order, and
    `slate_propensity` has for each of them the probability that it was among those played. Where not all arms were
    always on offer, `available` has those that were, as `eh.audit.promise` reads them by itself. Where shares of a
    weight are promised, a column of its name has that of each decision: exactly, 0 where a ticket was closed without
    one, and nothing where it is open.
    """
    import pandas as pd

    records: dict[int, Record] = {}
    digests: list[str] = []
    offers: list[Sequence[Label]] = []
    on, gone = list(first.arms or ()), set[Label]()
    with store.reading() as connection:
        for entry in log.rows(connection):
            if entry.kind == "ask":
                record = open_record(as_event(entry))
                records[record.ticket] = record
                digests.append(entry.digest)
                given = record.given.get("available")
                offers.append(on if given is None else [arm for arm in given if arm not in gone])
            elif entry.kind in ("add", "retire"):
                arm = arguments_of(entry.given)["arm"]
                on, gone = [other for other in on if other != arm], gone | {arm}
                if entry.kind == "add":
                    on, gone = [*on, arm], gone - {arm}
            elif entry.ticket in records:
                records[entry.ticket] = closed_record(records[entry.ticket], as_event(entry))
    rows = [_row(record) | {"digest": digest} for record, digest in zip(records.values(), digests, strict=True)]
    more = ["arms", "slate_propensity"] if any("arms" in row for row in rows) else []
    table = pd.DataFrame(rows, columns=COLUMNS + more)
    if any(offer is not offers[0] for offer in offers) or any("available" in one.given for one in records.values()):
        table[OFFERED] = offers
    if first.promise is not None and first.promise.weight is not None:
        name = first.promise.weight
        table["weight" if name in table else name] = _weights(list(records.values()))
    table["propensity"] = table["propensity"].astype(float)
    for name in ("at", "told_at"):
        table[name] = pd.to_datetime(table[name], utc=True)
    return table


def _row(record: Record) -> dict[str, Any]:
    """Return the row of a decision."""
    decision, arm = record.decision, record.decision.get("arm", record.decision.get("group"))
    chances = decision.get("probabilities")
    row = record._asdict() | {
        "round": decision.get("round", decision.get("phase")),
        "arm": tuple(arm) if isinstance(arm, list) else arm,
        "index": decision.get("index"),
        "reason": decision.get("reason"),
        "probabilities": chances,
        "propensity": _propensity(decision),
        "status": record.status,
        "reward": (record.told or {}).get("reward"),
        "decision": {name: value for name, value in decision.items() if name != "type"},
    }
    if "arms" in decision:
        row["arms"] = decision["arms"]
        if chances is not None:
            slate = zip(decision["arms"], decision["indexes"], strict=True)
            row["slate_propensity"] = {arm: chances[index] for arm, index in slate}
        else:
            row["slate_propensity"] = dict.fromkeys(decision["arms"], 1.0) if row["propensity"] == 1.0 else None
    return row


def _weights(records: list[Record]) -> pd.Series[Any]:
    """Return the weight of each decision, whole numbers where all are."""
    import pandas as pd

    none = {"open": None, "told": None, "forgotten": 0, "expired": 0}
    found = [(one.told or {}).get("weight", one.given.get("weight", none[one.status])) for one in records]
    if not any(isinstance(one, str) for one in found):
        return pd.Series(found, dtype="Int64" if None in found else np.int64)
    return pd.Series([None if one is None else Decimal(one) for one in found], dtype=object)


def _propensity(decision: dict[str, Any]) -> float | None:
    """Return the probability of what was decided, None where the log does not say."""
    chances, index = decision.get("probabilities"), decision.get("index")
    if chances is None or index is None or index < 0 or "arms" in decision:
        return decision.get("propensity")
    return float(chances[index])


def bandit_frame(study: Study) -> pd.DataFrame:
    """Return logged bandit feedback, one row per decision of one arm whose reward was told.

    Columns: `ticket`, `round`, `at`, `arm`, `action` (the arm's index), `n_actions`, `reward`, `propensity` (the
    probability with which the arm was taken, given all that had happened: 1.0 where nothing was drawn), `deterministic`
    (whether nothing was drawn), for a policy with arms of its own a column `propensity_<arm>` for each, whichever was
    drawn: 0 where it could not be, a column `context_<arm>_<feature>` for each number in the contexts, NaN where it was
    erased, and `available` and `groups` where some round had them. The other decisions are left out: every
    row says in `decisions_left_out` how many stood before it, the last one also how many after it, so that `evaluate`
    can add them up, of joined exports too, and say for which decisions a value stands;
    `attrs["left_out"]` of the table counts them by status.

    A policy that decides without chance leaves nothing for inverse propensity weighting to correct: other arms could
    never have been taken. Estimators on such a log need a model of the reward instead.

    Raises
    ------
    ArgumentError
        If decisions are not about one arm each, or the policy draws by chance without saying with which
        probabilities: an invented propensity would be worse than none.
    """
    if isinstance(study, type) or not hasattr(study, "frame"):
        raise ArgumentError(expected("study", "a study, such as Study.open(path)", study))
    return feedback_of(study, study.frame())


def feedback_of(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """Return the logged bandit feedback of these rows of a study's log; see `bandit_frame`."""
    import pandas as pd

    policy, name = study.state.bare_copy(), study.log.birth.policy
    has_outcome = table["status"].eq("told") | table["reward"].notna()
    answered = table[has_outcome]
    told = answered[answered["index"].notna()]
    told = told[told["index"] >= 0]
    several = len(answered) - len(told)
    labels = study.statistics().labels
    single = all(isinstance(reward, (int, float)) for reward in told["reward"])
    if (several and not len(told)) or not single:
        raise ArgumentError(f"bandit feedback: expected decisions for one arm each, got those of {name}")
    may_draw = bool(table["random_state"].notna().any()) or not traits_of(policy).compiled
    if may_draw and told["propensity"].isna().any():
        what = "draws at random, or its learner may, and does not state the probabilities"
        raise ArgumentError(f"bandit feedback: {name} {what}; export the log instead")
    feedback = pd.DataFrame(
        {
            "ticket": told["ticket"].to_numpy(),
            "round": told["round"].to_numpy(),
            "at": told["at"].to_numpy(),
            "arm": told["arm"].to_numpy(),
            "action": told["index"].to_numpy(dtype=np.int64),
            "n_actions": [len(labels) if p is None else len(p) for p in told["probabilities"]],
            "reward": told["reward"].to_numpy(dtype=np.float64),
            "propensity": told["propensity"].fillna(1.0).to_numpy(),
            "deterministic": told["probabilities"].isna().to_numpy(),
        }
    )
    if traits_of(policy).arms:
        chances = by_arm(told["probabilities"].tolist(), told["index"].astype(int), len(labels))
        columns = [f"{EACH}{label}" for label in labels]
        feedback = pd.concat([feedback, pd.DataFrame(chances, columns=columns)], axis=1)
    read = partial(_numbers, policy=policy, labels=labels)
    shown = [read(given["contexts"]) for given in told["given"] if "contexts" in given]
    erased = sum("erased" in given for given in told["given"])
    if len(shown) + erased == len(told) and shown and len({one.shape for one in shown}) == 1:
        nothing = np.full(shown[0].shape, np.nan)
        shown = [read(given["contexts"]) if "contexts" in given else nothing for given in told["given"]]
        rows, features = shown[0].shape
        names = labels if len(labels) == rows else range(rows)
        columns = [f"context_{name}_{feature}" for name in names for feature in range(features)]
        contexts = pd.DataFrame(np.stack(shown).reshape(len(shown), -1), columns=columns)
        feedback = pd.concat([feedback, contexts], axis=1)
    for name in CHECKED:
        if any(name in given for given in told["given"]):
            feedback[name] = [given.get(name) for given in told["given"]]
    left_out = {**table.loc[~has_outcome, "status"].value_counts().to_dict(), "of no single arm": several}
    left_out = {status: int(count) for status, count in left_out.items() if count}
    feedback[LEFT_OUT] = np.diff([0, *(told.index[:-1] + 1), len(table)])[: len(told)] - 1
    feedback.attrs["left_out"] = left_out
    return feedback


def _numbers(logged: Any, policy: Any, labels: list[Any]) -> Any:
    """Return logged contexts as the numbers that the policy saw; one row for all arms becomes one row per arm."""
    contexts = revive(logged)
    named = is_frame(contexts) or isinstance(contexts, Mapping)
    if not isinstance(policy, KernelPolicy) or not (named or np.ndim(contexts) == 1):
        return np.array(contexts)
    arms = labels[: len(contexts)] if is_frame(contexts) and len(contexts) > 1 else labels
    return read_shown(
        contexts,
        arms,
        columns=policy.contexts.table_columns,
        dimension=policy.dimension,
        encoder=policy.contexts.encoder,
    )[0]
