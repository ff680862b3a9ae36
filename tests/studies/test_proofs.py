"""Proofs: the root states the worst shortfall of every clause exactly, and follows the log wherever it is read on.

Receipts: one decision at its place of a root, checked without the log.
"""

import json
import zipfile
from fractions import Fraction
from random import Random

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ForeignTicketError, UnknownTicketError
from evenhand.promises.promise import read_promise
from evenhand.studies import Study
from evenhand.studies.log.chain import Birth, Entry, digest_of
from evenhand.studies.log.codec import to_text
from evenhand.studies.proofs.files import write_proof
from evenhand.studies.proofs.receipts import Receipts
from evenhand.studies.proofs.verify import check_receipt, follow, lines_of
from evenhand.studies.statistics.checkpoint import Count
from tests.cli.shell import answer, refused
from tests.reference import proofs as reference
from tests.reference.proofs import is_receipt
from tests.studies.test_proof_attacks import by_file

ARMS = ("a", "b", "c", "d")
BIRTH = Birth("shop", "quotas/any", "00", 1_764_000_000_000_000)
PROMISES = {
    "floors": {"shares": {"a": "1/7", "b": "0.3", "c": 0, "d": 0}},
    "slack": {"shares": {"a": "1/3", "b": "1/3", "c": "1/5", "d": 0}, "tolerance": 2.5},
    "sets": {"shares": {"a": "1/9", "b": 0, "c": 0, "d": 0, ("a", "b"): "2/5", ("c", "d"): "0.01"}},
    "caps": {"shares": dict.fromkeys(ARMS, 0), "caps": {"a": "1/3", "b": "0", "c": "0.9"}, "cap_tolerance": 1},
    "windows": {"shares": dict.fromkeys(ARMS, 0), "windows": {"a": 4, ("b", "c"): (3, 9), "d": (2, 11)}},
    "slates": {"shares": {"a": "1/2", "b": "1/3", "c": 0, "d": 0, ("a", "c"): "0.9"}, "plays": 2, "windows": {"d": 5}},
}


class Anything:
    """A policy that promises and keeps nothing: what is logged is drawn by the test."""

    def __init__(self, **promise):
        self.promise = read_promise(**promise, audited=True)
        self.arms = self.promise.arms


def entry(before, sequence, kind, given, decision=None, ticket=None):
    fields = sequence, kind, ticket, BIRTH.created_at + sequence, to_text(given), decision, "1", None, None, None
    return Entry(*fields, digest_of(before, (*fields, "")))


def drawn_log(rng, policy, rounds, changes=()):
    """Entries of a log whose arms are drawn, among those on offer, with changes after some rounds."""
    entries, before, arms, gone, plays = [], BIRTH.digest, list(policy.arms), set(), policy.promise.plays

    def add(*about):
        nonlocal before
        entries.append(entry(before, len(entries) + 1, *about))
        before = entries[-1].digest

    for t in range(1, rounds + 1):
        there = [arm for arm in arms if arm not in gone]
        offer = there if rng.random() < 0.6 else rng.sample(there, rng.randint(plays, len(there)))
        played = rng.sample(offer, plays)
        given = {} if len(offer) == len(arms) and rng.random() < 0.5 else {"available": offer}
        decided = {"id": t, "arm": played[0], "index": arms.index(played[0])}
        if plays > 1:
            decided |= {"arms": played, "indexes": [arms.index(arm) for arm in played]}
        add("ask", given, to_text(decided), t)
        if rng.random() < 0.5:
            add("tell", {"reward": 1.0}, None, t)
        for at, kind, about, returned in changes:
            if at == t:
                add(kind, about, None if returned is None else to_text({"returned": returned}))
                if kind == "retire":
                    gone.add(about["arm"])
                elif kind == "add":
                    arms += [] if about["arm"] in arms else [about["arm"]]
                    gone.discard(about["arm"])
    return entries


def counted(policy, entries):
    """The books of a study, the lines of its proof, and what a verifier makes of them that counts every prefix anew."""
    count = Count(policy, BIRTH)
    said = [count.take(one) for one in entries]
    lines = [count.proof.header, *(json.dumps([*e, *([s] if s else [])]) for e, s in zip(entries, said, strict=True))]
    proof = reference.Proof(lines[0])
    for line in lines[1:]:
        proof.entry(json.loads(line))
    return count, lines, proof


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize("rounds", [1, 3, 40])
def test_the_books_state_the_worst_shortfall_of_all_prefixes(name, rounds):
    policy = Anything(**PROMISES[name])
    count, _, proof = counted(policy, drawn_log(Random(rounds), policy, rounds))
    log = count.proof.log
    assert log.root() == proof.root()
    assert log.kept() == proof.kept() == count.check.kept
    assert log.problems == []
    most = max((Fraction(log.most(c), c["q"]) for c in log.clauses if c["kind"] == "floor"), default=0)
    assert float(most) == pytest.approx(count.check.worst_case()["worst_shortfall"] or 0)


def test_clauses_go_on_over_changes_as_the_books_of_a_study_do():
    policy = Anything(shares={"a": "1/4", "b": "1/5", "c": 0, ("a", "c"): "1/3"}, cap_tolerance=1)
    changes = [
        (10, "retire", {"arm": "b"}, None),
        (15, "add", {"arm": "e", "share": "1/6", "cap": "1/5"}, 7),
        (40, "add", {"arm": "b", "share": "1/9"}, 3),
        (60, "change", {"shares": {"a": "1/3", "b": "1/8", "c": 0, "e": "1/7"}}, {}),
    ]
    count, lines, proof = counted(policy, drawn_log(Random(5), policy, 90, changes))
    assert len(proof.clauses) == 11
    assert count.proof.log.kept() == proof.kept() == count.check.kept
    log, problems = follow(lines)
    assert problems == ([] if log.kept() else ["the promise was broken"])
    assert log.root() == count.proof.log.root() == proof.root()


# ---------------------------------------------------------------------- checkpoints


@pytest.fixture
def study():
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.3}), name="ads")
    for reward in (1.0, 0.0, 0.5, 1.0):
        study.tell(study.ask(), reward)
    return study


def test_a_checkpoint_is_small_and_is_found_again_in_a_longer_log(study):
    before = study.verify()
    assert len(json.dumps(before.checkpoint)) <= 1024
    worst = {"clause": "floor 3/10 of b", "most": "3/10 plays", "below": "1 plays"}
    said = {"study": "ads", "entries": 8, "rounds": 4, "kept": True, "worst": worst}
    assert before.checkpoint == said | {name: before.checkpoint[name] for name in ("time", "books", "root")}
    study.tell(study.ask(), 1.0)
    again = study.verify(known=before.checkpoint)
    assert again.ok
    assert again.checkpoint != before.checkpoint
    assert study.verify(since=before, known=before.checkpoint).checkpoint == again.checkpoint


def test_the_names_of_many_arms_do_not_make_a_checkpoint_long():
    shares = {"x" * 190 + str(i): "1/40" for i in range(30)}
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), shares), name="n" * 100)
    study.ask()
    assert len(json.dumps(study.verify().checkpoint)) <= 1024


def test_a_log_that_does_not_lead_to_a_checkpoint_is_named(study):
    known = study.verify().checkpoint
    other = {**known, "root": "0" * 64}
    said = f"the first 8 entries are not those of the checkpoint of {known['time']}"
    assert study.verify(known=other).problems == (said,)
    longer = {**known, "entries": 9}
    cut = f"the log ends before entry 9, the last of the checkpoint of {known['time']}"
    assert study.verify(known=longer).problems == (cut,)
    mark = study.verify()
    study.ask()
    assert study.verify(since=mark, known=other).problems == (said,)
    late = study.verify(since=study.verify(), known=known)
    assert late.ok
    assert late.notes[-1] == f"the checkpoint of {known['time']} was not compared: its entries were not read"


@pytest.mark.parametrize(
    ("known", "words"),
    [
        *((one, "digest, or a checkpoint as `evenhand verify --mark`") for one in (7, {}, {"root": "0"})),
        ({"entries": "8", "root": "0", "study": "ads", "time": ""}, "digest, or a checkpoint as `evenhand verify"),
        ({"entries": 8, "root": "0" * 64, "study": "shop", "time": ""}, "checkpoint of the study 'ads', got 'shop'"),
    ],
)
def test_what_is_no_checkpoint_and_one_of_another_study_are_refused(study, known, words):
    with pytest.raises(ArgumentError, match=f"known: expected a {words}"):
        study.verify(known=known)


def test_arms_that_are_written_alike_have_no_proof(tmp_path):
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), {1: 0.2, "1": 0.3}), name="ads")
    study.ask()
    found = study.verify()
    assert found.ok
    assert found.checkpoint is None
    with pytest.raises(ArgumentError, match="proof: expected a study whose arms are written differently"):
        write_proof(study.log, tmp_path / "s.zip")


# ---------------------------------------------------------------------- the file


def test_a_proof_is_exported_with_what_checks_it(tmp_path):
    place, proof = tmp_path / "s.evenhand", tmp_path / "s.zip"
    with Study.create(place, eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.3}), name="ads") as study:
        study.tell(study.ask(), 1.0)
        checkpoint = study.verify().checkpoint
    assert answer("export", place, "--proof", proof) == f"The proof of 2 entries: {proof}\n"
    with zipfile.ZipFile(proof) as archive:
        assert archive.namelist() == ["log.jsonl", "verify.py", "verify.js", "verify.html"]
        assert b'src="verify.js"' in archive.read("verify.html")
    log, problems = follow(lines_of(str(proof)), [checkpoint])
    assert (log.checkpoint(), problems) == (checkpoint, [])
    refused(ArgumentError, "--proof: expected a file ending in .zip", "export", place, "--proof", tmp_path / "s.tar")
    refused(ArgumentError, "a file that can be written", "export", place, "--proof", tmp_path / "no" / "s.zip")
    refused(ArgumentError, "or -; or --proof, got", "export", place)


# ---------------------------------------------------------------------- receipts


@pytest.fixture
def drawn():
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.3}, lottery=0.5, seed=1)
    return Study.create(":memory:", policy)


def test_every_decision_has_a_receipt_of_now_and_of_every_earlier_checkpoint(drawn):
    receipts, checkpoints = Receipts(drawn.log), []
    for n in range(1, 12):
        drawn.ask(key=f"order {n}")
        checkpoints.append(drawn.verify().checkpoint)
        for ticket in range(1, n + 1):
            now = receipts.of(ticket=ticket)
            assert now["checkpoint"] == checkpoints[-1]
            assert now == receipts.of(key=f"order {ticket}")
            decided = drawn.log.record(ticket).decision
            assert (now["arms"], now["chance"]) == ([decided["arm"]], decided["probabilities"][decided["index"]])
            for kept in checkpoints:
                mine = kept["entries"] == now["entries"]
                assert (check_receipt(now, kept), is_receipt(now, kept)) == (mine, mine)
                if kept["entries"] >= now["entry"]:
                    earlier = receipts.of(ticket=drawn.sign(ticket), entries=kept["entries"])
                    assert earlier["checkpoint"] is None
                    assert (check_receipt(earlier, kept), is_receipt(earlier, kept)) == (True, True)


def test_a_receipt_says_nothing_but_what_stands_there(drawn):
    for _ in range(9):
        drawn.tell(drawn.ask(), 1.0)
    receipt = Receipts(drawn.log).of(ticket=4)
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


def test_a_receipt_of_a_million_entries_is_below_2_kb(drawn):
    drawn.ask()
    receipt = Receipts(drawn.log).of(ticket=1)
    largest = {"entry": 10**6, "entries": 10**6, "ticket": 10**6, "study": "s" * 100, "arms": ["a" * 100]}
    whole = receipt | largest | {"path": "A" * (20 * 32 * 4 // 3)}
    assert len(json.dumps(whole, separators=(",", ":"))) < 2048


def test_the_file_checks_a_receipt(drawn, tmp_path):
    drawn.ask(), drawn.ask()
    receipt = Receipts(drawn.log).of(ticket=2)
    (tmp_path / "r.json").write_text(json.dumps(receipt))
    (tmp_path / "c.json").write_text(json.dumps(receipt["checkpoint"]))
    what = f"the decision 2 for {receipt['arms'][0]} with the chance {receipt['chance']} is"

    came = "of the root that came with it: compare it with one that others hold."
    assert by_file(tmp_path, "r.json", "c.json") == (0, f"Sound: {what} entry 2 of that root.\n")
    assert by_file(tmp_path, "r.json") == (0, f"Sound: {what} entry 2 {came}\n")
    (tmp_path / "r.json").write_text(json.dumps(receipt | {"at": 5, "checkpoint": None}))
    assert by_file(tmp_path, "r.json", "c.json") == (1, f"WRONG: {what} not entry 2 of that root.\n")
    assert by_file(tmp_path, "r.json") == (1, f"WRONG: {what} not entry 2 {came}\n")


def test_what_has_no_receipt_is_refused(drawn):
    drawn.ask(key="one"), drawn.ask()
    receipts = Receipts(drawn.log)
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
