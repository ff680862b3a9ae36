"""Slates, arms on offer, promises that change and promises in a file, from the shell."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from evenhand import Promise
from evenhand.errors import ArgumentError, RewardError, SharesError, TableError, UnknownArmError
from evenhand.promises.versions import with_parts
from evenhand.studies import Study
from tests.cli.shell import answer, as_json, asked, cells, refused

PROMISES = """
learner = "thompson"
tolerance = 1
plays = 2
arms = ["a", "b", "c", "d"]

[shares]
a = "1/2"
b = 0.25
"""


SIMULATE = ("simulate", "quotas/bernoulli-arms", "--seed", "1", "--jobs", "1")


@pytest.fixture
def file():
    Path("promises.toml").write_text(PROMISES)
    return "promises.toml"


def made(text, *options):
    Path("p.toml").write_text(text)
    return answer("new", "one", "--promise", "p.toml", "--seed", "1", *options)


def test_a_slate_from_a_file_of_promises(file):
    store = "places"
    answer("new", store, "--promise", file, "--seed", "1")
    first, second, third = (asked(store, "--available", "a,c,d")[0], *asked(store, "--count", "2"))
    assert set(first["arms"]) <= {"a", "c", "d"}
    assert len(first["indexes"]) == 2
    assert answer("tell", store, first["ticket"], "1,0") == "told\n"
    one, other = first["arms"]
    assert answer("tell", store, "1", f"{one}=1,{other}=0") == "already told\n"
    assert answer("tell", store, "1", f"{other}=0 {one}=1") == "already told\n"
    assert answer("tell", store, "2", json.dumps(dict.fromkeys(second["arms"], 0.5))) == "told\n"
    refused(RewardError, "REWARD: expected", "tell", store, third["id"], "1")
    refused(RewardError, "rewards by arm", "tell", store, third["id"], "a=1,a=0")
    with Study.open(store) as study:
        assert study.policy.shares == {"a": study.policy.shares["a"], "b": 0.25, "c": 0, "d": 0}
        assert study.policy.tolerance == 1
    assert "2 arms are played per round." in answer("show", store)
    answer("verify", store)


def test_arms_come_and_go_and_shares_change():
    store = "pace"
    new = ("-p", "deadline-learn", "--arms", "3", "--shares", "0.2", "--seed", "1")
    answer("new", store, *new)
    asked(store, "--count", "5")
    assert answer("add", store, "new", "--share", "1/10") == "added new\n"
    assert as_json("retire", store, "1") == {"status": "retired", "arm": 1}
    assert answer("change", store, "--shares", "0=0.1,2=1/2,new=0.1").startswith("changed")
    assert asked(store, "--available", "0")[0]["arm"] == 0
    shown = answer("show", store)
    assert "Retired: 1." in shown
    assert "Shares from round 1: 0 0.2, 1 0.2, 2 0.2." in shown
    assert "change): 0 0.1, 2 0.5, new 0.1." in shown
    assert "was kept at every round" in answer("verify", store)
    before = Study.open(store).log.sequence
    refused(UnknownArmError, "one of", "retire", store, "z")
    first = 'got 0.0; or say offers="all"; promise that first with evenhand change'
    refused(SharesError, first, "add", store, "more", "--share", "0.3", "--cap", "0.3")
    refused(SharesError, "a share for each of the arms 0,2,new", "change", store, "--shares", "0.1,0.2")
    refused(ArgumentError, "as JSON", "ask", store, "--available", "[0")
    assert Study.open(store).log.sequence == before
    answer("change", store, "--shares", "0.1,1/2,0.2")
    assert "change): 0 0.1, 2 0.5, new 0.2." in answer("show", store)
    answer("change", store, "--shares", "0.25")
    answer("add", store, "last", "--cap", "0.3")
    shown = answer("show", store)
    assert "change): 0 0.25, 2 0.25, new 0.25." in shown
    assert "│ last │     0 │      0 │        - │      - │ 0.3 │" in shown


def test_another_promise_of_a_file_says_everything():
    store = "pace"
    answer("new", store, "-p", "deadline-learn", "--arms", "3", "--shares", "0.2", "--seed", "1")
    asked(store, "--count", "5")
    answer("retire", store, "1")
    Path("next.toml").write_text("tolerance = 2\n[shares]\n0 = 0.3\n[caps]\n2 = 0.8\n")
    assert answer("change", store, "--promise", "next.toml").startswith("changed")
    promise = Study.open(store).state.bare_copy().promise
    assert (promise.tolerance, [float(share) for share in promise.shares]) == (2.0, [0.3, 0.0, 0.0])
    assert promise.caps[promise.arms.index(2)] == Fraction(4, 5)
    asked(store, "--count", "20")
    assert "was kept at every round" in answer("verify", store)
    before = Study.open(store).log.sequence
    refused(ArgumentError, "--shares: expected either --shares, --cap,", "change", store)
    assert Study.open(store).log.sequence == before


def test_each_part_of_a_promise_changes_by_itself():
    store = "pace"
    answer("new", store, "-p", "deadline-learn", "--arms", "0,b,c", "--shares", "0=0.2,b=0.2", "--seed", "1")
    shares, steps = {"0": "1/5", "b": "1/5", "c": 0}, []
    steps.append((["--cap", "c=0.5"], Promise(shares, caps={"c": 0.5}, offers="all")))
    steps.append((["--window", "0=2/25"], Promise(shares, caps={"c": 0.5}, windows={"0": (2, 25)}, offers="all")))
    shares |= {"b": "1/4"}
    options = ["--shares", "0=0.2,b=0.25,c=0", "--cap", "b=0.4,c=0.6", "--tolerance", "2"]
    caps = {"b": 0.4, "c": 0.6}
    steps.append((options, Promise(shares, 2, caps, windows={"0": (2, 25)}, offers="all")))
    for given, expected in steps:
        asked(store, "--count", "30")
        assert answer("change", store, *given) == f"changed: {expected}\n"
        assert Study.open(store).state.bare_copy().promise == expected
    shown = " ".join(answer("show", store).split())
    assert "Shares from round 1: 0 0.2, b 0.2, c 0." in shown
    assert "change): 0 0.2, b 0.2, c 0; c at most 1/2 of the rounds. Shares from round 61" in shown
    assert "c 0; c at most 1/2 of the rounds; 0 at least twice in any 25 rounds. Shares from round 91" in shown
    asked(store, "--count", "30")
    assert "was kept at every round" in answer("verify", store)
    answer("change", store, "--tolerance", "5", "--from", "2999-12-01")
    assert len(Study.open(store).log.planned) == 1
    refused(SharesError, "--cap: expected arms among", "change", store, "--cap", "x=0.5")


def test_excused_rounds_and_named_offers_outlast_a_change_of_the_caps():
    for offers, kept in (("any", "any"), (["c"], ("c",))):
        promise = Promise({"a": "1/5", "b": 0, "c": 0}, caps={"a": 0.5}, offers=offers)
        assert with_parts(promise, ["a", "b", "c"], caps={"a": 0.6}).offers == kept


def test_a_policy_that_cannot_change_says_so(store):
    refused(ArgumentError, "whose promise can change", "change", store, "--cap", "a=0.5")
    refused(ArgumentError, "whose promise can change", "change", store, "--shares", "a=0.1,b=0.1")
    refused(ArgumentError, "available", "ask", store, "--available", "a")


def test_windows_sets_and_caps_from_a_file():
    made("arms = ['a', 'b', 'c']\n[windows]\na = 4\nb = [2, 9]\n")
    asked("one", "--count", "30")
    assert [row[-1] for row in cells(answer("show", "one"))[:3]] == ["1 in 4", "2 in 9", "-"]
    made("arms = 4\n[[sets]]\narms = [0, 1]\nshare = '1/2'\n[shares]\n2 = 0.1\n", "--name", "sets")
    asked("one", "--study", "sets")
    shown = cells(answer("show", "one", "--study", "sets"))
    assert [row[3] for row in shown[:5]] == ["-", "-", "0.1", "-", "0.5"]
    assert shown[4][:3] == ["0 + 1", "1", "1"]
    table = "[promise]\nshares = {2 = 0.1}\nsets = [{arms = [0, 1], share = 0.5}]\n"
    made(f"arms = 4\n{table}", "--name", "table")
    shown = cells(answer("show", "one", "--study", "table"))
    assert [row[3] for row in shown] == ["-", "-", "0.1", "-", "0.5"]
    made("cap_tolerance = 2\n[shares]\na = 0.5\nb = 0\n[caps]\na = 0.6\n", "--name", "caps")
    assert [row[-1] for row in cells(answer("show", "one", "--study", "caps"))] == ["0.6", "-"]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("shares = ", TableError, "cannot be read as TOML"),
        ("share = 0.2", ArgumentError, "did you mean 'shares'"),
        ("tolerance = 1", ArgumentError, "shares, sets or windows"),
        ("promise = 1", ArgumentError, "an object with shares"),
        ("learner = 3\n[shares]\na = 0.1\nb = 0.1", ArgumentError, "the name of a learner"),
        ("arms = ['a', 'b']\n[[sets]]\narms = 'a'\nshare = 0.5", ArgumentError, "a list of labels"),
        ("plays = 3\n[shares]\na = 0.9\nb = 0.1", ArgumentError, "plays"),
        ("tolerance = 1\n[promise]\nshares = { a = 0.5 }", ArgumentError, "tolerance: expected nothing outside"),
    ],
)
def test_promises_that_cannot_be_read_or_kept_are_refused_by_name(text, error, words):
    Path("p.toml").write_text(text)
    refused(error, words, "new", "one", "--promise", "p.toml")
    assert not Path("one").exists()


def test_a_file_of_promises_stands_alone(file):
    new = ("new", "one", "--promise", file)
    refused(ArgumentError, "--promise", *new, "--policy", "fair-ucb")
    refused(ArgumentError, "--promise", *new, "--shares", "a=0.1")
    refused(TableError, ".: cannot be read: is a directory", *new[:-1], ".")


def test_each_learner_is_simulated_with_the_promise_of_a_file_and_without():
    Path("p.toml").write_text("tolerance = 1\nlearner = 'thompson'\n[shares]\n2 = 0.5\n")
    start = (*SIMULATE, "--promise", "p.toml", "--rounds", "300", "--replications", "3")
    own = as_json(*start)
    kept = [(policy["policy"], policy["promise_kept"]) for policy in own["policies"]]
    assert kept == [("thompson", False), ("thompson under the promise", True)]
    several = as_json(*start, "-p", "ucb1", "-p", "thompson")
    (ucb1, thompson), (alone,) = several["costs"], own["costs"]
    assert (ucb1["learner"], ucb1["broken"], ucb1["replications"]) == ("ucb1", 3, 3)
    assert thompson == alone
    assert 0.05 < alone["low"] < alone["cost"] < 0.15 < alone["high"]
    said = answer(*start, "-p", "ucb1")
    assert "The promise costs ucb1 " in said
    assert "Without it the promise would have been broken in 3 of 3 replications." in said


def test_caps_windows_and_sets_stand_beside_the_shares_of_a_simulation():
    Path("p.toml").write_text("[caps]\n0 = 0.5\n[[sets]]\narms = [1, 2]\nshare = 0.4\n[windows]\n2 = 9\n")
    said = answer(*SIMULATE, "--promise", "p.toml", "--rounds", "90", "--replications", "2")
    rows = [row[:4] for row in cells(said.partition("Promised:")[0])[-4:]]
    assert rows == [["0", "-", "0.5", "-"], ["1", "-", "-", "-"], ["2", "-", "-", "1 in 9"], ["1 + 2", "0.4", "-", "-"]]


def test_a_learner_alone_plays_as_many_arms_a_round_as_under_the_promise():
    Path("p.toml").write_text("plays = 2\n[shares]\n2 = 0.5\n")
    body = as_json(*SIMULATE, "--promise", "p.toml", "--rounds", "90", "--replications", "2")
    assert min(policy["reward_a_round"] for policy in body["policies"]) > 0.9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[shares]\nx = 0.5\n", "p.toml: expected arms among 0,1,2 (whole numbers), got 'x' (text)"),
        ("arms = [0, 1]\n[shares]\n1 = 0.5\n", "p.toml: arms: expected arms among 0,1, got 2"),
        ("arms = [0, 1, 2, 3]\n[shares]\n1 = 0.5\n", "p.toml: arms: expected arms among 0,1,2, got 3"),
    ],
)
def test_a_promise_to_arms_that_there_are_not_is_refused_before_anything_is_made(text, words):
    Path("p.toml").write_text(text)
    refused(ArgumentError, words, "simulate", "quotas/bernoulli-arms", "--promise", "p.toml")
    refused(ArgumentError, words, "new", "s", "--promise", "p.toml", "--arms", "3")
    assert not Path("s").exists()


def test_a_file_that_begins_a_study_audits_a_log():
    """All that a file of promises may hold is read wherever it is named."""
    beside = "learner = 'thompson'\narms = ['a', 'b', 'c', 'd']\noffers = ['a']\n"
    Path("p.toml").write_text(beside + "[shares]\na = 0.1\n[[sets]]\narms = ['b', 'c']\nshare = 0.5\n")
    answer("new", "s", "--promise", "p.toml", "--seed", "1")
    promise = Study.open("s").state.bare_copy().promise
    assert (promise.offers, promise.sets) == (("a",), ((("b", "c"), Fraction(1, 2)),))
    for arms, kept in {"bacb": True, "dada": False}.items():
        Path("log.csv").write_text("arm\n" + "\n".join(arms))
        ask = ("audit", "log.csv", "--promise", "p.toml", "--tolerance", "0")
        assert as_json(*ask, code=0 if kept else 1)["kept"] is kept


def test_offers_of_a_log_and_of_a_study_s_export_are_replayed():
    Path("slow.toml").write_text("[shares]\n0 = 0.5\n1 = 0\n2 = 0\n")
    rows = ["0,1,2;x", "1,2;y", ";x"] * 30
    Path("log.csv").write_text("available;place\n" + "\n".join(rows))
    Path("none.csv").write_text("arm;reward\na;1\nb;0\n")
    options = (*SIMULATE, "--promise", "slow.toml", "--replications", "2", "--sep", ";")
    body = as_json(*options, "--log", "log.csv")
    assert (body["rounds"], body["policies"][1]["promise_kept"]) == (90, True)
    assert "Share of the rounds on offer by arm" in " ".join(answer(*options, "--log", "log.csv").split())
    refused(ArgumentError, "--log: expected a log with a column available", *options, "--log", "none.csv")
    answer("new", "s", "--promise", "slow.toml"), answer("ask", "s")
    answer("export", "s", "--out", "plain.csv")
    answer("ask", "s", "--available", "1,2"), answer("export", "s", "--out", "own.csv")
    assert as_json(*options[:-2], "--log", "own.csv")["rounds"] == 2
    nothing = "--log: none of its rounds has an offer; leave --log out"
    refused(ArgumentError, nothing, *options[:-2], "--log", "plain.csv")


def test_rewards_come_late_in_a_simulation():
    small = ("simulate", "quotas/bernoulli-arms", "-p", "ucb1", "--rounds", "200", "--replications", "2", "--seed", "1")
    for text, said in (("40", "40"), ("0,3,12", "one of 3 logged delays"), ("geometric:20", "geometric, mean 20")):
        body = as_json(*small, "--delay", text)
        assert body["delay"] == said
        assert f"delay {said}" in answer(*small, "--delay", text)
    soon, at_once = (as_json(*small, *more) for more in ((), ("--delay", "0")))
    assert soon == at_once
    assert "delay" not in soon
    assert body["policies"][0]["regret"] != soon["policies"][0]["regret"]


@pytest.mark.parametrize("text", ["x", "1.5", "-1", "geometric", "geometric:0", "9" * 30, "3,,4"])
def test_a_delay_that_cannot_be_is_refused(text):
    small = ("simulate", "quotas/bernoulli-arms", "-p", "ucb1", "--rounds", "10")
    refused(ArgumentError, "--delay", *small, f"--delay={text}")
