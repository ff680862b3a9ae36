"""A made-up log in which a contract is broken: a site shows advertisers, three of whom bought a share of impressions.

The site knows what each advertiser pays on average. It shows whoever bought a share and is a whole
impression behind, otherwise whoever pays most, and now and then anybody. On Thursday afternoon a release forgets one
of the contracts, and nobody notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.rng import generator

if TYPE_CHECKING:
    import pandas as pd

CONTRACT = {"Harbor": 0.2, "Lumen": 0.15, "Nordic": 0.1}
TOLERANCE = 2
FORGOTTEN, SINCE = "Lumen", 3 * 24 + 14
"""Whose contract is forgotten, and in which hour of the week."""
PRICES = {"Alder": 0.46, "Birch": 0.52, "Cedar": 0.58, "Harbor": 0.34, "Lumen": 0.4, "Nordic": 0.38}
"""What an impression is worth on average, in euros. None pays more than one: a learner takes prices as rewards."""
TRIED = 0.05
"""The part of the impressions that goes to anybody."""


def made_log(impressions: int = 10_000, seed: int = 2026) -> pd.DataFrame:
    """Return a week of impressions, a row each: `at`, `advertiser`, and `price`, what it paid in euros.

    >>> log = made_log(1000)
    >>> log.columns.tolist(), log["advertiser"].nunique(), bool(log["at"].is_monotonic_increasing)
    (['at', 'advertiser', 'price'], 6, True)
    """
    import pandas as pd

    random, names = generator(seed), list(PRICES)
    traffic = 1.2 + np.sin((np.arange(7 * 24) % 24 - 13) * np.pi / 12)
    hours = random.choice(7 * 24, impressions, p=traffic / traffic.sum())
    seconds = np.sort(3600 * hours + random.integers(3600, size=impressions))
    hours = seconds // 3600
    means = np.array([*PRICES.values()])
    owed = np.array([CONTRACT.get(name, 0.0) for name in names])
    anybody = np.where(random.random(impressions) < TRIED, random.integers(len(names), size=impressions), -1)
    plays = np.zeros(len(names))
    shown = np.empty(impressions, np.int64)
    for t, hour in enumerate(hours):
        behind = owed * (t + 1) - plays
        if hour >= SINCE:
            behind[names.index(FORGOTTEN)] = 0.0
        paid = anybody[t] if anybody[t] >= 0 else means.argmax()
        shown[t] = behind.argmax() if behind.max() >= 1.0 else paid
        plays[shown[t]] += 1
    price = means[shown] * random.uniform(0.5, 1.5, impressions)
    at = pd.Timestamp("2026-11-02") + pd.to_timedelta(seconds, unit="s")
    return pd.DataFrame({"at": at, "advertiser": np.array(names, object)[shown], "price": price.round(3)})
