"""Bodies of requests: their sizes, and the time that they take."""

import asyncio

import pytest

from evenhand.service.bodies import read_body
from evenhand.service.errors import HttpRefusal


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


def test_a_body_in_one_part_is_counted_too():
    async def receive():
        return {"type": "http.request", "body": b"abcd"}

    with pytest.raises(HttpRefusal) as refused:
        body(receive, b"1", 3)
    assert refused.value.status == 413


def test_a_body_that_breaks_off_is_refused():
    with pytest.raises(HttpRefusal, match="broke off") as refused:
        body(messages(b"ab", over=False), None, 3)
    assert refused.value.status == 400


def test_large_batches_are_refused(serving):
    served = serving(max_batch=3)
    served.create()
    assert served.ask(json={"batch": [{}] * 4}).status_code == 413
    assert served.tell({"batch": [{}] * 4}).status_code == 413
    assert served.ask(json={"count": 4}).status_code == 422
    assert served.ask(json={"count": 3}).status_code == 200
