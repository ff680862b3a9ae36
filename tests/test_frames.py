"""A table of polars, pyarrow or DuckDB leads to the very decisions of the pandas frame with the same values."""

import io
import itertools

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.audit import parity
from evenhand.errors import ContextError, TableError
from evenhand.frames import as_pandas
from evenhand.groups import TableArms, TopInterval
from evenhand.interventions import CSR, CausalModel, Problem
from evenhand.quotas import DeadlineLearn, LoggedArms
from evenhand.sampling import ArrayPool, LabelQueue, TablePool, UniformSampler
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB, MahalanobisOracle, TableIndividuals
from tests.naming import spread


def duck(frame):
    return duckdb.connect().from_df(frame)


KINDS = {
    "polars": lambda frame: pl.DataFrame(frame.to_dict("list")),
    "polars, lazy": lambda frame: pl.DataFrame(frame.to_dict("list")).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pydict(frame.to_dict("list")),
    "DuckDB": duck,
}
RANDOM = np.random.default_rng(1)
ROWS = 60
PEOPLE = pd.DataFrame(
    {
        "arm": RANDOM.choice(["a", "b", "c"], ROWS),
        "reward": RANDOM.integers(0, 2, ROWS),
        "chance": 1 / 3,
        "sex": RANDOM.choice(["f", "m"], ROWS),
        "dose": RANDOM.integers(0, 2, ROWS),
        "age": RANDOM.uniform(20, 60, ROWS).round(2),
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(ROWS), "D"),
    }
)
CONTEXTS = pd.DataFrame({"income": [0.1, 0.2, 0.5], "debts": [0.4, 0.0, 0.1]})
GROUPS = {"ann": "f", "bob": "m", "cid": "m"}
SHARES = {"a": 0.1, "b": 0.2, "c": 0.2}
CHANGED = pd.DataFrame({"from": [1, 1, 1, 30], "arm": ["a", "b", "c", "a"], "share": [0.1, 0.2, 0.2, 0.3]})
MODEL = CausalModel.fit(PEOPLE, "sex -> dose -> reward")
PROBLEM = Problem(
    MODEL, intervene="dose", sensitive="sex", outcome="reward", candidates={"now": None, "one": [[0.1, 0.9]] * 2}
)
ORACLE = MahalanobisOracle([[0.5, 0.5]])


def warmed(frame):
    policy = DeadlineLearn(eh.learners.UCB1(), SHARES, seed=1)
    policy.learn(frame)
    return str(policy.engine.state), [policy.ask() for _ in range(9)]


def contextual(frame):
    policy = TopInterval(GROUPS, seed=1)
    policy.tell(policy.ask(frame), 1.0)
    return str(policy.engine.state), [policy.choose(frame) for _ in range(9)]


def sampled(frame):
    sampler = UniformSampler(["f", "m"], seed=1)
    draw = sampler.ask()
    sampler.tell(draw, frame, [0, 1])
    return to_bytes(sampler), sampler.model.predict(frame).tolist()


def trials(frame):
    search = CSR(PROBLEM, tolerance=0.5, budget=100)
    search.learn(frame)
    return to_bytes(search)


def logged_study(frame):
    with eh.Study.create(":memory:", TopInterval(GROUPS, seed=1)) as study:
        study.tell(study.ask(frame), 1.0)
        assert study.verify().ok
        return next(study.log.events()).given


def pooled(frame):
    pool = TablePool(frame, group="sex", label="reward", features=["arm", "age"])
    return to_bytes(pool), [part.tolist() for part in pool.held_out(frame)], pool.groups_of(frame).tolist()


def labelled(frame):
    return to_bytes(LabelQueue(["x", "y", "z"], frame, groups=["f", "m", "m"], seed=1))


def world_of(world):
    world.reset(1)
    return [array.tolist() for array in world.observe()], world._parameters()


def individuals(frame):
    world = TableIndividuals(frame, features=["age", "dose"], reward="reward", oracle=ORACLE, individuals=3)
    world.reset(1)
    return world.observe()[0].tolist(), world.rewards.tolist()


def valued(frame, policy=None, **given):
    policy = {"a": 0.5, "b": 0.2, "c": 0.3} if policy is None else policy
    found = eh.evaluate(frame, policy, arm="arm", reward="reward", propensity="chance", **given)
    return found.value, found.low, found.high


def thirds(seen):
    return np.repeat(seen / seen / 3, 3, axis=1)


def valued_by_function(frame):
    seen = []

    def policy(log):
        seen.append(type(log))
        return np.full((ROWS, 3), 1 / 3)

    return valued(frame, policy), seen == [type(frame)]


DOORS = {
    "audit": (PEOPLE, lambda frame: str(eh.audit.promise(frame, arm="arm", shares=SHARES, tolerance=3, order="day"))),
    "audit, shares": (CHANGED, lambda frame: str(eh.audit.promise(PEOPLE, arm="arm", shares=frame))),
    "logged arms": (PEOPLE, lambda frame: LoggedArms(frame, "arm", "reward", propensity="chance").means.tolist()),
    "parity": (PEOPLE, lambda frame: str(eh.audit.parity(frame, group="sex", value="reward"))),
    "evaluate": (PEOPLE, lambda frame: valued(frame, contexts=["age"], order="day")),
    "evaluate, a function": (PEOPLE, valued_by_function),
    "evaluate, contexts": (PEOPLE[["age"]], lambda frame: valued(PEOPLE, thirds, contexts=frame)),
    "warm start": (PEOPLE, warmed),
    "contexts": (CONTEXTS, contextual),
    "contexts of a study": (CONTEXTS, logged_study),
    "contexts of similar people": (CONTEXTS, lambda frame: LipschitzUCB(2, seed=1).ask(frame)),
    "causal model": (PEOPLE, lambda frame: str(CausalModel.fit(frame, "sex -> dose -> reward").tables)),
    "trials": (PEOPLE[["sex", "dose", "reward"]], trials),
    "table arms": (
        PEOPLE,
        lambda frame: str(world_of(TableArms(frame, arm="sex", group="sex", reward="age", features=["arm", "dose"]))),
    ),
    "individuals": (PEOPLE, individuals),
    "pool": (PEOPLE, pooled),
    "array pool": (CONTEXTS, lambda frame: to_bytes(ArrayPool(frame, [0, 1, 1], group=["f", "m", "m"]))),
    "queue": (CONTEXTS, labelled),
    "rows of a sampler": (CONTEXTS[:2], sampled),
}


@pytest.mark.parametrize(("door", "kind"), spread(itertools.product(DOORS, KINDS), 3))
def test_every_door_takes_every_frame_and_decides_alike(door, kind):
    frame, use = DOORS[door]
    assert use(KINDS[kind](frame)) == use(frame)


def test_types_of_polars_become_those_of_pandas():
    moment = pd.Timestamp("2026-01-01 03:00")
    frame = pl.DataFrame(
        {
            "ordered": pl.Series(["low", "high"], dtype=pl.Enum(["low", "middle", "high"])),
            "kind": pl.Series(["b", "a"], dtype=pl.Categorical),
            "small": pl.Series([1, 255], dtype=pl.UInt8),
            "gaps": [1, None],
            "yes": [True, False],
            "unsure": [True, None],
            "text": ["x", None],
            "many": [["a"], ["b", "c"]],
            "when": pl.Series([moment, moment]).dt.replace_time_zone("Europe/Berlin"),
        }
    )
    read = as_pandas(frame)
    assert read["ordered"].dtype == pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    assert read["kind"].dtype == pd.CategoricalDtype(["b", "a"])
    assert read["small"].dtype == np.uint8
    assert (
        read["gaps"].isna().tolist() == read["unsure"].isna().tolist() == read["text"].isna().tolist() == [False, True]
    )
    assert read["yes"].dtype == bool
    assert read["many"].tolist() == [["a"], ["b", "c"]]
    assert read["when"].iloc[0] == moment.tz_localize("Europe/Berlin")
    assert as_pandas(read) is read


def test_categories_that_another_frame_of_polars_has_are_not_of_this_one():
    pl.Series(["x", "y", "z"], dtype=pl.Categorical)
    frame = pl.DataFrame({"arm": pl.Series(["x", "y", "x"], dtype=pl.Categorical)})
    assert eh.audit.promise(frame, arm="arm", shares=0.3).promise.arms == ("x", "y")


TWICE = pa.Table.from_arrays([pa.array([0.5]), pa.array([0.5])], names=["a", "a"])


@pytest.mark.parametrize("frame", [3, "log.csv", None, {"a": [1]}, [[1]], np.eye(2), pd.Series([1]), pl.Series([1])])
def test_what_is_no_frame_is_refused_by_name(frame):
    with pytest.raises(TableError, match=r"^frame: expected a pandas DataFrame, got .*polars, pyarrow and DuckDB"):
        eh.audit.parity(frame, group="sex", value="reward")


def test_a_frame_that_cannot_be_read_is_refused_by_name():
    with pytest.raises(TableError, match=r"^frame: the Table cannot be read: .*'a' 2 times"):
        as_pandas(TWICE)
    with pytest.raises(TableError, match=r"^contexts: the Table cannot be read"):
        TopInterval(GROUPS, seed=1).ask(TWICE)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_contexts_are_known_by_their_names_in_every_frame(kind):
    policy = TopInterval(GROUPS, seed=1)
    other, again = CONTEXTS[["debts", "income"]], CONTEXTS.rename(columns={"debts": "loans"})
    policy.ask(CONTEXTS)
    twin = from_bytes(to_bytes(policy))
    assert [policy.ask(KINDS[kind](other)) for _ in range(9)] == [twin.ask(CONTEXTS) for _ in range(9)]
    assert to_bytes(policy) == to_bytes(twin)
    with pytest.raises(ContextError, match=r"columns \['income', 'debts'\], as before"):
        policy.ask(KINDS[kind](again))


LARGE = 2**53 + 1
EXACT = {
    "polars": pl.DataFrame({"id": [LARGE, None, 7], "n": [1, None, 7]}),
    "pyarrow": pa.table({"id": [LARGE, None, 7], "n": [1, None, 7]}),
}


@pytest.mark.parametrize("kind", EXACT)
def test_whole_numbers_beside_a_gap_stay_what_they_are(kind):
    frame = as_pandas(EXACT[kind])
    assert frame["n"].dtype == float
    assert frame.dropna().to_dict("list") == {"id": [LARGE, 7], "n": [1, 7]}


def shifted(end, first=lambda row: "uvwx"[row % 4]):
    """What pandas makes of a log whose rows end with separators."""
    rows = "".join(f"{first(row)},{'ab'[row % 2]},{row % 2},0.5{end}\n" for row in range(30))
    return pd.read_csv(io.StringIO(f"user,arm,reward,p\n{rows}"))


SHIFTED = {
    "texts": shifted(","),
    "blanks": shifted(", "),
    "numbers": shifted(",", lambda row: row + 1),
    "several": shifted(",,"),
}
REFUSING = {
    "audit": lambda frame: eh.audit.promise(frame, shares=0.3, arm="arm"),
    "evaluate": lambda frame: eh.evaluate(frame, {"a": 1, "b": 0}, arm="arm", reward="reward", propensity="p"),
    "parity": lambda frame: parity(frame, group="arm", value="reward"),
    "pool": lambda frame: TablePool(frame, features=["p"], label="reward", group="arm"),
    "fit": lambda frame: CausalModel.fit(frame, "user -> arm -> reward"),
    "arms": lambda frame: LoggedArms(frame, arm="arm", reward="reward"),
}


@pytest.mark.parametrize("door", REFUSING)
@pytest.mark.parametrize("kind", SHIFTED)
def test_columns_that_pandas_moved_are_refused_for_that(kind, door):
    with pytest.raises(TableError, match=r": its columns seem one place off: .* read it with index_col=False"):
        REFUSING[door](SHIFTED[kind])


@pytest.mark.parametrize("index", [None, pd.Index([5, 3, 4], name="id"), [0, 1, 2]], ids=["none", "name", "list"])
def test_a_last_column_may_be_empty(index):
    frame = pd.DataFrame({"arm": ["a", "b", "a"], "note": np.nan}, index=index)
    assert as_pandas(frame) is frame
    assert len(as_pandas(frame.iloc[1:].reset_index(drop=True))) == 2
