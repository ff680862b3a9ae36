import json

import pandas as pd
import pytest

from evenhand.errors import ClosedTicketError, EvenhandError, TableError, TicketError
from evenhand.interventions import CausalModel, SimulatedTrial
from evenhand.learners import UCB1
from evenhand.saving import state
from tests.interventions.examples import NETWORK, call

CANDIDATES = {"now": None, "same": [[0.5, 0.5], [0.5, 0.5]], "more": [[0.45, 0.55], [0.05, 0.95]]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.bif").write_text(NETWORK)
    (tmp_path / "candidates.json").write_text(json.dumps(CANDIDATES))
    study = {"candidates": CANDIDATES, "values": {"ill": 0, "well": 1}, "costs": {"now": 0, "same": 1, "more": 1}}
    (tmp_path / "study.json").write_text(json.dumps(study))
    return tmp_path


BEGIN = "model.bif --intervene dose --sensitive sex --outcome state"
ASKED = f"{BEGIN} --candidates candidates.json --values ill=0,well=1 --tolerance 0.15"
STUDY = f"{BEGIN} --candidates study.json --tolerance 0.15 --budget 6000"


def test_it_simulates_and_writes_table_and_picture(folder):
    body = json.loads(call(f"{STUDY} --seed 1 --pooled --json --out out"))
    assert (body["candidate"], body["status"], body["exact"], body["seed"]) == ("same", "certified", "same", 1)
    assert body["confidence"] == 0.95
    paper = json.loads(call(f"{STUDY} --seed 1 --paper --json"))
    assert paper["status"] in ("certified", "uncertified", "no_fair_candidate")
    assert paper["confidence"] is None
    assert [row["candidate"] for row in body["table"]] == list(CANDIDATES)
    assert (folder / "out" / "candidates.png").stat().st_size > 1000
    assert pd.read_csv(folder / "out" / "candidates.csv").shape[0] == 3
    plain = call(f"{ASKED} --budget 6000 --seed 1 --pooled")
    words = " ".join(plain.split())
    assert "'same' is certified as the best fair rule (confidence 0.95)" in words
    assert "of 100 such trials at most 5 ever give a wrong answer, whatever the model's tables" in words
    assert "it is not the probability that this answer is right" in words
    assert "gap: sex f" in plain
    assert "dropped in phase" in " ".join(plain.split())
    assert "Simulated with seed 1" in plain


def test_a_model_in_another_encoding_is_read_where_it_is_named(folder):
    (folder / "model.bif").write_bytes(NETWORK.replace("sex", "性别").encode("gbk"))
    asked = f"{STUDY} --seed 1 --json".replace("sex", "性别")
    with pytest.raises(TableError, match=r"model\.bif: line 2 is not UTF-8; pass --encoding, such as cp1252"):
        call(asked)
    assert json.loads(call(f"{asked} --encoding gbk"))["exact"] == "same"


def test_a_trial_is_guided_file_by_file(folder):
    model = CausalModel.from_bif("model.bif")
    model.sample(20, seed=1).to_csv("log.csv", index=False)
    call(f"{STUDY} --pooled --trial trial.eh --log log.csv --ask plan.csv")
    first = (folder / "plan.csv").read_text()
    call("--trial trial.eh --ask plan.csv")
    assert (folder / "plan.csv").read_text() == first, "an open allocation is shown again"
    kept = state.load(folder / "trial.eh")
    world = SimulatedTrial(kept.problem)
    world.reset(3)
    rounds = 0
    while kept.open_tickets:
        allocation = kept.allocation(kept.open_tickets[0])
        assert (pd.read_csv("plan.csv")["count"] == allocation.frame["count"]).all()
        world.respond(allocation)[0].to_csv("seen.csv", index=False)
        said = call("--trial trial.eh --tell seen.csv --ask plan.csv")
        kept, rounds = state.load(folder / "trial.eh"), rounds + 1
    assert kept.finished
    assert rounds >= 2
    assert "'same' is certified as the best fair rule" in said
    assert "no trials are left" in said


def test_the_same_results_do_not_count_twice(folder):
    """The file of the first allocation is told again while the second one is open, with and without its column."""
    call(f"{STUDY} --trial trial.eh --ask plan.csv")
    kept = state.load(folder / "trial.eh")
    world = SimulatedTrial(kept.problem)
    world.reset(3)
    assert (pd.read_csv("plan.csv")["ticket"] == 1).all()
    (rows,) = world.respond(kept.allocation(1))
    rows.to_csv("seen.csv", index=False)
    call("--trial trial.eh --tell seen.csv --ask plan.csv")
    assert (pd.read_csv("plan.csv")["ticket"] == 2).all()
    before = (folder / "trial.eh").read_bytes()
    with pytest.raises(ClosedTicketError, match="ticket 1 was told or forgotten before; nothing has changed"):
        call("--trial trial.eh --tell seen.csv")
    rows.drop(columns="ticket").to_csv("seen.csv", index=False)
    with pytest.raises(TableError, match=r"--tell: expected a column 'ticket'.*copy it from the plan"):
        call("--trial trial.eh --tell seen.csv")
    rows.assign(ticket="first").to_csv("seen.csv", index=False)
    with pytest.raises(TableError, match="--tell, column 'ticket': expected the number in the plan"):
        call("--trial trial.eh --tell seen.csv")
    assert (folder / "trial.eh").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (BEGIN, "--candidates, --tolerance: missing; add them"),
        (STUDY.replace("model.bif", "absent.bif"), "absent.bif: no such file"),
        (f"{STUDY} --ask plan.csv", "--ask: expected --trial as well, got nothing"),
        (f"{STUDY} --seed 1 --trial new.eh", "--seed: expected nothing together with --trial, got 1"),
        (STUDY.replace("study", "twice"), "'now' appears twice"),
        (STUDY.replace("study", "typo"), "got 'valuess'"),
        (STUDY.replace("study", "nan"), "--candidates, 'odd': expected probabilities"),
        (STUDY.replace("study", "deep"), "as JSON"),
        ("--trial policy.eh --ask plan.csv", "--trial: expected the file of a trial, got 'UCB1'"),
        (f"{STUDY} --values ill:0", "--values: expected NAME=NUMBER,NAME=NUMBER"),
        (f"{STUDY} --values ill=0,ill=1", "--values: expected each name once"),
        (f"{STUDY} --trial new.eh --tell seen.csv", "none is open"),
        (f"{STUDY} --trial new.eh --log absent.csv", "absent.csv: no such file"),
        (STUDY.replace("study", "candidates"), "values"),
        (STUDY.replace("study", "list"), "an object"),
        (f"{STUDY} --trial t.eh --ask nowhere/plan.csv", "--ask"),
        (
            ASKED.replace("candidates.json", "quoted.json"),
            r"'now': .*; write null \(in Python None\) without quotation",
        ),
        (
            ASKED.replace("candidates.json", "python.json"),
            r"'now': .*; write null \(in Python None\) without quotation",
        ),
        (f"{ASKED} --slack 0.1", "--slack: expected --budget or --trial as well, got nothing"),
        (f"{ASKED} --paper", "--pooled: expected --budget or --trial as well, got nothing"),
        (f"{ASKED} --delta 0.1", "--delta: expected --edges or --budget or --trial as well, got nothing"),
        (f"{ASKED} --cut dose=1", "--cut: expected --edges as well, got nothing"),
        (f"{ASKED} --seed 1", "--seed: expected --edges or --budget as well, got nothing"),
        (f"{ASKED} --tolerance 0", "--tolerance: expected a number > 0, got 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_no_trial_begins(folder, arguments, names):
    (folder / "list.json").write_text("[1, 2]")
    (folder / "quoted.json").write_text('{"now": "null", "all": "1"}')
    (folder / "python.json").write_text('{"now": "None", "all": "1"}')
    (folder / "twice.json").write_text('{"now": null, "now": [[0.5, 0.5], [0.5, 0.5]]}')
    (folder / "typo.json").write_text(json.dumps({"candidates": CANDIDATES, "valuess": {}}))
    (folder / "deep.json").write_text("[" * 100_000)
    study = {"candidates": {"now": None, "odd": [[float("nan"), 0.5], [0.5, 0.5]]}, "values": {"ill": 0, "well": 1}}
    (folder / "nan.json").write_text(json.dumps(study))
    state.save(UCB1(arms=2), folder / "policy.eh")
    with pytest.raises(EvenhandError, match=names):
        call(arguments)
    assert not (folder / "new.eh").exists()


def test_what_is_refused_of_a_trial_leaves_it_as_it_was(folder):
    call(f"{STUDY} --trial trial.eh --ask plan.csv")
    before = (folder / "trial.eh").read_bytes()
    with pytest.raises(EvenhandError, match="leave MODEL and its options out"):
        call(f"{STUDY} --trial trial.eh --ask plan.csv")
    pd.DataFrame({"ticket": [1], "candidate": ["now"], "sex": ["f"], "dose": ["2"], "state": ["ill"]}).to_csv(
        "seen.csv", index=False
    )
    with pytest.raises(EvenhandError, match=r"column 'dose', row 1: .*'2'"):
        call("--trial trial.eh --tell seen.csv")
    (folder / "empty.csv").write_text("")
    with pytest.raises(EvenhandError, match="as CSV"):
        call("--trial trial.eh --tell empty.csv")
    with pytest.raises(TicketError):
        call("--trial trial.eh --log seen.csv")
    for other, named in (("--tolerance 0.3", "--tolerance"), ("--paper", "--pooled")):
        with pytest.raises(EvenhandError, match=rf"--trial: expected .*leave {named}"):
            call(f"{other} --trial trial.eh --ask plan.csv")
    assert (folder / "trial.eh").read_bytes() == before
