"""Windows: every arm so often in any so many rounds, as exactly as a search of all states can tell."""

import itertools
import random
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

import evenhand as eh
from evenhand import Promise
from evenhand.errors import ArgumentError, SharesError
from evenhand.groups import LinearThompson
from evenhand.kernels.compose import interpreted
from evenhand.learners import UCB1, LinUCB, Thompson
from evenhand.promises.rule_arrays import rule_parameters, rule_state
from evenhand.promises.window_schedules import find_schedule, phases
from evenhand.promises.windows import chain, is_grantable, safe_states, select_slate
from evenhand.quotas import BernoulliArms, DeadlineLearn
from tests.reference.promises import Windows
from tests.strategies import Stubborn

run, quick = interpreted(select_slate), interpreted(is_grantable)
SMALL = [
    windows
    for arms in (2, 3)
    for windows in itertools.combinations_with_replacement(range(2, 8), arms)
    if sum(1 / a for a in windows) <= 1 + 1e-12
]


@pytest.mark.parametrize("windows", SMALL[::3], ids=str)
def test_the_table_holds_the_safe_states_of_the_game(windows):
    game = Windows(windows)
    table = safe_states(list(windows))
    assert {tuple(place + 1) for place in np.argwhere(table)} == game.safe


def spaced(learner, windows, arms=(), **more):
    """`DeadlineLearn` under windows alone, every arm always on offer."""
    shares = dict.fromkeys(range(arms) if isinstance(arms, int) else arms, 0) or None
    return DeadlineLearn(learner, Promise(shares, windows=windows, offers="all"), **more)


def begun(windows):
    """The parameters and the state of the rule, with one arm more than windows."""
    promise = spaced(UCB1(), dict(enumerate(windows)), len(windows) + 1).promise
    return rule_parameters(promise, ()), rule_state(promise, ())


def is_sparse(periods):
    return sum(Fraction(1, period) for period in periods) <= 1


def by_chain(windows):
    """The same, decided by a chain of periods instead of the table; None where no chain is sparse enough."""
    params, state = begun(windows)
    params = params._replace(safe=params.safe[:0], phases=params.phases[:0])
    return (params, state) if is_sparse(params.periods.tolist()) else None


def test_a_wish_is_granted_exactly_where_every_window_can_be_kept_and_nearly_so_by_a_chain():
    safe_wishes, granted = 0, 0
    for windows in SMALL:
        game = Windows(windows)
        if tuple(windows) not in game.safe:
            with pytest.raises(SharesError, match="no schedule"):
                spaced(UCB1(), dict(enumerate(windows)), len(windows) + 1)
            continue
        for made in (begun(windows), by_chain(windows)):
            if made is None:
                continue
            params, state = made
            left, rng = tuple(windows), random.Random(1)
            for round in range(60):
                scores = [rng.random() for _ in windows] + [2.0 if rng.random() < 0.8 else 0.0]
                state.scores[:] = scores
                proposal = max(range(len(scores)), key=scores.__getitem__)
                if round % 3 == 0 or not quick(params, state, round, proposal):
                    run(params, state, round)
                played, allowed = int(state.chosen[0]), game.may_serve(left)
                served = played if played < len(windows) else -1
                assert served in allowed, (windows, round, left)
                best = max((arm % len(scores) for arm in allowed), key=lambda arm: scores[arm])
                if params.safe.size:
                    assert played == best, (windows, round, left, scores)
                else:
                    safe_wishes += 1
                    granted += played == best
                left = game.after(left, served)
    assert granted / safe_wishes > 0.95


def check_kept(windows, played):
    """The arms that were played, round by round, keep these windows."""
    for arm, window in windows.items():
        plays, rounds = window if isinstance(window, tuple) else (1, window)
        starts = range(len(played) - rounds + 1)
        assert min(played[start : start + rounds].count(arm) for start in starts) >= plays, (windows, arm, played)


def test_long_windows_with_several_plays_are_kept_by_the_loop():
    windows = {"a": (2, 25), "b": (3, 40), "c": 60, "d": (1, 70), "e": (5, 31)}
    policy = spaced(Thompson(), windows, arms=["best", *windows])
    world = BernoulliArms({"best": 0.9} | dict.fromkeys(windows, 0.1))
    history = eh.simulate(policy, world, rounds=1500, seed=2, checkpoints=1500)
    pulls = np.vstack([np.zeros(6, int), history.pulls.values[0, 0]])
    for arm, window in enumerate(windows.values(), 1):
        plays, rounds = window if isinstance(window, tuple) else (1, window)
        assert (pulls[rounds:, arm] - pulls[:-rounds, arm]).min() >= plays
    assert pulls[-1, 0] > 600  # the learner has most of what is left


def test_one_window_wants_the_other_arms_by_name():
    with pytest.raises(SharesError, match="no arm 'z'"):
        DeadlineLearn(UCB1(), 0, windows={"a": 5, "z": 9}, arms=["a", "b"])
    with pytest.raises(ArgumentError, match="at least two arms"):
        spaced(UCB1(), {"a": 5})
    policy = spaced(UCB1(), {"a": 5}, arms=["a", "b"])
    with pytest.raises(ArgumentError, match=r"available: expected every arm.*got \['b'\]"):
        policy.ask(available=["b"])


def decided(policy, rounds, seed=2):
    """Return the arms of so many rounds."""
    rng, arms = random.Random(seed), []
    for _ in range(rounds):
        decision = policy.ask()
        policy.tell(decision, float(rng.random() < 0.5))
        arms.append(decision.arm)
    return arms


def test_windows_longer_than_their_periods_are_kept_too():
    """Periods are 16, 64, 64, 16, 32, 16, 64, 128: a class must not take the rounds before its first play."""
    windows = {0: 168, 1: 96, 2: 104, 3: 24, 4: 32, 5: 16, 6: 64, 7: 256}
    check_kept(windows, decided(spaced(Stubborn(7), windows, seed=1), 700))


@pytest.mark.parametrize("proposal", [6, 0, None])
def test_windows_without_a_chain_are_kept_by_a_schedule(proposal):
    """4, 5, 6, 11, 12, 30 need .824 of the rounds; their best chain needs more than all, and a cycle of 120 keeps
    them."""
    windows = dict(enumerate((4, 5, 6, 11, 12, 30)))
    assert not is_sparse(chain([*windows.values()]))
    played = decided(spaced(Thompson() if proposal is None else Stubborn(proposal), windows, 7, seed=1), 600)
    check_kept(windows, played)
    assert proposal is None or played.count(proposal) > 20


@pytest.mark.parametrize("seed", range(12))
def test_a_schedule_keeps_windows_of_several_plays_whatever_is_wished(seed):
    """Of the tokens of one arm a play serves the soonest, whichever the schedule names."""
    rng, found = random.Random(seed), None
    while found is None:
        windows = {arm: (plays := rng.randint(1, 3), rng.randint(3, 7 * plays)) for arm in range(rng.randint(3, 6))}
        if sum(Fraction(*window) for window in windows.values()) > 0.6:
            with suppress(SharesError):
                promise = spaced(UCB1(), windows, [*windows, "free"]).promise
                params = rule_parameters(promise, ())
                found = params if params.phases.size else None
    state, played = rule_state(promise, ()), []
    for round in range(1, 301):
        state.scores[:] = [rng.random() for _ in state.scores]
        state.scores[-1] = 2 if round % 40 > 5 else state.scores[-1]
        if round % 3 == 0 or not quick(found, state, round - 1, int(state.scores.argmax())):
            run(found, state, round - 1)
        played.append(int(state.chosen[0]))
    check_kept(windows, played)


def test_schedules_that_are_found_keep_their_windows_and_most_sparse_windows_have_one():
    rng, tried, found = random.Random(7), 0, 0
    while tried < 8:
        windows = sorted(int(3 * 66 ** rng.random()) for _ in range(rng.randint(4, 10)))
        density = sum(1 / a for a in windows)
        if not 0.6 < density <= 5 / 6 or is_sparse(chain(windows)):
            continue
        tried += 1
        schedule = find_schedule(windows)
        if schedule is None:
            continue
        found += 1
        left = phases(schedule, range(len(windows)))
        for token, window in enumerate(windows):
            times = [round for round, served in enumerate(schedule * 2, 1) if served == token]
            gaps = [later - one for one, later in itertools.pairwise(times)]
            assert max(gaps) <= window
            assert left[:, token].max() == max(gaps)
            assert left[0, token] == times[0]
    assert found == tried


def test_the_best_chain_is_found_without_trying_every_length():
    def tried_all(windows):
        tried = [[x << ((w // x).bit_length() - 1) for w in windows] for x in range(1, min(windows) + 1)]
        return min(tried, key=lambda periods: (sum(Fraction(1, period) for period in periods), -min(periods)))

    rng = random.Random(2)
    for _ in range(400):
        windows = [rng.randint(2, rng.choice([10, 60, 400])) for _ in range(rng.randint(1, 8))]
        assert chain(windows) == tried_all(windows)
    assert chain([10**6] * 100) == [10**6] * 100
    assert spaced(UCB1(), {"a": (100, 10**6)}, ["a", "b"]).ask().arm == "a"


@pytest.mark.parametrize(
    ("windows", "words"),
    [
        ((2, 3, 7), "no schedule keeps them, at 0.97619 of the rounds; lengthen"),
        ((2, 3, 60000), r"no schedule was found for them, at 0.83335 of the rounds, though there may be one"),
        ((2, 2, 10**6), r"need 1\.000001 plays per round, more than 1 by 0\.000001 "),
    ],
)
def test_a_refusal_says_no_more_than_is_known(windows, words):
    with pytest.raises(SharesError, match=words) as refused:
        spaced(UCB1(), dict(enumerate(windows)))
    assert "5/6" not in str(refused.value)


@pytest.mark.parametrize("learner", [LinearThompson, LinUCB])
def test_windows_are_kept_over_learners_that_see_contexts(learner, tmp_path):
    arms = ["a", "b", "c"]
    made = learner(dict.fromkeys(arms, "all")) if learner is LinearThompson else learner()
    windows, rng, played = {"a": 3, "b": (2, 9)}, np.random.default_rng(1), []
    policy = spaced(made, windows, arms, seed=1)
    for round in range(60):
        decision = policy.ask(rng.random((3, 2)))
        policy.tell(decision, 1.0)
        played.append(decision.arm)
        if round == 20:
            eh.save(policy, tmp_path / "windows.evenhand")
            policy = eh.load(tmp_path / "windows.evenhand")
    check_kept(windows, played)
