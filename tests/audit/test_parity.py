"""Whether groups have the same mean: a test that may be looked at any time, on a log, a command line and a study."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import evenhand as eh
from evenhand.audit.confidence_sequences import BETS
from evenhand.audit.gaps import Gap, wealth_of
from evenhand.errors import ArgumentError, TableError
from evenhand.studies import Study
from evenhand.studies.statistics.gauges import gauges_of
from tests.cli.shell import answer, as_json, refused
from tests.fuzzing import many, most

ROWS = {"group": ["a", "b"], "reward": [0, 1]}


def log_of(seed, means, rows=800, drift=0.0):
    random = np.random.default_rng(seed)
    groups = random.integers(len(means), size=rows)
    chance = np.array(means)[groups] + drift * np.sin(np.arange(rows) / 300)
    return pd.DataFrame({"group": groups, "reward": (random.random(rows) < chance) * 1})


def parity_of(frame, **settings):
    return eh.audit.parity(frame, group="group", value="reward", **settings)


@pytest.mark.parametrize(
    ("means", "settings"),
    [((0.3, 0.3), {}), ((0.5, 0.5), {"drift": 0.4}), ((0.3, 0.4), {"tolerance": 0.1}), ((0.4, 0.4, 0.4), {})],
)
def test_equal_groups_are_hardly_ever_said_to_differ(means, settings):
    """At most 5 %, looked at after every row."""
    drift, logs = settings.pop("drift", 0.0), many(300)
    found = [parity_of(log_of(seed, means, drift=drift), **settings) for seed in range(logs)]
    assert sum(one.rejected for one in found) <= most(0.05, logs)


def test_groups_that_differ_are_found(tmp_path):
    found = [parity_of(log_of(seed, (0.2, 0.5))) for seed in range(40)]
    assert all(one.rejected for one in found)
    assert np.median([one.round for one in found]) < 400
    assert sum(one.low <= -0.3 <= one.high for one in found) >= 35
    assert all(one.low < one.high < 0 for one in found)
    log_of(0, (0.2, 0.5)).to_csv(tmp_path / "log.csv", index=False)
    said = answer("audit-parity", tmp_path / "log.csv", code=1)
    assert "first shown after row" in " ".join(said.split())


def test_the_wealth_is_that_of_the_definition():
    differences = np.random.default_rng(1).choice([-1.0, 0.0, 0.5, 1.0], size=40)
    wealth = [
        np.mean([np.prod(1 + bet * ((1 + side * differences[: n + 1]) / 1.1 - 1)) for bet in BETS for side in (1, -1)])
        for n in range(40)
    ]
    assert np.concatenate(list(wealth_of(differences, 0.1))) == pytest.approx(np.log(wealth))


def test_rows_that_lie_too_far_apart_make_no_pair():
    gap = Gap(within=2)
    rows = [(True, 1.0), (True, 0.5), (True, 0.2), (False, 0.0), (False, 0.1), (True, 0.7), (True, 0.9), (False, 0.0)]
    assert [gap.take(*row) for row in rows] == [*(None,) * 5, pytest.approx(0.7), None, None]
    assert gap.pairs == 1


def in_batches(seed, size, kind, spread=0.2, rows=4000):
    """Groups whose rows come in batches, and batches whose means differ: the same for whoever is in them."""
    random = np.random.default_rng(seed)
    count = rows // size
    means = np.repeat(np.clip(0.5 + spread * random.standard_normal(count), 0.02, 0.98), size)
    turns = np.arange(count) % 2 == 0
    inside = {
        "in turn": lambda: np.repeat(turns, size),
        "one group each": lambda: np.repeat(random.random(count) < 0.5, size),
        "mostly one group": lambda: random.random(rows) < np.repeat(np.where(turns, 0.9, 0.1), size),
        "sorted inside": lambda: np.tile(np.arange(size) < size // 2, count),
    }[kind]()
    return pd.DataFrame({"group": inside * 1, "reward": (random.random(rows) < means) * 1})


@pytest.mark.parametrize("size", [20, 50])
@pytest.mark.parametrize("kind", ["in turn", "one group each", "mostly one group", "sorted inside"])
def test_batches_that_differ_are_no_groups_that_differ(kind, size):
    """At most 5 % of logs; pairs of any two rows alarmed in up to 70 %."""
    logs = many(60)
    assert sum(parity_of(in_batches(seed, size, kind)).rejected for seed in range(logs)) <= most(0.05, logs)


def learned(seed, rounds=2000):
    """Decisions of UCB1 between two groups that pay alike: whether a run goes on depends on its values."""
    random, pulls, sums = np.random.default_rng(seed), np.ones(2), np.ones(2) / 2
    rows = []
    for t in range(rounds):
        arm = int(np.argmax(sums / pulls + np.sqrt(2 * np.log(t + 2) / pulls)))
        value = float(random.random() < 0.5)
        pulls[arm], sums[arm] = pulls[arm] + 1, sums[arm] + value
        rows.append((arm, value))
    return pd.DataFrame(rows, columns=["group", "reward"])


def test_a_learner_that_chooses_the_group_is_no_difference():
    """At most 5 % of logs: 60 x 0.05 + 4 standard deviations = 10."""
    assert sum(parity_of(learned(seed)).rejected for seed in range(60)) <= 10


@pytest.mark.parametrize(
    ("groups", "enough", "noted"),
    [
        (["a"] * 500 + ["b"] * 500, False, True),
        ((["a"] * 50 + ["b"] * 50) * 10, False, True),
        ((["a"] * 5 + ["b"] * 5) * 100, True, True),
        (["a", "b"] * 500, True, False),
        (["a", "b", "c"] * 300, True, False),
    ],
)
def test_a_log_of_which_few_rows_can_be_compared_says_so(tmp_path, groups, enough, noted):
    log = pd.DataFrame({"group": groups, "reward": (np.arange(len(groups)) % 7 == 0) * 1})
    found = parity_of(log)
    assert (found.enough, bool(found.notes)) == (enough, noted)
    log.to_csv(tmp_path / "log.csv", index=False)
    words = " ".join(answer("audit-parity", tmp_path / "log.csv", code=0 if enough else 3).split())
    assert ("too few rows could be compared" in words) is not enough
    assert ("sorted by group" in words) is noted


def test_a_difference_of_rates_is_at_most_one_however_few_rows_there_are():
    found = parity_of(pd.DataFrame({"group": ["a"] + ["b"] * 40 + ["c"] * 40, "reward": [1] + [0, 1] * 40}))
    assert found.groups["once_low"].between(-1, 1).all()
    assert found.groups["once_high"].between(-1, 1).all()
    assert "All 3 intervals hold together" in " ".join(found.notes)


def test_combinations_of_columns_are_groups(tmp_path):
    log = log_of(1, (0.3, 0.3)).rename(columns={"group": "sex"}).assign(old=lambda f: np.arange(len(f)) % 2)
    found = eh.audit.parity(log, group=["sex", "old"], value="reward")
    assert found.groups["group"].tolist() == ["0 & 0", "0 & 1", "1 & 0", "1 & 1"]
    log.to_csv(tmp_path / "log.csv", index=False)
    body = as_json("audit-parity", tmp_path / "log.csv", "--group", "sex,old")
    assert [row["group"] for row in body["groups"]] == found.groups["group"].tolist()
    with pytest.raises(TableError, match="group: expected columns that have no other use, got 'sex'"):
        eh.audit.parity(log, group=["sex", "sex"], value="reward")


@pytest.mark.parametrize(("rows", "chances"), [(20, (0.5, 0.5)), (60, (0.05, 0.2)), (600, (0.3, 0.4))])
def test_one_look_holds_the_difference_as_often_as_it_says(rows, chances):
    """At least 95 % of 100 tables, less 4 standard deviations: 86. The looks of an open log are wider."""
    found = [parity_of(log_of(seed, chances, rows)) for seed in range(100)]
    truth = chances[0] - chances[1]
    assert sum(one.once_low <= truth <= one.once_high for one in found) >= 86
    assert all(one.high - one.low > one.once_high - one.once_low for one in found)
    plain = log_of(0, chances, rows).groupby("group")["reward"].mean()
    assert found[0].difference == pytest.approx(plain[0] - plain[1])
    assert found[0].groups["difference"].tolist() == pytest.approx([plain[0] - plain[1], plain[1] - plain[0]])


def test_values_that_are_all_alike_are_no_certainty():
    found = parity_of(pd.DataFrame({"group": [0, 0, 0, 1, 1, 1], "reward": [1, 1, 1, 0, 0, 0]}))
    assert (found.difference, found.once_low < 0.5 < found.once_high) == (1.0, True)


def test_the_group_that_differs_most_is_named():
    found = parity_of(log_of(3, (0.5, 0.5, 0.1), rows=2500))
    assert (found.group, found.rejected) == (2, True)
    assert found.groups["group"].tolist() == [0, 1, 2]
    assert found.groups["rows"].sum() == 2500
    assert found.high < -0.2


def of_sizes(seed, sizes, *, lower=0.0, rows=1):
    """Normal values of groups of so many units, each of as many rows that are alike; the first group has them lower."""
    random, group = np.random.default_rng(seed), np.repeat(range(len(sizes)), sizes)
    value = 50 + random.normal(0, 10, len(group)) - lower * (group == 0)
    frame = pd.DataFrame({"group": group, "reward": value, "unit": range(len(group))})
    return frame.loc[frame.index.repeat(rows)]


@pytest.mark.parametrize(
    ("sizes", "rows"), [([500, 2, 2, 2, 2, 2], 1), ([300, 7, 7, 7], 1), ([40, 2], 1), ([40, 2], 5), ([60, 3, 3, 7], 5)]
)
def test_small_groups_whose_values_lie_close_together_by_accident_are_no_groups_that_differ(sizes, rows):
    """At most 5 %; Welch's interval takes a variance that is small by accident for known, and alarms in up to 25 %."""
    tables = many(150)
    found = [parity_of(of_sizes(seed, sizes, rows=rows), unit="unit" if rows > 1 else None) for seed in range(tables)]
    assert sum(one.rejected for one in found) <= most(0.05, tables)
    assert all(one.rejected == ((one.groups["once_low"] > 0) | (one.groups["once_high"] < 0)).any() for one in found)


def test_a_tiny_group_far_away_does_not_hide_the_groups_that_differ(tmp_path):
    log = of_sizes(1, [500, 500, 7, 5], lower=3.0)
    log["reward"] += 20.0 * (log["group"] == 3) + 5.0 * (log["group"] == 2)
    found = parity_of(log)
    assert (found.rejected, found.group, found.once_high < 0) == (True, 0, True)
    assert "that holds for all 3 groups at once" in str(found)
    assert np.isinf(found.groups["once_low"]).tolist() == [False, False, False, True]
    assert found.notes == ("1 of 4 groups, with under 1% of the rows, have too few rows to be compared closely: 3.",)
    log.to_csv(tmp_path / "log.csv", index=False)
    answer("audit-parity", tmp_path / "log.csv", code=1)


def test_the_one_look_at_rates_is_of_a_group_that_it_shows_to_differ():
    rates, sizes = (0.1, 0.3, 0.3, 0.0), (60, 200, 100, 4)
    values = np.concatenate([np.arange(size) < rate * size for rate, size in zip(rates, sizes, strict=True)])
    order = np.random.default_rng(1).permutation(len(values))
    found = parity_of(pd.DataFrame({"group": np.repeat(list("abcd"), sizes), "reward": values * 1}).iloc[order])
    assert (found.rejected, found.group) == (False, "a")
    assert "so the groups differ by more than 0. If it grows" in str(found)


def test_units_count_where_groups_have_few_and_skewed_values_are_said():
    log = of_sizes(1, [60, 40, 3], rows=20)
    found = parity_of(log.assign(reward=np.exp(log["reward"] / 10)), unit="unit")
    assert found.notes[0] == "1 of 3 groups, with 3% of the units, have too few units to be compared closely: 2."
    assert found.notes[1].endswith(" units, intervals miss more often than they say; here 0, 1.")


@pytest.mark.parametrize(
    ("frame", "settings", "error", "words"),
    [
        (ROWS | {"group": ["a", "a"]}, {}, TableError, "column 'group': expected at least two groups, got 'a'"),
        (ROWS | {"reward": [0, "x"]}, {}, TableError, "column 'reward', row 2: expected finite numbers"),
        (ROWS | {"group": ["a", None]}, {}, TableError, "column 'group', row 2: the cell is empty"),
        ({"group": ["a", "b"]}, {}, TableError, r"column: expected one of \['group'\], got 'reward'"),
        (ROWS, {"tolerance": -1}, ArgumentError, "tolerance: expected a number >= 0"),
        (ROWS, {"level": 0}, ArgumentError, "level: expected a number > 0"),
        (ROWS, {"within": 0}, ArgumentError, "within: expected a whole number >= 1"),
    ],
)
def test_what_cannot_be_tested_is_refused(frame, settings, error, words):
    with pytest.raises(error, match=words):
        parity_of(pd.DataFrame(frame), **settings)


# ------------------------------------------------------------------ studies


def converse(study, rounds, means):
    """Return the log, one row per decision."""
    random, rows = np.random.default_rng(2), []
    for _ in range(rounds):
        decision = study.ask(random.random((3, 1)))
        rows.append(("young" if decision.arm == "c" else "old", float(random.random() < means[decision.arm])))
        study.tell(decision, rows[-1][1])
    return pd.DataFrame(rows, columns=["group", "reward"])


@pytest.mark.parametrize(("young", "apart"), [(0.05, True), (0.6, False)], ids=["apart", "alike"])
def test_the_gauge_of_a_study_is_what_the_test_shows_of_its_log(young, apart):
    study = Study.create(":memory:", eh.groups.TopInterval({"a": "old", "b": "old", "c": "young"}, seed=1))
    assert "group_gap" not in gauges_of(study.statistics())
    found = parity_of(converse(study, 250, {"a": 0.6, "b": 0.6, "c": young}))
    gap = gauges_of(study.statistics())["group_gap"]
    assert gap == pytest.approx(max(0.0, found.low, -found.high))
    assert (0.05 < gap < 0.55) == apart == found.rejected


# ---------------------------------------------------------------------- rows of one person are no independent rows


def people(seed, *, units=40, rows=50, mixed=False):
    """Rows of people with a rate of their own, drawn without regard to their group, in random order."""
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(units), rows)
    each = random.permutation(["f", "m"] * (units // 2))
    group = random.choice(["f", "m"], len(user)) if mixed else np.repeat(each, rows)
    rate = np.repeat(random.beta(0.5, 0.5, units), rows)
    frame = pd.DataFrame({"user": user, "g": group, "y": (random.random(len(user)) < rate) * 1})
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def bell_mccaffrey(values, weights, units):
    """The mean, CR2's score of each unit, and the degrees of freedom for units that are alike, by matrices as the paper
    writes them; a row with a weight is one of as many."""
    design = np.sqrt(weights)
    hat, every = np.outer(design, design) / weights.sum(), np.eye(len(values))
    mean, vectors, scores = weights @ values / weights.sum(), [], {}
    for unit in np.unique(units):
        mine = units == unit
        roots, axes = np.linalg.eigh(np.eye(mine.sum()) - hat[np.ix_(mine, mine)])
        part = np.zeros(len(values))
        part[mine] = axes @ np.diag(roots**-0.5) @ axes.T @ design[mine] / weights.sum()
        vectors.append((every - hat) @ part)
        scores[unit] = part @ (design * (values - mean))
    matrix = np.array(vectors) @ np.transpose(vectors)
    return mean, pd.Series(scores), np.trace(matrix) ** 2 / np.sum(matrix**2)


def banerjee(*sides):
    """The middle and half of the interval of the difference of two means, and the squared scores of its units."""
    (one, mine, few), (other, theirs, many) = (bell_mccaffrey(*side) for side in sides)
    squares, own = mine.sub(theirs, fill_value=0) ** 2, [np.sum(mine**2), np.sum(theirs**2)]
    quantiles = scipy.stats.t.ppf(0.975, [few, many])
    return one - other, np.sqrt(np.average(quantiles**2, weights=own) * squares.sum()), squares


@pytest.mark.parametrize("kind", ["nested", "mixed", "paired"])
@pytest.mark.parametrize("binary", [True, False])
def test_the_interval_is_banerjee_s_with_cr2_and_of_zeros_and_ones_with_the_design_effect_of_each_added(kind, binary):
    units = np.repeat(np.arange(9), np.tile([2, 4, 6], 3))
    side = {"nested": units % 3 > 0, "mixed": np.arange(36) % 7 > 2, "paired": np.arange(36) % 2 > 0}[kind]
    values = np.random.default_rng(3).random(36) + units / 20
    values = (values > 0.7) * 1.0 if binary else values
    sides = [[values[own], np.ones(own.sum()), units[own]] for own in (~side, side)]
    if binary:
        squares, chance = banerjee(*sides)[2], pd.Series(0.0, range(9))
        for own, _, of in sides:
            chance = chance.add(own.var() / len(own) ** 2 * pd.Series(of).value_counts(), fill_value=0)
        effects = [squares[np.unique(of)].sum() / chance[np.unique(of)].sum() for *_, of in sides]
        for at, (own, weights, of) in enumerate(sides):
            size = min(max(1, *effects), len(own) / len(np.unique(of)))
            sides[at] = np.append(own, [0, 1]), np.append(weights, [size] * 2), np.append(of, [9 + 2 * at, 10 + 2 * at])
    middle, half, _ = banerjee(*sides)
    found = eh.audit.parity(pd.DataFrame({"user": units, "g": side, "y": values}), group="g", value="y", unit="user")
    assert (found.once_low, found.once_high) == pytest.approx((middle - half, middle + half))


def test_where_every_row_is_a_unit_it_is_the_interval_of_rows():
    frame = people(2, units=6, rows=9).assign(user=range(54))
    by_row, by_unit = (eh.audit.parity(frame, group="g", value="y", unit=unit) for unit in (None, "user"))
    pd.testing.assert_frame_equal(by_unit.groups.drop(columns="units"), by_row.groups)
    one, other = ([*frame.loc[frame["g"] == group, "y"], 0, 1] for group in "fm")
    half = np.hypot(*(scipy.stats.t.ppf(0.975, len(own) - 1) * scipy.stats.sem(own) for own in (one, other)))
    middle = np.mean(one) - np.mean(other)
    assert (by_row.once_low, by_row.once_high) == pytest.approx((middle - half, middle + half))


def test_a_gap_within_units_is_found_of_zeros_and_ones_as_on_any_other_scale():
    """Ten schools with 100 girls and 100 boys each, whose rates differ between schools: the paired t of schools."""
    random = np.random.default_rng(8)
    school, girls = np.repeat(np.arange(10), 200), np.tile(np.repeat([True, False], 100), 10)
    passed = random.random(2000) < random.uniform(0.3, 0.7, 10)[school] + np.where(girls, 0.1, -0.1)
    frame = pd.DataFrame({"school": school, "girls": girls, "y": passed * 1})
    found = eh.audit.parity(frame, group="girls", value="y", unit="school")
    each = frame.pivot_table("y", "school", "girls")
    paired = scipy.stats.ttest_rel(each[False], each[True]).confidence_interval()
    assert (found.once_low, found.once_high) == pytest.approx(tuple(paired), abs=0.003)


@pytest.mark.parametrize("mixed", [False, True])
def test_people_who_are_alike_are_not_said_to_differ(mixed):
    # 5 % of one look: more than 10 of 100 with probability 0.012 or less; without the people it is 70 of 100.
    frames = [people(seed, mixed=mixed) for seed in range(100)]
    frames = [frame.sort_values(["user", "g"]) if mixed else frame for frame in frames]
    found = [eh.audit.parity(frame, group="g", value="y", unit="user") for frame in frames]
    assert sum(one.once_low > 0 or one.once_high < 0 for one in found) <= 10
    assert sum(one.rejected for one in found) <= 10
    without = [eh.audit.parity(frame, group="g", value="y") for frame in frames[:20]]
    assert mixed or sum(one.once_low > 0 or one.once_high < 0 for one in without) >= 10


def test_a_difference_between_people_is_found_by_their_means_in_the_order_of_their_first_rows():
    frame = people(1, units=400, rows=5)
    frame["y"] = np.where(frame["g"] == "f", frame["y"] * 0.2, frame["y"] * 0.2 + 0.6)
    found = eh.audit.parity(frame, group="g", value="y", unit="user")
    once = frame.groupby("user", sort=False).agg(g=("g", "first"), y=("y", "mean"))
    alone = eh.audit.parity(once, group="g", value="y")
    assert (found.rejected, found.round, found.low, found.high) == (True, alone.round, alone.low, alone.high)
    for name, counted in (("units", once), ("rows", frame)):
        assert found.groups[name].tolist() == counted["g"].value_counts().loc[found.groups["group"]].tolist()
    assert f"first shown after unit {found.round}" in str(found)
    assert "and its units (user) are independent" in str(found)


@pytest.mark.parametrize("ascending", [True, False])
def test_units_with_rows_in_several_groups_count_in_one_of_them_however_the_table_is_sorted(ascending):
    frame = people(4, units=80, mixed=True).sort_values(["user", "g"], ascending=ascending)
    frame["y"] = np.where(frame["g"] == "f", 0.9, 0.1)
    found = eh.audit.parity(frame, group="g", value="y", unit="user")
    assert found.notes[-1].startswith("80 units have rows in several groups")
    assert not any("different numbers" in note for note in found.notes)
    assert found.groups["units"].min() >= 25
    early = frame[frame["user"].isin(frame["user"].unique()[: found.round])]
    assert eh.audit.parity(early, group="g", value="y", unit="user").round == found.round > 0


def test_which_mean_each_interval_is_of_is_said_where_units_differ_in_size():
    frame = people(3).head(600)
    each = frame.groupby(["g", "user"])["y"].mean()
    (f, m), (f_units, m_units) = frame.groupby("g")["y"].mean(), each.groupby("g").mean()
    said = (
        f"over rows count, .* by {abs(f - m):.4g}; .* over units, in which it differs by {abs(f_units - m_units):.4g}."
    )
    assert re.search(said, eh.audit.parity(frame, group="g", value="y", unit="user").notes[-1])


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("who", "unit: expected one of .* got 'who'"),
        ("user", "column 'user', row 3"),
        (pd.Series([1, 2]), "unit: expected the name of a column, got 'Series'; put the values into the table"),
        (["user", "g"], "unit: expected the name of a column, got 'list'"),
    ],
)
def test_what_names_no_column_of_units_and_a_column_with_gaps_are_refused(unit, words):
    frame = people(1).astype({"user": object})
    frame.loc[2, "user"] = None
    with pytest.raises(TableError, match=words):
        eh.audit.parity(frame, group="g", value="y", unit=unit)


def test_the_shell_names_the_people_too(tmp_path):
    path, frame = tmp_path / "log.csv", people(1, mixed=True)
    frame.to_csv(path, index=False)
    words = "audit-parity", path, "--group", "g", "--value", "y", "--seed", "3", "--unit", "user"
    assert re.search(r"its units\s+\(user\)\s+are\s+independent", answer(*words, code=3))
    found = eh.audit.parity(frame, group="g", value="y", unit="user", seed=3)
    body = as_json(*words, code=3)
    assert (body["unit"], body["low"], body["notes"]) == ("user", found.low, list(found.notes))
    refused(TableError, "who", *words[:-1], "who")
