"""The contract holds for everything in the registry, and the checker catches what breaks it."""

import threading
import time

import numpy as np
import pytest

import evenhand as eh
from evenhand import Promise, registry
from evenhand.checks import check_policy, check_registered, check_world, examples
from evenhand.checks.numeric import check_labels
from evenhand.errors import (
    ArgumentError,
    ClosedTicketError,
    ContractError,
    EvenhandError,
    RewardError,
    UnknownTicketError,
)
from evenhand.learners import UCB1
from evenhand.parameters import locked
from evenhand.processes import Lock
from evenhand.protocol import Decision
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn, FairUCB
from tests.naming import at_night, timed
from tests.strategies import Stubborn

CHECKS = ["same seed", "one kernel", "save and load", "tickets", "bad input", "promise", "reasons", "learns", "labels"]
CHECKS += ["numbers", "threads", "arguments"]
OF_KERNELS = {"one kernel", "learns", "labels", "numbers"}


EXAMPLES = [(entry.name, number) for entry in registry.entries() for number in range(len(examples(entry.cls)))]
SHARED = ("groups/group-fair-top-interval", "groups/interval-chaining", "groups/top-interval", "quotas/fair-ucb")
WITH_KERNELS = [
    at_night(entry.name) if entry.name in SHARED else entry.name
    for entry in registry.entries("policy")
    if entry.name.startswith(("learners/", "quotas/", "groups/"))
]
MOST = 3
"""How many examples of a class are tried whenever the whole test runs, those after the first in a third of the rounds;
they vary what the same kernels do, and further ones take their turn at night."""


@pytest.mark.parametrize(
    ("name", "number"),
    [at_night(*case) if case[1] >= MOST else timed(*case) for case in EXAMPLES],
)
def test_what_is_registered_keeps_the_contract(name, number):
    entry = registry.get(name)
    assert entry.summary
    example = examples(entry.cls)[number]
    if entry.kind == "policy":
        room = name.split("/")[0]
        # A search has fewer phases than this: in further rounds nothing is asked for.
        checks = check_policy(*example, rounds=60 if room == "interventions" else 100 if number else 300)
        assert [check.name for check in checks] == CHECKS
        stepped = room in ("interventions", "sampling", "similarity")
        may_skip = {"promise", "reasons", "learns", "numbers"} | (OF_KERNELS if stepped else set())
        assert {check.name for check in checks if check.skipped} <= may_skip
    elif entry.kind == "world":
        assert check_world(example)


def test_everything_that_is_registered_is_checked_by_name():
    found = check_registered("quotas/fair-ucb")
    assert list(found) == ["quotas/fair-ucb #0", "quotas/fair-ucb #1"]
    assert [[check.name for check in checks] for checks in found.values()] == [CHECKS] * 2


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WITH_KERNELS)
def test_one_example_keeps_it_in_machine_code_too(name):
    """Further examples, and classes whose kernels other classes have too, take their turn at night."""
    assert check_policy(*examples(registry.get(name).cls)[0])


class Careful:
    """A plain policy that keeps the contract; each class below breaks one part of it."""

    arms = ("a", "b")

    def __init__(self):
        self.next, self.open, self.closed = 1, {}, set()
        self._lock = Lock()

    def pick(self):
        return self.next % 2

    @locked
    def ask(self):
        index = self.pick()
        decision = Decision(self.next, self.next, self.arms[index], index, None, "in turn")
        self.open[self.next] = index
        self.next += 1
        return decision

    def ticket(self, decision):
        number = getattr(decision, "id", decision)
        if number in self.closed:
            raise ClosedTicketError("told before")
        if number not in self.open:
            raise UnknownTicketError("never handed out")
        return number

    def check(self, reward):
        if not isinstance(reward, (int, float)) or not np.isfinite(reward):
            raise RewardError("expected a finite number")

    @locked
    def tell(self, decision, reward):
        number = self.ticket(decision)
        self.check(reward)
        del self.open[number]
        self.closed.add(number)


class LeaksItsSeed(Careful):
    shared = np.random.default_rng(1)

    def pick(self):
        return int(self.shared.integers(2))


class AcceptsASecondTell(Careful):
    def tell(self, decision, reward):
        if getattr(decision, "id", decision) not in self.closed:
            super().tell(decision, reward)


class AcceptsAnyTicket(Careful):
    def tell(self, decision, reward):
        number = getattr(decision, "id", decision)
        if number in self.open or number in self.closed:
            super().tell(decision, reward)


class AcceptsNaN(Careful):
    def check(self, reward):
        if not isinstance(reward, (int, float)) or np.isinf(reward):
            raise RewardError("expected a number")


class RaisesSomethingElse(Careful):
    def check(self, reward):
        assert np.isfinite(float(reward))


class BreaksItsPromise(Careful):
    promise = Promise({"a": 0.1, "b": 0.6})


class CountsWhatItRefuses(Careful):
    """Changes under a refused tell, and cannot be saved: the state must be compared otherwise."""

    refused = 0

    def tell(self, decision, reward):
        try:
            super().tell(decision, reward)
        except EvenhandError:
            self.refused += 1
            raise


class OneThreadOnly(Careful):
    """Lets a second thread in before a ticket has its number."""

    def ask(self):
        self.next, number = self.next + 1, self.next
        time.sleep(1e-3)
        decision = Decision(number, self.next - 1, "a", 0, None, "first")
        self.open[number] = 0
        return decision


class LosesTells(Careful):
    """Keeps a ticket open if it is told while another is."""

    open_tickets = ()

    def tell(self, decision, reward):
        left = dict(self.open)
        super().tell(decision, reward)
        time.sleep(1e-3)
        if threading.current_thread() is not threading.main_thread():
            self.open_tickets = list(left)


class BreaksItsPromiseInThreads(Careful):
    """Counts in each thread by itself."""

    promise = Promise({"a": 0.5, "b": 0.5})

    def pick(self):
        if threading.current_thread() is threading.main_thread():
            return self.next % 2
        return 0


class HandsOutNumbers(Careful):
    def ask(self):
        return super().ask().id


class SaysNothing(Careful):
    """Refuses by no name of evenhand's."""

    def ticket(self, decision):
        number = getattr(decision, "id", decision)
        if number not in self.open:
            raise KeyError(number)
        return number


BROKEN = {
    LeaksItsSeed: "same seed: with one seed, round",
    AcceptsASecondTell: "tickets: tell.* after it was told was accepted",
    AcceptsAnyTicket: r"tickets: tell\(1000000000\).* was accepted",
    SaysNothing: "tickets: tell.* raised KeyError, not TicketError",
    AcceptsNaN: "bad input: a reward of nan was accepted",
    RaisesSomethingElse: "bad input: a reward of nan raised AssertionError, not EvenhandError",
    CountsWhatItRefuses: "tickets: a refused tell changed the policy",
    HandsOutNumbers: "same seed: it raised AttributeError",
    OneThreadOnly: r"threads: 4 threads got the rounds \[\d+, \d+\], one after the other",
    LosesTells: r"threads: the tickets \[.*\] stayed open though all were told",
    BreaksItsPromiseInThreads: "threads: after round 2 of 4 threads b at least 1/2 of the rounds is broken",
    BreaksItsPromise: r"promise: after round \d+ b at least 3/5 of the rounds is broken",
}


def test_a_plain_policy_that_keeps_the_contract_passes():
    outcome = {check.name: check.skipped for check in eh.check_policy(Careful())}
    assert list(outcome) == CHECKS
    passed = [name for name, skipped in outcome.items() if not skipped]
    assert passed == ["same seed", "tickets", "bad input", "threads"]
    assert "not compiled" in outcome["one kernel"]
    assert "cannot be saved" in outcome["save and load"]


@pytest.mark.parametrize("broken", BROKEN)
def test_the_checker_catches(broken):
    with pytest.raises(ContractError, match=f"{broken.__name__} breaks the contract, {BROKEN[broken]}"):
        eh.check_policy(broken())


class LosesItsMemory(FairUCB):
    """Saves all but what it learned."""

    @classmethod
    def restored(cls, snapshot):
        policy = super().restored(snapshot)
        policy.engine.state.learner.sums[:] = 0
        return policy


class ChangesWhenItRefuses(FairUCB):
    def tell(self, decision, reward):
        self.engine.state.learner.sums[0] += 1e-6
        super().tell(decision, reward)


class DecidesOtherwiseOnline(FairUCB):
    def _choose(self, shown):
        index, why, probability = super()._choose(shown)
        return (index if self.round != 77 else 1 - index), why, probability


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (LosesItsMemory, "save and load: saved again right after loading, the file differs"),
        (ChangesWhenItRefuses, "tickets: a refused tell changed the policy"),
        (DecidesOtherwiseOnline, "one kernel: the compiled loop and the online object part at round 77"),
    ],
)
def test_the_checker_catches_among_compiled_policies(broken, words, scratch_registry):
    with pytest.raises(ContractError, match=f"{broken.__name__} breaks the contract, {words}"):
        eh.check_policy(scratch_registry(broken)([0.3, 0.3]))


def test_the_policy_that_is_checked_is_left_alone():
    policy = FairUCB([0.3, 0.3])
    policy.ask()
    eh.check_policy(policy)
    assert (policy.round, policy.open_tickets) == (1, [1])


def test_a_foreign_learner_under_a_quota_keeps_the_contract_but_cannot_be_saved():
    outcome = {check.name: check.skipped for check in eh.check_policy(FairLearn(Stubborn(0), [0.3, 0.3]))}
    assert set(CHECKS) == set(outcome)
    assert "of another library" in outcome["learns"]
    assert "Stubborn cannot be saved" in outcome["save and load"]
    assert not outcome["promise"]


class Moody(BernoulliArms):
    """A world that shows what its seed does not say."""

    drawn = np.random.default_rng(2)

    def observe(self):
        return (float(self.drawn.random()),)


def test_a_world_that_does_not_follow_its_seed_is_caught():
    with pytest.raises(ContractError, match="Moody breaks the contract: with the same seed, two copies part"):
        check_world(Moody([0.1, 0.2]))


class Own:
    """A world of one's own."""

    arms, scores, totals, dimension, pays, shows = ("a", "b"), ("regret",), (0.0,), 0, (0.5,), ()

    def __init__(self, **changed):
        vars(self).update(changed)

    def reset(self, seed):
        pass

    def observe(self):
        return self.shows

    def respond(self, decision):
        return self.pays


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"arms": None}, ArgumentError, "arms: expected a number of arms or a list of labels, got None"),
        ({"arms": ("a",)}, ArgumentError, "arms: expected at least two arms"),
        ({"arms": ("a", "a")}, ArgumentError, "arms: expected each label once"),
        ({"totals": (float("nan"),)}, ArgumentError, "totals after reset are 1 numbers"),
        ({"shows": None}, ContractError, "Own: expected observe to return a tuple"),
        ({"pays": (2.0,)}, ContractError, r"rewards in \[0, 1\], got 2.0; a world with others states reward_range"),
        *(({"pays": pays}, ContractError, "respond to return a tuple") for pays in (0.5, None, ("a",), (0.5, 0.5))),
    ],
)
def test_a_world_that_cannot_be_simulated_is_refused_by_both(changed, error, words):
    world = Own(**changed)
    with pytest.raises(error, match=words):
        check_world(world)
    if changed.get("pays") != (2.0,):  # which only the policy refuses, if it does
        with pytest.raises(error, match=words):
            eh.simulate(UCB1(), world, rounds=3)


def test_a_world_may_pay_within_a_range_of_its_own():
    assert check_world(Own(pays=(2.0,), reward_range=(0.0, 2.0)))


@pytest.mark.parametrize("thing", [None, 3, object(), Stubborn(0)])
def test_what_is_no_policy_is_refused_by_the_checker(thing):
    with pytest.raises(ArgumentError, match=r"policy: expected an object with ask\(\) and tell\(\)"):
        eh.check_policy(thing)


class NoExamples:
    """Nothing to try."""


def test_a_class_without_examples_is_told_so(scratch_registry):
    scratch_registry(NoExamples)
    with pytest.raises(ContractError, match=r"NoExamples has no classmethod _examples\(\)"):
        check_registered("quotas/broken")


@pytest.mark.parametrize(
    ("promised", "lottery"),
    [({"windows": {"c": 5}}, None), ({"caps": {"c": "1/2"}, "offers": ["a", "b"]}, None), ({"caps": {"c": 0.5}}, 0.5)],
)
def test_the_arms_of_a_promise_get_other_names(promised, lottery):
    promise = Promise({"a": "1/5", "b": "1/5", "c": 0}, **promised)
    check_labels(
        DeadlineLearn(UCB1(), promise, lottery=lottery, seed=4), BernoulliArms({"a": 0.3, "b": 0.2, "c": 0.6}), 8
    )
