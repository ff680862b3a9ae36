"""Attacks on a proof: each is found, without help or by one old checkpoint, or is named as one that nobody can find.

The verifier of the package, its twin in JavaScript and one written from the page alone (`tests.reference.proofs`) must
agree on every log.
"""

import json
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.studies import Ask, Study
from evenhand.studies.proofs import files
from evenhand.studies.proofs.receipts import Receipts
from evenhand.studies.proofs.verify import check_receipt, follow, lines_of, link
from tests.reference import proofs as reference

HERE = Path(files.__file__).parent
NODE = """
const { main } = require(process.argv[1]);
(async () => {
  const found = [];
  for (const [text, known] of JSON.parse(require("node:fs").readFileSync(0, "utf-8"))) {
    const shown = [new Blob([text]), ...known.map((one) => new Blob([JSON.stringify(one)]))];
    found.push(await main(shown));
  }
  console.log(JSON.stringify(found));
})();
"""
FIELDS = ("sequence", "kind", "ticket", "at", "given", "decision", "version", "random_state", "key", "actor", "digest")
OTHER = {
    "sequence": lambda value: value + 1,
    "kind": lambda value: "tell" if value != "tell" else "forget",
    "ticket": lambda value: (value or 0) + 1,
    "at": lambda value: value + 1,
    "given": lambda value: '{"reward":0.25}',
    "decision": lambda value: '{"returned":1}' if value is None else value.replace(":", ": ", 1),
    "version": lambda value: f"{value}0",
    "random_state": lambda value: '["00"]',
    "key": lambda value: "\0" if value is None else None,
    "actor": lambda value: "\0" if value is None else None,
    "digest": lambda value: "0" * 64,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The lines of a proof with entries of every kind, and its checkpoint."""
    pytest.importorskip("cryptography")
    patch = pytest.MonkeyPatch()
    ticks = iter(range(10**6))
    for module in ("transaction", "live_policy", "subjects"):
        patch.setattr(f"evenhand.studies.log.{module}.now", lambda: 1_764_000_000_000_000 + 10**6 * next(ticks))
    place = tmp_path_factory.mktemp("proof")
    promise = eh.Promise({"a": "1/5", "b": "0.3", "c": 0}, tolerance=1)
    policy = eh.quotas.DeadlineLearn(eh.learners.LinUCB(), promise, lottery=0.5, seed=1)
    study = Study.create(place / "s.evenhand", policy, name="ads", expire_after=timedelta(seconds=60))
    for i in range(14):
        given = {"contexts": [[i / 16, 1.0]] * (4 if i > 10 else 3)} | ({"available": ["a", "b"]} if i % 4 == 1 else {})
        (ticket,) = study.run([Ask(given=given, subject=None if i % 5 else "Ann", actor="k")])
        if i % 3 == 0:
            study.tell(ticket, i / 16)
        elif i % 3 == 1 and i < 9:
            study.forget(ticket)
        if i == 5:
            study.change({"a": 0.1, "b": 0.2, "c": 0.3})
        if i == 8:
            study.retire("c")
        if i == 10:
            study.add("d", 0.1)
        if i == 11:
            study.erase("Ann")
            study.change({"a": 0.1, "b": 0.2, "d": 0.3}, begins="2030-01-01")
    found = study.verify()
    assert found.ok, found.problems
    lines = proof_of(study, place)
    study.close()
    patch.undo()
    return lines, found.checkpoint


def resealed(lines):
    """The lines with all entries numbered and all digests computed anew."""
    before, made = json.loads(lines[0])["birth"], lines[:1]
    for number, line in enumerate(lines[1:], 1):
        fields = json.loads(line)
        fields[0] = number
        fields[10] = before = link(before, fields)
        made.append(json.dumps(fields))
    return made


def changed(lines, at, field, value):
    fields = json.loads(lines[at])
    fields[field] = value(fields[field])
    return [*lines[:at], json.dumps(fields), *lines[at + 1 :]]


def attacks_on(lines):
    """Attacks as name -> (the lines after it, whether it is found without a checkpoint: None where that depends)."""
    kinds = {}
    for at, line in enumerate(lines[1:], 1):
        kinds.setdefault(json.loads(line)[1], at)
    assert set(kinds) == {"ask", "tell", "forget", "expire", "set", "erase", "add", "retire", "change"}
    found = {}
    for kind, at in kinds.items():
        for field, name in enumerate(FIELDS):
            attacked = changed(lines, at, field, OTHER[name])
            if attacked[at] != lines[at] and json.loads(attacked[at]) != json.loads(lines[at]):
                found[f"{name} of {kind} changed"] = attacked, True
                if name not in ("sequence", "digest"):
                    found[f"{name} of {kind} changed, sealed anew"] = resealed(attacked), None
        others = {
            "dropped": [*lines[:at], *lines[at + 1 :]],
            "doubled": [*lines[: at + 1], *lines[at:]],
            "added": [*lines[:at], lines[1], *lines[at:]],
            "moved": [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
        }
        for name, attacked in others.items():
            found[f"{kind} {name}"] = attacked, True
            found[f"{kind} {name}, sealed anew"] = resealed(attacked), None
        if kind in ("add", "retire", "change"):
            found[f"what {kind} promises, changed"] = changed(lines, at, 11, with_a_clause_less), None
    header = json.loads(lines[0])
    for name, value in header.items():
        other = {"arms": ["x", *header["arms"][1:]], "clauses": header["clauses"][1:], "retired": [2], "when": None}
        made = other.get(name, f"{value}0" if isinstance(value, str) else (value or 0) / 2 if name == "lottery" else 0)
        found[f"{name} of the header changed"] = [json.dumps(header | {name: made}), *lines[1:]], None
    found["cut off in a line"] = [*lines[:-1], lines[-1][:-5]], True
    found["no log"] = ["{}"], True
    return found


def with_a_clause_less(text):
    said = json.loads(text)
    return json.dumps(said | {"clauses": said["clauses"][1:]})


def judged(lines, known):
    """What each of the three finds: whether all is sound."""
    try:
        python = not follow(iter(lines), known)[1]
    except (KeyError, TypeError, ValueError):
        python = False
    return python, reference.is_sound("\n".join(lines) + "\n", known)


def in_javascript(logs):
    """What the twin in JavaScript finds in logs with checkpoints."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    shown = json.dumps([["\n".join(lines) + "\n", known] for lines, known in logs])
    command = ["node", "-e", NODE, str(HERE / "verify.js")]
    return json.loads(subprocess.run(command, input=shown, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_every_attack_is_found_by_one_old_checkpoint(written):
    lines, checkpoint = written
    table = attacks_on(lines)
    assert len(table) > 150
    logs = [(attacked, known) for attacked, _ in table.values() for known in ([checkpoint], [])]
    answers = [judged(*one) for one in logs]
    for (name, (_, alone)), with_one, without in zip(table.items(), answers[::2], answers[1::2], strict=True):
        assert with_one == (False, False), name
        assert without in ((True, True), (False, False)), name
        assert alone is None or without == (not alone, not alone), name
    found = in_javascript([(lines, [checkpoint]), *logs])
    assert found[0][1] is True
    assert json.loads(found[0][0][1]) == checkpoint
    assert [sound for _, sound in found[1:]] == [python for python, _ in answers]


@pytest.mark.slow
def test_a_receipt_is_checked_in_javascript_as_well():
    receipt = Receipts(asked({"a": 0.2, "b": 0.3}).log).of(ticket=5)
    kept = receipt["checkpoint"]
    shown = [(receipt, [kept]), (receipt, []), (receipt | {"chance": 0.5}, [kept]), (receipt | {"entry": 4}, [kept])]
    found = in_javascript([([json.dumps(one)], known) for one, known in shown])
    assert [sound for _, sound in found] == [True, True, False, False]
    assert [check_receipt(one, kept) for one, _ in shown] == [True, True, False, False]


def test_a_cut_tail_is_found_by_a_checkpoint_from_behind_it_alone(written):
    lines, checkpoint = written
    short = lines[:-3]
    assert judged(short, []) == (True, True)
    assert judged(short, [checkpoint]) == (False, False)
    earlier = follow(iter(short))[0].checkpoint()
    assert judged(lines, [earlier, checkpoint]) == (True, True)


def test_a_fork_behind_the_checkpoint_is_what_nobody_can_find(written):
    lines, _ = written
    early = follow(iter(lines[:-6]))[0].checkpoint()
    at = next(i for i in range(len(lines) - 5, len(lines)) if json.loads(lines[i])[1] == "ask")
    fork = resealed(changed(lines, at, FIELDS.index("at"), lambda value: value + 5))
    assert judged(fork, [early]) == (True, True)
    assert judged(fork, [early, follow(iter(lines))[0].checkpoint()]) == (False, False)


def test_chances_and_promises_are_judged_without_a_checkpoint(written):
    """What a log that is sealed anew may not say: chances that are none, an arm that was not on offer."""
    lines, _ = written
    at, fields = next((i, json.loads(line)) for i, line in enumerate(lines[1:], 1) if "available" in line)
    decided = json.loads(fields[5])
    chances = decided["probabilities"]
    none = [1.2, -0.2, 0.0], [0.3, 0.3, 0.3], [0.02, 0.98, 0], [], [True, 0, 0], [0.5, "x", 0]
    wrong = {
        "probabilities": (*none, None, "x"),
        "propensity": (7.0, -1.0, 0, "0.5", True, chances[decided["index"]] / 2),
        "index": (2, 9, -1, None),
        "arm": ("c", None, 7),
    }
    logs = []
    for name, values in wrong.items():
        for value in values:
            other = json.dumps(decided | {name: value})
            logs.append((resealed(changed(lines, at, 5, lambda _, other=other: other)), []))
            assert judged(*logs[-1]) == (False, False), (name, value)
    same = resealed(changed(lines, at, 5, lambda _: json.dumps(decided | {"probabilities": [*chances]})))
    assert judged(same, []) == (True, True)
    assert [sound for _, sound in in_javascript([*logs, (same, [])])] == [False] * len(logs) + [True]


def by_file(folder, *shown):
    """What the verifier of a proof says of files in a folder, run without evenhand: its exit code and its words."""
    command = [sys.executable, "-I", "-S", str(HERE / "verify.py"), *shown]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_the_verifier_runs_where_evenhand_is_not_installed(written, tmp_path):
    lines, checkpoint = written
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "kept.json").write_text(json.dumps(checkpoint))

    code, printed = by_file(tmp_path, "log.jsonl", "kept.json")
    said, root = printed.splitlines()
    assert code == 0
    assert said.startswith(f"The {len(lines) - 1} entries of the study ads are whole, and 1 earlier checkpoint fit; ")
    assert json.loads(root) == checkpoint
    (tmp_path / "log.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    code, printed = by_file(tmp_path, "log.jsonl", "kept.json")
    assert (code, printed[:30]) == (1, "WRONG: the log ends before ent")
    code, printed = by_file(tmp_path)
    assert (code, "python verify.py PROOF" in printed) == (2, True)


def proof_of(study, tmp_path):
    files.write_proof(study.log, tmp_path / "proof.zip")
    return list(lines_of(str(tmp_path / "proof.zip")))


def asked(shares):
    """A study of a few decisions."""
    study = Study.create(":memory:", eh.quotas.FairUCB(shares, seed=1), name="ads")
    study.ask(count=6)
    return study


def test_labels_that_javascript_rounds_and_positions_that_were_drawn_each_on_its_own_are_sound(tmp_path):
    study = Study.create(":memory:", eh.similarity.LipschitzUCB(2, select="many", seed=1), name="loans")
    assert len(study.ask([[0.6, 0.1], [0.2, 0.5]]).arms) == 2
    assert study.verify().ok
    assert Receipts(study.log).of(ticket=1)["positions"] == [0, 1]
    logs = [(proof_of(one, tmp_path), []) for one in (asked({2**60 + 1: 0.2, 2**60 + 3: 0.3}), study)]
    assert not any(follow(iter(lines))[1] for lines, _ in logs)
    assert [sound for _, sound in in_javascript(logs)] == [True, True]


def test_a_checkpoint_and_a_receipt_may_not_say_more_than_the_log():
    drawing = eh.quotas.FairLearn(eh.learners.TsallisINF(), {"a": 0.2, "b": 0.1}, seed=1)
    study = Study.create(":memory:", drawing, name="x")
    study.ask()
    checkpoint = study.verify().checkpoint
    assert study.verify(known=checkpoint).ok
    assert not study.verify(known=checkpoint | {"worst": None}).ok
    receipt = Receipts(study.log).of(ticket=1)
    assert check_receipt(receipt, checkpoint)
    assert not check_receipt(receipt | {"chance": "0.9"}, checkpoint)


def test_what_programs_would_read_differently_is_wrong_in_all_of_them(tmp_path):
    """Deep nesting, long numbers and windows of many plays: (value, whether it is sound) on each side of the rule."""
    lines = proof_of(asked({"a": 0.2, "b": 0.3}), tmp_path)
    header = json.loads(lines[0])
    more = {
        "[" * 99 + "]" * 99: True,
        "[" * 100 + "]" * 100: False,
        '{"a":' * 3000 + "1" + "}" * 3000: False,
        "[" + '"[[[\\"",' * 99 + "[]]": True,
        "9" * 4300: True,
        "9" * 4301: False,
        "0." + "9" * 5000: True,
    }
    window = [0, "window", [0], "2/4", 0, 0]
    rates = dict.fromkeys(("9007199254740993/18014398509481984", "9/9", "1/" + "9" * 1000), True)
    rates |= dict.fromkeys(("5/4", "0/4", "1/" + "9" * 1001), False)
    found = [(resealed(changed(lines, 2, 5, lambda d, x=x: f'{d[:-1]},"x":{x}}}')), more[x]) for x in more]
    tables = [({"clauses": [[*window[:3], rate, 0, 0]]}, sound) for rate, sound in rates.items()]
    beside = {"clauses": [window, window]}, {"clauses": [window], "when": "by weight"}, {"lottery": 1.5}
    tables += [(other, False) for other in beside]
    found += [([json.dumps(header | other), *lines[1:]], sound) for other, sound in tables]
    answers = in_javascript([(other, []) for other, _ in found])
    for (other, sound), (_, in_script) in zip(found, answers, strict=True):
        assert (*judged(other, []), in_script) == (sound,) * 3, other[:3]
