"""Open Bandit: clicks on fashion items that a shop recommended, by a random policy and by Bernoulli Thompson sampling.

Published by ZOZO, Inc. with Y. Saito, S. Aihara, M. Matsutani, Y. Narita, "Open Bandit Dataset and Pipeline" (2020),
under CC BY 4.0: the small sample, 10,000 rows of each policy and campaign. Each row is an item at one of three
positions; `propensity_score` is the chance of the item at its position. That of Thompson sampling moves over the week.

Known harms: users' features are hashed, the clicks of one week and one shop say little of other shops, and an item that
was hardly shown looks worse than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from evenhand.arguments import one_of
from evenhand.datasets.fetching import fetch

if TYPE_CHECKING:
    import pandas as pd

SHA256 = {
    ("random", "men"): "1d506bbe0c2fef46e42cdcb1f84f60d965daa6bb16b3e560e92b5bfd58c29da6",
    ("random", "women"): "83e9f38cd0246c73a765206adb8829a28d66b8aed5d3c42b64b49b997ad48c7a",
    ("bts", "men"): "92adff7cd752a8734fde9321075c62be5853e6ab8e3a57319bd76f9683170da7",
    ("bts", "women"): "599ca5add90903ad82e3719db099b1ff4ac3692a658878e507bccb0ed50f194b",
}
HOW = "take obd/POLICY/CAMPAIGN/CAMPAIGN.csv from https://github.com/st-tech/zr-obp, compress it with gzip"


def fetch_open_bandit(policy: Literal["random", "bts"], campaign: Literal["men", "women"]) -> pd.DataFrame:
    """Return the log of a policy in a campaign: `item_id`, `position`, `click`, `propensity_score`, `timestamp`.

    Raises
    ------
    ArgumentError
        If there is no such policy or campaign.
    DatasetError
        If the file is absent, or has another checksum.
    """
    import pandas as pd

    one_of("policy", policy, ("random", "bts"))
    one_of("campaign", campaign, ("men", "women"))
    path = fetch(f"open_bandit/{policy}/{campaign}/{campaign}.csv.gz", SHA256[policy, campaign], None, HOW)
    return pd.read_csv(path, usecols=["timestamp", "item_id", "position", "click", "propensity_score"])
