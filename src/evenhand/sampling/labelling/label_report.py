"""What a queue of items knows so far, as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.kernels.arrays import Ints
from evenhand.sampling.labelling.annotations import Annotations
from evenhand.sampling.labelling.label_items import LABELLED, Items

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.sampling.sampler import Sampler


def labelled_table(sampler: Sampler, items: Items, places: Ints, purpose: str) -> pd.DataFrame:
    """Return the labelled items that train or validate, in the order in which the model got them."""
    import pandas as pd

    part = sampler.training if purpose == "training" else sampler.validation
    rows = [p for p in np.flatnonzero(items.state == LABELLED).tolist() if items.purpose(p) == purpose]
    rows.sort(key=lambda p: int(places[p, 1]))
    known = sampler.known_classes
    told = [(items.ids[p], items.groups[items.group[p]], known[part.y[places[p, 1]]]) for p in rows]
    return pd.DataFrame(told, columns=["id", "group", "label"])


def progress_table(items: Items) -> pd.DataFrame:
    """Return how many items of each group are waiting, open, labelled and rejected."""
    import pandas as pd

    counts = [np.bincount(items.state[items.group == z], minlength=4) for z in range(len(items.groups))]
    index = pd.Index(items.groups, name="group")
    return pd.DataFrame(np.array(counts), index=index, columns=["waiting", "open", "labelled", "rejected"])


def annotations_table(items: Items, annotations: Annotations) -> pd.DataFrame:
    """Return every label that was told."""
    import pandas as pd

    rows = [
        (items.ids[position], items.groups[items.group[position]], annotator, label)
        for position, said in annotations.given.items()
        for annotator, label in said
    ]
    return pd.DataFrame(rows, columns=["id", "group", "annotator", "label"])
