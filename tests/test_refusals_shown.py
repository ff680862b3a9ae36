"""A refusal shows the beginning of what came, and costs no more where that is huge."""

from __future__ import annotations

import pytest

from evenhand.errors import wanted


def shown(value):
    text = repr(value)
    return f"n: expected w, got {text if len(text) <= 80 else text[:77] + '...'}"


@pytest.mark.parametrize(
    "value",
    [
        *(1, 1.5, None, (), (1,), {}, "a" * 79, "a" * 200, "'" * 100, b"x" * 100, [1] * 100, [[1, 2]] * 50),
        *({"a": [1] * 50}, {i: i for i in range(100)}, [["x" * 90]], [[[[[[[[1] * 100]]]]]]], {1, 2}),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_value_is_shown_as_python_shows_it(value):
    assert wanted("n", "w", value) == shown(value)


class Counted:
    """Counts how often it is printed."""

    printed = 0

    def __repr__(self):
        Counted.printed += 1
        return "x"


@pytest.mark.parametrize("nested", [lambda x: x, lambda x: [x], lambda x: {"a": (x,)}], ids=["flat", "list", "dict"])
def test_only_the_beginning_is_printed(nested):
    Counted.printed = 0
    assert wanted("n", "w", nested([Counted()] * 10_000)).endswith("...")
    assert Counted.printed <= 80
