"""Verification where the learner's code is not: everything but its choices is checked."""

import html
import json
import math
import sqlite3

import numpy as np
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, StateFileError
from evenhand.learners import Adapter, functions
from evenhand.studies import Study
from evenhand.studies.log.codec import from_text, to_text
from tests.cli.shell import call
from tests.studies.test_verify import WITHOUT_SNAPSHOTS, change, entries, execute, played, rewritten


def choose(learner):
    return learner[0]


def update(learner, index, reward):
    learner[0] = index if reward else 1 - index


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A study with a learner whose functions the process that opens it does not know."""
    learner = Adapter([0], choose=choose, update=update, dump=list, load=list)
    policy = eh.quotas.DeadlineLearn(learner, {"a": 0.2, "b": 0.4}, lottery=0.5, seed=1)
    study = Study.create(tmp_path / "shop.evenhand", policy)
    for reward in (1.0, 0.0, 1.0, 1.0, 0.0):
        study.tell(study.ask(), reward)
    earlier = study.verify()
    assert earlier.repeated == "all"
    study.tell(study.ask(), 1.0)
    study.close()
    for function in (choose, update):
        monkeypatch.delitem(functions._known, functions._path(function))
    again = Study.open(tmp_path / "shop.evenhand")
    again.earlier = earlier
    return again


def test_all_but_the_choices_is_checked(foreign):
    found = foreign.verify()
    assert (found.ok, found.repeated, found.replayed, found.entries) == (True, "none", 0, 12)
    assert (found.decisions, found.told, found.promise_kept) == (6, 6, True)
    assert found.notes[0].startswith(f"the learner's choices were not repeated: its module {__name__} is not here")
    assert found.as_dict()["repeated"] == "none"
    assert found.mark is None
    assert foreign.verify(since=foreign.earlier.mark).repeated == "none"
    assert foreign.frame()["arm"].value_counts().sum() == foreign.statistics().rounds == 6
    with pytest.raises(StateFileError, match=f"one that an Adapter of this process has, got '{__name__}:choose'"):
        foreign.ask()


@pytest.mark.parametrize("chances", [[0.1, 0.9], [0.0, 1.0], [1.0, 0.0], [0.05, 0.95], [1.2, -0.2], [1.0], None])
def test_chances_that_cannot_be_are_found(foreign, chances):
    """A chance of 0 may be one of an arm that cannot be played, never of the one that was."""
    decision = from_text(entries(foreign)[2]["decision"])
    assert decision["index"] == 1
    execute(foreign, WITHOUT_SNAPSHOTS)
    change(foreign, 3, decision=to_text(decision | {"probabilities": chances}))
    rewritten(foreign)
    problems = foreign.verify().problems
    assert bool(problems) is (chances not in ([0.1, 0.9], [0.0, 1.0]))
    assert all(
        one.startswith(f"entry 3, ask 2: these cannot be its chances: {str(chances)[0]}") for one in problems[:1]
    )


def test_of_a_policy_that_is_not_here_chain_and_counts_are_checked(scripted, monkeypatch):
    study = played(scripted, *[0] * 8)
    assert not study.verify().ok  # its promise is broken
    monkeypatch.delitem(eh.registry._entries, "quotas/broken")
    again = Study.open(study.store)
    found = again.verify()
    assert (found.ok, found.repeated, found.decisions, found.promise_kept) == (True, "none", 8, None)
    assert "neither the decisions nor what was promised" in found.notes[0]
    change(study, 5, at=1)
    assert again.verify().problems[0] == "entry 5 was changed after it was written: its digest does not match"


def test_the_shell_says_what_was_not_repeated(foreign):
    place = foreign.store.url.removeprefix("sqlite:///")
    found = call("verify", place)
    assert found.exit_code == 0
    assert "The log is whole; its decisions were not repeated." in found.output
    assert call("verify", place, "--strict").exit_code == 2
    change(foreign, 2, given=entries(foreign)[1]["given"] + " ")
    assert call("verify", place).exit_code == 1


def test_show_and_report_follow_the_log_without_the_learner(foreign, monkeypatch, tmp_path):
    """As one who has the learner's module sees it, but for what is said of that."""
    place, page = foreign.store.url.removeprefix("sqlite:///"), tmp_path / "report.html"
    with monkeypatch.context() as here:
        for function in (choose, update):
            here.setitem(functions._known, functions._path(function), function)
        with Study.open(place) as study:
            study.change(eh.Promise({"a": 0.2, "b": 0.1}, caps={"b": 0.9}))
            study.change({"a": 0.1, "b": 0.3}, begins="2999-12-01")
            study.ask(count=20)
        there = json.loads(call("show", place, "--json").stdout)
        assert call("report", place, "--out", page).exit_code == 0
        reported = page.read_text()
    said = f"the learner's choices were not repeated: its module {__name__} is not here"
    found = call("show", place, "--json")
    missing, *notes = json.loads(found.stdout)["notes"]
    assert missing.startswith(said)
    assert json.loads(found.stdout) | {"notes": notes} == there
    shown = " ".join(call("show", place).stdout.split())
    assert f"- {said}" in shown
    assert "a 0.2, b 0.1; b at most 9/10 of the rounds." in shown
    assert "From the first decision after 2999-12-01 00:00 UTC: a at least 1/10 of the rounds; b at least 3/10" in shown
    assert call("report", place, "--out", page).exit_code == 0
    assert html.escape(said) in page.read_text()
    assert said not in html.unescape(reported)


ALIKE = {
    "a number": lambda by: 1e6 * (1 + by),
    "an array": lambda by: np.array([1e6, by * 100, np.nan, np.inf]),
    "nested": lambda by: {"coef": [(1.0, 2.0 - by)], "intercept": math.nan},
}
"""What a learner may remember, off by a part of it."""
REMEMBERED = [
    *((form(0.0), form(1e-7), True) for form in ALIKE.values()),
    *((form(0.0), form(1e-4), False) for form in ALIKE.values()),
    *(({"a": 1.0}, {"b": 1.0}, False), (b"1.0000", b"1.0001", False)),
    *((np.ones(2), np.ones(2, np.float32), False), (np.array([10**7]), np.array([10**7 + 1]), False)),
]
learned = None


def learn(learner, index, reward):
    learner[1] = learned


@pytest.mark.parametrize(("first", "then", "alike"), REMEMBERED)
def test_only_numbers_that_a_learner_remembers_may_differ_and_by_a_millionth(first, then, alike, monkeypatch):
    monkeypatch.setitem(globals(), "learned", first)
    learner = Adapter([0, None], choose=choose, update=learn, dump=list, load=list)
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(learner, {"a": 0.2, "b": 0.4}))
    study.tell(study.ask(), 1.0)
    study.state.snapshot()
    monkeypatch.setitem(globals(), "learned", then)
    found = study.verify()
    assert (found.ok, found.repeated) == (alike, "all")
    said = "the learner from elsewhere remembers differ after replay by up to a millionth"
    assert (said in " ".join(found.notes)) == alike
    assert alike or "differs from the state after replay" in found.problems[0]


FREE, PLACE = [], []


def choose_where_nobody_waits(learner):
    store = sqlite3.connect(PLACE[-1], timeout=0, isolation_level=None)
    try:
        store.execute("BEGIN IMMEDIATE")
        FREE.append(True)
    except sqlite3.OperationalError:
        FREE.append(False)
    store.close()
    return learner[0]


def test_a_learner_s_first_choice_which_compiles_and_imports_keeps_nobody_waiting(tmp_path):
    """Nobody could write for a minute; later choices are short."""
    PLACE.append(tmp_path / "shop.evenhand")
    learner = Adapter([0], choose=choose_where_nobody_waits, update=update, dump=list, load=list)
    with Study.create(PLACE[-1], eh.quotas.DeadlineLearn(learner, {"a": 0.2, "b": 0.4})) as study:
        study.ask()
        assert FREE[0]
        assert not FREE[-1]
    FREE.clear()
    with Study.open(PLACE[-1]) as study:
        study.ask()
        assert FREE[-2:] == [True, False]
        study.ask()
        assert FREE[-1:] == [False]


def permuted(learner):
    return SHUFFLES.permutation(3).tolist()


SHUFFLES = np.random.default_rng(3)


def test_a_learner_that_does_not_repeat_itself_is_refused_before_anything_is_decided():
    """Two asks would let a third of these studies pass, ten let one of 19,683."""
    learner = Adapter([0], choose=permuted, update=update, dump=list, load=list)
    for number in range(12):
        policy = eh.quotas.DeadlineLearn(learner, {"a": 0.2, "b": 0.0, "c": 0.0})
        study = Study.create(":memory:", policy, expire_after="1m" if number % 2 else None)
        with pytest.raises(ArgumentError, match="learner: expected a learner that chooses the same"):
            study.ask()
        assert "ask" not in [event.kind for event in study.log.events()]


def choose_what_is_learned(learner):
    return learned


def test_a_first_decision_that_comes_out_otherwise_was_repeated_differently(monkeypatch):
    learner = Adapter([0], choose=choose_what_is_learned, update=update, dump=list, load=list)
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(learner, {"a": 0.0, "b": 0.0}))
    monkeypatch.setitem(globals(), "learned", 0)
    study.ask()
    monkeypatch.setitem(globals(), "learned", 1)
    found = study.verify()
    assert (found.ok, found.repeated, found.replayed) == (False, "differently", 0)
    assert "the log says" in found.problems[0]
    assert "repeated: differently" in repr(found)


FLIPS = np.random.default_rng(7)


def choose_anew(learner):
    """One arm at first, then another each time, whatever the state."""
    return int(FLIPS.integers(3)) if learner[0] else 0


def scores_anew(learner):
    return (FLIPS.random(3) * bool(learner[0])).tolist()


def settle(learner, index, reward):
    learner[0] = 1


def choose_among_anew(learner, arms):
    return arms[int(FLIPS.integers(len(arms))) if learner[0] else 0]


def rank_anew(learner):
    return FLIPS.permutation(3).tolist() if learner[0] else [0, 1, 2]


@pytest.mark.parametrize(
    ("answer", "said", "plays", "more"),
    [
        (choose_anew, {}, 1, {}),
        (choose_anew, {}, 1, {"lottery": 0.5}),
        (choose_anew, {"scores": scores_anew}, 1, {"priced": True}),
        (choose_anew, {"own_choices": True}, 1, {}),
        (choose_among_anew, {"among": True}, 1, {}),
        (rank_anew, {}, 2, {}),
    ],
)
def test_a_second_process_follows_the_log_where_a_learner_answers_anew(tmp_path, answer, said, plays, more):
    learner = Adapter([0], choose=answer, update=settle, dump=list, load=list, **said)
    promise = eh.Promise({"a": 0.2, "b": 0.3, "c": 0.0}, plays=plays)
    first = Study.create(tmp_path / "shop.evenhand", eh.quotas.DeadlineLearn(learner, promise, seed=1, **more))
    second = Study.open(tmp_path / "shop.evenhand")
    first.tell(first.ask(), 1.0 if plays == 1 else [1.0] * plays)

    warning = "learner: asked again about entry [0-9]+ of the log, it answers .* followed"
    with pytest.warns(UserWarning, match=warning):  # noqa: PT031
        for one in (first, second) * 20:
            one.ask(count=2)
    assert first.state.now().bytes() == second.state.now().bytes()
    found = first.verify()
    assert (found.promise_kept, found.ok) == (True, False)  # it does not repeat itself, and verify says where
    assert found.as_dict()["repeated"] == found.repeated == "differently"
    assert "the log says" in found.problems[0]
