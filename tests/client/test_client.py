"""The clients against a running service: what is asked, told and read; what is refused; what is repeated."""

from __future__ import annotations

import asyncio
import enum
import json
import random
import re
import runpy
import subprocess
import sys
from collections import deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand import errors
from evenhand.client import AsyncClient, Client, ServiceDecision
from evenhand.errors import (
    ArgumentError,
    ContextError,
    ContradictionError,
    EvenhandError,
    InFlightError,
    MissingExtraError,
    RewardError,
    ServiceError,
    StoreError,
    UnknownStudyError,
    UnknownTicketError,
)
from evenhand.sampling import LabelQueue, OptimisticSampler, annotations_table, progress_table
from evenhand.service.errors import LATER
from evenhand.studies import Study
from tests.sampling.labelled_items import LabelledItems

ROOT = Path(__file__).parents[2]
POLICY = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "shares": {"a": 0.2, "b": 0.3}, "seed": 1}


@pytest.fixture
def client(served):
    with Client(served.url, key=served.key, seed=1) as one:
        yield one


@pytest.fixture
def study(client):
    return client.study("ads")


def test_a_conversation(study):
    decision = study.ask()
    assert isinstance(decision, ServiceDecision)
    assert (decision.id, decision.round, decision.arms) == (1, 1, (decision.arm,))
    assert decision.reason
    assert decision.propensity is None
    assert study.tell(decision, 1.0) == "told"
    assert study.tell(decision.ticket, 1.0) == "already told"
    with pytest.raises(ContradictionError, match="told before"):
        study.tell(decision, 0.0)
    assert study.forget(study.ask()) == "forgotten"
    assert study.verify()["ok"] is True


class Who(str, enum.Enum):  # noqa: UP042 - Python's texts with names before StrEnum
    ANN, A, B = "! visitor 1 ~", "a", "b"


def test_members_of_a_class_of_texts_are_their_values(study):
    first = study.ask(key=Who.ANN, subject=Who.ANN)
    assert first.arm in list(Who)
    assert first == study.ask(key="! visitor 1 ~", subject="! visitor 1 ~")
    assert first != study.ask(key="x" * 100)
    assert study.verify()["ok"] is True


def test_batches(study):
    decisions = study.ask_many(3, key="night")
    assert study.ask_many(2, key="night") == decisions[:2]
    told = study.tell_many([(decisions[0], 1.0), (decisions[1].ticket, np.float64(0.5)), (decisions[2], 7.0)])
    assert told[:2] == ["told", "told"]
    assert isinstance(told[2], RewardError)
    assert study.tell_many([{"ticket": decisions[2], "reward": 1.0}]) == ["told"]
    assert study.tell_many([]) == []
    assert len(study.ask_many([{}, {"count": 2}])) == 3


def test_contexts_and_probabilities(client):
    policy = {"policy": "similarity/lipschitz-ucb", "dimension": 2, "seed": 1}
    study = client.create("loans", policy)
    decision = study.ask(contexts=np.array([[0.1, 0.2], [0.3, 0.1], [0.2, 0.2]]))
    assert decision.propensity == pytest.approx(decision.probabilities[decision.index])
    assert study.tell(decision, 0.5, acceptable=[[0, 1]], auditor="ann") == "told"
    assert study.record(1)["told"]["auditor"] == "ann"
    with pytest.raises(errors.ContextError):
        study.ask(contexts=[[0.1]])


def test_a_series_is_sent_by_its_labels(client):
    study = client.create("turned", POLICY | {"shares": pd.Series({"b": 0.2, "a": 0.7})})
    study.ask_many(20)
    assert study.shares()["a"] >= 0.65


DECIDED = {"ticket": "ads.1.00", "id": 1, "decisions": []}
ANSWERS = {"ask": DECIDED, "tell": {"status": "told"}, "change": {"dropped": []}}


def sent(method, *given, **named):
    """The body that a method of a study sends, to a service that is not there."""
    bodies = []

    def answer(request):
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json=ANSWERS[request.url.path.rpartition("/")[2]])

    with Client("http://nowhere", key="eh_both_1_x", transport=httpx.MockTransport(answer)) as client:
        getattr(client.study("ads"), method)(*given, **named)
    return bodies[0]


def error(name, message):
    return {"error": {"name": name, "message": message}}


GOOD = httpx.Response(200, json={"ticket": "ads.1.00", "id": 1, "arm": "a"})
SLOW = httpx.Response(429, json=error("TooFastError", "too many requests"), headers={"Retry-After": "3"})
DOWN = httpx.Response(503, json=error("StoreError", "the store is away"))


def several(*answers, urls="http://one http://two", **more):
    """A client of several addresses, whose requests are answered or fail in turn, and where these went."""
    asked, left = [], list(answers)

    def answer(request):
        asked.append(request.url.host)
        found = left.pop(0) if left else httpx.Response(200, json=DECIDED)
        if isinstance(found, Exception):
            raise found
        return found

    return Client(urls, key="eh_both_1_x", transport=httpx.MockTransport(answer), **more), asked


def test_of_several_addresses_one_that_answers_is_used(unhurried):
    client, asked = several(httpx.ConnectError("refused"), DOWN, urls=["http://one", "http://two", "http://three/"])
    for _ in range(2):
        client.study("ads").ask()
    assert (asked, unhurried) == (["one", "two", "three", "three"], [0.0, 0.0])
    assert repr(client) == "Client('http://three')"
    client, asked = several(*[httpx.ReadTimeout("late")] * 3, SLOW)
    client.study("ads").ask()
    assert asked == ["one", "two", "one", "two", "two"]
    assert [pause > 0 for pause in unhurried[2:]] == [False, True, False, True]
    assert unhurried[5] >= 3


def test_a_service_that_says_to_wait_for_hours_is_left_and_one_that_is_asked_too_fast_is_not(unhurried):
    hours = httpx.Response(429, json=error("TooFastError", "too many"), headers={"Retry-After": "3600"})
    for one in (hours, httpx.Response(503, json=error("StoreError", "-"), headers={"Retry-After": "3600"})):
        client, asked = several(one)
        client.study("ads").ask()
        assert (asked, client._connection.url) == (["one", "two"], "http://two")
    client, asked = several(hours, hours)
    with pytest.raises(ServiceError, match="too many"):
        client.study("ads").ask()
    assert asked == ["one", "two"]
    assert unhurried == [0.0, 0.0, 0.0]
    client, asked = several(*[httpx.Response(429, json=error("TooFastError", "too many"))] * 2, seed=1)
    client.study("ads").ask()
    assert asked == ["one", "one", "one"]
    assert all(0 < pause <= 0.1 for pause in unhurried[3:])


ROWS = re.findall(r"^\| (.+?) \|([^|]*)\| (yes|no)", (ROOT / "docs" / "clients.md").read_text(), re.MULTILINE)
"""The table of errors of docs/clients.md: their names, their statuses, and whether the call may be repeated."""


def test_the_table_of_errors_says_which_may_be_repeated(unhurried):
    table = {int(status): said == "yes" for _, statuses, said in ROWS for status in re.findall("[0-9]+", statuses)}
    assert len(table) == 14
    assert {status for status, again in table.items() if again} == {*LATER, 502, 504}
    for status, again in table.items():
        answer = httpx.Response(status, json=error("SomeError", "-"))
        client, asked = several(*[answer] * 9, retries=2)
        with pytest.raises(EvenhandError) as refused:
            client.study("ads").ask()
        assert refused.value.repeatable is again, status
        assert (len(asked) > 1) is (again and status != 408), status
        client, asked = several(answer, retries=0)
        with pytest.raises(EvenhandError) as refused:
            client.study("ads").retire("a")
        assert refused.value.repeatable is (status in (408, 429)), status


def test_the_classes_in_the_table_of_errors_say_the_same():
    named = [(re.findall("`([A-Za-z]+Error)`", words.split(":")[0]), said == "yes") for words, _, said in ROWS]
    classes = {name: again for names, again in named for name in names}
    known = {name: again for name, again in classes.items() if name in errors.__all__ and name != "ServiceError"}
    assert len(known) > 12
    assert known == {name: getattr(errors, name).repeatable for name in known}


def test_errors_say_whether_the_request_may_be_sent_again(unhurried):
    lost, unsent = httpx.ReadError("lost"), httpx.ConnectError("refused")
    wrong = {"name": "RewardError", "message": "-"}
    for method, answer, again in (("ask", lost, True), ("ask", unsent, True), ("retire", lost, False)):
        client, _ = several(answer, retries=0)
        with pytest.raises(EvenhandError) as refused:
            client.study("ads").ask() if method == "ask" else client.study("ads").retire("a")
        assert refused.value.repeatable is again
    batch = {"results": [{"error": wrong | {"repeatable": False}}, {"error": {**wrong, "repeatable": True}}]}
    client, _ = several(httpx.Response(200, json=batch))
    assert [one.repeatable for one in client.study("ads").tell_many([("t", 1), ("u", 1)])] == [False, True]
    client, _ = several(lost, unsent, retries=1)
    with pytest.raises(ServiceError, match="at http://one or http://two after 2 attempts"):
        client.study("ads").ask()


def test_a_request_keeps_the_labels_of_a_series_or_refuses_them():
    row, groups = [[1.0], [2.0]], {"a": "x", "b": "y"}
    assert sent("ask", row, groups) == sent("ask", contexts=row, groups=groups) == {"contexts": row, "groups": groups}
    by_arm, rows = pd.Series({"b": "m", "a": "f"}), pd.DataFrame({"x": [1, 2]}, index=["b", "a"])

    def shown(contexts=None, groups=None):
        return sent("ask", contexts=contexts, groups=groups)

    assert shown(groups=by_arm) == {"groups": {"b": "m", "a": "f"}}
    assert shown(groups=by_arm.reset_index(drop=True)) == {"groups": {"0": "m", "1": "f"}}
    assert shown(rows.reset_index(drop=True)) == {"contexts": [{"x": 1}, {"x": 2}]}
    assert shown(rows.iloc[:1]) == {"contexts": [{"x": 1}]}
    told = sent("tell", "ads.1.00", X=[[1], [2]], y=by_arm)
    assert (told["X"], told["y"]) == ([[1], [2]], ["m", "f"])
    with pytest.raises(ArgumentError, match=r"a Series that names a label twice, \['a', 'a'\]"):
        shown(groups=by_arm.set_axis(["a", "a"]))
    with pytest.raises(ContextError, match=r"contexts: expected rows in the order of the arms.*got \['b', 'a'\]"):
        shown(rows)


def asks(**given):
    (row,) = sent("ask_many", [given])["batch"]
    assert sent("ask", **given) == row
    return row


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"available": pd.Series(["b", "a"])}, {"available": ["b", "a"]}),
        ({"available": {"b": 1, "a": 2}.keys()}, {"available": ["b", "a"]}),
        ({"available": range(1, 3)}, {"available": [1, 2]}),
        ({"available": "b"}, {"available": ["b"]}),
        ({"available": pl.Series(["b"])}, {"available": ["b"]}),
        ({"available": deque(["b"])}, {"available": ["b"]}),
        ({"groups": pd.Series({1: "f", 0: "m"})}, {"groups": {"1": "f", "0": "m"}}),
        ({"groups": pd.Series(["m", "f"])}, {"groups": {"0": "m", "1": "f"}}),
        ({"groups": pl.Series(["m", "f"])}, {"groups": ["m", "f"]}),
        ({"groups": MappingProxyType({"a": "m"})}, {"groups": {"a": "m"}}),
        ({"contexts": pd.Series({"x": 1.5, "y": 2.0})}, {"contexts": {"x": 1.5, "y": 2.0}}),
        ({"contexts": pd.Series([1.5, 2.0])}, {"contexts": [1.5, 2.0]}),
        ({"contexts": [[Decimal("0.5"), Fraction(1, 4)]]}, {"contexts": [[0.5, 0.25]]}),
    ],
    ids=",".join,
)
def test_what_holds_several_values_is_sent_as_a_list_and_a_series_by_arm_as_an_object(given, wanted):
    assert asks(**given) == wanted


def test_fractions_and_decimals_are_numbers_in_rewards_and_exact_texts_in_shares():
    assert sent("tell", "ads.1.00", Decimal("0.5"))["reward"] == 0.5
    assert sent("change", {"a": Fraction(1, 3)})["shares"] == {"a": "1/3"}
    with pytest.raises(ArgumentError, match="cannot be written as JSON"):
        asks(contexts=[[Fraction(10**400)]])


def test_whom_contexts_are_about_can_be_erased(served, client):
    shown = [[0.25, 0.5], [0.75, 1.0]]
    study = client.create("seen", {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1})
    study.ask(contexts=shown, subject="ann")
    study.ask_many([{"contexts": shown, "subject": name} for name in ("bob", "ann")])
    own = Study.open(served.store, "seen")
    assert own.erase("ann")[:2] == (1, 2)
    given = [own.log.record(ticket).given for ticket in (1, 2, 3)]
    assert given == [{"erased": True}, {"contexts": shown}, {"erased": True}]


def test_items_and_their_labels(served, client):
    world = LabelledItems(items=60, seed=1)
    sampler = OptimisticSampler(["easy", "hard"], classes=[0, 1], seed=1)
    queue = LabelQueue(world.ids, world.features, groups=world.groups, sampler=sampler, seed=1)
    Study.create(served.store, queue, name="labels")
    study = client.study("labels")
    first, second = study.ask(annotator="ann"), study.ask(annotator="ann")
    assert first.fields["item"] != second.fields["item"]
    assert study.label(first, 1, annotator="ann") == "told"
    assert study.label(second, None, annotator="ann") == "told"
    with Study.open(served.store, "labels") as own:
        assert progress_table(own.policy).sum()[["labelled", "rejected"]].tolist() == [1, 1]
        assert annotations_table(own.policy)["annotator"].tolist() == ["ann"]
        assert own.verify().ok


def test_scores_rank_the_arms_on_offer(client):
    owed = {"policy": "quotas/deadline-learn", "learner": "learners/scores", "shares": {"a": 0.2, "b": 0, "c": 0}}
    study = client.create("scored", owed)
    assert study.ask(scores={"b": 0.3, "a": 0.3}).arm == "b"
    assert study.ask_many([{"scores": {"a": 0.1, "c": 0.2, "b": 0.1}}])[0].arm == "c"
    assert study.record(1)["given"]["available"] == ["b", "a"]
    with pytest.raises(ArgumentError, match="'d'"):
        study.ask(scores={"d": 1.0})


def test_promises_change(client):
    study = client.create("pace", POLICY)
    assert study.add("c", "1/10", cap=0.9) == 0
    assert study.state()["promise"]["caps"] == [{"label": "c", "cap": 0.9}]
    assert study.retire("a") is None
    assert study.change({"b": 0.5, "c": 0.1}) == {}
    assert study.change(promise={"shares": {"b": 0.25}, "caps": {"c": 0.5}, "tolerance": 1}) == {}
    assert {study.ask().arm for _ in range(10)} <= {"b", "c"}
    assert study.state()["promise"]["retired"] == ["a"]


def test_weights_are_told_with_the_reward_or_given_when_asking(client):
    owed = {"shares": {"a": "1/4", "b": 0}, "tolerance": 9000, "weight": "tokens", "largest": "4000.0"}
    described = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "seed": 1}
    late = client.create("late", described | {"promise": owed | {"in_flight": 1}})
    first, second = late.ask(), late.ask()
    with pytest.raises(InFlightError, match=r"at most 1 decisions whose tokens are not told.* got '2 open';.*1 since "):
        late.ask()
    assert late.tell(second, 1.0, weight=12.5) == late.tell_many([{"ticket": first, "reward": 0.0, "weight": "7"}])[0]
    assert late.tell(second, 1.0, weight="12.50") == "already told"
    state = late.state()
    assert {arm["label"]: arm["weight"] for arm in state["arms"]} == {first.arm: 7.0, second.arm: 12.5}
    assert state["promise"]["weight"] == "tokens"
    known = client.create("known", described | {"promise": owed})
    assert known.tell(known.ask(weight=900, key="k"), 1.0) == "told"
    with pytest.raises(ArgumentError, match=r"weight: expected tokens from 0 to 4000\.0"):
        known.ask(weight=-1)
    with pytest.raises(ArgumentError, match="weight"):
        known.ask(weight=[1])


SETS = [{"arms": ["a", "b"], "value": "1/2"}, {"arms": ["c"], "value": 0}]


@pytest.mark.parametrize("shares", [{"a": "1/2", "b": 0, "c": 0}, SETS], ids=["arms", "sets"])
def test_what_a_change_drops_is_what_the_policy_returns(client, shares):
    """By arm and by set, as `DeadlineLearn.change` does."""
    promise = {"shares": shares, "tolerance": 5}
    described = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "promise": promise, "seed": 1}
    study = client.create("lagging", described)
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), eh.Promise.from_dict(promise), seed=1)
    for _ in range(9):
        for one in (study, policy):
            decision = one.ask()
            one.tell(decision, float(decision.arm == "c"))
    nothing = {"shares": {"a": 0, "b": 0, "c": 0}, "tolerance": 5}
    expected = policy.change(eh.Promise.from_dict(nothing))
    assert expected
    assert study.change(promise=nothing) == expected


def test_what_is_read(client, study):
    decisions = study.ask_many(30)
    study.tell_many([(decision, 1.0) for decision in decisions])
    assert [row["name"] for row in client.studies()] == ["ads"]
    assert study.state()["decisions"] == 30
    assert sum(study.shares().values()) == pytest.approx(1.0)
    page = study.decisions(limit=20)
    assert len(page["decisions"]) == 20
    assert study.decisions(before=page["next"], open=False)["decisions"][0]["id"] == page["next"] - 1
    assert study.decisions(open=True)["decisions"] == []
    assert study.record(5)["told"]["reward"] == 1.0
    assert len(study.series(points=10)["round"]) <= 10
    rows = study.history()
    assert [row["arm"] for row in rows] == [decision.arm for decision in decisions]
    assert study.download(format="csv").decode().count("\n") == 31
    assert study.download(format="parquet")[:4] == b"PAR1"


def test_async_where_replies_get_lost_too(served, flaky, unhurried):
    async def talk():
        network = flaky(words_of(7, 20))
        async with AsyncClient(served.url, key=served.key, retries=20, transport=network) as client:
            study = client.study("ads")
            decisions = await asyncio.gather(*(study.ask() for _ in range(20)))
            told = await study.tell_many([(one, 1.0) for one in decisions])
            assert (await study.verify())["ok"]
            return {one.id for one in decisions}, told

    ids, told = asyncio.run(talk())
    assert ids == set(range(1, 21))
    assert told == ["told"] * 20


def test_the_client_is_what_is_generated_from_that_of_asyncio():
    written = runpy.run_path(str(ROOT / "clients" / "synchronous.py"))
    assert written["generate"]() == written["TARGET"].read_text(), "run `make clients` and commit the result"


# What the service or the client refuses


REFUSED = {
    "nowhere": (lambda client: client.study("nowhere").ask(), UnknownStudyError, "nowhere"),
    "reward": (lambda client: client.study("ads").tell(client.study("ads").ask(), 7.0), RewardError, "scale rewards"),
    "number": (lambda client: client.study("ads").tell(17, 1.0), ArgumentError, "ticket: expected a decision"),
    "nan": (lambda client: client.study("ads").tell("ads.1.00", float("nan")), ArgumentError, "finite"),
    "object": (lambda client: client.study("ads").ask(contexts=object()), ArgumentError, "not a number"),
    "key": (lambda client: client.study("ads").ask(key="tab\tinside"), ArgumentError, "key: expected"),
    "sticky": (lambda client: client.study("ads").ask(sticky=0), ArgumentError, "sticky: expected True or False"),
    "rounds": (lambda client: client.study("ads").ask_many("3"), ArgumentError, "rounds: expected"),
    "reports": (lambda client: client.study("ads").tell_many([1.0]), ArgumentError, "reports: expected"),
    "name": (lambda client: client.study("../keys"), ArgumentError, "name: expected"),
    "taken": (lambda client: client.create("ads", POLICY), ServiceError, "already exists; choose another name"),
    "record": (lambda client: client.study("ads").record(99), UnknownTicketError, "99"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_errors_of_evenhand_with_the_words_of_the_service(case, client):
    call, kind, said = REFUSED[case]
    with pytest.raises(kind, match=said) as refused:
        call(client)
    assert isinstance(refused.value, EvenhandError)


def test_a_refusal_of_the_service_keeps_its_parts(client):
    with pytest.raises(ArgumentError) as refused:
        client.study("ads").ask_many(0)
    parts = refused.value.refusal
    assert parts == str(refused.value)
    assert parts.startswith(f"{parts.name}: expected {parts.expected}, got {parts.got!r}")


def test_a_key_of_another_role_is_refused_by_its_role(served):
    with (
        Client(served.url, key=served.keys["report"]) as client,
        pytest.raises(ServiceError, match="deciding needs a key with the role decide") as no,
    ):
        client.study("ads").ask()
    assert (no.value.status, no.value.name) == (403, "RoleError")


def test_address_and_key_come_from_the_environment(served, monkeypatch):
    monkeypatch.setenv("EVENHAND_URL", served.url + "/")
    monkeypatch.setenv("EVENHAND_KEY", served.key)
    with Client() as client:
        assert client.study("ads").ask().id == 1
        assert repr(client.study("ads")) == f"RemoteStudy('ads' of Client('{served.url}'))"
        assert not any(part in repr(vars(client)) for part in served.key.split())
    with pytest.raises(ServiceError, match="closed"):
        client.study("ads").ask()


ARGUMENTS = {
    "no url": ({"url": None}, "EVENHAND_URL"),
    "scheme": ({"url": "localhost:8000"}, "url: expected"),
    "password": ({"url": "http://me:secret@localhost"}, "without a user"),
    "no key": ({"key": None}, "EVENHAND_KEY"),
    "newline": ({"key": ["a\nb"]}, "key: expected"),
    "timeout": ({"timeout": 0}, "timeout: expected"),
    "retries": ({"retries": -1}, "retries: expected"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_are_refused_by_name(case, monkeypatch):
    monkeypatch.delenv("EVENHAND_URL", raising=False)
    monkeypatch.delenv("EVENHAND_KEY", raising=False)
    given, said = ARGUMENTS[case]
    with pytest.raises(ArgumentError, match=said) as refused:
        Client(**({"url": "http://localhost:8000", "key": "eh_read_1_x"} | given))
    assert "secret" not in str(refused.value)


# What is repeated


def words_of(seed, count):
    return random.Random(seed).choices(["ok", "lost request", "lost reply"], k=count)


def test_where_replies_get_lost_no_decision_is_made_twice_and_no_report_counts_twice(served, flaky, unhurried):
    network = flaky(words_of(0, 100))
    with Client(served.url, key=served.key, retries=20, transport=network) as client:
        study = client.study("ads")
        decisions = [study.ask() for _ in range(15)] + study.ask_many(5)
        told = [study.tell(one, 1.0) for one in decisions[:10]] + study.tell_many((one, 1.0) for one in decisions[10:])
    assert network.carried > 31
    assert sorted(one.id for one in decisions) == list(range(1, 21))
    assert set(told) <= {"told", "already told"}
    kept = Study(served.store, "ads")
    assert [event.kind for event in kept.log.events()].count("ask") == 20
    assert [event.kind for event in kept.log.events()].count("tell") == 20
    assert kept.verify().ok


def test_what_would_be_done_twice_is_repeated_only_if_it_was_not_sent(served, flaky, unhurried):
    with Client(served.url, key=served.key, transport=flaky(["lost request", "lost reply"])) as client:
        with pytest.raises(ServiceError, match=r"no answer from the service at .* after 2 attempts"):
            client.create("pace", POLICY)
        assert [row["name"] for row in client.studies()] == ["ads", "pace"]


def unplugged(*responses, seed=1):
    """A study of a service that answers so, the last one for ever."""
    return several(*responses, *[responses[-1]] * 9, urls="http://x", seed=seed)[0].study("ads")


def test_a_service_that_says_how_long_to_wait_is_waited_for(unhurried):
    assert unplugged(SLOW, DOWN, httpx.Response(502, text="Bad Gateway"), GOOD).ask().arm == "a"
    first, second, third = unhurried
    assert 3.0 <= first <= 3.1
    assert 0.0 <= second <= 0.2
    assert 0.0 <= third <= 0.4


def test_pauses_are_random_and_the_same_for_the_same_seed_and_at_last_the_error_is_that_of_the_service(unhurried):
    for seed in (1, 1, 2):
        with pytest.raises(StoreError, match="the store is away") as failed:
            unplugged(DOWN, seed=seed).ask(key="mine")
        assert "Ask again with key='mine'" in failed.value.__notes__[0]
    assert unhurried[:4] == unhurried[4:8] != unhurried[8:]
    assert len(set(unhurried[:4])) == 4


@pytest.mark.parametrize("status", [200, 301, 404, 599])
def test_other_servers_are_told_from_the_service(status, unhurried):
    with pytest.raises(ServiceError, match="evenhand service") as failed:
        unplugged(httpx.Response(status, text="<html>It works!</html>")).ask()
    assert failed.value.status == status


# What it needs


def test_it_loads_no_numerical_library_and_no_database():
    heavy = {"numba", "numpy", "sqlalchemy", "pandas", "scipy", "starlette", "pydantic"}
    code = "import sys, evenhand.client; evenhand.client.Client('http://localhost:8000', key='k'); "
    code += f"print(sorted({heavy!r} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_a_missing_httpx_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'evenhand\[client\]'"):
        Client("http://localhost:8000", key="k")
