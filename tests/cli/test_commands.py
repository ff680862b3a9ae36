"""The command line: exit codes that scripts can trust, JSON that parses, files where they are promised."""

import json
import os
import subprocess
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import evenhand as eh
from evenhand.errors import EvenhandError
from tests.cli import shell
from tests.cli.shell import answer, as_json, call, cells, evenhand, exit_code
from tests.naming import named

SMALL = ["--rounds", "300", "--replications", "2", "--seed", "4", "--jobs", "1"]


refused = partial(shell.refused, EvenhandError)


@pytest.fixture
def log():
    table = {"item": list("abab" * 5 + "aaaa"), "click": [0, 1] * 12, "when": range(24)}
    pd.DataFrame(table).to_csv("log.csv", index=False)
    return "log.csv"


@pytest.fixture
def shares():
    return written("shares.csv", "arm,share\na,45%\nb,1/2\n")


def test_the_version_is_the_packages():
    assert answer("--version").strip() == eh.__version__


def test_check_passes_and_its_exit_code_says_so():
    found = {(row["example"], row["outcome"]) for row in as_json("check", "quotas/fair-ucb")}
    assert found == {(f"quotas/fair-ucb #{number}", "passed") for number in (0, 1)}
    assert "passed" in answer("check", "learners/ucb1")
    rows = as_json("check", "learners/scores")
    assert [row["outcome"] for row in rows if row["check"] == "arguments"] == ["passed; not tried: low, high"]


def test_check_of_a_broken_policy_is_exit_code_1(scratch_registry):
    class Broken(eh.quotas.FairUCB):
        def tell(self, decision, reward):
            super().tell(decision, 0.5)

        @classmethod
        def _examples(cls):
            yield cls([0.1, 0.1]), eh.quotas.BernoulliArms([0.1, 0.2])

    scratch_registry(Broken)
    assert "FAILED: Broken breaks the contract" in as_json("check", "quotas/broken", code=1)[0]["outcome"]


def test_check_of_an_unknown_name_is_refused():
    refused("no entry is named 'quotas/nothing'", "check", "quotas/nothing")


# ---------------------------------------------------------------------------- audit


def test_an_audit_of_a_broken_promise_is_exit_code_1_with_the_finding(log, shares):
    body = as_json("audit", log, "--arm", "item", "--shares", shares, code=1)
    finding = eh.audit.promise(pd.read_csv(log), arm="item", shares={"a": "45%", "b": "1/2"})
    assert body["kept"] is False
    assert tuple(body["first_violation"]) == finding.first_violation
    assert body["worst_shortfall"] == finding.worst_shortfall
    assert [row["arm"] for row in body["arms"]] == ["a", "b"]
    said = answer("audit", log, "--arm", "item", "--shares", shares, code=1)
    words = "The promise was BROKEN in 3 of 24 rounds, from row 22 on, beginning with arm b"
    assert f"{words}; furthest behind was arm b, by 2 after row 24." in said
    assert cells(said) == [
        ["b", "at least 0.5", "0.4167", "10", "2", "2", "in 3 of 24 rounds, from row 22 on"],
        ["a", "at least 0.45", "0.5833", "14", "-3.2", "0", "never"],
    ]
    some = answer("audit", log, "--arm", "item", "--shares", "b=0.4")
    assert [row[0] for row in cells(some)] == ["b"]
    assert "and 1 arm without a promise." in some


def test_an_audit_of_a_promise_that_was_kept_is_exit_code_0(log):
    assert "kept after every row" in answer("audit", log, "--arm", "item", "--shares", "a=0.5,b=1/3")
    answer("audit", log, "--arm", "item", "--shares", "0.5", "--tolerance", "2")
    answer("audit", log, "--arm", "item", "--shares", "0.5", "--tolerance", "1", code=1)


def test_an_audit_writes_its_files(log):
    call("audit", log, "--arm", "item", "--shares", "0.4", "--order", "when", "--out", "out")
    written = {path.name for path in Path("out").iterdir()}
    assert written == {"audit.csv", "promises.csv", "timeline.csv", "audit.png"}
    assert Path("out/audit.png").read_bytes()[:4] == b"\x89PNG"
    assert pd.read_csv("out/audit.csv")["pulls"].tolist() == [14, 10]


def test_input_that_cannot_be_audited_is_refused(log):
    refused("--shares: expected ARM=SHARE", "audit", log, "--arm", "item", "--shares", "a=0.5,z=0.1,")
    refused("order: expected one of", "audit", log, "--arm", "item", "--shares", "0.1", "--order", "nine")


def written(name, text):
    Path(name).write_text(text)
    return name


def test_an_arm_that_is_promised_and_never_appears_is_said_loudly():
    log = written("log.csv", "arm\n1\n1\n1\n")
    shares = written("shares.csv", "arm,share\n1,0.1\n2.0,0.1\n")
    assert as_json("audit", log, "--shares", shares)["never_seen"] == ["2.0"]
    said = answer("audit", log, "--shares", shares)
    assert "arm 2.0 is promised a share and never appears in the log" in said


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("", "a=0.2,a=0.3", "--shares: expected each name once, got 'a, twice'"),
        ("s.csv", "arm,share\na,0.2\na,0.3\n", "s.csv: expected each name once, got 'a, twice'"),
        ("s.json", '{"a": 0.2, "a": 0.3}', "s.json: expected each name once, got 'a, twice'"),
        ("s.csv", "arm,share\na,0.2\nb,\n", "column 'share', row 2: the cell is empty"),
        ("s.csv", "arm,arm,share\na,b,0.2\n", "column 'arm': appears 2 times"),
    ],
)
def test_shares_that_say_two_things_or_nothing_are_refused(name, text, words, log):
    refused(words, "audit", log, "--arm", "item", "--shares", written(name, text) if name else text)


def test_an_audit_checks_caps_windows_segments_and_what_was_on_offer():
    log = written("log.csv", 'arm,on,where\na,"a,b",x\nb,"a,b",y\na,a,x\na,"a,b",y\nb,"a,b",x\n')
    finding = as_json("audit", log, "--cap", "a=0.5", "--window", "b=2,a=1/3", code=1)
    assert finding["first_breach"] == "after round 4, the plays of arm 'a' were 1 more than the cap 1/2 allows"
    assert [row["promise"] for row in finding["promises"]] == ["floor", "floor", "cap", "window", "window"]
    answer("audit", log, "--shares", "0.5", "--available", "on", "--out", "out")
    inside = answer("audit", log, "--shares", "a=0.2,b=0.5", "--segment", "where", "--out", "out", code=1)
    assert "The first breach: after round 3 in segment 'x', the plays of arm 'b' were 1 fewer than the share 1/2" in (
        " ".join(inside.split())
    )
    assert cells(inside)[2][-1] == "in 1 round, after row 3", "not of all 5"
    assert len(pd.read_csv("out/promises.csv")) == 4
    slates = written("slates.csv", "arm,r\na,1\nb,1\na,2\nc,2\n")
    assert as_json("audit", slates, "--shares", "a=1", "--round", "r")["rounds"] == 2
    changing = written("changing.csv", "from,arm,share\n1,a,0.5\n1,b,0\n3,b,1/3\n")
    answer("audit", log, "--shares", changing)


def test_an_audit_says_one_number_of_a_shortfall_and_who_was_behind_where_a_share_was_broken():
    log = written("log.csv", "arm\nb\nb\nb\nb\na\nb\n")
    owed = "tolerance = 1\n[shares]\na = 0.5\n[[sets]]\narms = ['a', 'b']\nshare = 0.9\n"
    said = " ".join(answer("audit", log, "--promise", written("p.toml", owed), code=1).split())
    assert "│ a + b │ at least 0.9 │ 1 │ 6 │ -0.6 │ 0 │ never │" in said
    assert "│ a │ at least 0.5 │ 0.1667 │ 1 │ 2 │ 2 │ in 2 of" in said
    assert "furthest behind was arm a, by 2 after row 4." in said
    assert "after round 4, the plays of arm 'a' were 2 fewer than the share 1/2 owes" in said
    capped = " ".join(answer("audit", log, "--shares", "a=0.1", "--cap", "b=0.5", code=1).split())
    assert "beginning with arm b. The first breach: after round 2, the plays of arm 'b' were 1 more" in capped
    alone = written("alone.csv", "arm,on\nb,b\nb,b\n")
    never = " ".join(answer("audit", alone, "--available", "on", "--shares", "a=0.1,b=0.1").split())
    assert "│ a │ at least 0.1 │ - │ 0 │ 0 │ 0 │ never │" in never


def test_an_audit_checks_every_promise_that_is_named_where_an_option_is_repeated():
    log = written("log.csv", "arm\na\nb\na\na\nc\n")
    once = as_json("audit", log, "--shares", "a=0.4,b=0.4", "--cap", "a=0.5,c=0.1", "--window", "a=2,b=3", code=1)
    several = ["--shares", "a=0.4", "--shares", "b=0.4", "--cap", "a=0.5", "--cap", "c=0.1"]
    assert as_json("audit", log, *several, "--window", "a=2", "--window", "b=3", code=1) == once
    assert len(once["promises"]) == 7
    rows = cells(answer("audit", log, "--cap", "a=0.5,c=0.1", "--window", "a=2,b=3", code=1))
    promised = ["a at most 0.5", "b at least 1 in any 3", "c at most 0.1", "a at least 1 in any 2"]
    assert [" ".join(row[:2]) for row in rows] == promised
    broken = ["in 1 of 5 rounds, after row 4", "in 1 of 5 rounds, from row 5 on", "never", "never"]
    assert [row[-1] for row in rows] == broken
    assert "behind" not in answer("audit", log, "--window", "a=3").splitlines()[-1]


def test_a_table_is_read_from_a_pipe():
    os.mkfifo("pipe")
    writer = threading.Thread(target=Path("pipe").write_text, args=("arm\na\nb\n",))
    writer.start()
    assert as_json("audit", "pipe", "--shares", "0.5")["rounds"] == 2
    writer.join()


@pytest.mark.parametrize("text", ["b=x", "b=2/y", "7", "b=/"])
def test_a_window_that_cannot_be_read_is_refused(text, log):
    refused("--window: expected", "audit", log, "--arm", "item", "--window", text)


def test_labels_are_no_markup():
    log = written("log.csv", "arm\n[/x]\n[bold]\n:smile:\n[/x]\n")
    result = answer("audit", log, "--shares", "[/x]=0.2,[absent]=0.1,[bold]=0.1,:smile:=0.1")
    for label in ("[/x]", "[bold]", ":smile:", "arm [absent] is promised"):
        assert label in result


@pytest.mark.parametrize(
    "arguments",
    [["audit", "log.csv", "--arm", "item", "--shares", "0.1"], ["simulate", "quotas/bernoulli-arms", *SMALL], ["demo"]],
    ids=lambda arguments: arguments[0],
)
def test_out_that_is_a_file_is_refused(arguments, log):
    Path("file").touch()
    refused("--out: expected a folder", *arguments, "--out", "file")


# ---------------------------------------------------------------------------- simulate


def test_simulate_on_the_users_own_log(log, shares):
    arguments = ["--data", log, "--arm", "item", "--reward", "click", "--shares", shares]
    policies = ["-p", "fair-ucb", "-p", "ucb1", "-p", "fair-learn+thompson", "-p", "lfg"]
    body = as_json("simulate", *arguments, *policies, *SMALL)
    assert (body["seed"], body["rounds"]) == (4, 300)
    by_name = {row["policy"]: row for row in body["policies"]}
    assert list(by_name) == ["fair-ucb", "ucb1", "fair-learn+thompson", "lfg"]
    for name in ("fair-ucb", "fair-learn+thompson"):
        assert by_name[name]["promise_kept"] is True
        assert by_name[name]["worst_shortfall"] < 1
    assert by_name["ucb1"]["promise_kept"] is False
    assert by_name["lfg"]["promise_kept"] is None  # it promises shares in the long run
    assert as_json("simulate", *arguments, *policies, *SMALL) == body


def test_simulate_writes_its_files(log):
    pd.read_csv(log).to_parquet("log.parquet")
    out = Path("out")
    arguments = ["--data", "log.parquet", "--arm", "item", "--reward", "click", "--shares", "0.3"]
    answer("simulate", *arguments, "-p", "fair-ucb", "-p", "ucb1", *SMALL, "--out", out, "--pictures", "png,pdf")
    written = {path.name for path in out.iterdir() if path.is_file()}
    assert written == {
        *("history.nc", "summary.csv", "arms.csv", "means.csv", "cost.csv", "shortfall.csv", "about.json"),
        *(f"{name}.{kind}" for name in ("regret", "shares", "cost", "shortfall") for kind in ("png", "pdf")),
    }
    about = json.loads((out / "about.json").read_text())
    assert (about["seed"], about["evenhand"], about["numpy"]) == (4, eh.__version__, np.__version__)
    with xr.open_dataset(out / "history.nc", engine="h5netcdf") as history:
        assert history.attrs["date"] == about["date"]
        assert dict(history.sizes)["replication"] == 2
        assert list(history.policy.values) == ["fair-ucb", "ucb1"]
    assert pd.read_csv(out / "summary.csv")["policy"].tolist() == ["fair-ucb", "ucb1"]
    assert pd.read_csv(out / "arms.csv")["arm"].tolist() == ["a", "b"]
    means = pd.read_csv(out / "means.csv")
    regret = means[(means["variable"] == "regret") & (means["policy"] == "ucb1")]
    np.testing.assert_allclose(regret["mean"], history.regret.sel(policy="ucb1").mean("replication"))
    assert {*regret["level"]} == {0.95}
    behind = pd.read_csv(out / "shortfall.csv").set_index(["policy", "round"])["largest_worst_shortfall"]
    largest = history.worst_shortfall.max("replication")
    np.testing.assert_allclose(behind["fair-ucb"], largest.sel(policy="fair-ucb"))
    made = regret["made_with"].iloc[0]
    assert made.startswith("seed 4; rounds 300; replications 2; data log.parquet; world: LoggedArms(")
    assert "; fair-ucb: FairUCB(shares={'a': 3/10 'b': 3/10} tolerance=0.0 " in made
    assert f"; evenhand {eh.__version__}; " in made
    assert about["data"] == "log.parquet"
    cost = pd.read_csv(out / "cost.csv")
    assert cost[["policy", "against"]].to_numpy().tolist() == [["fair-ucb", "ucb1"], ["ucb1", "ucb1"]]
    assert {*cost["made_with"]} == {*means["made_with"]}
    refused("--pictures: expected one of", "simulate", *arguments, "--out", out, "--pictures", "jpg")


def test_tables_and_pictures_measure_losses_against_the_learner_whose_cost_is_said(monkeypatch):
    drawn = []
    better = ["-p", "learners/epsilon-greedy:epsilon=0", "-p", "fair-ucb", "-p", "ucb1"]
    arguments = ["--means", "a=0.9,b=0.1", "--shares", "b=0.2", *better, *SMALL, "--out", "."]
    monkeypatch.setattr(eh.plots, "plot_cost", lambda history, **given: drawn.append(given["against"]))
    said = " ".join(answer("simulate", *arguments).split())
    assert "The cost is the difference of the regrets of fair-ucb and ucb1, which are expected" in said
    cost = pd.read_csv("cost.csv").set_index("policy")
    assert {*cost["against"]} == {"ucb1"}
    assert cost["mean"].idxmin() != "ucb1"
    assert drawn == ["ucb1"]
    assert "; world: BernoulliArms(means=array([0.9 0.1])); " in cost["made_with"].iloc[0]


def test_each_policy_over_a_learner_has_its_own_cost_and_price():
    learners = {"fair-ucb": "ucb1", "deadline-learn:tolerance=9": "ucb1", "fair-learn+thompson": "thompson"}
    named = [*learners, "ucb1", "thompson"]
    given = ["--means", "a=0.9,b=0.1", "--shares", "b=0.2", *SMALL, *(part for name in named for part in ("-p", name))]
    body = as_json("simulate", *given, "--out", ".")
    assert {cost["policy"]: cost["learner"] for cost in body["costs"]} == learners
    assert [price["policies"] for price in body["prices"]] == [
        ["fair-ucb", "fair-learn+thompson"],
        ["deadline-learn:tolerance=9"],
    ]
    table = pd.read_csv("cost.csv").set_index(["policy", "against"])
    assert [*table.index] == [(name, learner) for learner in ("ucb1", "thompson") for name in named]
    for cost in body["costs"]:
        ends = table.loc[(cost["policy"], cost["learner"]), ["mean", "low", "high"]]
        assert ends.tolist() == pytest.approx([cost["cost"], cost["low"], cost["high"]])
    said = " ".join(answer("simulate", *given).split())
    assert "Promised by fair-ucb, fair-learn+thompson: " in said
    assert "Promised by deadline-learn:tolerance=9: " in said
    for name, learner in learners.items():
        verbs = "costs", "gains", "is not shown to cost"
        assert any(f"The promise of {name} {verb} {learner}" in said for verb in verbs)


def test_worlds_and_policies_take_settings_by_name():
    policy = "deadline-learn+epsilon-greedy:epsilon=0,tolerance=2"
    found = as_json("simulate", "quotas/bernoulli-arms:means=1,0", "--shares", "0.1", "-p", policy, *SMALL)
    world, _, ours = found["made_of"][1], *found["made_of"][1:]
    assert "means=array([1., 0.])" in world
    assert "EpsilonGreedy(epsilon=0.0" in ours
    assert "tolerance=2" in ours
    assert found["policies"][0]["policy"] == policy


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["quotas/nothing"], "no world is named 'quotas/nothing'"),
        ([], "WORLD: name a world or pass --data FILE"),
        (["quotas/bernoulli-arms", "-p", "ucb1+thompson"], "only 'ucb1', which takes no learner"),
        (["quotas/bernoulli-arms", "--shares", "nan"], "--shares, 0: expected numbers from 0 to 1, got 'nan'"),
        (["quotas/bernoulli-arms", "--shares", "0.1", "-p", "ucb1"], "--shares: expected a --policy that keeps shares"),
        (["groups/biased-linear-arms", "--means", "0.5,0.4"], "--means: expected nothing together with a world"),
        (["quotas/bernoulli-arms:mean=1,0"], "WORLD quotas/bernoulli-arms: expected one of its settings means, got"),
        (["quotas/bernoulli-arms:means"], "WORLD: expected NAME or NAME:SETTING=VALUE,SETTING=VALUE"),
        (["quotas/bernoulli-arms", "--shares", "{}"], "expected at least one name with its value"),
        (["quotas/bernoulli-arms", "-p", "ucb1:pace=3"], "--policy ucb1: expected one of its settings arms,seed, got"),
        (["quotas/bernoulli-arms", "-p", "learners/epsilon-greedy:epsilon=much"], "epsilon: expected a"),
    ],
    ids=named,
)
def test_what_cannot_be_simulated_is_refused(arguments, words):
    refused(words, "simulate", *arguments)


# ---------------------------------------------------------------------------- the real thing


@pytest.mark.parametrize(("raised", "code"), [(ZeroDivisionError(), 70), (KeyboardInterrupt(), 130)], ids=named)
def test_a_crash_and_an_interruption_are_no_answer(raised, code, monkeypatch, capsys):
    def fails():
        raise raised

    monkeypatch.setattr("evenhand.cli.app", fails)
    assert exit_code(monkeypatch) == code
    assert ("Traceback" in capsys.readouterr().err) == (code == 70)


def test_leaving_at_a_question_is_130():
    people = written("people.csv", "age,pay\n1,0\n2,1\n3,0\n4,1\n5,1\n")
    answer("audit-pairs", people, "--features", "age", "--reward", "pay", "--state", "pairs.eh", code=130)


def test_a_reader_who_leaves_changes_nothing(log):
    audited = ["audit", log, "--arm", "item", "--shares", "0.5", "--out", "out"]
    with evenhand(*audited, stderr=subprocess.PIPE) as running:
        running.stdout.close()
        said = running.stderr.read()
        assert (running.wait(120), said) == (1, "")
    assert Path("out/audit.csv").is_file()


@pytest.mark.parametrize(
    ("named", "arguments"),
    [
        ("--shares", ["simulate", "quotas/bernoulli-arms", "--shares", ""]),
        ("--key", ["ask", "store.evenhand", "--key", ""]),
        ("argument 2", ["tell", "store.evenhand", ""]),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else None,
)
def test_an_empty_value_is_refused_and_does_not_stand_for_none(named, arguments):
    refused(f"{named}: expected a value, got ''; leave it out if you mean none", *arguments)


def test_simulated_rewards_have_intervals_and_the_cost_is_said_to_be_that_of_the_regrets():
    Path("p.toml").write_text("tolerance = 2\n[shares]\n0 = 0.3\n")
    usual = ["simulate", "--means", "0.2,0.6", "--promise", "p.toml", "-p", "ucb1", *SMALL]
    for row in as_json(*usual)["policies"]:
        assert row["reward_low"] < row["reward_a_round"] < row["reward_high"]
    said = " ".join(answer(*usual).split())
    assert "Promised: 0 at least 3/10 of the rounds (behind by less than 3)" in said
    pair = "ucb1 under the promise and ucb1"
    said_of = f"The cost is the difference of the regrets of {pair}, which are expected; the rewards also vary by luck."
    assert said_of in said
    assert "regret: expected reward lost against the best arm" in said
