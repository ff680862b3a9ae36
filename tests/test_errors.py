"""Refusals name the nearest of what there is, and show the beginning of what came, at no more cost if it is huge."""

import pytest

from evenhand.errors import expected, expected_one_of, nearest


def test_a_few_names_are_all_listed_in_their_order():
    assert expected_one_of("column", ["b", "a"], "zzz") == "column: expected one of ['b', 'a'], got 'zzz'"


def test_many_names_are_cut_to_the_nearest_and_the_rest_is_counted():
    known = [f"feature {i}" for i in range(43)] + ["reward"]
    said = expected_one_of("column", known, "Rewrad")
    assert said.startswith("column: expected one of ['reward', 'feature 0', ")
    assert said.endswith(" and 36 more, got 'Rewrad'; did you mean 'reward'?")


def test_the_case_of_letters_makes_no_difference_and_no_guess_is_made_from_afar():
    assert nearest("ARM", ["reward", "arm"]) == ["arm"]
    assert nearest("quantity", ["arm", "reward"]) == []
    assert nearest(17, [16, 177]) == ["177"]


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
    assert expected("n", "w", value) == shown(value)


class Counted:
    """Counts how often it is printed."""

    printed = 0

    def __repr__(self):
        Counted.printed += 1
        return "x"


@pytest.mark.parametrize("nested", [lambda x: x, lambda x: [x], lambda x: {"a": (x,)}], ids=["flat", "list", "dict"])
def test_only_the_beginning_is_printed(nested):
    Counted.printed = 0
    assert expected("n", "w", nested([Counted()] * 10_000)).endswith("...")
    assert Counted.printed <= 80
