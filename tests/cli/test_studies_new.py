"""New studies from the shell: named in few words, and nothing made by a refusal."""

import json
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, RegistryError, SharesError, StoreError, TableError, UnknownStudyError
from evenhand.studies import Study
from tests.cli.shell import NEW, answer, as_json, asked, refused
from tests.naming import named

SHARES = ("--shares", "a=0.2,b=0.3")


def test_a_new_study_says_who_is_on_offer_what_is_promised_and_what_its_log_will_not_show():
    Path("p.toml").write_text("learner = 'thompson'\n[shares]\n3 = 0.1\n10 = 0.1\n")
    Path("log.csv").write_text("item,click\n10,1\n9,0\n3,0\n10,0\n")
    new = ("new", "s", "--promise", "p.toml", "--name")
    alone = answer(*new, "alone")
    assert "On offer are 2 arms: 3, 10.\n" in alone
    assert "Promised: 3, 10 each at least 1/10 of the rounds.\n" in alone
    assert "No other arm is on offer; add arms with --arms, or with --arms-from LOG --arm COLUMN." in alone
    assert "cannot show what another policy would have earned" in alone
    whole = answer(*new, "whole", "--arms-from", "log.csv", "--arm", "item", "--set", "lottery=0.5")
    assert "On offer are 3 arms: 3, 9, 10.\n" in whole
    assert "each at least 1/10 of the rounds; nothing to the other.\n" in whole
    assert "No other arm" not in whole
    assert "will not show" not in whole
    with Study.open("s", "whole") as study:
        assert study.policy.arms == ("3", "9", "10")


def test_a_new_study_learns_from_a_log_and_its_promise_counts_none_of_it():
    Path("log.csv").write_text("item,click\n" + "a,0\nb,1\nc,0\n" * 40)
    log = ("--learn", "log.csv", "--arm", "item", "--reward", "click")
    said = answer("new", "s", "-p", "deadline-learn", "--shares", "0.1", *log, "--cap", "b=0.6", "--seed", "1")
    assert "Learned from 120 rows of log.csv; the promise counts none of them." in said
    frame = pd.DataFrame({"item": ["a", "b", "c"] * 40, "click": [0.0, 1.0, 0.0] * 40})
    same = eh.quotas.DeadlineLearn(eh.learners.UCB1(), dict.fromkeys("abc", 0.1), caps={"b": 0.6}, seed=1)
    same.learn(frame, arm="item", reward="click")
    with Study.open("s") as study:
        assert study.policy.promise == same.promise
        for _ in range(20):
            decision, expected = study.ask(), same.ask()
            assert decision.arm == expected.arm
            study.tell(decision, 1.0)
            same.tell(expected, 1.0)
        assert study.verify().ok
    alone = answer("new", "t", "-p", "ucb1", "--arms-from", "log.csv", "--arm", "item")
    assert "It starts without experience: of " in alone
    two = answer("new", "v", "-p", "ucb1", "--arms", "a,b", "--seed", "1", *log)
    assert "Learned from 80 rows of " in two
    assert "none of them; left out: 40 of arms that are not on offer, c." in " ".join(two.split())
    twin = eh.learners.UCB1(arms=["a", "b"], seed=1)
    twin.learn(frame[frame["item"] != "c"], arm="item", reward="click")
    with Study.open("v") as study:
        assert [study.ask().arm for _ in range(9)] == [twin.ask().arm for _ in range(9)]
    two = ("new", "w", "-p", "ucb1", "--arms", "a,b")
    body = as_json(*two, *log)
    assert (body["learned"], body["left_out"]) == (80, {"c": 40})
    Path("bad.csv").write_text("item,click\nc,1\na,2\n")
    bad = ("--learn", "bad.csv", *log[2:])
    refused(TableError, "row 2: expected numbers in [0, 1]", *two, "--name", "x", *bad)
    refused(TableError, "row 1: expected one of the arms", "new", "w", "-p", "ucb1", "--arms", "x,y", *log)
    refused(TableError, "got 'clicks'", "new", "u", "-p", "ucb1", *log[:-1], "clicks")
    assert not Path("u").exists()
    Path("s.json").write_text('{"policy": "sampling/optimistic", "groups": ["u", "v"]}')
    spec = ("new", "u", "--spec", "s.json", *log)
    refused(ArgumentError, "--learn: expected a --policy that learns", *spec)


def test_caps_and_windows_stand_beside_shares_and_a_promise_file_may_have_one_number_for_all(capsys):
    new = ("new", "s", "-p", "deadline-learn+thompson", "--arms", "a,b,c")
    said = answer(*new, "--cap", "a=0.5,b=0.5", "--window", "c=2/25", "--tolerance", "2", "--shares", "a=0.1")
    assert "a at least 1/10 of the rounds (behind by less than 3)" in said
    assert "a, b each at most 1/2 of the rounds" in said
    assert "c at least twice in any 25 rounds" in said
    assert "--tolerance is for shares" in said
    ahead = ("--shares", "0.1", "--cap", "0.5", "--tolerance", "2", "--set", "cap_tolerance=2", "--name", "ahead")
    said = answer(*new, *ahead)
    assert "(ahead by less than 3)" in said
    assert "--tolerance is for shares" not in said
    Path("p.toml").write_text("shares = '1/5'\ncaps = 0.5\n")
    said = answer("new", "t", "--promise", "p.toml", "--arms", "3")
    assert "0, 1, 2 each at least 1/5 of the rounds; 0, 1, 2 each at most 1/2 of the rounds" in said
    what = "--cap: expected a --policy that keeps caps and windows, such as deadline-learn, got 'quotas/fair-ucb'"
    refused(ArgumentError, what, "new", "u", "-p", "fair-ucb", *SHARES, "--cap", "0.5")
    refused(SharesError, "one number for all needs the names", "new", "u", "--promise", "p.toml")
    Path("log.csv").write_text("arm,reward\na,1\nb,0\nc,0\n")
    learned = ("--promise", "p.toml", "--learn", "log.csv")
    assert "a, b, c each at least 1/5 of the rounds" in answer("new", "v", *learned)
    Path("p.toml").write_text("arms = ['a', 'b', 'c', 'd']\nshares = '1/5'\n")
    assert "a, b, c, d each at least 1/5 of the rounds" in answer("new", "w", *learned)


@pytest.mark.parametrize(
    ("options", "blind"),
    [
        (["-p", "ucb1", "--arms", "a,b"], True),
        (["-p", "thompson", "--arms", "a,b"], False),
        (["-p", "deadline-learn+thompson", "--shares", "a=0.2,b=0"], True),
        (["-p", "deadline-learn+thompson", "--shares", "a=0.2,b=0", "--set", "lottery=0.5"], False),
        (["-p", "sampling/optimistic", "--set", 'groups=["u", "v"]'], False),
    ],
    ids=named,
)
def test_a_log_that_will_not_show_what_others_would_have_earned_is_said_to_be_one(options, blind):
    assert ("This log cannot show" in answer("new", "s", *options)) is blind


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["-p", "fair-learn+thompson", "--shares", "a=1/3,b=0.2"], "FairLearn(learner=Thompson(arms=None)"),
        (["-p", "fair-learn", "--shares", "a=1/3,b=0.2"], "FairLearn(learner=UCB1("),
        (["-p", "fair-ucb", "--shares", "0.2", "--arms", "3"], "arms=(0, 1, 2)"),
        (["-p", "fair-ucb", "--shares", "a=0.2", "--arms", "a,b"], "'b': Fraction(0, 1)"),
        (["-p", "fair-ucb", "--shares", "17=0.2", "--arms", "[17, 18]"], "arms=(17, 18)"),
        (["-p", "fair-ucb", "--shares", '{"a,b": 0.2, "☃": "1/5"}'], "arms=('a,b', '☃')"),
        (["-p", "epsilon-greedy", "--arms", "a, b", "--set", "epsilon=0.2"], "EpsilonGreedy(epsilon=0.2"),
        (["-p", "lipschitz-ucb", "--set", "dimension=2", "--set", "select=many"], "select='many'"),
    ],
    ids=named,
)
def test_policies_are_named_in_few_words(options, shown):
    answer("new", "s", *options)
    with Study.open("s") as study:
        assert shown in repr(study.policy)


def test_a_policy_may_be_a_file_and_options_go_before_it():
    Path("policy.json").write_text('{"policy": "quotas/fair-ucb", "shares": {"a": "1/3", "b": 0.2}, "seed": 1}')
    body = as_json("new", "s", "--spec", "policy.json", "--seed", "5")
    assert body == {"name": "s", "policy": "quotas/fair-ucb", "arms": ["a", "b"], "seed": 5}


def test_a_learner_that_is_named_goes_before_the_files():
    spec = {"policy": "quotas/fair-learn", "learner": "learners/kl-ucb", "shares": [0.1, 0.1]}
    Path("policy.json").write_text(json.dumps(spec))
    for name, options, learner in (
        ("file", [], "KLUCB"),
        ("rule", ["-p", "deadline-learn"], "KLUCB"),
        ("both", ["-p", "fair-learn+thompson"], "Thompson"),
    ):
        answer("new", "s", "--spec", "policy.json", "--name", name, *options)
        with Study.open("s", name) as study:
            assert type(study.policy.learner).__name__ == learner


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ([], ArgumentError, "--policy: name a policy, such as fair-ucb, or pass --spec FILE"),
        (["-p", "fair-ucb", "--shares", "z=0.2", "--arms", "a,b"], ArgumentError, "--shares: expected arms among"),
        (["-p", "ucb1", "--arms", "[1, "], ArgumentError, '--arms: expected labels a,b,c or ["a", "b"] as JSON'),
        (["-p", "top-interval", "--groups", "men"], ArgumentError, "--groups: expected ARM=GROUP,ARM=GROUP"),
        ([*NEW, "--set", "horizon"], ArgumentError, "--set: expected NAME=VALUE"),
        (["--spec", "nowhere.json"], TableError, "nowhere.json: no such file"),
    ],
    ids=named,
)
def test_what_cannot_be_a_study_is_refused_and_nothing_is_made(tmp_path, options, error, words):
    refused(error, words, "new", "ads.evenhand", *options)
    assert not list(tmp_path.iterdir())


def test_a_description_that_is_no_object_is_refused():
    Path("policy.json").write_text("[1]")
    refused(TableError, "expected an object", "new", "s", "--spec", "policy.json")


def test_a_study_that_is_there_is_refused_by_name(store):
    refused(ArgumentError, "already exists; choose another name", "new", store, *NEW)
    assert "ask" in answer("new", store, *NEW, "--name", "other")
    refused(UnknownStudyError, "the store has: ads, other", "ask", store)
    refused(UnknownStudyError, "no study is named 'third'; the store has: ads, other", "ask", store, "--study", "third")
    assert asked(store, "--study", "other")[0]["id"] == 1


@pytest.mark.parametrize(
    ("command", "more"), [("ask", []), ("show", []), ("verify", []), ("studies", []), ("export", ["--out", "x.csv"])]
)
def test_a_store_that_is_not_there_is_refused_and_not_made(tmp_path, command, more):
    refused(StoreError, "there is no store yet", command, "nowhere.evenhand", *more)
    assert not list(tmp_path.iterdir())


def test_what_is_to_be_typed_next_is_quoted():
    assert "next: evenhand ask 'my study.evenhand'" in answer("new", "my study.evenhand", *NEW, "--name", "mine")


def test_names_near_what_was_typed_are_shown():
    near = "--policy: no policy is named 'fairucb'; near it: quotas/fair-ucb"
    refused(RegistryError, near, "new", "x", "--policy", "fairucb")
    learner = ["--policy", "fair-learn+epsilon-greedy", "--shares", "a=0.2,b=0.3"]
    assert "quotas/fair-learn" in answer("new", "greedy", *learner)


@pytest.mark.parametrize("after", ["7d", "604800"])
def test_tickets_expire_as_was_said(after):
    answer("new", "ads.evenhand", *NEW, "--expire-after", after, "--expire-reward", "0")
    with Study.open("ads.evenhand") as study:
        assert (study.log.expire_after, study.log.expire_reward) == (timedelta(days=7), 0)
    assert "Tickets expire after 1 week and are then told 0." in answer("show", "ads.evenhand")


@pytest.mark.parametrize("after", ["", "soon", "0s", "-1"])
def test_what_is_no_duration_is_refused(after):
    refused(ArgumentError, "--expire-after", "new", "ads.evenhand", *NEW, f"--expire-after={after}")
    assert not Path("ads.evenhand").exists()
