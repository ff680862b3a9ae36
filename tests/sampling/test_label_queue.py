"""A queue of items to label: every label counts at once, validation stays uniform, nothing that is late holds it up."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC

import evenhand as eh
from evenhand import errors
from evenhand.sampling import (
    EstimatorModel,
    GreedySampler,
    LabelQueue,
    OptimisticSampler,
    agreement_table,
    annotations_table,
    labelled_table,
    progress_table,
)
from tests.sampling.labelled_items import LabelledItems, labelled_in

pytestmark = pytest.mark.compiled

WORLD = LabelledItems(items=240, seed=3)
TRUE = dict(zip(WORLD.ids, WORLD.labels.tolist(), strict=True))


def made(**given):
    return LabelQueue(WORLD.ids, WORLD.features, groups=WORLD.groups, **{"seed": 1, **given})


def counted(queue):
    return progress_table(queue).sum().to_dict()


@pytest.mark.parametrize("choice", ["uncertainty", "uniform"])
def test_every_item_is_asked_once_and_half_of_the_labels_train(choice):
    queue = made(choice=choice)
    seen = []
    while True:
        try:
            ids = queue.ask(7)
        except errors.ExhaustedError:
            break
        seen += ids
        for one in ids:
            queue.tell(one, TRUE[one])
    assert len(seen) == len(set(seen))
    table = labelled_table(queue)
    assert dict(zip(table["id"], table["label"], strict=True)) == {one: TRUE[one] for one in seen}
    assert abs(queue.sampler.training.count - queue.sampler.validation.count) <= len(queue.groups)
    assert len(seen) >= 200
    assert (queue.sampler.labels, queue.open_tickets) == (len(seen), [])


def test_a_label_counts_although_the_rest_of_its_draw_is_open():
    queue = made(sampler=OptimisticSampler(["easy", "hard"], batch=3, seed=1))
    first, *_ = ids = queue.ask(6)
    queue.tell(first, TRUE[first])
    assert queue.sampler.training.count + queue.sampler.validation.count == 1
    assert queue.sampler.rounds == 0
    assert len(queue.sampler.open_tickets) == 1
    for one in ids[1:]:
        queue.tell(one, TRUE[one])
    assert (queue.sampler.training.count, queue.sampler.validation.count) == (3, 3)
    assert (queue.sampler.rounds, queue.sampler.open_tickets) == (1, [])


@pytest.mark.parametrize("choice", ["uncertainty", "uniform"])
def test_what_validates_depends_on_no_label_and_no_choice(choice):
    """The validation items of a group are a fixed random order of half of it, whatever the model thinks."""
    queue, other = made(choice=choice), made(choice="uniform", sampler=GreedySampler(["easy", "hard"], seed=5))
    for one in queue.ask(80):
        queue.tell(one, TRUE[one])
    for one in other.ask(80):
        other.tell(one, 1 - TRUE[one])
    for group in ("easy", "hard"):
        mine, theirs = (
            rows["id"][rows["group"] == group].tolist()
            for rows in (labelled_in(queue, "validation"), labelled_in(other, "validation"))
        )
        short = min(len(mine), len(theirs))
        assert short >= 5
        assert mine[:short] == theirs[:short]


def test_uncertain_items_are_those_near_the_boundary():
    sure, any = made(choice="uncertainty"), made(choice="uniform")
    for queue in (sure, any):
        for _ in range(80):
            (one,) = queue.ask(1)
            queue.tell(one, TRUE[one])
    features = dict(zip(WORLD.ids, WORLD.features, strict=True))
    model = sure.sampler.model

    def certainty(queue):
        rows = np.array([features[one] for one in labelled_in(queue, "training")["id"][20:]])
        return np.abs(model.predict_proba(rows)[:, 1] - 0.5).mean()

    assert certainty(sure) < 0.6 * certainty(any)


def test_a_rejected_item_is_replaced_in_its_draw_and_its_group_stays():
    queue = made()
    task = queue.ask()
    queue.tell(task, None)
    again = queue.ask()
    while again.purpose != task.purpose:
        again = queue.ask()
    assert again.group == task.group
    assert again.item != task.item
    assert len(queue.sampler.open_tickets) == 1
    assert counted(queue)["rejected"] == 1
    assert not queue.notes
    with pytest.raises(errors.ClosedTicketError, match="rejected before"):
        queue.tell(task.item, 1)


def test_late_labels_hold_nothing_up_and_a_forgotten_item_comes_again():
    queue = made()
    late = queue.ask(4)
    for _ in range(30):
        (one,) = queue.ask(1)
        queue.tell(one, TRUE[one])
    assert counted(queue)["open"] == 4
    for one in late[:3]:
        queue.tell(one, TRUE[one])
    queue.forget(late[3])
    while late[3] not in queue.ask(1):
        pass


def test_an_item_of_several_annotators_that_is_taken_back_begins_anew():
    queue = made(annotators=2)
    queue.forget(queue.ask())
    for _ in range(60):
        task = queue.ask()
        queue.tell(task, TRUE[task.item])
    assert queue.sampler.training.count + queue.sampler.validation.count == 30


def test_open_items_count_as_pulls():
    """With every label late, the safe start still feeds all groups in turn instead of one alone."""
    queue = made()
    asked = queue.ask(40)
    groups = pd.Series([WORLD.groups[WORLD.ids.index(one)] for one in asked]).value_counts()
    assert groups.min() >= 4


@pytest.mark.parametrize("corrected", [False, True])
def test_several_annotators_label_an_item_and_a_tie_asks_one_more(corrected):
    queue = made(annotators=2)
    (item,) = queue.ask(1, annotator="ann")
    assert queue.ask(1, annotator="bob") == [item]
    with pytest.raises(errors.UnknownTicketError, match="ann, bob"):
        queue.tell(item, 1, annotator="cid")
    queue.tell(item, 1, annotator="ann")
    queue.tell(item, int(corrected), annotator="bob")
    if corrected:
        queue.correct(item, 0, annotator="bob")
    assert queue.sampler.training.count == corrected
    assert queue.ask(1, annotator="ann") != [item]
    assert queue.ask(1, annotator="cid") == [item]
    queue.tell(item, 0, annotator="cid")
    table = labelled_table(queue)
    assert table[["id", "label"]].values.tolist() == [[item, 0]]
    assert agreement_table(queue).loc["bob", "cid"] == 1.0
    assert agreement_table(queue).loc["ann", "bob"] == 0.0
    assert annotations_table(queue)["annotator"].tolist() == ["ann", "bob", "cid"]


@pytest.mark.parametrize("part", ["training", "validation"])
def test_a_corrected_label_is_as_if_it_had_been_told_so(part):
    """Refits are exact, so the model and the risks equal those of a queue that was told the right label at once."""
    queue, right = (made(choice="uniform", sampler=eh.sampling.UniformSampler(["easy", "hard"], seed=1)) for _ in "ab")
    wrong = None
    for _ in range(60):
        task, same = queue.ask(), right.ask()
        assert task == same
        flip = wrong is None and task.round > 20 and task.purpose == part
        wrong = task.item if flip else wrong
        queue.tell(task, 1 - TRUE[task.item] if flip else TRUE[task.item])
        right.tell(same, TRUE[same.item])
    told, other = (labelled_in(q, part).set_index("id")["label"] for q in (queue, right))
    assert told[told != other].index.tolist() == [wrong]
    if part == "training":
        queue.ask_again([wrong])
        for _ in range(2):
            (one,) = queue.ask(1)
            queue.tell(one, TRUE[one])
    else:
        with pytest.raises(errors.UnknownTicketError, match="bob has not labelled"):
            queue.correct(wrong, TRUE[wrong], annotator="bob")
        queue.correct(wrong, TRUE[wrong])
    np.testing.assert_allclose(
        queue.sampler.model.predict_proba(WORLD.features), right.sampler.model.predict_proba(WORLD.features), atol=1e-7
    )
    pd.testing.assert_frame_equal(queue.risks, right.risks)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ids": "photos"}, "ids: expected a list of ids"),
        ({"ids": WORLD.ids[:-1]}, "features: expected 239 rows"),
        ({"ids": [*WORLD.ids[:-1], WORLD.ids[0]]}, "ids: expected each id once, got 'item 0'"),
        ({"ids": [None, *WORLD.ids[1:]]}, "ids: expected text or whole numbers"),
        ({"ids": [], "features": np.zeros((0, 2)), "groups": []}, "ids: expected at least one item"),
        ({"groups": ["one"] * 240}, "groups: expected at least two groups"),
        ({"features": WORLD.features * np.nan}, "finite"),
        ({"choice": "clever"}, "choice"),
        ({"annotators": 0}, "annotators: expected a whole number >= 1"),
        ({"sampler": "greedy"}, "sampler: expected a sampler"),
        ({"groups": WORLD.groups[:5]}, "groups: expected 240 labels"),
        ({"content": ["text"]}, "content: expected 240 texts"),
        ({"sampler": OptimisticSampler(["x", "y"])}, "sampler: expected one of the groups"),
        ({"sampler": OptimisticSampler(["easy", "hard"], EstimatorModel(LinearSVC()))}, "probabilities"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, words):
    whole = {"ids": WORLD.ids, "features": WORLD.features, "groups": WORLD.groups, "seed": 1, **given}
    with pytest.raises(errors.EvenhandError, match=words):
        LabelQueue(**whole)


def test_a_sampler_that_has_learned_is_refused():
    sampler = OptimisticSampler(["easy", "hard"], seed=1)
    sampler.ask()
    with pytest.raises(errors.ArgumentError, match="fresh"):
        made(sampler=sampler)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda q: q.tell("nothing", 1), errors.UnknownTicketError),
        (lambda q: q.tell("item 0", 1), errors.UnknownTicketError),
        (lambda q: q.tell(["item 0"], 1), errors.UnknownTicketError),
        (lambda q: q.ask(0), errors.ArgumentError),
        (lambda q: q.ask(2, annotator=3), errors.ArgumentError),
        (lambda q: q.ask_again(["item 0"]), errors.ArgumentError),
        (lambda q: made(seed=9).tell(q.ask(), 1), errors.ForeignTicketError),
    ],
)
def test_calls_that_cannot_be_meant_are_refused(call, kind):
    with pytest.raises(kind):
        call(made())


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"choice": "uniform", "annotators": 2}], ids=["alone", "two annotators"])
def test_it_keeps_the_contract(how):
    world = LabelledItems(items=3000, seed=0)
    queue = LabelQueue(world.ids, world.features, groups=world.groups, seed=1, **how)
    assert "save and load" in {check.name for check in eh.check_policy(queue, world) if not check.skipped}
