"""What a careful user should know stands with everything that a sampler, a queue or a certification shows."""

import numpy as np
import pytest

from evenhand.sampling import ArrayPool, LabelQueue, LogisticModel, UniformSampler, collect, progress_table

pytestmark = pytest.mark.compiled


def test_what_is_finished_and_the_table_of_risks_carry_the_notes_of_their_sampler():
    """Of two groups one had three rows."""
    draws = np.random.default_rng(0)
    pool = ArrayPool(draws.normal(size=(43, 2)), draws.integers(0, 2, 43), group=["u"] * 40 + ["v"] * 3)
    pool.reset(0)
    sampler = UniformSampler(pool.groups, classes=[0, 1], seed=0)
    collect(sampler, pool, rounds=10)
    finished = sampler.finish()
    assert "the pool of 'v' is empty after 3 rows" in sampler.notes
    assert finished.notes == tuple(sampler.notes)
    model, _, rounds, labels, _ = finished
    assert (model, rounds, labels) == (finished.model, 10, sampler.labels)
    assert sampler.risks.attrs == {"notes": sampler.notes}


def test_a_certification_says_which_rows_ran_out():
    X = np.array([[-1.0], [1.0]] * 10)
    model = LogisticModel(C=100.0).fit(X, [0, 1] * 10)
    check = UniformSampler(["u", "v"], classes=[0, 1], seed=0)
    check.tell(check.ask(), X[:2], [0, 1])
    check = check.certify(threshold=0.4, batch=200, model=model)
    assert check.notes == []
    check.tell(check.ask(), np.ones((200, 1)), [1] * 200)
    while check.verdict == "undecided":
        check.tell(check.ask(), np.zeros((0, 1)), [])
    assert check.verdict == "not_shown"
    assert check.notes == ["no fresh row of 'v' is left after 0 that counted: its risk is not shown"]
    assert check.risks.attrs["notes"] == check.notes
    check.retire("u")
    assert check.notes[0] == "no fresh row of 'u' is left after 200 that counted: its risk is decided: certified"


def test_a_queue_says_which_items_ran_out():
    draws = np.random.default_rng(0)
    queue = LabelQueue(range(44), draws.normal(size=(44, 2)), groups=["u"] * 40 + ["v"] * 4, seed=0)
    for number in range(16):
        (item,) = queue.ask(1)
        queue.tell(item, number // 2 % 2)
    assert queue.notes == [
        "no item of 'v' is left to train with",
        "1 of 2 groups, with 9% of the rows, have too few items to train and to validate: 'v'.",
        "no item of 'v' is left to validate with",
    ]
    assert queue.risks.attrs["notes"] == progress_table(queue).attrs["notes"] == queue.notes
