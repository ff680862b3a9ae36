"""A log of items that are drawn uniformly."""

import numpy as np
import pandas as pd

NAMED = {"arm": "item", "reward": "click", "propensity": "p"}


def uniform(seed, *, rows=5000, items=80, rate=0.004):
    """Return a log in which every item is clicked as often, at this rate."""
    random = np.random.default_rng(seed)
    clicked = (random.random(rows) < rate) * 1.0
    return pd.DataFrame({"item": random.integers(0, items, rows), "click": clicked, "p": 1 / items})


def only(item, items=80):
    """Return the policy that always plays one item."""
    return {arm: float(arm == item) for arm in range(items)}
