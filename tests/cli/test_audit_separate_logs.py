"""`evenhand audit A.csv B.csv`: logs of processes that decided at the same time."""

from pathlib import Path

import pytest

from evenhand.errors import ArgumentError
from tests.cli.shell import as_json, refused


@pytest.fixture
def logs(tmp_path):
    """The logs of three processes."""
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("arm\n" + "ads\nnews\nsports\n" * (10 + number))
    return [tmp_path / f"{number}.csv" for number in range(3)]


def test_what_some_order_breaks_is_said_with_its_caveat(logs):
    found = as_json("audit", *logs, "--shares", "sports=9/10", code=1)
    assert not found["kept"]
    assert found["rounds"] == {str(log): 30 + 3 * number for number, log in enumerate(logs)}
    assert {row["arm"]: row["broken_by"] for row in found["promises"]}["sports"] > 0
    assert "need not have been broken in the one that happened" in found["notes"][0]


def test_shares_that_change_are_refused_in_a_line(logs):
    Path("changing.csv").write_text("arm,share,from\nads,0.2,1\nads,0.1,9\n")
    words = "--shares: expected shares that do not change, when files or several logs are audited, got a share that "
    words += "changes; audit the logs one by one, each read into a table"
    refused(ArgumentError, words, "audit", *logs, "--shares", "changing.csv")


def test_a_log_that_is_named_twice_is_refused(logs):
    again = f"{logs[0].parent}/./../{logs[0].parent.name}/{logs[0].name}"
    for same in (logs[0], again):
        refused(ArgumentError, "LOG...: expected each log once", "audit", logs[0], same, "--shares", 0.1)
