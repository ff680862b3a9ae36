"""What several bodies of requests and responses share: the types of their fields, and what is expected of each.

A model checks the form; whether a policy takes the values is checked by the policy, with the library's messages.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from evenhand.errors import ArgumentError, ContextError, TicketError
from evenhand.protocol import as_label

Scalar = int | float | str
Values = Scalar | list[Scalar | list[Scalar | list[Scalar]]]
Cell = int | float | str | bool
Name = Annotated[
    str | int | float | bool, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]})
]  # `evenhand.protocol.label_of` says which values are labels
Named = Annotated[Name, AfterValidator(as_label)]
Share = int | float | str
Weight = int | float | str
Label = str | int | list[str | int]
TICKET = "ads.17.5f0c2a9d41b7e683"
Ticket = Annotated[
    str, Field(description="The ticket as ask returned it: it names the study and is signed.", examples=[TICKET])
]
EXPECTED: dict[str, tuple[type[ArgumentError], str]] = {
    "ticket": (TicketError, f"a signed ticket such as {TICKET!r}"),
    "contexts": (ContextError, "a list of rows of numbers, or of objects column -> value"),
    "groups": (ArgumentError, "a list of groups, or an object arm -> group"),
    "available": (ArgumentError, "a list of the labels of arms"),
    "annotator": (ArgumentError, "a name"),
    "weight": (ArgumentError, "a number, or a text such as 12.50"),
    "scores": (ArgumentError, "an object arm -> score, a number"),
    "auditor": (ArgumentError, "a name"),
    "label": (ArgumentError, "a text or a whole number, or null"),
    "arm": (ArgumentError, "a label: a text or a whole number"),
    "share": (ArgumentError, "a number from 0 to 1, or a text such as 1/3"),
    "shares": (ArgumentError, "an object arm -> share, or a list of shares"),
    "subject": (ArgumentError, "a text of up to 200 printable characters"),
    "batch": (ArgumentError, "a list of objects"),
    "count": (ArgumentError, "a whole number >= 1"),
    "key": (ArgumentError, "a text of 1 to 200 printable characters"),
    "Idempotency-Key": (ArgumentError, "1 to 100 printable ASCII characters, neither first nor last a space"),
    "samples": (ArgumentError, "an object of columns, lists of one length"),
    **dict.fromkeys(("reward", "X", "y"), (ArgumentError, "numbers, texts, or lists of them")),
    "violations": (ArgumentError, "pairs of positions [[0, 1], ...], or true or false"),
    "acceptable": (ArgumentError, "pairs of positions [[0, 1], ...]"),
    "name": (ArgumentError, "up to 100 letters, digits, - and _, a letter or a digit first"),
    "expire_after": (ArgumentError, "seconds, or a text such as 7d or 12h"),
    "expire_reward": (ArgumentError, "a number"),
    "policy": (ArgumentError, 'an object such as {"policy": "quotas/fair-ucb", ...}'),
    "attributes": (ArgumentError, "an object name -> value"),
    **dict.fromkeys(("sticky", "open"), (ArgumentError, "true or false")),
    "cap": (ArgumentError, "a number from 0 to 1, or a text such as 1/3"),
    "promise": (ArgumentError, 'an object such as {"shares": {"a": 0.2}, ...}'),
    "begins": (ArgumentError, "a text: a time, a date, or a duration such as 12h"),
    **dict.fromkeys(
        ("id", "first", "last", "before", "after", "entries"), (ArgumentError, "a whole number from 1 to 2^53 - 1")
    ),
    "points": (ArgumentError, "a whole number from 2 to 1000"),
    "limit": (ArgumentError, "a whole number from 1 to 500, for /forced to 1000"),
    "order": (ArgumentError, "newest or oldest"),
    "reason": (ArgumentError, "a text of up to 200 characters"),
    "format": (ArgumentError, "csv, parquet or json"),
    "form": (ArgumentError, "log or bandit"),
}
"""By field: the error that refuses what does not fit, and what was expected."""


class Body(BaseModel):
    """A request's body: no other names than these, and no text where a number is expected."""

    model_config = ConfigDict(extra="forbid", strict=True)


class StudyPath(BaseModel):
    """The path of a study's routes."""

    name: str = Field(min_length=1, description="The study's name.", examples=["ads"])


class ErrorOut(BaseModel):
    """An error: a permanent name, and a message that says what to do. One about an argument has its parts as well."""

    name: str = Field(examples=["RewardError"])
    message: str = Field(examples=["reward: expected a number in [0, 1], got 7.0"])
    repeatable: bool = Field(description="Whether the same request may succeed later, though nothing is mended.")
    argument: str | None = Field(None, description="What it is about.", examples=["reward"])
    expected: str | None = Field(None, description="What was expected.", examples=["a number in [0, 1]"])
    got: Any = Field(None, description="What came, as text where it is long or no JSON.", examples=[7.0])
    hint: str | None = Field(None, description="How to mend it, if that is known.")


class Envelope(BaseModel):
    """The body of every refusal."""

    error: ErrorOut


class WorstCase(BaseModel):
    """How far a promise was broken, if it was."""

    worst_shortfall: float | None
    worst_arm: Label | None
    worst_round: int | None
    rounds_in_violation: int


class DecisionOut(BaseModel):
    """A decision; which fields it has beside the ticket depends on the policy."""

    ticket: str = Field(examples=[TICKET])
    id: int = Field(examples=[17])
    round: int | None = Field(None, description="The round, 1, 2, ...")
    phase: int | None = Field(None, description="The phase of a search.")
    arm: Label | None = Field(None, description="The arm to play.", examples=["a"])
    group: Label | None = Field(None, description="The group to sample from.")
    index: int | None = Field(None, description="The arm's or group's position, from 0; -1 for none.")
    arms: list[str | int] | None = Field(None, description="All arms to play, the best first, where there are several.")
    indexes: list[int] | None = Field(None, description="Their positions, from 0.")
    count: int | None = Field(None, description="How many rows to sample.")
    probabilities: list[float] | None = Field(None, description="What the arm was drawn from; null if not drawn.")
    reason: str | None = Field(None, description="Why.", examples=["owed its share"])
    reason_code: str | None = Field(None, description="The kind of the reason, for programs.", examples=["forced"])
    frame: dict[str, list[Any]] | None = Field(None, description="A table, by columns: what to try how often.")
    plan: list[list[int]] | None = None
    item: Label | None = Field(None, description="The id of the item to label.")
    purpose: str | None = Field(None, description="Whether the item's label trains or validates the model.")
    content: str | None = Field(None, description="What people see of the item: a text, or a picture's address.")
    choices: list[str | int] | None = Field(None, description="All labels, where they are known.")
    gap: float | None = Field(None, description="How much the probabilities of the two people of a pair differ.")
    people: dict[str, list[str]] | None = Field(None, description="What is shown of the two people, by feature.")


class DecisionBatch(BaseModel):
    """Decisions in the order of the request; a row that was refused is an error, and the others were taken."""

    decisions: list[DecisionOut | Envelope]
