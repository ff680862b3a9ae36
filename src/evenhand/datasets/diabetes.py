"""The diabetes data that ships with scikit-learn: 442 patients, no download.

Source: B. Efron, T. Hastie, I. Johnstone, R. Tibshirani, "Least Angle Regression", Annals of Statistics 32 (2004).
Licence: part of scikit-learn's BSD-3 distribution. Known harms: sex is coded as two unnamed values, and the score
measures the progression of a disease, so "reward" here means need; nothing learned from it should decide about real
patients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def load_diabetes() -> pd.DataFrame:
    """Return the 442 patients, a row each.

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
