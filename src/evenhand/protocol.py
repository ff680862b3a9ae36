"""What ask and tell mean: the decision that is handed out, what evenhand expects of learners, policies and worlds, and
when two labels are the same.

A *policy* decides: `ask` hands out a numbered `Decision`, `tell` brings back what happened. A *learner* is the bare
algorithm that problems build on (`choose`, `update`); every learner of evenhand is a policy as well. A *world* answers
decisions, in simulations and in checks.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, expected
from evenhand.frames import dimensions, is_frame
from evenhand.kernels.arrays import Floats

Label = str | int
MOST_ARMS = 1_000_000
"""The largest number of arms that is taken: states and tables hold several numbers for each."""
LARGEST_LABEL = 2**63 - 1
"""The largest label that is a number, as files and tables hold it."""
TRUE, FALSE = "true", "false"
TRUTHS = {form: text for text in (TRUE, FALSE) for form in (text, text.title(), text.upper())}
"""How truth values are written."""
WHOLE = re.compile("0|-?[1-9][0-9]*")
FRACTION = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely a decision was: `CERTAIN`, `UNKNOWN`, or stated by these numbers.

    Attributes
    ----------
    probabilities : the distribution (n_arms,) that the arm was drawn from or, where several are played, with which each
        is among them; a function computes it when it is read, nan where it turns out to be unknown.
    propensity : the probability of the whole decision, where it does not follow from these.
    """

    probabilities: Floats | Callable[[], Floats] | None = None
    propensity: float | None = None


CERTAIN, UNKNOWN = Chance(propensity=1.0), Chance()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Decision:
    """One decision: the ticket for its reward, with the reason why.

    It never changes; `dataclasses.replace` returns another with some fields changed.

    Attributes
    ----------
    id : the ticket's number, unique within the policy, counted from 1.
    round : the round t = 1, 2, ... in which it was taken.
    arm : the user's label of the arm.
    index : the arm's position, 0 .. n_arms - 1.
    chance : how likely it was; a distribution (n_arms,) or None is taken as `Chance` of these.
    reason : why this arm, in words.
    reason_code : the kind of the reason, for programs: "forced" by a promise, "untried", "explored", "greedy", ...; see
        `evenhand.policy.reason`.
    slate : the labels and the positions of all arms, the best first, where several are played in a round.
    token : which policy decided it, so that no other takes it for its own; None where the decision was made from plain
        data. Decisions are compared and logged without it.

    Examples
    --------
    >>> from dataclasses import replace
    >>> decision = Decision(1, 1, "tea", 0, np.array([0.25, 0.75]), "drawn")
    >>> replace(decision, reason="drawn by lottery").propensity
    0.25
    """

    id: int
    round: int
    arm: Label
    index: int
    chance: Chance = UNKNOWN
    reason: str = ""
    reason_code: str = "other"
    _: KW_ONLY
    slate: tuple[tuple[Label, ...], tuple[int, ...]] | None = None
    token: str | None = None

    def __post_init__(self) -> None:
        given: Any = self.chance
        if not isinstance(given, Chance):
            object.__setattr__(self, "chance", UNKNOWN if given is None else Chance(np.asarray(given, np.float64)))

    @property
    def probabilities(self) -> Floats | None:
        """The distribution (n_arms,) that the arm was drawn from given the past, or None where it is not drawn from
        one, or nobody knows it."""
        stated = self.chance.probabilities
        if not callable(stated):
            return stated
        computed = stated()
        return None if np.isnan(computed).any() else computed

    @property
    def propensity(self) -> float | None:
        """The probability of choosing this arm or, where several are drawn, exactly these arms: 1.0 where nothing was
        drawn, None where it is unknown."""
        chances = self.probabilities
        if chances is not None and isinstance(self.arm, tuple):
            drawn = np.isin(np.arange(len(chances)), self.arm)
            return float(np.prod(np.where(drawn, chances, 1.0 - chances)))
        if chances is not None and self.slate is None and 0 <= self.index < len(chances):
            return float(chances[self.index])
        return self.chance.propensity

    @property
    def slate_propensity(self) -> dict[Label, float] | None:
        """The probability of each played arm of being among those played, None where it is unknown."""
        chances = self.probabilities
        if chances is None:
            whole = self.propensity
            if whole is None or (self.slate is not None and whole < 1.0):
                return None
            return dict.fromkeys(self.arms, whole)
        return {arm: float(chances[index]) for arm, index in zip(self.arms, self.indexes, strict=True)}

    @property
    def arms(self) -> tuple[Label, ...]:
        """All arms of the round, the best first: one unless several are played; where each individual is drawn
        independently, any number of positions."""
        if isinstance(self.arm, tuple):
            return self.arm
        return (self.arm,) if self.slate is None else self.slate[0]

    @property
    def indexes(self) -> tuple[int, ...]:
        """The positions of `arms`."""
        if isinstance(self.arm, tuple):
            return self.arm
        return (self.index,) if self.slate is None else self.slate[1]

    def to_dict(self) -> dict[str, Any]:
        """Return all that is known of the decision as plain data, for a log, JSON, or a row of a data frame."""
        chances = self.probabilities
        return {
            "id": self.id,
            "round": self.round,
            "arm": list(self.arm) if isinstance(self.arm, tuple) else self.arm,
            "index": self.index,
            "arms": list(self.arms),
            "indexes": list(self.indexes),
            "probabilities": None if chances is None else chances.tolist(),
            "propensity": self.propensity,
            "reason": self.reason,
            "reason_code": self.reason_code,
        }

    def __repr__(self) -> str:
        return f"Decision({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    def __eq__(self, other: object) -> bool:
        """Return whether all that is known is equal, whichever policy decided."""
        return self.to_dict() == other.to_dict() if isinstance(other, Decision) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.id, self.round, self.index))


class _Draft:
    """The fields of a decision before it is frozen, in the same layout."""

    __slots__ = Decision.__slots__

    def __init__(
        self,
        id: int,
        round: int,
        arm: Label,
        index: int,
        chance: Chance,
        reason: str,
        reason_code: str,
        slate: object,
        token: str,
    ) -> None:
        self.id, self.round, self.arm, self.index, self.chance = id, round, arm, index, chance
        self.reason, self.reason_code, self.slate, self.token = reason, reason_code, slate, token


def decided(*fields: Any) -> Decision:
    """Return the decision with all of these fields, in their order, as fast as `ask` needs it.

    A frozen dataclass sets each field by a call, a fifth of the time of `ask` and `tell`; a draft of the same layout is
    filled and becomes the decision.
    """
    draft: Any = _Draft(*fields)
    draft.__class__ = Decision
    return cast(Decision, draft)


@runtime_checkable
class Estimator(Protocol):
    """An object that is fitted to rows, as scikit-learn's estimators are."""

    def fit(self, *rows: object, **options: object) -> Any:
        """Learn from rows."""
        ...


@runtime_checkable
class Configurable(Protocol):
    """An object with settings named as in scikit-learn: estimators, kernels, and evenhand's policies and learners."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        ...


@runtime_checkable
class Savable(Protocol):
    """An object that a state file can hold: `type(it).restored(it.snapshot())` continues exactly where it stood."""

    def snapshot(self) -> dict[str, Any]:
        """Return all that it holds as plain data and arrays."""
        ...


@runtime_checkable
class Splitter(Protocol):
    """An object that splits rows into parts for cross-validation, as scikit-learn's splitters do."""

    def get_n_splits(self, *rows: object) -> int:
        """Return into how many parts the rows are split."""
        ...


@runtime_checkable
class Renewable(Protocol):
    """An object that can be made again, of the same configuration and without memory."""

    def fresh(self) -> Any:
        """Return another of the same configuration, without memory."""
        ...


@runtime_checkable
class Seeded(Protocol):
    """An object that starts its randomness anew from a seed."""

    def reset(self, seed: int) -> Any:
        """Start anew from a seed."""
        ...


@runtime_checkable
class Changeable(Protocol):
    """A policy whose promise can change while it decides."""

    def change(self, *shares: object, **limits: object) -> Any:
        """Promise other shares and limits from the next round on."""
        ...


@runtime_checkable
class Learner(Protocol):
    """Anything that picks an arm's index and learns from its reward; contextual learners take the contexts first.

    One with an attribute `own_choices` that is true is told of its own choices alone: `DeadlineLearn` holds a choice
    that its promise refuses until it can be granted. One with an attribute `among` that is true is told, last, the
    indices of the arms to choose among, and asked again where its choice may not be played.
    """

    def choose(self, *contexts_arms: object) -> int | Sequence[int]:
        """Return the index of the arm to play in this round, or a ranking of indices, the best first."""
        ...

    def update(self, *contexts_index_reward: object) -> None:
        """Learn from `(index, reward)`, or `(contexts, index, reward)`."""
        ...


@runtime_checkable
class Policy(Protocol):
    """Anything that decides: every ticket that `ask` hands out may be told once, at any later time, in any order."""

    def ask(self, *observed: object) -> Any:
        """Hand out a ticket; contextual policies are shown what the round shows."""
        ...

    def tell(self, ticket: object, *happened: object) -> None:
        """Bring back what happened, by ticket or by its id."""
        ...


@runtime_checkable
class Forgetting(Policy, Protocol):
    """A policy whose open tickets can be given up."""

    def forget(self, ticket: object) -> None:
        """Give up an open ticket: it can no longer be told."""
        ...


@runtime_checkable
class RoundReader(Protocol):
    """A policy that says what it reads in a round, so that two asks that show the same are recognized as one."""

    def _round_shown(self, *observed: object, **more: object) -> Any:
        """Return what the policy reads of all that an `ask` shows it."""
        ...


@runtime_checkable
class World(Protocol):
    """Whatever answers decisions: `policy.tell(d := policy.ask(*world.observe()), *world.respond(d))` is one round.

    For `eh.simulate` it has these attributes as well:

    Attributes
    ----------
    arms : the labels of the arms.
    scores : the names of what it adds up over the rounds, such as ("regret",); history variables of a simulation.
    totals : those sums since `reset`, as many as there are scores.
    """

    def reset(self, seed: int) -> None:
        """Start anew from a seed."""
        ...

    def observe(self) -> tuple[Any, ...]:
        """Begin a round and return what `ask` is shown, () where rounds show nothing."""
        ...

    def respond(self, ticket: object) -> tuple[Any, ...]:
        """Return what `tell` is told about the ticket of the round that was observed last."""
        ...


def id_of(ticket: object) -> Any:
    """Return the number of a ticket; anything else as it is."""
    return getattr(ticket, "id", ticket)


def columns_seen(model: object) -> list[Any] | None:
    """Return the names of the columns that an estimator was fitted on; None where they had none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def gives_probabilities(model: object) -> bool:
    """Return whether a model predicts probabilities; scikit-learn's may, by their settings, though all have the method
    in their class."""
    return hasattr(model, "predict_proba")


def composed(label: object) -> Any:
    """Return a label, or a tuple of labels, with its text in Unicode's composed form (NFC), so that what looks the same
    is the same. A member of `class Colour(str, Enum)` is its value.

    >>> composed("cafe\N{COMBINING ACUTE ACCENT}") == "caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    True
    """
    if isinstance(label, tuple):
        return tuple(map(composed, label))
    if not isinstance(label, str):
        return label
    text = str.__str__(label)  # str() of such a member is "Colour.RED"
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def label_of(value: object) -> Label | None:
    """Return the label that a value is, None where it is none: a fraction, a gap, bytes, a date, a list, a whole number
    of more than 64 bits.

    Text stays as it is written, in Unicode's composed form; whole numbers of any type are int, floats and decimals
    included; True and False are the texts "true" and "false".

    >>> label_of("01"), label_of(np.float64(1.0)), label_of(True), label_of(0.5)
    ('01', 1, 'true', None)
    """
    if isinstance(value, str):
        return cast(str, composed(value))
    if isinstance(value, (bool, np.bool_)):
        return TRUE if value else FALSE
    if is_whole(value):
        return int(value) if abs(int(value)) < 2**64 else None
    if isinstance(value, Decimal):
        most, sound = LARGEST_LABEL, value.is_finite()
    elif isinstance(value, (float, np.floating)):  # beyond its digits a float may be any of several whole numbers
        kind = float if isinstance(value, float) else type(value)  # not that of class X(float, Enum)
        most, sound = 2 ** (np.finfo(kind).nmant + 1) - 1, bool(np.isfinite(value))
    else:
        return None
    return int(value) if sound and -most <= value <= most and value == int(value) else None


def as_label(value: object) -> Any:
    """Return a value, or a tuple of values, as its label; what is none as it is, for the caller to judge.

    >>> as_label((np.int64(1), 2.0, "a")), as_label(True), as_label(0.5)
    ((1, 2, 'a'), 'true', 0.5)
    """
    if isinstance(value, tuple):
        return tuple(map(as_label, value))
    read = label_of(value)
    return value if read is None else read


def writing(label: object) -> Any:
    """Return how a label, or a tuple of labels, is written: two labels are the same where their writings are.

    A number is written with its digits, so that "1" is 1, while "01", "1.0", "+1" and "1_0" are texts of their own.

    >>> writing(1), writing("01"), writing("True")
    ('1', '01', 'true')
    """
    if isinstance(label, tuple):
        return tuple(map(writing, label))
    read = label_of(label)
    if read is None and not (isinstance(label, (float, np.floating)) and label == label):
        return label
    text = str(label if read is None else read)  # columns hold fractions by their texts
    return TRUTHS.get(text) or (text if text.isascii() else unicodedata.normalize("NFC", text))


def value_of(label: Label) -> bool | int | float | str:
    """Return what a label says, where that is a truth value or a number: files and tables hold them as texts.

    >>> [value_of(label) for label in (1, "1", "0.50", "true", "False", "01", "low")]
    [1, 1, 0.5, True, False, '01', 'low']
    """
    if not isinstance(label, str):
        return label
    if (written := writing(label)) in (TRUE, FALSE):
        return bool(written == TRUE)
    if WHOLE.fullmatch(label):
        return int(label)
    return float(label) if FRACTION.fullmatch(label) else label


def first_named(label: object, names: dict[Any, Any]) -> Any:
    """Return the label by which the same one was named first; `names` remembers it by its writing.

    >>> names = {}
    >>> first_named(1, names), first_named("1", names), first_named("01", names)
    (1, 1, '01')
    """
    return names.setdefault(writing(label), label)


def distinct(labels: Iterable[Any]) -> list[Any]:
    """Return labels, of those that are the same the first.

    >>> distinct([1, "a", "1", "01"])
    [1, 'a', '01']
    """
    names: dict[Any, Any] = {}
    return list(dict.fromkeys(first_named(label, names) for label in labels))


def labels_of_texts(texts: Sequence[Any]) -> list[Any]:
    """Return labels that stand in a list of texts: numbers where each of them is written as a whole number, else the
    texts as they are, so that codes such as 01 stay what they are.

    >>> labels_of_texts(["1", "2"]), labels_of_texts(["1", "01", "2"]), labels_of_texts(["1_0", "2"])
    ([1, 2], ['1', '01', '2'], ['1_0', '2'])
    """
    whole = all(WHOLE.fullmatch(str(text)) for text in texts)
    return [int(text) for text in texts] if whole else list(texts)


def arm_labels(arms: int | Sequence[Label], name: str = "arms", *, least: int = 2) -> tuple[Label, ...]:
    """Return the labels of the arms: those given, in Unicode's composed form, or 0 .. n-1 for a number.

    Refusals speak of `name`.

    >>> arm_labels(3), arm_labels(["ads", "news"])
    ((0, 1, 2), ('ads', 'news'))

    Raises
    ------
    ArgumentError
        If there are fewer than `least` arms, two or one, or more than `MOST_ARMS`, a label twice, a label that is
        neither str nor int, or a set of labels, which has no order.
    """
    if is_whole(arms):
        if arms > MOST_ARMS:
            raise ArgumentError(expected(name, f"at most {MOST_ARMS:,} {name}", arms))
        labels: tuple[Label, ...] = tuple(range(int(arms)))
    elif (
        isinstance(arms, (str, bytes, set, frozenset))
        or not isinstance(arms, Iterable)
        or dimensions(arms) != 1
        or is_frame(arms)
    ):
        raise ArgumentError(expected(name, f"a number of {name} or a list of labels", arms))
    else:
        labels = tuple(map(as_label, arms))
    if len(labels) > MOST_ARMS:
        raise ArgumentError(expected(name, f"at most {MOST_ARMS:,} {name}", len(labels)))
    if len(labels) < least:
        raise ArgumentError(expected(name, f"at least two {name}" if least == 2 else "at least one", arms))
    for label in labels:
        if not isinstance(label, (str, int)):
            raise ArgumentError(expected(name, "labels that are str or int", label, "turn them into text first"))
        if isinstance(label, int) and abs(label) > LARGEST_LABEL:
            raise ArgumentError(expected(name, "numbers below 2^63", label, "turn them into text first"))
    several = Counter(TRUTHS.get(label, label) if isinstance(label, str) else label for label in labels)
    if len(several) < len(labels):
        twice = next(label for label, times in several.items() if times > 1)
        raise ArgumentError(expected(name, "each label once", twice, "it appears twice"))
    return labels
