"""The workers of a study on its page: who decides, how far each may fall behind, and the one promise over all."""

from __future__ import annotations

import pytest

from tests.service.page.fake import SHARES, Played
from tests.service.page.visitor import Visitor

WORKERS = [
    {"worker": "w1", "state": "working", "holder": "north:4711", "rounds": 820, "surplus": 1.5,
     "heard": "2026-03-01T11:00:00+00:00", "exchanged": None, "lag": 3},
    {"worker": "w2", "state": "left", "holder": None, "rounds": 414, "surplus": None,
     "heard": None, "exchanged": None, "lag": None},
]  # fmt: skip


@pytest.mark.parametrize(
    ("pulls", "sentence"),
    [
        (1.25, "One promise is kept over all workers: in any order of their decisions b could still lack 1.25 plays."),
        (-0.5, "The promise is BROKEN: b lacks plays in some order of the workers' decisions."),
    ],
    ids=["kept", "broken"],
)
def test_workers_and_their_promise_are_told_in_words(visitor, fake, pulls, sentence):
    room = [{"label": "a", "pulls": 4.0}, {"label": "b", "pulls": pulls}]
    fake.studies["team"] = Played("team", SHARES, 1234, workers=WORKERS, room=room)
    visitor.watch("team")
    assert visitor.text("#workers h2") == "2 workers"
    assert visitor.text("#room") == sentence
    rows = [row.text for row in visitor.all("#workers tbody tr")]
    assert rows[0].startswith("w1 working 820 1.50 3 ")
    assert rows[0].endswith(" north:4711")
    assert rows[1] == "w2 left 414 – – – –"
    heard = visitor.driver.execute_script("return document.querySelector('#workers time').dateTime")
    assert heard == WORKERS[0]["heard"]
    assert visitor.complaints() == []


def test_workers_who_promise_nothing_decide_by_themselves(visitor, fake):
    fake.studies["team"] = Played("team", SHARES, 50, workers=WORKERS)
    visitor.watch("team")
    assert visitor.text("#room") == "Each worker decides by itself."


def test_one_log_has_no_such_part(visitor):
    visitor.watch("ads")
    assert not visitor.all("#workers")


@pytest.mark.slow
def test_the_workers_of_a_service_are_on_its_page(chromium, serving):
    served = serving()
    policy = {
        "policy": "quotas/deadline-learn",
        "learner": "learners/ucb1",
        "shares": SHARES,
        "tolerance": 5,
        "seed": 1,
    }
    body = {"name": "team", "policy": policy, "workers": 2}
    assert served.send("decide", "POST", "/studies", json=body).status_code == 201
    served.ask("team", json={"count": 20})
    visitor = Visitor(chromium, served.url)
    visitor.complaints()
    visitor.watch("team", served.keys["read"])
    assert visitor.text("#workers h2") == "2 workers"
    assert "One promise is kept over all workers" in visitor.text("#room")
    working = [row.text for row in visitor.all("#workers tbody tr") if " working 20 " in row.text]
    assert len(working) == 1
    visitor.driver.execute_script("document.querySelector('#shares [data-action=closer]').click()")
    visitor.sees("every round is drawn", "#shares .readout")
    assert visitor.complaints() == []
    chromium.get("about:blank")
