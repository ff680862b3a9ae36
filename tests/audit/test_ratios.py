"""Bets on the ratio of two rates are those of the definition, and win nothing on average where the claim is true."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

import evenhand as eh
from evenhand.audit.ratios import ends_to_best, evidence, evidence_below, koopman
from evenhand.audit.sequences import BETS
from tests.audit.test_rates import hires
from tests.cli.shell import call


def counts(*pairs):
    return np.array(pairs, np.float64)


def test_the_evidence_is_that_of_the_definition():
    """Row by row, each with its own factor, at the least of many rates of the second group."""

    def wealth(rows, mean):
        return np.mean([np.prod([1 + c * (x / mean - 1) for x in rows]) for c in BETS])

    one, other = [1] * 9 + [0] * 6, [1] * 3 + [0] * 17
    for ratio in (0.5, 1.0, 2.0):
        rates = np.linspace(0.001, 0.999, 1500)
        products = [wealth(one, min(ratio * q, 1)) * wealth([1 - x for x in other], 1 - q) for q in rates]
        (found,) = evidence(counts((9, 15)), counts((3, 20)), ratio)
        assert found == pytest.approx(math.log(min(products)), abs=1e-4)


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.4), (0.05, 0.06), (0.5, 0.5), (0.9, 0.3)])
def test_nothing_is_won_on_average_where_the_claim_is_true(p, q):
    """Every outcome of a few rows with its probability, so that nothing is left to luck."""
    n, m = 9, 7
    outcomes = list(itertools.product(range(n + 1), range(m + 1)))
    chance = np.array([binom.pmf(a, n, p) * binom.pmf(b, m, q) for a, b in outcomes])
    won = np.exp(evidence(counts(*((a, n) for a, _ in outcomes)), counts(*((b, m) for _, b in outcomes)), p / q))
    assert chance @ won <= 1 + 1e-9
    assert chance @ won > 0.1


def test_nothing_is_won_on_average_where_all_ratios_are_large_enough():
    rates, sizes = (0.4, 0.5, 0.45), (4, 5, 3)
    mean = 0.0
    for hits in itertools.product(*(range(size + 1) for size in sizes)):
        chance = np.prod([binom.pmf(a, n, p) for a, n, p in zip(hits, sizes, rates, strict=True)])
        mean += chance * evidence_below(counts(*zip(hits, sizes, strict=True)), 0.8)
    assert 0.1 < mean <= 1 + 1e-9


def test_the_interval_of_the_printed_example_is_that_of_the_note():
    """Women of Local Law 144's example, 34 of 76 above the median, men 50 of 92."""
    low, high = ends_to_best(counts((34, 76))[0], counts((50, 92)), 0.05)
    assert (round(low, 2), round(high, 2)) == (0.41, 1.58)


def test_the_best_of_several_groups_is_not_known_before():
    own, others = counts((40, 400))[0], counts((100, 400), (90, 400), (80, 400))
    low, high = ends_to_best(own, others, 0.05)
    pairs = [ends_to_best(own, others[at : at + 1], 0.05) for at in range(3)]
    assert low == pytest.approx(min(low for low, _ in pairs), rel=1e-4)
    assert min(high for _, high in pairs) < high < 1


def test_any_number_of_looks_is_said_for_ones_and_zeros_alone(tmp_path):
    frame = hires({"a": (1500, 300), "b": (1500, 750), "c": (1500, 740)})
    found = eh.audit.rates(frame, group="race", value="hired")
    assert found.rejected
    assert found.evidence["race"] > 20
    assert found.groups["high"][0] < 0.8 < found.groups["high"][1]
    assert found.groups["once_high"][0] < found.groups["high"][0]
    assert "all groups together show that some ratio is below 0.8" in str(found)
    assert "rates do not change over time" in str(found)
    for one_look in (frame.assign(hired=3 * frame["hired"] + frame.index / 1e4), frame.assign(ad=frame.index // 3)):
        unit = {"unit": "ad"} if "ad" in one_look else {}
        other = eh.audit.rates(one_look, group="race", value="hired", **unit)
        assert "low" not in other.groups
        assert "again and again" not in str(other)
    frame.to_csv(tmp_path / "hired.csv", index=False)
    assert call("audit-parity", tmp_path / "hired.csv", "--group", "race", "--value", "hired", "--rates").exit_code == 1


def test_a_rate_of_zero_by_units_counts_each_unit_as_one_row():
    frame = hires({"a": (200, 0), "b": (200, 60)}).assign(ad=lambda f: f.index // 10)
    low, high = eh.audit.rates(frame, group="race", value="hired", unit="ad").groups.loc[0, ["once_low", "once_high"]]
    assert (low, high) == (0.0, pytest.approx(koopman(0, 20, 6, 20, 0.05)[1]))
