"""Jurors whose differences add, or are a root of squares, or neither: only what answers support is promised."""

import math
import re

import numpy as np
import pytest

from evenhand.errors import ExhaustedError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import PairQueue, PosteriorDistance, forms
from evenhand.similarity.forms import contradicting

pytestmark = [pytest.mark.compiled, pytest.mark.slow]

WEIGHTS = np.array([0.5, 0.3, 0.2])
JURORS = {
    "sum": lambda away: np.abs(away) @ WEIGHTS[: len(away)],
    "root": lambda away: np.linalg.norm(1.3 * away * WEIGHTS[: len(away)]),
    "largest": lambda away: np.abs(away * WEIGHTS[: len(away)]).max(),
    "step": lambda away: 0.1 if abs(away[0]) < 0.2 else 0.4,
}


def asked(juror, dimension, most=150, right=math.inf, trusted=False, **more):
    """Return a queue that a juror answered as long as it asks, and the distances of all pairs by this juror, who is
    wrong after so many right answers, again and again. Gaps are read in tenths of a percentage point; a `trusted`
    juror's answers are never doubted."""
    draws = np.random.default_rng(3)
    people = draws.normal(size=(30, dimension))
    queue = PairQueue(people, people.sum(axis=1) + draws.normal(size=30), seed=1, **more)
    for n in range(most):
        try:
            task = queue.ask()
        except ExhaustedError:
            break
        one, other = map(int, task.item.split("-"))
        true, read = JURORS[juror](queue._rows[one] - queue._rows[other]), float(f"{100 * task.gap:.1f}")
        assert task.gap == pytest.approx(read / 100, abs=1e-12), "what is read is what is kept"
        queue.tell(task, "unfair" if (true < read / 100) != (n % (right + 1) == right) else "acceptable")
        assert not trusted or queue.policy.metric.guarantee == "certified"
    return queue, np.array([[JURORS[juror](x - y) for x in queue._rows] for y in queue._rows])


@pytest.mark.parametrize(("juror", "structure", "dimension"), [("sum", "absolute", 3), ("root", "symmetric", 2)])
def test_no_pair_is_unfair_by_the_jurors_own_form(juror, structure, dimension):
    queue, distances = asked(juror, dimension, trusted=True)
    assert (queue.policy.metric.structure, queue.policy.metric.guarantee) == (structure, "certified")
    found = queue.chances(places=3)
    assert (np.abs(found.chances[:, None] - found.chances) <= distances + 1e-9).all()
    assert found.mean > found.lot + 0.1
    assert "no answer contradicts this form" in found.notes[0]
    assert found.notes[1].startswith("If the form holds, no two people's chances differ by more than ")
    proposed = int(re.search(r"0 of (\d+) proposed differences were called unfair\.", " ".join(found.notes))[1])
    assert 5 <= proposed < len(queue.answers)


def test_while_both_forms_agree_with_the_answers_the_smaller_distance_counts():
    queue, distances = asked("sum", 2, most=12, check=3)
    assert "agree with" in queue.form
    found = queue.chances(places=3)
    assert (np.abs(found.chances[:, None] - found.chances) <= distances + 1e-9).all()
    assert "not checked" in queue.checked


@pytest.mark.parametrize(("dimension", "most"), [(2, 50), pytest.param(3, 150, marks=pytest.mark.nightly)])
def test_where_no_form_fits_that_is_said_with_the_number_of_answers_against_each(dimension, most):
    """The juror goes by the largest difference: of three features, only the checks find that out."""
    queue, _ = asked("largest", dimension, most=most)
    assert queue.policy.metric.guarantee != "certified"
    assert queue.form.startswith("No form of distance fits ")
    least, all_ = map(int, re.search(r" (\d+)(?: to \d+)? of (\d+) answers contradict ", queue.form).groups())
    assert 0 < least < all_ == len(queue.answers)
    notes = queue.chances().notes
    assert notes[0] == f"{queue.form}."
    assert not queue.fits
    assert not any("no two people" in note for note in notes)
    assert dimension == 2 or queue.checked.endswith(": others in these chances may be unfair as well")


def test_a_juror_of_no_form_is_not_asked_on_and_on():
    queue, _ = asked("step", 2)
    assert len(queue.answers) < 60
    assert queue.ended
    with pytest.raises(
        ExhaustedError, match="people may be compared in another way; one way to explain it is that these are wrong: "
    ) as why:
        queue.ask()
    named = [int(word) for word in re.findall(r"\d+", str(why.value).split("these are wrong: ")[1].split(" and ")[0])]
    assert set(named) <= set(queue.answers["number"])
    assert not from_bytes(to_bytes(queue)).fits
    against = contradicting(queue.policy.metric.verdicts, "symmetric", 2).ids
    for number in against:
        queue.withdraw(number)
    assert (queue.ended, queue.policy.metric.guarantee) == (False, "certified")
    assert queue.ask().gap > 0


def test_once_the_wrong_answer_is_withdrawn_distances_are_certified_again():
    queue, _ = asked("root", 2, most=15)
    told = next(one for one in queue.answers.itertuples() if one.answer == "acceptable")
    queue.judge(told.one, told.other, told.gap / 2, True)
    assert queue.policy.metric.guarantee != "certified"
    assert not queue.ended, "one slip is no reason to stop"
    queue.withdraw()
    assert queue.policy.metric.guarantee == "certified"


def test_a_few_wrong_answers_leave_the_form_that_most_answers_support():
    queue, _ = asked("sum", 2, most=100, right=19, errors=0.1)
    assert queue.policy.metric.structure == "absolute"
    root, total = (int(said.split()[0]) for said in queue.form.split(": ")[1].split(", "))
    assert root > 5 >= total, "the juror erred 5 times, so that no more contradict the sum"


def test_where_answers_may_be_wrong_the_form_is_known_once_they_tell():
    queue, _ = asked("sum", 2, most=40, errors=0.1)
    assert queue.form.startswith("Distances may be a root of weighted squares of differences or a weighted sum of ")
    assert "0 and 0 of 40 answers contradict these forms, and of two distances the smaller one counts" in queue.form
    both = queue._forms.possible(queue.policy.metric)
    assert {one.structure for one in both} == {"symmetric", "absolute"}
    ends = [one.bounds(queue._rows[3], queue._rows[9]) for one in both]
    apart = (queue._rows[3] - queue._rows[9])[None]
    assert forms.hull(both, apart)[0] == min(low for low, _, _ in ends)
    queue, _ = asked("sum", 2, most=100, errors=0.1)
    assert queue.policy.metric.structure == "absolute"
    assert "of 100 answers contradict a root of weighted squares of differences, 0 a weighted sum" in queue.form
    assert max(one.wrong for one in queue.policy.suspects()) < 0.5
    again = from_bytes(to_bytes(queue))
    assert (again.form, again.tested, again.ask()) == (queue.form, queue.tested, queue.ask())


def test_a_belief_in_a_sum_of_absolute_differences_contains_the_truth():
    draws, learner = np.random.default_rng(2), PosteriorDistance(structure="absolute", radius=2.0, seed=1)
    for n in range(60):
        x, y = draws.uniform(-0.5, 0.5, size=(2, 2))
        gap = draws.uniform(0.02, 0.6)
        learner.verdict(x, y, gap, bool((JURORS["sum"](x - y) < gap) != (n % 15 == 14)))
    low, guess, high = learner.bounds([0.5, 0.5], [0.0, 0.0])
    assert low < 0.4 < high
    assert high - low < 0.3
    assert guess == pytest.approx(0.4, abs=0.1)
