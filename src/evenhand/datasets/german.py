"""UCI Statlog German Credit: is a credit customer of a German bank good or bad?

Source: H. Hofmann (1994), UCI Machine Learning Repository,
https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data. Licence: CC BY 4.0, as the repository states it.

Known harms: the 1,000 customers were chosen by an unknown rule in the 1970s, bad credits are over-represented, and
sex is recorded only together with marital status, with no single women at all (Groemping 2019, "South German Credit
Data: Correcting a Widely Used Data Set", shows that several codes are wrong). It serves to compare methods, not to
decide about people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.datasets.fetching import fetch

if TYPE_CHECKING:
    import pandas as pd

URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data"
SHA256 = "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"
FEATURES = (
    "status", "duration", "history", "purpose", "amount", "savings", "employment", "rate", "personal", "debtors",
    "residence", "property", "age", "plans", "housing", "credits", "job", "dependents", "telephone", "foreign",
)  # fmt: skip
FEMALE = ("A92", "A95")


def load_german() -> pd.DataFrame:
    """Return German Credit: 1,000 rows, 20 features, `bad` (1 for a bad credit), `group` ("men", "women", by
    attribute 9).

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    import pandas as pd

    path = fetch("german/german.data", SHA256, URL)
    frame = pd.read_csv(path, names=[*FEATURES, "bad"], sep=r"\s+")
    frame["bad"] = frame["bad"] - 1
    frame["group"] = np.where(frame["personal"].isin(FEMALE), "women", "men")
    return frame
