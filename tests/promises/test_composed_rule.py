"""The rule of composed promises beside the game: it plays the best slate after which every clause can still be kept."""

import itertools
from fractions import Fraction as F

import pytest

from evenhand.errors import SharesError
from evenhand.promises.promise import Promise, read_promise
from tests.fuzzing import many
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
