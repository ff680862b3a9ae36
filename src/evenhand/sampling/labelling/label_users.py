"""The users of labelling tools: which names are those of one user, and which annotator of the queue that is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from evenhand.errors import ArgumentError, expected, expected_one_of
from evenhand.protocol import label_of

WHOLE = re.compile(r"([0-9]+)\.0+")
"""A number that stood in a column with empty cells."""


def names_of(user: object, account: object = None) -> tuple[str, ...]:
    """Return the names of a user, the most telling first: the email, name, number and full name of an object, or the
    user as it is, with what an account such as "ann@example.org, 7" says of the same user. Emails are in lower case.

    >>> names_of({"id": 7, "email": "Ann@example.org", "first_name": "Ann", "last_name": "Lee"})
    ('ann@example.org', '7', 'Ann Lee')
    >>> names_of(None, " ann@example.org, 7"), names_of(7.0, "ann@example.org, 7"), names_of("7.0"), names_of("")
    (('ann@example.org', '7'), ('ann@example.org', '7'), ('7',), ())
    """
    if isinstance(user, dict):
        both = " ".join(str(user.get(part) or "") for part in ("first_name", "last_name"))
        return _texts([user.get("email"), user.get("username"), user.get("id"), both])
    alone, more = _texts([user]), _texts(account.rsplit(",", 1)) if isinstance(account, str) else ()
    return more if set(alone) <= set(more) else alone


def _texts(names: Iterable[Any]) -> tuple[str, ...]:
    read = [label if (label := label_of(name)) is not None else name for name in names if name is not None]
    texts = [WHOLE.sub(r"\1", text) if WHOLE.fullmatch(text) else text for text in (str(name).strip() for name in read)]
    return tuple(dict.fromkeys(text.lower() if "@" in text else text for text in texts if text))


def read_annotator(annotator: object) -> str | None:
    """Return the name of an annotator, or None.

    Raises
    ------
    ArgumentError
        If it is neither.
    """
    if annotator is not None and (not isinstance(annotator, str) or not annotator):
        raise ArgumentError(expected("annotator", "a name", annotator))
    return annotator


class Users:
    """What files have said of their users so far.

    A name alone, such as a number, is that of the user whose record held it beside a more telling one; if several
    users have it, it is nobody's.

    Attributes
    ----------
    above : name -> the more telling names that it was met beside.
    annotators : name -> the annotator of the queue that labels were told of.
    """

    def __init__(self) -> None:
        self.above: dict[str, list[str]] = {}
        self.annotators: dict[str, str] = {}

    def meet(self, names: Sequence[str]) -> None:
        """Take over that these are the names of one user, the most telling first."""
        for name in names[1:]:
            self.above.setdefault(name, [])
            self.above[name] += [names[0]] * (names[0] not in self.above[name])

    def user(self, name: str) -> str:
        """Return the most telling name of the user who has this one.

        Raises
        ------
        ArgumentError
            If several users have it.
        """
        found = self._most_telling(name)
        if len(found) > 1:
            whose = f"it is that of {' and of '.join(map(repr, found))}"
            raise ArgumentError(expected("annotator", "the name of one user", name, whose))
        return found[0]

    def names(self, user: str) -> list[str]:
        """Return the names that this user alone has, the most telling first."""
        return [user, *(name for name in self.above if name != user and self._most_telling(name) == [user])]

    def _most_telling(self, name: str) -> list[str]:
        met = [name]
        for one in met:
            met += [other for other in self.above.get(one, ()) if other not in met]
        return sorted(one for one in met if not self.above.get(one)) or [min(met)]

    def named(self, given: Mapping[Any, str], here: Collection[str]) -> dict[str, str]:
        """Return who the users are as the caller says, by their most telling names; `here` are the users of a file.

        Raises
        ------
        ArgumentError
            If a user appears twice, or is nobody in the file while somebody in it has no name.
        """
        forms: dict[str, Any] = {}
        for form in given:
            (user,) = map(self.user, names_of(form)[:1] or [str(form)])
            if given[forms.setdefault(user, form)] != given[form]:
                twice = f"it appears twice, as {forms[user]!r} and as {form!r}"
                raise ArgumentError(expected("annotator", "one name for each user", user, twice))
        unnamed = [user for user in here if user not in forms]
        absent = [user for user in forms if user not in here]
        if unnamed and absent:
            known = [name for user in unnamed for name in self.names(user)]
            hint = "name every user of the file, or leave out those who are not in it"
            raise ArgumentError(expected_one_of("annotator", known, absent[0], what="users of the file,", hint=hint))
        return {user: given[form] for user, form in forms.items()}

    def annotator(self, user: str, named: Mapping[str, str], known: Mapping[str, str]) -> str:
        """Return the annotator that a user is: as before, as the caller names it, by a name that the queue knows, or by
        the most telling name.

        Raises
        ------
        ArgumentError
            If the user was another annotator before, or two of them.
        """
        names = self.names(user)
        before = sorted({self.annotators[name] for name in names if name in self.annotators})
        if before and (len(before) > 1 or named.get(user, before[0]) != before[0]):
            told = " and ".join(map(repr, before))
            hint = "read the files together into a new queue" if len(before) > 1 else "keep that name"
            got = named.get(user, "one user, as this file shows")
            raise ArgumentError(expected(f"annotator {user}", f"{told}, as labels were told before", got, hint))
        asked = [known[name] for name in names if name in known]
        return next(iter([*before, *([named[user]] if user in named else []), *asked, user]))

    def remember(self, user: str, annotator: str) -> None:
        """Take over that labels of this user were told as those of an annotator."""
        self.annotators |= dict.fromkeys(self.names(user), annotator)

    def snapshot(self) -> list[list[Any]]:
        """Return what is known as plain data."""
        return [
            [name, self.above.get(name, []), self.annotators.get(name)] for name in {**self.above, **self.annotators}
        ]

    def restore(self, rows: Any) -> None:
        """Take over what `snapshot` returned."""
        for name, above, annotator in rows:
            self.above |= {name: above} if above else {}
            self.annotators |= {} if annotator is None else {name: annotator}
