"""Studies shown, verified and exported from the shell."""

import json
import re
import sqlite3
from pathlib import Path

import pandas as pd

import evenhand as eh
from evenhand.cli.studies.pictures import pictures
from evenhand.cli.studies.show import bars
from evenhand.errors import ArgumentError, StateFileError, TableError
from evenhand.plots.style import figure
from evenhand.studies import Ask, Study, Tell
from tests.cli.shell import answer, as_json, asked, cells, refused


def test_a_set_is_drawn_as_one_more_arm_and_a_cap_as_a_level():
    promise = eh.Promise({"a": 0.1, "b": 0, "c": 0, ("a", "b"): 0.3}, caps={"c": 0.6})
    with Study.create("s", eh.quotas.DeadlineLearn(eh.learners.UCB1(), promise)) as study:
        for _ in range(40):
            study.tell(study.ask(), 1.0)
        drawn = pictures(study.statistics())
    _, axes = figure()
    drawn["shares"](ax=axes)
    said = " ".join(text.get_text() for text in axes.texts)
    assert "a + b has " in said
    assert ", promised 0.3" in said
    assert ", at most 0.6" in said


def test_show_tells_how_a_study_stands(played):
    said = answer("show", played, "--out", "out")
    assert "60 decisions, 57 told, 1 forgotten, 2 open" in said
    assert "The promise was kept at every round" in said
    assert "Open tickets: 40, 60." in said
    assert {path.name for path in Path("out").iterdir()} == {"arms.csv", "shares.png", "shortfall.png"}
    body = as_json("show", played)
    with Study.open(played) as study:
        pulls = study.policy.pulls
    assert {row["label"]: row["decisions"] for row in body["arms"]} == pulls
    assert [row["promised"] for row in body["arms"]] == [0.2, 0.3]
    assert body["promise"]["kept"] is True
    assert body["open_tickets"] == [40, 60]
    assert [row["id"] for row in body["latest"]] == [56, 57, 58, 59, 60]
    assert body["latest"][-1]["status"] == "open"
    arms = pd.read_csv("out/arms.csv")
    assert arms["decisions"].tolist() == list(pulls.values())


def test_show_before_the_first_decision(store):
    assert "0 decisions" in answer("show", store, "--out", "out")
    assert {path.name for path in Path("out").iterdir()} == {"arms.csv"}
    assert as_json("show", store)["arms"][0]["share"] is None


def test_the_last_decisions_are_found_behind_many_reports(store):
    asked(store, "--count", "3")
    assert [row["id"] for row in as_json("show", store)["latest"]] == [1, 2, 3]
    with Study.open(store) as study:
        decisions = study.run([Ask()] * 297)
        study.run([Tell(ticket=n, given={"reward": 0.5}) for n in range(1, 301)])
    latest = as_json("show", store)["latest"]
    assert [row["id"] for row in latest] == [decision.id for decision in decisions[-5:]]
    assert "Mean reward 0.5; of the last 200 told 0.5." in answer("show", store)


def test_show_lists_every_open_ticket_when_asked(store):
    asked(store, "--count", "20")
    assert "12 and 8 more; --open lists all" in answer("show", store)
    assert "19, 20." in answer("show", store, "--open")


def test_one_decision_with_all_that_is_known(played):
    said = answer("show", played, "--decision", "7")
    assert re.search(r"reason +\w", said)
    assert re.search(r"told +\{'reward': [01]\.0\}", said)
    body = as_json("show", played, "--decision", "7")
    assert body["decision"]["id"] == 7
    assert body["version"].startswith(eh.__version__)


def test_the_learned_bias_is_shown_through_a_quota_as_well(tmp_path):
    for name, policy in (("plain", "two-group-top-interval"), ("quota", "deadline-learn+two-group-top-interval")):
        path = tmp_path / name
        options = ["--shares", "a=0.5,b=0.1"] if name == "quota" else []
        answer("new", path, "-p", policy, "--groups", "a=men,b=women", "--sensitive", "women", *options, "--seed", "1")
        assert as_json("show", path)["bias"] is None
        with Study.open(path) as study:
            for n in range(8):
                study.tell(study.ask([{"base": 1.0, "years": n}, {"base": 1.0, "years": 2.0 * n}]), 3.0 * n)
        body = as_json("show", path)
        assert [(row["group"], row["feature"]) for row in body["bias"]] == [("women", "base"), ("women", "years")]
        assert {row["group"] for row in body["arms"]} == {"men", "women"}
        said = " ".join(answer("show", path, "--out", tmp_path / "out" / name).split())
        warning, tables = said.index("adds both groups' widths"), said.index("Plays")
        assert warning < tables < said.index("Learned bias by feature")
        assert (tmp_path / "out" / name / "bias.png").is_file()


def test_bars_are_as_long_as_the_shares():
    lines = bars([{"label": "a" * 30, "share": 0.5, "promised": 0.25}, {"label": 7, "share": 0.25}], "#|", 20)
    assert [line.count("#") for line in lines] == [19, 10]
    assert lines[0].index("|") - lines[0].index("#") == 10
    assert lines[0].startswith("a" * 19 + "~  ")


def test_verify_says_yes_and_no_by_its_exit_code(played):
    said = answer("verify", played)
    assert "replays to the same decisions and states" in said
    assert "was kept" in said
    body = as_json("verify", played)
    assert (body["ok"], body["decisions"], body["promise_kept"], body["problems"]) == (True, 60, True, [])
    with sqlite3.connect(played) as connection:
        connection.execute("UPDATE events SET given = ? WHERE sequence = 25", ['{"reward":0.25}'])
    assert "WRONG: entry 25 was changed after it was written" in answer("verify", played, code=1)
    assert as_json("verify", played, code=1)["ok"] is False


def test_an_export_is_a_row_a_decision(played):
    assert answer("export", played, "--out", "log.csv") == "60 decisions written to log.csv\n"
    answer("export", played, "--out", "log.parquet")
    log, parquet = pd.read_csv("log.csv"), pd.read_parquet("log.parquet")
    assert log["ticket"].tolist() == parquet["ticket"].tolist() == list(range(1, 61))
    assert log["status"].value_counts().to_dict() == {"told": 57, "open": 2, "forgotten": 1}
    assert log["arm"].tolist() == parquet["arm"].tolist()
    assert json.loads(log["told"][0]) == {"reward": log["reward"][0]}
    assert answer("export", played, "--out", "-") == Path("log.csv").read_text()
    assert eh.audit.promise(log, arm="arm", shares={"a": 0.2, "b": 0.3}).kept
    refused(TableError, "is a store of studies", "audit", played, "--shares", "0.1")


def test_an_export_holds_the_decisions_of_a_period(played):
    answer("export", played, "--out", "log.csv")
    log = pd.read_csv("log.csv")
    at = pd.to_datetime(log["at"])
    inside = log[(at >= at[20]) & (at < at[45])]
    period = ("--since", at[20].isoformat(), "--until", at[45].isoformat())
    said = answer("export", played, "--out", "log.csv", *period)
    assert f"Only the {len(inside)} of 60 decisions from " in said
    pd.testing.assert_frame_equal(pd.read_csv("log.csv"), inside.reset_index(drop=True))
    answer("export", played, "--form", "bandit", "--out", "log.csv", *period)
    told = pd.read_csv("log.csv")
    assert told["ticket"].tolist() == inside["ticket"][inside["status"] == "told"].tolist()
    assert len(told) + told["decisions_left_out"].sum() == len(inside)
    never = ("export", played, "--out", "log.csv", "--since", "2999-01-01")
    refused(ArgumentError, "--since: expected a time with decisions of the log", *never)


def test_labels_of_several_kinds_are_exported_as_text():
    answer("new", "s", "-p", "ucb1", "--arms", '["a,b", 17, "é"]')
    asked("s", "--count", "3")
    answer("export", "s", "--out", "log.parquet")
    assert pd.read_parquet("log.parquet")["arm"].tolist() == ["a,b", "17", "é"]


def test_a_digest_that_was_printed_is_looked_for(played):
    digest = re.search("Last digest: ([0-9a-f]{64})", answer("verify", played))[1]
    assert as_json("verify", played, "--known", digest)["digest"] == digest
    assert "WRONG: no entry has the digest 0000" in answer("verify", played, "--known", "0" * 64, code=1)


def test_all_arms_of_a_round_are_shown_with_the_reward_of_each():
    Path("p.toml").write_text("plays = 2\n[shares]\na = 0.4\nb = 0.3\nc = 0\n")
    answer("new", "s", "--promise", "p.toml")
    answer("ask", "s"), answer("tell", "s", 1, "1,0")
    (row,) = [row for row in cells(answer("show", "s")) if row[-2] == "told"]
    assert (row[2], row[-1]) == ("a + b", "1, 0")


def test_verify_goes_on_from_a_mark(played):
    mark = Path("ads.mark")
    assert "The log is whole and replays" in answer("verify", played, "--mark", mark)
    before = as_json("verify", played)["entries"]
    asked(played, "--count", "3")
    said = answer("verify", played, "--mark", mark)
    assert f"note: entries 1 to {before} were not read" in said
    assert "The 3 entries since then are whole and replay to the same decisions and states." in said
    assert as_json("verify", played, "--mark", mark)["since"] == before + 3
    said = answer("verify", played, "--known", mark)
    assert f"Checkpoint, to keep elsewhere: {mark.read_text()[:40]}" in said
    assert mark.stat().st_size <= 1024
    state = mark.with_name("ads.mark.state")
    state.write_bytes(state.read_bytes()[:-9])
    assert as_json("verify", played, "--mark", mark)["since"] == 0  # the whole log, and its root
    state.unlink()
    refused(ArgumentError, "nothing beside a mark without its .state", "verify", played, "--mark", mark, "--known", "0")
    other = json.loads(mark.read_text()) | {"root": "0" * 64}
    mark.write_text(json.dumps(other))
    result = answer("verify", played, "--mark", mark, code=1)
    assert f"WRONG: the first {before + 3} entries are not those of the checkpoint of {other['time']}" in result
    mark.write_bytes(mark.read_bytes()[:-9])
    refused(ArgumentError, "or leave --mark out to verify the whole log", "verify", played, "--mark", mark)
    refused(ArgumentError, "--mark", "verify", played, "--mark", ".")
    refused(StateFileError, "cannot be written", "verify", played, "--mark", "no/ads.mark")
