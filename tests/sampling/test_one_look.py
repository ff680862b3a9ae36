"""A certificate from rows that are looked at once: exact limits, and how many more rows there must be."""

import numpy as np
import pytest
from scipy.stats import binomtest

from evenhand.errors import ArgumentError
from evenhand.sampling import certify_once
from evenhand.sampling.one_look import rows_needed

DRAWS = np.random.default_rng(1)
GROUP = np.repeat(["a", "b", "c"], [724, 60, 40])
Y = DRAWS.integers(0, 2, len(GROUP))
WRONG = np.concatenate([np.arange(n) < wrong for n, wrong in ((724, 180), (60, 20), (40, 30))])
SAID = np.where(WRONG, 1 - Y, Y)


@pytest.mark.parametrize("loss", ["zero_one", "false_negative", "false_positive"])
def test_the_limits_are_scipys_one_sided_ones_at_the_level_that_groups_share(loss):
    found = certify_once(Y, SAID, groups=GROUP, threshold=0.3, delta=0.06, loss=loss)
    counted = {"zero_one": Y >= 0, "false_negative": Y == 1, "false_positive": Y == 0}[loss]
    for name, row in found.iterrows():
        mine = counted & (name == GROUP)
        assert (row.rows, row.wrong) == (mine.sum(), (mine & WRONG).sum())
        for side, limit in (("less", row.high), ("greater", row.low)):
            exact = binomtest(int(row.wrong), int(row.rows), alternative=side).proportion_ci(0.98)
            assert limit == pytest.approx(exact.high if side == "less" else exact.low, abs=1e-9)
    assert ("most_frequent" in found) == (loss == "zero_one")
    if loss == "zero_one":
        always = found.attrs["most_frequent"]
        assert always == np.bincount(Y).argmax()
        assert found["most_frequent"].tolist() == [(Y[name == GROUP] != always).mean() for name in found.index]
        assert found["verdict"].tolist() == ["certified", "not_shown", "refuted"]
        assert np.isnan(found["needed"]).tolist() == [False, True, True]


def test_the_rows_that_are_needed_are_about_the_fewest_that_show_it():
    for risk, rows, threshold, level in ((0.2, 100, 0.25, 0.0125), (0.0, 10, 0.05, 0.05), (0.1, 10, 0.4, 0.05)):
        more = int(rows_needed(round(risk * rows), rows, threshold, level))

        def limit(n, risk=risk, level=level):
            wrong = int(np.ceil(risk * n - 1e-9))
            return binomtest(wrong, n, alternative="less").proportion_ci(1 - level).high

        assert limit(rows + more) <= threshold
        assert more == 0 or limit(rows + more - 1) > threshold


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"y": Y[:3]}, "groups: expected a label, a prediction and a group for each row, got '3, 824 and 824'"),
        ({"y": [], "prediction": [], "groups": []}, "groups: expected a label, a prediction and a group"),
        ({"y": np.where(Y, "yes", "no")}, "y: expected labels among"),
        ({"prediction": np.where(SAID, 0.7, 0.2)}, "prediction: expected labels that are text or whole numbers, got"),
        ({"loss": "log"}, "loss: expected"),
        ({"loss": "false_negative", "y": np.arange(len(Y)) % 3}, "y: expected two labels for false_negative"),
        ({"threshold": 1.5}, "threshold: expected"),
        ({"delta": 0}, "delta: expected"),
        ({"among": ["a", "b"]}, r"groups: expected groups among \['a', 'b'\], got 'c'"),
    ],
)
def test_what_cannot_be_certified_is_refused_by_name(change, says):
    with pytest.raises(ArgumentError, match=says):
        certify_once(**{"y": Y, "prediction": SAID, "groups": GROUP, "threshold": 0.3} | change)


def test_groups_without_a_row_are_not_shown_and_share_the_level():
    found = certify_once(Y, SAID, groups=GROUP, threshold=0.3, delta=0.08, among=["d", "c", "b", "a"])
    assert found.index.tolist() == ["d", "c", "b", "a"]
    assert (found.loc["d", "rows"], found.loc["d", "verdict"]) == (0, "not_shown")
    assert found.loc["a", "high"] == pytest.approx(binomtest(180, 724, alternative="less").proportion_ci(0.98).high)
    least = int(found.loc["d", "needed"])
    assert binomtest(0, least, alternative="less").proportion_ci(0.98).high <= 0.3
    assert binomtest(0, least - 1, alternative="less").proportion_ci(0.98).high > 0.3


def test_whoever_always_gives_the_most_frequent_label_is_no_better_in_any_group():
    """In 485 rows with 28 errors, 1 - 457 / 485 is not 28 / 485 in floating point."""
    sizes = {"a": (485, 28), "b": (49, 1), "c": (299, 23), "d": (103, 7)}
    groups = np.repeat(list(sizes), [rows for rows, _ in sizes.values()])
    labels = np.concatenate([np.arange(rows) < ones for rows, ones in sizes.values()]) * 1
    found = certify_once(labels, np.zeros_like(labels), groups=groups, threshold=0.5)
    assert (found["risk"] == found["most_frequent"]).all()
