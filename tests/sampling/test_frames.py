"""Pipelines that name the columns of data frames: pools, samplers, queues and certificates hand them frames."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from evenhand.errors import ArgumentError, ContextError
from evenhand.sampling import (
    ArrayPool,
    Certification,
    LabelQueue,
    OptimisticSampler,
    TablePool,
    collect,
    labelled_table,
)
from evenhand.saving.state import from_bytes, to_bytes

DRAWS = np.random.default_rng(7)
N = 240
FRAME = pd.DataFrame(
    {
        "town": DRAWS.choice(["york", "bath", "hull"], N),
        "job": pd.Categorical(DRAWS.choice(["cook", "smith"], N)),
        "age": DRAWS.integers(20, 60, N),
    }
)
Y = np.where((FRAME["town"] == "york") ^ (FRAME["age"] > 45), "yes", "no")
GROUP = DRAWS.choice(["a", "b"], N)


def pipeline():
    kinds = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town", "job"]), (StandardScaler(), ["age"])
    )
    return make_pipeline(kinds, LogisticRegression())


def whole():
    """The pipeline fitted to all rows at once."""
    return pipeline().fit(FRAME, Y)


def table_pool():
    return TablePool(FRAME.assign(group=GROUP, y=Y), group="group", label="y", encoded=False)


@pytest.mark.parametrize("made", [lambda: ArrayPool(FRAME, Y, group=GROUP), table_pool], ids=["array", "table"])
def test_a_pool_of_a_frame_trains_a_pipeline_that_names_its_columns(made):
    pool = made()
    pool.reset(1)
    sampler = OptimisticSampler(pool.groups, pipeline(), classes=["no", "yes"], batch=30, seed=1)
    collect(sampler, pool, rounds=2)
    again = from_bytes(to_bytes({"sampler": sampler, "pool": pool}))
    for one in ({"sampler": sampler, "pool": pool}, again):
        collect(one["sampler"], one["pool"], rounds=100)
        model = one["sampler"].finish().model
        assert len(one["pool"].chosen) == N
        np.testing.assert_allclose(model.predict_proba(FRAME), whole().predict_proba(FRAME), atol=1e-4)
        shuffled = FRAME[["age", "town", "job"]].assign(town="never seen")
        assert model.predict(shuffled).tolist() == whole().predict(FRAME.assign(town="never seen")).tolist()
    fresh = from_bytes(to_bytes(model))
    assert (fresh.predict(FRAME) == model.predict(FRAME)).all()


@pytest.mark.parametrize("own", [False, True])
def test_a_certification_hands_frames_to_a_pipeline(own):
    pool = ArrayPool(FRAME, Y, group=GROUP)
    model = whole()
    if own:
        sampler = OptimisticSampler(pool.groups, pipeline(), classes=["no", "yes"], batch=60, seed=1)
        collect(sampler, pool, rounds=2)
        model = sampler.finish().model
    check = Certification(pool.groups, model, threshold=0.9, batch=30)
    check = from_bytes(to_bytes(check)) if own else check
    for _ in pool.groups:
        draw = check.ask()
        rows = np.flatnonzero(draw.group == GROUP)[:30]
        check.tell(draw, FRAME.iloc[rows][["age", "job", "town"]] if own else FRAME.iloc[rows], Y[rows])
        wrong = (model.predict(FRAME.iloc[rows]) != Y[rows]).sum()
        assert (check.sums[draw.index], check.counts[draw.index]) == (wrong, 30)
    with pytest.raises(ContextError, match="X: expected at most the 30 rows"):
        check.tell(check.ask(), FRAME, Y)


def test_a_queue_of_a_frame_trains_a_pipeline_that_names_its_columns():
    sampler = OptimisticSampler(["a", "b"], pipeline(), classes=["no", "yes"], seed=1)
    queue = LabelQueue(range(N), FRAME, groups=GROUP, sampler=sampler, seed=1)
    for _ in range(60):
        task = queue.ask()
        queue.tell(task, Y[task.item])
    model = queue.sampler.finish().model
    ids = labelled_table(queue)["id"].tolist()
    assert len(ids) == 60
    expected = pipeline().fit(FRAME.iloc[ids], Y[ids])
    np.testing.assert_allclose(model.predict_proba(FRAME), expected.predict_proba(FRAME), atol=1e-3)
    again = from_bytes(to_bytes(queue))
    assert again.ask() == queue.ask()
    assert (again.fresh().config()["features"] == FRAME.astype({"age": float})).all(axis=None)


def test_texts_are_refused_where_a_model_takes_numbers_alone():
    with pytest.raises(
        ArgumentError, match=r"features: expected numbers, got .*text or categories in a table.*; encode"
    ):
        LabelQueue(range(N), FRAME, groups=GROUP)
    pool = ArrayPool(FRAME, Y, group=GROUP)
    with pytest.raises(ContextError, match="X: expected an array of numbers"):
        collect(OptimisticSampler(pool.groups, seed=1), pool, rounds=1)
    for cell in (None, 0.5):
        with pytest.raises(ContextError, match="X, column 'town', row 2: expected text or a whole number"):
            ArrayPool(pd.DataFrame({"town": ["york", cell]}), [0, 1], group=["a", "b"])
