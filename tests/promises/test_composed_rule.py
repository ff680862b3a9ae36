"""The rule of composed promises beside the game: it plays the best slate after which every clause can still be kept."""

import itertools
from fractions import Fraction as F

import pytest

from evenhand.errors import SharesError
from evenhand.learners import UCB1
from evenhand.promises.promise import Promise, read_promise
from evenhand.quotas import DeadlineLearn
from tests.fuzzing import many
from tests.naming import at_night
from tests.promises.walked import Walk, begun, drawn, game_of, generator

KINDS = ("floors", "sets", "caps", "windows", "plays", "offers")
TOGETHER = [kinds for size in (1, 2, 3) for kinds in itertools.combinations(KINDS, size)]
H, T, Q = F(1, 2), F(1, 3), F(1, 4)

SMALL = {
    "sets, full": Promise({(0, 1): 2 * T, 1: H, 2: T}),
    "a set that fills more than one place": Promise({(0, 1): 3 * H, 2: H, 3: 0}, plays=2),
    "caps, full": Promise({0: T, 1: 0, 2: 0}, caps={0: T, 1: T, 2: T}),
    "windows without a chain": Promise(windows={0: 2, 1: 5, 2: 6}),
    "windows of several plays, offers": Promise(windows={0: (2, 4), 1: (2, 4)}, offers="any"),
    "windows of sets": Promise(windows={(0, 1): 2, 2: 4}),
    "windows of sets, offers": Promise(windows={(0, 1): 2, (2, 3): 2}, offers="any"),
}


def name(kinds):
    return " ".join(kinds)


@pytest.mark.parametrize("words", SMALL)
def test_every_slate_that_can_be_played_may_be_and_the_best_is(words):
    Walk(SMALL[words]).rounds(many(12), generator(1))


@pytest.mark.parametrize(
    "kinds", [pytest.param(kinds, id=name(kinds), marks=[pytest.mark.slow] * (len(kinds) != 2)) for kinds in TOGETHER]
)
def test_any_clauses_together_are_kept_as_the_game_says(kinds):
    """Promises are drawn; each that is accepted can be kept from its start, and is walked against the game."""
    rng, walked = generator(name(kinds)), 0
    for _ in range(12 * many(2)):
        promise = drawn(rng, kinds)
        if promise is None:
            continue
        walk = Walk(promise)
        assert walk.game.can_be_kept(walk.books, walk.depth()), promise
        walk.rounds(5, rng)
        walked += 1
        if walked >= many(2):
            break


def every_promise():
    """Floors of two arms and a set of both beside a third arm, with a cap or a window."""
    values = (F(0), T, H, F(1))
    for one, two, both, other in itertools.product(values, values, (F(0), H, 2 * T), (F(0), T, H)):
        for more in ({}, {"caps": {0: H}}, {"windows": {2: 2}}):
            for offers in ("all", "any"):
                yield {0: one, 1: two, 2: other, (0, 1): both}, more | {"offers": offers}


def test_what_is_accepted_can_be_kept_and_what_is_refused_cannot():
    """Refused with a reason that names what is not known stays refused; all else is decided by the game."""
    accepted, refused, wrong = 0, 0, []
    for shares, more in every_promise():
        try:
            promise = Promise(shares, **more)
        except SharesError as error:
            if "no known rule" in str(error):
                continue
            refused += 1
            wrong += [] if lost_at_start(shares, more) else [(shares, more)]
            continue
        accepted += 1
        walk = Walk(promise)
        assert walk.game.can_be_kept(walk.books, 6), promise
    assert not wrong
    assert accepted > 60
    assert refused > 100


def lost_at_start(shares, more):
    """Whether no rule keeps these clauses, as the game finds by some depth, or as their rates say."""
    try:
        promise = read_promise(shares, caps=more.get("caps"), windows=more.get("windows"), audited=True)
    except SharesError:
        return True  # the sum of the rates alone passes what there is
    game = game_of(promise.varied(offers=more["offers"]))
    return any(not game.can_be_kept(game.begin, depth) for depth in (6, 12))


@pytest.mark.parametrize("more", [{"caps": {2: "0.6"}}, {"windows": {2: 2}}], ids=["beside a cap", "beside a window"])
def test_long_denominators_that_leave_nothing_over_are_decided(more):
    """A look ahead ends where the plays that are tried are needed, long before the shares come again."""
    shares = {0: "0.123456789", 1: "0.376543211", (0, 1): "1/2"} | ({2: "1/2"} if "caps" in more else {})
    promise = Promise(shares, **more)
    params, state, picked, _ = begun(promise)
    for now in range(30):
        state.scores[:] = [0.0, -1.0, -2.0]
        picked(params, state, now)
        pulls = state.pulls.tolist()
        assert all(n >= int(share * (now + 1)) for n, share in zip(pulls, promise.shares, strict=True))
        assert pulls[2] == (now + 1) // 2


def floors():
    for arms, plays in ((2, 1), (3, 1), (3, 2)):
        values = [F(0), F(1, 3), F(1, 2), F(1)] if arms == 3 else [F(0), F(1, 4), F(1, 3), F(1, 2), F(2, 3), F(1)]
        for shares in itertools.combinations_with_replacement(values, arms):
            if sum(shares) <= plays:
                yield pytest.param(shares, plays, id=f"{'-'.join(map(str, shares))} of {plays}".replace("/", ":"))


@pytest.mark.parametrize(("shares", "plays"), list(floors()))
@pytest.mark.parametrize("tolerance", [0, at_night(1)])
def test_the_slate_is_the_best_that_keeps_every_floor_whatever_is_on_offer(shares, plays, tolerance):
    for offers in ("any", "all"):
        Walk(Promise(list(shares), tolerance, plays=plays, offers=offers)).rounds(36, generator(7))


def capped():
    for shares in itertools.product([F(0), F(1, 4), F(1, 3), F(1, 2)], repeat=2):
        for caps in itertools.product([F(1, 4), F(1, 2), F(2, 3), F(1)], repeat=2):
            if sum(shares) <= 1 <= sum(caps) and all(r <= c for r, c in zip(shares, caps, strict=True)):
                yield shares, caps
    yield (F(1, 3), F(0), F(1, 6)), (F(1, 3), F(1, 2), F(1, 2))
    yield (F(0), F(0), F(0)), (F(1, 3), F(1, 3), F(1, 3))
    yield (F(1, 2), F(1, 4), F(1, 4)), (F(1, 2), F(1, 2), F(1))
    yield (F(1, 2), F(1, 3), F(1, 6)), (F(1), F(1), F(1))


@pytest.mark.parametrize(("tolerance", "ahead"), [(0, 0), at_night(1, 0), at_night(0, 1)])
def test_the_arm_is_the_best_that_keeps_every_floor_and_cap(tolerance, ahead):
    for shares, caps in capped():
        promise = Promise(list(shares), tolerance, list(caps), ahead, offers="all")
        Walk(promise).rounds(24 if len(shares) == 2 else 80, generator(7))


def test_a_look_that_ends_early_plays_the_earliest_deadlines():
    params, state, run, _ = begun(Promise(["1/3", "1/3", "1/3"], 0))
    params, played = params._replace(farthest=0), []
    state.scores[:] = [3.0, 2.0, 1.0]
    for round in range(9):
        run(params, state, round)
        played.append(int(state.chosen[0]))
    assert [played.count(arm) for arm in range(3)] == [3, 3, 3]


def test_a_window_counts_the_rounds_after_one_in_which_its_arm_was_off_offer():
    """A proposal that is granted without a look passes a round for every window whose arm is on offer again."""
    policy = DeadlineLearn(UCB1(), 0, windows={"b": 9}, arms=["a", "b"])
    gaps = [0]
    for round in range(200):
        available = ["a"] if round % 4 == 0 else ["a", "b"]
        decision = policy.ask(available=available if len(available) == 1 else None)
        policy.tell(decision, float(decision.arm == "a"))
        gaps.append(0 if decision.arm == "b" else gaps[-1] + ("b" in available))
    assert max(gaps) == 8
