"""Rates and sizes."""

import asyncio
from contextlib import suppress

import pytest

from evenhand.errors import ArgumentError
from evenhand.service.bodies import Buckets, read_body
from evenhand.service.errors import Refusal


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def taken(buckets, caller, count):
    """Take so many, and count those that were granted."""
    granted = 0
    for _ in range(count):
        with suppress(Refusal):
            buckets.take(caller)
            granted += 1
    return granted


def test_a_bucket_gives_its_burst_and_then_its_rate():
    clock = Clock()
    buckets = Buckets(10, 5, clock=clock)
    assert taken(buckets, "a", 20) == 5
    clock.now = 0.3
    assert taken(buckets, "a", 20) == 3
    clock.now = 1000
    assert taken(buckets, "a", 20) == 5


def test_callers_do_not_share_a_bucket():
    buckets = Buckets(1, 3, clock=Clock())
    assert taken(buckets, "a", 5) == 3
    assert taken(buckets, "b", 5) == 3


def test_the_refusal_says_when_to_come_again():
    buckets = Buckets(0.1, 1, clock=Clock())
    buckets.take("a")
    with pytest.raises(Refusal, match=r"too fast: at most 0\.1 requests a second") as refused:
        buckets.take("a")
    assert refused.value.headers["Retry-After"] == "10"


def test_only_the_callers_seen_last_are_remembered():
    buckets = Buckets(1, 1, most=2, clock=Clock())
    for caller in ("a", "b", "c"):
        buckets.take(caller)
    assert len(buckets._levels) == 2
    assert taken(buckets, "c", 1) == 0
    assert taken(buckets, "a", 1) == 1


@pytest.mark.parametrize(("rate", "burst", "name"), [(0, 1, "rate"), (float("nan"), 1, "rate"), (1, 0, "burst")])
def test_a_rate_that_is_none_is_refused(rate, burst, name):
    with pytest.raises(ArgumentError, match=f"{name}: wanted"):
        Buckets(rate, burst)


def messages(*parts, over=True):
    sent = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    sent.append({"type": "http.request", "body": b""} if over else {"type": "http.disconnect"})
    pending = iter(sent)

    async def receive():
        return next(pending)

    return receive


def body(receive, declared, most):
    return asyncio.run(read_body(receive, declared, most))


def test_a_body_in_parts_is_put_together():
    assert body(messages(b"ab", b"c"), None, 3) == b"abc"


def test_a_body_that_declares_too_much_is_refused_before_it_is_read():
    with pytest.raises(Refusal, match="larger than 3 bytes") as refused:
        body(None, b"4", 3)
    assert refused.value.status == 413


def test_a_body_that_declares_nothing_is_counted():
    with pytest.raises(Refusal) as refused:
        body(messages(b"ab", b"cd", over=False), None, 3)
    assert refused.value.status == 413


def test_a_body_in_one_part_is_counted_too():
    async def receive():
        return {"type": "http.request", "body": b"abcd"}

    with pytest.raises(Refusal) as refused:
        body(receive, b"1", 3)
    assert refused.value.status == 413


def test_a_body_that_breaks_off_is_refused():
    with pytest.raises(Refusal, match="broke off") as refused:
        body(messages(b"ab", over=False), None, 3)
    assert refused.value.status == 400


def test_a_key_that_comes_too_often_is_told_when_to_come_again(serving):
    served = serving(rate=0.5, burst=3)
    answers = [served.send("read", "GET", "/studies") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert answers[-1].json()["error"]["name"] == "TooFastError"
    assert served.send("decide", "POST", "/studies/ads/ask").status_code == 404, "another key has a bucket of its own"


def test_an_address_without_a_good_key_has_a_bucket_too(serving):
    served = serving(rate=0.5, burst=3)
    answers = [served.http.get("/studies", headers={"Authorization": "Bearer wrong"}) for _ in range(12)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 2
    assert served.http.get("/readyz").status_code == 200
    assert served.send("read", "GET", "/studies").status_code == 200


def test_large_bodies_are_refused_whether_they_say_so_or_not(serving):
    served = serving(max_body=1000)
    served.create()
    text = b'{"ticket": "' + b"x" * 2000 + b'"}'
    for content in (text, iter([text[:700], text[700:]])):
        answer = served.send(
            "report", "POST", "/studies/ads/tell", content=content, headers={"Content-Type": "application/json"}
        )
        assert (answer.status_code, answer.json()["error"]["name"]) == (413, "TooLargeError")


def test_large_batches_are_refused(serving):
    served = serving(max_batch=3)
    served.create()
    assert served.ask(json={"batch": [{}] * 4}).status_code == 413
    assert served.tell({"batch": [{}] * 4}).status_code == 413
    assert served.ask(json={"count": 4}).status_code == 422
    assert served.ask(json={"count": 3}).status_code == 200
