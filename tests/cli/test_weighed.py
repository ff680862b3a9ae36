"""Shares of tokens from the shell: a promise file, weights with the ask or the reward, and what they come to."""

from pathlib import Path

from evenhand.cli.refusals import in_shell
from evenhand.errors import ArgumentError
from tests.cli.shell import answer, as_json, asked, call, refused

PROMISE = """
learner = "ucb1"

[promise]
tolerance = 9000
weight = "tokens"
largest = 4000
{}

[promise.shares]
A = "1/4"
B = 0
"""


def made(later: str) -> str:
    Path("promise.toml").write_text(PROMISE.format(later))
    said = answer("new", "calls.evenhand", "--promise", "promise.toml")
    assert "Promised: A at least 1/4 of the tokens (behind by at most 9,000)" in said
    assert "A decision weighs at most 4000 tokens" in said
    ask, tell = ("", " --weight WEIGHT") if "in_flight" in later else (" --weight WEIGHT", "")
    assert f"calls.evenhand{ask}    then: evenhand tell" in said
    assert said.endswith(f"TICKET REWARD{tell}\n")
    return "calls.evenhand"


def test_weights_that_come_with_the_reward_are_refused_when_asking() -> None:
    store = made("in_flight = 2")
    refused(ArgumentError, "when asking: it is told with the reward", "ask", store, "--weight", "9")


def test_weights_known_when_asking() -> None:
    store = made("")
    (first,) = asked(store, "--weight", "900", "--key", "k")
    assert asked(store, "--weight", "900.0", "--key", "k") == [first]
    assert first["arm"] == "A"
    for command in ("show", "verify"):
        assert "was kept at every round; no arm was ever behind its share." in answer(command, store)
    refused(ArgumentError, "weight: expected tokens from 0 to 4000", "ask", store)
    refused(ArgumentError, "here: it is given when asking", "tell", store, "1", "1", "--weight", "9")


def test_what_is_counted_is_said_where_it_is_not_rounds_on_offer() -> None:
    store = made('clock = "all"')
    other = as_json("new", "other.evenhand", "--promise", "promise.toml")
    assert (other["weight"], other["clock"]) == ("tokens", "all")
    said = answer("new", "third.evenhand", "--promise", "promise.toml")
    assert "By all rounds, arms that were away catch up as far as can be." in said
    means = ("--means", "A=0.5,B=0.4", "--promise", "promise.toml")
    for words, way in (
        (("change", store, "--shares", "A=0.1,B=0"), "; create a new study with `evenhand new`"),
        (("change", store, "--shares", "A=0.1,B=0", "--from", "12h"), "; create a new study"),
        (("add", store, "C"), "; create a new study with `evenhand new`"),
        (("retire", store, "B"), "; create a new study with `evenhand new`"),
        (("price", *means), "; for shares of the rounds leave weight, largest and in_flight out"),
        (("simulate", *means, "--rounds", "10"), "; for shares of the rounds leave weight, largest and in_flight out"),
    ):
        refusal = in_shell(call(*words).exception)
        assert "expected a promise of rounds" in refusal
        assert way in refusal
