"""A grouping that says nothing, such as a column of ages with decimals, says so at every door; no gate passes on it."""

import json

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.audit.gaps import Gap, wealth_of
from evenhand.data.groupings import Grouping, least_rows
from tests.cli.shell import call

MERGE = "merge small ones, or choose a column with fewer values"


@pytest.fixture(scope="module")
def people():
    """2,000 people: hired are 20 % of those under 40 and 60 % of the others."""
    random = np.random.default_rng(3)
    age = random.uniform(18, 70, 2000).round(1)
    frame = pd.DataFrame({"age": age, "band": np.where(age < 40, "under 40", "40 on")})
    frame["user"] = [f"u{i}" for i in range(2000)]
    frame["few"] = np.where(np.arange(2000) < 3, "few", "many")
    frame["hired"] = (random.random(2000) < np.where(age < 40, 0.2, 0.6)) * 1
    return frame.assign(pay=random.random(2000), hours=random.random(2000))


@pytest.mark.parametrize(("groups", "error"), [(1, 0.05), (2, 0.05), (53, 0.05), (500, 0.05), (3, 0.9)])
def test_fewer_rows_may_all_be_alike_by_chance(groups, error):
    """A fair coin falls alike so many times with a probability of 2^-n; the bound is the first n that it may not."""
    rows = least_rows(groups, error)
    assert groups * 0.5**rows <= error < groups * 0.5 ** (rows - 1)


def test_a_grouping_says_something_where_half_of_the_rows_can_be_judged():
    half, less = (Grouping.of_rows(["a", "b", "c"], np.array([6 + n, 4, 2 + n])) for n in (0, -1))
    assert (half.judged.tolist(), half.enough) == ([True, False, False], True)
    assert (less.judged.any(), less.enough) == (False, False)
    assert half.note("groups", "are small") == ("2 of 3 groups, with 50% of the rows, are small: 'b', 'c'.",)
    assert MERGE in less.note("groups", "are small")[0]
    assert Grouping.of_rows(["a", "b"], np.array([20, 20])).note("groups", "are small") == ()


# ------------------------------------------------------------------ parity


@pytest.mark.parametrize(
    ("column", "enough", "words"),
    [
        ("age", False, "groups of 'age', with 100% of the rows, have too few rows to be compared closely"),
        ("few", False, "2 of 2 groups of 'few'"),
        ("band", True, None),
    ],
)
def test_too_many_or_too_small_groups_are_not_said_to_be_alike(people, column, enough, words):
    found = eh.audit.parity(people, group=column, value="hired")
    assert found.enough is enough
    assert found.rejected is (column == "band")
    assert words in found.notes[0] if words else not found.notes
    assert any(MERGE in note for note in found.notes) is (column == "age")
    assert found.groups["rows"].sum() == 2000
    assert ("too few rows" in str(found)) is not enough


def test_a_small_group_beside_large_ones_is_named(people):
    alike = (np.random.default_rng(1).random(2000) < 0.3) * 1
    frame = people.assign(band=people["band"].where(people.index % 400 > 0, "rare"), hired=alike)
    found = eh.audit.parity(frame, group="band", value="hired")
    assert (found.enough, found.rejected) == (True, False)
    few = "1 of 3 groups of 'band', with under 1% of the rows, have too few rows to be compared closely: 'rare'."
    wider = "All 3 intervals hold together; without the rows of small groups others are narrower."
    assert found.notes == (few, wider)


def test_groups_are_compared_as_they_would_be_row_by_row():
    """The first rows of runs alone, and the sum of wealths, are those of the definition."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"group": random.integers(6, size=600)})
    frame["reward"] = (random.random(600) < np.where(frame["group"] == 4, 0.9, 0.3)) * 1
    gaps, pairs, rounds = [Gap() for _ in range(6)], [[] for _ in range(6)], []
    for row, (group, value) in enumerate(frame.itertuples(index=False), 1):
        for number, gap in enumerate(gaps):
            difference = gap.take(group == number, float(value))
            pairs[number] += [] if difference is None else [difference]
        logs = [np.concatenate(list(wealth_of(np.array(one), 0.0)))[-1] if one else 0.0 for one in pairs]
        rounds += [row] if np.mean(np.exp(logs)) >= 20 else []
    found = eh.audit.parity(frame, group="group", value="reward")
    assert (found.rejected, found.round) == (True, rounds[0])
    assert found.groups["pairs"].tolist() == [gap.pairs for gap in gaps]


# ------------------------------------------------------------------ worlds


def test_a_pool_of_too_many_groups_says_so_and_so_does_its_history(people):
    few, many = (
        eh.sampling.TablePool(people, group=column, label="hired", features=["hours"]) for column in ("band", "age")
    )
    assert (few.enough, few.notes) == (True, ())
    assert many.enough is False
    assert "groups of 'age', with 100% of the rows, have too few rows to train and to validate" in many.notes[0]
    history = eh.sampling.collect(eh.sampling.UniformSampler(many.groups, seed=0), many, rounds=2)
    assert history.attrs["notes"][0] == many.notes[0]


@pytest.fixture(scope="module")
def tail(people):
    """Just over half of 120 rows in one group, all others in groups of their own."""
    frame = people.head(120).reset_index(drop=True)
    return frame.assign(big=frame["user"].where(frame.index >= 70, "x"))


FEW = "50 of 51 groups"


@pytest.mark.parametrize(
    "made",
    [
        lambda frame: eh.sampling.TablePool(frame, group="big", label="hired", features=["hours"]),
        lambda frame: eh.sampling.ArrayPool(frame[["hours"]].to_numpy(), frame["hired"], group=frame["big"]),
        lambda frame: eh.groups.TableArms(frame, arm=["big"], group="big", reward="pay", features=["hours"]),
        lambda frame: eh.sampling.LabelQueue(frame["user"], frame[["hours"]].to_numpy(), groups=frame["big"], seed=1),
    ],
    ids=["TablePool", "ArrayPool", "TableArms", "LabelQueue"],
)
def test_a_tail_of_small_groups_is_said_at_every_door(tail, made):
    found = made(tail)
    assert FEW in found.notes[0]
    assert MERGE not in found.notes[0]


def test_a_report_through_fairlearn_says_which_groups_are_small(tail):
    pytest.importorskip("fairlearn")
    from sklearn.linear_model import LogisticRegression

    X, y = tail[["hours"]].to_numpy(), tail["hired"].to_numpy()
    model = LogisticRegression().fit(X, y)
    report = eh.sampling.fairness_report(model, X, y, groups=tail["big"])
    assert report.notes[0].startswith(f"{FEW}, with 42% of the rows, have too few rows to be compared")
    assert eh.sampling.fairness_report(model, X, y, groups=tail["band"]).notes == ()


# ------------------------------------------------------------------ audits


def log_of(segments, seed=1):
    random = np.random.default_rng(seed)
    return pd.DataFrame({"arm": random.choice(["a", "b"], size=len(segments)), "where": segments})


@pytest.mark.parametrize(
    ("segments", "enough", "words"),
    [
        (range(400), False, "400 of 400 segments, with 100% of the rows, are too short for a promise to be broken"),
        ([0] * 300 + [*range(1, 101)], True, "100 of 101 segments, with 25% of the rows, are too short"),
        ([0] * 100 + [*range(1, 301)], False, MERGE),
        (["x", "y"] * 200, True, None),
    ],
    ids=["one row each", "a tail", "most in a tail", "long"],
)
def test_segments_in_which_nothing_could_be_broken_are_said(segments, enough, words):
    found = eh.audit.promise(log_of(segments), arm="arm", shares=0.2, tolerance=9, segment="where")
    assert (found.kept, found.enough) == (True, enough)
    assert words in found.notes[0] if words else not found.notes


@pytest.mark.parametrize(
    ("promise", "first"),
    [
        ({"shares": {"a": 0.1, "b": 0.1}}, 10),
        ({"shares": {"a": 0.1, "b": 0.1}, "tolerance": 2}, 30),
        ({"windows": {"b": 7}}, 7),
        ({"windows": {"b": (2, 8)}}, 8),
        ({"shares": {"a": 0, "b": 0}, "caps": {"a": 0.75, "b": 1}}, 4),
        ({"shares": {"a": 0, "b": 0}, "caps": {"a": 0.75, "b": 1}, "cap_tolerance": 1}, 8),
    ],
    ids=str,
)
def test_a_log_is_too_short_up_to_the_round_that_can_break_the_promise(promise, first):
    """Before it even the worst decisions keep the promise, and a note says so; from it on they break it."""
    for rounds in (first - 1, first):
        worst = eh.audit.promise(pd.DataFrame({"arm": ["a"] * rounds}), arm="arm", **promise)
        mild = eh.audit.promise(pd.DataFrame({"arm": (["b", "a"] * rounds)[:rounds]}), arm="arm", **promise)
        assert worst.kept is (rounds < first)
        assert (mild.kept, mild.enough) == (True, True)
        assert ["too short" in " ".join(found.notes) for found in (worst, mild)] == [rounds < first] * 2


@pytest.mark.parametrize("asked", [{}, {"caps": {"a": 1}}, {"caps": {"a": 1}, "segment": "where"}], ids=str)
def test_where_nothing_is_promised_the_log_is_not_said_to_be_too_short(asked):
    found = eh.audit.promise(log_of(["x", "y"] * 50), arm="arm", shares={"a": 0, "b": 0}, **asked)
    assert (found.kept, found.enough) == (True, True)
    assert found.notes == ("Nothing is promised that could be broken, such as a share above 0.",)


# ------------------------------------------------------------------ the shell


def test_no_gate_passes_where_nothing_can_be_said(tmp_path, people):
    people.to_csv(tmp_path / "people.csv", index=False)
    done = call("audit-parity", tmp_path / "people.csv", "--group", "age", "--value", "hired", "--json")
    assert (done.exit_code, json.loads(done.output)["enough"]) == (3, False)
    log_of(range(400)).to_csv(tmp_path / "log.csv", index=False)
    usual = ["audit", tmp_path / "log.csv", "--shares", "0.2", "--tolerance", "9"]
    assert call(*usual).exit_code == 0
    done = call(*usual, "--segment", "where")
    assert done.exit_code == 3
    assert "in most segments no decision could have broken the promise" in " ".join(done.output.split())
    assert json.loads(call(*usual, "--segment", "where", "--json").output)["enough"] is False
