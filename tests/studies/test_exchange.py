"""Workers learn together: reports are cumulative, taken in as entries of the log, and harmless however they come."""

import random

import numpy as np
import pytest
from sqlalchemy import update

import evenhand as eh
from evenhand.errors import ArgumentError, FencedError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from evenhand.studies.log.codec import now
from evenhand.studies.store.schema import WORKERS

ARMS = {"a": 0.1, "b": 0.1, "c": 0.1}
LEARNERS = [
    eh.learners.UCB1(),
    eh.learners.KLUCB(),
    eh.learners.MOSS(),
    eh.learners.Thompson(),
    eh.learners.EpsilonGreedy(),
    eh.learners.DiscountedUCB(),
]
INTERVALS = [
    lambda seed: eh.groups.TopInterval({"a": "x", "b": "y", "c": "x"}, seed=seed),
    lambda seed: eh.groups.GroupFairTopInterval({"a": "x", "b": "y", "c": "x"}, intercept=True, seed=seed),
    lambda seed: eh.groups.LinearThompson({"a": "x", "b": "y", "c": "x"}, intercept=True, seed=seed),
    lambda seed: eh.quotas.DeadlineLearn(eh.groups.TopInterval({"a": "x", "b": "y", "c": "x"}), ARMS, seed=seed),
]


def name_of(value):
    return type(value).__name__


def workers(make, count=3):
    made = {f"w{n}": make(n) for n in range(count)}
    for one in made.values():
        one.begin_exchange()
    return made


def under_shares(learner):
    return lambda seed: eh.quotas.DeadlineLearn(learner.fresh(), ARMS, 1.0, seed=seed)


def alone(learner):
    return lambda seed: learner.fresh(arms=list(ARMS), seed=seed)


def reported(made, number):
    return {name: one.report() | {"number": number} for name, one in made.items() if one.report()}


def others(reports, name):
    return {other: report for other, report in reports.items() if other != name}


def converse(policy, chance, rounds):
    for _ in range(rounds):
        decision = policy.ask()
        policy.tell(decision, float(chance.random() < (0.8, 0.5, 0.2)[decision.index]))


@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
@pytest.mark.parametrize("kind", [alone, under_shares])
def test_after_an_exchange_all_know_what_all_learned(learner, kind):
    made, chance = workers(kind(learner)), random.Random(1)
    for n in range(1, 6):
        for one in made.values():
            converse(one, chance, 20)
        reports = reported(made, n)
        for name, one in made.items():
            one.take_in(others(reports, name))
    for field in made["w0"].pool.fields:
        everyone = sum(np.array(report["statistics"][field]) for report in reports.values())
        for one in made.values():
            assert np.allclose(getattr(one._learned, field), everyone, rtol=1e-12, atol=0)
    assert made["w0"].pool.rounds == 200
    assert made["w0"].round == 100


@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
def test_reports_that_come_twice_late_or_not_at_all_do_no_harm(learner):
    made, chance = workers(under_shares(learner)), random.Random(2)
    history = []
    for n in range(1, 5):
        for one in made.values():
            converse(one, chance, 10)
        history.append(reported(made, n))
    copies = [from_bytes(to_bytes(made["w0"])) for _ in range(2)]
    for reports in history:
        copies[0].take_in(others(reports, "w0"))
    copies[1].take_in(others(history[3], "w0"))
    for reports in (history[3], history[1], history[3], history[0]):
        copies[1].take_in(others(reports, "w0"))
    states = [{name: getattr(one._learned, name).tolist() for name in one.pool.fields} for one in copies]
    assert states[0] == states[1]
    assert [one.pool.rounds for one in copies] == [80, 80]


@pytest.mark.parametrize("kind", [alone, under_shares])
@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
def test_saved_and_loaded_workers_go_on_alike(learner, kind):
    made, chance = workers(kind(learner), 2), random.Random(3)
    for n in range(1, 4):
        for one in made.values():
            converse(one, chance, 10)
        made["w0"].take_in(others(reported(made, n), "w0"))
    again = from_bytes(to_bytes(made["w0"]))
    for one in (made["w0"], again):
        converse(one, random.Random(4), 30)
    assert to_bytes(again) == to_bytes(made["w0"])
    assert again.report() == made["w0"].report()


def test_the_learners_clock_counts_all_rounds_and_the_promises_only_its_own():
    """An arm of share 1/2 comes every second own round, however many rounds the others report."""
    made = workers(lambda seed: eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": "1/2", "b": 0}, seed=seed), 2)
    converse(made["w1"], random.Random(5), 500)
    report = made["w1"].report() | {"number": 1}
    report["statistics"] = {"pulls": [1, 499], "sums": [0.0, 499.0]}
    made["w0"].take_in({"w1": report})
    played = []
    for _ in range(20):
        decision = made["w0"].ask()
        played.append(decision.arm)
        made["w0"].tell(decision, float(decision.arm == "b"))
        assert played.count("a") >= len(played) // 2
    assert played.count("b") == 10
    assert made["w0"].round == 20


def test_the_index_has_the_rounds_of_all_workers():
    made = workers(lambda seed: eh.learners.UCB1(arms=["a", "b"], seed=seed), 2)
    for one in made.values():
        converse(one, random.Random(6), 50)
    made["w0"].take_in(others(reported(made, 1), "w0"))
    one = made["w0"]
    state, t = one._learned, one.round + one.pool.rounds + 1
    assert t == 101
    index = state.sums / state.pulls + np.sqrt(2 * np.log(t) / state.pulls)
    assert one.ask().index == int(np.argmax(index))


@pytest.mark.parametrize("fraction", [0.0, 0.1])
def test_the_total_is_the_sum_in_the_order_of_the_names_to_the_last_bit(fraction):
    chance, arms = random.Random(9), ["a", "b", "c"]
    one = eh.learners.UCB1(arms=arms, seed=1)
    one.begin_exchange()
    sums = {f"w{n}": [chance.randrange(9) + fraction * chance.random() for _ in arms] for n in range(30)}
    report = {"number": 1, "rounds": 60, "waiting": [0, 1, 0]}
    one.take_in({name: report | {"statistics": {"pulls": [20] * 3, "sums": sums[name]}} for name in sums})
    own = [0.0] * 3
    for _ in range(40):
        decision = one.ask()
        reward = chance.randrange(2) + fraction * chance.random() / 10
        one.tell(decision, min(reward, 1.0))
        own[decision.index] += min(reward, 1.0)
        expected = list(own)
        for name in sorted(sums):
            expected = [total + more for total, more in zip(expected, sums[name], strict=True)]
        assert one._learned.sums.tolist() == expected


def test_a_round_looks_at_no_peer_however_many_there_are():
    one = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": "1/2", "b": 0}, seed=1)
    one.begin_exchange()
    report = {"number": 1, "rounds": 6, "waiting": [0, 1], "statistics": {"pulls": [3, 3], "sums": [1.0, 2.0]}}
    one.take_in({f"w{n}": report for n in range(100)})
    one.pool._peers = None
    converse(one, random.Random(3), 50)
    assert (one.round, one.pool.rounds) == (50, 600)
    assert one._learned.pulls.sum() == 650


def test_an_arm_that_another_worker_is_trying_is_not_tried_again():
    made = workers(lambda seed: eh.learners.UCB1(arms=["a", "b", "c"], seed=seed), 2)
    assert made["w0"].ask().arm == "a"
    made["w1"].take_in({"w0": made["w0"].report() | {"number": 1}})
    assert made["w1"].ask().arm == "b"


def test_a_coin_is_flipped_once_and_its_side_is_reported():
    made = workers(lambda seed: eh.learners.Thompson(arms=["a", "b"], seed=seed), 2)
    for _ in range(40):
        made["w0"].tell(made["w0"].ask(), 0.5)
    report = made["w0"].report()
    assert sum(report["statistics"]["successes"]) + sum(report["statistics"]["failures"]) == 40
    made["w1"].take_in({"w0": report | {"number": 1}})
    assert made["w1"]._learned.successes.tolist() == report["statistics"]["successes"]


@pytest.mark.parametrize("make", INTERVALS)
def test_regressions_over_workers_are_the_regression_over_all_rows(make):
    made, one = workers(make), make(9)
    chance = np.random.default_rng(0)
    truth = chance.normal(size=(3, 2))
    for n in range(1, 5):
        for name, policy in made.items():
            for _ in range(2 if name == "w2" and n == 1 else 9):
                shown = chance.normal(size=(3, 2))
                decision = policy.ask(shown)
                reward = float(shown[decision.index] @ truth[decision.index] + 1 + 0.1 * chance.normal())
                policy.tell(decision, reward)
                one.begin(2)
                one._update(shown, decision.index, reward, (1, 1.0))
        reports = reported(made, n)
        for name, policy in made.items():
            policy.take_in(others(reports, name))
    for policy in made.values():
        ours, theirs = policy._learned.fit, one._learned.fit
        for field in ("coefficients", "squares", "lengths"):
            assert np.allclose(getattr(ours, field), getattr(theirs, field), rtol=1e-9, atol=1e-11), field
        assert ours.samples.tolist() == theirs.samples.tolist()
        assert ours.ranks.tolist() == theirs.ranks.tolist()
    again = from_bytes(to_bytes(made["w0"]))
    assert to_bytes(again) == to_bytes(made["w0"])


def test_a_worker_that_has_seen_nothing_begins_with_what_others_saw():
    made = workers(INTERVALS[0], 2)
    assert made["w1"].report() is None
    made["w0"].tell(made["w0"].ask(np.eye(3, 2)), 1.0)
    made["w1"].take_in(others(reported(made, 1), "w1"))
    assert made["w1"].dimension == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", -1),
        ("number", 1.5),
        ("rounds", "many"),
        ("waiting", [0]),
        ("waiting", [0, -1, 0]),
        ("statistics", {}),
        ("statistics", {"pulls": [1, 2], "sums": [0.0, 0.0]}),
        ("statistics", {"pulls": [1, 2, 1.5], "sums": [0.0, 0.0, 0.0]}),
        ("statistics", {"pulls": [1, 2, -1], "sums": [0.0, 0.0, 0.0]}),
        ("statistics", {"pulls": [1, 2, 1], "sums": [0.0, float("nan"), 0.0]}),
        ("statistics", None),
    ],
)
def test_what_is_no_report_is_refused_and_changes_nothing(field, value):
    made = workers(under_shares(eh.learners.UCB1()), 2)
    converse(made["w0"], random.Random(7), 5)
    before = to_bytes(made["w0"])
    report = {"number": 1, "rounds": 3, "waiting": [0, 0, 0], "statistics": {"pulls": [1] * 3, "sums": [1.0] * 3}}
    with pytest.raises(ArgumentError, match="peers: wanted a report of worker 'w1'"):
        made["w0"].take_in({"w1": report | {field: value}})
    assert to_bytes(made["w0"]) == before
    made["w0"].take_in({"w1": report})


@pytest.mark.parametrize(
    "make",
    [
        lambda: eh.learners.Exp3(arms=["a", "b"]),
        lambda: eh.learners.SlidingWindowUCB(arms=["a", "b"]),
        lambda: eh.quotas.DeadlineLearn(eh.learners.Exp3(), {"a": 0.1, "b": 0.1}, 5.0),
    ],
)
def test_learners_whose_statistics_do_not_add_say_so_and_learn_alone(make, tmp_path):
    with pytest.raises(ArgumentError, match="exchange: wanted a learner whose statistics add"):
        make().begin_exchange()
    Study.create(tmp_path / "ads.evenhand", make(), workers=2)
    worker = Study.open(tmp_path / "ads.evenhand", worker="w1")
    worker.tell(worker.ask(), 1.0)
    with pytest.raises(ArgumentError, match="exchange: wanted a learner whose statistics add"):
        worker.exchange()
    with pytest.raises(ArgumentError, match="this policy learns alone"):
        worker.policy.take_in({})
    assert worker.verify().problems == ()


# ---------------------------------------------------------------------- in studies


def studied(place, learner=None, tolerance=5.0, **more):
    made = eh.quotas.DeadlineLearn(learner or eh.learners.UCB1(), ARMS, tolerance, seed=1)
    more = {"exchange_rounds": None, "exchange_seconds": None} | more
    study = Study.create(place, made, name="ads", workers=3, **more)
    where = study.store if study.store.in_memory else place
    return study, [Study.open(where, "ads", worker=f"w{n}") for n in (1, 2, 3)]


def decide(worker, rounds, chance):
    for _ in range(rounds):
        decision = worker.ask()
        worker.tell(decision, float(chance.random() < (0.8, 0.5, 0.2)[decision.index]))


def test_workers_of_a_study_learn_together(place):
    study, made = studied(place)
    chance = random.Random(1)
    for worker in made:
        decide(worker, 20, chance)
    assert made[0].exchange() == ({}, {})
    made[1].exchange()
    assert made[2].exchange().taken == {"w1": 20, "w2": 20}
    assert made[2].exchange().taken == {}
    assert made[2].policy._learned.pulls.sum() == 60
    assert made[0].policy._learned.pulls.sum() == 20
    assert study.workers["lag"].tolist() == [40, 20, 0]
    decide(made[0], 5, chance)
    assert study.workers.set_index("worker").at["w3", "lag"] == 5
    found = study.verify()
    assert found.problems == ()
    assert found.replayed == found.entries


@pytest.mark.parametrize("learner", [eh.learners.Thompson(), eh.learners.DiscountedUCB()], ids=name_of)
def test_what_was_taken_in_replays_to_the_very_same_state(learner, tmp_path):
    study, made = studied(tmp_path / "ads.evenhand", learner)
    chance = random.Random(2)
    for n in range(40):
        worker = made[n % 3]
        decide(worker, chance.randrange(4), chance)
        if n % 4 == 0:
            worker.exchange()
    assert study.verify().problems == ()
    again = Study.open(tmp_path / "ads.evenhand", "ads", worker="w1")
    assert (
        again.policy._learned.stream.tolist() == made[0].policy._learned.stream.tolist()
        if "Thompson" in name_of(learner)
        else again.policy._learned.sums.tolist() == made[0].policy._learned.sums.tolist()
    )


def test_workers_exchange_by_themselves_every_so_many_rounds(tmp_path):
    study, made = studied(tmp_path / "ads.evenhand", exchange_rounds=10)
    chance = random.Random(3)
    for _ in range(4):
        for worker in made:
            decide(worker, 10, chance)
    assert made[2].last_exchange.taken == {"w1": 9 + 1, "w2": 9 + 1}
    assert max(study.workers["lag"]) <= 2 * 10 + 2
    assert study.verify().problems == ()


def test_workers_exchange_by_themselves_every_so_many_seconds(tmp_path, monkeypatch):
    _, made = studied(tmp_path / "ads.evenhand", exchange_seconds=5.0)
    clock = [made[0]._heard]
    monkeypatch.setattr("evenhand.studies.workers.exchanging.time.monotonic", lambda: clock[0])
    made[0].ask()
    assert made[0].last_exchange is None
    clock[0] += 6
    made[0].ask()
    assert made[0].last_exchange == ({}, {})


def test_processes_that_decide_a_few_rounds_each_exchange_too(tmp_path, monkeypatch):
    where, chance = tmp_path / "ads.evenhand", random.Random(4)
    studied(where, exchange_rounds=6, exchange_seconds=60.0)[0].close()

    def of(worker):
        with Study.open(where, "ads", worker=worker) as opened:
            decide(opened, 2, chance)
            return opened.last_exchange

    assert [of("w1") for _ in range(4)] == [None, None, ({}, {}), None]
    assert [of("w2") for _ in range(3)] == [None, None, ({"w1": 6}, {})]
    later = now() + 61 * 10**6
    monkeypatch.setattr("evenhand.studies.workers.exchanging.now", lambda: later)
    assert of("w1") == ({"w2": 6}, {})
    assert Study.open(where, "ads").verify().problems == ()


@pytest.mark.parametrize("bad", [{"exchange_rounds": 0}, {"exchange_rounds": 1.5}, {"exchange_seconds": -1}])
def test_how_often_is_checked(tmp_path, bad):
    with pytest.raises(ArgumentError, match=f"{next(iter(bad))}: wanted"):
        studied(tmp_path / "ads.evenhand", **bad)


def test_a_worker_that_is_cut_off_goes_on_and_says_so(tmp_path):
    place = tmp_path / "ads.evenhand"
    _, made = studied(place)
    chance = random.Random(4)
    for worker in made:
        decide(worker, 10, chance)
    for worker in made[1:]:
        worker.close()
    (place.parent / "ads.evenhand.ads.w2").rename(tmp_path / "moved")
    fresh = Study.open(place, "ads", worker="w1")
    found = fresh.exchange()
    assert list(found.unheard) == ["w2"]
    decide(fresh, 10, chance)
    (tmp_path / "moved").rename(place.parent / "ads.evenhand.ads.w2")
    assert Study.open(place, "ads").verify().problems == ()


def test_a_forged_report_is_not_taken_in(place):
    study, made = studied(place)
    decide(made[0], 10, random.Random(5))
    made[0].exchange()
    log = made[0]._own
    with log.store.writing() as connection:
        text = (
            connection.execute(WORKERS.select().where(WORKERS.c.study == log._number))
            .one()
            .report.replace('"rounds":10', '"rounds":11')
        )
        connection.execute(update(WORKERS).where(WORKERS.c.study == log._number).values(report=text))
    found = made[1].exchange()
    assert found.taken == {}
    assert "forged, or was changed" in found.unheard["w1"]
    with log.store.writing() as connection:
        connection.execute(update(WORKERS).where(WORKERS.c.study == log._number).values(report="no JSON"))
    assert "cannot be read" in made[1].exchange().unheard["w1"]
    assert study.verify().problems == ()


def test_verify_finds_a_report_that_its_sender_never_made(tmp_path):
    """Whoever holds the study's secret can sign what they like; the sender's log shows that it was not so."""
    study, made = studied(tmp_path / "ads.evenhand")
    decide(made[0], 10, random.Random(6))
    made[0].exchange()
    with pytest.MonkeyPatch.context() as lying:
        honest = type(made[0])._reports

        def lies(self):
            reports, unheard = honest(self)
            for report in reports.values():
                report["statistics"]["sums"][0] += 1.0
            return reports, unheard

        lying.setattr(type(made[0]), "_reports", lies)
        made[1].exchange()
    (problem,) = study.verify().problems
    assert problem.startswith("w2: what it took in as report")
    assert problem.endswith("of w1 is not what w1 had learned")


def test_a_report_that_cannot_be_is_named_and_the_others_are_taken_in(tmp_path, monkeypatch):
    study, made = studied(tmp_path / "ads.evenhand")
    for worker in made:
        decide(worker, 10, random.Random(8))
        worker.exchange()
    decide(made[0], 10, random.Random(9))
    honest = type(made[0])._reports

    def broken(self):
        reports, unheard = honest(self)
        reports["w2"] = reports["w2"] | {"number": 10**6, "statistics": {"pulls": [1], "sums": [-1.0]}}
        return reports, unheard

    monkeypatch.setattr(type(made[0]), "_reports", broken)
    found = made[0].exchange()
    assert found.taken == {"w3": 10}
    assert "wanted a report of worker 'w2'" in found.unheard["w2"]
    assert study.verify().problems == ()


def test_only_who_decides_exchanges(tmp_path):
    study, made = studied(tmp_path / "ads.evenhand")
    with pytest.raises(ArgumentError, match="open the study with worker="):
        study.exchange()
    Study.open(tmp_path / "ads.evenhand", "ads", worker="w1")
    with pytest.raises(FencedError, match="opened again by"):
        made[0].exchange()
    plain = Study.create(tmp_path / "plain.evenhand", eh.learners.UCB1(arms=2))
    with pytest.raises(ArgumentError, match="has one log"):
        plain.exchange()


def test_what_was_learned_in_the_serial_beginning_is_learned_from(tmp_path):
    made = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": "1/2", "b": "1/4", "c": 0}, seed=1)
    study = Study.create(tmp_path / "ads.evenhand", made, workers=4, exchange_rounds=None, exchange_seconds=None)
    worker = Study.open(tmp_path / "ads.evenhand", worker="w1")
    decide(worker, 20, random.Random(7))
    assert worker.exchange().taken == {"the serial beginning": 15}
    assert worker.policy._learned.pulls.sum() == 20
    assert study.verify().problems == ()
