"""The log: one JSON object a line, and nothing in it that must stay secret."""

from __future__ import annotations

import io
import json
import logging
import logging.config

from evenhand.service.logs import json_log, uvicorn_logging
from tests.waiting import until


def logged(served, answer):
    """The lines of the request that was answered so; its line is written once the answer is sent."""
    return until(lambda: [line for line in served.lines() if line.get("id") == answer.headers["X-Request-Id"]])


def test_each_request_is_a_line_with_what_is_asked_of_it(served):
    (line,) = logged(served, served.ask())
    assert line["duration_ms"] > 0
    assert line["time"].endswith("Z")
    said = {"event": "request", "level": "info", "method": "POST", "route": "/studies/{name}/ask", "status": 200}
    assert line.items() >= (said | {"key": served.keys["decide"].split("_")[2], "study": "ads"}).items()


def test_a_refusal_is_a_line_too(served):
    (line,) = logged(served, served.tell({"ticket": 1}))
    assert line["status"] == 422
    (line,) = logged(served, served.http.get("/studies", headers={"Authorization": "Bearer nobody"}))
    assert (line["status"], line["key"]) == (401, None)


def test_the_log_holds_no_keys_no_contexts_no_rewards_no_tickets(served):
    served.create("seen", {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1})
    ticket = served.ask("seen", json={"contexts": [[123.456], [654.321]]}).json()["ticket"]
    served.ask("seen", json={"contexts": [[123.456]]})
    served.tell({"ticket": ticket, "reward": 0.98765}, "seen")
    served.tell({"ticket": ticket, "reward": 0.56789}, "seen")
    served.http.get("/studies?key=sesame", headers={"Authorization": "Bearer eh_read_1_sesame"})
    until(lambda: [line["event"] for line in served.lines()].count("request") == 7)
    written = served.written.getvalue().decode()
    for secret in (*served.keys.values(), "sesame", "123.456", "654.321", "0.98765", "0.56789", ticket):
        assert secret not in written


def test_a_request_may_bring_its_own_id(served):
    assert served.ask(headers={"X-Request-Id": "shop-17.a"}).headers["X-Request-Id"] == "shop-17.a"
    forged = served.ask(headers={"X-Request-Id": 'a"} {"event": "request'}).headers["X-Request-Id"]
    assert len(forged) == 16


def test_quiet_logs_leave_requests_out():
    stream = io.BytesIO()
    log = json_log(stream, level="warning")
    log.info("request")
    log.warning("alert", study="ads")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "alert"


def test_the_messages_of_the_server_look_like_ours(capsys):
    logger = logging.getLogger("uvicorn")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    logging.config.dictConfig(uvicorn_logging())
    logging.getLogger("uvicorn.error").warning("something %s", "odd")
    logger.handlers, logger.level, logger.propagate = handlers, level, propagate
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["level"]) == ("something odd", "warning")
