"""`evenhand evaluate`: one answer from one command, an exit code that a pipeline can gate on, refusals in a line."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.errors import ArgumentError, EvenhandError, TableError, UnknownArmError
from evenhand.evaluation import under_shares
from evenhand.plots import plot_evaluation, plot_overlap
from tests.cli.shell import answer, as_json, call, refused
from tests.evaluation.logs import NAMED

COLUMNS = ["--arm", "item", "--reward", "click", "--propensity", "p"]
LAST = ["-p", "0=0,1=0,2=1"]


@pytest.fixture
def log(tmp_path):
    random = np.random.default_rng(1)
    items = random.integers(3, size=900)
    clicks = (random.random(900) < np.array([0.1, 0.3, 0.6])[items]) * 1
    path = tmp_path / "log.csv"
    pd.DataFrame({"item": items, "click": clicks, "p": 1 / 3, "place": np.arange(900) % 2}).to_csv(path, index=False)
    return path


body_of = partial(as_json, "evaluate")


def test_a_distribution_is_evaluated_and_compared_under_shares(log, tmp_path):
    picture = tmp_path / "made" / "value.png"
    result = answer("evaluate", log, *COLUMNS, "-p", "0=0.1,1=0.1,2=0.8", "--shares", "0.2", "--picture", picture)
    said = " ".join(result.split())
    assert "mean reward per round (dr)" in said
    assert "Differences from 0=0.1,1=0.1,2=0.8" in said
    assert picture.stat().st_size > 1000
    body = body_of(log, *COLUMNS, *LAST, "--shares", "0.2")
    free, fair = body["policies"]
    assert free["low"] < 0.6 < free["high"]
    assert fair["value"] < free["value"]
    assert body["differences"][0]["low"] < -0.16 < body["differences"][0]["high"]


def test_files_of_probabilities_are_read(log, tmp_path):
    path = tmp_path / "policy.csv"
    pd.DataFrame({"arm": [0, 1, 2], "probability": [0.2, 0.2, 0.6]}).to_csv(path, index=False)
    one = body_of(log, *COLUMNS, "-p", path, "--estimator", "ips")
    frame = pd.read_csv(log)
    found = eh.evaluate(frame, {0: 0.2, 1: 0.2, 2: 0.6}, **NAMED, estimator="ips")
    assert one["policies"][0]["value"] == found.value
    by_place = tmp_path / "by_place.csv"
    table = pd.DataFrame({"arm": [0, 1, 2] * 2, "position": [0] * 3 + [1] * 3, "probability": [0.2, 0.2, 0.6] * 2})
    table.to_csv(by_place, index=False)
    options = ["-p", by_place, "--estimator", "ips", "--position", "place"]
    assert body_of(log, *COLUMNS, *options)["policies"][0]["value"] == found.value
    path.write_text("arm,chance\n0,1\n")
    refused(TableError, "expected the columns 'arm' and 'probability'", "evaluate", log, *COLUMNS, "-p", path)


def test_the_gate_fails_unless_the_interval_lies_above(log):
    gate = ("evaluate", log, *COLUMNS, *LAST, "--at-least")
    answer(*gate, "0.3")
    assert "NOT shown to be above 0.58" in answer(*gate, "0.58", code=1)  # the value is above, its interval is not


def test_the_policy_of_another_log_is_its_shares_at_each_position(log, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("item,place\n2,0\n2,0\n1,0\n0,0\n2,1\n")
    said = call("evaluate", log, *COLUMNS, "-p", f"log:{other}", "--position", "place")
    assert "plays each arm as often as that log did and ignores the contexts" in " ".join(said.output.split())
    third = tmp_path / "third.csv"
    third.write_text(other.read_text())
    both = call("evaluate", log, *COLUMNS, "-p", f"log:{other}", "-p", f"log:{third}").output
    assert [f"log:{one} plays each arm" in both for one in (other, third)] == [True, True]
    frame, by_place = pd.read_csv(log), {0: {0: 0.25, 1: 0.25, 2: 0.5}, 1: {0: 0.0, 1: 0.0, 2: 1.0}}
    for position, policy in (("place", by_place), (None, {0: 0.2, 1: 0.2, 2: 0.6})):
        options = ["-p", f"log:{other}", *(["--position", position] if position else [])]
        found = body_of(log, *COLUMNS, *options)["policies"][0]
        own = eh.evaluate(frame, policy, **NAMED, position=position)
        assert found["value"] == own.value
    other.write_text("item,place\n3,0\n")
    untried = "expected 0 for an arm that the log never tried"
    refused(UnknownArmError, untried, "evaluate", log, *COLUMNS, "-p", f"log:{other}")


def test_a_promise_in_a_file_is_compared_with_none(log, tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("learner = 'thompson'\ntolerance = 1\n[shares]\n0 = 0.2\n")
    body = body_of(log, *COLUMNS, "--promise", path, "--replays", "2")
    kept = [(row["policy"], row["promise_kept"]) for row in body["policies"]]
    assert kept == [("thompson", None), ("thompson under the promise", True)]
    said = " ".join(call("evaluate", log, *COLUMNS, "--promise", path, "--replays", "2").output.split())
    assert "Promised: 0 at least 1/5 of the rounds (behind by less than 2)." in said
    words = r"This log supports about \d+ rounds of this policy, the most of [\d, ]+ that every replay reached"
    assert re.search(words, said)
    path.write_text("[shares]\n0 = 0.2\n[caps]\n2 = 0.7\n[[sets]]\narms = [1, 2]\nshare = 0.75\n")
    capped = body_of(log, *COLUMNS, *LAST, "--promise", path)
    assert [row["policy"] for row in capped["policies"]] == ["0=0,1=0,2=1", "0=0,1=0,2=1 under the promise"]
    path.write_text("[shares]\n0 = 0.2\n[windows]\n0 = 9\n")
    given = [*LAST, "--promise", path]
    words = "expected only shares and caps, for a distribution, got 0 at least once in any 9"
    refused(ArgumentError, words, "evaluate", log, *COLUMNS, *given)


def test_a_cap_and_a_window_are_promised_beside_shares_or_alone(log):
    capped = body_of(log, *COLUMNS, *LAST, "--cap", "2=0.6", "--shares", "0=0.1")
    under = under_shares({0: 0, 1: 0, 2: 1}, Promise({0: 0.1, 1: 0, 2: 0}, caps={2: 0.6}))
    frame = pd.read_csv(log)
    alone = eh.evaluate(frame, under, **NAMED)
    assert capped["policies"][1]["value"] == pytest.approx(alone.value, abs=1e-12)
    replayed = body_of(log, *COLUMNS, "--window", "0=4", "--replays", "1")
    assert [row["promise_kept"] for row in replayed["policies"]] == [None, True]


def test_a_replay_that_no_log_could_give_is_refused_before_it_runs(log, monkeypatch):
    monkeypatch.setattr("evenhand.evaluation.replay_value.replay", None)
    held = int((pd.read_csv(log)["item"] == 0).sum())
    for shares, most in (("0", 900), ("0=0.5", 2 * held + 2)):
        given = ["-p", "deadline-learn", "--shares", shares, "--rounds", "901"]
        refused(ArgumentError, f"rounds: expected at most {most}, as a replay has", "evaluate", log, *COLUMNS, *given)


@pytest.mark.parametrize(
    ("error", "words", "arguments"),
    [
        (ArgumentError, "--policy: expected a policy to evaluate, or --shares", []),
        (ArgumentError, "--policy, 1: expected a probability in [0, 1], got 'x'", ["-p", "0=0.5,1=x"]),
        (ArgumentError, "--picture: expected a file that ends in .png", [*LAST, "--picture", "value.svg"]),
        (EvenhandError, "--policy: no policy is named 'nobody'", ["-p", "nobody"]),
        (ArgumentError, "keeps shares, such as fair-ucb, got ucb1; deadline-", ["-p", "ucb1", "--shares", "0.1"]),
        (ArgumentError, "--replays: expected a --policy that learns", [*LAST, "--replays", "3"]),
        (ArgumentError, "--tolerance: expected a --policy that learns", [*LAST, "--shares", "0", "--tolerance", "1"]),
        (ArgumentError, "--model: expected logistic, linear, ARM=REWARD,ARM=", [*LAST, "--model", "forest"]),
        (ArgumentError, "--model, 0: expected a number in", [*LAST, "--model", "0=x,1=0.5,2=0"]),
        (ArgumentError, "--largest-weight: expected at least the weight of row", [*LAST, "--largest-weight", "1.1"]),
        (ArgumentError, "--rounds: expected", [*LAST, "--rounds", "20"]),
        (ArgumentError, "--fit: expected best or logistic", ["--by", "place", "--fit", "forest"]),
        (ArgumentError, "--by: expected columns that are known before", ["--by", "place,click", "--fit", "best"]),
        (ArgumentError, "--fit: expected none beside a promise", ["--by", "place", "--fit", "best", "--shares", "0.1"]),
    ],
)
def test_what_cannot_be_evaluated_is_refused(log, error, words, arguments):
    refused(error, words, "evaluate", log, *COLUMNS, *arguments)


def test_pictures_show_values_and_overlap(log):
    frame = pd.read_csv(log)
    found = eh.evaluate(frame, {"new": [0, 0, 1], "old": [0.5, 0.25, 0.25]}, **NAMED)
    axes = plot_evaluation(found, at_least=0.2)
    assert [line.get_text() for line in axes.get_legend().get_texts()] == ["new", "old"]
    assert len(axes.collections) == 2
    bars = plot_overlap(found["new"]).patches
    assert [round(bar.get_height(), 6) for bar in bars[3:]] == [0, 0, 1]
    assert "dr: " in plot_evaluation(found["new"]).get_legend().get_texts()[0].get_text()
    once = plot_evaluation(eh.evaluate(frame, [0.5, 0.25, 0.25], **NAMED, interval="once"))
    assert [len(lines.get_segments()) for lines in once.collections] == [1]  # at the last row alone


NONE = dict.fromkeys("abc", 0)


@pytest.mark.parametrize(
    ("chances", "shares", "expected"),
    [
        ({"a": 0.5, "b": 0.3, "c": 0.2}, 0.25, {"a": 0.46875, "b": 0.28125, "c": 0.25}),
        ({"a": 1.0, "b": 0.0, "c": 0.0}, {"b": 0.5, "c": 0.5}, {"a": 0.0, "b": 0.5, "c": 0.5}),
        ({"a": 0.34, "b": 0.33, "c": 0.33}, 0.1, {"a": 0.34, "b": 0.33, "c": 0.33}),
        ({"a": 0.0, "b": 1.0, "c": 0.0}, {"a": 0.4}, {"a": 0.4, "b": 0.6, "c": 0.0}),
        ({"a": 0.8, "b": 0.15, "c": 0.05}, Promise(NONE, caps={"a": 0.6}), {"a": 0.6, "b": 0.3, "c": 0.1}),
        ({"a": 1.0, "b": 0.0, "c": 0.0}, Promise(NONE, caps=0.4), {"a": 0.4, "b": 0.3, "c": 0.3}),
        ({"a": 0.8, "b": 0.15, "c": 0.05}, Promise(NONE | {("b", "c"): 0.4}), {"a": 0.6, "b": 0.3, "c": 0.1}),
        ({"a": 0.8, "b": 0.2, "c": 0.0}, Promise(NONE | {("b", "c"): 0.4, "c": 0.1}), {"a": 0.6, "b": 0.3, "c": 0.1}),
        ({"a": 0.6, "b": 0.4, "c": 0.0}, Promise(NONE | {("a", "c"): 0.5}, caps={"b": 0.5}), {"a": 0.6, "b": 0.4}),
    ],
)
def test_a_distribution_under_shares(chances, shares, expected):
    assert under_shares(chances, shares) == pytest.approx({"c": 0.0} | expected)


def test_distributions_that_cannot_be_put_under_shares_are_refused():
    with pytest.raises(ArgumentError, match="distribution: expected probabilities that sum to 1"):
        under_shares({"a": 0.5, "b": 0.1}, 0.1)
    with pytest.raises(UnknownArmError, match="shares: expected shares of the arms"):
        under_shares({"a": 0.5, "b": 0.5}, {"d": 0.1, "a": 0.1})


def test_every_estimator_and_what_it_needs_can_be_named(tmp_path):
    """From a log with the chances of all arms, in columns of their own."""
    random = np.random.default_rng(2)
    items = random.integers(2, size=800)
    frame = pd.DataFrame({"item": items, "click": (random.random(800) < [[0.2, 0.6][item] for item in items]) * 1})
    frame = frame.assign(p=0.5, p0=0.5, p1=0.5, age=random.random(800), user=np.arange(800) // 4)
    path = tmp_path / "every.csv"
    frame.to_csv(path, index=False)
    policy, every = {0: 0.1, 1: 0.9}, NAMED | {"propensity": {0: "p0", 1: "p1"}}
    columns = ["--arm", "item", "--reward", "click", "-p", "0=0.1,1=0.9"]
    shell = [*columns, "--propensity", "0=p0,1=p1"]
    levelled = eh.evaluate(frame, policy, **every, estimator="snips")
    assert body_of(path, *shell, "--estimator", "snips")["policies"][0]["value"] == levelled.value
    expected = eh.evaluate(frame, policy, **every, model={0: 0.2, 1: 0.6})
    table = tmp_path / "model.csv"
    pd.DataFrame({"arm": [0, 1], "reward": [0.2, 0.6]}).to_csv(table, index=False)
    for model in ("0=0.2,1=0.6", table):
        assert body_of(path, *shell, "--model", model)["policies"][0]["value"] == expected.value
    for model in ("logistic", "linear"):
        (found,) = body_of(path, *shell, "--model", model, "--contexts", "age")["policies"]
        assert found["low"] < 0.56 < found["high"]
    for options, settings in (
        (["--stationary"], {"stationary": True}),
        (["--largest-weight", "4"], {"largest_weight": 4.0}),
        (["--interval", "once"], {"interval": "once"}),
        (["--unit", "user"], {"unit": "user"}),
    ):
        expected = eh.evaluate(frame, policy, **NAMED, **settings)
        (found,) = body_of(path, *columns, "--propensity", "p", *options)["policies"]
        assert (found["low"], found["high"]) == (expected.low, expected.high)
        assert (found["interval"], found["unit"]) == (expected.interval, expected.unit)


def test_the_gate_looks_at_the_rows_since_a_change(tmp_path):
    random, path = np.random.default_rng(3), tmp_path / "log.csv"
    means = np.where(np.arange(6000) < 4000, 0.7, 0.3)
    frame = pd.DataFrame({"item": random.integers(2, size=6000), "click": (random.random(6000) < means) * 1, "p": 0.5})
    frame.to_csv(path, index=False)
    result = answer("evaluate", path, *COLUMNS, "-p", "0=0.5,1=0.5", "--at-least", "0.5", code=1)
    row = eh.evaluate(frame, {0: 0.5, 1: 0.5}, **NAMED).change.row
    assert f"above 0.5 per round over all rows, but NOT shown to be above it since row {row}." in result


@pytest.mark.parametrize(
    ("interval", "looks", "counted"),
    [
        ("anytime", "after every unit at once, for the mean over the units (user) so far.", "200 units (user)"),
        ("once", "Each interval holds with probability 0.95, after the last unit, for the mean", "200 units (user)"),
        ("normal", "after the last row, for the mean over the rows so far.", "800 rows"),
    ],
)
def test_the_terminal_says_what_is_counted(tmp_path, interval, looks, counted):
    random, path = np.random.default_rng(3), tmp_path / "log.csv"
    frame = pd.DataFrame({"item": random.integers(2, size=800), "click": (random.random(800) < 0.5) * 1, "p": 0.5})
    frame.assign(user=np.arange(800) // 4).to_csv(path, index=False)
    words = ["--unit", "user", "--interval", interval, "--at-least", "0.1"]
    said = " ".join(call("evaluate", path, *COLUMNS, "-p", "0=0.5,1=0.5", *words).output.split())
    assert looks in said
    assert f"above 0.1 per round, on average over these {counted}." in said


def test_notes_name_options_as_they_are_typed(log):
    """In Python they name arguments."""
    policies = ["-p", "0=0.5,1=0.5,2=0", *LAST, "-p", "0=1,1=0,2=0"]
    said = " ".join(call("evaluate", log, *COLUMNS, *policies).output.split())
    assert "hold together (Bonferroni); --each is for one at a time." in said
    assert "name their column: --unit." in said
    assert not re.search(r"\b(each|unit|propensity)=", said)
