"""Eight processes tell tokens late, and two of them are killed: the promise holds by verify, audit and SQL alike."""

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.learners import UCB1
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Study
from tests.cli.shell import answer
from tests.studies.weighed_calls import SHARES, behind_in_sql, converse, nursery

PATIENCE = 600
LONG = pytest.mark.timeout(2 * PATIENCE)
DIES = (5, 9, *[0] * 6)
"""After how many decisions each process is killed, 0 for never."""


@pytest.mark.slow
@pytest.mark.parametrize("asks", [250, pytest.param(10_000, marks=[pytest.mark.nightly, LONG])])
def test_verify_audit_and_sql_agree_where_two_of_eight_processes_are_killed(asks: int, tmp_path: Path) -> None:
    place, log = tmp_path / "calls.evenhand", tmp_path / "log.csv"
    owed = eh.Promise(SHARES, 12_000, weight="tokens", largest=4000, in_flight=10)
    Study.create(place, DeadlineLearn(UCB1(), owed, seed=1)).close()
    workers = [nursery().Process(target=converse, args=(place, asks, number, dies)) for number, dies in enumerate(DIES)]
    for worker in workers:
        worker.start()
    with Study.open(place) as study:
        for worker in workers:
            worker.join(PATIENCE)
        assert [worker.exitcode for worker in workers] == [-9, -9] + [0] * 6
        left = study.open_tickets
        assert 2 <= len(left) <= 4
        open_ones = study.verify()
        assert open_ones.problems == ()
        for ticket in left:
            study.forget(ticket)
        verified = study.verify()
        assert verified.repeated == "all"
        assert verified.decisions >= asks
        assert verified.told == verified.decisions - len(left)
    answer("export", place, "--out", log)
    audited = eh.audit.promise(log, arm="arm", promise=owed)
    assert verified.ok
    assert audited.kept
    assert 20 * verified.worst_shortfall == 20 * audited.worst_shortfall == behind_in_sql(place) > 0
    assert verified.worst_shortfall <= open_ones.worst_shortfall <= 12_000
