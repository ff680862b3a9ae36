"""True propensities are not doubted, and wrong ones are."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import evenhand as eh
from evenhand.evaluation.diagnosis import check_log, known_weight
from evenhand.evaluation.estimators import Candidate
from evenhand.evaluation.logged import read_logged
from evenhand.evaluation.propensities import ERROR, fit_of
from tests.evaluation.logs import NAMED, only, uniform

pytestmark = pytest.mark.compiled

UNIFORM = dict.fromkeys(range(80), 1 / 80)
EVERY = {0: "p0", 1: "p1", 2: "p2"}


def logged(log, propensity="p", unit=None):
    given = {"contexts": None, "position": None, "order": None, "unit": unit}
    return read_logged(log, arm="item", reward="click", propensity=propensity, **given)


def doubted(log):
    items = log["item"].unique()
    return any("fit" in note for note in eh.evaluate(log, dict.fromkeys(items, 1 / len(items)), **NAMED).notes)


def learned(seed, rows=2000):
    """A log of a learner over three arms, whose chances follow what it has seen: those of its arm, or of all."""
    random, sums, counts, columns, drawn, paid = np.random.default_rng(seed), np.zeros(3), np.ones(3), [], [], []
    for _ in range(rows):
        chances = 0.9 * np.eye(3)[np.argmax(sums / counts)] + 0.1 / 3
        arm = random.choice(3, p=chances)
        drawn.append(arm)
        paid.append(float(random.random() < (0.2, 0.5, 0.4)[arm]))
        columns.append(chances)
        sums[arm] += paid[-1]
        counts[arm] += 1
    frame = pd.DataFrame(np.array(columns), columns=["p0", "p1", "p2"]).assign(item=drawn, click=paid)
    frame["p"] = np.array(columns)[np.arange(rows), drawn]
    return frame


@pytest.mark.parametrize("propensity", ["p", EVERY])
def test_true_chances_of_a_learner_are_not_doubted(propensity):
    # the p-values are those of a valid test: 5 % of them below .05, of which 8 of 40 have probability 0.003 at most
    found = [fit_of(logged(learned(seed, 400), propensity)).min() for seed in range(40)]
    assert sum(value < 0.05 for value in found) <= 7
    assert min(found) > ERROR


def test_the_p_values_are_binomial_and_holm_s():
    log = uniform(1, rows=800)
    counts, binom = log["item"].value_counts().sort_index(), scipy.stats.binom
    assert len(counts) == 80
    plain = [min(1, 2 * min(binom.cdf(n, 800, 1 / 80), binom.sf(n - 1, 800, 1 / 80))) for n in counts]
    order = np.argsort(plain)
    holm = np.maximum.accumulate(np.minimum(np.sort(plain) * np.arange(80, 0, -1), 1))[np.argsort(order)]
    assert fit_of(logged(log)) == pytest.approx(holm)
    assert eh.evaluate(log, UNIFORM, **NAMED).weights["p_value"].min() > ERROR


def test_wrong_constant_chances_are_doubted():
    random, twice = np.random.default_rng(99), np.full(80, 1 / 81)
    twice[7] *= 2
    skewed = uniform(2, rows=10_000)
    skewed["p"] = (np.arange(1, 81) / 3240)[skewed["item"]]
    assert doubted(uniform(1, rows=10_000).assign(item=random.choice(80, 10_000, p=twice)))
    assert doubted(skewed)
    tiled = pd.concat([uniform(3, rows=1000)] * 100, ignore_index=True)
    (note,) = [note for note in eh.evaluate(tiled, UNIFORM, **NAMED).notes if "fit" in note]
    assert "rows may be repeated or missing" in note


@pytest.mark.parametrize("propensity", ["p", EVERY])
def test_wrong_chances_of_a_learner_are_doubted(propensity):
    log = learned(1)
    log[["p", "p0", "p1", "p2"]] = log[["p", "p0", "p1", "p2"]].shift(300, fill_value=1 / 3).to_numpy()
    log.loc[log.index[::3], "item"] = 0  # a third of the plays are arm 0's
    columns = log[["p0", "p1", "p2"]].to_numpy()
    log["p"] = columns[np.arange(len(log)), log["item"]]
    assert fit_of(logged(log, propensity)).min() < ERROR


def test_what_is_played_too_seldom_is_found_only_where_all_chances_are_known():
    log = learned(2)
    kept = log[(log["item"] != 2) | (np.arange(len(log)) % 8 == 0)].reset_index(drop=True)
    every, one = fit_of(logged(kept, EVERY)), fit_of(logged(kept))
    assert one[2] > 0.05
    assert every[2] < one[2]
    for policy, more in ((only(0, 3), {}), (eh.learners.UCB1(), {"rounds": 10})):
        for propensity, said in (("p", True), (EVERY, False)):
            found = eh.evaluate(kept, policy, **NAMED | {"propensity": propensity}, **more)
            assert any("not ones played more seldom" in note for note in found.notes) == said


def of_units(seed, changing):
    """A log of 100 people with 10 rows each, who have one arm each, by chances that are all the same or each their
    own."""
    random, user = np.random.default_rng(seed), np.repeat(np.arange(100), 10)
    chances = random.dirichlet([3, 3, 3], 100) if changing else np.tile([0.5, 0.3, 0.2], (100, 1))
    items = (random.random(100)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    frame = pd.DataFrame(chances[user], columns=["p0", "p1", "p2"]).assign(user=user, item=items[user])
    return frame.assign(click=(random.random(1000) < 0.3) * 1, p=chances[user, items[user]])


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("propensity", ["p", EVERY])
def test_true_chances_of_units_are_not_doubted_and_wrong_ones_are(propensity, changing):
    """By rows, 22 of 40 such logs were doubted. The p-values are valid, as those of a learner's log."""
    found = [fit_of(logged(of_units(seed, changing), propensity, "user")).min() for seed in range(40)]
    assert sum(value < 0.05 for value in found) <= 7
    assert min(found) > ERROR
    wrong = of_units(1, changing)
    wrong["item"] = np.where(wrong["user"] % 4, 0, wrong["item"])
    wrong["p"] = wrong[["p0", "p1", "p2"]].to_numpy()[np.arange(1000), wrong["item"]]
    assert fit_of(logged(wrong, propensity, "user")).min() < ERROR


def test_units_that_have_one_arm_each_refute_neither_a_largest_weight_nor_equal_chances():
    candidate = Candidate(np.array([[0.1, 0.2, 0.7]]), np.zeros(1000, np.int64))
    for seed in range(40):  # by rows, 2 were refused, and without propensities 4
        log = of_units(seed, changing=False)
        assert known_weight(logged(log, unit="user"), candidate, 3.5) == 3.5
        check_log(logged(log[["item", "click", "user"]], None, "user"), "item")
