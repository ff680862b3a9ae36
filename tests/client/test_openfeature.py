"""The provider of flags through the official SDK, against a running service."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from threading import Event
from types import SimpleNamespace

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

from evenhand.client import Client, openfeature
from evenhand.client.openfeature import EvenhandProvider, _first
from evenhand.errors import ArgumentError, ServiceError

LATE = 60
ANN, BOB = EvaluationContext("ann"), EvaluationContext("bob")


class Flags:
    """A study of these arms as a flag, its provider, and a client of the SDK."""

    def __init__(self, client, *arms, expire_after=None, **settings):
        shares = dict.fromkeys(arms, 0.2)
        policy = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "shares": shares, "seed": 1}
        self.flag = f"flag-{uuid.uuid4().hex}"
        self.study = client.create(self.flag, policy, expire_after=expire_after)
        self.provider = EvenhandProvider(client, **settings)
        api.set_provider(self.provider, self.flag)
        self.client = api.get_client(self.flag)


@pytest.fixture
def flags(served):
    with Client(served.url, key=served.key) as client:
        yield lambda *arms, **settings: Flags(client, *arms, **settings)
        api.shutdown()
        api.clear_providers()


def test_a_flag_is_a_decision_of_the_study_of_its_name(flags):
    one = flags("red", "blue")
    details = one.client.get_string_details(one.flag, "none", ANN)
    assert details.value == details.variant
    assert details.value in ("red", "blue")
    assert details.reason == Reason.SPLIT
    assert details.flag_metadata["ticket"].startswith(f"{one.flag}.1.")
    assert details.flag_metadata["reason"]
    assert one.study.record(1)["status"] == "open"


def test_scores_among_the_attributes_rank_the_variants(flags):
    one = flags("red", "blue")
    policy = {"policy": "quotas/deadline-learn", "learner": "learners/scores", "shares": {"red": 0.2, "blue": 0}}
    one.provider._client.create("scored", policy)
    for name, high in (("ann", "blue"), ("bob", "red")):
        shown = EvaluationContext(name, {"scores": {"red": 0.1, "blue": 0.1, high: 0.3}})
        assert one.client.get_string_details("scored", "none", shown).value == high


def test_a_drawn_arm_has_its_propensity(served, flags):
    one = flags("red", "blue")
    policy = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "shares": {"red": 0.3, "blue": 0.2}}
    study = one.provider._client.create("lottery", {**policy, "lottery": 0.5, "seed": 1})
    details = one.client.get_string_details("lottery", "none", ANN)
    row = study.record(1)
    assert details.flag_metadata["propensity"] == pytest.approx(row["probabilities"][row["index"]])


def test_a_tracking_event_is_the_reward_and_what_cannot_be_told_is_logged(flags, caplog):
    one = flags("red", "blue")
    ticket = one.client.get_string_details(one.flag, "none", ANN).flag_metadata["ticket"]
    one.client.track(one.flag, ANN, TrackingEventDetails(0.5))
    one.client.track(one.flag, BOB, TrackingEventDetails(1.0))
    one.client.track("unknown", ANN)
    one.client.track("unknown")
    one.provider.shutdown()
    one.client.track(one.flag, ANN, TrackingEventDetails(0.5))
    one.client.track(one.flag, ANN, TrackingEventDetails(1.0))
    one.client.track("anything", None, TrackingEventDetails(0.5, {"ticket": ticket}))
    one.client.track("anything", None, TrackingEventDetails(0.5, {"ticket": "never.1.00"}))
    one.provider.shutdown()
    state = one.study.state()
    assert (state["told"], state["reward"]["mean"]) == (1, 0.5)
    assert [record.levelname for record in caplog.records if "evenhand" in record.name] == ["WARNING"] * 5
    assert "was told before: reward 0.5, not reward 1.0" in caplog.text
    brief = flags("red", "blue", expire_after=1e-6)
    brief.client.get_string_value(brief.flag, "none", ANN)
    brief.client.track(brief.flag, ANN)
    brief.provider.shutdown()
    assert "ticket 1 expired at" in caplog.text


def test_a_service_is_not_asked_again_at_once_for_a_flag_that_it_does_not_know(flags, caplog, monkeypatch):
    one, asked = flags("red", "blue", sticky=True), []
    monkeypatch.setattr(openfeature, "_first", lambda study, key: asked.append(study.name) or _first(study, key))
    for later in (0, 0, 59, 61):
        monkeypatch.setattr(openfeature, "monotonic", lambda later=later: 1000.0 + later)
        one.client.track(f"view-of-{one.flag}", ANN)
        one.provider.shutdown()
    assert asked == [f"view-of-{one.flag}"] * 2
    assert [record.levelname for record in caplog.records if "evenhand" in record.name] == ["WARNING"] * 4


@pytest.mark.parametrize(("remember", "rewarded"), [(9, [4, 3]), (1, [4])])
def test_the_last_decision_for_a_targeting_key_is_rewarded_if_it_is_remembered(flags, remember, rewarded):
    one = flags("red", "blue", remember=remember)
    for visitor in (ANN, ANN, ANN, BOB, None):
        one.client.get_string_value(one.flag, "none", visitor)
    for visitor in (ANN, BOB, None):
        one.client.track(one.flag, visitor)
    one.provider.shutdown()
    closed = one.study.decisions(open=False)["decisions"]
    assert [(row["id"], row["reward"]) for row in closed] == [(id, 1.0) for id in rewarded]


def test_sticky_flags_give_a_targeting_key_the_same_decision(flags):
    one = flags("red", "blue", sticky=True)
    first = one.client.get_string_details(one.flag, "none", ANN)
    assert one.client.get_string_details(one.flag, "none", ANN) == first
    assert one.study.record(1)["key"] == "openfeature/ann"
    one.client.get_string_details(one.flag, "none", EvaluationContext("Frau Müller"))
    digest = "b53b9b67f20f0bb7b8c0c624d604604cdd3bfd6d196cbb72c0e7e88853fa7bec"
    assert one.study.record(2)["key"] == f"openfeature/{digest}"
    missing = one.client.get_string_details(one.flag, "none")
    assert (missing.value, missing.error_code) == ("none", ErrorCode.TARGETING_KEY_MISSING)


CONTEXTUAL = {"policy": "groups/linear-thompson", "groups": {"red": "x", "blue": "x"}, "seed": 1}


def details(client, flag, shown):
    return client.get_string_details(flag, "none", EvaluationContext("ann", shown))


@pytest.mark.parametrize(
    "shown",
    [
        {"contexts": "nonsense"},
        {"contexts": [[9.0, 1.0], [9.0, 0.0]], "groups": {"red": "y", "blue": "x"}, "available": ["green"]},
        {},
    ],
    ids=",".join,
)
def test_a_sticky_visitor_gets_her_first_decision_in_every_other_context(flags, shown):
    one = flags("red", "blue", sticky=True)
    study = one.provider._client.create(f"{one.flag}-shown", CONTEXTUAL)
    first = details(one.client, study.name, {"contexts": [[9.0, 1.0], [9.0, 0.0]]})
    assert first.error_code is None
    assert details(one.client, study.name, shown) == first
    assert study.state()["decisions"] == 1


@pytest.mark.parametrize("failure", [KeyError("hour"), ArgumentError("no hour"), ZeroDivisionError()], ids=repr)
def test_a_sticky_visitor_gets_her_first_decision_where_what_the_round_shows_cannot_be_observed(flags, failure):
    def observe(flag, seen):
        if "hour" not in seen:
            raise failure
        return {}

    one = flags("red", "blue", sticky=True, observe=observe)
    first = details(one.client, one.flag, {"hour": 9})
    assert first.error_code is None
    assert details(one.client, one.flag, {}) == first
    new = one.client.get_string_details(one.flag, "none", EvaluationContext("bob"))
    assert (new.value, one.study.state()["decisions"]) == ("none", 1)
    assert new.error_code in (ErrorCode.GENERAL, ErrorCode.INVALID_CONTEXT)


def test_booleans_numbers_and_objects(flags):
    dark, size = flags("on", "off"), flags("10", "20")
    boolean = dark.client.get_boolean_details(dark.flag, False)
    assert boolean.value is (boolean.variant == "on")
    assert boolean.error_code is None
    assert size.client.get_integer_value(size.flag, 0) in (10, 20)
    assert size.client.get_float_value(size.flag, 0.0) in (10.0, 20.0)
    assert size.client.get_object_value(size.flag, {})["arm"] in ("10", "20")
    for read in (dark.client.get_integer_details, dark.client.get_float_details):
        mismatch = read(dark.flag, 7)
        assert (mismatch.value, mismatch.error_code) == (7, ErrorCode.TYPE_MISMATCH)
    assert size.client.get_boolean_details(size.flag, True).error_code == ErrorCode.TYPE_MISMATCH
    assert [dark.study.record(id)["status"] for id in (1, 2, 3)] == ["open", "forgotten", "forgotten"]


def test_a_sticky_decision_of_another_type_stays_open_for_those_who_use_it(flags):
    one = flags("red", "blue", sticky=True)
    value = one.client.get_string_value(one.flag, "none", ANN)
    assert one.client.get_boolean_details(one.flag, True, ANN).error_code == ErrorCode.TYPE_MISMATCH
    assert one.client.get_integer_details(one.flag, 7, BOB).error_code == ErrorCode.TYPE_MISMATCH
    assert [one.study.record(id)["status"] for id in (1, 2)] == ["open", "open"]
    assert one.client.get_string_value(one.flag, "none", ANN) == value
    one.client.track(one.flag, ANN)
    one.provider.shutdown()
    assert one.study.record(1)["reward"] == 1.0


def test_async(flags):
    one, dark, size = flags("red", "blue"), flags("on", "off"), flags("10", "20")

    async def read():
        assert await one.client.get_string_value_async(one.flag, "none", ANN) in ("red", "blue")
        assert (await dark.client.get_boolean_details_async(dark.flag, False)).error_code is None
        assert await size.client.get_integer_value_async(size.flag, 0) in (10, 20)
        assert await size.client.get_float_value_async(size.flag, 0.0) in (10.0, 20.0)
        assert "ticket" in await size.client.get_object_value_async(size.flag, {})

    asyncio.run(read())


def test_the_evaluation_context_says_what_the_round_shows(flags):
    one = flags("red", "blue", observe=lambda flag, seen: {"available": seen.get("colours")})
    plain = flags("red", "blue")
    for own, name in ((one, "colours"), (plain, "available")):
        context = EvaluationContext("ann", {name: ["blue"], "age": 17})
        assert own.client.get_string_value(own.flag, "none", context) == "blue"
    refused = plain.client.get_string_details(plain.flag, "none", EvaluationContext("ann", {"available": ["green"]}))
    assert (refused.value, refused.error_code) == ("none", ErrorCode.INVALID_CONTEXT)
    assert "green" in refused.error_message


def test_plain_attributes_are_the_features_that_the_policy_names(flags):
    plain, seen = flags("red", "blue"), {"age": 31, "country": "SE", "email": "ann@example.org", "when": object()}
    assert plain.client.get_string_value(plain.flag, "none", EvaluationContext("ann", seen)) != "none"
    encoder = {"columns": {"country": ["SE", "NO"], "age": None}}
    study = plain.provider._client.create("named", CONTEXTUAL | {"encoder": encoder})
    assert details(plain.client, "named", seen).error_code is None
    assert study.record(1)["given"] == {"contexts": {"country": "SE", "age": 31}}
    missing = details(plain.client, "named", {"age": 31})
    assert (missing.error_code, "country" in missing.error_message) == (ErrorCode.INVALID_CONTEXT, True)
    assert details(plain.client, "named", {"contexts": [[1, 0, 5.0]] * 2, "age": 31}).error_code is None
    assert study.record(2)["given"] == {"contexts": [[1, 0, 5.0]] * 2}


class AtOnce:
    """A thread that has ended when it was started."""

    def __init__(self, target, **_):
        self.start = target


def test_of_a_service_that_is_away_nobody_waits_for_an_answer(flags, monkeypatch):
    one, now, sent, there = flags("red", "blue", sticky=True), [1000.0], [], []

    def send(client, call, real=Client._send):
        sent.append(call.path)
        if not there:
            raise ServiceError("no answer")
        return real(client, call)

    monkeypatch.setattr(openfeature, "monotonic", lambda: now[0])
    monkeypatch.setattr(openfeature, "threading", SimpleNamespace(Thread=AtOnce))
    monkeypatch.setattr(Client, "_send", send)

    def asked(later):
        now[0] = 1000.0 + later
        return one.client.get_string_details(one.flag, "none", ANN).error_code

    assert [asked(0) for _ in range(3)] == [ErrorCode.GENERAL] * 3
    assert sent == [f"/studies/{one.flag}/ask"] * 3
    assert [asked(later) for later in (0, 1, 4.9, 5)] == [ErrorCode.GENERAL] * 4
    assert sent[3:] == ["/studies"] * 2
    there.append(True)
    assert [asked(later) for later in (6, 10, 10)] == [ErrorCode.GENERAL, ErrorCode.GENERAL, None]
    assert sent[5:] == ["/studies", f"/studies/{one.flag}/ask"]


def test_nobody_waits_for_the_look_whether_a_service_is_back(flags, monkeypatch):
    """The look hangs until the test ends it: who waited for it would find it ended."""
    one, looking, end, ended = flags("red", "blue"), Event(), Event(), []

    def send(client, call):
        if call.path == "/studies":
            looking.set()
            ended.append(end.wait(LATE))
        raise ServiceError("no answer")

    monkeypatch.setattr(Client, "_send", send)
    for _ in range(openfeature.FAILURES + 1):
        one.client.get_string_value(one.flag, "none", ANN)
    assert looking.wait(LATE)
    found = [one.client.get_string_details(one.flag, "none", ANN) for _ in range(20)]
    assert {(each.value, each.error_code) for each in found} == {("none", ErrorCode.GENERAL)}
    assert not ended
    end.set()


def test_what_fails_gives_the_default_and_says_why(flags):
    one = flags("red", "blue")
    unknown = one.client.get_string_details("nowhere", "none")
    assert (unknown.value, unknown.error_code) == ("none", ErrorCode.FLAG_NOT_FOUND)
    with Client("http://127.0.0.1:9", key="k", retries=0) as dead:
        api.set_provider(EvenhandProvider(dead), "dead")
        failed = api.get_client("dead").get_string_details("ads", "none")
    assert (failed.value, failed.error_code) == ("none", ErrorCode.GENERAL)
    assert "evenhand serve" in failed.error_message
    with pytest.raises(ArgumentError, match="client: expected"):
        EvenhandProvider("http://localhost:8000")
    with pytest.raises(ArgumentError, match="sticky: expected True or False, got 'no'"):
        EvenhandProvider(one.provider._client, sticky="no")


def test_a_missing_sdk_says_how_to_install_it():
    code = "import sys; sys.modules['openfeature'] = None; import evenhand.client.openfeature"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'evenhand[openfeature]'" in failed.stderr
