"""The bodies and headers of requests: one model decodes, checks and documents each.

A model checks the form; what a policy takes is for the policy to say, in the words of the library.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from evenhand.errors import ArgumentError, ContextError, TicketError, wanted
from evenhand.frames import rows_frame
from evenhand.protocol import as_label
from evenhand.studies.limits import check_pairs

Scalar = int | float | str
Values = Scalar | list[Scalar | list[Scalar | list[Scalar]]]
Cell = int | float | str | bool
Contexts = list[list[int | float]] | list[dict[str, Cell]] | dict[str, Cell]
Name = Annotated[
    str | int | float | bool, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]})
]  # `evenhand.protocol.label_of` says which values are labels
Named = Annotated[Name, AfterValidator(as_label)]
Group = Name | list[Name]
Groups = list[Group] | dict[str, Group]
Pairs = Annotated[
    Values, WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}})
]  # fmt: skip
Share = int | float | str
LARGEST = 2**62
TICKET = "ads.17.5f0c2a9d41b7e683"
Ticket = Annotated[
    str, Field(description="The ticket as ask returned it: it names the study and is signed.", examples=[TICKET])
]

EXPECTED: dict[str, tuple[type[ArgumentError], str]] = {
    "ticket": (TicketError, f"a signed ticket such as {TICKET!r}"),
    "contexts": (ContextError, "a list of rows of numbers, or of objects column -> value"),
    "groups": (ArgumentError, "a list of groups, or an object arm -> group"),
    "available": (ArgumentError, "a list of the labels of arms"),
    "segment": (ArgumentError, "a text or a whole number"),
    "annotator": (ArgumentError, "a name"),
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
    "policy": (ArgumentError, 'an object such as {"policy": "quotas/fair-ucb", ...}'),
}
"""By field: the error that refuses what does not fit, and what was expected."""


class Body(BaseModel):
    """A request's body: no other names than these, and no text where a number is expected."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CreateBody(Body):
    """A study to create."""

    name: str = Field(
        min_length=1,
        max_length=100,
        pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$",
        description="Letters, digits, - and _; a letter or a digit first.",
        examples=["ads"],
    )
    policy: dict[str, Any] = Field(
        description="`policy`, a registered name, beside the arguments of its constructor.",
        examples=[{"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}, "seed": 1}],
    )
    expire_after: int | float | str | None = Field(
        default=None,
        description="How long a ticket may stay open: seconds, or a text such as 7d or 12h; null for ever.",
        examples=["7d"],
    )


class AskBody(Body):
    """One decision, or `count` decisions that see the same contexts."""

    contexts: Contexts | None = Field(
        default=None,
        description="What the round shows, a row for each arm: numbers, or an object column -> value. A single object "
        "is a row that all arms share. Text needs a policy with an encoder.",
        examples=[[[0.1, 2.0], [0.4, 1.0]]],
    )
    groups: Groups | None = Field(
        default=None,
        description="The groups of the arms in this round, where they differ; a list is several attributes together.",
        examples=[{"a": "F", "b": ["M", "under 25"]}],
    )
    available: list[Name] | None = Field(
        default=None, description="The arms that are on offer in this round, where not all are.", examples=[["a", "b"]]
    )
    segment: Name | None = Field(
        default=None, description="The segment of this round, for a promise inside each.", examples=["mobile"]
    )
    annotator: str | None = Field(default=None, description="Who labels, so that nobody gets an item twice.")
    subject: str | None = Field(
        default=None,
        description="Whom the contexts are about: they are encrypted in the log, and can be erased.",
        examples=["user-17"],
    )
    sticky: bool = Field(
        default=False,
        description="Whether the idempotency key alone decides: its first decision comes again, whatever is shown now.",
    )
    count: int | None = Field(default=None, ge=1, description="How many decisions to take; the answer is then a list.")

    def shown(self) -> dict[str, Any]:
        """Return what the policy is shown."""
        if not self.model_fields_set:
            return {}
        names = ("contexts", "groups", "available", "segment", "annotator")
        shown = {name: getattr(self, name) for name in names}
        if isinstance(self.contexts, list) and self.contexts and isinstance(self.contexts[0], dict):
            shown["contexts"] = rows_frame(self.contexts, "contexts")
        return {name: value for name, value in shown.items() if value is not None}


class AskRow(AskBody):
    """One row of a batch."""

    key: str | None = Field(default=None, description="An idempotency key of this row.")


class AskBatch(Body):
    """Many decisions, each with contexts of its own."""

    batch: list[AskRow]


class AskHeaders(BaseModel):
    """The headers of an ask."""

    key: str | None = Field(
        None,
        alias="Idempotency-Key",
        pattern="^[!-~]([ -~]{0,98}[!-~])?$",
        description="Your own name for this decision: asking again with the same key returns the same decision. In a "
        "batch the i-th decision has the name KEY#i.",
    )


class TellBody(Body):
    """What happened after a decision: the fields that the policy takes."""

    ticket: Ticket
    reward: Annotated[Values | dict[str, Scalar], WithJsonSchema({"type": ["number", "array", "object"]})] | None = (
        Field(
            default=None,
            examples=[1.0],
            description="For several arms a list in the order of the decision's `arms`, or an object arm -> reward.",
        )
    )
    violations: Pairs | bool | None = Field(
        default=None,
        description="Pairs that an auditor finds treated unfairly; true, for something, is answered with which to ask.",
    )
    acceptable: Pairs | None = Field(default=None, description="Pairs that an auditor finds treated fairly.")
    auditor: str | None = Field(default=None, description="Who names these pairs, where several people audit.")
    X: Values | None = Field(default=None, description="Rows of features, for policies that sample.")
    y: Name | list[Name] | None = Field(default=None, description="Their labels.")
    samples: dict[str, list[Cell]] | None = Field(default=None, description="The columns of a table of trials.")
    label: Name | None = Field(
        default=None, description="For an item to label: its label, or null to reject the item.", examples=["cat"]
    )
    annotator: str | None = Field(default=None, description="Who labels.")

    def told(self) -> dict[str, Any]:
        """Return what the policy is told.

        Raises
        ------
        ArgumentError
            If the columns of `samples` differ in length, or more pairs are named than any round has.
        """
        told = {name: value for name, value in vars(self).items() if name != "ticket" and value is not None}
        if "label" in self.model_fields_set:
            told["label"] = self.label
        if self.samples is not None:
            if len({len(column) for column in self.samples.values()}) > 1:
                raise ArgumentError(wanted("samples", EXPECTED["samples"][1], self.samples))
            import pandas as pd

            told["samples"] = pd.DataFrame(self.samples)
        if self.violations is not None or self.acceptable is not None:
            check_pairs(told)
        return told


class TellBatch(Body):
    """Many reports; a row that is refused holds up no other."""

    batch: list[dict[str, Any]] = Field(examples=[[{"ticket": TICKET, "reward": 1.0}]])


class ForgetBody(Body):
    """A ticket whose outcome will never be known."""

    ticket: Ticket


class AddBody(Body):
    """An arm to put on offer."""

    arm: Named = Field(description="Its label: a new one, or that of a retired arm.", examples=["d"])
    share: Share = Field(default=0, description="Its promised share.", examples=["1/5"])


class RetireBody(Body):
    """An arm to take off offer."""

    arm: Named = Field(examples=["d"])


class ChangeBody(Body):
    """Other shares from now on, or another promise: one of the two."""

    shares: dict[str, Share] | list[Share] | None = Field(
        default=None, description="The share of each arm on offer.", examples=[{"a": "1/2", "b": 0.1}]
    )
    promise: dict[str, Any] | None = Field(
        default=None,
        description="Everything that is promised from now on, as for a new study.",
        examples=[{"shares": {"a": "1/2"}, "caps": {"b": "1/4"}, "tolerance": 2}],
    )


class StudyPath(BaseModel):
    """The path of a study's routes."""

    name: str = Field(min_length=1, description="The study's name.", examples=["ads"])


class DecisionPath(StudyPath):
    """The path of a decision."""

    id: int = Field(ge=1, le=LARGEST, description="The decision's number.")


class SeriesQuery(BaseModel):
    """How much of a study's course to return."""

    points: int = Field(default=400, ge=2, le=1000, description="At about how many rounds.")
    first: int | None = Field(default=None, ge=1, le=LARGEST, description="Only from this round on.")
    last: int | None = Field(default=None, ge=1, le=LARGEST, description="Only up to this round.")


class DecisionsQuery(BaseModel):
    """Which decisions to return."""

    before: int | None = Field(default=None, ge=1, le=LARGEST, description="Only decisions before this one.")
    after: int | None = Field(default=None, ge=1, le=LARGEST, description="Only decisions after this one.")
    order: Literal["newest", "oldest"] = Field(default="newest", description="Which come first.")
    limit: int = Field(default=50, ge=1, le=500, description="At most this many.")
    arm: str | None = Field(default=None, max_length=200, description="Only for this arm or group.")
    reason: str | None = Field(default=None, max_length=200, description="Only for this reason.")
    open: bool | None = Field(default=None, description="Only open decisions, or only closed ones.")


class ForcedQuery(BaseModel):
    """How many of the decisions that the quota forced to return."""

    limit: int = Field(default=100, ge=1, le=1000, description="At most this many.")


class HistoryQuery(BaseModel):
    """Which table to return."""

    format: Literal["csv", "parquet", "json"] = Field(default="csv", description="The file's format.")
    form: Literal["log", "bandit"] = Field(
        default="log", description="The log as it is, or bandit feedback with propensities for off-policy estimators."
    )


class FilePath(BaseModel):
    """A file of the page."""

    file: str
