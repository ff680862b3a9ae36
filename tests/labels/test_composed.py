"""Text that looks the same is the same label, whichever form of Unicode it comes in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.interventions import CausalModel
from evenhand.quotas import BernoulliArms, FairUCB
from evenhand.sampling import OptimisticSampler, UniformSampler
from evenhand.studies import Ask, Study
from tests.service.conftest import serving

__all__ = ["serving"]

C, D = "caf\u00e9", "cafe\u0301"
"""One word, composed and decomposed."""
TWICE = "each label once, got 'caf\u00e9'; it appears twice"


TWO_FORMS = {
    "arms": lambda: eh.learners.UCB1(arms=[C, D, "b"]),
    "shares": lambda: FairUCB({C: 0.2, D: 0.3}),
    "arms in groups": lambda: eh.groups.TopInterval({C: "F", D: "M"}),
    "samplers' groups": lambda: OptimisticSampler([C, D]),
    "costs": lambda: OptimisticSampler([C, "b"], costs={C: 1.0, D: 2.0, "b": 1.0}),
    "means": lambda: BernoulliArms({C: 0.2, D: 0.3}),
}


@pytest.mark.parametrize("made", TWO_FORMS.values(), ids=TWO_FORMS)
def test_one_label_in_two_forms_stands_there_twice(made):
    with pytest.raises(ArgumentError, match=TWICE):
        made()


def test_the_service_knows_one_label_in_both_forms(serving):
    served = serving()
    spec = {"policy": "quotas/fair-ucb", "shares": {D: 0.2, C: 0.3}}
    twice = served.send("decide", "POST", "/studies", json={"name": "twice", "policy": spec})
    assert (twice.status_code, twice.json()["error"]["message"]) == (
        422,
        f"shares: expected {TWICE}, in two forms of Unicode",
    )
    served.create("ads", {"policy": "quotas/fair-ucb", "shares": {D: 0.2, "b": 0.3}, "seed": 1})
    arms = {served.ask().json()["arm"] for _ in range(6)}
    assert arms == {C, "b"}
    for form in (C, D):
        found = served.read("/studies/ads/decisions", params={"arm": form})["decisions"]
        assert {row["arm"] for row in found} == {C}


def test_a_key_is_one_key_in_both_forms():
    study = Study.create(":memory:", FairUCB([0.2, 0.3], seed=1), name="ads")
    assert study.ask(key=D) == study.ask(key=C) == study.ask(key=D)
    batch = study.run([Ask(key=form, number=3) for form in (C, D)])
    assert batch[0] == batch[1]
    assert study.log.sequence == 2


def test_class_labels_and_states_are_the_same_in_either_form():
    sampler = UniformSampler(["u", "v"], batch=2, seed=1)
    sampler.tell(sampler.ask(), [[0.0], [1.0], [2.0], [3.0]], [C, "tea", D, "tea"])
    sampler.tell(sampler.ask(), [[0.0], [1.0]], np.array([D, "tea"]))
    assert set(sampler.model.classes_.tolist()) == {C, "tea"}
    model = CausalModel.from_tables({"s": [D, "tea"]}, {"s": []}, {"s": pd.Series([0.3, 0.7], index=[C, "tea"])})
    assert model.states["s"] == (C, "tea")
    assert [model.code("s", label, "state") for label in (C, D, "tea")] == [0, 0, 1]
    with pytest.raises(ArgumentError, match="distinct states"):
        CausalModel.from_tables({"s": [C, D]}, {"s": []}, {"s": [0.3, 0.7]})
