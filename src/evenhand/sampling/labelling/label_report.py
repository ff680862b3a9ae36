"""What a queue of items knows so far, as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, wanted
from evenhand.rng import generator
from evenhand.sampling.labelling.annotations import Annotations, flip_rate
from evenhand.sampling.labelling.label_items import LABELLED, PURPOSES, Items

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.sampling.sampler import Sampler

__all__ = ["annotations_table", "doubts_table", "labelled_table", "noise_table", "progress_table"]


def labelled_table(sampler: Sampler, items: Items, places: NDArray[np.int64], purpose: str) -> pd.DataFrame:
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


def noise_table(sampler: Sampler, items: Items, annotations: Annotations) -> pd.DataFrame:
    """Return the disagreement of pairs of labels in each group, and what it says of the risks."""
    import pandas as pd

    pairs, differ = np.zeros((2, len(items.groups)))
    for position, one, other in annotations.doubles():
        pairs[items.group[position]] += 1
        differ[items.group[position]] += one != other
    share = np.divide(differ, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    rho = np.array([np.nan if np.isnan(a) else flip_rate(float(a)) for a in share])
    risk = sampler.risks["risk"].reindex(items.groups).to_numpy()
    known = rho < 0.5
    corrected = np.divide(risk - rho, 1 - 2 * rho, out=np.full(len(rho), np.nan), where=known)
    columns: dict[str, Any] = {"pairs": pairs.astype(int), "disagreement": share, "flip_rate": rho}
    columns["corrected_risk"] = np.clip(corrected, 0.0, 1.0)
    return pd.DataFrame(columns, index=pd.Index(items.groups, name="group"))


def doubts_table(sampler: Sampler, items: Items, places: NDArray[np.int64], folds: int, seed: int) -> pd.DataFrame:
    """Return the labelled items to which cross-validation gives another label, the least probable label first."""
    import pandas as pd

    if getattr(sampler.model, "certain", False):
        raise ArgumentError(wanted("model", "one that predicts probabilities", sampler.model))
    told = pd.concat([labelled_table(sampler, items, places, name) for name in PURPOSES], ignore_index=True)
    if len(told) < folds:
        raise ArgumentError(wanted("folds", f"at most the {len(told)} items that are labelled", folds))
    rows, known = sampler.training.joined(sampler.validation), np.array(sampler.known_classes)
    part = generator(seed).permutation(len(told)) % folds
    chances = np.zeros((len(told), max(2, len(known))))
    for fold in range(folds):
        model = sampler.model.fresh()
        model.begin(tuple(known.tolist()))
        model.update(rows.taken(np.flatnonzero(part != fold)), 0)
        chances[part == fold] = model.predict_proba(rows.X[: rows.count][part == fold])
    codes = rows.y[: rows.count]
    told["likely"] = known[chances[:, : len(known)].argmax(axis=1)]
    told["probability"] = chances[np.arange(len(told)), codes]
    return told[told["likely"] != told["label"]].sort_values("probability", kind="stable", ignore_index=True)
