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


BEGIN = ["model.bif", "--intervene", "dose", "--sensitive", "sex", "--outcome", "state"]
STUDY = [*BEGIN, "--candidates", "study.json", "--tolerance", "0.15", "--budget", "6000"]


def test_it_simulates_and_writes_table_and_picture(folder):
    body = json.loads(call(*STUDY, "--seed", "1", "--pooled", "--json", "--out", "out"))
    assert (body["candidate"], body["status"], body["exact"], body["seed"]) == ("same", "certified", "same", 1)
    assert body["confidence"] == 0.95
    paper = json.loads(call(*STUDY, "--seed", "1", "--paper", "--json"))
    assert paper["status"] in ("certified", "uncertified", "no_fair_candidate")
    assert paper["confidence"] is None
    assert [row["candidate"] for row in body["table"]] == list(CANDIDATES)
    assert (folder / "out" / "candidates.png").stat().st_size > 1000
    assert pd.read_csv(folder / "out" / "candidates.csv").shape[0] == 3
    plain = call(
        *BEGIN,
        "--candidates",
        "candidates.json",
        "--values",
        "ill=0,well=1",
        "--tolerance",
        "0.15",
        "--budget",
        "6000",
        "--seed",
        "1",
        "--pooled",
    )
    words = " ".join(plain.split())
    assert "certified: same (confidence 0.95)" in words
    assert "of 100 such trials at most 5 ever give a wrong answer, whatever the model's tables" in words
    assert "it is not the probability that this answer is right" in words
    assert "sex f minus sex m" in plain
    assert "dropped in phase" in " ".join(plain.split())
    assert "Simulated with seed 1" in plain


def test_a_model_in_another_encoding_is_read_where_it_is_named(folder):
    (folder / "model.bif").write_bytes(NETWORK.replace("sex", "性别").encode("gbk"))
    asked = [*STUDY, "--seed", "1", "--json", "--sensitive", "性别"]
    asked.remove("sex")
    asked.remove("--sensitive")
    with pytest.raises(TableError, match=r"model\.bif: line 2 is not UTF-8; pass --encoding, such as cp1252"):
        call(*asked)
    assert json.loads(call(*asked, "--encoding", "gbk"))["exact"] == "same"


def test_a_trial_is_guided_file_by_file(folder):
    model = CausalModel.from_bif("model.bif")
    model.sample(20, seed=1).to_csv("log.csv", index=False)
    call(*STUDY, "--pooled", "--trial", "trial.eh", "--log", "log.csv", "--ask", "plan.csv")
    first = (folder / "plan.csv").read_text()
    call("--trial", "trial.eh", "--ask", "plan.csv")
    assert (folder / "plan.csv").read_text() == first, "an open allocation is shown again"
    kept = state.load(folder / "trial.eh")
    world = SimulatedTrial(kept.problem)
    world.reset(3)
    rounds = 0
    while kept.open_tickets:
        allocation = kept.allocation(kept.open_tickets[0])
        assert (pd.read_csv("plan.csv")["count"] == allocation.frame["count"]).all()
        world.respond(allocation)[0].to_csv("seen.csv", index=False)
        said = call("--trial", "trial.eh", "--tell", "seen.csv", "--ask", "plan.csv")
        kept, rounds = state.load(folder / "trial.eh"), rounds + 1
    assert kept.finished
    assert rounds >= 2
    assert "certified: same" in said
    assert "no trials are left" in said
    before = (folder / "trial.eh").read_bytes()
    with pytest.raises(ClosedTicketError, match="was told or forgotten before"):
        call("--trial", "trial.eh", "--tell", "seen.csv")
    assert (folder / "trial.eh").read_bytes() == before


def test_the_same_results_do_not_count_twice(folder):
    """The file of the first allocation is told again while the second one is open, with and without its column."""
    call(*STUDY, "--trial", "trial.eh", "--ask", "plan.csv")
    kept = state.load(folder / "trial.eh")
    world = SimulatedTrial(kept.problem)
    world.reset(3)
    assert (pd.read_csv("plan.csv")["ticket"] == 1).all()
    (rows,) = world.respond(kept.allocation(1))
    rows.to_csv("seen.csv", index=False)
    call("--trial", "trial.eh", "--tell", "seen.csv", "--ask", "plan.csv")
    assert (pd.read_csv("plan.csv")["ticket"] == 2).all()
    before = (folder / "trial.eh").read_bytes()
    with pytest.raises(ClosedTicketError, match="ticket 1 was told or forgotten before; nothing has changed"):
        call("--trial", "trial.eh", "--tell", "seen.csv")
    rows.drop(columns="ticket").to_csv("seen.csv", index=False)
    with pytest.raises(TableError, match=r"--tell: expected a column 'ticket'.*copy it from the plan"):
        call("--trial", "trial.eh", "--tell", "seen.csv")
    rows.assign(ticket="first").to_csv("seen.csv", index=False)
    with pytest.raises(TableError, match="--tell, column 'ticket': expected the number in the plan"):
        call("--trial", "trial.eh", "--tell", "seen.csv")
    assert (folder / "trial.eh").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([*BEGIN], "--candidates, --tolerance: missing; add them"),
        (["absent.bif", *STUDY[1:]], "absent.bif: no such file"),
        ([*STUDY, "--ask", "plan.csv"], "--trial"),
        ([*STUDY, "--delta", "2"], "delta: expected a number > 0 and < 1"),
        ([*STUDY[:-1], "0"], "--budget: expected"),
        ([*STUDY, "--tolerance", "-1"], "--tolerance: expected"),
        ([*STUDY, "--seed", "1", "--trial", "new.eh"], "--seed: expected nothing together with --trial, got 1"),
        ([*STUDY, "--ask", "plan.csv"], "--ask: expected --trial as well, got nothing"),
        ([*STUDY, "--slack", "-1"], "slack: expected a number >= 0"),
        ([*BEGIN, "--candidates", "twice.json", "--tolerance", "0.1", "--budget", "600"], "'now' appears twice"),
        ([*BEGIN, "--candidates", "typo.json", "--tolerance", "0.1", "--budget", "600"], "got 'valuess'"),
        (
            [*BEGIN, "--candidates", "nan.json", "--tolerance", "0.1", "--budget", "600"],
            "--candidates, 'odd': expected probabilities",
        ),
        (
            [*BEGIN, "--candidates", "row.json", "--tolerance", "0.1", "--budget", "600"],
            "--candidates, 'odd': expected a table of shape",
        ),
        ([*BEGIN, "--candidates", "deep.json", "--tolerance", "0.1", "--budget", "600"], "as JSON"),
        (["--trial", "policy.eh", "--ask", "plan.csv"], "--trial: expected the file of a trial, got 'UCB1'"),
        ([*STUDY, "--values", "ill:0"], "--values: expected NAME=NUMBER,NAME=NUMBER"),
        ([*STUDY, "--trial", "new.eh", "--tell", "seen.csv"], "none is open"),
        ([*STUDY, "--trial", "new.eh", "--log", "absent.csv"], "absent.csv: no such file"),
        ([*BEGIN, "--candidates", "candidates.json", "--tolerance", "0.1", "--budget", "600"], "values"),
        ([*BEGIN, "--candidates", "model.bif", "--tolerance", "0.1", "--budget", "600"], "as JSON"),
        ([*BEGIN, "--candidates", "list.json", "--tolerance", "0.1", "--budget", "600"], "an object"),
        ([*STUDY, "--trial", "t.eh", "--ask", "nowhere/plan.csv"], "--ask"),
        (
            [
                *BEGIN,
                "--candidates",
                "candidates.json",
                "--values",
                "ill=0,ill=1",
                "--tolerance",
                "0.1",
                "--budget",
                "6000",
            ],
            "--values: expected each name once",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_no_trial_begins(folder, arguments, names):
    (folder / "list.json").write_text("[1, 2]")
    (folder / "twice.json").write_text('{"now": null, "now": [[0.5, 0.5], [0.5, 0.5]]}')
    (folder / "typo.json").write_text(json.dumps({"candidates": CANDIDATES, "valuess": {}}))
    (folder / "deep.json").write_text("[" * 100_000)
    for name, table in (("nan", [[float("nan"), 0.5], [0.5, 0.5]]), ("row", [[0.5, 0.5]])):
        study = {"candidates": {"now": None, "odd": table}, "values": {"ill": 0, "well": 1}}
        (folder / f"{name}.json").write_text(json.dumps(study))
    state.save(UCB1(arms=2), folder / "policy.eh")
    with pytest.raises(EvenhandError, match=names):
        call(*arguments)
    assert not (folder / "new.eh").exists()


def test_a_refused_delivery_leaves_the_trial_as_it_was(folder):
    call(*STUDY, "--trial", "trial.eh", "--ask", "plan.csv")
    before = (folder / "trial.eh").read_bytes()
    with pytest.raises(EvenhandError, match="leave MODEL and its options out"):
        call(*STUDY, "--trial", "trial.eh", "--ask", "plan.csv")
    pd.DataFrame({"ticket": [1], "candidate": ["now"], "sex": ["f"], "dose": ["2"], "state": ["ill"]}).to_csv(
        "seen.csv", index=False
    )
    with pytest.raises(EvenhandError, match=r"column 'dose', row 1: .*'2'"):
        call("--trial", "trial.eh", "--tell", "seen.csv")
    (folder / "empty.csv").write_text("")
    with pytest.raises(EvenhandError, match="as CSV"):
        call("--trial", "trial.eh", "--tell", "empty.csv")
    with pytest.raises(TicketError):
        call("--trial", "trial.eh", "--log", "seen.csv")
    assert (folder / "trial.eh").read_bytes() == before


@pytest.mark.parametrize("other", [["--tolerance", "0.3"], ["--budget", "9"], ["--paper"]])
def test_a_trial_does_not_go_on_with_other_settings(folder, other):
    call(*STUDY, "--trial", "trial.eh", "--ask", "plan.csv")
    before = (folder / "trial.eh").read_bytes()
    with pytest.raises(EvenhandError, match=rf"--trial: expected .*leave {other[0] if len(other) > 1 else '--pooled'}"):
        call(*other, "--trial", "trial.eh", "--ask", "plan.csv")
    assert (folder / "trial.eh").read_bytes() == before
