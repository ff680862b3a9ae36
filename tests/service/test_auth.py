"""Every route with a key of every role, without a key, and with a key that is no more."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest

from evenhand.service.app import ENDPOINTS
from evenhand.service.auth import Guard
from evenhand.service.errors import HttpRefusal
from evenhand.service.jobs import Recent
from evenhand.studies import Store
from evenhand.studies.keys import ROLES, add_key, revoke_key

MATRIX = [(endpoint.template, endpoint.method, endpoint.role) for endpoint in ENDPOINTS]
KEPT = [(template, method, role) for template, method, role in MATRIX if role is not None]
OPEN = [(template, method) for template, method, role in MATRIX if role is None]


def path_of(template):
    return template.replace("{name}", "ads").replace("{id}", "1").replace("{file}", "nothing.js")


def test_the_table_holds_every_route_of_the_application(asked):
    described = asked.http.get("/openapi.json").json()["paths"]
    assert {(path, method.upper()) for path, item in described.items() for method in item} <= {
        (template, method) for template, method, _ in MATRIX
    }
    for template, method, role in KEPT:
        operation = described[template][method.lower()]
        assert (operation["x-role"], operation["security"]) == (role, [{"key": []}])


@pytest.mark.parametrize(("template", "method", "role"), KEPT)
@pytest.mark.parametrize("mine", [*ROLES, "both"])
def test_a_key_opens_the_routes_of_its_role_and_no_other(asked, template, method, role, mine):
    answer = asked.send(mine, method, path_of(template))
    if role == mine or (mine == "both" and role != "read"):
        assert answer.status_code not in (401, 403)
    else:
        assert (answer.status_code, answer.json()["error"]["name"]) == (403, "RoleError")
        doing = {"decide": "deciding", "report": "reporting", "read": "reading"}[role]
        may = "decide and report" if mine == "both" else mine
        assert answer.json()["error"]["message"] == f"this key may {may}; {doing} needs a key with the role {role}"


HEADERS = ["", "Bearer", "Bearer  x", "Basic abc", "Bearer wrong", "Bearer eh_read_00000000_" + "x" * 43]


@pytest.mark.parametrize(
    ("template", "method", "header"),
    [*((*route[:2], None) for route in KEPT), *((*KEPT[0][:2], header) for header in HEADERS)],
)
def test_without_a_good_key_nothing_is_told(asked, template, method, header):
    headers = {} if header is None else {"Authorization": header}
    answer = asked.http.request(method, path_of(template), headers=headers)
    assert (answer.status_code, answer.json()["error"]["name"]) == (401, "AuthenticationError")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("template", "method"), OPEN)
def test_what_is_open_needs_no_key(asked, template, method):
    assert asked.http.request(method, path_of(template)).status_code in (200, 404)


@pytest.mark.parametrize("path", ["/studies", "/studies/ads", "/studies/none", "/docs", "/"])
def test_a_head_is_that_of_the_answer_without_its_body(asked, path):
    got = asked.send("read", "GET", path)
    head = asked.send("read", "HEAD", path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert asked.send("decide", "HEAD", "/studies").status_code == 403
    assert asked.send("decide", "HEAD", "/studies/ads/ask").status_code == 405


@pytest.mark.parametrize(("template", "method", "role"), MATRIX)
def test_another_method_is_refused_and_those_that_serve_are_named(asked, template, method, role):
    answer = asked.http.request("DELETE", path_of(template))
    assert (answer.status_code, answer.json()["error"]["name"]) == (405, "MethodError")
    assert method in answer.headers["Allow"].split(", ")


@pytest.mark.parametrize("path", ["/nothing", "/studies/", "/studies/ads/nothing", "/studies/ads/decisions/1/2", "//"])
def test_where_nothing_is_nothing_is_found(asked, path):
    answer = asked.http.get(asked.url + path)
    assert (answer.status_code, answer.json()["error"]["name"]) == (404, "NotFoundError")


def admitted(guard, text):
    """Return the role of a key that may read, or the status of its refusal."""
    try:
        return asyncio.run(guard.holder(f"Bearer {text}".encode(), "read")).role
    except HttpRefusal as refusal:
        return refusal.status


def test_keys_that_come_and_go_are_noticed_when_the_second_is_over():
    store, now = Store.at(":memory:", create=True), [0.0]
    first = add_key(store, "read")
    with patch.dict(Recent.__init__.__kwdefaults__, clock=lambda: now[0]):
        guard = Guard(store)
    assert admitted(guard, first) == "read"
    second = add_key(store, "read")
    revoke_key(store, first)
    assert (admitted(guard, first), admitted(guard, second)) == ("read", 401)
    now[0] = 1.1
    assert (admitted(guard, first), admitted(guard, second)) == (401, "read")


def test_a_key_stops_working_at_its_end():
    store, now = Store.at(":memory:", create=True), [datetime.now(UTC)]
    guard = Guard(store, now=lambda: now[0])
    key = add_key(store, "read", expires=timedelta(hours=1))
    assert admitted(guard, key) == "read"
    now[0] += timedelta(hours=1, seconds=1)
    with pytest.raises(HttpRefusal, match=r"the key expired at 20.* UTC; get a new one") as refused:
        asyncio.run(guard.holder(f"Bearer {key}".encode(), "read"))
    assert (refused.value.status, refused.value.headers["WWW-Authenticate"]) == (401, 'Bearer realm="evenhand"')
    with pytest.raises(HttpRefusal, match="the key is unknown or revoked"):
        asyncio.run(guard.holder(f"Bearer {key[:-1]}".encode(), "read"))


def test_a_key_of_some_studies_sees_no_others(serving):
    served = serving()
    for name in ("ads", "news"):
        served.create(name)
    served.keys = {role: add_key(served.store, role, studies=["ads", "later"]) for role in ROLES}
    served.app.state.guard = Guard(served.store)
    assert served.ask("ads").status_code == 200
    assert [one["name"] for one in served.read("/studies")["studies"]] == ["ads"]
    for name in ("news", "none"):
        answer = served.send("read", "GET", f"/studies/{name}")
        message = f"no study of this key is named '{name}'; it is limited to the studies ads, later"
        assert (answer.status_code, answer.json()["error"]["message"]) == (404, message)
        assert served.ask(name).status_code == 404
        assert served.tell({"ticket": f"{name}.1.0123456789abcdef"}, name).status_code == 404
    assert served.send("read", "GET", "/metrics").status_code == 403
    served.create("later")
    policy = {"policy": "quotas/fair-ucb", "shares": {"a": 0.1}}
    answer = served.send("decide", "POST", "/studies", json={"name": "third", "policy": policy})
    message = "this key is limited to the studies ads, later; this needs a key for all studies"
    assert (answer.status_code, answer.json()["error"]["message"]) == (403, message)
    assert served.store.names() == ["ads", "news", "later"]
