"""Every exception that evenhand raises on purpose.

    EvenhandError
    ├── ArgumentError            (also ValueError)   an argument is not what was expected
    │   ├── SharesError          shares that cannot be promised
    │   ├── RewardError          a reward that is not finite, or outside the range of the policy
    │   ├── ContextError         contexts of another shape, or not finite
    │   ├── UnknownArmError      an arm (or group, or candidate) that the policy does not have
    │   ├── VerdictError         a verdict on a pair that was not judged, or that no metric agrees with
    │   ├── TableError           a data frame or file; names the row and the column
    │   ├── ModelError           (also RuntimeError)  a user's model failed while it trained or predicted
    │   └── TicketError          a ticket that cannot be told or forgotten
    │       ├── UnknownTicketError   never handed out by this policy
    │       ├── ClosedTicketError    told or forgotten before
    │       │   └── ContradictionError   told before, and otherwise
    │       └── ForeignTicketError   another policy's or study's, or signed by nobody
    ├── StateFileError           a saved policy that is truncated, foreign or of another format
    ├── StoreError               a store of studies that cannot be reached, or has another schema
    │   ├── UnreachableError     its database did not answer, which says nothing of what it holds
    │   └── UnknownStudyError    no study of that name is in the store
    ├── ReplayError              a study's log does not lead to what was decided
    │   └── ErasedError          what it would be replayed with was erased
    ├── ContractError            a policy or world breaks the contract of `evenhand.checks`
    ├── RegistryError            a name that is not registered, or is registered twice
    ├── MissingExtraError        (also ImportError)  an optional dependency is not installed
    ├── ServiceError             a service that refuses a client, cannot be reached, or sends what cannot be read
    ├── ExhaustedError           nothing is left to ask for: every pool is used up, or the budget is spent
    ├── DatasetError             a data set that is absent and cannot be fetched, or has another checksum
    └── SimulationInterrupted    stopped by the user; `.partial` holds what was done

A refused call changes nothing: the check comes before the first write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from numbers import Integral, Real
from os import PathLike
from pathlib import PurePath
from typing import Any, Self, SupportsIndex

SHOWN = 80
"""Characters of a value in a refusal."""
NAMED = 8
"""Names in a refusal that lists what there is."""
MOST_BITS = 1024
"""A longer whole number in a refusal is a text: Python does not write all of them."""
PYTHON_IN_JSON = {"None": "null", "True": "true", "False": "false"}
SERVER = re.compile(r"((?::/|//|postgres\w*:)[^\s:/]*:)(?:(?:(?!://)[^\n])*@(?=[\w.:\[\]-]*/)|\S*@)", re.IGNORECASE)
"""A user and a password in an address; the password may hold an @, and blanks too where a host and a / follow."""
SECRET = re.compile(
    r"(\b\w*(?:password|passwd|pwd|secret)\s*=\s*)"
    r"(?:\\?(['\"])(?:\\.|(?!\2)[^\\\n])*\2|(?:\\.|[^\s'\"\\]|['\"](?=\w))+(?<![,;:.)]))",
    re.IGNORECASE,
)
"""A password by its name, up to the blank, or the quotation mark, that ends it."""
SEARCHED = 10_000
"""Names among which the nearest are looked for."""


class EvenhandError(Exception):
    """The root of everything that evenhand raises on purpose; its message shows no password of an address."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(_masked(one) if isinstance(one, str) else one for one in args))

    repeatable = False
    """Whether the same call may succeed later, though nothing is mended, and does nothing twice. A decision that has no
    key of its own was perhaps taken, and another one is taken then."""

    @property
    def refusal(self) -> Refusal | None:
        """The parts of the message, where it says what was expected and what came."""
        return next((one for one in self.args[:1] if isinstance(one, Refusal)), None)


class ArgumentError(EvenhandError, ValueError):
    """An argument is not what was expected."""


class SharesError(ArgumentError):
    """The shares cannot be promised."""


class RewardError(ArgumentError):
    """A reward is not finite, or outside the range of the policy."""


class ContextError(ArgumentError):
    """Contexts have another shape than the policy's, or are not finite."""


class UnknownArmError(ArgumentError):
    """An arm, group or candidate that the policy does not have."""


class VerdictError(ArgumentError):
    """A verdict is about a pair that was not judged, or no metric agrees with it and those before.

    `verdicts` holds the ids of those before that it contradicts.
    """

    def __init__(self, message: str, verdicts: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.verdicts = list(verdicts)


class TableError(ArgumentError):
    """A data frame or a file cannot be used; the message names the row and the column."""


class ModelError(ArgumentError, RuntimeError):
    """A user's model failed while it trained or predicted; `__cause__` is what it raised."""


class TicketError(ArgumentError):
    """A ticket cannot be told or forgotten."""


class UnknownTicketError(TicketError):
    """The ticket was never handed out by this policy."""


class ClosedTicketError(TicketError):
    """The ticket was told or forgotten before."""


class ContradictionError(ClosedTicketError):
    """The ticket was told before, with something else."""


class ForeignTicketError(TicketError):
    """The ticket belongs to another policy or study, or was signed by nobody."""


class StateFileError(EvenhandError):
    """A saved policy is truncated, foreign or of another format."""


class StoreError(EvenhandError):
    """A store of studies cannot be reached, or has another schema."""


class UnreachableError(StoreError):
    """A store's database did not answer: it was stopped, is locked or full, or the connection was lost."""

    repeatable = True


class UnknownStudyError(StoreError):
    """No study of that name is in the store."""


class ReplayError(EvenhandError):
    """A study's log does not lead to what was decided."""


class ErasedError(ReplayError):
    """The contexts of a decision were erased, so that it cannot be replayed."""


class ContractError(EvenhandError):
    """A policy or a world breaks the contract of `evenhand.checks`."""


class RegistryError(EvenhandError):
    """A name is not registered, or is registered twice."""


class MissingExtraError(EvenhandError, ImportError):
    """An optional dependency is not installed."""


class ServiceError(EvenhandError):
    """A service refuses a client, cannot be reached, or sends what cannot be read.

    `status` is the status of the HTTP response and `name` the service's name of the error, such as "RoleError"; both
    are None if no response came. `repeatable` says whether the request may be sent again.
    """

    def __init__(self, message: str, status: int | None = None, name: str | None = None) -> None:
        super().__init__(message)
        self.status, self.name = status, name


class ExhaustedError(EvenhandError):
    """Nothing is left to ask for: every pool is used up, or the budget is spent."""


class DatasetError(EvenhandError):
    """A data set is absent and cannot be fetched, or has another checksum than published."""


class SimulationInterrupted(EvenhandError):
    """The user stopped a simulation; `partial` holds the replications that were done, or None."""

    def __init__(self, message: str, partial: object = None) -> None:
        super().__init__(message)
        self.partial = partial


_ERRORS = [name for name, thing in globals().items() if isinstance(thing, type) and issubclass(thing, EvenhandError)]
__all__ = ["Refusal", "Wording", "expected", *_ERRORS]


def __dir__() -> list[str]:
    return __all__


def masked(text: str) -> str:
    """Return a text with *** for the passwords of addresses in it.

    >>> masked("postgresql://me:x@y@host/db?sslpassword=z"), masked("host=h password='x y'")
    ('postgresql://me:***@host/db?sslpassword=***', 'host=h password=***')
    """
    return SERVER.sub(r"\1***@", SECRET.sub(r"\1***", text))


class Wording(str):
    """Words to a program, of which the shell says some otherwise.

    Parts that are no text are values: Python prints them, the shell writes them as they are typed. With `shell` it says
    that in place of all parts.

    >>> Wording("one of ", ["a", "b"])
    "one of ['a', 'b']"
    """

    parts: tuple[Any, ...]

    def __new__(cls, *parts: object, shell: str | None = None) -> Self:
        words = super().__new__(cls, masked("".join(one if isinstance(one, str) else repr(one) for one in parts)))
        words.parts = parts if shell is None else (shell,)
        return words

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> Self:
        """Return words in which others stand for `old`, also where the shell says something else."""
        words = type(self)(super().replace(old, new, count))
        for name, said in vars(self).items():
            every = said if isinstance(said, tuple) else (said,)
            changed = tuple(one.replace(old, new, count) if isinstance(one, str) else one for one in every)
            setattr(words, name, changed if isinstance(said, tuple) else changed[0])
        return words


def argument(name: str, value: object = None) -> Wording:
    """Return an argument as programs write it, which the shell calls an option.

    >>> argument("rounds"), argument("stationary", True)
    ('rounds=', 'stationary=True')
    """
    option, typed = f"--{name.replace('_', '-')}", "" if value is None or value is True else f" {value}"
    return Wording(f"{name}={'' if value is None else repr(value)}", shell=option + typed)


NOTHING = Wording("None", shell="nothing")
"""What is expected where an argument is to be left out."""


class Refusal(Wording):
    """What is refused: the argument's `name`, what was `expected`, what it `got`, and a `hint` how to mend it.

    `got` is plain data, cut where it is long, or a `Wording` that describes what came.
    """

    name: str
    expected: str
    got: Any
    hint: str


def expected(name: str, what: str, got: Any, hint: str = "") -> Refusal:
    """Word a refusal: the argument's name, what was expected, what came, how to mend it.

    >>> expected("tolerance", "a number >= 0", -1, "use 0.0 for the strict promise")
    'tolerance: expected a number >= 0, got -1; use 0.0 for the strict promise'
    """
    if is_sparse(got):
        got, hint = Wording(f"a sparse matrix of shape {got.shape}"), "pass its .toarray()"
    return _refusal(name, what, shown(got), got, hint)


def _refusal(name: str, what: str, said: str, got: object, hint: str) -> Refusal:
    refusal = Refusal(f"{name}: expected {what}, got {said}" + (f"; {hint}" if hint else ""))
    value = got if isinstance(got, Wording) else _beginning(_plain(got))
    refusal.got = value if _is_data(value) else Wording(said)
    refusal.name, refusal.expected, refusal.hint = map(_masked, (name, what, hint))
    return refusal


def read_refusal(message: str, sent: Mapping[str, Any]) -> Refusal:
    """Return the refusal of which a service sent the message and the parts.

    >>> read_refusal("count: expected ...", {"argument": "count", "expected": "a number", "got": "x", "hint": None}).got
    'x'
    """
    refusal = Refusal(message)
    refusal.name, refusal.expected, refusal.got = str(sent["argument"]), str(sent["expected"]), sent["got"]
    refusal.hint = sent["hint"] or ""
    return refusal


def shown(got: object) -> str:
    """Return what came as Python prints it, cut where it is long."""
    try:
        text = repr(_beginning(_plain(got)))
    except ValueError:  # Python prints no whole number of more than 4300 digits
        return f"a {type(got).__name__} too long to print"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _plain(got: Any) -> Any:
    if isinstance(got, PurePath):
        return str(got)
    return got.item() if getattr(got, "ndim", 1) == 0 else got


def _is_data(value: object) -> bool:
    """Return whether a value holds nothing but texts and numbers, so that an error that keeps it can be sent on."""
    if isinstance(value, (list, tuple, dict)):
        return all(map(_is_data, [*value, *(value.values() if isinstance(value, dict) else ())]))
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return False
    return value is None or isinstance(value, (str, Real))


def _masked(words: str) -> str:
    return words if isinstance(words, Wording) else masked(words)


def is_sparse(value: object) -> bool:
    """Return whether a value is a sparse matrix or array of scipy."""
    return type(value).__module__.startswith("scipy.sparse")


def is_path(value: object) -> bool:
    """Return whether a value is a path, and not an address with a password."""
    return isinstance(value, (str, PathLike)) and masked(str(value)) == str(value)


def figure(value: float, digits: int = 6) -> str:
    """Write a number for people: so many significant digits, and never an exponent.

    >>> figure(1e-09), figure(1.2e9), figure(0.1 + 0.2), figure(1.0)
    ('0.000000001', '1,200,000,000', '0.3', '1')
    """
    return f"{Decimal(f'{value:.{digits}g}'):,f}"


def first_few(texts: Sequence[Any], most: int, joint: str = ", ") -> str:
    """Return the first few of some texts, and how many more there are.

    >>> first_few(["a", "b", "c"], 3), first_few(["a", "b", "c"], 1)
    ('a, b, c', 'a and 2 more')
    """
    return joint.join(map(str, texts[:most])) + f" and {len(texts) - most} more" * (len(texts) > most)


def expected_one_of(name: str, known: Iterable[Any], got: object, *, what: str = "one of", hint: str = "") -> Refusal:
    """Word the refusal of a name that is none of those known: the nearest few of them, which was probably meant, and
    the types where these differ.

    >>> expected_one_of("column", ["age", "sex"], "Sex")
    "column: expected one of ['age', 'sex'], got 'Sex'; did you mean 'sex'?"
    >>> expected_one_of("column", [f"x{i}" for i in range(44)], "reward")
    "column: expected one of ['x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7'] and 36 more, got 'reward'"
    >>> expected_one_of("arm", [10, 20], "1_0")
    "arm: expected one of [10, 20] (whole numbers), got '1_0' (text); did you mean 10?"
    """
    known = list(known)
    texts = {str(one): one for one in islice(known, SEARCHED)}
    named, meant = known, nearest(got, known)
    if len(known) > NAMED:
        near = nearest(got, known, NAMED)
        named = [texts[text] for text in near]
        named += islice((one for text, one in texts.items() if text not in near), NAMED - len(near))
    expected = [f"{what} ", named] + [f" and {len(known) - len(named)} more"] * (len(known) > len(named))
    hint = hint or (f"did you mean {texts[meant[0]]!r}?" if meant else "")
    if of_one_type(known, got):
        return _refusal(name, Wording(*expected), shown(got), got, hint)
    typed = Wording(f"{shown(got)} ({_kind(got)})")
    return _refusal(name, Wording(*expected, f" ({_kinds(known)})"), typed, typed, hint)


def expected_label(name: str, what: str, known: Iterable[Any], got: object, hint: str = "") -> Refusal:
    """Word the refusal of a label that is none of those known; where it is of another type, these and both types are
    said.

    >>> expected_label("column 'arm'", "an arm that has a share", [1, 2], 3)
    "column 'arm': expected an arm that has a share, got 3"
    >>> expected_label("column 'arm'", "an arm that has a share", [1, 2], "01")
    "column 'arm': expected an arm that has a share, one of [1, 2] (whole numbers), got '01' (text); did you mean 1?"
    """
    known = list(known)
    if of_one_type(known, got):
        return expected(name, what, got, hint)
    return expected_one_of(name, known, got, what=f"{what}, one of", hint=hint)


def none_for(label: object, given: Iterable[Any], known: Collection[Any] = ()) -> str:
    """Say that nothing is given for a label, and the types where what is given beside `known` labels is of another.

    >>> none_for("c", ["a", "b"]), none_for(1, ["01", 2], [1, 2])
    ("none for 'c'", "none for 1 (a whole number) among ['01'] (text)")
    """
    known = [one for one in given if one not in known]
    if of_one_type(known, label):
        return f"none for {label!r}"
    return f"none for {label!r} ({_kind(label)}) among {shown(known)} ({_kinds(known)})"


def of_one_type(known: Sequence[Any], got: object) -> bool:
    """Return whether one of these labels is of the type of another."""
    kind = _kind(got)
    return not known or any(_kind(one) == kind for one in known)


def _kinds(labels: Sequence[Any]) -> str:
    return " and ".join(dict.fromkeys(_kind(one, several=True) for one in islice(labels, SEARCHED)))


def _kind(label: object, *, several: bool = False) -> str:
    """Return the type of a label in words."""
    if isinstance(label, str):
        return "text"
    name = type(label).__name__
    if name in ("bool", "bool_"):
        name = "truth value"
    elif isinstance(label, Real):
        name = "whole number" if isinstance(label, Integral) else "number"
    return f"{name}s" if several else f"a {name}"


def nearest(name: object, known: Iterable[Any], most: int = 1, likeness: float = 0.6) -> list[str]:
    """Return the names that are most like another, the nearest first; the case of letters makes no difference.

    >>> nearest("Propensty", ["arm", "propensity", "reward"])
    ['propensity']
    """
    from difflib import get_close_matches

    folded = {str(one).casefold(): str(one) for one in islice(known, SEARCHED)}
    return [folded[text] for text in get_close_matches(str(name)[:SHOWN].casefold(), folded, n=most, cutoff=likeness)]


def _beginning(value: Any, depth: int = 5) -> Any:
    """Return as much of a value as a refusal shows, so that a huge one costs no more than a small one."""
    if type(value) is str:
        return masked(value[: SHOWN * SHOWN])[:SHOWN]
    if type(value) is bytes:
        return value[:SHOWN]
    if depth and type(value) in (list, tuple):
        return type(value)(_beginning(item, depth - 1) for item in value[:SHOWN])
    if depth and type(value) is dict:
        return {_beginning(key, 0): _beginning(item, depth - 1) for key, item in islice(value.items(), SHOWN)}
    return value


def is_broken(error: BaseException) -> bool:
    """Return whether evenhand is half installed: a module of its own lacks what another imports, whatever the input."""
    own = isinstance(error, ImportError) and str(error.name).partition(".")[0] == "evenhand"
    return own and not isinstance(error, (EvenhandError, ModuleNotFoundError))


def why_unreadable(error: BaseException) -> str:
    """Return in words what a program that reads files says of one that it cannot read."""
    import csv
    import json

    words = str(error).strip()
    if cells := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", words):
        wide, line, found = cells.groups()
        return f"line {line} has {found} cells, the lines before it {wide}; quote cells that hold the separator"
    if quoted := re.search(r"EOF inside string starting at row (\d+)", words):
        row = f"row {quoted[1]}" if quoted[1] != "0" else "the header"
        return f"a quotation mark is opened in {row} and never closed"
    if isinstance(error, csv.Error):
        return "it is not a text file"
    if isinstance(error, UnicodeDecodeError):
        return "it is not text in UTF-8"
    if isinstance(error, OSError):
        return str(error.strerror or words).lower()
    words = re.sub(r" \(char \d+\)$", "", words)
    if isinstance(error, json.JSONDecodeError) and (python := re.match("None|True|False", error.doc[error.pos :])):
        words += f"; JSON writes {PYTHON_IN_JSON[python[0]]} for {python[0]}"
    return words.removeprefix("Error tokenizing data. ").removeprefix("C error: ")


def file_said(path: object) -> str:
    """Return what messages call a file that was named, where `-` is standard input."""
    return "standard input" if str(path) == "-" else str(path)
