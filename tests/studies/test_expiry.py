"""Tickets that are open for too long expire: the log says so, and replays.

Open tickets live in the log: the policy is saved without them, and takes one up again when it is told.
"""

from datetime import timedelta
from unittest.mock import patch

import pytest

import evenhand as eh
from evenhand import registry
from evenhand.errors import ArgumentError, ClosedTicketError
from evenhand.policy.tickets import Tickets
from evenhand.studies import Forget, Study, Tell
from evenhand.studies.export import bandit_frame
from evenhand.studies.log.durations import read_expiry
from evenhand.studies.store.schema import SNAPSHOTS
from tests.naming import named
from tests.studies.conftest import example

MINUTE = 60_000_000


def fair():
    return eh.quotas.FairUCB({"ads": 0.2, "news": 0.3, "sport": 0.1}, seed=1)


def kinds(study):
    return [(event.kind, event.ticket) for event in study.log.events()]


def test_the_next_ask_closes_what_was_open_for_too_long(shared, clock):
    study = Study.create(shared, fair(), name="ads", expire_after="1m")
    assert study.log.expire_after == timedelta(minutes=1)
    study.ask(count=3)
    study.tell(2, 1.0)
    since = study.verify()
    clock.pass_by(MINUTE - 1)
    study.ask()
    assert study.open_tickets == [1, 3, 4]
    clock.pass_by(1)
    study.ask()
    assert kinds(study)[-3:] == [("expire", 1), ("expire", 3), ("ask", 5)]
    assert study.open_tickets == [4, 5]
    (expired, event) = study.log.record(1), list(study.log.events())[-3]
    assert expired.status == "expired"
    assert (event.given, event.decision, event.key) == ({"after": 60.0}, None, None)
    with pytest.raises(ClosedTicketError, match=r"ticket 1 expired at .* UTC, 1 minute after it was handed out; noth"):
        study.tell(1, 1.0)
    assert study.forget(3) == "already forgotten"
    assert study.tell(2, 1.0) == "already told"
    assert study.frame()["status"].tolist() == ["expired", "told", "expired", "open", "open"]
    statistics = study.statistics()
    assert (statistics.told, statistics.forgotten, sorted(statistics.open)) == (1, 2, [4, 5])
    for found in (study.verify(), study.verify(since=since)):
        assert (found.problems, found.told, found.forgotten, found.open) == ((), 1, 2, 2)


def test_many_expire_a_few_at_a_time_and_none_is_told_late(clock):
    study = Study.create(":memory:", fair(), expire_after=60)
    study.ask(count=1_250)
    clock.pass_by(MINUTE)
    with pytest.raises(ClosedTicketError, match="ticket 1240 expired"):
        study.tell(1_240, 1.0)
    before = study.log.sequence
    study.ask()
    assert 1 < study.log.sequence - before <= 101
    for _ in range(13):
        study.ask()
    assert study.open_tickets == list(range(1_251, 1_265))
    assert study.verify().problems == ()


NO_DURATIONS = [
    *(0, -1, "0d", "7 days", "d", "", True, float("nan"), float("inf"), "1e3", 10**400, [7], timedelta(0), "999999w"),
]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        *(({"expire_after": one}, "expire_after: expected a timedelta, seconds, or a text") for one in NO_DURATIONS),
        ({"expire_reward": 0}, "expire_reward: expected None without expire_after, got 0; say when tickets expire"),
        ({"expire_after": 60, "expire_reward": 2}, r"expire_reward: expected a number in \[0, 1\], got 2.0"),
        ({"expire_after": 60, "expire_reward": "no"}, "expire_reward: expected a number, got 'no'"),
        ({"expire_after": 60, "expire_reward": float("nan")}, "expire_reward: expected"),
        ({"expire_after": 60, "expire_reward": True}, "expire_reward: expected a number, got True"),
    ],
    ids=named,
)
def test_what_is_no_duration_and_a_reward_that_no_ticket_could_be_told_are_refused(tmp_path, given, words):
    with pytest.raises(ArgumentError, match=words):
        Study.create(tmp_path / "ads.evenhand", fair(), **given)
    assert not (tmp_path / "ads.evenhand").exists()


def test_durations_are_read():
    given = ["90", " 1.5h ", "2w", 0.25, timedelta(days=1)]
    assert [read_expiry(after) for after in given] == [90.0, 5_400.0, 1_209_600.0, 0.25, 86_400.0]


# ---------------------------------------------------------------------- many open tickets


@patch.object(Tickets, "restore", autospec=True, side_effect=Tickets.restore)
def test_ten_thousand_open_tickets_are_neither_loaded_nor_written(taken_up, tmp_path):
    study = Study.create(tmp_path / "ads.evenhand", fair())
    sizes = []
    for _ in range(2):
        study.ask(count=5_000)
        with study.store.reading() as connection:
            rows = connection.execute(SNAPSHOTS.select().order_by(SNAPSHOTS.c.sequence)).all()
        sizes.append(len(rows[-1].state))
        assert rows[-1].sequence == study.log.sequence
    assert sizes[1] - sizes[0] < 100
    study.close()
    with Study.open(tmp_path / "ads.evenhand") as one:
        assert one.ask().id == 10_001
        assert len(one.state.now().policy.open_tickets) == 1
        assert not taken_up.called
        assert one.run([Tell(ticket=number, given={"reward": 1.0}) for number in (7, 9_000)]) == ["told"] * 2
        assert {call.args[1] for call in taken_up.call_args_list} == {7, 9_000}
        assert len(one.open_tickets) == 9_999
        assert len(one.policy.open_tickets) == 9_999
        assert one.verify().problems == ()


def test_reasons_stay_true_while_no_ticket_is_at_hand():
    study = Study.create(":memory:", fair())
    for _ in range(7):
        study.ask()
        study.state.snapshot()
        study = Study.open(study.store)
    whole = fair()
    reasons = study.frame()["reason"].tolist()
    assert reasons == [whole.ask().reason for _ in range(7)]
    assert reasons.count("never tried before") == 1
    assert study.verify().problems == ()


# ---------------------------------------------------------------------- rewards that never come


def test_an_expired_ticket_is_told_the_reward_of_silence(shared, clock):
    study = Study.create(shared, fair(), name="ads", expire_after="1m", expire_reward=0)
    twin = fair()
    asked = study.ask(count=4)
    mine = [twin.ask() for _ in asked]
    study.tell(2, 1.0)
    clock.pass_by(MINUTE)
    study.ask()
    for decision, reward in zip([mine[1], mine[0], *mine[2:]], (1.0, 0.0, 0.0, 0.0), strict=True):
        twin.tell(decision, reward)
    assert twin.ask().arm == study.log.record(5).decision["arm"]
    assert list(study.log.events())[-2].given == {"after": 60.0, "reward": 0.0}
    exported = bandit_frame(study)
    assert study.frame()["reward"].tolist()[:4] == exported["reward"].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert (exported["decisions_left_out"].tolist(), exported.attrs["left_out"]) == ([0, 0, 0, 1], {"open": 1})
    assert (study.statistics().told, study.statistics().forgotten, study.statistics().reward[0]) == (4, 0, 0.25)
    found = study.verify()
    assert (found.problems, found.told, found.forgotten, found.open) == ((), 4, 0, 1)
    assert study.tell(1, 0) == "already told"
    for report in (lambda: study.tell(1, 1.0), lambda: study.forget(1)):
        with pytest.raises(ClosedTicketError, match=r"ticket 1 expired at .*, and was told reward 0.0; nothing has"):
            report()
    again = Study.open(study.store)
    assert again.state.now().bytes() == study.state.now().bytes()
    assert (again.log.expire_after, again.log.expire_reward) == (timedelta(minutes=1), 0.0)


SLATES = eh.quotas.DeadlineLearn(eh.learners.UCB1(), eh.Promise({"a": 0.2, "b": 0.3, "c": 0.1}, plays=2))


@pytest.mark.parametrize(
    ("policy", "shown", "told"),
    [(SLATES, [], [0.0, 0.0]), (eh.groups.TopInterval({"a": "F", "b": "M"}, seed=1), [[[1.0], [2.0]]], 0.0)],
    ids=["a slate", "contexts"],
)
def test_every_arm_of_a_slate_and_an_arm_that_showed_contexts_is_told_the_reward_of_silence(policy, shown, told, clock):
    study = Study.create(":memory:", policy.fresh(), expire_after=60, expire_reward=0)
    study.ask(*shown, count=3)
    clock.pass_by(MINUTE)
    study.state.run([Forget(ticket=1)])
    assert study.frame()["reward"].tolist() == [told] * 3
    assert (study.statistics().told, study.verify().problems) == (3, ())


def test_a_policy_that_is_not_told_rewards_alone_has_no_reward_of_silence():
    for name in ("similarity/lipschitz-ucb", "sampling/uniform"):
        with pytest.raises(ArgumentError, match="expire_reward: expected a policy that is told rewards alone"):
            Study.create(":memory:", example(name)[0], expire_after="1m", expire_reward=0.5)


# ---------------------------------------------------------------------- tickets that live in the log


def test_what_decides_by_its_open_tickets_keeps_them():
    every = [entry for entry in registry.entries("policy") if hasattr(entry.cls, "open_tickets")]
    kept = [entry.name for entry in every if not getattr(entry.cls, "_tickets_live_in_log", False)]
    assert kept == ["sampling/certification"]
