"""What is watched of a study: each gauge is what an obvious computation over all its decisions says."""

import random
from fractions import Fraction as F
from statistics import fmean

import numpy as np
import pytest

import evenhand as eh
from evenhand.studies import Ask, Study, Tell
from evenhand.studies.statistics import gauges, statistics
from evenhand.studies.statistics.gauges import LATE, gauges_of, overdue_of
from evenhand.studies.statistics.statistics import RECENT
from tests.naming import named

SHARES = (F(1, 2), F(1, 4))
SECOND = 1_000_000


def played(policy, indices):
    study = Study.create(":memory:", policy, name="ads")
    study.run([Ask(given={"index": index}) for index in indices])
    return study


def behind(indices, rounds):
    """How far each arm is behind its share after so many rounds."""
    return [share * rounds - indices[:rounds].count(arm) for arm, share in enumerate(SHARES)]


@pytest.mark.parametrize("tolerance", [0, 1.5])
@pytest.mark.parametrize("indices", [[0], [1, 1, 1, 1, 0], [0, 1] * 9, [0] * 7, [1] * 9 + [0] * 20], ids=named)
def test_a_promise_has_its_shortfalls_and_whether_it_was_kept(scripted, indices, tolerance):
    found = gauges_of(played(scripted([*SHARES], tolerance), indices).statistics())
    each = [max(behind(indices, t)) for t in range(1, len(indices) + 1)]
    assert (found["shortfall"], found["worst_shortfall"]) == (float(each[-1]), float(max(each)))
    # plays are whole: what is owed, rounded down, less the plays is what an arm is behind, rounded down
    assert found["promise_kept"] == all(one // 1 <= tolerance for one in each)
    assert found["open_tickets"] == len(indices)


def test_the_last_rewards_have_their_mean(scripted):
    study, chance = played(scripted([*SHARES]), [0, 1] * 150), random.Random(1)
    assert "recent_reward" not in gauges_of(study.statistics())
    rewards = [chance.randrange(8) / 8 for _ in range(300)]
    for number in (1, RECENT, 300):
        done = study.statistics().told
        study.run([Tell(ticket=n + 1, given={"reward": rewards[n]}) for n in range(done, number)])
        found = gauges_of(study.statistics())
        assert found["recent_reward"] == pytest.approx(fmean(rewards[:number][-RECENT:]))
        assert found["open_tickets"] == 300 - number


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
