"""Probabilities that were written with few decimals are read by every door, scaled to 1 and noted; wrong sums are
refused by all of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.data.probabilities import scaled_note, summed
from evenhand.errors import EvenhandError
from evenhand.evaluation import under_shares
from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.saving.state import from_bytes, to_bytes
from tests.fuzzing import many

THIRDS, WRONG = [0.3333, 0.3333, 0.3333], [0.3333, 0.3333, 0.3233]
NOTED = "as rounded numbers do; they are scaled to sum to 1"
REFUSED = "3 numbers with these decimals can miss it by at most 0.00015; write more decimals, or correct them"


@settings(max_examples=many(100), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), arms=st.integers(2, 8), decimals=st.integers(2, 6), single=st.booleans())
def test_rounded_probabilities_are_read_whatever_the_decimals(seed, arms, decimals, single):
    exact = np.random.default_rng(seed).dirichlet(np.ones(arms), 20)
    rounded = exact.round(decimals).astype(np.float32 if single else np.float64).astype(np.float64)
    read = summed(rounded)
    assert read.wrong is None
    assert read.rows.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-7)
    assert np.abs(read.rows - exact).max() <= (arms + 1) * 0.5 * 10.0**-decimals + 1e-7
    assert (summed(read.rows).rows == read.rows).all()


def allowed(row):
    """Half a unit of the last decimal of each number as it is written, of two at least; all of them above 0."""
    written = [f"{number:.6f}".rstrip("0").partition(".")[2] for number in row]
    return sum(0.5 * 10.0 ** -max(2, len(decimals)) for decimals in written)


@settings(max_examples=many(100), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), arms=st.integers(2, 8), decimals=st.integers(3, 5), units=st.integers(1, 60))
def test_a_row_that_is_further_off_than_rounding_explains_is_wrong(seed, arms, decimals, units):
    row = np.random.default_rng(seed).dirichlet(np.ones(arms) * 3).round(decimals).clip(10.0**-decimals)
    row[row.argmax()] += 1 - row.sum() - units * 10.0**-decimals
    row = row.round(decimals)
    off = abs(1 - row.sum())
    assume(abs(off - allowed(row)) > 1e-9 and off > 2e-5)
    assert (summed(np.array([row])).wrong is None) == (off < allowed(row))


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ([0.17] * 6, False),
        ([0.5, 0.25, 0.25 - 9e-6], False),
        ([1 / 3, 1 / 3, 1 / 3 - 1e-4], True),
        ([0.06] * 18, True),
        ([0.0123, 0.988], False),
        ([0.9999, 0.0003, 1e-8], True),
        ([0.9999, 0.0002, 0.0], False),
        ([1.0, 0.02], True),
        ([0.0, 0.0], True),
    ],
    ids=str,
)
def test_at_least_two_decimals_count_and_never_more_than_a_twentieth(row, wrong):
    assert (summed(np.array([[0.5] + [0.0] * (len(row) - 2) + [0.5], row])).wrong == 1) is wrong


def test_right_sums_are_not_touched_and_not_noted():
    rows = np.random.default_rng(1).dirichlet([1, 1, 1], 50)
    assert (summed(rows).rows == rows).all()
    assert scaled_note("They", summed(rows).missed) == ()


# ------------------------------------------------------------------ the doors

LOG = pd.DataFrame({"arm": list("abc") * 40, "r": [1, 0, 0, 0] * 30, "p": 1 / 3, "where": ["x", "y"] * 60})
COLUMNS = {"arm": "arm", "reward": "r"}


def evaluated(policy, **more):
    log = LOG.assign(arm=pd.Categorical(LOG["arm"], list("abc")))  # so that values by position have an order
    return eh.evaluate(log, policy, propensity="p", **COLUMNS, **more).notes


def with_chances(row):
    log = LOG.assign(**dict(zip(["p_a", "p_b", "p_c"], row, strict=True)))
    return eh.evaluate(log, {"a": 1, "b": 0, "c": 0}, propensity={a: f"p_{a}" for a in "abc"}, **COLUMNS).notes


def replayed(row):
    policy = eh.quotas.FairUCB(dict.fromkeys("abc", 0.1), seed=1)
    log = LOG.assign(**dict(zip(["p_a", "p_b", "p_c"], row, strict=True)))
    return eh.evaluate(log, policy, propensity={a: f"p_{a}" for a in "abc"}, **COLUMNS).notes


STATES = {"sex": ["f", "m"], "dose": ["low", "mid", "high"], "cured": [0, 1]}
PARENTS = {"sex": [], "dose": ["sex"], "cured": ["dose", "sex"]}
CURED = [[[0.6, 0.4], [0.8, 0.2]], [[0.4, 0.6], [0.6, 0.4]], [[0.2, 0.8], [0.4, 0.6]]]


def model_of(row):
    tables = {"sex": [0.5, 0.5], "dose": [row, [0.2, 0.3, 0.5]], "cured": CURED}
    return CausalModel.from_tables(STATES, PARENTS, tables)


def problem_of(model, candidate):
    named = {"now": [[0.2, 0.3, 0.5]] * 2, "other": candidate}
    return Problem(model, intervene="dose", sensitive="sex", outcome="cured", candidates=named)


def recommended(problem):
    return CSR(problem, tolerance=0.1, budget=100).recommend().notes


def from_bif(folder, row):
    (folder / "net.bif").write_text(
        "network n {}\nvariable a { type discrete [3] { x, y, z }; }\n"
        f"probability ( a ) {{ table {', '.join(map(str, row))}; }}\n"
    )
    return CausalModel.from_bif(folder / "net.bif").notes


RIGHT = [1 / 3] * 3
DOORS = {
    "a distribution": lambda row, _: evaluated(dict(zip("abc", row, strict=True))),
    "a list": lambda row, _: evaluated(row),
    "by position": lambda row, _: evaluated({x: dict(zip("abc", row, strict=True)) for x in "xy"}, position="where"),
    "an array": lambda row, _: evaluated(np.array([RIGHT] * 119 + [row])),
    "a frame": lambda row, _: evaluated(pd.DataFrame([row] * 120, columns=list("abc"))),
    "a function": lambda row, _: evaluated(lambda log: np.tile(row, (len(log), 1))),
    "the chances of all arms": lambda row, _: with_chances(row),
    "the chances of a replay": lambda row, _: replayed(row),
    "tables of a model": lambda row, _: recommended(problem_of(model_of(row), [[0.1, 0.3, 0.6]] * 2)),
    "a candidate": lambda row, _: recommended(problem_of(model_of(RIGHT), [row] * 2)),
    "a rule": lambda row, _: recommended(
        problem_of(model_of(RIGHT), lambda given: dict(zip(STATES["dose"], row, strict=True)))
    ),
    "a BIF file": lambda row, folder: from_bif(folder, row),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_reads_rounded_probabilities_and_says_so(door, tmp_path):
    said = [note for note in DOORS[door](THIRDS, tmp_path) if NOTED in note]
    assert len(said) == 1
    assert "miss the sum 1 by up to 0.0001" in said[0]
    assert not any(NOTED in note for note in DOORS[door](RIGHT, tmp_path))


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_what_rounding_does_not_explain(door, tmp_path):
    with pytest.raises(EvenhandError, match=r"0\.9899") as refusal:
        DOORS[door](WRONG, tmp_path)
    assert REFUSED in str(refusal.value)


def test_a_distribution_under_shares_may_be_rounded():
    found = under_shares(dict(zip("abc", THIRDS, strict=True)), 0.1)
    assert found == pytest.approx(dict.fromkeys("abc", 1 / 3))
    with pytest.raises(EvenhandError, match="write more decimals"):
        under_shares(dict(zip("abc", WRONG, strict=True)), 0.1)
    with pytest.raises(EvenhandError, match=r"probabilities in \[0, 1\]"):
        under_shares({"a": float("inf"), "b": 0.5}, 0.1)


def test_a_rounded_table_is_taken_where_a_model_is_asked():
    model = model_of(RIGHT)
    law = model.probabilities(["dose"], do={"sex": "f"}, tables={"dose": [THIRDS, THIRDS]})
    assert law == pytest.approx(np.full(3, 1 / 3))
    assert len(model.sample(3, tables={"dose": [THIRDS, THIRDS]}, seed=1)) == 3


def test_the_tables_that_were_rounded_are_named_and_a_saved_search_keeps_the_note():
    problem = problem_of(model_of(THIRDS), [THIRDS] * 2)
    assert [note.split(" miss")[0] for note in problem.notes] == [
        "The tables of the model ('dose')",
        "The tables of the candidates ('other')",
    ]
    again = from_bytes(to_bytes(CSR(problem, tolerance=0.1, budget=100)))
    assert again.problem.notes == problem.notes
    assert set(problem.notes) <= set(again.recommend().notes)
