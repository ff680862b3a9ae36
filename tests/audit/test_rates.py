"""Rates of groups, and their ratios to the best group's: the four-fifths rule and the table of Local Law 144."""

import itertools
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import demographic_parity_ratio
from scipy.stats import binom, t

import evenhand as eh
from evenhand.audit.confidence_sequences import BETS
from evenhand.audit.ratios import ends_to_best, evidence, evidence_below, koopman
from evenhand.errors import TableError
from evenhand.plots.style import figure
from tests.cli.shell import answer, as_json, cells, refused
from tests.fuzzing import many, most


def hires(counts, **more):
    """A table by group: how many there are, and how many of these were hired."""
    rows = [(group, hired) for group, (size, ones) in counts.items() for hired in [1] * ones + [0] * (size - ones)]
    return pd.DataFrame(rows, columns=["race", "hired"]).assign(**more)


CALLBACKS = hires({"black": (2435, 157), "white": (2435, 235)})


def rates_of(frame, **settings):
    return eh.audit.rates(frame, **{"group": "race", "value": "hired"} | settings)


def test_the_interval_of_a_ratio_is_that_of_statsmodels():
    """0.14: confint_proportions_2indep(..., compare="ratio", method="score", correction=False)."""
    assert koopman(36, 40, 16, 80, 0.05) == pytest.approx((2.9395691922149965, 7.15222343486603))


def test_rates_that_are_none_or_all_have_an_end_of_their_own():
    assert koopman(0, 40, 16, 80, 0.05)[0] == 0.0
    assert koopman(5, 40, 0, 80, 0.05)[1] == np.inf
    assert koopman(0, 40, 0, 80, 0.05) == (0.0, np.inf)
    low, high = koopman(40, 40, 80, 80, 0.05)
    assert low == pytest.approx(40 / (40 + 3.841458820694124))
    assert high == pytest.approx((80 + 3.841458820694124) / 80)


def test_the_ratio_is_that_of_fairlearn_and_where_its_interval_lies_is_said():
    found = rates_of(CALLBACKS)
    black, white = found.groups.to_dict("records")
    same = demographic_parity_ratio(CALLBACKS["hired"], CALLBACKS["hired"], sensitive_features=CALLBACKS["race"])
    assert black["ratio"] == pytest.approx(same)
    assert (black["once_low"], black["once_high"]) == pytest.approx((0.5503133818999044, 0.8107881840880269))
    assert (black["where"], white["where"], white["ratio"]) == ("not shown to be either", "reference", 1.0)
    assert "0.668 of that of group 'white' (9.7%)" in str(found)
    assert "95 % interval of that ratio is 0.550 to 0.811, so it may be below 0.8 or not" in str(found)
    assert rates_of(CALLBACKS, threshold=0.9).groups["where"][0] == "shown to be below 0.9"
    assert not any(word in str(found) for word in ("passes", "complies"))


def test_the_groups_that_are_shown_are_named_before_one_whose_ratio_is_smaller_by_chance():
    frame = hires({"tiny": (2, 0), "a": (400, 100), "b": (400, 120), "c": (400, 200)}).assign(
        ad=lambda f: range(len(f))
    )
    found = rates_of(frame, unit="ad")
    assert found.rejected
    assert "group 'a' has a rate of 25.0% (100 of 400), 0.500 of that" in str(found)
    assert "so it is shown to be below 0.8, as is that of 'b'." in str(found)


def test_rows_of_one_unit_count_together():
    """The logarithm of the ratio with CR2 by hand, a unit on both sides."""
    random = np.random.default_rng(1)
    ads = random.beta(1, 4, 150)
    frame = pd.DataFrame({"ad": np.repeat(np.arange(150), 4), "race": np.tile(["a", "a", "b", "b"], 150)})
    frame["hired"] = (random.random(600) < ads[frame["ad"]] * np.where(frame["race"] == "a", 0.7, 1)) * 1
    (own, *_) = rates_of(frame, unit="ad").groups.to_dict("records")
    sums = frame.pivot_table("hired", "ad", "race", "sum")
    means = sums.sum() / 300
    scores = (sums - 2 * means) / (300 * np.sqrt(1 - 2 / 300)) / means
    error = np.sqrt(np.square(scores["a"] - scores["b"]).sum())
    assert own["ratio"] == pytest.approx(means["a"] / means["b"])
    half = np.log(own["once_high"] / own["once_low"]) / 2
    assert t.ppf(0.975, 149 * 2) * error <= half <= t.ppf(0.975, 149 / 2) * error


def test_the_best_of_five_groups_is_found_in_the_same_rows():
    """At least 95 % of intervals hold the ratio, of groups that are alike and of one that is worse; 75 % would be
    noticed with a probability of 0.9."""
    missed = np.zeros(5)
    tables = many(50)
    for seed in range(tables):
        hits = np.random.default_rng(seed).binomial(200, [0.3] * 4 + [0.2])
        found = rates_of(hires({name: (200, int(ones)) for name, ones in zip("abcde", hits, strict=True)})).groups
        truth = np.array([1.0] * 4 + [2 / 3])
        missed += ~found["once_low"].le(truth + 1e-9) | ~found["once_high"].ge(truth - 1e-9)
    assert missed.max() <= most(0.05, tables)


def test_the_printed_example_of_local_law_144():
    """Scores above the pooled median, with every intersection: `audits.md` has the rule's printed table."""
    counts = {"Hispanic": (28, 18), "White": (40, 15), "Black": (32, 16), "Native Hawaiian": (8, 5), "Asian": (24, 10)}
    frame = hires({**counts, "Two or more": (36, 20)}).assign(sex=lambda f: np.where(f.index % 2, "m", "f"))
    frame["score"] = np.where(frame["hired"] == 1, 80.0, 20.0) + np.arange(168) / 1000
    found = rates_of(frame, value="score", group=["sex", "race"])
    by_race = found.groups[found.groups["column"] == "race"].set_index("group")
    printed = {"Hispanic": (0.642, 1.0), "White": (0.375, 0.58), "Black": (0.5, 0.78), "Asian": (0.417, 0.65)}
    rates, ratios = zip(*printed.values(), strict=True)
    assert by_race.loc[[*printed], "rate"].tolist() == pytest.approx(rates, abs=0.001)
    assert by_race.loc[[*printed], "ratio"].tolist() == pytest.approx(ratios, abs=0.005)
    assert by_race.loc["Native Hawaiian", "ratio"] == pytest.approx(0.97, abs=0.005)
    assert (found.groups["column"] == "sex & race").sum() == 12
    assert found.median == pytest.approx(np.median(frame["score"]))


def test_the_picture_has_the_ratios_and_the_reference_without_an_interval():
    found = rates_of(CALLBACKS)
    title, across, limit, (black, white) = found.bars()
    assert title == "hired: the rate of each group, divided by that of the best group"
    assert (across, limit) == ("ratio of rates; dashed: 0.8", 0.8)
    assert (black[:2], white[:3]) == (("black", "0.668"), ("white", "reference", 1.0))
    assert np.isnan(white[3:]).all()
    assert eh.plots.plot_parity(found, ax=figure()[1]).get_title("left") == title
    two = rates_of(CALLBACKS.assign(old=np.where(CALLBACKS.index % 2, "yes", "no")), group=["race", "old"])
    names = [text.get_text() for text in eh.plots.plot_parity(two, ax=figure()[1]).get_yticklabels()]
    assert names[:5] == ["race: black", "race: white", "old: no", "old: yes", "race & old: black & no"]


def test_unknown_groups_bound_the_ratio_and_small_ones_are_named():
    frame = hires({"a": (500, 200), "b": (480, 240), "c": (10, 9), None: (30, 12)})
    found = rates_of(frame)
    notes = " ".join(found.notes)
    assert "30 rows of an unknown group of 'race', 12 of them with a 1, are" in notes
    scores = rates_of(frame.assign(hired=frame["hired"] + frame.index / 1e4)).notes[0]
    assert "of them with a value above the median, are" in scores
    assert "less than 2% of the rows are shown, but are not the best group: 'c' (10)" in notes


def test_the_ratio_of_a_group_that_is_not_the_best_may_be_above_1():
    """The lower end is that of its ratio to "b"; the upper one has half the level, as either of two may be best."""
    frame = hires({"a": (500, 200), "b": (480, 240), "c": (10, 8)})
    small = rates_of(frame).groups.iloc[2]
    assert (small["ratio"], small["once_high"] > small["ratio"] > 1) == (pytest.approx(1.6), True)
    ends = koopman(8, 10, 240, 480, 0.05)[0], koopman(8, 10, 240, 480, 0.025)[1]
    assert (small["once_low"], small["once_high"]) == pytest.approx(ends, rel=1e-4)
    assert small["low"] < small["once_low"] < 1.6 < small["once_high"] < small["high"]
    by_unit = rates_of(frame.assign(ad=frame.index), unit="ad").groups.iloc[2]
    assert by_unit["once_low"] < 1.6 < by_unit["once_high"]
    alone = rates_of(hires({"a": (500, 200), "c": (5, 4)})).groups
    assert alone.loc[0, ["once_low", "once_high", "low", "high"]].tolist() == [1.0] * 4
    assert alone.loc[1, "low"] < 2 < alone.loc[1, "high"]


def test_bounds_are_the_extremes_over_all_groups_that_unknown_rows_may_be_of():
    counts = {"a": (60, 20), "b": (60, 30), "c": (60, 30), "d": (2, 2)}
    found = rates_of(hires({**counts, None: (6, 2)})).groups
    rows, hits = np.array([*counts.values()]).T
    splits = [np.bincount(each, minlength=4) for each in product(range(4), repeat=4)]
    ratios = []
    for ones in product(range(4), repeat=2):
        more = hits + np.bincount(ones, minlength=4)
        each = [more / (rows + more - hits + zeros) for zeros in splits]
        ratios += [rate / rate[:3].max() for rate in each]
    assert found["least"].to_numpy() == pytest.approx(np.min(ratios, axis=0))
    assert found["most"].to_numpy() == pytest.approx(np.max(ratios, axis=0))
    assert found["most"][3] > 1


@pytest.mark.parametrize(
    ("frame", "settings", "words"),
    [
        (hires({"a": (9, 9), "b": (9, 9)}), {}, "value: expected a column of values that differ, got '1 in every row'"),
        (hires({"a": (9, 3)}), {}, "column 'race': expected at least two groups"),
        (hires({None: (9, 3)}), {}, "column 'race': expected at least two groups, got 'empty cells only'"),
        (CALLBACKS, {"group": "sex"}, "group: expected one of the columns"),
        (CALLBACKS, {"value": ["hired"]}, "expected the name of a column, got 'list'"),
        (CALLBACKS, {"unit": "race"}, "unit: expected columns that have no other use, got 'race'; it is the group"),
        (CALLBACKS, {"group": ["race", "hired"]}, "group: expected columns that have no other use, got 'hired'"),
        (hires({"a": (300, 0), "b": (300, 0), "c": (2, 2)}), {}, "expected a group with 2 % of the rows and a rate"),
    ],
)
def test_what_has_no_ratio_is_refused(frame, settings, words):
    with pytest.raises(TableError, match=words):
        rates_of(frame, **settings)


def test_the_command_prints_the_ratios(tmp_path):
    CALLBACKS.assign(race=["black", ""] * 2435).to_csv(tmp_path / "ads.csv", index=False)
    path, given = tmp_path / "ads.csv", ("--group", "race", "--value", "hired", "--rates")
    refused(TableError, "column 'race': expected at least two groups", "audit-parity", path, *given)
    CALLBACKS.to_csv(path, index=False)
    black, white = cells(answer("audit-parity", path, *given))
    assert black[:5] == ["black", "2,435", "157", "6.4%", "0.668"]
    assert black[5:] == ["not shown to be either", "0.550 to 0.811", "0.439 to 1.000"]
    assert white == ["white", "2,435", "235", "9.7%", "1.000", "reference", "-", "-"], "not judged against itself"
    assert as_json("audit-parity", path, *given)["groups"][0]["where"] == "not shown to be either"


# ---------------------------------------------------------------------- bets on the ratio of two rates


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
    answer("audit-parity", tmp_path / "hired.csv", "--group", "race", "--value", "hired", "--rates", code=1)


def test_a_rate_of_zero_by_units_counts_each_unit_as_one_row():
    frame = hires({"a": (200, 0), "b": (200, 60)}).assign(ad=lambda f: f.index // 10)
    low, high = eh.audit.rates(frame, group="race", value="hired", unit="ad").groups.loc[0, ["once_low", "once_high"]]
    assert (low, high) == (0.0, pytest.approx(koopman(0, 20, 6, 20, 0.05)[1]))
