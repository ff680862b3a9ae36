"""What a notebook shows: escaped, accessible, short, quick, and without a trace."""

import copy
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand import audit, registry
from evenhand.checks.contract import examples
from evenhand.checks.play import plain, state_of
from evenhand.display.html import Card, Table, said, shortened
from evenhand.learners import UCB1, EpsilonGreedy, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn, FairUCB
from evenhand.sampling import LabelQueue, OptimisticSampler
from evenhand.similarity import LipschitzUCB, PairQueue

EVIL = "<script>alert('x')</script>"
POLICIES = {entry.name: entry.cls for entry in registry.entries("policy")}


def read(thing):
    html = thing._repr_html_()
    card = ElementTree.fromstring(html)  # every element is closed in its turn
    assert {one.tag for one in card.iter()} <= {"div", "table", "caption", "strong", "thead", "tbody", "tr", "th", "td"}
    assert all(one.get("scope") in ("row", "col") for one in card.iter("th"))
    assert html.count("<caption") >= 1
    assert not re.search(r"background|color|https?://[^<]*\.(css|js|png)|<style|<script", html)
    assert isinstance(repr(thing), str)
    return " ".join(card.itertext())


def rows(thing):
    """The rows of the first table of a card."""
    return list(thing._card().tables[0].shown())


def played(policy, world, rounds=3):
    world.reset(1)
    for _ in range(rounds):
        ticket = policy.ask(*world.observe())
        policy.tell(ticket, *world.respond(ticket))
    return policy


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_shown_with_its_last_decision_and_without_a_trace(name):
    policy, world = examples(POLICIES[name])[0]
    twin = copy.deepcopy(policy)
    for rounds in (0, 3):
        for one in (policy, twin):
            played(one, copy.deepcopy(world), rounds)
        before = state_of(policy)
        read(policy)
        assert state_of(policy) == before
    world.reset(9)
    shown = world.observe()
    ticket = policy.ask(*shown)
    assert plain(ticket) == plain(twin.ask(*shown))
    text = read(policy)
    assert ticket.reason in text
    assert "open tickets 1" in text


def test_shares_and_counts_are_those_of_the_arms():
    policy = FairUCB({"ads": 0.2, "news": 0.3}, seed=1)
    for _ in range(10):
        policy.tell(policy.ask(), 1.0)
    card = policy._card()
    (table,) = card.tables
    assert list(table.columns) == ["arm", "promised share", "decisions", "share", "open tickets"]
    assert [row[2] for row in rows(policy)] == list(policy.pulls.values())
    assert [said(row[1]) for row in rows(policy)] == ["0.2", "0.3"]
    assert card.facts["promise"] == "kept at every round"
    assert card.facts["learner"] is policy.learner


@pytest.mark.parametrize("learner", [UCB1, Thompson, EpsilonGreedy])
def test_a_learner_counts_the_decisions_and_not_the_rewards(learner):
    policy = learner(arms=3, seed=1)
    decisions = [policy.ask() for _ in range(12)]
    policy.forget(decisions[0])
    policy.probabilities()
    assert [row[1] for row in rows(policy)] == np.bincount([d.index for d in decisions], minlength=3).tolist()
    assert policy.choose() in (0, 1, 2)
    assert sum(row[1] for row in rows(policy)) == 13


def test_what_was_not_counted_is_not_guessed(tmp_path):
    policy = UCB1(arms=["a", "b"], seed=1)
    policy.tell(policy.ask(), 1.0)
    eh.save(policy, tmp_path / "policy")
    loaded = eh.load(tmp_path / "policy")
    loaded.ask()
    assert "decisions since it was loaded" in read(loaded)
    assert rows(loaded) == [["a", 0, 0], ["b", 1, 1]]
    fair = FairUCB({"a": 0.2, "b": 0.3}, seed=1)
    fair.ask()
    eh.save(fair, tmp_path / "fair")
    assert [row[2] for row in rows(eh.load(tmp_path / "fair"))] == [1, 0]


def test_several_arms_of_a_round_are_all_counted():
    policy = eh.quotas.LFG([0.5, 0.3, 0.25], eta=10.0, plays=2, seed=1)
    decision = policy.ask()
    assert [row[2] for row in rows(policy)] == [int(index in decision.indexes) for index in range(3)]
    assert f"{', '.join(map(str, decision.arms))}: {decision.reason}" in read(policy)


def test_an_arm_that_joins_is_shown_and_counted():
    policy = DeadlineLearn(UCB1(), {"a": 0.2, "b": 0.3}, seed=1)
    policy.ask()
    policy.add("c", 0.4)
    decisions = [policy.ask().arm for _ in range(9)]
    assert [row[0] for row in rows(policy)] == ["a", "b", "c"]
    assert rows(policy)[2][2] == decisions.count("c") > 0


def test_groups_and_windows_stand_beside_their_arms():
    grouped = eh.groups.TopInterval({"Ann": "F", "Bob": "M"}, seed=1)
    assert list(grouped._card().tables[0].columns) == ["arm", "group"]
    windows = DeadlineLearn(UCB1(), 0, windows={"a": 3, "b": (2, 9)}, arms=["a", "b", "c"])
    assert [row[1] for row in rows(windows)] == ["1 in 3 rounds", "2 in 9 rounds", ""]


ARMS = [f"arm {number}" for number in range(500)]
LARGE = {
    "quota": lambda: FairLearn(UCB1(), dict.fromkeys(ARMS, 0.001), seed=1),
    "learner": lambda: Thompson(arms=ARMS, seed=1),
    "sampler": lambda: OptimisticSampler(ARMS, seed=1),
}


@pytest.mark.parametrize("kind", LARGE)
def test_of_500_arms_the_first_and_last_are_shown_and_how_many_there_are(kind):
    policy = LARGE[kind]()
    for _ in range(2):
        policy.ask()
    text = read(policy)
    assert "... 491 more ..." in text
    assert [number for number in range(500) if f" arm {number} " in f" {text} "] == [*range(6), 497, 498, 499]
    assert len(repr(policy)) < 1500
    assert "... 488 more" in repr(policy)


def labelled(groups):
    queue = LabelQueue(list(range(40)), np.random.default_rng(1).normal(size=(40, 2)), groups=groups, seed=1)
    for task in queue.ask(3):
        queue.tell(task, 1)
    return queue


LOG = pd.DataFrame({"item": [EVIL, "b"] * 500, "click": [1.0, 0.0, 0.0, 0.0] * 250, "p": 0.5})


def evaluation(policy):
    return eh.evaluate(LOG, policy, arm="item", reward="click", propensity="p")


def recommendation():
    search, world = examples(eh.interventions.CSR)[1]
    world.reset(1)
    return played(search, world, 1).recommend()


def study():
    made = eh.Study.create(":memory:", FairUCB({EVIL: 0.2, "b": 0.3}, seed=1), name="banner")
    made.tell(made.ask(), 1.0)
    return made


SHOWN = {
    "policy": (lambda: played(FairUCB({EVIL: 0.2, "b": 0.3}), BernoulliArms({EVIL: 0.5, "b": 0.2})), "promised share"),
    "audit": (lambda: audit.promise(LOG, arm="item", shares={EVIL: 0.6, "b": 0.4}), "first broken"),
    "audit of windows": (lambda: audit.promise(LOG, arm="item", windows={EVIL: 1}), "2 fewer|1 fewer"),
    "audit that finds nothing": (
        lambda: audit.promise(LOG, arm="item", shares={EVIL: 0.2, "b": 0.3, "c": 0.0}),
        "kept in each of",
    ),
    "parity": (lambda: eh.audit.parity(LOG, group="item", value="click"), "not shown to differ|differ by more"),
    "evaluation": (lambda: evaluation({EVIL: 0.9, "b": 0.1}), "per round, between"),
    "replay": (lambda: evaluation(FairUCB({EVIL: 0.2, "b": 0.3})), "kept in every replayed round"),
    "comparison": (lambda: evaluation({EVIL: {EVIL: 1, "b": 0}, "other": {EVIL: 0.5, "b": 0.5}}), "difference"),
    "label queue": (lambda: labelled([EVIL] * 20 + ["b"] * 20), "labelled"),
    "study": (study, "entries of the log"),
    "sampler": (lambda: OptimisticSampler([EVIL, "b"], seed=1), "training rows"),
}


@pytest.mark.parametrize("what", SHOWN)
def test_everything_is_shown_and_labels_are_escaped(what):
    make, expected = SHOWN[what]
    thing = make()
    text = read(thing)
    assert re.search(expected, text)
    assert EVIL in text  # as text, not as an element


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (lambda: PairQueue([[0.1, 0.3], [0.5, 0.2], [0.9, 0.9], [0.2, 0.8]], [0, 1, 1, 0], seed=1), "people 4"),
        (lambda: LipschitzUCB(2, seed=1), "verdicts of auditors 0"),
        (recommendation, "status"),
        (lambda: study().verify(), "finding sound"),
        (lambda: eh.Study.open(study().store, "banner"), "not yet read"),
        (lambda: UCB1(), "rounds 0"),
        (lambda: eh.learners.LinUCB(arms=3), "arm"),
    ],
    ids=["pairs", "similarity", "recommendation", "verification", "opened study", "no arms", "no contexts"],
)
def test_what_has_just_begun_is_shown_too(thing, expected):
    assert expected in read(thing())


def test_a_study_is_shown_without_a_look_at_its_store(tmp_path):
    made = eh.Study.create(tmp_path / "one.evenhand", FairUCB({"a": 0.2, "b": 0.3}, seed=1))
    made.ask()
    made.close()
    (tmp_path / "one.evenhand").unlink()
    assert "entries of the log 1" in read(made)


@pytest.mark.parametrize("what", ["audit", "parity", "evaluation", "comparison"])
def test_findings_are_equal_where_they_are_the_same_one(what):
    """Tables have no one truth value."""
    make, _ = SHOWN[what]
    found, again = make(), make()
    assert found == found
    assert found != again
    assert len({found, again}) == 2


def test_text_says_what_html_says():
    found = audit.promise(LOG, arm="item", shares={EVIL: 0.6, "b": 0.4})
    assert repr(found).splitlines()[:2] == ["Audit", f"  finding: {found.verdict}"]
    assert str(found.first_breach) in repr(found)
    evaluated = evaluation({EVIL: 0.9, "b": 0.1})
    assert str(evaluated) in repr(evaluated)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (pd.NA, "-"),
        (np.float64(0.123456), "0.1235"),
        (1_234_567.0, "1234567"),
        (float("inf"), "inf"),
        (True, "yes"),
        ((), "none"),
        (("a", 2, 0.5), "a, 2, 0.5"),
        (list(range(20)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... 8 more"),
        ("x" * 1000, "x" * 300 + "..."),
    ],
)
def test_values_are_written_for_readers(value, text):
    assert said(value) == text


def test_a_long_value_is_shortened():
    assert shortened({n: n for n in range(14)}).endswith("11: 11, ... 2 more}")
    assert shortened(tuple(range(13))).endswith("11, ... 1 more)")
    assert shortened(range(100)) == "range(0, 100)"


def test_a_table_of_a_million_rows_makes_nine():
    made = []
    table = Table(["n"], 1_000_000, lambda n: made.append(n) or [n])
    assert "... 999991 more ..." in Card("Large", {}, [table]).html()
    assert made == [0, 1, 2, 3, 4, 5, 999_997, 999_998, 999_999]


def test_an_index_with_a_name_is_the_first_column():
    table = Table.of(pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="arm")))
    assert (list(table.columns), list(table.shown())) == (["arm", "n"], [["a", 1], ["b", 2]])
