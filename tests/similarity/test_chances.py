"""From answers to chances: the best under which nobody is treated more differently than the answers allow."""

import functools

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, ExhaustedError, TableError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import MomentDistance, PairQueue, chances, extension, program

DRAWS = np.random.default_rng(3)
PEOPLE = pd.DataFrame({"age": DRAWS.integers(20, 40, 40), "skill": DRAWS.integers(1, 5, 40)})
REWARDS = PEOPLE["skill"] + DRAWS.normal(size=40)
TRUE = np.diag([0.6, 1.4])


def judged(answers):
    """Return a queue that was answered by one metric."""
    return from_bytes(answered(answers))


@functools.cache
def answered(answers):
    queue = PairQueue(PEOPLE, REWARDS, seed=1)
    for _ in range(answers):
        try:
            task = queue.ask()
        except ExhaustedError:
            break
        true = distances(queue)[tuple(map(int, task.item.split("-")))]
        queue.tell(task, "unfair" if true < task.gap else "acceptable")
    return to_bytes(queue)


def distances(queue, people=PEOPLE):
    rows = queue.scale(people)
    return np.linalg.norm((rows[:, None] - rows) @ TRUE, axis=2)


def test_without_answers_all_are_treated_alike_and_more_answers_raise_the_mean():
    means = []
    for answers in (0, 12, 60):
        found = judged(answers).chances(places=6)
        assert found.chances.sum() == pytest.approx(6)
        means.append(found.mean)
        assert (len(found.unknown) > 0) == (answers < 60)
    assert means[0] == pytest.approx(found.lot)
    assert means == sorted(means)
    assert means[2] > found.lot + 0.1
    assert means[2] < found.best


def test_nobody_is_treated_more_differently_than_the_judge_allows_and_no_chances_are_better():
    queue = judged(60)
    found = queue.chances(places=6)
    apart = np.abs(found.chances[:, None] - found.chances)
    assert (apart <= distances(queue) + 1e-9).all()
    low = queue.policy.distances(queue._rows)[0]
    best = program._by_highs(REWARDS.to_numpy() - REWARDS.min() + 1, low, 6.0, np.ones(40))
    assert found.mean == pytest.approx(best.probabilities @ REWARDS / 6, abs=1e-6)


@pytest.mark.parametrize(("rewards", "places"), [(None, 40), (np.ones(40), 6)], ids=["a place for all", "all alike"])
def test_no_pair_holds_the_mean_back_where_nothing_can_be_gained(rewards, places):
    found = judged(12).chances(PEOPLE, rewards, places=places)
    assert found.mean == pytest.approx(found.best)
    assert found.unknown.empty


def test_the_unknown_pairs_are_those_that_hold_the_mean_back():
    queue = judged(12)
    found = queue.chances(places=6)
    one = found.unknown.iloc[0]
    low, _, high = queue.policy.metric.bounds(*queue._rows[[int(one.one), int(one.other)]])
    assert (low, high) == pytest.approx((one.low, one.high))
    assert high - low > 0.02
    assert abs(found.chances[int(one.one)] - found.chances[int(one.other)]) == pytest.approx(low, abs=1e-9)
    assert "pairs of different people the distance is not known to within 0.02 yet" in found.notes[-1]


def test_other_people_are_judged_on_the_same_scale_and_their_rewards_predicted():
    queue = judged(60)
    others = pd.DataFrame({"name": ["ann", "bob", "cid"], "skill": [4, 1, 1], "age": [30, 30, 60]})
    found = queue.chances(others, places=1)
    assert found.chances[0] > found.chances[1]
    assert (np.abs(found.chances[:, None] - found.chances) <= distances(queue, others) + 1e-9).all()
    assert any("predicted" in note for note in found.notes)
    assert any(note.startswith("1 of these people are farther out than anybody audited") for note in found.notes)
    told = queue.chances(others, [0.0, 5.0, 0.0], places=1)
    assert told.chances[1] == told.chances.max()
    assert not any("predicted" in note for note in told.notes)
    assert queue.chances(others[["age", "skill"]].to_numpy(), places=1).chances.tolist() == found.chances.tolist()
    assert queue.chances(others.iloc[:1], places=1).chances.tolist() == [1.0]


def test_the_caveats_of_answers_stand_with_the_chances():
    queue = judged(12)
    assert any("no answer is wrong" in note for note in queue.chances().notes)
    far, near = int(PEOPLE["age"].argmax()), int(PEOPLE["age"].argmin())
    for unfair in (True, False) * 3:
        queue.judge(far, near, 0.5, unfair)
    found = queue.chances()
    assert any("distances are unknown: up to" in note for note in found.notes)
    assert not any("no answer is wrong" in note for note in found.notes)
    np.testing.assert_allclose(found.chances, 1 / 40)


def test_a_draw_fills_the_places_and_gives_everybody_their_chance():
    found = judged(60).chances(places=6)
    drawn = np.zeros(40)
    for seed in range(2000):
        chosen = found.draw(seed)
        assert len(set(chosen.tolist())) == 6
        drawn[chosen] += 1
    spread = np.sqrt(found.chances * (1 - found.chances) / 2000)
    assert (np.abs(drawn / 2000 - found.chances) <= 4.5 * spread + 1e-12).all()
    assert found.draw(7).tolist() == found.draw(7).tolist()


@pytest.mark.parametrize(
    ("given", "named", "refusal", "says"),
    [
        ((), {"places": 41}, ArgumentError, "places: expected a whole number >= 1 and <= 40"),
        ((), {"places": 0}, ArgumentError, "places: expected"),
        ((PEOPLE[["age"]],), {}, TableError, "skill"),
        (([[1.0]],), {}, ArgumentError, "people: expected 2 features"),
        ((PEOPLE, [1.0, 2.0]), {}, ArgumentError, "rewards: expected 40 numbers, one per person, got 2"),
    ],
)
def test_what_has_no_chances_is_refused(given, named, refusal, says):
    with pytest.raises(refusal, match=says):
        PairQueue(PEOPLE, REWARDS, seed=1).chances(*given, **named)


def test_an_answer_to_no_question_is_kept_as_the_others_are():
    queue = PairQueue(PEOPLE, REWARDS, seed=1)
    number = queue.judge(5, 2, 0.3, True, auditor="ann")
    assert queue.answers.to_numpy().tolist() == [[number, 2, 5, 0.3, "unfair", "ann", 0.0]]
    later = from_bytes(to_bytes(queue))
    later.tell(later.ask(annotator="ann"), "withdraw", annotator="ann")
    assert later.answers.empty
    with pytest.raises(ArgumentError, match="other: expected a whole number >= 0 and <= 39"):
        queue.judge(0, 40, 0.3, True)


@pytest.mark.compiled
@pytest.mark.parametrize(("structure", "d"), [("symmetric", 1), ("symmetric", 2), ("symmetric", 3), ("absolute", 3)])
def test_no_distance_falls_below_the_norm_that_many_people_are_compared_by(structure, d, monkeypatch):
    """In any direction, against the least distance by the linear programs of the learner."""
    monkeypatch.setattr(extension, "DIRECTIONS", 600)
    draws, weights, learner = np.random.default_rng(d), [0.5, 0.3, 0.6][:d], MomentDistance(structure=structure)
    true = (lambda z: np.abs(z) @ weights) if structure == "absolute" else (lambda z: np.linalg.norm(z * weights))
    for _ in range(60):
        z = draws.uniform(-0.5, 0.5, size=d)
        gap = float(true(z) * draws.uniform(0.7, 1.3))
        learner.verdict(z, np.zeros(d), min(gap, 1.0), bool(true(z) < gap))
    norm = extension.largest_fair_norm([learner], d)
    ratios = []
    for z in draws.normal(size=(300, d)):
        z *= 0.3 / np.linalg.norm(z)
        low = learner.bounds(z, np.zeros(d))[0]
        ratios.append(float(norm.between(z[None], np.zeros((1, d)))[0, 0]) / low)
    assert max(ratios) <= 1.0 + 1e-7
    assert np.median(ratios) > (0.4 if d == 3 and structure == "symmetric" else 0.8)


@pytest.mark.compiled
def test_many_people_get_chances_nearly_as_good_as_those_of_the_program_and_as_fair(monkeypatch):
    queue = judged(60)
    draws = np.random.default_rng(2)
    people = pd.DataFrame({"age": draws.uniform(20, 40, 400), "skill": draws.uniform(1, 5, 400)})
    exact = queue.chances(people, places=40)
    monkeypatch.setattr(chances, "MOST_DIFFERENT", 100)
    monkeypatch.setattr(extension, "STAND_FOR", 100)
    found = queue.chances(people, places=40)
    apart = np.abs(found.chances[:, None] - found.chances)
    assert (apart - distances(queue, people)).max() <= 1e-9
    assert found.chances.sum() == pytest.approx(40, abs=1e-6)
    assert found.mean <= exact.mean + 1e-9
    assert found.mean - found.lot > 0.98 * (exact.mean - exact.lot)
    assert any(
        note.startswith("Chances were computed for 100 of the 400 people and extended to all") for note in found.notes
    )
    assert len(set(found.draw(1).tolist())) == 40
