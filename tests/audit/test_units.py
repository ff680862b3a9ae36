"""Rows of one person are no independent rows: what their means and intervals say where the people are named."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import evenhand as eh
from evenhand.errors import TableError
from tests.cli.shell import call, refused


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
    assert found.groups["units"].tolist() == once["g"].value_counts().loc[found.groups["group"]].tolist()
    assert found.groups["rows"].tolist() == frame["g"].value_counts().loc[found.groups["group"]].tolist()
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
    assert re.search(r"its units\s+\(user\)\s+are\s+independent", call(*words).output)
    found = eh.audit.parity(frame, group="g", value="y", unit="user", seed=3)
    body = json.loads(call(*words, "--json").output)
    assert (body["unit"], body["low"], body["notes"]) == ("user", found.low, list(found.notes))
    refused(TableError, "who", *words[:-1], "who")
