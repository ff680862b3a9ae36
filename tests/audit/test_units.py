"""Rows of one person are no independent rows: what their means and intervals say where the people are named."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import evenhand as eh
from evenhand.audit.units import UnitMean, half_width, units_in
from evenhand.errors import TableError
from tests.cli.shell import call, refused


def people(seed, *, units=40, rows=50, mixed=False):
    """Rows of people with a rate of their own, drawn without regard to their group, in random order."""
    random = np.random.default_rng(seed)
    user = np.repeat(np.arange(units), rows)
    group = (
        random.choice(["f", "m"], len(user))
        if mixed
        else np.repeat(random.permutation(["f", "m"] * (units // 2)), rows)
    )
    rate = np.repeat(random.beta(0.5, 0.5, units), rows)
    frame = pd.DataFrame({"user": user, "g": group, "y": (random.random(len(user)) < rate) * 1})
    return frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def bell_mccaffrey(values, side, units):
    """CR2 of the difference of two means, and its degrees of freedom, by matrices as the paper writes them; the working
    covariance is that of units that are alike on each side."""
    design = np.column_stack([side, ~side]).astype(float)
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    contrast = design @ inverse @ np.array([1.0, -1.0])
    residuals = values - hat @ values
    every, vectors, scores = np.eye(len(values)), [], []
    for unit in np.unique(units):
        mine = units == unit
        roots, axes = np.linalg.eigh(np.eye(mine.sum()) - hat[np.ix_(mine, mine)])
        adjust = axes @ np.diag(roots**-0.5) @ axes.T
        part = np.zeros(len(values))
        part[mine] = adjust @ contrast[mine]
        vectors.append(part)
        scores.append(part[mine] @ residuals[mine])
    own = [sum((part[side == one] @ residuals[side == one]) ** 2 for part in vectors) for one in (True, False)]
    spread = np.where(side, own[0] * side.sum(), own[1] * (~side).sum())
    middle = [(every - hat).T @ part for part in vectors]
    matrix = np.array([[one @ (spread * other) for other in middle] for one in middle])
    return np.sum(np.square(scores)), np.trace(matrix) ** 2 / np.sum(matrix**2)


@pytest.mark.parametrize("mixed", [False, True])
def test_the_interval_is_that_of_bell_and_mccaffrey(mixed):
    random = np.random.default_rng(3)
    units = np.repeat(np.arange(9), random.integers(2, 9, 9))
    side = random.random(len(units)) < 0.5 if mixed else units % 3 > 0
    values = random.random(len(units)) + units / 10
    sides = [
        UnitMean.of(np.bincount(units, values * one, 9), np.bincount(units, one, 9).astype(float))
        for one in (side, ~side)
    ]
    variance, degrees = bell_mccaffrey(values, side, units)
    assert half_width(0.05, *sides) == pytest.approx(scipy.stats.t.ppf(0.975, degrees) * variance**0.5)
    assert sides[0].mean - sides[1].mean == pytest.approx(values[side].mean() - values[~side].mean())


def test_where_every_row_is_a_unit_it_is_welch_s():
    random = np.random.default_rng(2)
    values, side = random.random(40), np.arange(40) < 13
    sides = [UnitMean.of(values * one, one.astype(float)) for one in (side, ~side)]
    low, high = scipy.stats.ttest_ind(values[side], values[~side], equal_var=False).confidence_interval(0.9)
    assert 2 * half_width(0.1, *sides) == pytest.approx(high - low)
    alone = UnitMean.of(values, np.ones(40))
    assert half_width(0.1, alone) == pytest.approx(scipy.stats.t.ppf(0.95, 39) * scipy.stats.sem(values))


def test_people_who_are_alike_are_not_said_to_differ():
    # 5 % of one look: more than 10 of 100 with probability 0.012 or less; without the people it is 70 of 100.
    found = [eh.audit.parity(people(seed), group="g", value="y", unit="user") for seed in range(100)]
    assert sum(one.once_low > 0 or one.once_high < 0 for one in found) <= 10
    assert sum(one.rejected for one in found) <= 10
    without = [eh.audit.parity(people(seed), group="g", value="y") for seed in range(20)]
    assert sum(one.once_low > 0 or one.once_high < 0 for one in without) >= 10


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
    assert "if its units (user) are independent" in str(found)


def test_units_with_rows_in_several_groups_are_counted():
    found = eh.audit.parity(people(4, mixed=True), group="g", value="y", unit="user")
    assert found.notes[-1].startswith("40 units have rows in several groups")
    assert found.once_low < 0 < found.once_high


def test_units_are_numbered_in_the_order_of_their_first_rows():
    assert units_in(pd.DataFrame({"user": ["b", "a", "b", "c"]}), "user").tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(("unit", "words"), [("who", "'who'"), ("user", "column 'user', row 3")])
def test_a_column_of_units_that_is_not_there_or_has_gaps_is_refused(unit, words):
    frame = people(1)
    frame["user"] = frame["user"].astype(object)
    frame.loc[2, "user"] = None
    with pytest.raises(TableError, match=words):
        eh.audit.parity(frame, group="g", value="y", unit=unit)


def test_the_shell_names_the_people_too(tmp_path):
    path = tmp_path / "log.csv"
    people(1).to_csv(path, index=False)
    words = "audit-parity", path, "--group", "g", "--value", "y", "--unit", "user"
    assert re.search(r"if its units\s+\(user\)\s+are\s+independent", call(*words).output)
    body, found = (
        json.loads(call(*words, "--json").output),
        eh.audit.parity(people(1), group="g", value="y", unit="user"),
    )
    assert (body["unit"], body["once_low"]) == ("user", found.once_low)
    refused(TableError, "who", *words[:-1], "who")
