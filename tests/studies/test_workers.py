"""A study with several workers: each decides by itself, and one promise is kept over all of them."""

import os
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, text, update

import evenhand as eh
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContradictionError,
    FencedError,
    ForeignTicketError,
    ReplayError,
    SharesError,
    StoreError,
    UnknownStudyError,
    UnknownTicketError,
    UnknownWorkerError,
)
from evenhand.studies import Operation, Store, Study
from evenhand.studies.store.schema import EVENTS, WORKERS
from tests.cli.shell import call

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "ads.evenhand"


def policy(tolerance=5.0, shares=SHARES, learner=None, **more):
    return eh.quotas.DeadlineLearn(learner or eh.learners.UCB1(), shares, tolerance, seed=1, **more)


def opened(place, *names):
    return [Study.open(place, "ads", worker=name) for name in names]


def created(place, made=None, workers=4, **more):
    """A study and where its workers find it: a store in memory is shared, any other is opened by each."""
    study = Study.create(place, made or policy(), name="ads", workers=workers, **more)
    return study, study.store if study.store.in_memory else place


def converse(workers, rounds, seed=1, told=0.7):
    """Let workers decide in any order, and have anybody tell any ticket."""
    chance, waiting = random.Random(seed), []
    for _ in range(rounds):
        waiting.append(chance.choice(workers).ask())
        if chance.random() < told:
            ticket = waiting.pop(chance.randrange(len(waiting)))
            assert chance.choice(workers).tell(ticket, float(chance.random() < 0.5)) == "told"
    return waiting


def promised_in_order(study, tolerance, shares=SHARES):
    """The promise at every round of the merged log, counted by hand."""
    counts = dict.fromkeys(shares, 0)
    for t, arm in enumerate(study.frame()["arm"], 1):
        counts[arm] += 1
        for label, share in shares.items():
            assert counts[label] >= int(Fraction(str(share)) * t) - tolerance, (t, label)


def test_four_workers_decide_by_themselves_under_one_promise(place):
    study, where = created(place)
    workers = opened(where, "w1", "w2", "w3", "w4")
    waiting = converse(workers, 120)
    assert study.sequence >= 120
    frame = study.frame()
    assert len(frame) == 120
    assert frame["ticket"].is_unique
    assert set(frame["worker"]) == {"w1", "w2", "w3", "w4"}
    for name, rows in frame.groupby("worker"):
        assert rows["round"].tolist() == list(range(1, len(rows) + 1)), name
    promised_in_order(study, 5)
    found = study.verify()
    assert found.problems == ()
    assert (found.decisions, found.open, found.promise_kept) == (120, len(waiting), True)
    assert set(found.room) == set(SHARES)
    assert min(found.room.values()) > 0
    assert sorted(study.open_tickets) == sorted(decision.id for decision in waiting)
    assert eh.quotas.audit(frame, arm="arm", shares=SHARES, tolerance=5.0).kept
    assert study.statistics().rounds == 120


def test_workers_do_not_decide_alike(file):
    made = eh.quotas.DeadlineLearn(eh.learners.Thompson(), SHARES, 5.0, seed=1)
    _, where = created(file, made, 2)
    first, second = opened(where, "w1", "w2")
    sequences = [[one.ask().arm for _ in range(30)] for one in (first, second)]
    assert sequences[0] != sequences[1]


def test_a_worker_goes_on_where_it_stopped(shared):
    created(shared, workers=2)[0].close()
    first = Study.open(shared, "ads", worker="w1")
    one = first.ask()
    first.close()
    again = Study.open(shared, "ads", worker="w1")
    assert again.ask().round == 2
    assert again.tell(one, 1.0) == "told"
    assert again.verify().ok


def test_a_ticket_told_anywhere_reaches_its_worker(place):
    study, where = created(place)
    first, second = opened(where, "w1", "w2")
    one, other, third = first.ask(), first.ask(), second.ask()
    assert second.tell(first.sign(one.id), 1.0) == "told"
    assert first.tell(one, 1.0) == "already told"
    with pytest.raises(ContradictionError, match=f"ticket {one.id} was told before"):
        second.tell(one.id, 0.0)
    assert study.forget(other) == "forgotten"
    with pytest.raises(ClosedTicketError, match=f"ticket {other.id} was forgotten"):
        second.tell(other, 1.0)
    assert study.tell(third, 0.5) == "told"
    assert study.record(one.id).told == {"reward": 1.0}
    assert first.policy.open_tickets == []
    with pytest.raises(UnknownTicketError, match="never handed out"):
        first.tell(one.id + 50, 1.0)
    with pytest.raises(UnknownTicketError, match="never handed out"):
        first.tell(99 * 10**12 + 1, 1.0)
    with pytest.raises(UnknownTicketError, match="wanted a decision, its number or its signed text"):
        first.tell(None, 1.0)
    with pytest.raises(ForeignTicketError):
        first.tell("ads.1.0123456789abcdef", 1.0)
    assert study.verify().ok


def test_many_operations_reach_their_logs_and_keep_their_order(file):
    _, where = created(file)
    first, second = opened(where, "w1", "w2")
    mine, theirs = first.ask(count=3), second.ask(count=2)
    operations = [
        Operation("tell", mine[0], {"reward": 1.0}),
        Operation("ask"),
        Operation("tell", theirs[0], {"reward": 0.0}),
        Operation("tell", 7, {"reward": 0.0}),
        Operation("forget", theirs[1]),
    ]
    told, asked, also, refused, forgotten = first.perform(operations)
    assert (told, also, forgotten) == ("told", "told", "forgotten")
    assert asked.id == mine[-1].id + 1
    assert isinstance(refused, UnknownTicketError)


def test_what_a_worker_is_told_and_asked_together_is_one_transaction(file, monkeypatch):
    _, where = created(file)
    (first,) = opened(where, "w1")
    decisions = first.ask(count=2)
    first.forget(decisions[1])
    begun, writing = [], Store.writing
    monkeypatch.setattr(Store, "writing", lambda store, **given: begun.append(store) or writing(store, **given))
    told, asked, closed = first.perform(
        [Operation("tell", decisions[0], {"reward": 1.0}), Operation("ask"), Operation("tell", decisions[1])]
    )
    assert (told, asked.round, type(closed)) == ("told", 3, ArgumentError)
    assert len(begun) == 1


def test_who_lost_its_worker_is_told_together_with_what_it_may_not_decide(place):
    study, where = created(place)
    (first,) = opened(where, "w1")
    one, two = first.ask(count=2)
    opened(where, "w1")
    tells = [Operation("tell", ticket, {"reward": 1.0}) for ticket in (one, two)]
    told, fenced, also = first.perform([tells[0], Operation("ask"), tells[1]])
    assert (told, type(fenced), also) == ("told", FencedError, "told")
    assert sorted(study.open_tickets) == []
    assert study.verify().ok


def test_the_same_key_at_another_worker_returns_the_same_decision(file):
    _, where = created(file)
    first, second = opened(where, "w1", "w2")
    one = first.ask(key="visit 7")
    assert second.ask(key="visit 7") == one
    assert second.ask(key="visit 8").id != one.id


def test_the_second_process_that_opens_a_worker_fences_the_first(place):
    study, where = created(place)
    (first,) = opened(where, "w1")
    decision = first.ask()
    (second,) = opened(where, "w1")
    later = second.ask()
    with pytest.raises(FencedError, match="worker 'w1' is not this process's any more: it was opened again by"):
        first.ask()
    assert first.tell(decision, 1.0) == "told"
    assert second.tell(later, 1.0) == "told"
    assert second.ask().round == 3
    assert study.verify().ok


def test_who_reads_only_cannot_decide(file):
    study, _ = created(file)
    with pytest.raises(ArgumentError, match="worker: wanted one that decides, among w1, w2, w3, w4, got None"):
        study.ask()
    assert study.sequence == len(study.workers) + 1


def test_unknown_workers_and_bad_names_are_refused(file):
    study, where = created(file)
    with pytest.raises(UnknownWorkerError, match="no worker of 'ads' is named 'w9'; there: w1, w2, w3, w4"):
        Study.open(where, "ads", worker="w9")
    with pytest.raises(UnknownWorkerError):
        study.leave("")
    for name in ("", "a b", "x" * 41, "../w1", None, 3):
        with pytest.raises(ArgumentError, match="worker: wanted up to 40 letters"):
            study.join(name)
    with pytest.raises(ArgumentError, match="worker: wanted a new name, got 'w1'"):
        study.join("w1")
    with pytest.raises(UnknownStudyError, match="open study 'ads' with worker='w1'"):
        Study.open(where, "ads/w1")
    alone = Study.create(where, policy(), name="alone")
    with pytest.raises(UnknownWorkerError, match="study 'alone' has one log and no worker 'w1'"):
        Study.open(alone.store, "alone", worker="w1")
    for refused in (lambda: alone.join("w2"), lambda: alone.leave("w1")):
        with pytest.raises(ArgumentError, match="has one log"):
            refused()
    assert alone.workers.empty
    assert study.store.names() == ["ads", "alone"]


def test_a_study_needs_a_new_name_and_a_number_of_workers(file):
    _, where = created(file)
    with pytest.raises(ArgumentError, match="study 'ads' already exists"):
        Study.create(where, policy(), name="ads", workers=2)
    for workers in (0, 2.5, True, 10**6):
        with pytest.raises(ArgumentError, match="workers: wanted"):
            Study.create(where, policy(), name="more", workers=workers)
    with pytest.raises(ArgumentError, match="a name that has 100 characters with the study's"):
        Study.create(where, policy(), name="x" * 99, workers=2)


def test_a_worker_that_joins_is_paid_from_the_pool(place):
    study, where = created(place, policy(tolerance=5), 4)
    (first,) = opened(where, "w1")
    converse([first], 20)
    new = study.join("late")
    converse([first, new], 40, seed=2)
    assert set(study.frame()["worker"]) == {"w1", "late"}
    found = study.verify()
    assert found.problems == ()
    assert min(found.room.values()) > 0
    # of a tolerance of 5, six workers take 0.9 pulls each, and a seventh lives on the half pull that is left
    for number in (6, 7):
        study.join(f"w{number}")
    with pytest.raises(SharesError, match=r"cannot join: .* a tolerance of \d+"):
        study.join("w8")
    assert study.verify().ok


def test_a_worker_that_was_killed_leaves_and_another_joins(place):
    study, where = created(place, policy(2.0, {"a": "1/2", "b": "1/2"}), 4)
    workers = opened(where, "w1", "w2", "w3", "w4")
    tickets = [one.ask() for one in workers[:3]]
    study.join("w5")
    with pytest.raises(SharesError, match="worker 'w6' cannot join: of arm 'a' all but 0 pulls of the tolerance"):
        study.join("w6")
    study.leave("w4")
    new = study.join("w6")
    converse([*workers[:3], new], 50)
    with pytest.raises(FencedError, match="worker 'w4' is not this process's any more: it has left"):
        workers[3].ask()
    with pytest.raises(FencedError, match=r"worker 'w4' has left; study\.join"):
        Study.open(where, "ads", worker="w4")
    with pytest.raises(FencedError, match="has left before; nothing has changed"):
        study.leave("w4")
    with pytest.raises(ArgumentError, match="it has left: choose another name"):
        study.join("w4")
    study.leave("w1")
    assert new.tell(tickets[0], 1.0) == "told"
    assert study.workers.set_index("worker")["state"].to_dict() == {
        "w1": "left",
        "w2": "working",
        "w3": "working",
        "w4": "left",
        "w5": "working",
        "w6": "working",
    }
    assert study.verify().problems == ()


def test_leaving_gives_back_what_the_log_never_touched(file):
    study, where = created(file, policy(tolerance=1), 2)
    (first,) = opened(where, "w1")
    converse([first], 30)
    before = study.membership().pool(study.promise)
    least = study.balance(1).least()
    study.leave("w1")
    after = study.membership().pool(study.promise)
    endowment = study.membership().members["w1"].endowment
    assert [b - a for a, b in zip(before, after, strict=True)] == [
        e + low for e, low in zip(endowment, least, strict=True)
    ]


def test_workers_are_shown(file):
    study, where = created(file, workers=2)
    (first,) = opened(where, "w1")
    assert study.workers["state"].tolist() == ["working", "new"]
    converse([first], 10)
    table = study.workers.set_index("worker")
    assert table["rounds"].to_dict() == {"w1": 10, "w2": 0}
    assert table.at["w1", "holder"].endswith(f":{os.getpid()}")
    assert table.at["w1", "surplus"] > 0
    assert table.at["w1", "heard"] >= study.created


def test_an_arm_without_a_share_falls_behind_nothing(file):
    study, _ = created(file, policy(5.0, {"a": "1/5", "b": 0}), 2)
    assert study.workers["surplus"].tolist() == [0.8, 0.8]
    study.leave("w2")
    assert study.workers["surplus"].isna().tolist() == [False, True]


# ---------------------------------------------------------------------- what cannot be promised, and what needs time


def test_shares_that_sum_to_one_name_the_least_tolerance_that_would_do(file):
    halves = {"a": "1/2", "b": "1/2"}
    with pytest.raises(SharesError, match=r"the shares sum to one, .* a tolerance of 2 is enough"):
        Study.create(file, policy(0.0, halves), name="ads", workers=4)
    study, where = created(file, policy(2.0, halves), 4)
    converse(opened(where, "w1", "w2", "w3", "w4"), 40)
    found = study.verify()
    assert found.problems == ()
    promised_in_order(study, 2, {"a": "1/2", "b": "1/2"})


def test_a_serial_beginning_earns_what_the_workers_need(place):
    shares = {"a": "1/2", "b": "1/4", "c": 0}
    study, where = created(place, policy(0.0, shares), 4)
    assert study.burn_in == 15
    workers = opened(where, "w1", "w2", "w3", "w4")
    with pytest.raises(ArgumentError, match="the first 15 rounds offer every arm"):
        workers[0].ask(available=["a", "b"])
    waiting = converse(workers, 60)
    many = workers[1].ask(count=5)
    frame = study.frame()
    assert frame["worker"].tolist()[:15] == [""] * 15
    assert "" not in set(frame["worker"][15:])
    promised_in_order(study, 0, shares)
    found = study.verify()
    assert found.problems == ()
    assert found.decisions == 65
    for ticket in [*waiting, *many]:
        assert workers[2].tell(ticket, 1.0) == "told"
    assert study.verify().problems == ()


def test_a_worker_that_another_process_opened_or_ended_decides_no_more_in_the_serial_beginning(place):
    study, where = created(place, policy(0.0, {"a": "1/2", "b": "1/4"}), 4)
    first, left = opened(where, "w1", "w2")
    decision = first.ask()
    opened(where, "w1")[0].ask()
    study.leave("w2")
    for worker, why in ((first, "it was opened again by"), (left, "it has left")):
        with pytest.raises(FencedError, match=why):
            worker.ask()
    assert first.tell(decision, 1.0) == "told"
    assert study.sequence == 3 + len(study.membership().members) + 2


def test_a_batch_that_is_longer_than_what_is_left_of_the_beginning_goes_on_behind_it(file):
    _, where = created(file, policy(0.0, {"a": "1/2", "b": "1/4"}), 4)
    (first,) = opened(where, "w1")
    decisions = first.ask(count=20)
    assert [decision.id // 10**12 for decision in decisions] == [0] * 15 + [1] * 5


def test_a_key_of_the_beginning_returns_its_decision_when_the_beginning_is_over(file):
    _, where = created(file, policy(0.0, {"a": "1/2", "b": "1/4"}), 4)
    first, second = opened(where, "w1", "w2")
    decisions = first.ask(count=15, key="k")
    first.ask()
    for worker in (first, second):
        assert worker.ask(key="k") == decisions[0]
        assert worker.ask(count=15, key="k") == decisions


def test_a_key_that_stands_twice_in_a_batch_is_decided_once_where_the_beginning_ends_between(file):
    _, where = created(file, policy(0.0, {"a": "1/2", "b": "1/4"}), 4)
    (first,) = opened(where, "w1")
    first.ask(count=14)
    decisions = first.perform([Operation("ask", key=key) for key in ("k", "l", "k", "l")])
    assert [decision.id for decision in decisions] == [15, 10**12 + 1, 15, 10**12 + 1]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: eh.quotas.FairUCB(SHARES), "DeadlineLearn, whose promise several workers can keep, got 'FairUCB'"),
        (lambda: eh.quotas.LFG(SHARES, eta=10.0), "use workers=1"),
        (lambda: eh.quotas.LotteryLearn(eh.learners.UCB1(), SHARES), "with lottery=0.5 draws by lottery"),
        (lambda: eh.quotas.WindowLearn(eh.learners.UCB1(), {"a": 9}, arms=["a", "b"]), "windows="),
        (lambda: eh.sampling.UniformSampler({"a": 1, "b": 1}), "a learner, or DeadlineLearn, for several workers"),
    ],
)
def test_policies_whose_promise_no_rule_is_known_for_are_refused(made, why, tmp_path):
    where = tmp_path / "ads.evenhand"
    try:
        given = made()
    except (TypeError, ArgumentError):
        given = eh.sampling.UniformSampler(["a", "b"])
    with pytest.raises(ArgumentError, match=why):
        Study.create(where, given, workers=4)
    assert not where.exists()


def test_promises_of_several_workers_do_not_change(file):
    _, where = created(file)
    (first,) = opened(where, "w1")
    changes = [lambda: first.add("new", 0.1), lambda: first.retire("ads"), lambda: first.change(SHARES)]
    for change in changes:
        with pytest.raises(ArgumentError, match="several cannot change a promise"):
            change()
    assert first.perform([Operation("retire", given={"arm": "ads"})])[0].args[0].startswith("retire: wanted")


def test_every_worker_keeps_the_promise_in_every_segment(file):
    """Segments need a tolerance that does without a serial beginning, which comes before the first round alone."""
    study, where = created(file, policy(6.0))
    workers = opened(where, "w1", "w2")
    chance = random.Random(4)
    counts = {}
    for _ in range(120):
        segment = chance.choice(["mobile", "web"])
        decision = chance.choice(workers).ask(segment=segment)
        counts.setdefault(segment, []).append(decision.arm)
    for arms in counts.values():
        for t in range(1, len(arms) + 1):
            assert all(arms[:t].count(arm) >= int(Fraction(str(share)) * t) - 6 for arm, share in SHARES.items())
    found = study.verify()
    assert (found.problems, found.promise_kept) == ((), True)
    study.leave("w1")
    late = study.join("late")
    late.ask(segment="third")
    assert study.verify().problems == ()


def test_segments_are_refused_where_there_is_a_serial_beginning(file):
    _, where = created(file, policy(0.0, {"a": "1/2", "b": "1/4"}), 4)
    (first,) = opened(where, "w1")
    before = first.sequence
    with pytest.raises(ArgumentError, match="have none of their own; create the study with a tolerance of 1"):
        first.ask(segment="mobile")
    assert first.sequence == before


def test_learners_without_a_promise_have_workers_too(file):
    _, where = created(file, eh.learners.UCB1(arms=["a", "b"]), 2)
    study, *workers = [Study.open(where, "ads"), *opened(where, "w1", "w2")]
    converse(workers, 20)
    found = study.verify()
    assert (found.problems, found.promise_kept, found.room) == ((), None, None)
    assert study.workers["surplus"].isna().all()


def test_contextual_policies_have_workers_too(file):
    made = eh.groups.TopInterval({"ann": "F", "bob": "M"}, seed=1)
    study, where = created(file, made, 2)
    workers = opened(where, "w1", "w2")
    for n in range(8):
        worker = workers[n % 2]
        assert worker.tell(worker.ask([[1.0, 0.5 * n], [0.2, 0.9]]), 1.0 * n) == "told"
    assert study.verify().problems == ()


def test_arms_that_are_not_on_offer_are_counted_by_their_own_clocks(file):
    study, where = created(file, policy(2.0), 2)
    workers, chance = opened(where, "w1", "w2"), random.Random(3)
    for _ in range(60):
        offered = chance.sample(sorted(SHARES), chance.randint(1, 3))
        chance.choice(workers).ask(available=offered)
    found = study.verify()
    assert found.problems == ()
    assert min(found.room.values()) > 0


def test_tickets_of_workers_expire(file, monkeypatch):
    study, where = created(file, expire_after="1h")
    (first,) = opened(where, "w1")
    decision = first.ask()
    clock = [0]
    monkeypatch.setattr("evenhand.studies.log.transaction.now", lambda: clock[0])
    clock[0] = int(study.created.timestamp() * 1e6) + 7_200_000_000
    assert study.expire_after.total_seconds() == 3600
    first.ask()
    with pytest.raises(ClosedTicketError, match="expired"):
        first.tell(decision, 1.0)


# ---------------------------------------------------------------------- what verify finds


def spoiled(study, number, statement):
    log = study.log_of(next(one for one in study.membership().members.values() if one.number == number))
    with log.store.writing() as connection:
        connection.execute(statement(log._number))


def test_a_changed_entry_of_any_worker_is_found(place):
    study, where = created(place)
    converse(opened(where, "w1", "w2"), 20)
    assert study.verify().ok
    spoiled(
        study, 2, lambda n: update(EVENTS).where(EVENTS.c.study == n, EVENTS.c.sequence == 3).values(actor="nobody")
    )
    (problem, *_) = study.verify().problems
    assert problem.startswith("w2: entry 3 was changed")


def test_a_worker_whose_log_is_cut_is_found_by_the_digests_that_were_kept(place):
    study, where = created(place)
    converse(opened(where, "w1", "w2"), 20)
    kept = study.verify()
    spoiled(study, 1, lambda n: delete(EVENTS).where(EVENTS.c.study == n, EVENTS.c.sequence > 4))
    again = Study.open(where, "ads")
    assert "no entry has the digest" in " ".join(again.verify(known=kept.digest).problems)


def test_a_verification_goes_on_from_an_earlier_one(file):
    study, where = created(file)
    workers = opened(where, "w1", "w2")
    converse(workers, 20)
    first = study.verify()
    converse(workers, 20, seed=2)
    second = study.verify(since=first.mark, known=first.digest)
    assert second.problems == ()
    assert second.since == first.entries
    assert second.decisions == 40
    with pytest.raises(ArgumentError, match="since: wanted the mark"):
        study.verify(since=b"{}")
    other = Study.create(where, policy(), name="other", workers=2)
    with pytest.raises(ArgumentError, match="another study's"):
        other.verify(since=first)


def test_more_endowments_than_there_is_tolerance_are_found(tmp_path):
    """Both workers are given the whole tolerance, as a program would that splits nothing."""
    from evenhand.promises import workers as theory
    from evenhand.studies.workers import shared_creation

    def greedy(promise, workers):
        return theory.Plan(0, [0] * len(promise.arms), theory.limits(theory.owned(promise)))

    with pytest.MonkeyPatch.context() as planted:
        planted.setattr(shared_creation, "plan_of", greedy)
        study, where = created(tmp_path / "ads.evenhand", policy(0.0, {"a": "1/2", "b": "1/2"}), 2)
    first, second = opened(where, "w1", "w2")
    for worker in (first, second):
        worker.tell(worker.ask(), 1.0)
    problems = " ".join(study.verify().problems)
    assert "more of the tolerance was given away than there is" in problems
    assert "is broken in some merge order of the logs" in problems


def test_a_file_that_is_missing_or_another_workers_is_named(tmp_path):
    where = tmp_path / "ads.evenhand"
    study, _ = created(where)
    workers = opened(where, "w1", "w2")
    converse(workers, 10)
    for worker in workers:
        worker.close()
    study.close()
    files = [Path(f"{where}.ads.{name}") for name in ("w1", "w2")]
    moved = files[1].rename(tmp_path / "moved")
    found = Study.open(where, "ads").verify()
    assert any(problem.startswith("w2: its log cannot be read") for problem in found.problems)
    assert found.promise_kept is None  # nobody can say
    with pytest.raises(StoreError):
        Study.open(where, "ads", worker="w2")
    other = Study.create(tmp_path / "other.evenhand", policy(), name="ads", workers=2)
    other.close()
    Path(f"{tmp_path}/other.evenhand.ads.w2").rename(files[1])
    with pytest.raises(UnknownWorkerError, match="the log there is not that of worker 'w2' of study 'ads'"):
        Study.open(where, "ads", worker="w2")
    more = Study.create(where, policy(), name="more", workers=2)
    more.close()
    Path(f"{where}.more.w2").rename(files[1])
    with pytest.raises(UnknownWorkerError, match="the log there is not that of worker 'w2' of study 'ads'"):
        Study.open(where, "ads", worker="w2")
    files[1].write_bytes(b"")
    with pytest.raises(StoreError, match=r"no store is there with the log of worker 'w2' .*; put the file back"):
        Study.open(where, "ads", worker="w2")
    files[1].unlink()
    moved.rename(files[1])
    again = Study.open(where, "ads", worker="w2")
    again.ask()
    assert again.verify().ok


def test_a_key_is_not_decided_again_while_a_log_that_may_hold_it_cannot_be_read(tmp_path):
    where = tmp_path / "ads.evenhand"
    created(where)[0].close()
    second = Study.open(where, "ads", worker="w2")
    before = second.ask(key="visit 7")
    second.close()
    log, gone = Path(f"{where}.ads.w2"), tmp_path / "gone"
    log.rename(gone)
    (first,) = opened(where, "w1")
    with pytest.raises(StoreError, match="no store is there"):
        first.ask(key="visit 7")
    with pytest.raises(ArgumentError, match="key: wanted"):
        first.ask(key=7)
    gone.rename(log)
    assert first.ask(key="visit 7") == before


def test_the_table_keeps_the_canonical_order_where_a_clock_goes_back(monkeypatch):
    """w1 decides at 1, is told at 50 and decides at 2; w2 decides at 40: the second decision of w1 comes last."""
    clock = [0]
    monkeypatch.setattr("evenhand.studies.log.transaction.now", lambda: clock[0])
    study, where = created(":memory:")
    first, second = opened(where, "w1", "w2")
    clock[0] = 1
    decision = first.ask()
    clock[0] = 50
    first.tell(decision, 1.0)
    clock[0] = 2
    first.ask()
    clock[0] = 40
    second.ask()
    order = [(entry.ticket // 10**12, entry.ticket % 10**12) for entry in study.canonical() if entry.kind == "ask"]
    assert order == [(1, 1), (2, 1), (1, 2)]
    assert study.frame()["ticket"].tolist() == [worker * 10**12 + round for worker, round in order]
    assert "_at" not in study.frame()


def test_the_workers_are_shown_while_a_log_is_lost(tmp_path):
    where = tmp_path / "ads.evenhand"
    study, _ = created(where)
    workers = opened(where, "w1", "w2")
    converse(workers, 30)
    for worker in workers:
        worker.close()
    endowment = study.membership().members["w2"].endowment
    study.close()
    with Study.open(where, "ads") as whole:
        known = whole.room()
    Path(f"{where}.ads.w2").rename(tmp_path / "gone")
    with Study.open(where, "ads") as rest:
        table = rest.workers.set_index("worker")
        assert table["state"].to_dict() == {"w1": "working", "w2": "lost", "w3": "new", "w4": "new"}
        assert table.at["w1", "rounds"] > 0
        worst = rest.room()
        assert all(0 < worst[arm] <= known[arm] for arm in SHARES)
        assert any(worst[arm] > known[arm] - float(e) - 1 for arm, e in zip(SHARES, endowment, strict=True))
        assert [one["state"] for one in rest.team()["workers"]] == ["working", "lost", "new", "new"]
        with pytest.raises(StoreError, match="no store is there with the log of worker 'w2' of study 'ads'"):
            rest.frame()
        found = rest.verify()
        assert "at every round: unknown" in found._repr_html_()
    assert "Whether the promise was kept is unknown: see the problems above." in call("verify", where).output


def test_a_worker_goes_on_while_the_log_of_another_cannot_be_reached(tmp_path):
    where = tmp_path / "ads.evenhand"
    study, _ = created(where)
    study.close()
    (first,) = opened(where, "w1")
    Path(f"{where}.ads.w2").rename(tmp_path / "gone")
    for _ in range(5):
        assert first.tell(first.ask(), 1.0) == "told"


def test_who_counts_a_log_is_not_disturbed_by_another_that_counts_it_or_fails_halfway(file, monkeypatch):
    study, where = created(file)
    (first,) = opened(where, "w1")
    first.ask(count=2)
    before = study.balance(1)
    first.ask(count=3)
    log = study._every_log()[1]
    honest, beside = log.entries, []

    def entries(after=0):
        yield next(honest(after))
        monkeypatch.undo()
        beside.append(study.balance(1).rounds)
        raise StoreError("disk I/O error")

    monkeypatch.setattr(log, "entries", entries)
    with pytest.raises(StoreError):
        study.balance(1)
    assert (beside, study.balance(1).rounds, before.rounds) == ([5], 5, 2)


def test_a_log_that_was_begun_and_never_joined_is_begun_anew(tmp_path, monkeypatch):
    where = tmp_path / "ads.evenhand"
    study, _ = created(where)
    with monkeypatch.context() as killed:
        killed.setattr("evenhand.studies.workers.members.enter", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            study.join("w5")
    assert Path(f"{where}.ads.w5").exists()
    assert "w5" not in study.membership().members
    before = study.membership().pool(study.promise)
    new = study.join("w5")
    new.ask()
    assert study.membership().pool(study.promise) < before
    assert study.verify().ok


def test_a_worker_without_its_row_is_said(place):
    study, where = created(place)
    spoiled(study, 1, lambda n: delete(WORKERS).where(WORKERS.c.study == n))
    with pytest.raises(StoreError, match="lacks its row in the table of workers"):
        Study.open(where, "ads", worker="w1")


def test_another_studys_ticket_and_a_made_up_decision_are_refused(file):
    study, where = created(file)
    first, second = opened(where, "w1", "w2")
    one, other = first.ask(), second.ask()
    fake = eh.Decision(*other._replace(id=one.id))
    fake.token = other.token
    with pytest.raises(ForeignTicketError, match="nothing has changed here"):
        first.tell(fake, 1.0)
    assert study.open_tickets == sorted([one.id, other.id])


def test_nothing_of_a_refused_batch_is_decided(file):
    _, where = created(file)
    (first,) = opened(where, "w1")
    with pytest.raises(ArgumentError):
        first.ask(count=0)
    with pytest.raises(EvenhandRefusal):
        first.ask("contexts", count=3)
    assert first.frame().empty


EvenhandRefusal = (ArgumentError, ReplayError)


def test_a_study_in_memory_lives_with_its_store():
    study = Study.create(Store.at(":memory:", create=True), policy(), name="ads", workers=2)
    (first,) = opened(study.store, "w1")
    first.ask()
    assert repr(first) == "SharedStudy('sqlite://', 'ads', quotas/deadline-learn, worker='w1')"
    first.snapshot()
    assert [record.ticket for record in first.latest(3)] == [10**12 + 1]
    assert [event.kind for event in first.events()] == ["ask"]


def test_a_snapshot_by_a_process_that_reads_is_of_every_log(tmp_path):
    where = tmp_path / "ads.evenhand"
    created(where)[0].close()
    first, second = opened(where, "w1", "w2")
    converse([first, second], 20)
    Study.open(where, "ads").snapshot()
    for name, worker in (("w1", first), ("w2", second)):
        with Store.at(f"{where}.ads.{name}").reading() as connection:
            assert connection.scalar(text("SELECT max(sequence) FROM snapshots")) == worker._own.sequence > 0


def test_notes_of_a_verification_leave_out_logs_that_were_empty(tmp_path):
    study, where = created(tmp_path / "ads.evenhand", workers=2)
    (first,) = opened(where, "w1")
    converse([first], 3)
    notes = study.verify(since=study.verify()).notes
    assert sorted(note.split(":")[0] for note in notes) == ["members", "w1"]


def test_a_study_that_every_worker_has_left_says_so(file):
    study, _ = created(file, workers=2)
    for name in ("w1", "w2"):
        study.leave(name)
    with pytest.raises(ArgumentError, match=r"every worker of 'ads' has left; study\.join\(NAME\) adds a new one"):
        study.ask()
    with pytest.raises(FencedError, match="every worker of 'ads' has left; let a new one join"):
        study.lease(15)
    study.join("w3").ask()
    assert study.verify().ok


def test_arguments_of_other_types_are_refused_by_name(tmp_path):
    where = tmp_path / "ads.evenhand"
    study, _ = created(where, workers=np.int64(2))
    assert study.workers["worker"].tolist() == ["w1", "w2"]
    for name in ([], {}, 3):
        with pytest.raises(UnknownWorkerError, match="no worker of 'ads' is named"):
            Study.open(where, "ads", worker=name)
        with pytest.raises(UnknownWorkerError, match="no worker of 'ads' is named"):
            study.leave(name)
    (first,) = opened(where, "w1")
    with pytest.raises(ArgumentError, match="key: wanted a text of up to 200 printable characters"):
        first.ask(key="\ud800")
    found = study.verify(known=3)
    assert found.problems == ("no entry has the digest 3: entries were cut off, or written anew",)


def test_what_is_no_operation_no_lease_and_too_many_decisions_are_refused(file):
    study, where = created(file)
    (first,) = opened(where, "w1")
    before = study.sequence
    with pytest.raises(ArgumentError, match=r"operations: wanted a list of evenhand\.studies\.Operation, got 3"):
        first.perform([Operation("ask"), 3])
    for bad in ("x", 0, -1.0, None, float("nan")):
        with pytest.raises(ArgumentError, match="seconds: wanted a number > 0"):
            study.lease(bad)
    with pytest.raises(ArgumentError, match="count: wanted a whole number >= 1 and <= 1000000, got 1000000000"):
        first.ask(count=10**9)
    assert study.sequence == before
