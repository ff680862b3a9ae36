"""Saved files that were edited by hand: what no conversation can have saved is refused by name, never loaded."""

import io
import json
import zipfile

import numpy as np
import pytest

from evenhand.errors import StateFileError
from evenhand.groups import BiasedLinearArms, GroupFairTopInterval
from evenhand.interventions import CSR
from evenhand.learners import Thompson
from evenhand.quotas import BernoulliArms, FairLearn
from evenhand.sampling import Certification, OptimisticSampler, SyntheticModel1
from evenhand.saving.buffers import pack, unpack
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB


def saved(conversation, world, rounds=3):
    world.reset(1)
    for _ in range(rounds):
        ticket = conversation.ask(*world.observe())
        conversation.tell(ticket, *world.respond(ticket))
    conversation.ask(*world.observe())
    return to_bytes(conversation)


ARMS = BiasedLinearArms(arms=4, sensitive=2)
SAVED = {
    "quotas": saved(FairLearn(Thompson(), {"x": 0.2, "y": 0.3}, seed=1), BernoulliArms([0.3, 0.6])),
    "groups": saved(GroupFairTopInterval(ARMS.groups, "sensitive", seed=1), ARMS),
    "sampling": saved(OptimisticSampler(["u", "v"], seed=1), SyntheticModel1(instance="I")),
    "certification": saved(*next(Certification.examples())),
    "similarity": saved(*next(LipschitzUCB.examples())),
    "interventions": saved(*next(CSR.examples()), rounds=1),
}


def edited(data, path, value):
    """The file with another value at a path of the manifest; a function changes the array that stands there."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        body = json.loads(archive.read("evenhand.json"))
        arrays = unpack(body["arrays"], archive.read("arrays"))
    *way, last = path.split(".")
    place = body["object"]["snapshot"]
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    last = int(last) if isinstance(place, list) else last
    if callable(value):
        number = place[last]["$array"]
        arrays[number] = value(arrays[number])
    else:
        place[last] = value
    body["arrays"], raw = pack(arrays)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("evenhand.json", json.dumps(body))
        archive.writestr("arrays", raw)
    return buffer.getvalue()


def negative(array):
    return np.full_like(array, -7)


def gaps(array):
    return np.full_like(array, np.nan)


def narrow(array):
    return array.astype(np.float32)


def longer(array):
    return np.concatenate([array, array])


EDITS = [
    *[("quotas", "round", value) for value in (-5, 5, 3, 10**30, None, "4", True)],
    *[(which, "dimension", None) for which in ("quotas", "groups")],
    ("quotas", "state.0", negative),
    ("quotas", "state.0", lambda pulls: pulls + 1),
    ("quotas", "state.0", {"$array": -5}),
    ("quotas", "state.0", {"$array": True}),
    ("groups", "round", -5),
    *[("groups", "state.7", change) for change in (gaps, narrow, longer)],
    *[("sampling", "numbers.0", value) for value in (-5, 1, None, "4", [])],
    *[("sampling", "numbers.1", value) for value in (-5, 5, None)],
    ("sampling", "spent", "much"),
    *[("sampling", "tickets.next", value) for value in (0, 10**6)],
    *[("sampling", name, change) for name in ("draws", "asked") for change in (negative, narrow, longer)],
    *[("sampling", "training.X", change) for change in (gaps, longer)],
    *[("sampling", name, negative) for name in ("training.y", "training.group")],
    *[("sampling", f"model.snapshot.{n}", change) for n in ("coefficients", "factor") for change in (gaps, narrow)],
    ("sampling", "model.snapshot.factor", longer),
    *[("sampling", "model.snapshot.constant", value) for value in (2, "1", True)],
    *[("sampling", "model.snapshot.known", value) for value in (-1, None)],
    *[("sampling", "history", change) for change in (gaps, narrow, longer)],
    *[("sampling", "lengths", change) for change in (negative, narrow, longer)],
    *[("certification", "sums", change) for change in (negative, gaps, narrow, longer)],
    *[("certification", "counts", change) for change in (negative, narrow, longer)],
    *[("similarity", "round", value) for value in (-5, 2, None)],
    ("similarity", "tickets.next", 10**6),
    *[("similarity", "mind.2", change) for change in (gaps, narrow, longer)],
    *[("similarity", "metric.snapshot.state.0", change) for change in (narrow, lambda array: array[None])],
    ("similarity", "metric.snapshot.next", -5),
    *[("similarity", f"metric.snapshot.state.{number}", gaps) for number in (0, 1, 2, 3, 4, 10, 11)],
    *[
        ("similarity", f"metric.snapshot.state.{number}", change)
        for number in (5, 6, 7)
        for change in (negative, longer)
    ],
    ("similarity", "metric.snapshot.state.2", negative),
    ("similarity", "metric.snapshot.state.11", lambda options: options + 1.0),
    *[("similarity", "metric.snapshot.verdicts.0", entry) for entry in (None, [], "all", [1, 2, 3, 4, 5, 6])],
    *[("similarity", "metric.snapshot.verdicts.0.0", value) for value in (-1, 10**6, "1", None, True)],
    *[("similarity", f"metric.snapshot.verdicts.0.{number}", change) for number in (1, 2) for change in (gaps, longer)],
    *[("similarity", "metric.snapshot.verdicts.0.3", {"$float": value}) for value in ("nan", "-0x1p-1", "0x1p+1")],
    *[("similarity", "metric.snapshot.verdicts.0.4", value) for value in (1, None, "yes")],
    *[("similarity", "metric.snapshot.verdicts.0.5", value) for value in (-1, None, "first")],
    ("similarity", "metric.snapshot.dimension", 3),
    ("similarity", "metric", None),
    *[("interventions", "state.phase", value) for value in (-5, 10**6, None, "one")],
    ("interventions", "state.over", "yes"),
    ("interventions", "state.cost", -1),
    ("interventions", "state.remaining", longer),
    *[("interventions", "state._owed", change) for change in (gaps, narrow)],
    *[("interventions", "evidence.0.0", change) for change in (gaps, narrow, longer)],
    *[("interventions", "config.problem.candidates", labels) for labels in ([], ["now"], ["now", "now", "rich"], None)],
    *[("interventions", "config.problem.candidates.1", label) for label in (None, [], 0.5)],
    ("interventions", "config.problem.candidate_tables", gaps),
    *[("interventions", f"config.problem.{name}", change) for name in ("prior", "base") for change in (gaps, longer)],
    ("interventions", "config.problem.exact", "yes"),
    *[("interventions", "dropped", rows) for rows in (None, [[0, 1, "gap above the tolerance"]] * 2, [[0, 1]], ["x"])],
    *[("interventions", "dropped", [[0, *rest]]) for rest in ([9, "gap above the tolerance"], [1, "for no reason"])],
    *[("interventions", "deliveries.0.0", change) for change in (negative, narrow, longer)],
    *[("interventions", "deliveries.0.1", change) for change in (negative, gaps, narrow, longer)],
    ("interventions", "deliveries.0.2", "yes"),
    *[("interventions", "config.version", value) for value in (0, 3, "2", None, True)],
]


@pytest.mark.parametrize(
    ("which", "path", "value"), EDITS, ids=[f"{who} {where} {n}" for n, (who, where, _) in enumerate(EDITS)]
)
def test_what_cannot_have_been_saved_is_refused_by_name(which, path, value):
    with pytest.raises(StateFileError, match=r"state: (not a state as evenhand saves it: saved|truncated, damaged or)"):
        from_bytes(edited(SAVED[which], path, value))


@pytest.mark.parametrize("which", SAVED)
def test_a_field_that_no_version_has_written_is_refused_by_name(which):
    with pytest.raises(StateFileError, match="saved surprise: wanted no such field, got 7"):
        from_bytes(edited(SAVED[which], "surprise", 7))


@pytest.mark.parametrize("which", SAVED)
def test_the_file_as_it_was_written_is_taken(which):
    copy = from_bytes(edited(SAVED[which], "tickets.token", "01234567"))
    assert copy.open_tickets == from_bytes(SAVED[which]).open_tickets
