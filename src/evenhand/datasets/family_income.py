"""Family Income and Expenditure Survey of the Philippines, 2015: 41,544 households.

Source: Philippine Statistics Authority; prepared by F. P. Flores, Kaggle `grosvenpaul/family-income-and-expenditure`.
Licence: see there. Known harms: "household head" follows custom, which makes few women heads, mostly widows; income is
a household's, so differences between the sexes of heads are also differences between households.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.datasets.fetching import fetch

if TYPE_CHECKING:
    import pandas as pd

FILE = "family_income/Family_Income_and_Expenditure.csv.gz"
SHA256 = "8d9279be728d64c6ce2408b0e4f4dfd96961d760cf1f4a38a614980ba398d0aa"
HOW = "download it from Kaggle, grosvenpaul/family-income-and-expenditure, and gzip the CSV"


def load_family_income(bands: int = 5) -> pd.DataFrame:
    """Return the households, a row each, as published, and `age_band`: the head's age in bands of equal width.

    A missing occupation, class of worker or toilet is a kind of its own ("NA", "None"), as the survey writes it.

    Raises
    ------
    DatasetError
        If the file is absent, or has another checksum.
    """
    import pandas as pd

    frame = pd.read_csv(fetch(FILE, SHA256, None, HOW), keep_default_na=False)
    cut = pd.cut(frame["Household Head Age"], bands)
    labels = {band: f"{int(band.left) + 1:02d} to {int(band.right):02d}" for band in cut.cat.categories}
    return frame.assign(age_band=cut.map(labels).astype(str))
