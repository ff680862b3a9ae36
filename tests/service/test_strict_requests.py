"""What no route takes is refused by its name: parameters of the address, and names that a body has twice."""

from __future__ import annotations

import json

import pytest

from evenhand.service.app import ENDPOINTS
from evenhand.service.routes.fields import EXPECTED
from tests.service.conftest import POLICY
from tests.service.test_auth import path_of

PROBES = ("/livez", "/readyz")
OTHERS = [one for one in ENDPOINTS if one.path not in PROBES]


def refused(served, endpoint, query, **given):
    """The words that refuse a query, and that nothing was done."""
    role = endpoint.role or "read"
    answer = served.send(role, endpoint.method, f"{path_of(endpoint.template)}?{query}", **given)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["name"] == "ArgumentError"
    state = served.read("/studies/ads")
    assert (state["decisions"], len(served.read("/studies")["studies"])) == (1, 1)
    return answer.json()["error"]["message"]


BODIES = {
    "/studies": {"name": "new", "policy": POLICY},
    "/studies/{name}/add": {"arm": "c"},
    "/studies/{name}/retire": {"arm": "a"},
    "/studies/{name}/change": {"shares": {"a": 0.1, "b": 0.1}},
}


@pytest.mark.parametrize("endpoint", OTHERS, ids=lambda one: f"{one.method} {one.path}")
def test_a_parameter_that_a_route_does_not_take_is_refused_with_those_it_takes(asked, endpoint):
    body = {"json": BODIES.get(endpoint.path, {"ticket": asked.ticket})} if endpoint.method == "POST" else {}
    known = [name for model in endpoint.models.get("query", ()) for name in model.model_fields]
    for query, name in (("limt=1", "limt"), ("key=order-7", "key"), ("=x", ""), ("limt", "limt")):
        if name in known:
            continue
        said = refused(asked, endpoint, query, **body)
        assert said.startswith(f"query: expected {', '.join(known) or 'no parameters'}, got {name!r}")
    for name in known:
        assert refused(asked, endpoint, f"{name}=1&{name}=2") == f"query: expected {name} once, got it several times"


def test_the_refusal_of_a_key_in_the_address_says_where_it_belongs(asked):
    (ask,) = (one for one in ENDPOINTS if one.path.endswith("/ask"))
    said = refused(asked, ask, "key=order-7", json={})
    assert "the body takes contexts, attributes, groups, available" in said
    assert said.endswith("count, batch; send the header Idempotency-Key")


@pytest.mark.parametrize("path", PROBES)
def test_a_probe_takes_whatever_a_load_balancer_adds(served, path):
    assert served.http.get(f"{path}?t=17&t=18").json()["status"] == "ok"


@pytest.mark.parametrize(
    ("role", "path", "text"),
    [
        ("decide", "", '{"name": "new", "policy": {"policy": "quotas/fair-ucb", "shares": {"a": 0.5, "a": 0.2}}}'),
        ("decide", "/ads/ask", '{"batch": [{}, {"groups": {"\\u0061": "x", "a": "y"}}]}'),
        ("report", "/ads/tell", '{"ticket": "T", "reward": 0, "reward": 1}'),
    ],
    ids=["in an object", "in a list", "alone"],
)
def test_a_name_that_a_body_has_twice_is_refused(asked, role, path, text):
    content = text.replace('"T"', json.dumps(asked.ticket))
    answer = asked.send(role, "POST", f"/studies{path}", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("the body cannot be read as JSON: '")
    assert answer.json()["error"]["message"].endswith(" appears twice")
    state = asked.read("/studies/ads")
    assert (state["decisions"], state["told"], state["open"]) == (1, 0, 1)
    assert len(asked.read("/studies")["studies"]) == 1


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_of_every_field_of_a_request_it_is_known_what_is_expected(endpoint):
    names = {name for several in endpoint.names.values() for name in several}
    assert names <= set(EXPECTED)
