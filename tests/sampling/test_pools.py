"""Pools and worlds go on exactly after a resume, and refuse tables that cannot be meant."""

import copy
import datetime

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, TableError, UnknownArmError
from evenhand.sampling import ArrayPool, Draw, SyntheticModel1, SyntheticModel2, TablePool, label_pairs
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled

FRAME = pd.DataFrame(
    {"sex": ["f", "m"] * 30, "job": ["x", "y", "z"] * 20, "age": np.arange(60.0), "hired": [0, 1, 1, 0] * 15}
)


def array_pool(replace=False):
    return ArrayPool(np.arange(60.0)[:, None], [0, 1] * 30, group=["a"] * 20 + ["b"] * 40, replace=replace)


def table_pool():
    return TablePool(FRAME, group="sex", label="hired")


def with_replacement():
    with pytest.warns(UserWarning, match="too low"):
        return array_pool(replace=True)


WORLDS = {"array": array_pool, "array, replaced": with_replacement, "table": table_pool}


def drawn(world, rounds, count=3):
    rows = []
    for t in range(rounds):
        group = world.groups[t % len(world.groups)]
        rows.append([part.tolist() for part in world.respond(Draw(t, t, group, world.groups.index(group), count, ""))])
    return rows


@pytest.mark.parametrize("name", WORLDS)
def test_a_saved_world_goes_on_exactly(name):
    world = WORLDS[name]()
    world.reset(7)
    drawn(world, 5)
    other = from_bytes(to_bytes(world))
    assert to_bytes(other) == to_bytes(world)
    assert drawn(world, 9) == drawn(other, 9)
    world.reset(3), other.reset(3)
    assert drawn(world, 9) == drawn(other, 9)


@pytest.mark.parametrize("name", WORLDS)
def test_a_pool_advanced_by_its_counts_hands_out_the_rows_that_follow(name):
    first, second = WORLDS[name](), WORLDS[name]()
    first.reset(5), second.reset(5)
    drawn(first, 7)
    given = {group: 3 * len(range(z, 7, 2)) for z, group in enumerate(first.groups)}
    second.advance(given)
    assert drawn(first, 9) == drawn(second, 9)
    assert first.left.tolist() == second.left.tolist()


def test_with_replacement_every_row_is_drawn_alike():
    pool = with_replacement()
    pool.reset(0)
    drawn(pool, 1200, 10)
    found = np.bincount(pool.chosen, minlength=60)
    assert found.sum() == 12000
    # 60 binomial counts; each leaves five standard deviations with probability below 1e-6
    assert (np.abs(found[:20] - 300) < 5 * 300**0.5).all()
    assert (np.abs(found[20:] - 150) < 5 * 150**0.5).all()


def test_advancing_by_what_cannot_be_is_refused():
    for counts, error in (({"c": 1}, UnknownArmError), ({"a": -1}, ArgumentError), ({"a": 1.5}, ArgumentError)):
        pool = array_pool()
        with pytest.raises(error, match="counts"):
            pool.advance(counts)
        assert pool.left.tolist() == [20, 40]


@pytest.mark.parametrize("world", [array_pool(), table_pool(), SyntheticModel1(instance="I"), SyntheticModel2()])
def test_worlds_answer_by_the_groups_label_and_refuse_strangers(world):
    world = copy.deepcopy(world)
    world.reset(0)
    for index, group in enumerate(reversed(world.groups)):
        one, two = copy.deepcopy(world), copy.deepcopy(world)
        other = one.respond(Draw(1, 1, group, index, 2, ""))
        mine = two.respond(Draw(1, 1, group, world.groups.index(group), 2, ""))
        numbered = copy.deepcopy(world).respond(Draw(1, 1, world.groups.index(group), world.groups.index(group), 2, ""))
        assert mine[0].tolist() == other[0].tolist() == numbered[0].tolist()
    with pytest.raises(UnknownArmError, match="draw: expected a draw of one of the groups"):
        world.respond(Draw(1, 1, "nobody", 0, 2, ""))
    with pytest.raises(UnknownArmError):
        world.respond(Draw(1, 1, 2, 2, 2, ""))


@pytest.mark.parametrize(
    ("y", "group", "match"),
    [
        ([0, "a"], ["a", "b"], "y: expected labels of one type"),
        ([0, 1], [1, "a"], "group: expected labels of one type"),
        ([0, 1], [["a", "b"], ["a"]], "group: expected labels .* make each combination a label"),
        ([0, 1], np.eye(2, dtype=bool), "group: expected labels, .* make each combination a label"),
        ([0, 1], ["a"], "X: expected rows, and as many"),
    ],
)
def test_rows_have_one_label_and_one_group_each(y, group, match):
    with pytest.raises(ArgumentError, match=match):
        ArrayPool(np.zeros((2, 1)), y, group=group)


IDS = pd.DataFrame({"g": ["a", "b"] * 2501, "y": [0, 1] * 2501, "x": 0.5, "id": [f"person {i}" for i in range(5002)]})


def test_pairs_that_overlap_are_refused():
    images, labels = np.zeros((8, 2, 2)), np.array([3, 5, 7, 9] * 2)
    for pairs, match in (
        ({"a": (3, 5), "b": ("5", 7)}, "groups may not overlap: it is in 'a' as well"),
        ({"a": (3, 3)}, "groups may not overlap"),
        ({1: (3, 5), "1": (7, 9)}, "pairs: expected names that differ as text"),
        ({"a": (3, 5, 7)}, "two classes"),
    ):
        with pytest.raises(ArgumentError, match=match):
            label_pairs(images, labels, pairs)
    with pytest.raises(ArgumentError, match="labels: expected 8 classes"):
        label_pairs(images, labels[:7], {"a": (3, 5)})


@pytest.mark.parametrize(
    ("frame", "arguments", "match"),
    [
        (FRAME, {"group": "hired", "label": "hired"}, "group: expected columns that have no other use, got 'hired'"),
        (FRAME, {"group": "gender", "label": "hired"}, "column: expected one of"),
        (FRAME[["sex", "hired"]], {"group": "sex", "label": "hired"}, "features: expected at least one"),
        (FRAME.iloc[:0], {"group": "sex", "label": "hired"}, "no rows"),
        (FRAME, {"group": ["sex", "sex"], "label": "hired"}, "group: .* 'sex'; it is already in group"),
        (FRAME, {"group": "sex", "label": "hired", "features": ["age", "hired"]}, "features: .* it is the label"),
        (FRAME, {"group": "sex", "label": "hired", "features": ["age", "age"]}, "features: .* already in features"),
        (FRAME.assign(hired=[0.37, 1.37] * 30), {"group": "sex", "label": "hired"}, "column 'hired', row 1: .* 0.37"),
        (IDS, {"group": "g", "label": "y"}, "column 'id': expected text with few values, got '5002 in 5002 rows'"),
        (
            IDS.assign(id=IDS["id"].str[:-1]).assign(id=lambda f: f["id"].astype("category")),
            {"group": "g", "label": "y"},
            None,
        ),
        (
            IDS.assign(id=IDS["id"].astype("category")),
            {"group": "g", "label": "y"},
            "column 'id': expected at most 1000",
        ),
        (IDS.assign(x=[-1.7e308, 1.7e308] * 2501).drop(columns="id"), {"group": "g", "label": "y"}, "range is finite"),
        (
            pd.DataFrame([["p & q", "r", 0.1, 0], ["p", "q & r", 0.2, 1]], columns=["a", "b", "x", "y"]),
            {"group": ["a", "b"], "label": "y"},
            r"columns \['a', 'b'\]: expected groups that read differently",
        ),
    ],
    ids=range(13),
)
def test_tables_that_cannot_be_meant_are_refused(frame, arguments, match):
    if match is None:
        assert len(TablePool(frame, **arguments).features.names) == 502
        return
    with pytest.raises(TableError, match=match):
        TablePool(frame, **arguments)


def test_whole_numbers_written_as_fractions_are_whole_numbers():
    pool = TablePool(FRAME.assign(hired=FRAME["hired"].astype(float)), group="sex", label="hired")
    assert pool.y.tolist() == FRAME["hired"].tolist()


@pytest.mark.parametrize(
    "times", [pd.date_range("2020", periods=6), pd.to_timedelta(range(6), unit="D"), [datetime.date(2020, 1, 1)] * 6]
)
def test_dates_are_no_categories(times):
    frame = pd.DataFrame({"g": ["a", "b"] * 3, "y": [0, 1, 1] * 2, "when": times})
    with pytest.raises(
        TableError, match=r"column 'when': expected numbers or categories, .* or leave it out of features="
    ):
        TablePool(frame, group="g", label="y")
    assert TablePool(frame.assign(x=1), group="g", label="y", features=["x"]).X.shape == (6, 1)
