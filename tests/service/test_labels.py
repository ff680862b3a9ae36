"""Items are labelled over HTTP, by programs and by people in a browser."""

import pytest

from evenhand.sampling import (
    LabelQueue,
    OptimisticSampler,
    annotations_table,
    progress_table,
)
from evenhand.studies import Store, Study
from evenhand.studies.keys import add_key
from tests.sampling.labelled_items import LabelledItems

WORLD = LabelledItems(items=60, seed=1)
TRUE = dict(zip(WORLD.ids, WORLD.labels.tolist(), strict=True))


@pytest.fixture
def labelling(serving, tmp_path):
    sampler = OptimisticSampler(["easy", "hard"], classes=[0, 1], seed=1)
    content = [f"x = {x:.2f}, y = {y:.2f}" for x, y in WORLD.features]
    queue = LabelQueue(WORLD.ids, WORLD.features, groups=WORLD.groups, sampler=sampler, content=content, seed=1)
    store = Store.at(tmp_path / "labels.evenhand", create=True)
    Study.create(store.url, queue, name="labels").close()
    both = add_key(store, "both")
    served = serving(store)
    served.keys["both"] = both
    return served


def test_items_are_asked_for_labelled_and_rejected(labelling):
    task = labelling.ask("labels", json={"annotator": "ann"}).json()
    assert task["choices"] == [0, 1]
    assert task["content"].startswith("x = ")
    told = labelling.send(
        "report",
        "POST",
        "/studies/labels/tell",
        json={"ticket": task["ticket"], "label": TRUE[task["item"]], "annotator": "ann"},
    )
    assert (told.status_code, told.json()["status"]) == (200, "told")
    other = labelling.ask("labels").json()
    assert other["item"] != task["item"]
    rejected = {"ticket": other["ticket"], "label": None}
    assert labelling.send("report", "POST", "/studies/labels/tell", json=rejected).status_code == 200
    with Study.open(labelling.store.url, "labels") as study:
        assert progress_table(study.policy).sum()[["labelled", "rejected"]].tolist() == [1, 1]
        assert annotations_table(study.policy)["annotator"].tolist() == ["ann"]
        assert study.verify().ok


@pytest.mark.parametrize(
    ("given", "words"),
    [({"label": 7}, "labels among"), ({"label": [1]}, "a text or a whole number"), ({"reward": 1.0}, "label")],
)
def test_what_is_no_label_is_refused(labelling, given, words):
    ticket = labelling.ask("labels").json()["ticket"]
    answer = labelling.send("report", "POST", "/studies/labels/tell", json={"ticket": ticket, **given})
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]


def test_a_key_with_both_roles_asks_and_tells_and_reads_nothing(labelling):
    ticket = labelling.send("both", "POST", "/studies/labels/ask", json={}).json()["ticket"]
    told = labelling.send("both", "POST", "/studies/labels/tell", json={"ticket": ticket, "label": 1})
    assert told.status_code == 200
    refused = labelling.send("both", "GET", "/studies")
    assert refused.status_code == 403
    assert "this key may decide and report" in refused.json()["error"]["message"]
