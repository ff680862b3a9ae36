"""Members of `class Colour(str, Enum)` and `class Size(int, Enum)` are their values at every door that takes labels."""

from __future__ import annotations

import enum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.interventions import CausalModel, Problem
from evenhand.labels import Labels
from evenhand.protocol import composed, label_of, writing
from evenhand.quotas import DeadlineLearn
from evenhand.sampling import ArrayPool, LabelQueue
from evenhand.studies import Study


class Colour(str, enum.Enum):  # noqa: UP042 - what is tested, as Python had it before StrEnum
    RED, BLUE, CAFE = "red", "blue", "cafe\u0301"


class Size(int, enum.Enum):
    SMALL, LARGE = 1, 2


class Rate(float, enum.Enum):
    WHOLE, HALF = 1.0, 0.5


class Named(enum.StrEnum):
    RED, BLUE = "red", "blue"


class Plain(enum.Enum):
    RED = "red"


RED, BLUE = Colour.RED, Colour.BLUE
LOG = pd.DataFrame({"arm": pd.Series([RED, BLUE] * 50, dtype=object), "click": [1, 0] * 50, "p": 0.5, "q": 0.5})
STATES = {"sex": [RED, BLUE], "dose": [RED, BLUE], "cured": [0, 1]}
TABLES = {"sex": [0.5, 0.5], "dose": [[0.5, 0.5], [0.1, 0.9]], "cured": [[0.7, 0.3], [0.1, 0.9]]}


def deadline() -> DeadlineLearn:
    return DeadlineLearn(eh.learners.UCB1(), {RED: 0.2, BLUE: 0.3})


def queued() -> object:
    queue = LabelQueue([RED, BLUE, 3, 4], np.eye(4), groups={RED: RED, BLUE: BLUE, 3: RED, 4: BLUE}, seed=1)
    for item in queue.ask(4):
        queue.tell(item, RED if item in ("red", 4) else BLUE)
    return queue.ids, queue.groups, queue.sampler.model.classes


def model() -> CausalModel:
    return CausalModel.from_tables(STATES, {"sex": [], "dose": ["sex"], "cured": ["dose"]}, TABLES)


def replayed(propensity: object) -> eh.evaluation.Evaluation:
    return eh.evaluate(LOG, {RED: 1, BLUE: 0}, arm="arm", reward="click", propensity=propensity)


def problem() -> Problem:
    candidates = {RED: RED, BLUE: [[0, 1], [0, 1]]}
    return Problem(model(), intervene="dose", sensitive="sex", outcome="cured", candidates=candidates)


DOORS = {
    "the whole class as arms": (lambda: eh.learners.UCB1(arms=Colour).arms, ("red", "blue", "caf\u00e9")),
    "propensities": (lambda: replayed({RED: "p", BLUE: "q"}).weights["arm"].tolist(), ["blue", "red"]),
    "do": (lambda: model().probabilities(["cured"], do={"sex": BLUE}).round(2).tolist(), [0.16, 0.84]),
    "candidates": (lambda: problem().candidates, ("red", "blue")),
    "labels of a pool": (lambda: ArrayPool([[0.0], [1.0]], [RED, BLUE], group=[1, 2]).y.tolist(), ["red", "blue"]),
    "label queue": (queued, (("red", "blue", 3, 4), ("blue", "red"), ("blue", "red"))),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_member_is_its_value(door):
    found, right = DOORS[door]
    assert str(found()) == str(right)


def test_a_member_equals_the_arm_that_it_names_and_its_other_forms_stay_as_they_were():
    assert deadline().ask().arm == RED
    assert [label_of(one) for one in (RED, Size.LARGE, Rate.WHOLE, Named.RED, Plain.RED)] == ["red", 2, 1, "red", None]
    assert [type(label_of(one)) for one in (RED, Size.LARGE, Colour.CAFE)] == [str, int, str]
    assert writing(Colour.CAFE) == composed(Colour.CAFE) == "caf\u00e9"
    assert Labels(["blue", "red"]).place(RED) == 1 == Labels([BLUE, RED]).place("red")
    with pytest.raises(eh.errors.ArgumentError, match=r"labels that are str or int, got <Rate\.HALF: 0.5>"):
        eh.learners.UCB1(arms=[Rate.WHOLE, Rate.HALF])


def test_a_study_takes_members_as_keys_and_subjects(tmp_path: Path):
    with Study.create(tmp_path / "ads.evenhand", deadline()) as study:
        first = study.ask(key=RED, subject=BLUE)
        assert first == study.ask(key="red", subject="blue")
        assert study.ask(key=RED, available=[BLUE]) == study.ask(key="red", available=["blue"])
        assert study.frame()["arm"].tolist() == ["red", "blue"]
        assert study.change({RED: 0.1, BLUE: 0.2}) == {}
        with pytest.raises(eh.errors.RewardError, match=r"reward: expected a number, got \{'red': 1.0}"):
            study.tell(first, {RED: 1.0})
        assert study.verify().ok
