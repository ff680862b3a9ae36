"""Whole numbers that JavaScript cannot tell apart leave the service as text, everywhere, and are read back."""

from __future__ import annotations

import json

import numpy as np
import pytest

import evenhand as eh
from evenhand.client import Client
from evenhand.data.json_files import to_json
from evenhand.service.app import ENDPOINTS
from evenhand.studies import Study
from evenhand.studies.files import flat
from tests.cli.shell import call

ARMS = [1161888007138312192 + k for k in (1, 2, 3)] + [-(2**53)]
TEXTS = list(map(str, ARMS))
EXACT = 2**53 - 1


def read(content):
    """Return what a body in JSON holds; no whole number in it may be one that a float cannot tell from others."""

    def whole(digits):
        assert abs(int(digits)) <= EXACT
        return int(digits)

    return json.loads(content, parse_int=whole)


def test_how_a_number_is_written():
    value = {2**60: [EXACT, EXACT + 1, -(2**63), np.array([[1, 2**60]]), (True, None, float("nan"))]}
    written = f'{{"{2**60}":[{EXACT},"{EXACT + 1}","{-(2**63)}",[[1,"{2**60}"]],[true,null,null]]}}'
    assert to_json(value).decode() == written


@pytest.fixture
def big(served):
    """A service with the study "big", some of whose arms were decided, told and changed by their texts."""
    shares = dict.fromkeys(ARMS[:3], 0.2) | {ARMS[3]: 0.1}
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), shares, seed=1)
    Study.create(served.store, policy, name="big")
    return served


def test_every_route_that_reads_sends_them_as_text(big):
    decided = [big.ask("big", json={"available": [text]}) for text in TEXTS]
    assert [read(answer.content)["arm"] for answer in decided] == TEXTS
    for answer in decided[:2]:
        assert big.tell({"ticket": answer.json()["ticket"], "reward": 1.0}, "big").json()["status"] == "told"
    batch = big.ask("big", json={"batch": [{"available": [text]} for text in TEXTS]}).content
    assert [one["arm"] for one in read(batch)["decisions"]] == TEXTS
    routes = [one for one in ENDPOINTS if one.method == "GET" and one.path.startswith("/studies")]
    assert len(routes) == 9
    seen = set()
    for one in routes:
        path = one.path.replace("{name}", "big").replace("{id}", "1")
        path += {"history": "?format=json", "receipt": "?ticket=1"}.get(path.rpartition("/")[2], "")
        content = big.send("read", "GET", path).content
        read(content)
        seen |= {path for text in TEXTS if f'"{text}"'.encode() in content}
    assert len(seen) >= 5
    for text in TEXTS:
        found = big.read(f"/studies/big/decisions?arm={text}")["decisions"]
        assert [row["arm"] for row in found] == [text] * 2


def test_a_client_gives_them_back_and_the_service_reads_them(big):
    with Client(big.url, key=[big.keys[role] for role in ("decide", "report", "read")]) as client:
        study = client.study("big")
        decision = study.ask(available=TEXTS[:1])
        assert decision.arm == study.ask(available=[decision.arm]).arm == study.ask(available=ARMS[:1]).arm == TEXTS[0]
        assert study.shares() == {TEXTS[0]: 1.0} | dict.fromkeys(TEXTS[1:], 0.0)
        assert study.change(dict.fromkeys(TEXTS, 0.1)) == {}
        study.retire(decision.arm)
        assert study.add(decision.arm, 0.1) == 0
        assert study.state()["arms"][0]["label"] == TEXTS[0]
        study.add(str(ARMS[0] + 7))
    study = Study.open(big.store, "big")
    assert list(study.statistics().labels) == [*ARMS, ARMS[0] + 7]
    cell = json.loads(flat(study.frame())["decision"][0])
    assert (cell["arm"], cell["index"]) == (TEXTS[0], 0)


def test_the_shell_prints_them_as_text_and_reads_them(tmp_path):
    path = tmp_path / "big.evenhand"
    Study.create(path, eh.quotas.DeadlineLearn(eh.learners.UCB1(), dict.fromkeys(ARMS, 0.2)), name="big").close()
    assert read(call("ask", path, "--available", TEXTS[1]).output)["arm"] == TEXTS[1]
    assert read(call("add", path, str(EXACT), "--json").output)["arm"] == EXACT
    shown = read(call("show", path, "--json").output)["arms"]
    assert [arm["label"] for arm in shown] == [*TEXTS, EXACT]


def test_the_document_of_the_routes_has_no_such_number(served):
    document = read(served.http.get("/openapi.json").content)
    assert document["info"]["description"].endswith("are sent as text and read as text or number.")
