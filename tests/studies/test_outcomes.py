"""Rewards that never come: where nearly all rewards are equal and many decisions have none, every door says so."""

import json

import pandas as pd
import pytest

import evenhand as eh
from evenhand.studies import Study
from evenhand.studies.export import bandit_frame
from evenhand.studies.statistics.outcomes import Outcomes
from tests.cli.shell import call

SHARES = {"ads": 0.2, "news": 0.3, "sport": 0.1}


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
    outcomes, again = Outcomes(), Outcomes()
    outcomes.add(rewards)
    again.restore(json.loads(json.dumps(outcomes.snapshot())))
    notes, same = (one.notes(len(rewards) + closed + open_tickets, closed, open_tickets) for one in (outcomes, again))
    assert notes == same
    assert len(notes) == (said is not None)
    assert all(said in note for note in notes)


def test_every_door_of_a_study_says_so(tmp_path):
    path = tmp_path / "ads.evenhand"
    with Study.create(path, eh.quotas.FairUCB(SHARES, seed=1), name="ads") as study:
        for number, decision in enumerate(study.ask(count=100)[:85]):
            study.tell(decision, 1.0) if number < 25 else study.forget(decision)
        (note,) = study.statistics().notes
        assert "every reward is 1, and 75 of 100 decisions have none (60 closed without one, 15 open)" in note
        first = study.verify()
        assert (first.ok, first.notes[0]) == (True, note)
        assert note in study.verify(since=first).notes
    assert "does so by itself with expire_after= and expire_reward=; as" in note
    for command, *more in (["show"], ["verify"], ["report", "--out", tmp_path / "report.html"]):
        said = " ".join(call(command, path, *more).output.split())
        assert "if silence means a reward of 0" in said
        assert "does so by itself with --expire-after and --expire-reward; as" in said
    page = (tmp_path / "report.html").read_text()
    assert page.count("if silence means a reward of 0") == 1
    assert "with --expire-after and --expire-reward" in page
    assert note in json.loads(call("show", path, "--json").output)["notes"]


def test_an_export_for_evaluation_counts_what_it_leaves_out_in_the_file_itself(tmp_path):
    path, out = tmp_path / "ads.evenhand", tmp_path / "log.csv"
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, lottery=0.5, seed=1)
    with Study.create(path, policy, name="ads") as study:
        for number, decision in enumerate(study.ask(count=400)):
            if number % 2:
                study.tell(decision, number % 3 / 2)
        assert bandit_frame(study)["decisions_left_out"].tolist() == [1] * 200
    call("export", path, "--form", "bandit", "--out", out)
    log = pd.read_csv(out)
    words = "The log leaves out 200 decisions, which have no reward: the value stands for the 200 that have one"
    named, uniform = {"arm": "arm", "reward": "reward"}, dict.fromkeys(SHARES, 1 / 3)
    found = eh.evaluate(log, uniform, **named, propensity="propensity")
    replayed = eh.evaluate(log, eh.learners.UCB1(arms=list(SHARES), seed=1), **named, rounds=5)
    assert all(any(words in note for note in each.notes) for each in (found, replayed))
    joined = eh.evaluate(pd.concat([log, log[:100]]), uniform, **named, propensity="propensity")
    assert any("The log leaves out 300 decisions" in note for note in joined.notes)
    whole = eh.evaluate(log.drop(columns="decisions_left_out"), uniform, **named, propensity="propensity")
    assert not any("leaves out" in note for note in whole.notes)


def test_an_expired_decision_with_a_reward_is_in_the_export(clock):
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, lottery=0.5, seed=1)
    study = Study.create(":memory:", policy, expire_after="1m", expire_reward=0)
    study.ask(count=3)
    study.tell(2, 1.0)
    clock.pass_by(60_000_000)
    study.ask()
    table = bandit_frame(study)
    assert (table["reward"].tolist(), table["decisions_left_out"].tolist()) == ([0.0, 1.0, 0.0], [0, 0, 1])
    assert table.attrs["left_out"] == {"open": 1}
