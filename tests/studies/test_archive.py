"""Parts of logs in Parquet files: all is read as before, nothing is lost by a kill, and what was changed is found."""

import hashlib
import os
import random
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest
from sqlalchemy import func, select, text, update

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContradictionError,
    EvenhandError,
    MissingExtraError,
    ReplayError,
    StoreError,
    UnknownTicketError,
)
from evenhand.studies import Operation, Store, Study
from evenhand.studies.store.schema import EVENTS, MOVED_KEYS, SEGMENTS, SNAPSHOTS
from tests.naming import timed

SHARES = {"ads": 0.2, "news": 0.3}


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr("evenhand.studies.archive.segment_writing.DECISIONS", 4)


@pytest.fixture
def logs(tmp_path):
    return tmp_path / "logs"


def policy(learner=None):
    return eh.quotas.DeadlineLearn(learner or eh.learners.UCB1(), SHARES, seed=1)


def create(place, made=None, **more):
    return Study.create(place, made or policy(), name="ads", **more)


def converse(study, rounds, seed=1, lag=2):
    """Decide, and tell or forget each ticket some rounds later; return the open ones."""
    chance, waiting = random.Random(seed), []
    for _ in range(rounds):
        waiting.append(study.ask())
        while len(waiting) > lag:
            ticket = waiting.pop(chance.randrange(len(waiting)))
            study.forget(ticket) if chance.random() < 0.1 else study.tell(ticket, float(chance.random() < 0.5))
    return waiting


def stored(study):
    """How many entries are in the store."""
    with study.store.reading() as connection:
        count = select(func.count()).select_from(EVENTS).where(EVENTS.c.study == study._number)
        return connection.scalar(count)


def without_moves(study):
    """What was decided and told, without the digests, which entries about files change."""
    kinds = [(event.kind, event.ticket, event.given, event.key) for event in study.events() if event.kind != "move"]
    return study.frame().drop(columns=["digest", "at", "told_at"]).astype(str).to_dict("records"), kinds


# ---------------------------------------------------------------------- reading


def test_all_is_read_as_before_from_every_kind_of_store(place, logs):
    study = create(place)
    waiting = converse(study, 30)
    frame, events = study.frame(), list(study.events())
    records = [study.record(ticket) for ticket in range(1, 31)]
    verified, shown = study.verify(), study.statistics().counts.tolist()
    (segment,) = study.archive(logs)
    assert segment.first == 1
    assert stored(study) == len(events) - segment.last + 1
    for reader in (study, Study.open(study.store, "ads")):
        assert reader.frame().equals(frame)
        assert list(reader.events())[: len(events)] == events
        assert [reader.record(ticket) for ticket in range(1, 31)] == records
        assert reader.latest(25) == records[-25:]
        assert reader.statistics().counts.tolist() == shown
        assert reader.open_tickets == [ticket.id for ticket in waiting]
    again = study.verify()
    assert again.ok, again.problems
    assert (again.decisions, again.told, again.entries) == (30, verified.told, verified.entries + 1)
    assert study.verify(known=events[3].digest).ok
    assert study.verify(known=verified.digest).ok
    assert not study.verify(known="0" * 64).ok


def test_segments_follow_one_another(place, logs):
    study, twin = create(place), create(":memory:")
    for seed in range(4):
        for one in (study, twin):
            for ticket in converse(one, 12, seed):
                one.tell(ticket, 1.0)
        assert len(study.archive(logs)) == 1
    assert [segment.first for segment in study.segments] == [1, *(one.last + 1 for one in study.segments[:-1])]
    assert sorted(os.path.basename(one.path) for one in study.segments) == [
        os.path.basename(one.path) for one in study.segments
    ]
    assert without_moves(study) == without_moves(twin)
    assert study.verify().ok
    mark = study.verify()
    converse(study, 5)
    assert study.verify(since=mark).ok


def test_a_verification_goes_on_from_a_mark_that_has_left_the_store(logs):
    study = create(":memory:")
    for ticket in converse(study, 9):
        study.tell(ticket, 1.0)
    mark = study.verify()
    for ticket in converse(study, 30):
        study.tell(ticket, 1.0)
    study.archive(logs)
    assert study.segments[0].last > mark.entries
    found = study.verify(since=mark)
    assert found.ok, found.problems
    assert found.decisions == 39


@pytest.mark.slow
@pytest.mark.parametrize("name", [timed(entry.name) for entry in registry.entries("policy")])
def test_every_policy_leaves_the_store_and_is_read_as_before(name, logs):
    made, world = next(iter(examples(registry.get(name).cls)))
    study = create(":memory:", made)
    world.reset(seed=3)
    for _ in range(7):
        try:
            ticket = study.ask(*world.observe())
        except EvenhandError:
            break
        study.tell(ticket, *world.respond(ticket))
    events = list(study.events())
    moved = study.archive(logs)
    assert len(moved) == (sum(event.kind == "ask" for event in events) > 1)
    assert list(study.events())[: len(events)] == events
    found = Study.open(study.store).verify()
    assert found.ok, found.problems


def test_opening_and_deciding_need_no_segment(place, logs):
    study, twin = create(place, expire_after="1d"), create(":memory:", expire_after="1d")
    for one in (study, twin):
        converse(one, 20)
    study.archive(logs)
    shutil.rmtree(logs)
    again = Study.open(study.store)
    assert again.expire_after == twin.expire_after
    for _ in range(10):
        mine, other = again.ask(), twin.ask()
        assert mine == other
        again.tell(mine, 1.0), twin.tell(other, 1.0)
    with pytest.raises(StoreError, match="--segments FOLDER"):
        again.frame()


def test_what_another_process_had_not_read_yet_may_leave_the_store(shared, logs, monkeypatch):
    monkeypatch.setattr("evenhand.studies.log.open_tickets.REMEMBERED", 1)
    first = create(shared)
    second, third = Study.open(shared), Study.open(shared)
    tickets = [first.ask() for _ in range(6)]
    assert len(second.open_tickets) == 6  # it is behind what comes now, as far as the asks
    for ticket in tickets:
        first.tell(ticket, 1.0)
    first.ask()
    first.archive(logs)
    shutil.rmtree(logs)
    assert second.ask().id == 8
    assert third.ask().id == 9
    assert third.tell(7, 1.0) == second.tell(8, 1.0) == "told"
    assert first.ask().id == 10


# ---------------------------------------------------------------------- what leaves


def test_open_tickets_and_the_last_decision_stay(place, logs):
    study = create(place)
    for _ in range(5):
        study.tell(study.ask(), 1.0)
    waiting = study.ask()
    for _ in range(5):
        study.tell(study.ask(), 1.0)
    (segment,) = study.archive(logs)
    assert (segment.first_ticket, segment.last_ticket) == (1, 5)
    assert study.archive(logs) == []
    assert study.tell(waiting, 1.0) == "told"
    (segment,) = study.archive(logs)
    assert (segment.first_ticket, segment.last_ticket) == (6, 10)
    assert study.archive(logs) == []
    assert study.verify().ok


def test_up_to_a_round_or_an_age(logs, monkeypatch):
    study = create(":memory:")
    for _ in range(10):
        study.tell(study.ask(), 1.0)
    (segment,) = study.archive(logs, up_to=4)
    assert segment.last_ticket == 4
    assert study.archive(logs, up_to=4) == []
    assert study.archive(logs, older_than="1h") == []
    assert len(study.archive(logs, older_than=1e-6)) == 1
    assert study.segments[-1].last_ticket == 9


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"up_to": 0}, "up_to: wanted"),
        ({"up_to": 1.5}, "up_to: wanted"),
        ({"older_than": "soon"}, "older_than: wanted"),
        ({"to": None}, "to: wanted the path of a folder"),
        ({"to": 7}, "to: wanted the path of a folder"),
        ({"to": ""}, "to: wanted the path of a folder"),
        ({"to": "/dev/null/logs"}, "to: wanted a folder that can be written to"),
    ],
)
def test_bad_arguments_are_refused(logs, given, said):
    study = create(":memory:")
    converse(study, 5)
    with pytest.raises(ArgumentError, match=said):
        study.archive(**({"to": logs} | given))
    assert study.segments == []
    with pytest.raises(ArgumentError, match="segments: wanted the path of a folder"):
        Study.open(study.store, segments=7)


def test_a_log_that_was_changed_does_not_leave(logs):
    study = create(":memory:")
    converse(study, 10)
    with study.store.writing() as connection:
        connection.execute(update(EVENTS).where(EVENTS.c.sequence == 3).values(at=5))
    with pytest.raises(ReplayError, match="entry 3 was changed"):
        study.archive(logs)
    assert os.listdir(logs) == []


def test_pyarrow_is_asked_for(logs, monkeypatch):
    study = create(":memory:")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"a segment of a log needs pyarrow: pip install 'evenhand\[data\]'"):
        study.archive(logs)


def test_a_file_of_another_study_is_not_replaced(logs):
    one, other = create(":memory:"), create(":memory:")
    for study in (one, other):
        converse(study, 10)
    (segment,) = one.archive(logs)
    with pytest.raises(ArgumentError, match="move it away"):
        other.archive(logs)
    assert one.verify().ok
    assert other.segments == []
    assert stored(other) == other.sequence
    assert os.listdir(logs) == [os.path.basename(segment.path)]


def test_the_longer_file_of_a_restored_store_is_not_replaced(tmp_path, logs):
    path = tmp_path / "ads.evenhand"
    for rounds in (10, 20):
        study = create(path) if rounds == 10 else Study.open(path)
        for ticket in converse(study, 10):
            study.tell(ticket, 1.0)
        study.close()
        if rounds == 10:
            shutil.copy(path, tmp_path / "backup")
    with Study.open(path) as study:
        study.archive(logs)
    shutil.copy(tmp_path / "backup", path)
    with pytest.raises(ArgumentError, match="move it away"):
        Study.open(path).archive(logs)


# ---------------------------------------------------------------------- kills


class Killed(BaseException):
    """The end of a process."""


BOUNDARIES = [
    "evenhand.studies.archive.archive.write_segment",
    "evenhand.studies.archive.segment_writing.os.fsync",
    "evenhand.studies.archive.archive.read_group",
    "evenhand.studies.archive.archive.sha256_of",
    "evenhand.studies.archive.archive.os.replace",
    "evenhand.studies.archive.archive._sync",
    "evenhand.studies.archive.archive.hash_of",
    "evenhand.studies.archive.archive.Transaction.move",
    "evenhand.studies.archive.archive.Transaction.commit",
    "evenhand.studies.store.store.Store.shrink",
]


KILLS = [("file", boundary, after) for boundary in BOUNDARIES for after in (False, True)] + [
    ("postgresql", boundary, False) for boundary in BOUNDARIES[5::2]
]


@pytest.mark.parametrize(("kind", "boundary", "after"), KILLS)
def test_a_kill_at_any_boundary_loses_nothing_and_the_next_call_finishes(
    kind, boundary, after, tmp_path, request, logs
):
    shared = tmp_path / "ads.evenhand" if kind == "file" else request.getfixturevalue("database")
    study = create(shared)
    for ticket in converse(study, 10):
        study.tell(ticket, 1.0)
    study.tell(study.ask(key="order 7"), 1.0)
    converse(study, 10)
    before = without_moves(study)
    module, _, name = boundary.rpartition(".")
    owner = __import__("pkgutil").resolve_name(module)
    real = getattr(owner, name)

    def killed(*given, **more):
        if after:
            real(*given, **more)
        raise Killed

    with patch.object(owner, name, killed), patch("evenhand.studies.archive.archive.os.unlink"), pytest.raises(Killed):
        study.archive(logs)
    study.store.close()
    again = Study.open(shared)
    assert without_moves(again) == before
    assert again.verify().ok
    converse(again, 6)
    before = without_moves(again)
    again.archive(logs)
    duckdb = pytest.importorskip("duckdb")
    count = duckdb.sql(f"select count(*), count(distinct ticket), max(ticket) from '{logs}/*.parquet'").fetchall()
    assert set(count[0]) == {again.segments[-1].last_ticket}
    assert without_moves(again) == before
    assert again.ask(key="order 7").id == 11
    assert again.verify().ok


def test_two_processes_at_once_move_each_entry_once(shared, logs):
    study, other = create(shared), Study.open(shared)
    converse(study, 12)
    with pytest.raises(StoreError, match="another process moved these entries meanwhile"):
        _interrupted(study, other, logs)
    assert len(study.segments) == 1
    assert study.verify().ok


def _interrupted(study, other, logs):
    """Archive a study while another process archives it between the file and the transaction."""
    from evenhand.studies.archive import archive as module

    real, turns = module._move, []

    def move(*given):
        if not turns:
            turns.append(1)
            other.archive(logs)
        real(*given)

    with patch.object(module, "_move", move):
        study.archive(logs)


# ---------------------------------------------------------------------- late reports, keys


def test_late_reports_are_answered_from_the_segment(place, logs):
    study = create(place)
    study.tell(study.ask(), 1.0)
    study.forget(study.ask())
    converse(study, 10)
    study.archive(logs)
    for reader in (study, Study.open(study.store)):
        assert reader.tell(1, 1.0) == "already told"
        assert reader.forget(2) == "already forgotten"
        with pytest.raises(ContradictionError, match="ticket 1 was told before"):
            reader.tell(1, 0.0)
        with pytest.raises(ClosedTicketError, match="ticket 2 was forgotten before"):
            reader.tell(2, 1.0)
        with pytest.raises(UnknownTicketError):
            reader.record(99)
    shutil.rmtree(logs)
    with pytest.raises(ClosedTicketError, match="ticket 1 was closed before, and its entries cannot be read"):
        Study.open(study.store).tell(1, 1.0)


@pytest.mark.parametrize("collide", [False, True])
def test_a_request_that_left_the_store_is_not_decided_twice(place, logs, monkeypatch, collide):
    if collide:
        monkeypatch.setattr("evenhand.studies.log.segments.hash_of", lambda key: 5)
        monkeypatch.setattr("evenhand.studies.archive.archive.hash_of", lambda key: 5)
    study = create(place)
    decisions = [*study.ask(key="night", count=3), study.ask(key="order 7")]
    for decision in decisions:
        study.tell(decision, 1.0)
    study.ask()
    study.archive(logs)
    for reader in (study, Study.open(study.store)):
        assert reader.ask(key="night", count=3) == decisions[:3]
        assert reader.ask(key="order 7") == decisions[3]
        with pytest.raises(ContradictionError, match="was used before"):
            reader.ask(key="order 7", available=["ads"])
    new = study.ask(key="order 8")
    assert new.id == 6
    assert study.ask(key="order 8") == new
    with study.store.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(MOVED_KEYS)) == 4
    assert study.verify().ok
    shutil.rmtree(logs)
    with pytest.raises(StoreError, match="is not there"):
        Study.open(study.store).ask(key="night")


# ---------------------------------------------------------------------- what is wrong with files


def archived(place, logs, rounds=14):
    study = create(place)
    for seed in range(2):
        for ticket in converse(study, rounds, seed):
            study.tell(ticket, 1.0)
        study.archive(logs)
    return study


def damaged(study, path, data):
    Path(path).write_bytes(data)
    return Study.open(study.store).verify().problems


def test_missing_moved_and_put_back(place, logs, tmp_path):
    study = archived(place, logs)
    moved = tmp_path / "moved"
    logs.rename(moved)
    fresh = Study.open(study.store)
    first, second = fresh.verify().problems
    assert "were moved to this file, and it is not there; put the file back" in first
    assert "ads-000000000001.parquet" in first
    assert f"entries {study.segments[1].first} to {study.segments[1].last}" in second
    elsewhere = Study.open(study.store, segments=moved)
    assert elsewhere.verify().ok
    assert len(elsewhere.frame()) == 28
    assert [Path(segment.path).parent for segment in elsewhere.segments] == [moved, moved]
    assert fresh.archive(moved) == []
    assert Study.open(study.store).verify().ok


def test_a_store_and_its_files_move_together(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    archived(home / "ads.evenhand", home / "logs").close()
    home.rename(tmp_path / "elsewhere")
    assert Study.open(tmp_path / "elsewhere" / "ads.evenhand").verify().ok


def test_truncated_changed_and_swapped_files_are_named(logs):
    study = archived(":memory:", logs)
    first, second = (segment.path for segment in study.segments)
    sound, other = Path(first).read_bytes(), Path(second).read_bytes()
    (problem,) = damaged(study, first, sound[: len(sound) // 2])
    assert problem.startswith(f"{first}: cannot be read as a segment")
    (problem,) = damaged(study, first, other)
    assert "it holds others: restore it from a backup" in problem
    (problem,) = damaged(study, first, b"none")
    assert problem.startswith(f"{first}: cannot be read as a segment")
    for place in random.Random(1).sample(range(4, len(sound) - 8), 40):
        changed = bytearray(sound)
        changed[place] ^= 1
        problems = damaged(study, first, bytes(changed))
        assert any(first in problem for problem in problems), place
    assert damaged(study, first, sound) == ()


def rewritten(study, column, values):
    """Change a column of the first file, keep its metadata, and have the store say what it is now."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = study.segments[0].path
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        table = file.read()
    place = table.schema.get_field_index(column)
    changed = values(table[column].to_pylist())
    table = table.set_column(place, table.schema.field(place), pa.array(changed, table.schema.field(place).type))
    with pq.ParquetWriter(path, table.schema) as writer:
        for at, size in enumerate(sizes):
            writer.write_table(table.slice(sum(sizes[:at]), size))
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    with study.store.writing() as connection:
        connection.execute(update(SEGMENTS).where(SEGMENTS.c.first == 1).values(sha256=digest))
    return Study.open(study.store)


def test_entries_that_were_changed_in_file_and_store_are_found(logs):
    study = archived(":memory:", logs)
    other = rewritten(study, "decision", lambda texts: [texts[0].replace("ads", "news"), *texts[1:]])
    (problem,) = other.verify().problems
    assert "entries 1 to" in problem
    assert "were changed" in problem
    with pytest.raises(StoreError, match="were changed"):
        other.frame()


def test_a_plain_column_that_was_changed_in_file_and_store_is_found(logs):
    study = archived(":memory:", logs)
    other = rewritten(study, "arm", lambda arms: ["ads"] * len(arms))
    (problem,) = other.verify().problems
    assert "the log names another file for entries 1 to" in problem


def test_a_row_of_segments_that_is_gone_is_found(logs):
    study = archived(":memory:", logs)
    with study.store.writing() as connection:
        connection.execute(SEGMENTS.delete().where(SEGMENTS.c.first == 1))
    problems = Study.open(study.store).verify().problems
    assert "entry 1 is missing from the log" in problems


# ---------------------------------------------------------------------- together with the rest


def test_snapshots_of_older_code_continue_with_tickets_that_were_open_then(logs, monkeypatch):
    study = create(":memory:")
    first = [study.ask() for _ in range(6)]
    monkeypatch.setattr("evenhand.studies.log.replay.policy_version", lambda policy: "another")
    monkeypatch.setattr("evenhand.studies.verify.replay_entry", _another(6))
    later = Study.open(study.store)
    later.snapshot()
    for ticket in first:
        later.tell(ticket, 1.0)
    later.ask()
    later.archive(logs)
    found = later.verify()
    assert found.ok, found.problems
    assert any("replayed from there" in note for note in found.notes), found.notes


def _another(until):
    """A replay of entries that decides otherwise than the older version, up to an entry."""
    from evenhand.studies.log.operations import replay_entry

    def replayed(policy, entry, version):
        if entry.sequence == until:
            raise ReplayError("decides otherwise")
        return replay_entry(policy, entry, version)

    return replayed


def test_erased_contexts_stay_unreadable_in_files(place, logs):
    pytest.importorskip("cryptography")
    study = create(place, eh.groups.LinearThompson({"a": "F", "b": "M"}, seed=1))
    shown = [[0.12345678912345678, 1.0], [0.7, 0.1]]
    for number in range(6):
        study.tell(study.ask(shown, subject=f"user-{number}", key=f"key of {number}"), 1.0)
    study.ask(shown)
    (segment,) = study.archive(logs)
    data = Path(segment.path).read_bytes()
    assert b"0.123456789" not in data
    assert b"user-" not in data
    frame = _plain(segment.path)
    assert not any("0.1234" in cell for cell in frame["given"])
    assert study.record(2).given == {"contexts": shown}
    assert study.ask(shown, subject="user-2", key="key of 2").id == 3
    assert study.erase("user-2").subjects == 1
    assert study.record(3).given == {"erased": True}
    assert study.record(2).given == {"contexts": shown}
    assert list(study.frame()["given"])[2] == {"erased": True}
    found = Study.open(study.store).verify()
    assert found.ok, found.problems
    assert found.decisions == 7
    assert found.replayed < found.entries
    with study.store.writing() as connection:
        connection.execute(text("DELETE FROM subjects WHERE name = 'user-4'"))
    assert "the contexts of entry 9 cannot be read" in Study.open(study.store).verify().problems[0]


def _plain(path):
    return pytest.importorskip("pandas").read_parquet(path)


@pytest.mark.parametrize("kind", ["file", "postgresql"])
def test_workers_have_segments_of_their_own(kind, tmp_path, request, logs):
    place = tmp_path / "ads.evenhand" if kind == "file" else request.getfixturevalue("database")
    made = eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, tolerance=5, seed=1)
    study = Study.create(place, made, name="ads", workers=2)
    workers = [Study.open(place, "ads", worker=name) for name in ("w1", "w2")]
    for turn in range(40):
        decision = workers[turn % 2].ask()
        workers[turn % 3 % 2].tell(decision, float(turn % 2))
    frame = study.frame()
    moved = Study.open(place, "ads").archive(logs)
    assert sorted(os.path.basename(one.path) for one in moved) == [
        "ads.w1-000000000001.parquet",
        "ads.w2-000000000001.parquet",
    ]
    assert Study.open(place, "ads").frame().drop(columns="digest").equals(frame.drop(columns="digest"))
    again = Study.open(place, "ads")
    ticket = int(frame["ticket"][0])
    assert again.tell(ticket, float(frame["reward"][0])) == "already told"
    assert workers[0].ask().round == 21
    found = again.verify()
    assert found.ok, found.problems
    assert found.decisions == 41
    assert [one.path for one in again.segments] == [one.path for one in moved]
    audited = eh.quotas.audit(str(logs / "*.parquet"), arm="arm", shares=SHARES, tolerance=5)
    assert audited.kept
    assert audited.rounds == 38
    logs.rename(tmp_path / "moved")
    assert not Study.open(place, "ads").verify().ok
    assert Study.open(place, "ads", segments=tmp_path / "moved").verify().ok


def test_the_store_gets_smaller(tmp_path, logs, monkeypatch):
    monkeypatch.setattr("evenhand.studies.archive.segment_writing.DECISIONS", 1000)
    path = tmp_path / "ads.evenhand"
    study = create(path)
    study.perform([Operation("ask")] * 2000)
    study.perform([Operation("tell", ticket, {"reward": 1.0}) for ticket in range(1, 2001)])
    study.rest()
    with study.store.reading() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.stat().st_size
    (segment,) = study.archive(logs)
    assert path.stat().st_size < before / 2
    assert Path(segment.path).stat().st_size < before / 4
    assert Path(segment.path).stat().st_mode & 0o777 == 0o600
    assert study.verify().ok


def test_the_promise_is_audited_and_counted_in_sql(logs):
    duckdb = pytest.importorskip("duckdb")
    for arms in (["ads", "news"], [3, 7]):
        study = create(":memory:", eh.quotas.FairUCB(dict(zip(arms, (0.2, 0.3), strict=True)), seed=1))
        for seed in range(3):
            for ticket in converse(study, 15, seed):
                study.tell(ticket, 0.5)
            study.archive(logs / str(arms[0]))
        left = study.frame().iloc[:-1]
        files = str(logs / str(arms[0]) / "*.parquet")
        counted = duckdb.sql(f"select arm, count(*), sum(reward) from '{files}' group by arm").fetchall()
        by_arm = left.groupby("arm")
        assert {arm: (count, told) for arm, count, told in counted} == {
            arm: (len(rows), rows["reward"].sum()) for arm, rows in by_arm
        }
        shares = dict(zip(arms, (0.2, 0.3), strict=True))
        found = eh.quotas.audit(files, arm="arm", shares=shares)
        same = eh.quotas.audit(left, arm="arm", shares=shares)
        assert found.arms.equals(same.arms)
        assert (found.kept, found.rounds, found.worst_shortfall) == (same.kept, len(left), same.worst_shortfall)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_calls_decides_and_reads_as_without_files(seed, tmp_path):
    """Two processes decide, tell, look up and archive; a twin study does the same and never archives."""
    chance = random.Random(seed)
    place = tmp_path / "ads.evenhand" if seed % 3 else ":memory:"
    made = policy(chance.choice([eh.learners.UCB1, eh.learners.Thompson])())
    study, twin = create(place, made), create(":memory:", made)
    processes, known = [study, Study.open(study.store, "ads")], {}
    for step in range(120):
        process = chance.choice(processes)
        act = chance.choice(["ask"] * 6 + ["tell"] * 6 + ["forget", "key", "look", "archive", "open"])
        if act in ("ask", "key"):
            key = f"key {chance.randrange(12)}" if act == "key" else None
            assert process.ask(key=key) == twin.ask(key=key)
        elif act in ("tell", "forget") and twin.sequence:
            ticket, reward = 1 + chance.randrange(twin.policy.round), chance.choice([0.0, 1.0])
            said = [_said(one, act, ticket, reward) for one in (process, twin)]
            assert said[0] == said[1]
            known[ticket] = reward
        elif act == "look" and twin.sequence:
            ticket = 1 + chance.randrange(twin.policy.round)
            mine, other = process.record(ticket), twin.record(ticket)
            assert (mine.status, mine.told, mine.decision) == (other.status, other.told, other.decision)
        elif act == "archive":
            process.archive(tmp_path / "logs", up_to=chance.choice([None, 1 + step // 4]))
        else:
            processes[chance.randrange(2)] = Study.open(study.store, "ads")
    assert without_moves(study) == without_moves(twin)
    found = study.verify()
    assert found.ok, found.problems


def _said(study, act, ticket, reward):
    try:
        return study.tell(ticket, reward) if act == "tell" else study.forget(ticket)
    except ClosedTicketError as error:
        return str(error)


def test_snapshots_before_what_left_are_kept_for_verification(logs):
    study = archived(":memory:", logs, 20)
    with study.store.reading() as connection:
        assert connection.scalar(select(func.min(SNAPSHOTS.c.sequence))) == 0
    assert study.verify().replayed == study.sequence


def test_a_store_in_memory_shares_its_files(logs):
    store = Store.at(":memory:", create=True)
    study = create(store)
    converse(study, 10)
    study.archive(logs)
    assert Study.open(store).verify().ok


def test_the_page_shows_the_history_as_before(logs):
    pytest.importorskip("uvicorn")
    from evenhand.service.series import close_up, series_of
    from evenhand.service.sessions import Sessions

    study = create(":memory:")
    converse(study, 40)
    shown = []
    for _ in range(2):
        sessions = Sessions(study.store)
        session = sessions.open("ads")
        with session.reading() as (statistics, index):
            counts = statistics.counts.tolist(), list(index.find(open=True)), list(index.find(arm="news"))
        shown.append(str((series_of(session, 20), close_up(session, 5, 30, 10), counts)))
        sessions.stop()
        study.archive(logs)
    assert shown[0] == shown[1]
