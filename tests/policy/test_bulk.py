"""Many at a time: a warm start from a log, many rewards told at once, old tickets closed."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ArgumentError, ClosedTicketError, ContextError, RewardError, TableError
from evenhand.groups import TopInterval
from evenhand.learners import KLUCB, UCB1, Adapter, LinUCB, Thompson, TsallisINF
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.quotas import DeadlineLearn, FairUCB
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study

LOG = pd.DataFrame({"item": ["a", "b", "b", "a", "b"], "click": [0, 1, 1, 0.5, 0], "p": [0.5, 0.25, 1.0, 0.5, 0.5]})
SHARES = {"a": 0.5, "b": 0.2}


def numbers_of(policy: KernelPolicy):
    return [np.copy(field) for field in policy.engine.state if isinstance(field, np.ndarray)]


def test_a_log_teaches_what_its_rows_teach_one_by_one():
    warm, stepped = UCB1(arms=["a", "b"]), UCB1(arms=["a", "b"])
    warm.learn(LOG, arm="item", reward="click")
    for item, click in zip(LOG["item"], LOG["click"], strict=True):
        stepped.update("ab".index(item), float(click))
    for one, other in zip(numbers_of(warm), numbers_of(stepped), strict=True):
        assert np.array_equal(one, other)
    assert warm._has_history
    assert warm.round == 0
    assert warm.open_tickets == []


@pytest.mark.parametrize("learner", [KLUCB(), Thompson(), "foreign"], ids=str)
def test_a_promise_counts_no_row_of_a_log(learner):
    """After the warm start the promise is kept from the first round on, as if there had been no log."""
    told = []
    if learner == "foreign":
        learner = Adapter(
            [0], choose=lambda one: 0, update=lambda one, index, reward: told.append((index, reward)), seed=None
        )
    policy = DeadlineLearn(learner, SHARES, seed=3)
    policy.learn(pd.concat([LOG] * 20), arm="item", reward="click")
    assert policy.pulls == {"a": 0, "b": 0}
    again = policy if told else from_bytes(to_bytes(policy))
    assert len(told) in (0, 100)
    for t in range(1, 60):
        again.tell(again.ask(), 0.0)
        assert again.promise.is_kept(list(again.pulls.values()), t)


def test_a_warm_start_changes_the_first_decisions():
    cold, warm = (KLUCB(arms=["a", "b", "c"]) for _ in range(2))
    warm.learn(pd.DataFrame({"arm": ["a", "b", "c"] * 30, "reward": [0.0, 0.1, 0.9] * 30}))
    assert [cold.ask().arm for _ in range(3)] == ["a", "b", "c"]
    assert [warm.ask().arm for _ in range(3)] == ["c", "c", "c"]


def test_a_study_starts_with_what_a_log_taught():
    warm = DeadlineLearn(KLUCB(), {"a": 0.1, "b": 0.1})
    warm.learn(pd.DataFrame({"arm": ["a", "b"] * 30, "reward": [0.0, 0.9] * 30}))
    study = Study.create(":memory:", warm)
    assert [study.ask().arm for _ in range(2)] == ["b", "b"]
    assert study.verify().ok


def test_contexts_are_learned_with_their_columns():
    rows = np.random.default_rng(2).normal(size=(50, 2))
    log = pd.DataFrame({"who": ["x", "y"] * 25, "age": rows[:, 0], "pay": rows[:, 1], "out": rows @ [1.0, -2.0]})
    warm, stepped = LinUCB(0.9, arms=["x", "y"]), LinUCB(0.9, arms=["x", "y"])
    warm.learn(log, arm="who", reward="out", contexts=["age", "pay"])
    for n, (row, paid) in enumerate(zip(rows, log["out"], strict=True)):
        shown = np.zeros((2, 2))
        shown[n % 2] = row
        stepped.update(shown, n % 2, float(paid))
    assert np.array_equal(warm.engine.state.coefficients, stepped.engine.state.coefficients)
    frame = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], columns=["pay", "age"], index=["x", "y"])
    assert warm.ask(frame).arm == stepped.ask(frame[["age", "pay"]].to_numpy()).arm


def test_contexts_are_learned_under_the_names_of_earlier_rounds():
    log = pd.DataFrame({"arm": ["x", "y"], "age": [1.0, 2.0], "pay": [3.0, 4.0], "reward": [0.5, 1.0]})
    states = []
    for named in (["age", "pay"], ["pay", "age"]):
        policy = LinUCB(0.9, arms=["x", "y"])
        policy.forget(policy.ask(log[["age", "pay"]]))
        policy.learn(log, contexts=named)
        states.append(policy.engine.state.moment.tolist())
        assert policy.contexts.table_columns == ["age", "pay"]
    assert states[0] == states[1]
    with pytest.raises(ContextError, match=r"contexts: expected the columns \['age', 'pay'\], as before, got"):
        policy.learn(log.rename(columns={"pay": "wage"}), contexts=["age", "wage"])


def test_tsallis_inf_weighs_rows_by_their_probabilities():
    losses = {}
    for column in ("p", None):
        policy = TsallisINF(arms=["a", "b"], seed=1)
        policy.learn(LOG, arm="item", reward="click", probability=column)
        losses[column] = float(policy.engine.state.losses[0] - policy.engine.state.losses[1])
    assert losses["p"] == pytest.approx((1 + 0.5) / 0.5 - 1 / 0.5)
    assert losses[None] == pytest.approx(2 * (1 + 0.5 - 1))


GOOD = {"arm": "item", "reward": "click"}
BAD_LOGS = [
    (LOG, {"arm": "arm", "reward": "click"}, TableError, "column: expected one of"),
    (LOG.assign(item="z"), GOOD, TableError, "column 'item', row 1: expected one of the arms"),
    (LOG.assign(click=[0, 1, 2, 0, 0]), GOOD, TableError, "column 'click', row 3"),
    (LOG.assign(p=0.0), GOOD | {"probability": "p"}, TableError, "column 'p', row 1"),
    (LOG, GOOD | {"contexts": ["click"]}, ContextError, "contexts: expected None"),
    (LOG.to_dict(), GOOD, TableError, "frame: expected a pandas DataFrame"),
    (LOG.iloc[:0], GOOD, TableError, "column 'item': no rows"),
]


@pytest.mark.parametrize(("log", "arguments", "error", "message"), BAD_LOGS, ids=[m for _, _, _, m in BAD_LOGS])
def test_a_bad_log_is_refused_and_nothing_has_changed(log, arguments, error, message):
    policy = FairUCB({"a": 0.3, "b": 0.3})
    with pytest.raises(error, match=message):
        policy.learn(log, **arguments)
    assert not policy._has_history


@pytest.mark.parametrize("contexts", [None, [], "age", [3], ["age"]])
def test_bad_contexts_of_a_log_are_refused(contexts):
    policy = TopInterval(["F", "M"])
    policy._begin(2)
    log = pd.DataFrame({"arm": [0], "reward": [1.0], "age": [3.0]})
    with pytest.raises(ContextError, match="contexts: expected a list of 2 column names"):
        policy.learn(log, contexts=contexts)


def test_many_rewards_are_told_at_once():
    one, other = (DeadlineLearn(UCB1(seed=2), SHARES, seed=1) for _ in range(2))
    asked = [(one.ask(), other.ask()) for _ in range(12)]
    rewards = [0.1 * n for n in range(10)]
    one.tell_all([ticket for ticket, _ in asked[:10]], rewards)
    for (_, ticket), reward in zip(asked, rewards, strict=False):
        other.tell(ticket, reward)
    assert to_bytes(one) == to_bytes(other)
    one.tell_all([11, 12], np.array([0.5, 0.25]))
    assert one.open_tickets == []


def test_many_slates_are_told_at_once():
    policy = DeadlineLearn(UCB1(), {"a": 0.5, "b": 0.2, "c": 0.3}, plays=2)
    first, second = policy.ask(), policy.ask()
    policy.tell_all([first, second], [[1.0, 0.0], dict.fromkeys(second.arms, 0.5)])
    assert policy.open_tickets == []


def test_all_rewards_are_refused_where_one_is():
    policy = UCB1(arms=2)
    first, second = policy.ask(), policy.ask()
    policy.tell(policy.ask(), 1.0)
    before = to_bytes(policy)
    for decisions, rewards, error, message in [
        ([first, second], [0.5, 7], RewardError, "reward"),
        ([first, 3], [0.5, 0.5], ClosedTicketError, "ticket 3 was told"),
        ([first, first.id], [0.5, 0.5], ArgumentError, "decisions: expected each ticket once"),
        ([first, second], [0.5], ArgumentError, "rewards: expected 2, one for each decision"),
        (first.id, [0.5], ArgumentError, "decisions: expected a list"),
        ([first], 0.5, ArgumentError, "rewards: expected a list"),
    ]:
        with pytest.raises(error, match=message):
            policy.tell_all(decisions, rewards)
    assert to_bytes(policy) == before


def test_old_tickets_are_closed():
    policy = FairUCB(SHARES | {"a": 0.3})
    tickets = [policy.ask() for _ in range(6)]
    policy.tell(tickets[1], 1.0)
    assert policy.forget_older(3) == [1]
    assert policy.forget_older(3) == []
    assert policy.open_tickets == [3, 4, 5, 6]
    with pytest.raises(ClosedTicketError):
        policy.tell(tickets[0], 1.0)
    assert policy.forget_older(0) == [3, 4, 5]
    assert sum(policy.pulls.values()) == 6
    for wrong in (-1, 2.5, None):
        with pytest.raises(ArgumentError, match="rounds: expected a whole number"):
            policy.forget_older(wrong)


@pytest.mark.parametrize("tickets", [[4, 3, 2, 1], ["4", "3", "2", "1"], [4.0, 3.0, 2.0, 1.0]], ids=str)
def test_rewards_by_ticket_are_told_to_their_tickets(tickets):
    told, stepped = UCB1(arms=["a", "b"]), UCB1(arms=["a", "b"])
    decisions, _ = ([policy.ask() for _ in range(4)] for policy in (told, stepped))
    told.tell_all(decisions if tickets[0] == 4 else [1, 2, 3, 4], pd.Series([1.0, 0.5, 0.0, 0.25], index=tickets))
    stepped.tell_all([1, 2, 3, 4], [0.25, 0.0, 0.5, 1.0])
    assert all(map(np.array_equal, numbers_of(told), numbers_of(stepped)))


def test_rewards_of_other_tickets_are_refused_and_nothing_is_told():
    policy = UCB1(arms=["a", "b"])
    decisions = [policy.ask() for _ in range(2)]
    with pytest.raises(
        ArgumentError, match="rewards: expected the row labels of decisions, each once, got '7 in row 2'"
    ):
        policy.tell_all(decisions, pd.Series({1: 1.0, 7: 0.0}))
    assert len(policy.open_tickets) == 2
    policy.tell_all(decisions, pd.Series([1.0, 0.0]))
