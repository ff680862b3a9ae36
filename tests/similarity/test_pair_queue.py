"""A queue of questions for auditors: every answer counts at once, several people audit, and any answer can go."""

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.errors import ArgumentError, ClosedTicketError, ExhaustedError, UnknownTicketError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import PairQueue
from evenhand.studies import Store, Study

DRAWS = np.random.default_rng(0)
FEATURES, REWARDS = DRAWS.normal(size=(30, 2)), DRAWS.integers(0, 2, 30)


def queue(**more):
    return PairQueue(FEATURES, REWARDS, **{"seed": 1, **more})


def answered(asked, turns, slip=-1, names=("ann", "bob")):
    """Let auditors answer by one metric, but for one answer."""
    for turn in range(turns):
        who = names[turn % len(names)]
        task = asked.ask(annotator=who)
        one, other = map(int, task.item.split("-"))
        true = np.linalg.norm(np.array([0.5, 0.1]) * (asked._rows[one] - asked._rows[other]))
        asked.tell(task, "unfair" if (true < task.gap) != (turn == slip) else "acceptable", annotator=who)
    return asked


def test_each_question_goes_to_two_auditors_and_to_none_twice():
    asked = answered(queue(auditors=2), 12)
    table = asked.answers
    by_pair = table.groupby(["one", "other", "gap"])["auditor"].apply(list)
    assert len(by_pair) == 6
    assert all(sorted(who) == ["ann", "bob"] for who in by_pair)
    assert asked.policy.metric.guarantee == "certified"
    mine, theirs = asked.ask(annotator="ann"), asked.ask(annotator="bob")
    assert mine.item != theirs.item


def test_answers_are_withdrawn_by_the_auditor_who_gave_them():
    asked = answered(queue(), 6)
    before = asked.answers
    task = asked.ask(annotator="ann")
    asked.tell(task, "withdraw", annotator="ann")
    assert asked.answers["number"].tolist() == [n for n in before["number"] if n != 5]
    asked.tell(asked.ask(annotator="ann"), "withdraw 1", annotator="ann")
    assert asked.answers["number"].tolist() == [2, 3, 4, 6]
    task = asked.ask(annotator="ann")
    with pytest.raises(ArgumentError, match="number: expected the number of one of your answers"):
        asked.tell(task, "withdraw 2", annotator="ann")
    with pytest.raises(ArgumentError, match="number: expected an earlier answer of yours"):
        asked.tell(task, "withdraw", annotator="cid")
    asked.tell(task, None, annotator="ann")
    with pytest.raises(ClosedTicketError, match="told or forgotten before"):
        asked.tell(task, "unfair")


def test_a_queue_goes_on_exactly_where_it_was_saved():
    one = answered(queue(auditors=2), 7, slip=5)
    held = one.ask(annotator="cid")
    other = from_bytes(to_bytes(one))
    for asked in (one, other):
        asked.tell(held.id, "acceptable")
        answered(asked, 2)
    assert to_bytes(one) == to_bytes(other)
    assert one.fresh().answers.empty
    assert one.answers["auditor"].tolist().count("cid") == 1


def test_what_is_wrong_is_refused_by_name():
    for arguments, words in [
        ((FEATURES, REWARDS[:4]), "rewards: expected 30 numbers"),
        ((FEATURES, REWARDS, [{"age": 3}]), "people: expected 30 dicts"),
        ((FEATURES, REWARDS, [{"age": 3}] * 29 + [{"height": 3}]), r"people\[29\]: expected the names age"),
        (([["x", 1]], [1]), "features: expected"),
    ]:
        names = dict(zip(("features", "rewards", "people"), arguments, strict=False))
        with pytest.raises(ArgumentError, match=words):
            PairQueue(names.pop("features"), names.pop("rewards"), **names)
    for more in ({"individuals": 1}, {"auditors": 0}, {"errors": 0.5}):
        with pytest.raises(ArgumentError, match=f"{next(iter(more))}: expected"):
            queue(**more)
    asked = queue()
    task = asked.ask()
    for label in ("maybe", 3, True, "withdrawal"):
        with pytest.raises(ArgumentError, match='label: expected "unfair", "acceptable"'):
            asked.tell(task, label)
    with pytest.raises(UnknownTicketError, match="pairtask: expected a PairTask or its id"):
        asked.tell("1", "unfair")
    with pytest.raises(ArgumentError, match="auditor: expected a name"):
        asked.ask(annotator=" ")
    asked.forget(task)
    assert asked.ask().item == task.item
    with pytest.raises(ExhaustedError, match="nothing is left to ask for"):
        PairQueue([[1.0], [1.0]], [1, 1], individuals=2, seed=1).ask()


def test_a_study_of_questions_is_replayed_exactly(tmp_path):
    with Study.create(str(tmp_path / "audit.evenhand"), queue(auditors=2), name="audit") as study:
        for turn in range(9):
            who = "ab"[turn % 2]
            task = study.ask(annotator=who)
            study.tell(task.id, ["unfair", "acceptable", "withdraw", None][0 if turn < 5 else turn % 4], annotator=who)
    with Study.open(str(tmp_path / "audit.evenhand"), "audit") as study:
        assert study.verify().ok
        assert len(study.policy.answers) >= 5
    assert Store.at(tmp_path / "audit.evenhand")


@pytest.mark.parametrize(("errors", "compatible"), [(0.0, False), (0.05, False), (0.1, True)])
def test_answers_end_the_audit_only_where_so_many_wrong_ones_are_unlikely(errors, compatible):
    """Of 24 answers about one pair 5 say the opposite: of one wrong in ten as many are wrong in 8 of 100 audits."""
    assert binom.sf(4, 24, 0.1) > 0.08 > 0.01 > binom.sf(4, 24, 0.05)
    asked = PairQueue([[0.1, 0.3], [0.5, 0.2], [0.9, 0.9]], [0, 1, 1], individuals=2, errors=errors, seed=1)
    for n in range(24):
        asked.judge(0, 2, 0.4, n % 5 > 0)
    assert (asked.fits, asked.ended) == (compatible, not compatible)
    assert compatible or asked.form.startswith("No form of distance fits the answers: 5 of 24 answers contradict")
    assert compatible or asked.doubted == [1, 6, 11, 16, 21]
