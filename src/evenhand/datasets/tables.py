"""Tables about people, and a causal model of patients; each loader names the source, licence and known harms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.datasets.fetching import fetch

if TYPE_CHECKING:
    import pandas as pd


ADULT_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
ADULT_FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
ADULT_FEATURES = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
COMPAS_FEATURES = (
    "sex",
    "juv_fel_count",
    "decile_score",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "days_b_screening_arrest",
    "c_days_from_compas",
    "c_charge_degree",
    "is_recid",
    "r_charge_degree",
    "is_violent_recid",
    "vr_charge_degree",
    "event",
)
"""The features of that paper's experiment."""
COMPAS_FILE = "groupfairtreatment/compas_filtered.csv"
COMPAS_SHA256 = "f59f324ec55e3ed3a18758b98ea06537482bdbaa48b08744bd83a7c1a454da41"
COMPAS_URL = "https://raw.githubusercontent.com/candiceschumann/groupfairtreatment/master/compas/compas_filtered.csv"
INCOME_FILE = "family_income/Family_Income_and_Expenditure.csv.gz"
INCOME_SHA256 = "8d9279be728d64c6ce2408b0e4f4dfd96961d760cf1f4a38a614980ba398d0aa"
INCOME_HOW = "download it from Kaggle, grosvenpaul/family-income-and-expenditure, and gzip the CSV"
GERMAN_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/statlog/german/german.data"
GERMAN_SHA256 = "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"
GERMAN_FEATURES = (
    "status",
    "duration",
    "history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "rate",
    "personal",
    "debtors",
    "residence",
    "property",
    "age",
    "plans",
    "housing",
    "credits",
    "job",
    "dependents",
    "telephone",
    "foreign",
)
FEMALE = ("A92", "A95")
HEPAR2_SHA256 = "f98d4a65c496b79d76b15797e6a6cbeafaff32a17d66a844d8e5b9506d379fcd"
HEPAR2_URL = "https://www.bnlearn.com/bnrepository/hepar2/hepar2.bif.gz"


class Adult(NamedTuple):
    """The official split.

    Attributes
    ----------
    train : 32,561 rows: the 14 features, `income` (1 above 50K), `group` ("white men", "non-white men", "white
        women", "non-white women").
    test : 16,281 rows with the same columns.
    """

    train: pd.DataFrame
    test: pd.DataFrame


def load_adult() -> Adult:
    """Return Adult with its official split; "?" is kept as a category.

    UCI Adult (Census Income): does a person of the 1994 US census earn more than 50,000 dollars a year?

    Source: B. Becker, R. Kohavi (1996), UCI Machine Learning Repository, https://archive.ics.uci.edu/dataset/2/adult.
    Licence: CC BY 4.0, as the repository states it.

    Known harms: race and sex are recorded in the census's categories of 1994; the income threshold of one year makes
    rates between groups look larger or smaller than other thresholds would (Ding, Hardt, Miller, Schmidt 2021,
    "Retiring Adult"). It serves to compare methods, not to decide about people.

    Raises
    ------
    DatasetError
        If a file is absent and cannot be fetched, or has another checksum.
    """
    return Adult(_read_adult("adult.data", 0), _read_adult("adult.test", 1))


def _read_adult(name: str, skip: int) -> pd.DataFrame:
    import pandas as pd

    path = fetch(f"adult/{name}", ADULT_FILES[name], ADULT_URL + name)
    columns = [*ADULT_FEATURES, "income"]
    frame = pd.read_csv(path, names=columns, skiprows=skip, skipinitialspace=True, keep_default_na=False)
    frame["income"] = frame["income"].str.startswith(">50K").astype(int)
    colour = np.where(frame["race"] == "White", "white", "non-white")
    sex = np.where(frame["sex"] == "Male", "men", "women")
    frame["group"] = [f"{c} {s}" for c, s in zip(colour, sex, strict=True)]
    return frame


def load_compas() -> pd.DataFrame:
    """Return the 18,316 rows: the features, `age_cat` (3 bands), `race` (2) and `v_decile_score`, the score for
    violence.

    COMPAS risk scores of Broward County, in the extract published with "Group Fairness in Bandits with Biased
    Feedback".

    18,316 rows of ProPublica's Cox-parsed violent-recidivism table, several per person, 9,483 of them exact repeats;
    missing values appear there as 0, some as -1; every race other than African-American was renamed "Other".

    Source: J. Larson, S. Mattu, L. Kirchner, J. Angwin, "How We Analyzed the COMPAS Recidivism Algorithm", ProPublica
    2016; extract by C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson (2022). Licence: none given; public records. Known
    harms: the scores are the contested product itself, race is what an officer wrote down, and a high score as "reward"
    is a choice of that paper's experiment. Nothing learned from it should decide about anyone.

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    import pandas as pd

    frame = pd.read_csv(fetch(COMPAS_FILE, COMPAS_SHA256, COMPAS_URL), keep_default_na=False)
    return frame[[*COMPAS_FEATURES, "age_cat", "race", "v_decile_score"]]


def load_diabetes() -> pd.DataFrame:
    """Return the 442 patients, one row for each.

    The diabetes data that ships with scikit-learn: 442 patients, no download.

    Source: B. Efron, T. Hastie, I. Johnstone, R. Tibshirani, "Least Angle Regression", Annals of Statistics 32 (2004).
    Licence: part of scikit-learn's BSD-3 distribution. Known harms: sex is coded as two unnamed values, and the score
    measures the progression of a disease, so "reward" here means need; nothing learned from it should decide about real
    patients.

    Columns: `group` (sex and age band), `need` (disease progression after one year, scaled to [0, 1]), and the ten
    measurements of the original in their own units (`age` in years, `sex` as coded there, 1 or 2).

    Examples
    --------
    >>> frame = load_diabetes()
    >>> len(frame), frame.group.nunique(), float(frame.need.min()), float(frame.need.max())
    (442, 6, 0.0, 1.0)
    """
    import pandas as pd
    from sklearn.datasets import load_diabetes as load

    frame = load(as_frame=True, scaled=False).frame
    band = pd.cut(frame["age"], [0, 40, 55, 120], labels=["under 40", "40 to 55", "over 55"], right=False)
    need = (frame["target"] - frame["target"].min()) / (frame["target"].max() - frame["target"].min())
    group = "sex " + frame["sex"].astype(int).astype(str) + ", " + band.astype(str)
    return frame.drop(columns="target").assign(group=group, need=need)


def load_family_income(bands: int = 5) -> pd.DataFrame:
    """Return the households as published, one row for each, with `age_band`, the head's age in bands of equal width.

    Family Income and Expenditure Survey of the Philippines, 2015: 41,544 households.

    Source: Philippine Statistics Authority; prepared by F. P. Flores, Kaggle
    `grosvenpaul/family-income-and-expenditure`. Licence: see there. Known harms: "household head" follows custom, which
    makes few women heads, mostly widows; income is a household's, so differences between the sexes of heads are also
    differences between households.

    A missing occupation, class of worker or toilet is a category of its own ("NA", "None"), as in the survey.

    Raises
    ------
    DatasetError
        If the file is absent, or has another checksum.
    """
    import pandas as pd

    frame = pd.read_csv(fetch(INCOME_FILE, INCOME_SHA256, None, INCOME_HOW), keep_default_na=False)
    cut = pd.cut(frame["Household Head Age"], bands)
    labels = {band: f"{int(band.left) + 1:02d} to {int(band.right):02d}" for band in cut.cat.categories}
    return frame.assign(age_band=cut.map(labels).astype(str))


def load_german() -> pd.DataFrame:
    """Return German Credit: 1,000 rows, 20 features, `bad` (1 for a bad credit), `group` ("men", "women", by
    attribute 9).

    UCI Statlog German Credit: is a credit customer of a German bank good or bad?

    Source: H. Hofmann (1994), UCI Machine Learning Repository,
    https://archive.ics.uci.edu/dataset/144/statlog+german+credit+data. Licence: CC BY 4.0, as the repository states it.

    Known harms: the 1,000 customers were chosen by an unknown rule in the 1970s, bad credits are over-represented, and
    sex is recorded only together with marital status, with no single women at all (Groemping 2019, "South German Credit
    Data: Correcting a Widely Used Data Set", shows that several codes are wrong). It serves to compare methods, not to
    decide about people.

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    import pandas as pd

    path = fetch("german/german.data", GERMAN_SHA256, GERMAN_URL)
    frame = pd.read_csv(path, names=[*GERMAN_FEATURES, "bad"], sep=r"\s+")
    frame["bad"] = frame["bad"] - 1
    frame["group"] = np.where(frame["personal"].isin(FEMALE), "women", "men")
    return frame


def fetch_hepar2() -> Path:
    """Return the path of the BIF file, for `CausalModel.from_bif`.

    HEPAR II: a Bayesian network of liver disorders, 70 nodes and 123 arrows.

    Built by A. Onisko with physicians ("Probabilistic Causal Models in Medicine: Application to Diagnosis of Liver
    Disorders", PhD thesis, Polish Academy of Sciences, 2003) from records of 699 patients of the Gastroenterological
    Clinic in Warsaw. The BIF file is that of the bnlearn Bayesian network repository, published under CC BY-SA 3.0.

    Known harms: the numbers describe patients of one clinic of the 1990s who were referred with a suspected disorder,
    most of them women; they say nothing about other people, and they are no basis for treatment. `sex` and `age` are
    roots of the network; what they cause in it is the builders' judgement.

    Raises
    ------
    DatasetError
        If the file is absent and cannot be fetched, or has another checksum.
    """
    return fetch("hepar2/hepar2.bif.gz", HEPAR2_SHA256, HEPAR2_URL)
