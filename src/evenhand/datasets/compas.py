"""COMPAS risk scores of Broward County, in the extract published with "Group Fairness in Bandits with Biased Feedback".

18,316 rows of ProPublica's Cox-parsed violent-recidivism table, several a person, 9,483 of them exact repeats; missing
values stand there as 0, some of them as -1; every race other than African-American was renamed "Other".

Source: J. Larson, S. Mattu, L. Kirchner, J. Angwin, "How We Analyzed the COMPAS Recidivism Algorithm", ProPublica 2016;
extract by C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson (2022). Licence: none given; public records. Known harms:
the scores are the contested product itself, race is what an officer wrote down, and a high score as "reward" is a
choice of that paper's experiment. Nothing learned from it should decide about anyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.datasets.fetching import fetch

if TYPE_CHECKING:
    import pandas as pd

COMPAS_FEATURES = (
    "sex", "juv_fel_count", "decile_score", "juv_misd_count", "juv_other_count", "priors_count",
    "days_b_screening_arrest", "c_days_from_compas", "c_charge_degree", "is_recid", "r_charge_degree",
    "is_violent_recid", "vr_charge_degree", "event",
)  # fmt: skip
"""The features of that paper's experiment."""

FILE = "groupfairtreatment/compas_filtered.csv"
SHA256 = "f59f324ec55e3ed3a18758b98ea06537482bdbaa48b08744bd83a7c1a454da41"
URL = "https://raw.githubusercontent.com/candiceschumann/groupfairtreatment/master/compas/compas_filtered.csv"


def load_compas() -> pd.DataFrame:
    """Return the 18,316 rows: the features, `age_cat` (3 bands), `race` (2) and `v_decile_score`, the score for
    violence.

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    import pandas as pd

    frame = pd.read_csv(fetch(FILE, SHA256, URL), keep_default_na=False)
    return frame[[*COMPAS_FEATURES, "age_cat", "race", "v_decile_score"]]
