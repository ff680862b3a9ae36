"""Receipts: one decision at its place of a root, checked without the log."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ForeignTicketError, UnknownTicketError
from evenhand.studies import Study
from evenhand.studies.proofs import files
from evenhand.studies.proofs.receipts import Receipts
from evenhand.studies.proofs.verify import check_receipt
from tests.reference.proofs import is_receipt

VERIFY = Path(files.__file__).with_name("verify.py")


@pytest.fixture
def study():
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.3}, lottery=0.5, seed=1)
    return Study.create(":memory:", policy)


def test_every_decision_has_a_receipt_of_now_and_of_every_earlier_checkpoint(study):
    receipts, checkpoints = Receipts(study.log), []
    for n in range(1, 12):
        study.ask(key=f"order {n}")
        checkpoints.append(study.verify().checkpoint)
        for ticket in range(1, n + 1):
            now = receipts.of(ticket=ticket)
            assert now["checkpoint"] == checkpoints[-1]
            assert now == receipts.of(key=f"order {ticket}")
            decided = study.log.record(ticket).decision
            assert (now["arms"], now["chance"]) == ([decided["arm"]], decided["probabilities"][decided["index"]])
            for kept in checkpoints:
                mine = kept["entries"] == now["entries"]
                assert (check_receipt(now, kept), is_receipt(now, kept)) == (mine, mine)
                if kept["entries"] >= now["entry"]:
                    earlier = receipts.of(ticket=study.sign(ticket), entries=kept["entries"])
                    assert earlier["checkpoint"] is None
                    assert (check_receipt(earlier, kept), is_receipt(earlier, kept)) == (True, True)


def test_a_receipt_says_nothing_but_what_stands_there(study):
    for _ in range(9):
        study.tell(study.ask(), 1.0)
    receipt = Receipts(study.log).of(ticket=4)
    kept = receipt["checkpoint"]
    others = {
        "entry": [1, 9, 19, 0, -7],
        "entries": [17, 19],
        "ticket": [5],
        "at": [receipt["at"] + 1],
        "positions": [[1 - receipt["positions"][0]], []],
        "arms": [["c"], []],
        "chance": [receipt["chance"] / 2, None],
        "digest": ["0" * 64],
        "path": [receipt["path"][:-44], receipt["path"][44:], "A" * 43 + "=", ""],
    }
    assert check_receipt(receipt, kept)
    for name, values in others.items():
        for value in values:
            wrong = receipt | {name: value}
            assert (check_receipt(wrong, kept), is_receipt(wrong, kept)) == (False, False), (name, value)
    for name in ("entries", "books", "root"):
        other = kept | {name: 17 if name == "entries" else "0" * 64}
        assert not check_receipt(receipt, other)


def test_a_receipt_of_a_million_entries_is_below_2_kb(study):
    study.ask()
    receipt = Receipts(study.log).of(ticket=1)
    largest = {"entry": 10**6, "entries": 10**6, "ticket": 10**6, "study": "s" * 100, "arms": ["a" * 100]}
    whole = receipt | largest | {"path": "A" * (20 * 32 * 4 // 3)}
    assert len(json.dumps(whole, separators=(",", ":"))) < 2048


def test_the_file_checks_a_receipt(study, tmp_path):
    study.ask(), study.ask()
    receipt = Receipts(study.log).of(ticket=2)
    (tmp_path / "r.json").write_text(json.dumps(receipt))
    (tmp_path / "c.json").write_text(json.dumps(receipt["checkpoint"]))
    command = [sys.executable, "-I", "-S", str(VERIFY), "r.json"]
    what = f"the decision 2 for {receipt['arms'][0]} with the chance {receipt['chance']} is"

    def said(*more):
        done = subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout.strip()

    came = "of the root that came with it: compare it with one that others hold."
    assert said("c.json") == (0, f"Sound: {what} entry 2 of that root.")
    assert said() == (0, f"Sound: {what} entry 2 {came}")
    (tmp_path / "r.json").write_text(json.dumps(receipt | {"at": 5, "checkpoint": None}))
    assert said("c.json") == (1, f"WRONG: {what} not entry 2 of that root.")
    assert said() == (1, f"WRONG: {what} not entry 2 {came}")


def test_what_has_no_receipt_is_refused(study):
    study.ask(key="one"), study.ask()
    receipts = Receipts(study.log)
    for named, refusal, words in (
        ({}, ArgumentError, "key, ticket: expected one of them, got None"),
        ({"ticket": 1, "key": "one"}, ArgumentError, "key, ticket: expected one of them"),
        ({"key": "two"}, UnknownTicketError, "a decision under the key 'two' was never handed out"),
        ({"ticket": 3}, UnknownTicketError, "ticket 3 was never handed out"),
        ({"ticket": "study.1.0123456789abcdef"}, ForeignTicketError, "study"),
        *(({"ticket": 2, "entries": one}, ArgumentError, "a whole number >= 2 and <= 2") for one in (1, 3, 2.5)),
    ):
        with pytest.raises(refusal, match=words):
            receipts.of(**named)
