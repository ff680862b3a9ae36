"""Columns of categories are categories at every door, also where these are written as numbers: encoded, or refused as
text is."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.client.calls import round_of
from evenhand.errors import ArgumentError, ContextError, EvenhandError, TableError
from evenhand.frames import as_pandas
from evenhand.learners import LinUCB
from evenhand.sampling import (
    ArrayPool,
    Certification,
    LabelQueue,
    LogisticModel,
    OptimisticSampler,
    TablePool,
    group_errors,
    minimax_reweighting,
)
from evenhand.studies import Study

ROWS = 40
CODES = np.arange(ROWS) % 4
PANDAS = pd.DataFrame({"code": pd.Categorical(CODES)})
ARROW = pa.table({"code": pa.array(CODES).dictionary_encode()})
POLARS = pl.DataFrame({"code": pl.Series(CODES.astype(str)).cast(pl.Categorical)})
ENUM = pl.DataFrame({"code": pl.Series(CODES.astype(str)).cast(pl.Enum(["0", "1", "2", "3"]))})
FRAMES = {"pandas": PANDAS, "arrow": ARROW, "polars": POLARS, "enum": ENUM}
LABELS, GROUPS = np.isin(CODES, [1, 3]) * 1, ["x", "y"] * (ROWS // 2)
LOG = pd.DataFrame({"arm": ["a", "b"] * 20, "reward": [1, 0, 0, 1] * 10, "p": 0.5, "code": PANDAS["code"]})
MODEL = LogisticModel().fit(CODES[:, None], LABELS)


def first(frame, rows=2):
    return frame.slice(0, rows) if isinstance(frame, (pa.Table, pl.DataFrame)) else frame[:rows]


def told(frame):
    sampler = OptimisticSampler(["x", "y"], seed=1)
    draw = sampler.ask()
    sampler.tell(draw, first(frame, draw.count), LABELS[: draw.count])


def drawn(frame):
    sampler, pool = OptimisticSampler(["x", "y"], seed=1), ArrayPool(frame, LABELS, group=GROUPS)
    draw = sampler.ask()
    sampler.tell(draw, *pool.respond(draw))


def certified(frame):
    check = Certification(["x", "y"], MODEL, threshold=0.5)
    check.tell(check.ask(), first(frame, 4), LABELS[:4])


def evaluated(**given):
    return eh.evaluate(LOG, {"a": 1, "b": 0}, arm="arm", reward="reward", propensity="p", **given)


FEATURES = {
    "rows of a pool": drawn,
    "LabelQueue": lambda frame: LabelQueue(range(ROWS), frame, groups=GROUPS),
    "minimax_reweighting": lambda frame: minimax_reweighting(frame, LABELS, group=GROUPS),
    "fit": lambda frame: LogisticModel().fit(frame, LABELS),
    "predict": MODEL.predict,
    "group_errors": lambda frame: group_errors(MODEL, frame, LABELS, groups=GROUPS),
    "a sampler's tell": told,
    "a certification's tell": certified,
    "ask": lambda frame: LinUCB(arms=["a", "b"]).ask(first(frame)),
    "evaluate": lambda frame: evaluated(contexts=frame),
    "Scale": eh.similarity.Scale.of,
    "oracle": lambda frame: eh.similarity.MahalanobisOracle([[1.0]])(frame, np.full(ROWS, 0.5)),
}
COLUMNS = {
    "learn": lambda: LinUCB(arms=["a", "b"]).learn(LOG, arm="arm", reward="reward", contexts=["code"]),
    "TableIndividuals": lambda: eh.similarity.TableIndividuals(
        LOG, features=["code"], reward="reward", oracle=eh.similarity.MahalanobisOracle([[1.0]])
    ),
}


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("door", FEATURES)
def test_categories_are_no_amounts_where_features_are_wanted(door, library):
    with pytest.raises((ArgumentError, ContextError), match=r"categories|names of columns"):
        FEATURES[door](FRAMES[library])


@pytest.mark.parametrize("door", COLUMNS)
def test_a_column_of_categories_is_refused_and_the_encoder_is_said(door):
    with pytest.raises(TableError, match=re.escape("got 'categories'; if they are amounts, ")) as refused:
        COLUMNS[door]()
    assert "eh.Encoder({'code': [0, 1, 2, ...]}).replace(frame)" in str(refused.value)


def test_columns_of_contexts_are_encoded_where_a_log_is_evaluated():
    from evenhand.evaluation.logged import read_logged

    given = {"propensity": None, "position": None, "order": None, "unit": None}
    read = read_logged(LOG, arm="arm", reward="reward", contexts=["code"], **given)
    assert read.columns == [f"code={code}" for code in range(4)]
    assert read.contexts.shape[1] == 4


@pytest.mark.parametrize("library", FRAMES)
def test_where_they_are_encoded_each_category_has_a_number_of_its_own(library):
    frame = as_pandas(FRAMES[library])
    assert eh.Encoder.fit(frame).names == [f"code={code}" for code in range(4)]
    assert TablePool(frame.assign(group=GROUPS, y=LABELS), group="group", label="y").X.shape == (ROWS, 4)
    policy = LinUCB(arms=["a", "b"]).encode_with(eh.Encoder.fit(frame))
    assert policy.ask(first(FRAMES[library])).arm == "a"


@pytest.mark.parametrize("library", FRAMES)
def test_a_study_and_a_client_keep_categories_for_the_encoder_and_no_amounts(library):
    frame, encoder = first(FRAMES[library]), eh.Encoder.fit(FRAMES[library])
    assert round_of({"contexts": frame})["contexts"] == [{"code": "0"}, {"code": "1"}]
    with Study.create(":memory:", LinUCB(arms=["a", "b"]).encode_with(encoder)) as study:
        assert study.ask(frame).arm == "a"
        assert study.verify().ok
    with Study.create(":memory:", LinUCB(arms=["a", "b"])) as study, pytest.raises(EvenhandError, match="categories"):
        study.ask(frame)


def test_a_client_sends_what_is_missing_as_missing_and_numbers_as_numbers():
    frame = pd.DataFrame({"code": pd.Categorical([7, None]), "age": [1, 2]})
    rows = round_of({"contexts": frame})["contexts"]
    assert rows[0] == {"code": "7", "age": 1}
    assert rows[1]["code"] != rows[1]["code"]
    assert round_of({"contexts": frame[["age"]]})["contexts"] == [{"age": 1}, {"age": 2}]
