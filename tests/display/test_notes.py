"""What a reader must know of an object stands on its card, in its text, in its JSON: one rule for all of them."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.display.html import HasCard, notes_of
from evenhand.policy.ask_tell import AskTell
from evenhand.quotas.quota_policy import BY_RULE
from evenhand.studies import Study
from evenhand.studies.verify import Verification
from tests.cli.shell import answer, call
from tests.display.test_html import SHOWN

NOTE = "Nobody has looked at this <since>."
KEPT = property(lambda self: (NOTE,), lambda self, value: None)
"""Notes whatever an object is given for them."""


def classes():
    """Return every class of the package that a notebook shows by our method (pictures and networks: by a library's)."""
    found = set()
    for module in pkgutil.walk_packages(eh.__path__, "evenhand."):
        if module.name.endswith("__main__") or re.search(r"\.(page|client)\b", module.name):
            continue
        try:
            members = vars(importlib.import_module(module.name)).values()
        except ImportError:  # an extra that is not installed
            continue
        found |= {one for one in members if isinstance(one, type)}
    return {one for one in found if one.__module__.startswith("evenhand") and ours(one)}


def ours(one):
    return any("_repr_html_" in vars(base) and base.__module__.startswith("evenhand") for base in one.__mro__)


def test_every_class_is_shown_by_the_one_rule():
    rules = {base._repr_html_ for base in (HasCard, AskTell, Study)}
    assert [one.__name__ for one in classes() if one._repr_html_ not in rules] == []
    own = [one.__name__ for one in classes() if issubclass(one, HasCard) and one.__repr__ is not HasCard.__repr__]
    assert own == ["Promise"]  # a value, shown as it is written; it has no notes
    assert len(classes()) > 40


@pytest.mark.parametrize("what", SHOWN)
def test_every_card_carries_the_notes_of_its_object(what, monkeypatch):
    thing = SHOWN[what][0]()
    noted = thing.policy if isinstance(thing, Study) else thing
    monkeypatch.setattr(type(noted), "notes", KEPT, raising=False)
    assert notes_of(noted) == (NOTE,)
    assert "Nobody has looked at this &lt;since&gt;." in thing._repr_html_()
    if isinstance(thing, HasCard):
        assert f"note 1: {NOTE}" in repr(thing)


def test_notes_of_a_learner_are_those_of_what_wraps_it():
    inner = eh.groups.GroupFairTopInterval(["F", "M"], "F")
    assert notes_of(inner)
    assert notes_of(eh.quotas.FairLearn(inner, [0.2, 0.2])) == (BY_RULE, *notes_of(inner))
    study = Study.create(":memory:", inner)
    study.ask([[1.0], [2.0]])
    assert notes_of(study.policy) == notes_of(inner)


def test_notes_that_are_data_for_a_program_are_none_for_a_reader():
    assert notes_of(eh.similarity.LipschitzUCB(2)) == ()


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"sensitive": "F"}, ["lifts no group"]), ({"mean_reward": 1.0}, ["four times"]), ({}, [])],
    ids=["two groups", "the paper's for m groups", "pooled"],
)
def test_the_forms_that_favour_a_group_say_so(settings, words):
    policy = eh.groups.GroupFairTopInterval(["F", "F", "M", "M"], **settings)
    assert len(notes_of(policy)) == len(words)
    for one in words:
        assert one in policy._repr_html_()
    world = eh.groups.BiasedLinearArms(groups=["F", "F", "M", "M"], bias={"F": 1.0})
    history = eh.simulate(policy, world, rounds=10, seed=1, jobs=1)
    assert history.attrs.get("notes", []) == [f"GroupFairTopInterval: {note}" for note in notes_of(policy)]


def test_a_dry_pool_stands_on_the_card_of_its_sampler():
    sampler = eh.sampling.OptimisticSampler(["a", "b"], seed=1)
    sampler.retire("a", "the pool of 'a' is dry: it was retired")
    assert "was retired" in sampler._repr_html_()


def test_a_comparison_says_what_its_evaluations_say_and_of_whom():
    log = pd.DataFrame({"arm": ["a", "b"] * 50, "reward": [1.0, 0.0, 0.0, 0.0] * 25})
    found = eh.evaluate(log, {"x": {"a": 1, "b": 0}, "y": {"a": 0.5, "b": 0.5}}, arm="arm", reward="reward")
    each = {name: one.notes for name, one in found.evaluations.items()}
    assert each["x"]
    for name, notes in each.items():
        for note in notes:
            shared = all(note in others for others in each.values())
            assert (note if shared else f"{name}: {note}") in found.notes


# ------------------------------------------------------------------ the shell


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.arange(200)
    arms, sex = np.where(rows % 2, "a", "b"), np.where(rows % 2, "f", "m")
    table = pd.DataFrame({"arm": arms, "reward": rows % 3 % 2, "sex": sex, "id": rows, "x": rows % 7})
    table["label"] = rows // 2 % 2
    table.to_csv("log.csv", index=False)
    table.assign(p_a=0.5, p_b=0.5).to_csv("drawn.csv", index=False)
    seen = pd.DataFrame({"sex": sex, "dose": np.where(rows // 2 % 2, "p", "q"), "cured": rows // 4 % 2})
    seen.to_csv("seen.csv", index=False)
    (tmp_path / "two.json").write_text('{"as now": null, "always p": "p"}')
    answer("new", "s.evenhand", "-p", "fair-ucb", "--shares", "a=0.2,b=0.3")
    answer("ask", "s.evenhand")


CAUSES = "--edges sex->dose,dose->cured,sex->cured --intervene dose --sensitive sex --outcome cured"
COMMANDS = {
    "audit": (eh.audit.Audit, "log.csv --shares 0.1"),
    "report": (eh.audit.Audit, "log.csv --shares 0.1"),
    "audit-parity": (eh.audit.Parity, "log.csv --group sex"),
    "evaluate": (eh.evaluation.Evaluation, "log.csv -p a=0.5,b=0.5"),
    "effects": (eh.evaluation.Effects, "drawn.csv --control a --propensity p"),
    "recommend": (eh.interventions.Recommendation, f"seen.csv {CAUSES} --candidates two.json --tolerance 0.1 --seed 1"),
    "sample": (eh.sampling.Sampler, "log.csv --group sex --label label --features x --budget 20 --seed 1"),
    "label": (eh.sampling.LabelQueue, "log.csv --id id --group sex --features x --labels 0,1 --out out.csv --seed 1"),
    "show": (eh.quotas.FairUCB, "s.evenhand"),
    "verify": (Verification, "s.evenhand"),
    "simulate": (eh.learners.UCB1, "--means 0.5,0.4 -p ucb1 --rounds 50 --replications 1 --jobs 1 --seed 1"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_the_notes_of_what_it_found(command, files, monkeypatch):
    cls, arguments = COMMANDS[command]
    monkeypatch.setattr(cls, "notes", KEPT, raising=False)
    words = call(command, *arguments.split())
    assert words.exit_code in (0, 1), words.output
    assert NOTE in " ".join(words.output.split())
    plain = call(command, *arguments.split(), "--json")
    body = json.loads(plain.stdout)
    assert any(NOTE in note for note in body["notes"]), body.keys()
