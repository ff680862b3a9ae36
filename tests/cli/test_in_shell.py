"""What reaches the user of a shell is written as it is typed there, whatever door it comes through."""

import pickle
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.cli.output import table
from evenhand.cli.refusals import in_shell, written
from evenhand.data.tables import numbers
from evenhand.errors import ArgumentError, EvenhandError, Wording, argument, expected, expected_one_of
from tests.cli.shell import answer, call, evenhand
from tests.fuzzing import many

LABELS = st.one_of(st.text(st.characters(exclude_categories=["C"]), max_size=6), st.integers(-9, 9), st.none())
VALUES = st.one_of(st.lists(LABELS, max_size=4), st.dictionaries(LABELS, st.floats(0, 1), max_size=4))


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        ({"no": 0.0, "yes": 1}, "no=0,yes=1"),
        ([10, 20], "10,20"),
        (("gloves", "scarves"), "gloves,scarves"),
        (["it's", "a"], "it's,a"),
        (["a, b", "c=d"], '"a, b","c=d"'),
        ([], "none"),
        ([None, True, 0.5], "null,true,0.5"),
        ({"young": {"low": 1}}, '{"young": {"low": 1}}'),
        ({"a": 1, ("b", "c"): 0.5}, "a=1,b,c=0.5"),
        (["one", "two"] * 15, "one,two," * 9 + "one,t..."),
        ("a, b", "'a, b'"),
        (Wording("a table of shape (3, 2)"), "a table of shape (3, 2)"),
        *((None, "nothing"), (False, "false"), (0.5, "0.5")),
    ],
)
def test_values_of_python_are_written_as_they_are_typed(value, typed):
    refused = expected("n", Wording("one of ", ["a", "b"], ", numbers in [0, 1]"), value, Wording("f()", shell="--f"))
    assert in_shell(refused) == f"n: expected one of a,b, numbers in [0, 1], got {typed}; --f"


@given(VALUES)
@settings(max_examples=many(200), deadline=None)
def test_no_refusal_shows_a_list_or_a_dict_as_python_writes_it(value):
    error = ArgumentError(expected("--values", "a number", value, "mend"))
    words = in_shell(error)
    assert words.startswith("--values: expected a number, got ")
    assert words.endswith("; mend")
    if "..." not in words:
        assert words == f"--values: expected a number, got {written(value)}; mend"
    assert in_shell(pickle.loads(pickle.dumps(error))) == words


@pytest.mark.parametrize(
    ("texts", "typed"),
    [
        (["not yet", "paid"], "'not yet=0,paid=1'"),
        (["no, never", "paid"], '\'{"no, never": 0, "paid": 1}\''),
    ],
)
def test_texts_are_numbered_as_they_can_be_pasted(texts, typed):
    with pytest.raises(ArgumentError, match=r"such as \{'") as refused:
        numbers(pd.DataFrame({"y": texts}), "y")
    assert in_shell(refused.value).endswith(f"; pass --values {typed}")


@pytest.mark.parametrize(
    ("value", "python", "shell"),
    [
        *((None, "at_least=", "--at-least"), (True, "at_least=True", "--at-least")),
        *((1, "at_least=1", "--at-least 1"), ("a", "at_least='a'", "--at-least a")),
    ],
)
def test_an_argument_is_an_option(value, python, shell):
    words = Wording("pass ", argument("at_least", value))
    assert (words, in_shell(words)) == (f"pass {python}", f"pass {shell}")


def test_the_nearest_names_are_typed_names():
    assert in_shell(expected_one_of("--arm", ["a", "b"], "c")) == "--arm: expected one of a,b, got 'c'"
    of_one_type = "--arm: expected one of 10,20 (whole numbers), got 'c' (text)"
    assert in_shell(expected_one_of("--arm", [10, 20], "c")) == of_one_type


ENDS = {
    "audit log.csv --shares 0.2 --window a=9/3": "or plays/rounds with 1 <= plays <= rounds <= 1,000,000, got 9/3",
    "simulate --data log.csv --shares a=0.1 --promise e.toml": "nothing together with --shares, got 'e.toml'",
    "ask e.evenhand --available a": 'for arms that come and go, say offers = "any" in a promise file',
    "ask c.evenhand": "--contexts: expected 2 rows of 3 numbers, one row per arm, got nothing",
    "add e.evenhand c --share 0.9": "lower the others first with evenhand change",
    "tell e.evenhand 9 1": "ticket 9 was never handed out; none was so far",
    "new q.evenhand -p group-fair-top-interval": "needs --groups",
    "new q.evenhand -p linear-thompson --groups a=x,b=y --set noise_scale=abc": "--set noise_scale: expected a number, "
    "got 'abc'",
    "simulate --data log.csv --shares {'a':0.1}": "; NAME=VALUE,NAME=VALUE is read as well",
    "ask l.evenhand --contexts [[3,4],[1,1]]": "the part similarity/scale with a centre and a unit for each feature",
}


@pytest.mark.parametrize("arguments", ENDS)
def test_a_refusal_advises_what_can_be_typed(arguments):
    Path("log.csv").write_text("arm,reward\na,1\nb,0\n")
    Path("e.toml").write_text("arms = ['a', 'b']\nshares = {a = 0.2}\noffers = 'all'")
    answer("new", "e.evenhand", "--promise", "e.toml")
    answer("new", "c.evenhand", "-p", "group-fair-top-interval", "--groups", "a=x,b=y")
    answer("ask", "c.evenhand", "--contexts", "[[1, 2, 3], [1, 2, 4]]")
    Path("l.json").write_text('{"policy": "similarity/lipschitz-ucb", "dimension": 2, "individuals": 2}')
    answer("new", "l.evenhand", "--spec", "l.json")
    result = call(*arguments.split())
    assert isinstance(result.exception, EvenhandError), result.output
    assert str(result.exception).endswith(ENDS[arguments])


def test_a_warning_is_a_note_without_the_place_in_the_source():
    shares = ["-p", "deadline-learn+ucb1", "--shares", "a=0.5,b=0.5,c=0"]
    with evenhand("new", "s.evenhand", *shares, stderr=-2) as running:
        said = running.communicate()[0]
    assert said.startswith("evenhand: note: the shares sum to exactly 1 and arm 'c' has share 0")
    assert ".py" not in said


def test_a_table_too_wide_for_the_terminal_has_a_row_for_each_column(capsys):
    names = [f"a-long-name-{place}" for place in range(9)]
    table("t", names, [range(9), range(1, 10)])
    said = [line.strip("│").split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in line] for line in said] == [[names[n], str(n), str(n + 1)] for n in range(1, 9)]


def test_a_label_that_would_be_read_as_two_is_printed_as_json():
    assert written("a,b") == '"a,b"'
