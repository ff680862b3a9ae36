"""A ticket is told to the conversation that handed it out, as it is, by its number or as plain data; to no other."""

import copy
import dataclasses
import json
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest

from evenhand import registry
from evenhand.checks import examples
from evenhand.errors import ForeignTicketError, UnknownTicketError
from evenhand.interventions import CSR, Allocation, CausalModel, Problem, SimulatedTrial
from evenhand.learners import KLUCB, UCB1, Thompson
from evenhand.promises.promise import Promise
from evenhand.protocol import Decision
from evenhand.quotas import DeadlineLearn, FairLearn, FairUCB
from evenhand.sampling import Draw, OptimisticSampler, UniformSampler
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB
from evenhand.studies.log.codec import as_decided, decision_from, from_text, to_text
from tests.strategies import Stubborn

SHARES = {"a": 0.3, "b": 0.3}
NAMES = [entry.name for entry in registry.entries("policy")]


def conversation(name):
    policy, world = examples(registry.get(name).cls)[0]
    policy = policy.fresh(arms=world.arms) if getattr(policy, "arms", 0) is None else copy.deepcopy(policy)
    world.reset(1)
    return policy, world


def answered(policy, world):
    ticket = policy.ask(*world.observe())
    return ticket, world.respond(ticket)


@pytest.mark.parametrize("name", NAMES)
def test_copies_take_the_tickets_of_the_original(name):
    """In whatever way the policy was copied, and the ticket too: as it is, pickled, from the log, or by its number."""
    policy, world = conversation(name)
    ticket, happened = answered(policy, world)
    plain = decision_from(from_text(to_text(as_decided(ticket))))
    assert ticket.token is not None
    assert plain.token is None
    copies = [copy.deepcopy(policy), pickle.loads(pickle.dumps(policy)), from_bytes(to_bytes(policy))]
    forms = [ticket, pickle.loads(pickle.dumps(ticket)), copy.copy(ticket), plain, ticket.id, np.int64(ticket.id)]
    for one in copies:
        for same in forms:
            again = copy.deepcopy(one)
            again.tell(same, *happened)
            assert again.open_tickets == []


@pytest.mark.parametrize("name", NAMES)
def test_the_token_follows_from_configuration_and_seed(name):
    policy, world = conversation(name)
    ticket, _ = answered(policy, world)
    same = policy.fresh() if hasattr(policy, "fresh") else conversation(name)[0]
    assert answered(same, world)[0].token == ticket.token
    if hasattr(policy, "seed"):
        assert answered(policy.fresh(seed=policy.seed + 1), world)[0].token != ticket.token


FIELDS = {
    Decision: ["id", "round", "arm", "index", "token"],
    Draw: ["id", "round", "group", "index", "count", "token"],
    Allocation: ["id", "phase", "plan", "token"],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_ticket_that_was_changed_is_refused(name):
    """Also one without a token, and by copies that were loaded."""
    policy, world = conversation(name)
    ticket, happened = answered(policy, world)
    for what in FIELDS[type(ticket)]:
        value = getattr(ticket, what)
        strange = "other" if isinstance(value, str) else (*value, 9) if isinstance(value, tuple) else value + 1
        changed = altered(ticket, {what: strange})
        for one in (copy.deepcopy(policy), from_bytes(to_bytes(policy))):
            before = to_bytes(one)
            for call in (partial(one.tell, changed, *happened), partial(one.forget, changed)):
                with pytest.raises(UnknownTicketError if what == "id" else ForeignTicketError, match="ticket"):
                    call()
            assert to_bytes(one) == before
            one.tell(ticket, *happened)


def altered(ticket, fields):
    return dataclasses.replace(ticket, **{"token": None} | fields)


def problem(chance):
    model = CausalModel.from_tables(
        {"sex": ["f", "m"], "dose": [0, 1], "cured": [0, 1]},
        {"sex": [], "dose": ["sex"], "cured": ["dose"]},
        {"sex": [0.5, 0.5], "dose": [[0.8, 0.2], [0.4, 0.6]], "cured": [[0.7, 0.3], [chance, 1 - chance]]},
    )
    tables = [[[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.5, 0.5]]]
    return Problem(model, intervene="dose", sensitive="sex", outcome="cured", candidates=tables)


STRANGERS = {
    "another seed": (FairUCB(SHARES, seed=1), FairUCB(SHARES, seed=2)),
    "other shares": (FairUCB(SHARES, seed=1), FairUCB({"a": 0.3, "b": 0.2}, seed=1)),
    "another rule": (FairLearn(UCB1(seed=1), SHARES, seed=1), DeadlineLearn(UCB1(seed=1), SHARES, seed=1)),
    "another learner": (FairLearn(UCB1(seed=1), SHARES, seed=1), FairLearn(KLUCB(seed=1), SHARES, seed=1)),
    "a learner from elsewhere": (FairLearn(Stubborn(0), SHARES, seed=1), FairLearn(UCB1(), SHARES, seed=1)),
    "other labels": (UCB1(arms=["x", "y"], seed=1), UCB1(arms=["u", "v"], seed=1)),
    "another metric": (LipschitzUCB(2, seed=1), LipschitzUCB(2, precision=0.1, seed=1)),
    "another sampler": (UniformSampler(["u", "v"], seed=1), OptimisticSampler(["u", "v"], seed=1)),
    "another problem": (CSR(problem(0.3), tolerance=0.3, budget=100), CSR(problem(0.1), tolerance=0.3, budget=100)),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_another_conversation_refuses_the_ticket(stranger):
    """Though number, round and arm are the same, and whether its own ticket of that number is open or told."""
    mine, other = (copy.deepcopy(one) for one in STRANGERS[stranger])
    shown = [[[1.0, 0.0], [0.0, 1.0]]] if isinstance(mine, LipschitzUCB) else []
    ticket, theirs = mine.ask(*shown), other.ask(*shown)
    assert ticket.id == theirs.id
    happened = {Draw: ([[0.0], [1.0]], [0, 1]), Decision: (1.0,)}.get(type(ticket))
    if happened is None:
        world = SimulatedTrial(mine.problem)
        world.reset(1)
        happened = world.respond(ticket)
    words = f"this {type(ticket).__name__} belongs to another .*, or was edited; nothing has changed"
    before = to_bytes(other) if "elsewhere" not in stranger else None
    for _ in range(2):
        with pytest.raises(ForeignTicketError, match=words):
            other.tell(ticket, *happened)
        assert before is None or to_bytes(other) == before
        if other.open_tickets:
            other.tell(theirs, *happened)
            before = to_bytes(other) if before is not None else None
    mine.tell(ticket, *happened)


def test_twins_refuse_each_others_tickets_where_they_decided_otherwise():
    """The same seed and configuration, and therefore token; what they were told parts them."""
    twins = FairLearn(UCB1(seed=3), [0.0, 0.0], seed=1), FairLearn(UCB1(seed=3), [0.0, 0.0], seed=1)
    for twin, rewards in zip(twins, ([1.0, 0.0], [0.0, 1.0]), strict=True):
        for reward in rewards:
            twin.tell(twin.ask(), reward)
    first, second = (twin.ask() for twin in twins)
    assert (first.id, first.round, first.token) == (second.id, second.round, second.token)
    assert first.arm != second.arm
    with pytest.raises(ForeignTicketError):
        twins[0].tell(second, 1.0)


@pytest.mark.parametrize("number", [True, np.True_, 1.0, "1", None, [1], np.array([1]), 1 + 0j], ids=repr)
def test_a_decision_whose_id_is_no_number_is_refused(number):
    for policy, make in (
        (FairUCB(SHARES), lambda id: Decision(id, 1, "a", 0, None, "")),
        (UniformSampler(["u", "v"]), lambda id: Draw(id, 1, "u", 0, 2, "")),
        (CSR(problem(0.3), tolerance=0.3, budget=100), lambda id: Allocation(id, 1, None, np.zeros((3, 2)))),
    ):
        policy.ask()
        for thing in (make(number), number):
            with pytest.raises(UnknownTicketError, match="or its id"):
                policy.forget(thing)


@pytest.mark.parametrize("field", ["round", "arm", "index"])
@pytest.mark.parametrize("value", [np.array([1, 2]), [1, 2], {}, None, float("nan")], ids=repr)
def test_fields_that_cannot_be_compared_are_no_fields_of_a_ticket(field, value):
    policy = FairUCB(SHARES)
    ticket = policy.ask()
    for token in (None, ticket.token):
        with pytest.raises(ForeignTicketError):
            policy.tell(dataclasses.replace(ticket, **{field: value}, token=token), 1.0)
    policy.tell(ticket, 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_an_annotated_decision_keeps_all_that_is_known(name):
    """Whoever copies it, pickles it, or writes a note on it before it is logged."""
    policy, world = conversation(name)
    ticket, happened = answered(policy, world)
    noted = dataclasses.replace(ticket, **{} if isinstance(ticket, Allocation) else {"reason": "by the night shift"})
    for same in (noted, copy.copy(noted), copy.deepcopy(noted), pickle.loads(pickle.dumps(noted))):
        assert same.token == ticket.token
        if isinstance(ticket, Decision):
            before, after = ticket.to_dict(), same.to_dict()
            assert after == before | {"reason": "by the night shift"}
            assert same.slate_propensity == ticket.slate_propensity
    with pytest.raises(dataclasses.FrozenInstanceError):
        ticket.reason = "another"
    policy.tell(noted, *happened)


def test_a_decision_goes_into_json_and_into_a_frame():
    slates = DeadlineLearn(UCB1(arms=3), Promise([0.3, 0, 0], plays=2), lottery=0.5, seed=1)
    for policy in (FairUCB(SHARES), Thompson(arms=3, seed=1), slates):
        asked = [policy.ask() for _ in range(3)]
        table = pd.DataFrame([decision.to_dict() for decision in asked])
        sent = json.loads(json.dumps([decision.to_dict() for decision in asked]))
        for row, read, decision in zip(table.to_dict("records"), sent, asked, strict=True):
            assert row == read == decision.to_dict()
            assert tuple(read["arms"]) == decision.arms
            assert read["propensity"] == decision.propensity is not None
        assert [decision.to_dict() for decision in asked] == [
            decision_from(from_text(to_text(as_decided(decision)))).to_dict() for decision in asked
        ]


def test_a_decision_may_travel_as_json():
    policy = LipschitzUCB(2, select="many", seed=1)
    ticket = policy.ask([[1.0, 0.0], [0.0, 1.0]])
    assert isinstance(ticket.arm, tuple)
    fields = json.loads(json.dumps(ticket.to_dict()))
    policy.forget(Decision(fields["id"], fields["round"], fields["arm"], fields["index"]))


def test_the_token_is_no_part_of_what_was_decided():
    decision = FairUCB(SHARES, seed=1).ask()
    other = FairUCB(SHARES, seed=2).ask()
    assert decision.token != other.token
    assert decision == other
    assert "token" not in decision.to_dict()
    assert decision.token not in repr(decision)
    allocation = CSR(problem(0.3), tolerance=0.3, budget=100).ask()
    assert "token" not in as_decided(allocation)
    assert allocation.token not in repr(allocation)
