"""Studies with several workers under random promises: what they decide keeps every clause, counted by its words."""

import random

import pytest

import evenhand as eh
from evenhand.errors import SharesError
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Study
from tests.reference.workers import clauses_kept

ARMS = "abcde"
PARTS = ("floor", "set", "cap", "window", "plays", "offers", "segments", "lottery")


def drawn(chance):
    """A promise of some parts, and the parts."""
    parts = chance.sample(PARTS, chance.randint(1, 4))
    shares, given = dict.fromkeys(ARMS, 0), {"tolerance": chance.choice([2, 3, 6, 9])}
    if "floor" in parts:
        shares |= {"a": chance.choice(["1/5", "1/7"]), "b": chance.choice([0, "1/10"])}
    if "set" in parts:
        shares[("c", "d")] = chance.choice(["1/4", "1/3"])
    if "cap" in parts:
        given |= {"caps": {"e": chance.choice(["1/2", "2/5"])}, "cap_tolerance": chance.choice([2, 3, 5])}
    if "plays" in parts:
        given["plays"] = 2
    elif "window" in parts:
        given["windows"] = {"a" if "set" in parts else "d": chance.choice([12, (2, 20), 30])}
    if "offers" in parts:
        given["offers"] = ["a", "b", "c"] if "cap" in parts else "any"
    return shares, given, parts


def offer_of(promise, parts, chance):
    if "offers" not in parts or promise.offers == "all":
        return list(ARMS)
    always = [] if promise.offers == "any" else list(promise.offers)[: promise.plays]
    offer = always + [arm for arm in ARMS if arm not in always and chance.random() < 0.6]
    return offer if len(offer) >= promise.plays else list(ARMS)


@pytest.mark.parametrize("seed", range(24))
def test_workers_come_and_go_and_every_clause_is_kept(seed):
    chance = random.Random(seed)
    shares, given, parts = drawn(chance)
    try:
        promise = eh.Promise(shares, **given)
        policy = DeadlineLearn(eh.learners.UCB1(), promise, lottery=0.5 if "lottery" in parts else None, seed=seed)
        study = Study.create(":memory:", policy, name="s", workers=chance.choice([2, 3]))
    except SharesError:
        assert {"window", "set"} <= set(parts) or {"window", "cap"} <= set(parts) or "offers" in parts
        return
    workers = {name: Study.open(study.store, "s", worker=name) for name in study.workers["worker"]}
    log = []
    for _ in range(study.burn_in + 60):
        before = len(log) < study.burn_in
        segment = chance.choice("xy") if "segments" in parts and not study.burn_in else None
        offer = list(ARMS) if before else offer_of(promise, parts, chance)
        worker = workers[chance.choice(sorted(workers))]
        decision = worker.ask(
            **{} if before else {"available": offer}, **{} if segment is None else {"segment": segment}
        )
        rewards = {arm: float(arm in "de") for arm in decision.arms}
        worker.tell(decision, rewards if promise.plays > 1 else rewards[decision.arm])
        log.append((decision.arms, offer, segment))
        event = chance.random()
        if event < 0.05:
            worker.exchange()
        elif event < 0.07 and not before:
            study.leave(worker.worker)
            del workers[worker.worker]
        if not workers or 0.9 < event < 0.93:
            name = f"late{len(log)}"
            try:
                workers[name] = study.join(name)
            except SharesError:
                if not workers:
                    break
    assert clauses_kept(promise.clauses, log)
    found = study.verify()
    assert (found.problems, found.promise_kept) == ((), True)
    assert min(study.room().values()) > 0
