"""What a promise costs is not said by means of arms where the policy saw contexts: it is counted, or reckoned."""

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.quotas.quota_policy import BY_RULE
from tests.cli.shell import answer, as_json, refused

FREE = eh.Promise(dict.fromkeys("abcd", 0), caps=dict.fromkeys("abcd", 0.3))
"""What the learner of `turns` keeps by itself."""
OWED = dict.fromkeys("abcd", 0.2)


def turns(number):
    """Scores of which each arm has the highest in turn."""
    return {arm: 0.9 if place == number % 4 else 0.1 * place for place, arm in enumerate("abcd")}


def shop(policy, shown=turns, rounds=40):
    """The log of a study in shop.evenhand, and what a report and `show` say."""
    with eh.Study.create("shop.evenhand", policy, name="shop") as study:
        for number in range(rounds):
            study.tell(study.ask(scores=shown(number)), 1.0 * (number % 3 > 0))
        log = study.frame()
    answer("report", "shop.evenhand")
    page = re.sub(r"<style>.*?</style>|<[^>]+>", " ", Path("report.html").read_text(), flags=re.S)
    return log, " ".join(html.unescape(page).split()), " ".join(answer("show", "shop.evenhand").split())


def test_changes_are_counted_and_what_they_cost_is_not_known_by_means():
    log, report, shown = shop(eh.quotas.DeadlineLearn(eh.learners.Scores(), OWED), lambda number: turns(0))
    forced = int((log["reason"] == "owed its share").sum())
    assert forced == 24  # the first arm alone is wished for, and the others are owed three fifths
    own = f"Of 40 decisions {40 - forced} were the learner's first wish among the arms on offer"
    said = f"{own}; the promise decided {forced}."
    assert said in report
    assert said in shown
    assert "not known: the policy sees contexts" in report
    assert "such as those in the column `given` of a study's log" in report
    assert BY_RULE not in report + shown
    assert "In the long run" not in report


@pytest.mark.parametrize(
    ("settings", "who"), [({"lottery": 0.5}, "the lottery decided"), ({"priced": True}, "prices decided")]
)
def test_lotteries_and_prices_are_counted_and_never_said_to_cost_nothing(settings, who):
    learner = eh.learners.Scores(low=0, high=1)
    close = {"a": 0.51, "b": 0.5, "c": 0.5, "d": 0.49}
    log, report, _ = shop(eh.quotas.DeadlineLearn(learner, OWED, seed=1, **settings), lambda number: close)
    reasons = {"the lottery decided": "drawn by lottery", "prices decided": "the learner's choice with prices"}
    count = log["reason"].str.startswith(reasons[who]).sum()
    assert count > 0
    assert f"{who} {count}" in report
    assert "cost nothing" not in report


def test_scores_that_are_expected_rewards_reckon_what_the_changes_cost():
    """Against the scores as they were given, of the arms on offer alone."""
    random = np.random.default_rng(4)
    rounds = [dict(zip("abcd", random.uniform(-1, -0.5, 4 - number % 2), strict=False)) for number in range(60)]
    learner = eh.learners.Scores(low=-1, high=0)
    log, report, shown = shop(eh.quotas.DeadlineLearn(learner, OWED), rounds.__getitem__, len(rounds))
    lost = sum(max(scores.values()) - scores[arm] for scores, arm in zip(rounds, log["arm"], strict=True))
    assert lost > 0
    said = f"its scores in 60 decisions, the changes of its first wishes cost {lost:.4g} in all, {lost / 60:.4g} "
    assert said in report
    assert BY_RULE in report
    assert BY_RULE not in shown


def rank(learner):
    return [0, 1, 2]


def update(learner, index, reward):
    """Learn nothing."""


def test_a_first_wish_is_one_among_the_arms_on_offer():
    """The first arm of every ranking is retired after ten rounds."""
    learner = eh.learners.Adapter([], choose=rank, update=update, dump=list, load=list)
    with eh.Study.create("shop.evenhand", eh.quotas.DeadlineLearn(learner, {"a": 0, "b": 0, "c": 0.2})) as study:
        study.ask(count=10)
        study.retire("a")
        study.ask(count=10)
        arms = study.frame()["arm"].tolist()
    own = arms[:10].count("a") + arms[10:].count("b")
    assert (own, arms.count("c")) == (16, 4)
    said = "Of 20 decisions 16 were the learner's first wish among the arms on offer; the promise decided 4."
    assert said in " ".join(answer("show", "shop.evenhand").split())


def test_a_log_of_contexts_has_no_price_in_any_answer():
    _, report, shown = shop(eh.quotas.DeadlineLearn(eh.learners.Scores(), FREE))
    free = "the promise decided 0. So the promise has cost nothing."
    for said in (report, shown):
        assert f"40 were the learner's first wish among the arms on offer; {free}" in said
        assert "not known" not in said
    answer("export", "shop.evenhand", "--out", "log.csv")
    answer("export", "shop.evenhand", "--form", "bandit", "--out", "bandit.csv")
    for log in ("log.csv", "bandit.csv"):
        ask = ("--data", log, "--cap", "0.3", "--rounds", 20, "--replications", 2)
        _says_no_price("simulate", *ask)
        assert "interval covers" not in answer("simulate", *ask)
        answer("report", log, "--cap", "0.3", "--reward", "reward")
        assert "the policy sees contexts" in Path("report.html").read_text()
        refused(ArgumentError, "LOG: expected plays of a policy that sees no contexts", "price", log, "--cap", "0.3")
    _says_no_price("evaluate", "log.csv", "--cap", "0.3", "--rounds", 5, "--replays", 2)


def _says_no_price(*ask):
    found = as_json(*ask)
    price = found["price"] if "price" in found else found["prices"][0]
    assert "costs" not in found
    assert price["cost"] is None
    assert "the policy sees contexts" in price["notes"][0]


def test_a_price_of_arms_is_said_to_suppose_that_each_earns_the_same_for_everybody():
    arms = np.tile(list("ab"), 40)
    log = pd.DataFrame({"arm": arms, "reward": (np.arange(80) % 3 > 0) * 1.0, "age": np.arange(80) % 5})
    log.to_csv("log.csv", index=False)
    assert "supposing that an arm earns the same for everybody" in answer("price", "log.csv", "--shares", "0.3")
