"""Offers and changes of a simulation: one rule for all callers, verdicts as a count by hand has them, and
refusals by name."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.checks import numeric
from evenhand.cli.simulation_report import arms_table
from evenhand.errors import ArgumentError, ContractError, SharesError
from evenhand.learners import UCB1, Thompson
from evenhand.protocol import Decision
from evenhand.quotas import LFG, BernoulliArms, DeadlineLearn
from evenhand.simulation import loop
from evenhand.simulation.schedule import read_given
from tests.reference.books import counted

ARMS = ("a", "b", "c", "d")
WORLD = BernoulliArms(dict(zip(ARMS, [0.3, 0.8, 0.5, 0.6], strict=True)))
ROUNDS = 160
SHARES = {"a": 0.3, "b": 0.1, "c": 0, "d": 0}
LATER = {70: {"a": 0.1, "b": 0.2, "c": 0.1, "d": 0.1}, 120: {"a": 0, "b": 0.2, "c": 0.3, "d": 0.1}}


def drawn(rounds=ROUNDS, seed=1):
    offers = np.random.default_rng(seed).random((rounds, 4)) < 0.6
    offers[~offers.any(axis=1)] = True
    return offers


OFFERS = drawn()
GIVEN = {"offers": (OFFERS, None), "changes": (None, LATER), "both": (OFFERS, LATER)}
POLICIES = {
    "floors": lambda: DeadlineLearn(UCB1(), SHARES, seed=1),
    "caps": lambda: DeadlineLearn(Thompson(), eh.Promise(SHARES, 2.0, caps={"d": 0.4}), seed=1),
    "lottery": lambda: DeadlineLearn(Thompson(), SHARES, 1.0, lottery=0.5, seed=1),
    "sets": lambda: DeadlineLearn(UCB1(), {("a", "b"): 0.5, "c": 0.1, "d": 0}, seed=1),
    "slates": lambda: DeadlineLearn(UCB1(), SHARES, plays=2, seed=1),
    "windows": lambda: DeadlineLearn(UCB1(), SHARES, windows={"c": 9}, seed=1),
    "lfg": lambda: LFG(SHARES, seed=1),
}


def course_of(offers=None, changes=None, rounds=ROUNDS):
    return read_given(offers, changes, rounds=rounds, replications=1, arms=ARMS).schedule(0, 5)


def traced(policy, schedule, **more):
    settings = {"policy_seed": 3, "world_seed": 5, "stop": lambda done: None, "schedule": schedule}
    return loop.replicate(policy, WORLD, policy.promise, checkpoints=np.arange(1, ROUNDS + 1), **settings, **more)


CASES = [
    (name, given)
    for name in POLICIES
    for given in GIVEN
    if not (name == "lfg" and given != "offers") and not (name in ("caps", "windows") and GIVEN[given][0] is not None)
]


@pytest.mark.parametrize(("name", "given"), CASES)
def test_kernels_play_what_the_online_object_plays(name, given, monkeypatch):
    policy, schedule = POLICIES[name](), course_of(*GIVEN[given])
    in_kernels = traced(policy, schedule, compiled=False)
    monkeypatch.setattr(loop, "runs_compiled", lambda *_: False)
    online = traced(policy, schedule)
    for field, one, other in zip(online._fields, in_kernels, online, strict=True):
        assert np.array_equal(one, other), field
    if schedule.offers is not None:
        played = np.diff(online.pulls, axis=0, prepend=0) > 0
        assert not (played & ~schedule.offers).any()
    plain = traced(policy, None)
    assert not np.array_equal(plain.pulls, online.pulls)


@pytest.fixture
def stepped(monkeypatch):
    """Have loops stepped from Python, which takes no time to compile."""
    monkeypatch.setattr(loop, "runs_compiled", lambda *_: False)


class Careless:
    """A policy that promises what it does not keep: it plays the arm on offer that its dice like."""

    arms = ARMS
    reward_range = (0.0, 1.0)

    def __init__(self, promise):
        self.promise, self.dice, self.round = promise, np.random.default_rng(4), 0

    def ask(self, *, available=None):
        self.round += 1
        arm = str(self.dice.choice(list(available or ARMS)))
        return Decision(self.round, self.round, arm, ARMS.index(arm), None, "")

    def tell(self, decision, reward):
        pass

    def change(self, promise):
        self.promise = promise


def by_hand(versions, schedule, plays):
    """Return the number of pairs (clause, round) that are broken, each clause on the clock of its version; and the
    largest r A - N."""
    total, worst = 0, 0.0
    for start, end in pairwise([*versions, ROUNDS + 1]):
        clauses = versions[start].clauses
        log = [([plays[t - 1]], schedule.arguments(t).get("available", ARMS), 0) for t in range(start, end)]
        for (_, place), one in counted(clauses, log)[0].items():
            total += one["times"]
            worst = max(worst, one["worst"] if clauses[place].kind == "floor" else 0.0)
    return total, worst


@pytest.mark.parametrize("given", GIVEN)
def test_verdicts_count_by_clocks_and_versions(given):
    first = eh.Promise({"a": 0.3, "b": 0.1, ("c", "d"): 0.4, "c": 0, "d": 0}, caps={"d": 0.3}, windows={"b": 6})
    others = [eh.Promise({"a": 0.4, "b": 0.1, "c": 0.1, "d": 0}, 1.0), eh.Promise(SHARES, caps={"c": 0.2})]
    first, *others = (promise.varied(offers="any") for promise in (first, *others))  # so that rounds are excused
    offers, changes = GIVEN[given]
    if changes is not None:
        changes = dict(zip(changes, others, strict=True))
    schedule = course_of(offers, changes)
    trace = traced(Careless(first), schedule)
    plays = [ARMS[i] for i in np.diff(trace.pulls, axis=0, prepend=0).argmax(axis=1)]
    broken, worst = by_hand({1: first, **(changes or {})}, schedule, plays)
    assert broken > 20
    assert trace.violations[-1] == broken
    assert trace.worst[-1] == pytest.approx(worst, abs=1e-9)


def test_a_history_says_what_was_on_offer_and_regrets_the_best_of_it(stepped):
    policy = DeadlineLearn(UCB1(), SHARES)
    history = eh.simulate(policy, WORLD, rounds=ROUNDS, replications=2, seed=1, offers=OFFERS, jobs=1, checkpoints=7)
    last = history.isel(round=-1, policy=0)
    assert last.offered.values[1].tolist() == OFFERS.sum(axis=0).tolist()
    gaps = np.array([0.5, 0.0, 0.3, 0.2])
    least = np.where(OFFERS, gaps, 9).min(axis=1).sum()
    assert last.regret.values == pytest.approx(last.pulls.values @ gaps - least)
    assert "r_regret" not in history
    assert (history.violations == 0).all()


def test_arrays_labels_logs_and_functions_say_the_same():
    labels = [[arm for arm, here in zip(ARMS, row, strict=True) if here] for row in OFFERS]
    log = pd.DataFrame({"given": [{"available": row} for row in labels]})
    columns = pd.DataFrame({"available": [",".join(row) for row in labels]})
    every = lambda t, rng: labels[t - 1]  # noqa: E731
    for offers in (OFFERS, labels, log, log.map(lambda cell: json.dumps(cell)), columns, every, OFFERS[None]):
        assert np.array_equal(course_of(offers).offers, OFFERS)


def test_all_policies_of_a_replication_are_given_the_same_rounds(stepped):
    settings = {"rounds": 60, "replications": 2, "seed": 1, "jobs": 1, "checkpoints": 60}
    policies = {"u": DeadlineLearn(UCB1(), SHARES), "t": DeadlineLearn(Thompson(), SHARES)}
    offers = lambda t, rng: rng.choice(ARMS, 3, replace=False)  # noqa: E731
    history = eh.simulate(policies, WORLD, offers=offers, **settings)
    u, t = history.offered.sel(policy="u"), history.offered.sel(policy="t")
    assert u.equals(t.assign_coords(policy="u"))
    assert not u.isel(replication=0).drop_vars("replication").equals(u.isel(replication=1).drop_vars("replication"))
    again = eh.simulate(policies["u"], WORLD, offers=offers, **settings)
    assert np.array_equal(again.pulls.values[0], history.pulls.sel(policy="u").values)


def test_the_promised_share_after_changes_is_the_mean_over_rounds(stepped):
    settings = {"rounds": 100, "seed": 1, "jobs": 1, "changes": {51: [0.1, 0.3, 0, 0]}}
    history = eh.simulate(DeadlineLearn(UCB1(), SHARES), WORLD, **settings)
    assert history.share.values[0] == pytest.approx([0.2, 0.2, 0, 0])
    assert history.attrs["changes"] == [51]
    assert (history.violations == 0).all()


def test_a_promise_that_begins_later_is_counted_from_there_and_one_that_ends_up_to_there(stepped):
    begins, ends = eh.Promise({"a": 0.4, "b": 0, "c": 0, "d": 0}), eh.Promise(dict.fromkeys(ARMS, 0))
    settings = {"rounds": 90, "seed": 1, "jobs": 1, "checkpoints": [30, 60, 90], "changes": {31: begins, 61: ends}}
    history = eh.simulate(DeadlineLearn(UCB1(), ends), WORLD, **settings)
    assert history.violations.values.tolist() == [[[0, 0, 0]]]
    assert np.isnan(history.shortfall.values[0, 0]).tolist() == [True, False, True]
    assert np.isnan(history.worst_shortfall.values[0, 0]).tolist() == [True, False, False]
    assert history.share.values[0] == pytest.approx([0.4 / 3, 0, 0, 0])


BAD = {
    "a shape": ({"offers": OFFERS[:, :3]}, r"offers: expected an array \(20, 4\)"),
    "numbers": ({"offers": OFFERS.astype(int)}, r"offers: expected a bool array .*write offers.astype\(bool\)"),
    "too few": ({"offers": OFFERS[:9]}, r"offers: expected an array \(20, 4\)"),
    "nobody": ({"offers": np.zeros((20, 4), bool)}, "offers, round 1: expected an arm on offer"),
    "unknown": ({"offers": [["a"], ["z"]] * 10}, "offers, round 2: expected at least one of the arms"),
    "no JSON": ({"offers": ["[a"] * 20}, r"offers, round 1: expected at least one of the arms .*got '\[a'"),
    "unreadable": ({"offers": pd.DataFrame({"given": ["x"] * 20})}, "offers: expected a log with a column available"),
    "silent": (
        {"offers": pd.DataFrame({"given": [{}] * 20})},
        "offers: expected a log with a column available, or a column given that holds available",
    ),
    "short": ({"offers": [["a"]] * 3}, "offers: expected one for each of the 20 rounds, got '3'; play fewer rounds"),
    "no list": ({"offers": 3}, "offers: expected a bool array"),
    "no dict": ({"changes": 7}, "changes: expected a dict round -> "),
    "no pair": ({"changes": [[]]}, r"changes: expected a dict round -> .*, got \[\[\]\]"),
    "array": ({"changes": np.array([1, 2])}, "changes: expected a dict round -> "),
    "at first": ({"changes": {1: SHARES}}, "changes: expected rounds from 2 to 20"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_rounds_cannot_be_given_is_refused_by_name(case):
    given, message = BAD[case]
    policy = DeadlineLearn(UCB1(), SHARES, 30.0)
    with pytest.raises(ArgumentError, match=message):
        eh.simulate(policy, WORLD, rounds=20, seed=1, **given)


def test_policies_that_do_not_take_it_are_refused_by_name():
    settings = {"rounds": 20, "seed": 1}
    with pytest.raises(ArgumentError, match=r"policies\['free'\]: expected a policy that takes offers.*DeadlineLearn"):
        eh.simulate({"free": UCB1()}, WORLD, offers=OFFERS, **settings)
    with pytest.raises(ArgumentError, match=r"policies\['LFG'\]: expected a policy whose promise can change"):
        eh.simulate(LFG(SHARES), WORLD, changes={9: SHARES}, **settings)
    with pytest.raises(SharesError, match=r"policies\['DeadlineLearn'\], change before round 9: "):
        eh.simulate(DeadlineLearn(UCB1(), SHARES), WORLD, changes={9: [0.9, 0.9, 0, 0]}, **settings)
    with pytest.raises(ArgumentError, match=r"policies\['DeadlineLearn'\], offers of round \d+: .*expected every arm"):
        eh.simulate(POLICIES["caps"](), WORLD, offers=OFFERS, **settings)


def test_a_function_that_gives_nothing_is_named():
    with pytest.raises(ContractError, match="offers, round 3: expected at least one of the arms"):
        course_of(lambda t, rng: ["a"] if t < 3 else [])


def test_the_contract_finds_an_offer_that_is_lost_in_the_compiled_loop(monkeypatch):
    def in_python(*arguments, compiled=True, **more):
        return loop.replicate(*arguments, **more, compiled=False)

    monkeypatch.setattr(numeric, "replicate", in_python)
    policy = DeadlineLearn(UCB1(), SHARES, seed=1)
    numeric.check_one_kernel(policy.fresh(), WORLD, 60)
    monkeypatch.setattr(loop, "set_offer", loop.all_offered)
    with pytest.raises(AssertionError, match="the compiled loop and the online object, told offers, part"):
        numeric.check_one_kernel(policy.fresh(), WORLD, 60)


def test_pictures_and_tables_compare_shares_of_the_rounds_on_offer(stepped):
    """An arm of share 1/2 that is on offer in half of the rounds has kept its share with a quarter of all rounds."""
    plt = pytest.importorskip("matplotlib.pyplot")
    offers = np.ones((80, 4), bool)
    offers[::2, 0] = False
    policy = DeadlineLearn(UCB1(), {"a": 0.5, "b": 0, "c": 0, "d": 0})
    history = eh.simulate(policy, WORLD, rounds=80, seed=1, jobs=1, offers=offers)
    figure, axes = plt.subplots()
    eh.plots.plot_shares(history, ax=axes)
    assert max(bar.get_height() for bar in axes.patches[:1]) >= 0.5
    assert axes.get_ylabel() == "share of the rounds on offer"
    plt.close(figure)
    columns, rows = arms_table(history, list(policy.promise.clauses))
    assert (columns, rows[0][1]) == (["arm", "promised", "DeadlineLearn"], 0.5)
    assert float(rows[0][2]) >= 0.5
