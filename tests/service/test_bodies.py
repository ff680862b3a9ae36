"""Bodies of requests: their sizes, and the time that they take."""

import asyncio

import pytest

from evenhand.service.bodies import read_body


@pytest.mark.parametrize(
    ("parts", "declared", "found"),
    [([b"ab", b"c"], None, b"abc"), ([b"abcd"], b"1", 413), ([b"ab", None], None, 400)],
    ids=["in parts", "in one part", "broken off"],
)
def test_a_body_is_put_together_counted_and_refused_where_it_breaks_off(parts, declared, found):
    sent = [{"type": "http.request", "body": part, "more_body": part is not parts[-1]} for part in parts if part]
    pending = iter([*sent, {"type": "http.disconnect"}])

    async def receive():
        return next(pending)

    async def outcome():
        (got,) = await asyncio.gather(read_body(receive, declared, 3), return_exceptions=True)
        return getattr(got, "status", got)

    assert asyncio.run(outcome()) == found


def test_large_batches_are_refused(serving):
    served = serving(max_batch=3)
    served.create()
    assert served.ask(json={"batch": [{}] * 4}).status_code == 413
    assert served.tell({"batch": [{}] * 4}).status_code == 413
    assert served.ask(json={"count": 4}).status_code == 422
    assert served.ask(json={"count": 3}).status_code == 200
