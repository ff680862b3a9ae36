"""What a simulation cannot use is refused once, clearly, whatever odd thing it is."""

import math

import pytest
import xarray as xr

import evenhand as eh
from evenhand.errors import ArgumentError, RewardError
from evenhand.learners import UCB1
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairUCB, HorizonFairUCB
from tests.naming import named

WORLD = BernoulliArms([0.5, 0.4])


def play(policy=None, world=WORLD, **more):
    return eh.simulate(policy or UCB1(), world, **{"rounds": 10, "seed": 1, "jobs": 1} | more)


class Armless:
    """A world with everything but arms."""

    scores = ()
    reset = observe = respond = print


class Silent(Armless):
    arms = (0, 1)
    respond = property()


@pytest.mark.parametrize(
    ("world", "lacks"),
    [
        (None, "arms"),
        (BernoulliArms, ""),
        (3, ""),
        ([0.5, 0.4], ""),
        (Armless(), "it lacks arms; see evenhand"),
        (Silent(), r"it lacks respond; see evenhand\.protocol\.World"),
    ],
    ids=named,
)
def test_a_world_that_is_none(world, lacks):
    words = f"world: expected an object with arms, scores, reset, observe and respond.*{lacks}"
    with pytest.raises(ArgumentError, match=words):
        play(world=world)


@pytest.mark.parametrize("seed", [2**63 - 1, 2**63, 2**80])
def test_any_seed_can_be_written_to_a_file(tmp_path, seed):
    history = play(seed=seed)
    history.to_netcdf(tmp_path / "history.nc")
    with xr.open_dataset(tmp_path / "history.nc") as read:
        assert int(read.attrs["seed"]) == seed


TOLERANCE = r"tolerance: expected less than 2\^61 / 2 plays, got "
HORIZON = r"horizon: expected a number of rounds >= 1, below 2\^61, got "


@pytest.mark.parametrize(
    ("make", "words", "good", "bad"),
    [
        (lambda most: DeadlineLearn(UCB1(), [0.2, 0.2], most), TOLERANCE, 2.0**59, [1e19, 1e300, 2.0**60]),
        (lambda most: HorizonFairUCB([0.2, 0.2], most), HORIZON, 2**61 - 1, [10**30, 2**61, math.inf]),
    ],
    ids=["tolerance", "horizon"],
)
def test_a_number_beyond_any_conversation(make, words, good, bad):
    for number in bad:
        with pytest.raises(ArgumentError, match=words):
            make(number)
    assert make(good).choose() in (0, 1)


def test_a_reward_beyond_floats():
    policy = FairUCB([0.2, 0.2])
    decision = policy.ask()
    with pytest.raises(RewardError, match="reward: expected one number, got 1000"):
        policy.tell(decision, 10**400)
    policy.tell(decision, 1)


@pytest.mark.parametrize("mean", [None, [0.5], "0.5", 1j, math.nan], ids=named)
def test_a_mean_that_is_no_probability(mean):
    with pytest.raises(ArgumentError, match=r"means\['a'\]: expected a probability in \[0, 1\]"):
        BernoulliArms({"a": mean, "b": 0.1})
