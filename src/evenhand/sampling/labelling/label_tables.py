"""What is known about the items of a queue so far, as data frames."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import ArgumentError, expected
from evenhand.frames import as_pandas
from evenhand.protocol import Label
from evenhand.sampling.labelling.label_items import LABELLED, PURPOSES
from evenhand.sampling.labelling.label_tickets import LabelState

if TYPE_CHECKING:
    import pandas as pd


def shown_fields(queue: LabelState, columns: pd.DataFrame | None) -> dict[Label, dict[str, Any]]:
    """Return what people see of each item: its content as `text`, or a row of `columns`.

    Raises
    ------
    ArgumentError
        If there is not one row for each id.
    """
    if columns is None:
        return {id: {"text": text} for id, text in zip(queue.ids, queue.content or map(str, queue.ids), strict=True)}
    rows: list[Any] = as_pandas(columns, "columns").to_dict("records")
    if len(rows) != len(queue.ids):
        raise ArgumentError(expected("columns", f"{len(queue.ids)} rows, one for each id", len(rows)))
    return dict(zip(queue.ids, rows, strict=True))


def labelled_table(queue: LabelState) -> pd.DataFrame:
    """Return the labelled items, `id`, `group`, `label`, `purpose` and `annotators`: training items, then validation
    items, each in the order in which the model got them; `annotators` names who labelled the item: "ann,bob".
    """
    import pandas as pd

    with queue._lock:
        items, sampler, places = queue._items, queue.sampler, queue._assignment.places
        parts = dict(zip(PURPOSES, (sampler.training, sampler.validation), strict=True))
        rows = sorted(
            (items.purpose(p), int(places[p, 1]), p) for p in np.flatnonzero(items.state == LABELLED).tolist()
        )

        def by(position: int) -> str:
            return ",".join(filter(None, queue._annotations.by(position)))

        told = [
            (items.ids[p], queue._group(p), sampler.known_classes[parts[purpose].y[row]], purpose, by(p))
            for purpose, row, p in rows
        ]
    return pd.DataFrame(told, columns=["id", "group", "label", "purpose", "annotators"])


def progress_table(queue: LabelState) -> pd.DataFrame:
    """Return a data frame by group: how many items are waiting, open, labelled and rejected."""
    import pandas as pd

    with queue._lock:
        state, group = queue._items.state, queue._items.group
        counts = [np.bincount(state[group == z], minlength=4) for z in range(len(queue.groups))]
        index = pd.Index(queue.groups, name="group")
        table = pd.DataFrame(np.array(counts), index=index, columns=["waiting", "open", "labelled", "rejected"])
        table.attrs["notes"] = queue.notes
    return table


def annotations_table(queue: LabelState) -> pd.DataFrame:
    """Return every label that was told: `id`, `group`, `annotator`, `label`."""
    import pandas as pd

    with queue._lock:
        rows = [
            (queue.ids[position], queue._group(position), annotator, label)
            for position, said in queue._annotations.given.items()
            for annotator, label in said
        ]
    return pd.DataFrame(rows, columns=["id", "group", "annotator", "label"])


def agreement_table(queue: LabelState) -> pd.DataFrame:
    """Return the share of equal labels for each pair of annotators; NaN where no item has labels of both."""
    import pandas as pd

    with queue._lock:
        given = [list(said) for said in queue._annotations.given.values()]
    names = sorted({str(annotator) for said in given for annotator, _ in said})
    same, both = np.zeros((len(names),) * 2), np.zeros((len(names),) * 2)
    at = {name: index for index, name in enumerate(names)}
    for said in given:
        for (one, label), (other, second) in permutations(said, 2):
            both[at[str(one)], at[str(other)]] += 1
            same[at[str(one)], at[str(other)]] += label == second
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(same / both, index=names, columns=names)
