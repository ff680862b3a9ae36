"""`evenhand archive`: files that every command reads."""

import json
from pathlib import Path

from evenhand.errors import ArgumentError
from tests.cli.shell import answer, asked, call, refused


def test_decisions_leave_the_store_and_every_command_reads_them(played, tmp_path):
    before = answer("export", played, "--out", "-")
    shown = json.loads(answer("show", played, "--json"))
    body = json.loads(answer("archive", played, "--to", str(tmp_path / "logs"), "--up-to", "20", "--json"))
    assert [set(one) for one in body] == [{"path", "first", "last", "sha256", "digest"}]
    said = answer("archive", played, "--to", str(tmp_path / "logs"))
    assert f"ads: entries {body[0]['last'] + 1} to " in said
    assert "ads: nothing to move" in answer("archive", played, "--to", str(tmp_path / "logs"))
    assert answer("export", played, "--out", "-") == before
    again = json.loads(answer("show", played, "--json"))
    assert {**again, "sequence": 0} == {**shown, "sequence": 0}
    assert answer("tell", played, "1", str(_reward(before))).strip() == "already told"
    assert "The log is whole" in answer("verify", played)
    found = json.loads(answer("audit", str(tmp_path / "logs" / "*.parquet"), "--shares", "a=0.2,b=0.3", "--json"))
    assert found["rounds"] > 20
    assert found["kept"]


def _reward(table):
    header, first = (line.split(",") for line in table.splitlines()[:2])
    return first[header.index("reward")]


def test_files_that_were_moved_are_named_and_found(played, tmp_path):
    answer("archive", played, "--to", str(tmp_path / "logs"))
    (tmp_path / "logs").rename(tmp_path / "moved")
    found = call("verify", played)
    said = " ".join(found.output.split())
    assert found.exit_code == 1
    assert "WRONG" in said
    assert "--segments FOLDER" in said
    moved = str(tmp_path / "moved")
    assert "The log is whole" in answer("verify", played, "--segments", moved)
    assert "decisions written" in answer("export", played, "--out", str(tmp_path / "a.csv"), "--segments", moved)
    assert answer("show", played, "--decision", "1", "--segments", moved)
    answer("archive", played, "--to", moved)
    assert "The log is whole" in answer("verify", played)


def test_the_workers_of_a_study_are_listed_from_files_that_were_moved(tmp_path):
    store, logs, moved = tmp_path / "ads.evenhand", tmp_path / "logs", tmp_path / "moved"
    answer("new", store, "-p", "deadline-learn", "--shares", "a=0.2,b=0.3", "--tolerance", "5", "--workers", "2")
    for decision in asked(store, "--worker", "w1", "--count", "3"):
        answer("tell", store, decision["ticket"], "1")
    answer("archive", store, "--to", logs)
    logs.rename(moved)
    assert "--segments FOLDER" in str(call("workers", store).exception)
    rows = json.loads(answer("workers", store, "--segments", moved, "--json"))["workers"]
    assert [row["rounds"] for row in rows] == [3, 0]


def test_bad_input_is_refused(played, tmp_path):
    refused(ArgumentError, "--up-to: wanted", "archive", played, "--to", str(tmp_path / "logs"), "--up-to", "0")
    refused(ArgumentError, "--older-than: wanted", "archive", played, "--to", str(tmp_path), "--older-than", "soon")
    refused(ArgumentError, "to: wanted a folder", "archive", played, "--to", played)
    assert not list(Path(tmp_path).glob("logs/*"))
