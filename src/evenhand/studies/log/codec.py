"""The form of the log: arguments and decisions as JSON that people can read.

Policies receive values that have been converted to this form and back, so that a replay sees exactly what they saw.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sized
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import orjson

from evenhand.arguments import as_float
from evenhand.errors import ArgumentError, ErasedError, StoreError, expected, is_sparse
from evenhand.frames import as_pandas, has_row_labels, holds_categories, is_frame
from evenhand.labels import listed
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.promises.promise import Promise
from evenhand.protocol import Chance, Decision, Savable, writing

Kind = Literal["ask", "tell", "forget", "expire", "set", "erase", "add", "retire", "change"]
CHECKED = ("available", "groups", "weight")
"""The arguments of an ask by which promises are checked and groups counted: they are never encrypted."""
SEALED = "$sealed"
"""The name under which the log keeps encrypted arguments."""
NESTED = {list, dict}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Event(NamedTuple):
    """One entry of a study's log.

    Attributes
    ----------
    sequence : its position, 1, 2, ...
    kind : "ask", "tell", "forget", "expire" (the ticket was open for too long; `given` has the reward that was told, if
        any), "set" (a setting of the study), "erase" (the contexts of subjects can no longer be read), or a change of
        the promise: "add", "retire", "change".
    ticket : the ticket's number; None for a setting, a change, and a report without a ticket.
    at : when, in UTC.
    given : the arguments of the policy's method, by name.
    decision : what `ask` returned; for a change {"returned": what the method returned}; None for other kinds.
    version : the policy's code: evenhand's version and a fingerprint of the file that defines the policy.
    random_state : the policy's random streams before the event, None where it draws nothing.
    key : the caller's own name for this ask, which is done once per key; the keys of several decisions end in #number.
    actor : the key of the service that asked or told; None outside a service.
    digest : SHA-256 over this entry and the digest before it.
    """

    sequence: int
    kind: Kind
    ticket: int | None
    at: datetime
    given: dict[str, Any]
    decision: dict[str, Any] | None
    version: str
    random_state: list[str] | None
    key: str | None
    actor: str | None
    digest: str


def to_plain(value: Any, name: str = "given", *, exact: bool = True) -> Any:
    """Return a value as the log keeps it: numbers, texts, lists, dicts with text keys; tables as columns. Fractions and
    decimals are texts, as shares are, or where they need not be `exact` numbers, as rewards are.

    >>> to_plain({"contexts": np.eye(2), "pairs": {(0, 1)}})
    {'contexts': [[1.0, 0.0], [0.0, 1.0]], 'pairs': [[0, 1]]}

    Raises
    ------
    ArgumentError
        If a part of it has no such form.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # JSON takes no member of class X(str, Enum) as a name
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind not in "mM":
        number = value.astype(np.float64) if value.dtype.kind == "f" else value
        sound = value.dtype.kind in "biuU" or (value.dtype.kind == "f" and bool(np.isfinite(number).all()))
        return number.tolist() if sound else to_plain(number.tolist(), name)
    kept = partial(to_plain, name=name, exact=exact)
    if is_frame(value):
        value = as_pandas(value, name)
        columns = {str(label): _column(value, label, name, kept) for label in value.columns}
        index, numbered = value.index.tolist(), value.columns.tolist() == list(range(len(columns)))
        table = {"$table": columns} | ({"$numbered": True} if columns and numbered else {})
        return table if index == list(range(len(index))) else table | {"$index": kept(index)}
    if isinstance(value, (set, frozenset)):
        try:
            value = sorted(value)
        except TypeError:
            value = sorted(value, key=repr)
    if isinstance(value, (list, tuple)):
        return list(map(kept, value))
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {kept(key): kept(item) for key, item in value.items()}
        return {"$items": [[kept(key), kept(item)] for key, item in value.items()]}
    if has_row_labels(value):
        return {"$series": kept(value.tolist()), "$index": kept(value.index.tolist())}
    if isinstance(value, (Fraction, Decimal)):
        return str(value) if exact else kept(as_float(value))
    if isinstance(value, Promise):
        return {"$promise": kept(value.to_dict())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: kept(getattr(value, field.name)) for field in dataclasses.fields(value)}
    plain_holder = isinstance(value, Sized) and isinstance(value, Iterable) and not is_sparse(value)
    if plain_holder and not isinstance(value, (np.generic, np.ndarray, bytes, bytearray)):
        return kept(listed(value))
    raise ArgumentError(expected(name, "numbers, texts, lists, arrays or tables, which a log can keep", value))


def _column(table: Any, label: Any, name: str, kept: Callable[[Any], Any]) -> list[Any]:
    column = table[label]
    if column.ndim != 1 or list(map(str, table.columns)).count(str(label)) > 1:
        raise ArgumentError(expected(name, "a table with each column once", label))
    # The log has no categories: as a number a code would be an amount when it is replayed, as a text it is a label.
    cells = map(writing, column.tolist()) if holds_categories(column) else column.tolist()
    return [None if missing else kept(cell) for cell, missing in zip(cells, column.isna(), strict=True)]


def revive(value: Any) -> Any:
    """Return the value that policies receive for a value in the log's form."""
    if isinstance(value, dict):
        if "$table" in value:
            import pandas as pd

            columns = {label: revive(column) for label, column in value["$table"].items()}
            table = pd.DataFrame(columns, index=revive(value.get("$index")))
            return table.set_axis(range(len(columns)), axis=1) if "$numbered" in value else table
        if "$series" in value:
            import pandas as pd

            return pd.Series(revive(value["$series"]), index=revive(value["$index"]))
        if "$promise" in value:
            return Promise.from_dict(revive(value["$promise"]))
        if "$float" in value:
            return float(value["$float"])
        if "$items" in value:
            return {_key(key): revive(item) for key, item in value["$items"]}
        return {key: revive(item) for key, item in value.items()}
    if isinstance(value, list) and not NESTED.isdisjoint(map(type, value)):
        return [revive(item) for item in value]
    return value


def _key(key: Any) -> Any:
    """Return the key of a dict, in which lists were tuples."""
    return tuple(map(_key, key)) if isinstance(key, list) else revive(key)


def to_text(value: Any) -> str:
    """Return the text that the log keeps; equal values are equal texts."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError) as error:
        raise ArgumentError(expected("given", "numbers below 2^63 and text in UTF-8", value)) from error


def from_text(text: str | None) -> Any:
    """Return the value behind a text of the store.

    Raises
    ------
    StoreError
        If it is not one that the store wrote.
    """
    try:
        return None if text is None else orjson.loads(str(text))
    except orjson.JSONDecodeError as error:
        raise StoreError(f"the store is damaged: expected JSON, got {str(text)[:40]!r}") from error


def arguments_of(text: str) -> dict[str, Any]:
    """Return the arguments that policies receive for a text of the log.

    Raises
    ------
    ErasedError
        If they were erased.
    """
    if text == "{}":
        return {}
    if isinstance(text, Sealed):
        if text.plain is None:
            raise ErasedError("the contexts of this decision were erased")
        text = text.plain
    given = from_text(text)
    return revive(given) if "$" in text else given


class Sealed(str):
    """The text of arguments of which a part is encrypted; `plain` is what they read, None once they were erased."""

    plain: str | None

    def __new__(cls, text: str, plain: str | None) -> Self:
        """Return the text as the log has it, with what it reads."""
        made = super().__new__(cls, text)
        made.plain = plain
        return made


def promise_arguments(text: str) -> dict[str, Any]:
    """Return the arguments of an ask by which its promise is checked, which are there even if others were erased."""
    if not isinstance(text, Sealed):
        return arguments_of(text)
    return {name: revive(value) for name, value in from_text(text).items() if name in CHECKED}


def shown_arguments(text: str) -> dict[str, Any]:
    """Return arguments in the log's form; of erased ones, those that are left and `"erased": True`."""
    if not isinstance(text, Sealed):
        return dict(from_text(text))
    left = {name: value for name, value in from_text(text).items() if name != SEALED}
    return {**left, "erased": True} if text.plain is None else dict(from_text(text.plain))


def as_decided(decision: Any) -> dict[str, Any]:
    """Return a ticket as the log keeps it, with the name of its type and without its token."""
    if isinstance(decision, Decision):
        fields = decision.to_dict() | {"propensity": decision.chance.propensity}
        left_out = {"propensity"} if fields["propensity"] is None else set()
        left_out |= {"arms", "indexes"} if decision.slate is None else set()
    else:
        fields = {field.name: getattr(decision, field.name) for field in dataclasses.fields(decision)}
        left_out = {"token"}
    kept = {name: to_plain(item, "decision") for name, item in fields.items() if name not in left_out}
    return {"type": type(decision).__name__, **kept}


def by_arm(reward: dict[str, Any], arms: list[Any]) -> Any:
    """Return rewards by arm, in the log's form, as a list in the order of these arms; as they are if they do not fit.

    Labels that are numbers may be given as text, as in JSON.

    >>> by_arm({"b": 0.0, "7": 1.0}, [7, "b"])
    [1.0, 0.0]
    """
    given = revive(reward)
    if "$series" in reward or "$table" in reward:
        given = given.to_dict()
    if not isinstance(given, dict):
        return reward
    order = [writing(arm) for arm in arms]
    named = {writing(label): value for label, value in given.items()}
    fits = len(named) == len(given) == len(order) and set(named) == set(order)
    return [named[text] for text in order] if fits else reward


def rewards_told(given: dict[str, Any]) -> list[Any]:
    """Return the rewards of a report, in the log's form: one for each arm of its decision, none where it has none."""
    reward = given.get("reward")
    return reward if isinstance(reward, list) else [] if reward is None else [reward]


def decision_from(decided: dict[str, Any]) -> Any:
    """Return the ticket that was handed out, as `ask` returned it."""
    fields = {name: item for name, item in decided.items() if name != "type"}
    if decided["type"] == "Decision":
        arm, shown = fields["arm"], fields["probabilities"]
        fields["arm"] = tuple(arm) if isinstance(arm, list) else arm
        distribution = None if shown is None else np.array(shown, dtype=np.float64)
        slate = (tuple(fields["arms"]), tuple(fields["indexes"])) if "arms" in fields else None
        own = {name: fields[name] for name in ("id", "round", "arm", "index", "reason", "reason_code")}
        return Decision(**own, chance=Chance(distribution, fields.get("propensity")), slate=slate)
    if decided["type"] == "Draw":
        from evenhand.sampling import Draw

        return Draw(**fields)
    if decided["type"] in ("Task", "PairTask"):
        from evenhand.sampling import Task
        from evenhand.similarity.questions import PairTask

        task = Task if decided["type"] == "Task" else PairTask
        return task(**{**fields, "choices": tuple(fields["choices"])})
    if decided["type"] == "Allocation":
        import pandas as pd

        from evenhand.interventions import Allocation

        columns = fields["frame"]["$table"].items()
        frame = pd.DataFrame(
            {name: pd.Series(cells, dtype=object if None in cells else None) for name, cells in columns}
        )
        return Allocation(**{**fields, "frame": frame, "plan": np.array(fields["plan"], dtype=np.int64)})
    raise ArgumentError(expected("decision", "a Decision, a Draw or an Allocation, or a Task", decided["type"]))


def random_state_of(policy: Any) -> str | None:
    """Return a policy's random streams as JSON, a hexadecimal text a stream; None where the policy draws nothing."""
    streams: list[str] = []
    if isinstance(policy, KernelPolicy):
        held: list[Any] = [] if policy._engine is None else [policy._engine.state]
    else:
        held = [policy.snapshot()]
    while held:
        one = held.pop()
        if isinstance(one, np.ndarray):
            if one.size == 4 and one.dtype == np.uint64:
                streams.append(one.tobytes().hex())
        elif isinstance(one, (tuple, list, dict)):
            held.extend(one.values() if isinstance(one, dict) else one)
        elif issubclass(type(one), Savable):  # a hundred times as fast as isinstance, which reads the protocol anew
            held.append(one.snapshot())
    return to_text(streams) if streams else None


def first_random_state(policy: Any) -> str | None:
    """Return the random streams of a policy before its first contexts, which made them."""
    pristine = policy.fresh()
    pristine._begin(policy.dimension)
    return random_state_of(pristine)


def now() -> int:
    """Return the time as the store keeps it: microseconds since 1970 in UTC."""
    return time.time_ns() // 1000


def moment(microseconds: int) -> datetime:
    """Return a time of the store, in UTC."""
    return EPOCH + timedelta(microseconds=microseconds)
