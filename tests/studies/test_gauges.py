"""What is watched of a study: each gauge is what an obvious computation over all its decisions says.

Rewards that never come: where nearly all rewards are equal and many decisions have none, every door says so.
"""

import json
import random
from fractions import Fraction as F
from statistics import fmean

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.studies import Ask, Study
from evenhand.studies.export import bandit_frame
from evenhand.studies.statistics import gauges, statistics
from evenhand.studies.statistics.gauges import LATE, gauges_of, overdue_of
from evenhand.studies.statistics.outcomes import Outcomes
from tests.cli.shell import call

SHARES = (F(1, 2), F(1, 4))
SECOND = 1_000_000


def played(policy, indices):
    study = Study.create(":memory:", policy, name="ads")
    study.run([Ask(given={"index": index}) for index in indices])
    return study


@pytest.mark.parametrize(("tolerance", "kept"), [(0, 0.0), (2, 1.0)])
def test_a_promise_has_its_shortfalls_and_whether_it_was_kept(scripted, tolerance, kept):
    """Of a half, the first arm is behind by two plays after four rounds; of a quarter, the second has enough."""
    found = gauges_of(played(scripted([*SHARES], tolerance), [1] * 4 + [0] * 3).statistics())
    assert found == {"shortfall": 0.5, "worst_shortfall": 2.0, "promise_kept": kept, "open_tickets": 7.0}


@pytest.fixture
def four(monkeypatch):
    """The last four decisions are compared with all before them."""
    for module in (gauges, statistics):
        monkeypatch.setattr(module, "DRIFT", 4)


@pytest.mark.usefixtures("four")
def test_arms_drift_where_the_last_decisions_differ_from_all_before(scripted):
    study, chance, indices = played(scripted([*SHARES]), []), random.Random(2), []
    for _ in range(60):
        indices.append(int(chance.random() < len(indices) / 60))
        study.ask(indices[-1])
        found = gauges_of(study.statistics()).get("share_drift")
        before, last = indices[:-4], indices[-4:]
        if len(before) < 4:
            assert found is None
        else:
            assert found == pytest.approx(abs(fmean(last) - fmean(before)))
    assert found > 0.1


@pytest.mark.usefixtures("four")
def test_groups_drift_as_they_were_in_each_round():
    study = Study.create(":memory:", eh.groups.TopInterval({"a": "F", "b": "M"}, seed=1))
    for groups in [["F", "F"]] * 5 + [["M", "M"]] * 3:
        assert "share_drift" not in gauges_of(study.statistics())
        study.tell(study.ask(np.eye(2), groups), 0.5)
    assert gauges_of(study.statistics())["share_drift"] == pytest.approx(3 / 4)


def test_tickets_are_overdue_when_they_have_been_open_for_longer(scripted, monkeypatch):
    now, asked = 1_700_000_000 * SECOND, {}
    study = played(scripted([*SHARES]), [])
    for number, age in enumerate([0, 59, 60, 61, 3_600, 3_601, 86_401, 604_800, 700_000], 1):
        asked[number] = now - age * SECOND
        monkeypatch.setattr("evenhand.studies.log.transaction.now", lambda at=asked[number]: at)
        study.ask(0)
    for closed in (None, 6, 9):
        if closed is not None:
            study.tell(closed, 1.0)
            del asked[closed]
        for at in (now, now + 1, now + 10 * 86_400 * SECOND):
            expected = {late: sum(at - since > late * SECOND for since in asked.values()) for late in LATE}
            assert overdue_of(study.statistics(), at) == expected


def test_what_has_no_value_is_left_out(scripted):
    assert gauges_of(played(scripted([*SHARES]), []).statistics()) == {"open_tickets": 0.0, "promise_kept": 1.0}
    plain = Study.create(":memory:", eh.learners.UCB1(arms=2))
    plain.tell(plain.ask(), 1.0)
    assert gauges_of(plain.statistics()) == {"open_tickets": 0.0, "recent_reward": 1.0}


# ---------------------------------------------------------------------- rewards that never come


ARMS = {"ads": 0.2, "news": 0.3, "sport": 0.1}


@pytest.mark.parametrize(
    ("rewards", "closed", "open_tickets", "said"),
    [
        ([1.0] * 20, 30, 0, "every reward is 1, and 30 of 50 decisions have none (30 closed without one, 0 open): if "),
        ([1.0] * 20, 0, 30, "every reward is 1, and 30 of 50 decisions have none (0 closed without one, 30 open): if "),
        ([0.5] * 19 + [1.0], 30, 0, "19 of 20 rewards are 0.5, and 30 of 50 decisions have none"),
        ([0.0] * 20, 30, 0, "if silence means another reward, tell it"),
        ([1.0] * 20, 30, 0, "if silence means a reward of 0, tell it"),
        ([1.0] * 18 + [0.0] * 2, 30, 0, None),
        ([1.0] * 19, 30, 0, None),
        ([1.0] * 80, 19, 0, None),
        ([index / 200 for index in range(150)] + [1.0] * 50, 200, 0, None),
        ([], 30, 0, None),
    ],
)
def test_it_is_said_where_rewards_could_teach_nothing(rewards, closed, open_tickets, said):
    outcomes = Outcomes()
    outcomes.add(rewards)
    notes = outcomes.notes(len(rewards) + closed + open_tickets, closed, open_tickets)
    assert len(notes) == (said is not None)
    assert all(said in note for note in notes)


def test_every_door_of_a_study_says_so(tmp_path):
    path = tmp_path / "ads.evenhand"
    with Study.create(path, eh.quotas.FairUCB(ARMS, seed=1), name="ads") as study:
        for number, decision in enumerate(study.ask(count=100)[:85]):
            study.tell(decision, 1.0) if number < 25 else study.forget(decision)
        (note,) = study.statistics().notes
        assert "every reward is 1, and 75 of 100 decisions have none (60 closed without one, 15 open)" in note
        first = study.verify()
        assert (first.ok, first.notes[0]) == (True, note)
        assert note in study.verify(since=first).notes
    assert "does so by itself with expire_after= and expire_reward=; as" in note
    said = " ".join(call("report", path, "--out", tmp_path / "report.html").output.split())
    page = (tmp_path / "report.html").read_text()
    assert page.count("if silence means a reward of 0") == 1
    assert all("by itself with --expire-after and --expire-reward; as" in one for one in (said, page))
    assert note in json.loads(call("show", path, "--json").output)["notes"]


def test_an_evaluation_of_an_export_says_how_many_decisions_it_leaves_out():
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), ARMS, lottery=0.5, seed=1))
    for decision in study.ask(count=400)[1::2]:
        study.tell(decision, decision.id % 3 / 2)
    log = bandit_frame(study)
    assert log["decisions_left_out"].tolist() == [1] * 200
    words = "The log leaves out 200 decisions, which have no reward: the value stands for the 200 that have one"
    named, uniform = {"arm": "arm", "reward": "reward"}, dict.fromkeys(ARMS, 1 / 3)
    found = eh.evaluate(log, uniform, **named, propensity="propensity")
    replayed = eh.evaluate(log, eh.learners.UCB1(arms=list(ARMS), seed=1), **named, rounds=5)
    assert all(any(words in note for note in each.notes) for each in (found, replayed))
    joined = eh.evaluate(pd.concat([log, log[:100]]), uniform, **named, propensity="propensity")
    assert any("The log leaves out 300 decisions" in note for note in joined.notes)
    whole = eh.evaluate(log.drop(columns="decisions_left_out"), uniform, **named, propensity="propensity")
    assert not any("leaves out" in note for note in whole.notes)
