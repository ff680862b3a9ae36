"""Keys, monitors and alerts over HTTP, for keys with the role admin."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest

from evenhand.groups import LinearThompson
from evenhand.learners import UCB1
from evenhand.service.app import ENDPOINTS
from evenhand.service.notifications import Notifier
from evenhand.service.retention import Retention
from evenhand.service.routes.admin_routes import ADMIN_ENDPOINTS
from evenhand.studies import Study
from evenhand.studies.keys import ROLES, add_key
from evenhand.studies.log import subjects
from evenhand.studies.monitoring import monitors
from tests.service.test_metrics import read

KEPT = [(endpoint.template, endpoint.method) for endpoint in ADMIN_ENDPOINTS if endpoint.role is not None]
REWARD = {"metric": "reward", "threshold": 0.5, "window": 2}


@pytest.fixture
def admin(served):
    """A service with the study "ads" and an admin's key."""
    served.keys |= {"admin": add_key(served.store, "admin", expires="1d"), "both": add_key(served.store, "both")}
    served.app.state.admission.guard.expire()
    return served


def poor(served):
    """Let two rewards of the study "ads" be poor, and measure."""
    for _ in range(2):
        served.tell({"ticket": served.ask().json()["ticket"], "reward": 0.1})
    study = Study.open(served.store, "ads")
    monitors.watch(study)
    return study


def path_of(template):
    return template.replace("{name}", "ads").replace("{id}", "1").replace("{worker}", "w1")


@pytest.mark.parametrize("mine", [*ROLES, "both"])
def test_other_roles_administer_nothing(admin, mine):
    for template, method in KEPT:
        answer = admin.send(mine, method, path_of(template))
        assert (answer.status_code, answer.json()["error"]["name"]) == (403, "RoleError")
        assert "administering needs a key with the role admin" in answer.json()["error"]["message"]
        assert admin.http.request(method, path_of(template)).status_code == 401


def test_an_admin_reads_and_administers_but_neither_asks_nor_tells(admin):
    assert admin.send("admin", "GET", "/studies").status_code == 200
    answer = admin.send("admin", "POST", "/studies/ads/ask", json={})
    message = "this key may read and administer; deciding needs a key with the role decide"
    assert (answer.status_code, answer.json()["error"]["message"]) == (403, message)


def test_a_key_is_added_used_listed_and_withdrawn(admin):
    given = {"role": "decide", "note": "shop", "expires": "90d", "studies": ["ads"]}
    answer = admin.send("admin", "POST", "/admin/keys", json=given)
    made = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/admin/keys/{made['id']}"
    assert answer.headers["Cache-Control"] == "no-store"
    bearer = {"Authorization": f"Bearer {made['key']}"}
    assert admin.http.post("/studies/ads/ask", headers=bearer).status_code == 200
    listed = admin.send("admin", "GET", "/admin/keys")
    assert made["key"].split("_", 3)[3] not in listed.text
    row = next(one for one in listed.json()["keys"] if one["id"] == made["id"])
    assert (row["note"], row["studies"], row["revoked"]) == ("shop", ["ads"], None)
    assert row["expires"] == made["expires"]
    for status in ("revoked", "already revoked"):
        gone = admin.send("admin", "DELETE", f"/admin/keys/{made['id']}")
        assert gone.json() == {"id": made["id"], "status": status}
    assert admin.http.post("/studies/ads/ask", headers=bearer).status_code == 401


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"role": "boss"}, "role: wanted one of decide, report, read, both, admin, got 'boss'"),
        ({"role": "admin"}, "an admin key needs an end"),
        ({"role": "read", "expires": "yesterday"}, "expires: wanted a date such as 2030-12-31"),
        ({"role": "read", "expires": "2020-01-01"}, "expires: wanted a time to come"),
        ({"role": "read", "studies": []}, "studies: wanted a list of the names of studies, got []"),
        ({"role": "read", "studies": ["a/b"]}, "studies: wanted the names of studies, got 'a/b'"),
        ({"role": "read", "note": "x" * 201}, "note: wanted a text of up to 200 printable characters"),
        ({"role": "read", "note": "\x1b[2J"}, "note: wanted a text of up to 200 printable characters, got '\\x1b[2J'"),
        ({"role": "read", "secret": 1}, "wanted role, note, expires, studies, got 'secret'"),
    ],
)
def test_keys_that_cannot_be_are_refused(admin, body, words):
    before = admin.send("admin", "GET", "/admin/keys").json()
    answer = admin.send("admin", "POST", "/admin/keys", json=body)
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]
    assert admin.send("admin", "GET", "/admin/keys").json() == before


def test_an_admin_of_one_study_sets_its_monitors_and_gives_out_no_keys(admin):
    admin.create("other")
    admin.keys["admin"] = add_key(admin.store, "admin", expires="1d", studies=["ads"])
    admin.app.state.admission.guard.expire()
    assert admin.send("admin", "POST", "/admin/studies/ads/monitors", json=REWARD).status_code == 201
    assert admin.send("admin", "POST", "/admin/studies/other/monitors", json=REWARD).status_code == 404
    for method in ("GET", "POST"):
        answer = admin.send("admin", method, "/admin/keys", json={"role": "read"})
        assert answer.status_code == 403
        assert answer.json()["error"]["message"].startswith("this key is limited to the study ads")


def test_a_monitor_is_set_alerts_are_acknowledged_and_it_is_removed(admin):
    made = admin.send("admin", "POST", "/admin/studies/ads/monitors", json={**REWARD, "webhook": "http://127.0.0.1:1/"})
    assert made.status_code == 201
    assert made.headers["Location"] == "/admin/studies/ads/monitors/1"
    assert made.json()["secret"].startswith("whsec_")
    poor(admin)
    alert = admin.read("/studies/ads")["alerts"][0]
    assert (alert["acknowledged"], alert["by"], alert["note"]) == (None, None, "")
    where = f"/admin/studies/ads/alerts/{alert['id']}/acknowledge"
    tag = admin.send("read", "GET", "/studies/ads").headers["ETag"]
    answer = admin.send("admin", "POST", where, json={"note": "expected"})
    assert answer.json() == {"id": alert["id"], "status": "acknowledged"}
    assert admin.send("admin", "POST", where).json()["status"] == "already acknowledged"
    seen = admin.send("read", "GET", "/studies/ads", headers={"If-None-Match": tag})
    alert = seen.json()["alerts"][0]
    assert (alert["by"], alert["note"]) == (admin.keys["admin"].split("_")[2], "expected")
    assert alert["acknowledged"] >= alert["since"]
    listed = admin.send("admin", "GET", "/admin/studies/ads/monitors").json()
    assert [(one["webhook"], one["raised"]) for one in listed["monitors"]] == [("http://127.0.0.1:1/", 1)]
    assert listed["alerts"] == [alert]
    assert "webhook" not in json.dumps(admin.read("/studies/ads"))
    assert admin.send("admin", "DELETE", "/admin/studies/ads/monitors/1").json() == {"id": 1, "status": "removed"}
    assert admin.send("admin", "DELETE", "/admin/studies/ads/monitors/1").status_code == 404
    assert admin.send("admin", "GET", "/admin/studies/ads/monitors").json()["monitors"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "ads/monitors", {"metric": "mood", "threshold": 1}, 422, "metric: wanted one of shortfall"),
        ("POST", "ads/monitors", {"metric": "reward"}, 422, "threshold: wanted a number, got None"),
        ("POST", "ads/monitors", {**REWARD, "window": "2"}, 422, "window: wanted a whole number, got '2'"),
        ("POST", "ads/monitors", {**REWARD, "webhook": "ftp://x"}, 422, "webhook: wanted an address"),
        ("POST", "none/monitors", REWARD, 404, "no study is named 'none'"),
        ("DELETE", "ads/monitors/7", None, 404, "monitor: wanted one of []"),
        ("DELETE", "ads/monitors/x", None, 422, "id: "),
        ("POST", "ads/alerts/7/acknowledge", None, 404, "alert: wanted the number of an alert of this study, got 7"),
    ],
)
def test_what_cannot_be_watched_or_acknowledged_is_refused(admin, method, path, body, status, words):
    given = {} if body is None else {"json": body}
    answer = admin.send("admin", method, f"/admin/studies/{path}", **given)
    assert (answer.status_code, words in answer.json()["error"]["message"]) == (status, True), answer.text


def test_another_studys_alert_is_not_acknowledged(admin):
    admin.create("other")
    admin.send("admin", "POST", "/admin/studies/ads/monitors", json=REWARD)
    poor(admin)
    assert admin.send("admin", "POST", "/admin/studies/other/alerts/1/acknowledge").status_code == 404
    assert admin.send("admin", "DELETE", "/admin/studies/other/monitors/1").status_code == 404
    assert admin.send("admin", "POST", "/admin/studies/ads/alerts/1/acknowledge").status_code == 200


SEEN = {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1}
SHOWN = [[0.25, 0.5], [0.75, 1.0]]


def test_a_subject_is_asked_about_and_erased(admin):
    admin.create("seen", SEEN)
    ids = [admin.ask("seen", json={"contexts": SHOWN, "subject": name}).json()["id"] for name in ("ann", "bob")]
    batch = admin.ask("seen", json={"batch": [{"contexts": SHOWN, "subject": name} for name in ("ann", "cid")]})
    assert len(batch.json()["decisions"]) == 2
    assert admin.read(f"/studies/seen/decisions/{ids[0]}")["given"] == {"contexts": SHOWN}
    answer = admin.send("admin", "POST", "/admin/studies/seen/erase", json={"subject": "ann"})
    assert answer.json() == {"subjects": 1, "forgotten": 2, "purged": True}
    assert admin.read(f"/studies/seen/decisions/{ids[0]}")["given"] == {"erased": True}
    assert admin.read(f"/studies/seen/decisions/{ids[1]}")["given"] == {"contexts": SHOWN}
    assert admin.ask("seen", json={"contexts": SHOWN, "subject": "ann"}).status_code == 200
    audit = admin.read("/studies/seen/audit")
    assert (audit["ok"], "were erased" in audit["notes"][0]) == (True, True)
    answer = admin.send("admin", "POST", "/admin/studies/seen/erase", json={"older_than": "1s"})
    assert answer.json() == {"subjects": 3, "forgotten": 3, "purged": True}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "subject, older_than: wanted one of them"),
        ({"subject": "a", "older_than": 1}, "subject, older_than: wanted one of them"),
        ({"older_than": "soon"}, "older_than: wanted a timedelta, seconds"),
        ({"subject": 7}, "subject: wanted a text of up to 200 printable characters, got 7"),
    ],
)
def test_what_cannot_be_erased_is_refused(admin, body, words):
    answer = admin.send("admin", "POST", "/admin/studies/ads/erase", json=body)
    assert (answer.status_code, words in answer.json()["error"]["message"]) == (422, True), answer.text


def test_retention_erases_once_an_hour_what_is_too_old(monkeypatch):
    study = Study.create(":memory:", LinearThompson({"a": "F", "b": "M"}, seed=1), name="seen")
    today, now, log = subjects.now(), [0.0], []
    for age in (40, 0):
        monkeypatch.setattr(subjects, "now", lambda age=age: today - age * subjects.DAY)
        study.tell(study.ask(SHOWN, subject="ann"), 1.0)
    retention = Retention(
        30, SimpleNamespace(info=lambda event, **told: log.append((event, told))), clock=lambda: now[0]
    )
    retention(study)
    assert [list(study.record(ticket).given) for ticket in (1, 2)] == [["erased"], ["contexts"]]
    assert log == [("erased", {"study": "seen", "subjects": 1, "forgotten": 0, "purged": True})]
    monkeypatch.setattr(subjects, "now", lambda: today - 40 * subjects.DAY)
    study.ask(SHOWN, subject="ann")
    for second, left in ((3599.0, ["contexts"]), (3600.0, ["erased"])):
        now[0] = second
        retention(study)
        assert list(study.record(3).given) == left
    many = Study.create(":memory:", UCB1(arms=2), workers=2)
    retention(many)


def test_prometheus_reads_the_alerts(admin):
    admin.send("admin", "POST", "/admin/studies/ads/monitors", json=REWARD)
    admin.send("admin", "POST", "/admin/studies/ads/monitors", json={"metric": "shortfall", "threshold": 9})
    poor(admin)
    found = read(admin.send("read", "GET", "/metrics").text)
    for name, value in (("active", 1), ("acknowledged", 0)):
        assert found[f"evenhand_alert_{name}", "1", "ads", "reward"] == value
        assert found[f"evenhand_alert_{name}", "2", "ads", "shortfall"] == 0
    assert found["evenhand_alerts_raised_total", "1", "ads", "reward"] == 1
    assert found["evenhand_alerts_raised_total", "2", "ads", "shortfall"] == 0
    admin.send("admin", "POST", "/admin/studies/ads/alerts/1/acknowledge")
    found = read(admin.send("read", "GET", "/metrics").text)
    assert found["evenhand_alert_acknowledged", "1", "ads", "reward"] == 1


def test_the_metrics_name_few_monitors(admin, monkeypatch):
    monkeypatch.setattr("evenhand.service.metrics.MONITORS", 2)
    for _ in range(4):
        admin.send("admin", "POST", "/admin/studies/ads/monitors", json=REWARD)
    found = read(admin.send("read", "GET", "/metrics").text)
    assert [key[1] for key in found if key[0] == "evenhand_alert_active"] == ["1", "2"]


def test_a_webhooks_messages_are_signed_as_standard_webhooks_says(admin):
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(500 if len(got) == 1 else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    receiver = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=receiver.serve_forever)
    thread.start()
    webhook = f"http://127.0.0.1:{receiver.server_port}/"
    secret = admin.send("admin", "POST", "/admin/studies/ads/monitors", json={**REWARD, "webhook": webhook}).json()[
        "secret"
    ]
    study, now = poor(admin), [0.0]
    notifier = Notifier(None, clock=lambda: now[0])
    for _ in range(2):
        notifier(study)
        notifier.wait()
        now[0] += 10
    receiver.shutdown()
    thread.join()
    receiver.server_close()
    assert len(got) == 2
    for headers, body in got:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        mark = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{mark}"
        assert headers["Content-Type"] == "application/json"
        assert json.loads(body)["state"] == "raised"
    assert got[0][0]["webhook-id"] == got[1][0]["webhook-id"] == "ads.1.raised"


def test_administration_has_a_document_of_its_own(admin):
    document = admin.http.get("/admin/openapi.json").json()
    described = {(path, method.upper()) for path, item in document["paths"].items() for method in item}
    assert described == set(KEPT)
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    assert {operation["x-role"] for operation in operations} == {"admin"}
    assert all(operation["summary"] and operation["description"] for operation in operations)
    assert [tag["name"] for tag in document["tags"]] == ["admin"]
    public = admin.http.get("/openapi.json").json()
    assert not any(path.startswith("/admin") for path in public["paths"])
    assert not any(endpoint.path.startswith("/admin") for endpoint in ENDPOINTS)
    assert [tag["name"] for tag in public["tags"]] == ["decide", "report", "read", "service"]
