"""ProPublica's COMPAS table with two-year recidivism: 7,214 defendants of Broward County, 6,172 after ProPublica's
filter.

Source: J. Larson, S. Mattu, L. Kirchner, J. Angwin, "How We Analyzed the COMPAS Recidivism Algorithm" (ProPublica,
2016).
Licence: none stated upstream; public records. Known harms: re-arrest is not re-offence, arrests depend on where the
police look,
and people are named in the file: no name, date of birth or case number is returned here. Never decide about people with
what is learned from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.datasets.fetching import fetch

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_compas_two_years"]

FILE = "compas/compas-scores-two-years.csv"
SHA256 = "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"
URL = "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv"


def load_compas_two_years() -> pd.DataFrame:
    """Return the 6,172 defendants that ProPublica's analysis keeps, a row each.

    Columns: `age`, `priors`, `juvenile` (all juvenile counts), `felony` (0/1), `male` (0/1), `african_american`
    (0/1), and
    `free` (1 where there was no new arrest within two years).

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    import pandas as pd

    raw = pd.read_csv(fetch(FILE, SHA256, URL))
    near = raw.days_b_screening_arrest.between(-30, 30)
    kept = raw[near & (raw.is_recid != -1) & (raw.c_charge_degree != "O") & (raw.score_text != "N/A")]
    return pd.DataFrame(
        {
            "age": kept.age,
            "priors": kept.priors_count,
            "juvenile": kept.juv_fel_count + kept.juv_misd_count + kept.juv_other_count,
            "felony": (kept.c_charge_degree == "F").astype(int),
            "male": (kept.sex == "Male").astype(int),
            "african_american": (kept.race == "African-American").astype(int),
            "free": 1 - kept.two_year_recid,
        }
    ).reset_index(drop=True)
