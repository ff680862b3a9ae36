"""One contract for every store: nothing acknowledged is lost, nothing counts twice, refusals change nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand import registry
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContradictionError,
    EvenhandError,
    ForeignTicketError,
    ReplayError,
    RewardError,
    UnknownStudyError,
    UnknownTicketError,
)
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Ask, Forget, Store, Study, Tell
from evenhand.studies.log.codec import decision_from
from tests.fuzzing import many
from tests.studies.conftest import example
from tests.studies.test_verify import change

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}


def fair(seed=1):
    return eh.quotas.FairLearn(eh.learners.Thompson(seed=2), SHARES, seed=seed)


@pytest.fixture
def study():
    return Study.create(":memory:", fair(), name="ads")


@pytest.fixture
def stored(shared):
    """The same in a store of every kind."""
    return Study.create(shared, fair(), name="ads")


def opened_anew(study):
    """The study as another process would see it: nothing in memory, everything from the store."""
    return Study.open(study.store, study.name)


def test_a_decision_and_a_report_are_in_the_store_before_they_are_returned(stored):
    study, decision = stored, stored.ask()
    record = opened_anew(study).log.record(decision.id)
    assert decision_from(record.decision) == decision
    assert record.version.startswith(eh.__version__ + "+")
    assert record.random_state is not None
    assert record.told is None
    study.tell(decision, 0.5)
    record = opened_anew(study).log.record(decision.id)
    assert record.told == {"reward": 0.5}
    assert record.told_at >= record.at


def test_the_random_state_on_record_draws_the_decision_again(study):
    for _ in range(12):
        study.tell(study.ask(), 1.0)
    decision = study.ask()
    words = [np.frombuffer(bytes.fromhex(text), np.uint64) for text in study.log.record(decision.id).random_state]
    events = list(study.log.events())
    again = fair()
    for event in events[:-1]:
        again.ask() if event.kind == "ask" else again.tell(event.ticket, event.given["reward"])
    assert [word.tolist() for word in words] == [again.engine.state.learner.stream.tolist()]
    assert again.ask() == decision


def test_the_same_report_again_counts_once_and_another_of_the_same_ticket_is_refused(study):
    decision = study.ask()
    assert study.tell(decision, 1.0) == "told"
    assert study.tell(decision.id, 1) == "already told"
    assert study.tell(study.sign(decision.id), np.float64(1.0)) == "already told"
    assert study.sign(decision) == study.sign(decision.id) == study.sign(study.sign(decision))
    for other, said in ((0.0, "0.0"), (float("inf"), "inf;")):
        with pytest.raises(ContradictionError, match=f"ticket 1 was told before: reward 1.0, not reward {said}"):
            study.tell(decision, other)
    assert study.log.sequence == 2


def test_forgetting_closes_a_ticket_once(study):
    decision = study.ask()
    assert study.forget(decision) == "forgotten"
    assert study.forget(decision.id) == "already forgotten"
    with pytest.raises(ClosedTicketError, match="ticket 1 was forgotten before"):
        study.tell(decision, 1.0)
    told = study.ask()
    study.tell(told, 1.0)
    with pytest.raises(ClosedTicketError, match="ticket 2 was told before"):
        study.forget(told)


@pytest.mark.parametrize("ticket", [0, -1, 2, 10**30, 1.0, True, None, b"1", [1]], ids=repr)
def test_a_ticket_that_was_never_handed_out_is_refused(study, ticket):
    study.ask()
    with pytest.raises(UnknownTicketError, match="never handed out" if type(ticket) is int else "ticket|decision"):
        study.tell(ticket, 1.0)
    assert study.log.sequence == 1


def test_a_forged_ticket_and_one_of_another_study_are_refused_by_name(study):
    other = Study.create(study.store, fair(), name="loans")
    study.ask()
    with pytest.raises(ForeignTicketError, match="belongs to the study 'loans', not to 'ads'"):
        study.tell(other.sign(other.ask().id), 1.0)
    true = study.sign(1)
    for forged in (true[:-1] + ("0" if true[-1] != "0" else "1"), true.replace(".1.", ".2."), "ads.1", "1", ""):
        with pytest.raises(ForeignTicketError, match=r"not signed|as ask returned it"):
            study.tell(forged, 1.0)
    assert study.open_tickets == [1]


@pytest.mark.parametrize("reward", [2.0, float("nan"), "good", None], ids=["range", "nan", "text", "none"])
def test_a_bad_reward_is_refused_and_changes_nothing(study, reward):
    decision = study.ask()
    before = study.state.now().bytes()
    with pytest.raises(RewardError):
        study.tell(decision, reward)
    assert (study.log.sequence, study.state.now().bytes()) == (1, before)
    assert opened_anew(study).state.now().bytes() == before


def test_a_key_hands_out_one_decision(stored):
    decision = stored.ask(key="user 7, page 3")
    for one in (stored, opened_anew(stored)):
        assert one.ask(key="user 7, page 3").to_dict() == decision.to_dict()
    assert decision.reason_code != "other"
    assert stored.ask(key="user 8, page 3").id == 2
    assert stored.log.sequence == 2
    for bad in ("", "x" * 201, 7):
        with pytest.raises(ArgumentError, match="key: expected a text"):
            stored.ask(key=bad)


def test_many_in_one_transaction_each_with_its_own_outcome(stored):
    _, second = stored.run([Ask(), Ask(key="k", actor="cron")])
    bad, *tells = (Tell(ticket=ticket, given={"reward": reward}) for ticket, reward in ((2, 7.0), (1, 1.0), (99, 1.0)))
    outcomes = stored.run([tells[0], bad, tells[0], Ask(key="k"), tells[1], Forget(ticket=2), Forget(ticket=2)])
    said = [one if isinstance(one, str) else type(one).__name__ for one in outcomes]
    assert said[:4] == ["told", "RewardError", "already told", "Decision"]
    assert said[4:] == ["UnknownTicketError", "forgotten", "already forgotten"]
    assert outcomes[3] == second
    assert stored.log.record(second).actor == "cron"
    assert stored.verify().ok


def test_a_failed_transaction_leaves_no_trace(stored, monkeypatch):
    study, decision = stored, stored.ask()
    before = study.state.now().bytes()

    def broken(*arguments, **named):
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(study._log, "append", broken)
        with pytest.raises(RuntimeError, match="the disk is full"):
            study.tell(decision, 1.0)
    assert study.state.now().bytes() == before
    assert study.tell(decision, 1.0) == "told"
    assert study.verify().ok


def test_names_are_found_again(stored):
    store = stored.store
    assert Study.open(store).name == "ads"
    Study.create(store, fair(), name="loans")
    assert store.names() == ["ads", "loans"]
    with pytest.raises(UnknownStudyError, match="expected the name of a study; the store has: ads, loans"):
        Study.open(store)
    for unknown in ("adz", 5, 5.0, True):
        with pytest.raises(UnknownStudyError, match=f"no study is named '?{unknown}'?; the store has: ads, loans"):
            Study.open(store, unknown)
    with pytest.raises(ArgumentError, match="already exists; choose another name"):
        Study.create(store, fair(), name="ads")
    for bad in ("", "a b", "a.b", "ä", "x" * 101, "../x", 7):
        with pytest.raises(ArgumentError, match="name: expected up to 100 letters"):
            Study.create(store, fair(), name=bad)
    assert store.names() == ["ads", "loans"]


def test_only_a_policy_can_be_studied():
    store, used = Store.at(":memory:", create=True), fair()
    used.ask()
    parts = {"_registered_name": "mine/keeper", "ask": lambda self: None, "tell": lambda self, ticket: None}
    keeper = (type("Keeper", (), parts)(), "one with a method forget, .*, got 'Keeper'")
    for policy, said in ((eh.quotas.FairUCB, "registered policy"), (3, "registered policy"), (used, "open"), keeper):
        with pytest.raises(ArgumentError, match=said):
            Study.create(store, policy, name="x")
    used.tell(1, 1.0)
    with pytest.raises(ArgumentError, match="has not decided yet"):
        Study.create(store, used, name="x")
    assert store.names() == []


def test_a_changed_entry_is_noticed_when_it_is_replayed(study):
    study.tell(study.ask(), 1.0)
    change(study, 2, given='{"reward":0.0}')
    with pytest.raises(ReplayError, match="entry 2 was changed after it was written"):
        opened_anew(study).ask()


@pytest.mark.parametrize("name", [entry.name for entry in registry.entries("policy")])
def test_every_policy_lives_in_a_store(name, clock):
    """It is told late, by processes that know its tickets from the log alone, verified in steps and as a whole, proved,
    and its tickets expire."""
    policy, world = example(name, seed=3)
    expires = "1m" if hasattr(policy, "open_tickets") else None
    study = Study.create(":memory:", policy, name="study", expire_after=expires)
    waiting, mark = [], None
    for t in range(13):
        try:
            ticket = study.ask(*world.observe())
        except EvenhandError:
            break
        waiting.append((ticket, world.respond(ticket)))
        if t % 3 == 2:
            study.state.snapshot()
            study = opened_anew(study)
            if t == 5:
                assert study.forget(waiting.pop(0)[0]) == "forgotten"
            for ticket, happened in reversed(waiting):
                assert study.tell(ticket, *happened) == "told"
                assert study.tell(ticket.id, *happened) == "already told"
            waiting.clear()
            mark = study.verify(since=mark)
            assert mark.ok, mark.problems
    finding = study.verify()
    assert finding.problems == ()
    assert finding.told > 0
    late, whole = (replace(one, since=0, replayed=0, notes=()) for one in (study.verify(since=mark), finding))
    assert late == whole
    assert finding.checkpoint["entries"] == finding.entries
    assert finding.checkpoint["kept"] == (finding.promise_kept if finding.promise == "at every round" else None)
    if waiting and expires:
        clock.pass_by(60_000_000)
        with pytest.raises(ClosedTicketError, match="expired"):
            study.tell(waiting[-1][0], *waiting[-1][1])
        assert study.open_tickets == []
        assert opened_anew(study).state.now().bytes() == study.state.now().bytes()
        assert study.verify().problems == ()


@settings(max_examples=many(40))
@given(st.lists(st.tuples(st.sampled_from(["ask", "tell", "forget", "reopen"]), st.integers(0, 7)), max_size=40))
def test_any_conversation_replays_to_the_state_of_the_policy_alone(steps):
    alone, study = fair(), Study.create(":memory:", fair())
    for step, number in steps:
        if step == "reopen":
            study = opened_anew(study)
        elif step == "ask":
            assert study.ask() == alone.ask()
        else:
            outcomes = []
            for one in (study, alone):
                try:
                    outcomes.append(one.tell(number, number / 7) if step == "tell" else one.forget(number))
                except EvenhandError as refusal:
                    outcomes.append(type(refusal))
            again = outcomes == [{"tell": "already told", "forget": "already forgotten"}[step], ClosedTicketError]
            first = outcomes == [{"tell": "told", "forget": "forgotten"}[step], None]
            assert again or first or (outcomes[0] == outcomes[1] and issubclass(outcomes[0], EvenhandError))
    assert to_bytes(study.policy) == to_bytes(from_bytes(to_bytes(alone)))
    assert study.verify().ok


def test_a_study_is_compiled_once_it_knows_its_contexts():
    study = Study.create(":memory:", eh.learners.LinUCB(arms=["a", "b"], seed=1))
    with pytest.raises(ArgumentError, match=r"compile: expected a study that knows .*; take the first decision with"):
        study.compile()
    study.ask([[0.1, 0.2], [0.3, 0.4]])
    study.compile()
    assert study.ask([[0.1, 0.2], [0.3, 0.4]]).id == 2
