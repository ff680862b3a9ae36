"""A queue of items to label: which item people should label next, for the smallest risk of the worst-off group.

A sampler says which group comes next; the queue says which of its items. Half of the items of a draw train the model,
chosen as `choice` says; the other half validates it and comes in a random order that was fixed before anything was
chosen, so that the risks the sampler looks at are those of the group and not those of hard items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenhand.arguments import in_sequence, is_whole, one_of, whole
from evenhand.data.groupings import Grouping
from evenhand.display.html import Table
from evenhand.errors import ArgumentError, ExhaustedError, UnknownTicketError, Wording, expected, first_few, is_path
from evenhand.labels import Labels, listed
from evenhand.parameters import Parameters, locked, require_fresh
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.traits import Traits
from evenhand.protocol import Label
from evenhand.registry import register
from evenhand.rng import Seed, child, draw_seed
from evenhand.sampling.labelling.annotations import Annotations
from evenhand.sampling.labelling.label_assignment import CHOICES, Assignment, Choice
from evenhand.sampling.labelling.label_files import write_tasks
from evenhand.sampling.labelling.label_items import LABELLED, OPEN, Items, Task
from evenhand.sampling.labelling.label_reading import tell_file
from evenhand.sampling.labelling.label_tables import progress_table, shown_fields
from evenhand.sampling.labelling.label_tickets import holders, lacks, open_ticket, repeated, want_more
from evenhand.sampling.labelling.label_users import Users, read_annotator
from evenhand.sampling.pools.frame_codes import FrameCodes
from evenhand.sampling.problem import MOST
from evenhand.sampling.sampler import Sampler
from evenhand.sampling.schemes import OptimisticSampler

if TYPE_CHECKING:
    import pandas as pd


@register("sampling/label-queue", kind="part")
class LabelQueue(AskTell, Parameters):
    """Hand out items to label, and learn from each label at once.

    Labels may come late, in any order, or never: an item that nobody labels stays open and holds nothing up. An item
    that nobody can label is told with the label None, and another one of its group takes its place.

    Parameters
    ----------
    ids : the items' ids, text or whole numbers, each once.
    features : what the model sees of each item (n, d), or (n, ...) for pictures. A data frame indexed by the ids is
        matched by them.
    groups : the group of each item (n,), or a dict or Series id -> group.
    sampler : any sampler of these groups that has not learned yet; None for `OptimisticSampler`.
    choice : which item of the group is used for training: the one that the model is least sure of ("uncertainty",
        after ten at random), or a random one ("uniform"). Validation items always come at random.
    annotators : how many people label each item; their most frequent label counts, and after a tie one more is asked.
    content : what people see of each item, a text or the path of a picture, or a dict or Series id -> text; by default
        the id.
    seed : for the items' order, and for the default sampler.

    Raises
    ------
    ArgumentError
        If the lists have different lengths or row labels, an id occurs twice, or the sampler has learned or has other
        groups.
    ContextError
        If the features are not finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.random.default_rng(0).normal(size=(40, 2))
    >>> ids = [f"photo{i}" for i in range(40)]
    >>> queue = LabelQueue(ids, features, groups=["day", "night"] * 20, seed=1)
    >>> for photo in queue.ask(6):
    ...     queue.tell(photo, "cat" if features[ids.index(photo), 0] > 0 else "dog")
    >>> queue.sampler.training.count, queue.sampler.validation.count
    (3, 3)

    Source: the rule over groups is Shekhar, Fields, Ghavamzadeh, Javidi (NeurIPS 2021); uncertainty sampling is Lewis
    and Gale (1994).
    """

    _traits = Traits(hands_out=Task, feedback="labels", asks_several="n")
    _noun = "queue"

    def __init__(
        self,
        ids: Sequence[Label],
        features: object,
        *,
        groups: Sequence[Label] | Mapping[Label, Label],
        sampler: Sampler | None = None,
        choice: Choice = "uncertainty",
        annotators: int = 1,
        content: Sequence[str] | Mapping[Label, str] | None = None,
        seed: Seed = None,
    ) -> None:
        super().__init__()
        self.seed = draw_seed(seed)
        self._items = Items(ids, features, groups, content, child(self.seed, 0))
        self.ids, self.features = self._items.ids, self._items.features
        self.groups = self._items.groups
        self.content = self._items.content
        self.choice = one_of("choice", choice, CHOICES)
        self.annotators = whole("annotators", annotators, low=1, high=MOST)
        self._assignment = Assignment(self._items, self._fresh_sampler(sampler), self.choice)
        self._annotations = Annotations(self.annotators)
        self._users = Users()
        self._again: list[int] = []
        """Items that need more labels than were asked for."""
        self.round = 0

    def _fresh_sampler(self, sampler: object) -> Sampler:
        if sampler is None:
            if len(self.groups) < 2:
                raise ArgumentError(expected("groups", "at least two groups", list(self.groups)))
            return OptimisticSampler(self.groups, seed=child(self.seed, 1))
        if not isinstance(sampler, Sampler):
            raise ArgumentError(expected("sampler", "a sampler such as OptimisticSampler(groups), or None", sampler))
        if Labels(self.groups).order(sampler.groups) is None:
            what = Wording("one of the groups ", list(self.groups))
            raise ArgumentError(expected("sampler", what, list(sampler.groups)))
        if self.choice == "uncertainty" and sampler.model.certain:
            hint = "use choice='uniform'"
            raise ArgumentError(expected("sampler", "a model that predicts probabilities", sampler.model, hint))
        return require_fresh("sampler", sampler, "pass sampler.fresh()").fresh(seed=sampler.seed)

    # ------------------------------------------------------------------ the conversation

    @locked
    def ask(self, n: int | None = None, *, annotator: str | None = None) -> Any:
        """Return the ids of the next `n` items to label, or the next one as a `Task` where `n` is left out.

        Fewer than `n` are returned where fewer are left. A named annotator gets no item twice; without a name, each of
        the `n` items is handed out to as many people as it needs.

        Raises
        ------
        ExhaustedError
            If no item is left to ask for, or the budget is spent.
        ArgumentError
            If `n` is not a whole number >= 1.
        """
        who = read_annotator(annotator)
        if n is None:
            return self._task(who)
        items: list[Label] = []
        for _ in range(whole("n", n, low=1, high=MOST)):
            try:
                items.append(self._task(who).item)
            except ExhaustedError:
                if not items:
                    raise
                break
            position = self._items.position(items[-1])
            while who is None and lacks(self, position) > 0:
                self._hand_to(position, None)
        return items

    @locked
    def tell(self, id: Task | Label, label: Label | None, *, annotator: str | None = None) -> None:
        """Record the label of an item that was asked for, given as its id or its `Task`; None rejects the item.

        Raises
        ------
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If there is no such item, it was not asked for, or it was labelled or rejected before.
        ArgumentError
            If the label is outside the classes.
        """
        who = read_annotator(annotator)
        number, (_, position, _) = self._found(id, who)
        if label is None:
            self._assignment.reject(position)
            self._drop(position)
            self.tickets.open = {other: kept for other, kept in self.tickets.open.items() if kept[1] != position}
            return
        checked = self.sampler.read_label(label)
        settled = self._annotations.add(position, who, checked)
        if settled is not None:
            try:  # a model that fails refuses the label, which must not count towards a majority
                self._assignment.settle(position, settled)
            except BaseException:
                self._annotations.take_back(position)
                raise
        del self.tickets.open[number]
        if settled is None:
            want_more(self, position)

    @locked
    def correct(self, id: Label, label: Label, *, annotator: str | None = None) -> None:
        """Replace the label that an annotator gave to an item; the model is trained again if the item's label changes,
        and after a tie one more annotator is asked.

        Raises
        ------
        UnknownTicketError
            If there is no such item, or this annotator has not labelled it.
        ArgumentError
            If the label is outside the classes.
        """
        who, position, checked = read_annotator(annotator), self._items.position(id), self.sampler.read_label(label)
        before = self._annotations.replace(position, who, checked)
        if before is None:
            others = ", ".join(filter(None, self._annotations.by(position)))
            hint = f"; it was labelled by {others}" if others else ""
            raise UnknownTicketError(f"id {id!r}: {who or 'an unnamed annotator'} has not labelled it{hint}")
        settled = self._annotations.settled(position)
        try:
            if settled is not None:
                self._assignment.settle(position, settled)
        except BaseException:
            self._annotations.replace(position, who, before[1])
            raise
        if settled is None:
            want_more(self, position)

    @locked
    def forget(self, id: Task | Label) -> None:
        """Take back an item that was asked for, given as its id or its `Task`; it may be asked for again."""
        number, (_, position, _) = self._found(id, None)
        del self.tickets.open[number]
        if not holders(self, position) and self._items.state[position] == OPEN and not self._annotations.by(position):
            self._assignment.take_back(position)
            self._drop(position)
        elif position not in self._again:
            self._again.append(position)

    @locked
    def ask_again(self, ids: Sequence[Label]) -> None:
        """Have labelled items labelled once more; the next `ask` hands them out.

        Each of them needs one more label than it has, and after a tie another one.

        Raises
        ------
        UnknownTicketError, ArgumentError
            If there is no such item, or it is not labelled.
        """
        ids = in_sequence("ids", ids, "a list of the ids of items")
        positions = [self._items.position(one) for one in ids]
        for one, position in zip(ids, positions, strict=True):
            if self._items.state[position] != LABELLED:
                raise ArgumentError(expected("ids", "items that are labelled", one))
        for position in positions:
            if position not in self._again and not holders(self, position):
                said = self._annotations.given[position]
                self._annotations.more[position] = len(said) + 1 - self.annotators
                self._again.append(position)

    @locked
    def write_tasks(
        self,
        path: str | Path,
        *,
        annotator: str | None = None,
        items: Iterable[Label] | None = None,
        columns: pd.DataFrame | None = None,
    ) -> int:
        """Write the open items, all or one annotator's, to a file for a labelling tool; return how many there are.

        A CSV file has the columns `id`, `text`, `label`, which is empty, `allowed` where the classes are known, and
        `annotator` where people with names were asked, with a row for each; JSON lines (`.jsonl`) are `{"id", "text"}`,
        as Doccano reads them; a JSON file (`.json`) is a list of `{"data"}`, as Label Studio does.

        Parameters
        ----------
        path : the file.
        annotator : whose items are written; None for everybody's.
        items : the ids among which they are; None for all.
        columns : what a CSV shows of each item in place of `text`, a row for each id in their order.

        Raises
        ------
        ArgumentError
            If the file's name ends otherwise.
        UnknownTicketError
            If no item has one of these ids.
        """
        if not is_path(path):
            raise ArgumentError(expected("path", "the path of a file", path))
        chosen = read_annotator(annotator)
        shown = shown_fields(self, columns if Path(path).suffix == ".csv" else None)
        asked = [(self.ids[p], who) for _, p, who in self.tickets.open.values() if chosen in (None, who)]
        among = {*self.ids} if items is None else {self.ids[self._items.position(one)] for one in listed(items)}
        return write_tasks(Path(path), [task for task in asked if task[0] in among], shown, self.sampler.classes or ())

    @locked
    def read_labels(
        self,
        path: Any,
        *,
        annotator: str | Mapping[Any, str] | None = None,
        name: str | None = None,
        encoding: str | None = None,
        control: str | None = None,
    ) -> dict[str, int]:
        """Tell the labels in a labelling tool's file; return how many were told, rejected and left open.

        A CSV file, or a data frame in place of the path, has the columns `id`, `label`, and `annotator` if several
        people labelled; an empty label leaves the item open, and a column `rejected` may be true. An item that one of
        them rejects is rejected. JSON lines hold `{"id", "label"}` as Doccano writes them; a JSON file is Label
        Studio's export with one choice per annotation.

        An item takes the labels of as many people as it needs, whoever was asked for it. A label that was told before
        changes nothing and is counted as "repeated", so that an export may hold everything so far.

        Parameters
        ----------
        path : the file, or a data frame.
        annotator : who gave the labels for which the file names nobody; or the annotators by the tool's names for
            them, its numbers or emails, as {7: "ann", "bob@example.org": "bob"}. Users that are not named here are
            annotators under their email, or their number where no file has given more. A user remains the same
            annotator as in earlier files.
        name : what error messages call the file, or the data frame.
        encoding : how the text of the file is encoded; None for UTF-8, or for what its first bytes show.
        control : the control of Label Studio, or the column, that holds the label. Without it the one called "label" or
            "labels" is read; a file in which only others were answered is refused. Where that one was answered too,
            their answers are counted as "passed_over", apart from free text.

        Raises
        ------
        ArgumentError, UnknownTicketError, ClosedTicketError
            If the file has another form, or holds a label that cannot be told: for an item that is not open, by someone
            who labelled it differently before, or outside the classes. Every such label is named with
            its place, and nothing is told. The same holds for several users with one name, and for names of users who
            are not in the file while others in it have none.
        ModelError
            If the model fails. The labels before are told; read the same file again for the others.
        """
        return tell_file(self, path, encoding, annotator, name, control)

    @locked
    def open_items(self, *, annotator: str | None = None) -> list[Label]:
        """Return the ids of the items that were asked for and not told yet, all or one annotator's."""
        chosen = read_annotator(annotator)
        asked = [position for _, position, who in self.tickets.open.values() if chosen in (None, who)]
        return [self.ids[position] for position in dict.fromkeys(asked)]

    # ------------------------------------------------------------------ what is known so far

    @property
    def sampler(self) -> Sampler:
        """The sampler that says which group comes next."""
        return self._assignment.sampler

    @property
    def risks(self) -> pd.DataFrame:
        """The sampler's table of validation risks."""
        table: pd.DataFrame = self.sampler.risks
        table.attrs["notes"] = self.notes
        return table

    @property
    @locked
    def notes(self) -> list[str]:
        """What a careful user should know: how far annotators agree, what the sampler says, which groups have too few
        items, and which have none left for validation."""
        groups = Grouping.of_rows(self.groups, np.bincount(self._items.group))
        few = groups.note("groups", "have too few items to train and to validate")
        dry = [repr(label) for z, label in enumerate(self.groups) if not len(self._items.waiting(z, "validation"))]
        none_left = [f"no item of {first_few(dry, 3)} is left to validate with"] * bool(dry)
        return [*self._annotations.notes(), *self.sampler.notes, *few, *none_left]

    # ------------------------------------------------------------------ inside: items

    def _task(self, annotator: str | None) -> Task:
        position, why = repeated(self, annotator) or self._new()
        number, said = self._hand_to(position, annotator)
        shown = str(self.ids[position]) if self.content is None else self.content[position]
        choices, token = self.sampler.classes or (), self.tickets.token
        task = Task(number, *said, self._items.purpose(position), why, shown, choices, token=token)
        self._last = task.item, why
        return task

    def _hand_to(self, position: int, annotator: str | None) -> tuple[int, tuple[int, Label, Label]]:
        """Return the number of a new ticket of an item, and what it says."""
        self.round += 1
        said = (self.round, self.ids[position], self._group(position))
        number = self.tickets.hand_out((said, position, annotator))
        if position in self._again and lacks(self, position) <= 0:
            self._again.remove(position)
        return number, said

    def _new(self) -> tuple[int, str]:
        position, why = self._assignment.next_item()
        if self.annotators > 1:
            self._again.append(position)
        return position, why

    def _drop(self, position: int) -> None:
        """Forget what was said of an item."""
        self._again = [other for other in self._again if other != position]
        self._annotations.drop(position)

    def _group(self, position: int) -> Label:
        return self.groups[self._items.group[position]]

    def _found(self, given: Any, annotator: str | None) -> tuple[int, Any]:
        """Return an open ticket, given as a `Task`, an item's id, or its number where no item has that id."""
        if isinstance(given, Task):
            return self.tickets.find(given.id if given.token is None else given)
        known = is_whole(given) and int(given) not in self._items.labels.exact
        return self.tickets.find(given if known else open_ticket(self, given, annotator))

    # ------------------------------------------------------------------ files

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        of_items = [self.groups[z] for z in self._items.group]
        return {
            "ids": list(self.ids),
            "groups": of_items,
            "features": self._items.shown(slice(None)),
            "sampler": self.sampler,
            "choice": self.choice,
            "annotators": self.annotators,
            "content": self.content,
            "seed": self.seed,
        }

    def fresh(self, *, seed: Seed = None) -> Self:
        """Return a queue of the same items that remembers nothing, with another seed if given."""
        given = {"sampler": self.sampler.fresh(), "seed": self.seed if seed is None else seed}
        return type(self)(**{**self.config(), **given})

    def _ticket_by_number(self, number: int) -> Task:
        """Return a task without a token, as the number may be the id of an item."""
        return Task(number, 0, "", "", "", "", "", ())

    def _ticket_fields(self, ticket: Task) -> tuple[Any, ...]:
        return ticket.round, ticket.item, ticket.group

    def _ticket_to_saved(self, remembered: Any) -> tuple[int, int, str]:
        (round, *_), position, annotator = remembered
        return round, position, annotator or ""

    def _ticket_from_saved(self, round: int, position: int, who: str) -> tuple[Any, ...]:
        return (round, self.ids[position], self._group(position)), position, who or None

    def _identity(self) -> str:
        return (
            f"{type(self).__name__} {self.ids} {self._items.group.tolist()} {self.choice} {self.annotators} {self.seed}"
        )

    def _facts(self) -> dict[str, Any]:
        return {"items": len(self.ids), "rounds": self.round, "rows of the model": self.sampler.training.count}

    def _tables(self) -> list[Table]:
        return [Table.of(progress_table(self), "Items of each group")]

    def __repr__(self) -> str:
        return f"LabelQueue({len(self.ids)} items, groups={list(self.groups)}, choice={self.choice!r})"

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        config = self.config()
        del config["sampler"]
        config["features"] = self.features
        return {
            "config": config,
            "columns": self._items.columns,
            "texts": self._items.codes.texts,
            "sampler": self.sampler,
            "round": self.round,
            "tickets": self.tickets.snapshot(),
            **self._assignment.snapshot(),
            "again": list(self._again),
            "annotations": self._annotations.snapshot(),
            "users": self._users.snapshot(),
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the queue that `snapshot` was taken of."""
        sampler = snapshot["sampler"]
        config, columns = dict(snapshot["config"]), snapshot["columns"]
        if columns:
            config["features"] = FrameCodes(snapshot["texts"]).frame(config["features"], columns)
        queue = cls(**config, sampler=sampler.fresh())
        queue._assignment.sampler, queue.round = sampler, snapshot["round"]
        queue.tickets.restore_all(snapshot["tickets"])
        queue._assignment.restore(snapshot)
        queue._again = list(snapshot["again"])
        queue._annotations.restore(snapshot["annotations"])
        queue._users.restore(snapshot["users"])
        return queue

    @classmethod
    def _examples(cls) -> Iterator[Self]:
        """Yield queues to check: one that is unused and one that has open items."""
        features, groups = [[0.1], [0.5], [0.9], [0.2], [0.7], [0.4]], ["a", "b"] * 3
        yield cls(range(6), features, groups=groups, seed=1)
        begun = cls(range(6), features, groups=groups, annotators=2, seed=2)
        begun.tell(begun.ask(annotator="ann"), "yes", annotator="ann")
        begun.ask(annotator="bob")
        yield begun
