"""A gain over a few trials: judged by Student's law, from three trials on."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evenhand.experiments.framework import critical_value
from evenhand.experiments.sampling.images import AHEAD, image_report
from evenhand.experiments.sampling.tables import gain_verdict
from evenhand.experiments.sampling.trials import ImageTrials

SETTINGS = ImageTrials("fashion-mnist", rounds=200, trials=3)


def judge(gains, *, sign=1):
    second = pd.Series(np.linspace(0.80, 0.82, len(gains)))
    return gain_verdict(
        AHEAD, second + sign * pd.Series(gains), second, replace(SETTINGS, trials=len(gains)), sign=sign
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_three_trials_need_more_than_student_s_quantile(sign):
    quantile = critical_value(3)  # standard errors of (m - d, m, m + d): d / sqrt(3)
    wide, narrow = ([0.02 - d, 0.02, 0.02 + d] for d in np.sqrt(3) * 0.02 / quantile * np.array([1.01, 0.99]))
    assert judge(narrow, sign=sign).text == "reproduced"
    beyond = judge(wide, sign=sign)
    assert beyond.text == "inconclusive: needs trials >= 10"
    assert "in 3 trials (4.30 standard errors: 0.0202); the sign is right, the interval too wide" in beyond.measured
    behind = judge([-0.02, -0.03, -0.04], sign=sign)
    assert (behind.text, "sign is right" in behind.measured) == ("not reproduced", False)


def test_one_and_two_trials_stay_inconclusive_whatever_they_show():
    for gains in ([0.1], [0.1, 0.1], [0.1, 0.1001], [-0.1, -0.1]):
        assert judge(gains).text == "inconclusive: needs trials >= 3"
    assert judge([0.1, 0.1, 0.1]).word == "reproduced"


def test_no_number_of_trials_is_judged_more_mildly_than_by_two_standard_errors():
    values = [critical_value(runs) for runs in range(2, 1000)]
    assert values == sorted(values, reverse=True)
    assert min(values) == 2.0
    assert critical_value(1) == np.inf


def history(trials, *, ends, rounds=200):
    """Return a history in which each scheme ends with an accuracy, and one group is the worst everywhere."""
    schemes = ("A_opt", "epsilon-greedy", "Greedy", "Uniform", "Uncurated", "A_opt+")
    return pd.DataFrame(
        {
            "scheme": scheme,
            "trial": trial,
            "round": round,
            "group": group,
            "share": share,
            "test_risk": 1 - ends.get(scheme, 0.8) - 0.001 * trial if group == "u" else 0.01,
            "labels": 100 * round,
        }
        for scheme in schemes
        for trial in range(trials)
        for round in (100, rounds)
        for group, share in (("u", 0.9), ("v", 0.1))
    )


def test_the_picture_experiments_get_a_verdict_on_every_claim_from_three_trials():
    report = image_report(history(3, ends={"A_opt": 0.85, "Greedy": 0.75, "Uncurated": 0.75}), SETTINGS)
    words = {verdict.claim.says.split(" ")[0]: verdict.word for verdict in report.verdicts[:5]}
    assert words == {
        "A_opt": "reproduced",
        "epsilon-greedy": "inconclusive",
        "Greedy": "not reproduced",
        "A_opt+": "inconclusive",
        "Uncurated": "reproduced",
    }
    assert [verdict.word for verdict in report.verdicts[5:]] == ["reproduced", "reproduced", "inconclusive"]
    assert report.verdicts[-1].text == "inconclusive: needs rounds >= 500"
    assert report.verdicts[-1].measured == "0.8510 in 3 trials; published 0.936"
    faces = image_report(history(3, ends={"A_opt": 0.85}), replace(SETTINGS, data="utkface")).verdicts[-1]
    assert (faces.word, faces.measured) == ("not reproduced", "0.8510 in 3 trials; published 0.946")
    few = image_report(history(2, ends={"A_opt": 0.85}), replace(SETTINGS, trials=3))
    assert {verdict.word for verdict in few.verdicts} == {"inconclusive"}
