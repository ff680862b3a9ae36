"""Alerts reach the log once and a webhook until it takes them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from evenhand.quotas import FairUCB
from evenhand.service.notifications import Notifier as Posting
from evenhand.studies import Store, Study
from evenhand.studies.monitoring import monitors


class Notifier(Posting):
    """Notifier that return when everything is posted."""

    def __call__(self, study):
        super().__call__(study)
        self.wait()


class Log(list):
    """Keeps what is logged."""

    def warning(self, event, **fields):
        self.append((event, fields))


@pytest.fixture
def webhook():
    """A server that answers with the statuses it is given, and keeps what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            server.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(server.statuses.pop(0) if server.statuses else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.posted, server.statuses = [], []
    server.url = f"http://127.0.0.1:{server.server_port}/alert"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def poor(webhook=None):
    """A study whose rewards have collapsed, watched."""
    study = Study.create(Store.at(":memory:", create=True), FairUCB([0.3, 0.3], seed=1), name="ads")
    monitors.add(study, "reward", threshold=0.5, window=2, webhook=webhook)
    for _ in range(2):
        study.tell(study.ask(), 0.1)
    return study


def test_an_alert_is_logged_when_it_is_raised_and_when_it_is_cleared():
    study, log = poor(), Log()
    alarms = Notifier(log)
    alarms(study)
    alarms(study)
    assert [(event, told["state"], told["metric"], told["value"]) for event, told in log] == [
        ("alert", "raised", "reward", 0.1)
    ]
    for _ in range(2):
        study.tell(study.ask(), 1.0)
    alarms(study)
    assert [told["state"] for _, told in log] == ["raised", "cleared"]


def test_a_webhook_is_told_once_of_each_change(webhook):
    study = poor(webhook.url)
    alarms = Notifier(None)
    for _ in range(3):
        alarms(study)
    assert [(one["study"], one["state"], one["metric"]) for one in webhook.posted] == [("ads", "raised", "reward")]
    for _ in range(2):
        study.tell(study.ask(), 1.0)
    for _ in range(3):
        alarms(study)
    assert [one["state"] for one in webhook.posted] == ["raised", "cleared"]


def test_a_webhook_that_fails_is_tried_again_later_and_later(webhook):
    webhook.statuses = [500, 302]
    study, log, now = poor(webhook.url), Log(), [0.0]
    alarms = Notifier(log, clock=lambda: now[0])
    tried = []
    for second in (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 60.0):
        now[0] = second
        alarms(study)
        tried.append(len(webhook.posted))
    assert tried == [1, 1, 2, 2, 3, 3, 3]
    assert [event for event, _ in log] == ["alert", "webhook failed", "webhook failed"]


def test_a_webhook_that_is_not_there_holds_up_nothing():
    study, log = poor("http://127.0.0.1:1/nobody"), Log()
    Notifier(log)(study)
    assert log[-1] == ("webhook failed", {"study": "ads", "alert": 1, "why": "ConnectError"})
