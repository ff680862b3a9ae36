"""UCI Adult (Census Income): does a person of the 1994 US census earn more than 50,000 dollars a year?

Source: B. Becker, R. Kohavi (1996), UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset/2/adult.
Licence: CC BY 4.0, as the repository states it.

Known harms: race and sex are recorded in the census's categories of 1994; the income threshold of one year makes
rates between groups look larger or smaller than other thresholds would (Ding, Hardt, Miller, Schmidt 2021,
"Retiring Adult"). It serves to compare methods, not to decide about people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.datasets.fetching import fetch

if TYPE_CHECKING:
    import pandas as pd

BASE = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
FEATURES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip


class Adult(NamedTuple):
    """The official split.

    Attributes
    ----------
    train : 32,561 rows: the 14 features, `income` (1 above 50K), `group` ("white men", "non-white men", "white
        women", "non-white women").
    test : 16,281 rows alike.
    """

    train: pd.DataFrame
    test: pd.DataFrame


def load_adult() -> Adult:
    """Return Adult with its official split; "?" stays a category.

    Raises
    ------
    DatasetError
        If a file is absent and cannot be fetched, or has another checksum.
    """
    return Adult(_read("adult.data", 0), _read("adult.test", 1))


def _read(name: str, skip: int) -> pd.DataFrame:
    import pandas as pd

    path = fetch(f"adult/{name}", FILES[name], BASE + name)
    columns = [*FEATURES, "income"]
    frame = pd.read_csv(path, names=columns, skiprows=skip, skipinitialspace=True, keep_default_na=False)
    frame["income"] = frame["income"].str.startswith(">50K").astype(int)
    colour = np.where(frame["race"] == "White", "white", "non-white")
    sex = np.where(frame["sex"] == "Male", "men", "women")
    frame["group"] = [f"{c} {s}" for c, s in zip(colour, sex, strict=True)]
    return frame
