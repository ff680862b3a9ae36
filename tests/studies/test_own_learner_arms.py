"""Arms that join and retire over a learner of one's own: it ranks rows, or is told."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.learners import Adapter
from evenhand.policy.traits import traits_of
from evenhand.quotas import DeadlineLearn
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from tests.quotas.test_foreign_learner import ELSEWHERE


def choose(model, contexts):
    """Rank by one linear model for all arms: the sums of a least-squares fit."""
    return np.argsort(-(contexts @ np.linalg.solve(model["gram"], model["moment"])), kind="stable").tolist()


def update(model, contexts, index, reward):
    model["gram"] = model["gram"] + np.outer(contexts[index], contexts[index])
    model["moment"] = model["moment"] + reward * contexts[index]


def of_rows(arms="rows"):
    model = {"gram": np.eye(2), "moment": np.zeros(2)}
    return Adapter(model, choose=choose, update=update, dump=dict, load=dict, contextual=True, arms=arms)


def play(study, numbers):
    """Ask and tell; every third reward comes late, so that tickets of fewer arms are told after an arm joined."""
    late = []
    for number in numbers:
        arms = len(study.statistics().labels)
        shown = np.random.default_rng(number).random((arms, 2))
        late.append((study.ask(shown), number % 2))
        if number % 3 == 0:
            while late:
                study.tell(*late.pop(0))
    return late


def test_a_log_replays_with_arms_that_come_and_go(tmp_path):
    place = tmp_path / "shop.evenhand"
    study = Study.create(place, DeadlineLearn(of_rows(), {"a": 0.1, "b": 0.1, "z": 0}, seed=1))
    late = play(study, range(20))
    assert study.add("c", 0.1, cap=0.5) == 0
    for one in late + play(study, range(20, 40)):
        study.tell(*one)
    play(Study.open(place), range(100, 110))
    study.retire("b")
    play(study, range(200, 220))
    study.add("b", 0.05)
    play(study, range(300, 330))
    found = study.verify()
    assert (found.ok, found.repeated, found.promise_kept, found.decisions) == (True, "all", True, 100)
    again = Study.open(place).policy
    assert again.learner.learner["gram"].tolist() == study.policy.learner.learner["gram"].tolist()
    played = study.frame()["arm"]
    assert played[20:].eq("c").sum() >= 8
    assert "b" not in [*played[50:70]]
    assert "b" in [*played[70:]]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_arm_that_joins_a_learner_of_another_library_gets_a_fresh_model(name):
    policy = DeadlineLearn(ELSEWHERE[name](["a", "b"] if name == "river UCB" else 2), {"a": 0.1, "b": 0.1}, seed=1)
    shown = lambda: np.ones((len(policy.arms), 2)) if traits_of(policy).contextual else None  # noqa: E731
    early = [policy.ask(shown()) for _ in range(30)]
    assert policy.add("c") == 0
    for one in early:
        policy.tell(one, float(one.arm == "a") / 2)
    policies = [policy, from_bytes(to_bytes(policy))]
    for _ in range(300):
        one, other = (each.ask(shown()) for each in policies)
        assert one.arm == other.arm
        for each in policies:
            each.tell(one, float(one.arm == "c"))
    assert policy.pulls["c"] > 100
    assert policy.fresh().arms == ("a", "b", "c")


def test_who_takes_no_new_arms_says_so_on_the_first_day():
    assert not any("No arm can join" in note for note in DeadlineLearn(of_rows(), {"a": 0.1, "b": 0}).notes)
    for learner, name in ((of_rows(2), "dict"), (eh.groups.NaiveFair({"a": "f", "b": "m"}), "NaiveFair")):
        policy = DeadlineLearn(learner, {"a": 0.1, "b": 0.1})
        said = f"No arm can join later, as {name} takes none: name a spare one now that is owed nothing."
        assert said in policy.notes
        policy.ask(np.eye(2))
        refusal = f"arm: expected one that {name} knows, got 'a new one'; make a new policy"
        with pytest.raises(ArgumentError, match=refusal):
            policy.add("c")
        assert policy.arms == ("a", "b")
    with pytest.raises(ArgumentError, match="arms: expected a number or labels, as rows need contextual=True, got 'r"):
        Adapter({}, choose=choose, update=update, arms="rows")


@pytest.mark.parametrize("form", ["array", "frame", "dicts"])
def test_a_ticket_with_a_row_for_each_arm_outlasts_an_arm_that_joins(tmp_path, form):
    def rows(arms):
        frame = pd.DataFrame(np.random.default_rng(arms).random((arms, 2)), columns=["x", "y"])
        return {"array": frame.to_numpy(), "frame": frame, "dicts": frame.to_dict("records")}[form]

    policy = DeadlineLearn(eh.learners.LinUCB(), {"a": 0.1, "b": 0.1, "z": 0}, seed=1)
    twin = policy.fresh()
    study = Study.create(tmp_path / "shop.evenhand", policy)
    first, mine = study.ask(rows(3)), twin.ask(rows(3))
    study.add("c", 0.1)
    twin.add("c", 0.1)
    study.state.snapshot()  # another process begins there, and reads open tickets from the log
    again = Study.open(tmp_path / "shop.evenhand")
    assert again.tell(first, 1.0) == "told"
    twin.tell(mine, 1.0)
    assert again.ask(rows(4)).to_dict() == twin.ask(rows(4)).to_dict()
    learned, expected = (one.learner.snapshot() | {"columns": None} for one in (again.policy, twin))
    np.testing.assert_equal(learned, expected)
    assert (again.verify().ok, again.verify().repeated) == (True, "all")
