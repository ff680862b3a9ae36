"""Everything that is refused over HTTP: its status, its name, and that it changes nothing."""

from __future__ import annotations

import json

import pytest

from evenhand.errors import ArgumentError, ReplayError, StoreError, Wording, expected
from evenhand.service.errors import refusal_of
from tests.cli.test_studies_talk import SPEC
from tests.service.conftest import POLICY
from tests.service.test_changing import PACE

JSON = {"Content-Type": "application/json"}
SAID = {"name", "message", "repeatable"}
PARTS = {"argument", "expected", "got", "hint"}


@pytest.fixture(scope="module")
def one(asked):
    served = asked
    served.create("other")
    served.create("pace", PACE)
    served.create("seen", {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1})
    served.create("alike", {"policy": "similarity/lipschitz-ucb", "dimension": 1, "seed": 1})
    people = {"contexts": [[0.1], [0.2], [0.3]]}
    while (pair := served.ask("alike", json=people).json())["index"] < 0:
        pass
    told, forgotten = (served.ask().json()["ticket"] for _ in range(2))
    served.tell({"ticket": told, "reward": 1.0})
    served.send("report", "POST", "/studies/ads/forget", json={"ticket": forgotten})
    served.tickets = {
        "TOLD": told,
        "FORGOTTEN": forgotten,
        "OPEN": served.ticket,
        "FORGED": served.ticket[:-1] + ("0" if served.ticket[-1] != "0" else "1"),
        "FUTURE": served.app.state.sessions.open("ads").study.sign(1000),
        "FOREIGN": served.ask("other").json()["ticket"],
        "PAIR": pair["ticket"],
    }
    return served


def refused(served, role, path, **given):
    """Send what is to be refused; return status and name, and see that nothing has changed."""
    before = served.read("/studies"), served.read("/studies/ads")
    answer = served.send(role, "POST", path, **given)
    body = answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) in (SAID, SAID | PARTS)
    assert answer.headers["content-type"] == "application/json"
    assert (served.read("/studies"), served.read("/studies/ads")) == before
    return answer.status_code, body["error"]["name"], body["error"]["message"]


ONE = {"0": 0.1}
HUGE = {"columns": {f"c{i}": list(range(999)) for i in range(3)}}
CASES = [
    ("ads/tell", {"ticket": "FORGED", "reward": 0.0}, 409, "ForeignTicketError", "was not signed"),
    ("ads/tell", {"ticket": "FUTURE", "reward": 0.0}, 404, "UnknownTicketError", "ticket 1000 was never handed out"),
    ("ads/tell", {"ticket": "FORGOTTEN", "reward": 0.0}, 409, "ClosedTicketError", "was forgotten before"),
    ("ads/tell", {"ticket": "TOLD", "reward": 0.0}, 409, "ContradictionError", "was told before"),
    ("ads/forget", {"ticket": "FOREIGN"}, 409, "ForeignTicketError", "belongs to the study 'other'"),
    ("ads/tell", {"ticket": 3, "reward": 1.0}, 422, "TicketError", "numbers can be guessed"),
    ("ads/tell", {"ticket": None, "reward": 1.0}, 422, "TicketError", "expected a signed ticket"),
    ("ads/tell", {"ticket": "OPEN", "reward": None}, 422, "ArgumentError", "reward: expected"),
    ("ads/tell", {"ticket": "OPEN", "reward": 2.0}, 422, "RewardError", "scale rewards"),
    ("ads/tell", {"ticket": "OPEN", "reward": {"$float": "nan"}}, 422, "ArgumentError", "reward: expected numbers"),
    ("ads/tell", {"ticket": "OPEN", "reward": [[[[1.0]]]]}, 422, "ArgumentError", "lists of them"),
    ("ads/tell", {"ticket": "OPEN", "reward": 1.0, "prize": 1.0}, 422, "ArgumentError", "got 'prize'"),
    ("ads/tell", {"ticket": "OPEN", "reward": 1.0, "violations": []}, 422, "ArgumentError", "violations"),
    ("ads/tell", {"ticket": "OPEN", "reward": 1.0, "batch": []}, 422, "ArgumentError", "batch alone"),
    *(
        ("alike/tell", {"ticket": "PAIR", "reward": 1.0, **told}, 422, name, min(told))
        for told, name in (
            ({"reward": "1.0"}, "RewardError"),
            ({"reward": True}, "ArgumentError"),
            ({"violations": [[0, 3]]}, "VerdictError"),
            ({"violations": True}, "VerdictError"),
            ({"violations": [[0, True]]}, "ArgumentError"),
            ({"violations": {"0": 1}}, "ArgumentError"),
            ({"violations": [[0, 1]] * 20_001}, "ArgumentError"),
            ({"acceptable": True}, "ArgumentError"),
        )
    ),
    ("ads/ask", {"contexts": [[1.0], [2.0]]}, 422, "ContextError", ""),
    ("ads/ask", [], 422, "ArgumentError", ""),
    ("ads/ask", {"count": True}, 422, "ArgumentError", ""),
    ("ads/ask", {"number": 3}, 422, "ArgumentError", ""),
    ("ads/ask", {"batch": [{}], "count": 3}, 422, "ArgumentError", ""),
    ("seen/ask", {"contexts": {"$table": {}}}, 422, "ContextError", ""),
    ("seen/ask", {"contexts": [[1.0], [2.0]], "groups": 3}, 422, "ArgumentError", ""),
    ("seen/ask", {"contexts": [[1.0], [2.0]], "groups": [True, "F"]}, 422, "UnknownArmError", ""),
    ("alike/ask", {"contexts": [[0.1]] * 201}, 422, "ArgumentError", ""),
    ("", {"name": "a/b", "policy": POLICY}, 422, "ArgumentError", ""),
    ("", {"name": "new", "policy": POLICY | {"shares": {"a": 0.9, "b": 0.9}}}, 422, "SharesError", ""),
    ("", {"name": "new", "policy": {"policy": "learners/ucb1", "arms": 10**9}}, 422, "ArgumentError", ""),
    ("", {"name": "new", "policy": POLICY, "expire_after": "soon"}, 422, "ArgumentError", ""),
    ("", {"name": "new", "policy": POLICY, "expire_after": 9, "expire_reward": 2}, 422, "RewardError", "in [0, 1]"),
    ("", {"name": "ads", "policy": POLICY}, 409, "ConflictError", "study 'ads' already exists; choose another name"),
    ("none/ask", {}, 404, "UnknownStudyError", "no study is named 'none'; GET /studies lists all studies"),
    *(
        ("", {"name": "new", "policy": policy}, 422, "ArgumentError", words)
        for policy, words in (
            (SPEC | {"encoder": 3}, "encoder: expected an object with columns, unseen"),
            (SPEC | {"encoder": HUGE}, "encoder: arms by the square"),
            ({"policy": "sampling/uniform", "groups": 2, "encoder": {"columns": {"x": None}}}, "got 'encoder'"),
        )
    ),
    ("pace/ask", {"available": ["z"]}, 422, "ArgumentError", "available"),
    ("pace/ask", {"available": 1.5}, 422, "ArgumentError", "available"),
    ("pace/ask", {"segment": "mobile"}, 422, "ArgumentError", "segment"),
    ("pace/retire", {"arm": "z"}, 422, "UnknownArmError", "arm"),
    ("pace/add", {"arm": "d", "share": 0.9}, 422, "SharesError", "share"),
    ("pace/change", {"shares": "much"}, 422, "ArgumentError", "shares"),
    ("pace/change", {}, 422, "ArgumentError", "shares: expected either shares or promise, got 'neither'"),
    ("pace/change", {"shares": ONE, "promise": {"shares": ONE}}, 422, "ArgumentError", "or promise, got 'both'"),
    ("pace/change", {"promise": "much"}, 422, "ArgumentError", "promise"),
    ("pace/change", {"promise": {"share": ONE}}, 422, "SharesError", "promise"),
    ("a%00b/ask", {}, 404, "UnknownStudyError", ""),
    ("%F0%28/ask", {}, 404, "UnknownStudyError", ""),
]


@pytest.mark.parametrize(("path", "body", "status", "name", "said"), CASES, ids=range(len(CASES)))
def test_what_cannot_be_done_is_refused_by_name_and_changes_nothing(one, path, body, status, name, said):
    role = "report" if path.endswith(("tell", "forget")) else "decide"
    if role == "report":
        body = body | {"ticket": one.tickets.get(body["ticket"], body["ticket"])}
    found = refused(one, role, f"/studies/{path}".rstrip("/"), json=body)
    assert found[:2] == (status, name)
    assert said in found[2]


def test_a_number_beyond_floating_point_is_refused(one):
    for number in ("1e999", "9" * 400):
        content = f'{{"contexts": [[{number}], [0.0]]}}'
        assert refused(one, "decide", "/studies/alike/ask", content=content, headers=JSON)[0] in (400, 422)


@pytest.mark.parametrize(
    "path",
    ["", "/series", "/decisions", "/decisions/1", "/forced", "/receipt?key=k", "/history", "/audit"],
    ids=lambda path: path or "state",
)
def test_an_unknown_study_has_nothing_to_read(one, path):
    answer = one.send("read", "GET", f"/studies/none{path}")
    assert (answer.status_code, answer.json()["error"]["name"]) == (404, "UnknownStudyError")


@pytest.mark.parametrize("content", [b"{", b"\xff", b"{'a': 1}", b'{"ticket": NaN}', b"", b"[" * 100_000])
def test_what_is_not_json_is_refused(one, content):
    assert refused(one, "report", "/studies/ads/tell", content=content, headers=JSON)[:2] == (400, "BadRequestError")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
def test_another_content_type_is_refused(one, kind):
    found = refused(one, "decide", "/studies/ads/ask", content=b"{}", headers={"Content-Type": kind})
    assert found[:2] == (415, "ContentTypeError")
    assert "application/json" in found[2]


@pytest.mark.parametrize("key", ["", "x" * 101, "a\tb", "\u00fc".encode()])
def test_an_idempotency_key_that_is_none_is_refused(one, key):
    found = refused(one, "decide", "/studies/ads/ask", json={}, headers={"Idempotency-Key": key})
    assert found[:2] == (422, "ArgumentError")


@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key"])
def test_a_header_that_can_be_there_once_is_refused_twice(one, name):
    key = f"Bearer {one.keys['decide']}"
    headers = [("Authorization", key), ("Idempotency-Key", "a"), (name, key if name == "Authorization" else "b")]
    before = one.read("/studies/ads")
    answer = one.http.post("/studies/ads/ask", json={}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["name"]) == (400, "BadRequestError")
    assert answer.json()["error"]["message"] == f"expected the header {name} once, got it 2 times"
    assert one.read("/studies/ads") == before


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/decisions/0", 422),
        ("/decisions/x", 422),
        ("/decisions/99999", 404),
        ("/decisions/" + "9" * 30, 422),
        ("/decisions?limit=0", 422),
        ("/decisions?before=x", 422),
        ("/series?points=1", 422),
        ("/forced?limit=1001", 422),
        ("/receipt?key=none", 404),
        ("/receipt?ticket=ads.1.0123456789abcdef", 409),
        ("/history?format=xls", 422),
        ("/decisions?order=random", 422),
    ],
)
def test_what_cannot_be_read_is_refused(one, path, status):
    answer = one.send("read", "GET", "/studies/ads" + path)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == (SAID | PARTS if status == 422 else SAID)


def test_a_field_that_a_row_of_a_batch_does_not_take_is_refused_with_those_it_takes(one):
    said = one.ask(json={"batch": [{}, {"available": ["a"], "bogus": 1}]}).json()["error"]
    assert (said["argument"], said["expected"].split(", ")[0], said["got"]) == ("batch[1]", "contexts", "bogus")


def test_a_store_that_is_gone_is_503(one, monkeypatch):
    def gone(*_):
        raise StoreError("postgresql://somebody@db.example/ads: the store did not do it: connection refused")

    monkeypatch.setattr(one.app.state.sessions.open("ads").study, "run", gone)
    answer = one.ask()
    assert (answer.status_code, answer.json()["error"]["name"]) == (503, "StoreError")
    assert answer.headers["Retry-After"] == "1"
    monkeypatch.setattr(one.store, "names", gone)
    health = one.http.get("/readyz")
    assert health.status_code == 503
    assert answer.json()["error"]["repeatable"] is True
    for refusal in (answer, health):
        assert refusal.json()["error"]["message"] == "the store cannot be reached; try again"
    logged = [line["why"] for line in one.lines() if line["event"] == "store"]
    assert len(logged) == 2
    assert all("connection refused" in why for why in logged)


def test_a_defect_shows_nothing_of_itself_but_is_logged(one, monkeypatch):
    def broken(*_):
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(one.app.state.sessions.open("ads").study, "run", broken)
    answer = one.ask()
    assert (answer.status_code, answer.json()["error"]["name"]) == (500, "DefectError")
    assert "42" not in answer.text
    (logged,) = [line for line in one.lines() if line["event"] == "defect"]
    assert logged["id"] == answer.headers["X-Request-Id"]
    assert "the secret is 42" in logged["exception"]


def test_every_answer_forbids_what_browsers_might_do_with_it(one):
    for answer in (one.http.get("/readyz"), one.http.get("/docs"), one.ask(), one.http.get("/nothing")):
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_a_log_that_does_not_replay_says_so():
    assert (refusal_of(ReplayError("entry 3")).status, refusal_of(ReplayError("entry 3")).message) == (500, "entry 3")


@pytest.mark.parametrize(
    ("got", "sent"),
    [
        *((7.0, 7.0), ({"a": [1, None]}, {"a": [1, None]}), (2**60, str(2**60)), ([float("inf")], [None])),
        *(((1, "b"), [1, "b"]), ([1] * 80, f"{[1] * 80}"[:77] + "..."), (ReplayError("x"), "ReplayError('x')")),
        pytest.param(10**5000, "a int too long to print", id="huge"),
    ],
)
def test_what_a_refusal_says_of_an_argument_stands_beside_its_message(got, sent):
    error = ArgumentError(expected("reward", Wording("a number for each of ", ["a", "b"]), got, "send one"))
    body = json.loads(refusal_of(error).response().body)["error"]
    said = {"name": "ArgumentError", "message": str(error), "repeatable": False}
    parts = {"argument": "reward", "expected": "a number for each of ['a', 'b']", "got": sent, "hint": "send one"}
    assert body == said | parts
    bare = json.loads(refusal_of(ArgumentError("no")).response().body)["error"]
    assert bare == said | {"message": "no"}


def test_a_password_is_masked_in_every_part_of_a_refusal():
    address = "postgresql://me:hunter2@host/db"
    parts = vars(ArgumentError(expected(address, Wording(address, [address]), {address: [address]}, address)).refusal)
    assert "hunter2" not in str([parts[name] for name in ("name", "expected", "got", "hint")])
