"""Studies whose arms come and go under caps: verify, the audits of the study and of its exports, and proofs agree."""

import json
import random

import pandas as pd
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.studies import Study
from evenhand.studies.proofs.files import write_proof
from evenhand.studies.proofs.verify import lines_of
from tests.cli.shell import answer
from tests.studies.test_proof_attacks import in_javascript, judged

PROMISE = Promise({"a": "25%", "b": "10%", "c": 0}, caps={"a": "40%", "b": "50%"}, offers="any")
OUTAGES = {("a",): range(10, 20), ("a", "b"): range(20, 45), ("b", "c"): range(45, 60)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("outages") / "s.evenhand"


@pytest.fixture(scope="module")
def study(path):
    study = Study.create(path, eh.quotas.DeadlineLearn(eh.learners.Thompson(), PROMISE, seed=1), name="calls")
    rng = random.Random(1)
    for round in range(80):
        offer = next((offer for offer, rounds in OUTAGES.items() if round in rounds), None)
        decision = study.ask(**({} if offer is None else {"available": list(offer)}))
        study.tell(decision, float(rng.random() < {"a": 0.9, "b": 0.5, "c": 0.1}[decision.arm]))
    return study


def test_verify_and_all_audits_give_the_same_verdict_and_the_same_excused_rounds(study, path, tmp_path):
    files = [str(tmp_path / f"log.{kind}") for kind in ("csv", "parquet")]
    for file in files:
        answer("export", path, "--out", file)
    logs = study.frame(), pd.read_csv(files[0]), *files
    found = [eh.audit.promise(log, arm="arm", promise=PROMISE) for log in logs]
    first = found[0]
    assert first.kept
    assert first.excused.plays > 5
    assert first.excused.away["c"] == first.excused.plays
    for one in found:
        assert (one.kept, one.excused, one.worst_shortfall) == (True, first.excused, first.worst_shortfall)
    verified = study.verify()
    assert (verified.ok, verified.promise_kept, verified.worst_shortfall) == (True, True, first.worst_shortfall)
    assert first.notes[-1] in verified.notes
    assert first.notes[-1] in study.statistics().notes


def test_a_verification_goes_on_from_a_mark():
    middle = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), PROMISE), name="half")
    for round in range(12):
        middle.ask(available=["a"] if round < 6 else ["b"])
        if round == 4:
            mark = middle.verify().mark
    found = middle.verify(since=mark)
    assert found.ok
    assert set(middle.verify().notes) < set(found.notes)


def test_a_proof_is_judged_alike_by_all_its_verifiers(study, tmp_path):
    write_proof(study.log, tmp_path / "proof.zip")
    lines = list(lines_of(str(tmp_path / "proof.zip")))
    known = study.verify().checkpoint
    assert known["kept"]
    assert judged(lines, [known]) == (True, True)
    said, sound = in_javascript([(lines, [known])])[0]
    assert sound
    assert json.loads(said[1]) == known


def test_a_change_adds_up_what_was_excused_before_and_after():
    changing = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), PROMISE), name="two")
    for _ in range(5):
        changing.ask(available=["a"])
    before = changing.statistics().excused
    assert before == (3, 2, 5, {"b": 3, "c": 3})
    changing.change(PROMISE)
    for _ in range(5):
        changing.ask(available=["b"])
    assert changing.statistics().excused == (5, 2, 9, {"b": 3, "c": 5, "a": 2})
    assert changing.verify().promise_kept
