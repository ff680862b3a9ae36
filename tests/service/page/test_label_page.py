"""An annotator's day in a browser: items one by one, a key for each label, and nothing of it lost."""

from __future__ import annotations

import re

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from evenhand.sampling import LabelQueue, OptimisticSampler, annotations_table, progress_table
from evenhand.studies import Store, Study
from tests.sampling.labelled_items import LabelledItems

WORLD = LabelledItems(items=40, seed=1)
DOT = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='40' height='40'%3E"
    "%3Ccircle cx='20' cy='20' r='15' fill='teal'/%3E%3C/svg%3E"
)


def create(store, name, classes, content=None):
    """Create a study of items to label."""
    sampler = OptimisticSampler(["easy", "hard"], classes=classes, seed=1)
    queue = LabelQueue(WORLD.ids, WORLD.features, groups=WORLD.groups, sampler=sampler, content=content, seed=1)
    Study.create(store.url, queue, name=name).close()


@pytest.fixture
def annotator(person, tmp_path):
    store = Store.at(tmp_path / "labels.evenhand", create=True)
    for name, content in (("labels", [f"patient {i}" for i in range(40)]), ("pictures", [DOT] * 40)):
        create(store, name, ["no", "yes"], content)
    return person(store, "label")


def test_a_key_is_the_label_that_reads_as_it(annotator):
    create(annotator.served.store, "digits", [0, 1])
    annotator.begin("digits")
    for key in ("1", "0", "1"):
        annotator.press(key)
    with Study.open(annotator.served.store.url, "digits") as study:
        assert annotations_table(study.policy)["label"].tolist() == [1, 0, 1]


def test_items_are_labelled_rejected_and_left_by_keys(annotator):
    annotator.begin("labels")
    first = annotator.item()
    annotator.sees("You see one item at a time; choose the label that fits it.")
    annotator.press("1")
    second = annotator.item()
    annotator.press("r")
    left = annotator.item()
    annotator.press("s")
    annotator.press("2")
    annotator.sees("2 labelled since ")
    since = annotator.driver.find_element(By.CSS_SELECTOR, "#state time").get_attribute("title")
    assert re.fullmatch(r"\w+, \d+ \w+ \d{4}, \d\d:\d\d:\d\d \S.*", since), "the time with its zone"
    with Study.open(annotator.served.store.url, "labels") as study:
        told = annotations_table(study.policy)
        assert told["id"].tolist()[0] == first
        assert told["label"].tolist() == ["no", "yes"]
        assert set(told["annotator"]) == {"ann"}
        assert progress_table(study.policy)["rejected"].sum() == 1
        assert study.policy.open_items()[0] == left
        assert not {second, left} & set(told["id"])


def test_a_picture_is_shown_and_labelled_with_a_click(annotator):
    annotator.begin("pictures")
    annotator.item()
    width = "return document.querySelector('#item img').naturalWidth"
    WebDriverWait(annotator.driver, 20, 0.05).until(lambda driver: driver.execute_script(width))
    annotator.driver.find_element(By.CSS_SELECTOR, "button[data-label=yes]").click()
    annotator.sees("1 labelled")


def test_without_a_key_the_page_asks_for_one_and_a_refusal_is_said(annotator):
    annotator.driver.get(f"{annotator.served.url}/label")
    annotator.driver.execute_script("sessionStorage.clear()")
    annotator.driver.refresh()
    annotator.sees("You see one item at a time; choose the label that fits it.")
    for name, value in (("study", "labels"), ("key", "eh_wrong")):
        annotator.driver.find_element(By.NAME, name).send_keys(value)
    annotator.driver.find_element(By.CSS_SELECTOR, "form button").click()
    annotator.sees("the key is unknown or revoked")


def test_the_day_ends_where_no_item_is_left(annotator):
    with Study.open(annotator.served.store.url, "labels") as study:
        for task in study.ask(n=36, annotator="bob"):
            study.tell(task, "no", annotator="bob")
    annotator.begin("labels")
    while annotator.item() != "end":
        annotator.press("1")
    annotator.sees("no rows are left to ask for")
