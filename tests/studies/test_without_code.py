"""Verification where the learner's code is not: everything but its choices is checked."""

import itertools

import pytest
from sqlalchemy import select

import evenhand as eh
from evenhand.errors import ArgumentError, StateFileError
from evenhand.learners import Adapter, functions
from evenhand.studies import Study
from evenhand.studies.store.schema import EVENTS
from tests.cli.shell import call
from tests.studies.test_verify import Stingy, change, entries, rewritten, without_snapshots


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
    assert study.verify().repeated == "all"
    study.close()
    for function in (choose, update):
        monkeypatch.delitem(functions._known, functions._path(function))
    return Study.open(tmp_path / "shop.evenhand")


def test_all_but_the_choices_is_checked(foreign):
    found = foreign.verify()
    assert (found.ok, found.repeated, found.replayed, found.entries) == (True, "none", 0, 10)
    assert (found.decisions, found.told, found.promise_kept) == (5, 5, True)
    assert found.notes[0].startswith(f"the learner's choices were not repeated: its module {__name__} is not here")
    assert found.as_dict()["repeated"] == "none"
    assert found.mark is None
    with pytest.raises(StateFileError, match=f"one that this process has loaded, got '{__name__}:choose'"):
        foreign.ask()


@pytest.mark.parametrize("digests", ["as they were", "computed anew"])
@pytest.mark.parametrize(
    ("chances", "wrong"),
    [
        ("[0.1,0.9]", False),
        ("[0.05,0.95]", True),
        ("[1.2,-0.2]", True),
        ("[0.3,0.3]", True),
        ("[]", True),
        ('["x",1]', True),
        ("[1.0]", True),
        ("[0.0,1.0]", None),
    ],
)
def test_chances_that_cannot_be_are_found(foreign, chances, wrong, digests):
    log = entries(foreign)
    before = log[2]["decision"]
    start = before.index('"probabilities":') + len('"probabilities":')
    played = int(before[before.index('"index":') + len('"index":')])
    log[2]["decision"] = before[:start] + chances + before[before.index("]", start) + 1 :]
    if wrong is None:  # a chance of 0 may be one of an arm that cannot be played, never of the one that was
        wrong = played == 0
    if digests == "as they were":
        change(foreign, 3, decision=log[2]["decision"])
        assert foreign.verify().problems[0] == "entry 3 was changed after it was written: its digest does not match"
        return
    without_snapshots(foreign)
    rewritten(foreign, log)
    problems = foreign.verify().problems
    assert bool(problems) is wrong
    if wrong:
        assert problems[0].startswith("entry 3, ask 2: these cannot be its chances: [")


def test_of_a_policy_that_is_not_here_chain_and_counts_are_checked(scratch_registry, monkeypatch):
    scratch_registry(Stingy)
    study = Study.create(":memory:", Stingy(until=6), name="stingy")
    study.ask(count=8)
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
    with foreign.store.reading() as connection:
        given = connection.scalar(select(EVENTS.c.given).where(EVENTS.c.sequence == 2))
    change(foreign, 2, given=given + " ")
    assert call("verify", place).exit_code == 1


CALLS = itertools.count()


def never_alike(learner):
    return next(CALLS) % 2


def with_noise(learner):
    """What the learner remembers, and something that differs each time, as the last bits of a fit do."""
    return [*learner, next(CALLS) * 1e-16]


def without_noise(dumped):
    return list(dumped[:1])


@pytest.mark.parametrize("after", [None, "1m"])
def test_a_learner_that_does_not_repeat_itself_is_refused_before_anything_is_decided(after):
    learner = Adapter([0], choose=never_alike, update=update, dump=list, load=list)
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(learner, {"a": 0.0, "b": 0.0}), expire_after=after)
    with pytest.raises(ArgumentError, match="learner: expected a learner that chooses the same"):
        study.ask()
    assert "ask" not in [event.kind for event in study.log.events()]


def test_a_fit_that_differs_in_its_last_bits_is_no_wrong_log(monkeypatch):
    monkeypatch.setattr("evenhand.studies.log.replay.ENTRIES", 4)
    learner = Adapter([0], choose=choose, update=update, dump=with_noise, load=without_noise)
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(learner, {"a": 0.2, "b": 0.4}))
    for reward in (1.0, 0.0, 1.0, 1.0, 0.0):
        study.tell(study.ask(), reward)
    found = study.verify()
    assert (found.ok, found.repeated) == (True, "all")
    assert "remembers something else after replay" in " ".join(found.notes)
    log = entries(study)
    log[1]["given"] = '{"reward":0.0}'  # the learner then chooses the other arm
    rewritten(study, log)
    assert not study.verify().ok
