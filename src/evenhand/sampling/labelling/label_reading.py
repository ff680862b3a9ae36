"""The labels of a file, told to a queue: either all of them, or none, with an error that names every wrong one."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.errors import (
    ArgumentError,
    ContradictionError,
    ModelError,
    UnknownTicketError,
    Wording,
    expected,
    first_few,
    is_path,
)
from evenhand.frames import is_frame
from evenhand.labels import Labels
from evenhand.protocol import Label
from evenhand.sampling.labelling.label_assignment import Rehearsal
from evenhand.sampling.labelling.label_files import LEFT_OPEN, Said, read_labels
from evenhand.sampling.labelling.label_items import LABELLED, OPEN, REJECTED
from evenhand.sampling.labelling.label_tickets import LabelState, holders, lacks, pass_on
from evenhand.sampling.labelling.label_users import Users, names_of, read_annotator

SHOWN = 12
"""How many reasons a refusal says, and how many labels it names for each."""


class Row(NamedTuple):
    """A label of one of the queue's items; None rejects the item."""

    place: str
    item: Label
    label: Label | None
    who: str | None
    user: str | None
    """Who that is in the labelling tool."""
    rejected: bool = False
    """Whether somebody else rejects the item in the same file."""


def tell_file(
    queue: LabelState,
    source: Any,
    encoding: str | None,
    annotator: str | Mapping[Any, str] | None,
    name: str | None,
    control: str | None,
) -> dict[str, int]:
    """Tell what a file, or a data frame, says; return how many labels were "told" and "left" open, how
    many items "rejected", and where there are some, how many of both had been told before, as "repeated", how many
    labels are by "others" than those to whom the item was handed, and how many answers of other controls were
    "passed_over".

    Parameters
    ----------
    annotator : who gave the labels of which the file does not say it, or the annotators by the tool's names for them.
    name : what error messages call the file or the frame.

    Raises
    ------
    ArgumentError
        If an argument has another form, or one of the labels cannot be told, of the kind that the first one is; nothing
        was told then.
    ModelError
        If the model fails; those before are told then, and count as repeated when the file is read again.
    """
    for one in annotator.values() if isinstance(annotator, Mapping) else [annotator]:
        read_annotator(one)
    if not (table := is_frame(source)) and not is_path(source):
        raise ArgumentError(expected("path", "the path of a file, or a data frame", source))
    if name is not None and not isinstance(name, str):
        raise ArgumentError(expected("name", "what error messages call the file", name))
    if control is not None and (not isinstance(control, str) or not control):
        raise ArgumentError(expected("control", "the name of a control or a column, or None", control))
    users = copy.deepcopy(queue._users)
    try:
        name = name or ("labels" if table else Path(source).name)
        said = read_labels(source, encoding, name, control)
        rows, refusals = _rows_of(queue, said, annotator, users)
    except ArgumentError as refusal:
        raise type(refusal)(Wording(refusal.args[0], "; nothing was recorded")) from refusal
    trial, outcomes = _rehearsal(queue), Counter[str]()
    for row in rows:
        try:
            _tell(trial, row)
        except ArgumentError as refusal:
            words = refusal.args[0].replace(f"id {row.item!r}: ", "", 1).replace("; nothing has changed", "")
            refusals.append((f"{row.place}, item {row.item!r}", type(refusal)(words)))
    if refusals:
        where: dict[str, dict[str, None]] = {}
        for place, error in refusals:
            where.setdefault(error.args[0], {})[place.removeprefix(f"{name}, ")] = None
        reasons = [Wording(f"{name}, {first_few([*found], SHOWN)}: ", words, "; ") for words, found in where.items()]
        more = f"and {len(reasons) - SHOWN} more; " * (len(reasons) > SHOWN)
        hint = f"{more}nothing was recorded: fix them, or remove them from the file"
        raise type(refusals[0][1])(Wording(*reasons[:SHOWN], hint))
    for before, row in enumerate(rows):
        try:
            outcomes[_tell(queue, row)] += 1
        except ModelError as error:
            words = f"{error}".replace("; nothing has changed", "")
            kept = f"the {before} labels before {row.place} are recorded: read the same file again for the others"
            raise ModelError(f"{words}; {kept}") from error
    for user, who in {(row.user, row.who) for row in rows}:
        if user is not None and who is not None:
            users.remember(user, who)
    queue._users = users
    left = sum(one.label is LEFT_OPEN for one in said)
    told = outcomes["told"] + outcomes["others"]
    counts = {"told": told, "rejected": outcomes["rejected"], "left": left}
    outcomes["passed_over"] = sum(one.passed_over for one in said)
    return counts | {name: outcomes[name] for name in ("repeated", "others", "passed_over") if outcomes[name]}


def _rows_of(
    queue: LabelState, said: Sequence[Said], annotator: str | Mapping[Any, str] | None, users: Users
) -> tuple[list[Row], list[tuple[str, ArgumentError]]]:
    """Return the labels by the queue's own ids and names, then the items to reject; and where the others are, and what
    refuses them. What they say of users is added to these."""
    texts = _texts(queue)
    default, given = (None, annotator) if isinstance(annotator, Mapping) else (annotator, {})
    whose = _annotators(queue, said, given, users)
    rows: list[Row] = []
    refusals: list[tuple[str, ArgumentError]] = []
    unnamed: set[Label] = set()
    classes: list[Label] = []
    for one in said:
        try:
            item = _item(one, queue._items.labels, texts)
            if one.label is LEFT_OPEN:
                continue
            user = users.user(one.users[0]) if one.users else None
            who = default if user is None else whose(user)
            asked = holders(queue, queue._items.position(item))
            if who is None and asked and None not in asked:
                hint = "add a column annotator, or say who filled in the file"
                raise ArgumentError(expected("annotator", " or ".join(map(str, asked)), Wording("nobody"), hint))
            if who is None and item in unnamed:
                what = "each item once for each annotator"
                raise ArgumentError(
                    expected("label", what, Wording("it twice"), "say who labels, in a column annotator")
                )
            if one.label is not None and one.label not in classes:
                classes.append(queue.sampler.read_labels([*classes, one.label])[-1])
        except ArgumentError as refusal:
            refusals.append((f"{one.place}, item {one.item!r}", refusal))
            continue
        unnamed |= {item} if who is None else set()
        rows.append(Row(one.place, item, one.label, who, user))
    rejected = {row.item: row for row in reversed(rows) if row.label is None}
    labelled = [row._replace(rejected=row.item in rejected) for row in rows if row.label is not None]
    return [*labelled, *rejected.values()], refusals


def _tell(queue: LabelState, row: Row) -> str:
    """Tell one label; return what came of it."""
    position = queue._items.position(row.item)
    state, asked = queue._items.state[position], holders(queue, position)
    if row.rejected or row.label is None:
        if state == REJECTED:
            return "repeated"
        if row.rejected:  # an item that somebody rejects has no label
            return "told"
    else:
        label = queue.sampler.read_label(row.label)
        mine = [before for who, before in queue._annotations.given.get(position, ()) if who == row.who]
        again = mine if row.who is not None or (state == LABELLED and not asked) else []
        if label in again[-1:]:
            return "repeated"
        if again and row.who is not None:
            was = f"{row.who} labelled it {again[-1]!r} before, not {label!r}"
            python = f"{was}; name the users, 1=ann,2=bob, if these are two people; correct() changes a label"
            shell = f"{was}; pass --annotator-of 1=ann,2=bob, if these are two people; --correct changes a label"
            raise ContradictionError(Wording(python, shell=shell))
    handed = {row.who, None}.intersection(asked)
    if state in (OPEN, LABELLED) and row.who is not None and not handed:
        if lacks(queue, position) > 0:  # somebody who was not asked has labelled an item that needs another label
            queue._hand_to(position, row.who)
        elif asked:  # or one that somebody else was asked for
            pass_on(queue, position, row.who)
    queue.tell(row.item, row.label, annotator=row.who)
    if row.label is None:
        return "rejected"
    return "others" if row.who is not None and asked and not handed else "told"


def _rehearsal(queue: LabelState) -> Any:
    """Return a queue that labels can be told on trial: it shares everything but what they change."""
    trial: Any = object.__new__(type(queue))
    vars(trial).update(vars(queue))
    trial._items = copy.copy(queue._items)
    trial._items.state = queue._items.state.copy()
    trial._assignment = Rehearsal(trial._items, queue.sampler)
    trial._annotations = copy.deepcopy(queue._annotations)
    trial.tickets = queue.tickets.copy_for(trial, dict(queue.tickets.open))
    trial._again = list(queue._again)
    return trial


def _item(said: Said, ids: Labels, texts: dict[str, set[Label]]) -> Label:
    """Return the item that a label is about; a tool's own number is not taken for an id, where that can be seen."""
    if said.item not in ids:
        raise UnknownTicketError("expected the id of an item of this queue")
    item: Label = ids.label(said.item)
    shown = set() if said.text is None else texts.get(str(said.text), set())
    if shown and item not in shown:
        other = f"its text is that of item {min(map(str, shown))!r}"
        raise UnknownTicketError(f"expected the id of an item of this queue; {other}")
    if not (said.own or shown):
        what = "not Label Studio's number of a task; export as JSON, which keeps the ids of the queue"
        raise UnknownTicketError(f"expected the id of an item of this queue, {what}")
    return item


def _texts(queue: LabelState) -> dict[str, set[Label]]:
    """Return the items by what people see of them."""
    found: dict[str, set[Label]] = {}
    for text, item in zip(queue.content or map(str, queue.ids), queue.ids, strict=True):
        found.setdefault(text, set()).add(item)
    return found


def _annotators(
    queue: LabelState, said: Sequence[Said], given: Mapping[Any, str], users: Users
) -> Callable[[str], str]:
    """Return what says which annotator a user of the file is."""
    for one in said:
        users.meet(one.users)
    here: dict[str, None] = {}
    for name in {one.users[0]: None for one in said if one.users}:
        with suppress(ArgumentError):  # of a name that several users have, its record says so
            here[users.user(name)] = None
    asked = {who for _, _, who in queue.tickets.open.values()}
    everybody = asked.union(*(queue._annotations.by(position) for position in queue._annotations.given))
    known = {name: who for who in sorted(filter(None, everybody)) for name in names_of(who)}
    named = users.named(given, here)
    return cache(lambda user: users.annotator(user, named, known))
