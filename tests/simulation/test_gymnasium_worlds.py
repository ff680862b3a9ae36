"""Worlds as Gymnasium environments, which pass its checker and pay as a simulation does, and environments as worlds."""

import pickle
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import evenhand as eh
from evenhand import registry
from evenhand.errors import ArgumentError, ContractError, MissingExtraError
from evenhand.groups import BiasedLinearArms, TopInterval
from evenhand.learners import UCB1, EpsilonGreedy
from evenhand.quotas import BernoulliArms, FairUCB
from evenhand.rng import child
from evenhand.simulation import from_gymnasium, to_gymnasium
from tests.naming import named

ARMS = {"a": 0.7, "b": 0.5, "c": 0.4}
STEPPED = [
    world for entry in registry.entries("world") if hasattr(entry.cls, "_kernels") for world in entry.cls._examples()
]


@pytest.mark.parametrize("world", STEPPED, ids=named)
def test_every_world_of_arms_passes_the_checker_without_a_warning(world):
    environment = to_gymnasium(world, rounds=5, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(environment)


def play(environment, policy, rounds, observation):
    """Play a replication by the environment alone, as a user of Gymnasium does."""
    rewards, information = [], {}
    for _ in range(rounds):
        shown = [] if isinstance(environment.observation_space, gymnasium.spaces.Discrete) else [observation]
        decision = policy.ask(*shown)
        observation, reward, terminated, truncated, information = environment.step(decision.index)
        assert not terminated
        policy.tell(decision, reward)
        rewards.append(reward)
    assert truncated
    return rewards, information


CASES = {
    "arms": (BernoulliArms(ARMS), UCB1(arms=["a", "b", "c"]), "regret"),
    "promised": (BernoulliArms(ARMS), FairUCB(dict.fromkeys(ARMS, 0.2)), "regret"),
    "groups": (BiasedLinearArms(arms=4, sensitive=2), TopInterval(["F", "F", "M", "M"]), "true_regret"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_seed_pays_as_a_simulation_does(case):
    world, policy, score = CASES[case]
    history = eh.simulate(policy, world, rounds=60, replications=3, seed=7, jobs=1, checkpoints=60)
    environment = to_gymnasium(world, rounds=60)
    for replication in range(3):
        observation, information = environment.reset(seed=7) if replication == 0 else environment.reset()
        assert information == {}
        rewards, information = play(environment, policy.fresh(seed=child(7, replication, 1)), 60, observation)
        one = history.isel(policy=0, replication=replication)
        assert np.cumsum(rewards) == pytest.approx(one.reward.values, abs=1e-9)
        assert information[score] == pytest.approx(float(one[score][-1]), abs=1e-9)
        assert information["round"] == 60


def test_observations_are_the_contexts_and_no_episode_changes_another():
    environment = to_gymnasium(BiasedLinearArms(arms=3, sensitive=1), rounds=4)
    first, _ = environment.reset(seed=3)
    kept = first.copy()
    assert first.shape == environment.observation_space.shape == (3, 2)
    second, *_ = environment.step(0)
    assert (first == kept).all()
    assert (second != first).any()
    assert (environment.reset(seed=3)[0] == first).all()


def test_the_seed_of_the_first_reset_may_be_given_before():
    world = BernoulliArms([0.5, 0.5])

    def rewards(environment, **seed):
        environment.reset(**seed)
        return [environment.step(0)[1] for _ in range(30)]

    one, other = to_gymnasium(world, rounds=30, seed=5), to_gymnasium(world, rounds=30)
    assert rewards(one) == rewards(other, seed=5)
    assert rewards(one) == rewards(other)
    assert rewards(to_gymnasium(world, rounds=30)) != rewards(to_gymnasium(world, rounds=30))


def test_an_environment_takes_a_copy_of_its_world_and_has_a_spec():
    world = BernoulliArms(ARMS)
    environment = to_gymnasium(world, rounds=3)
    environment.reset(seed=1)
    assert environment.world is not world
    made = gymnasium.make(environment.spec)
    made.reset(seed=1)
    assert made.step(0)[4]["arm"] == "a"
    assert environment.spec.id == "evenhand/BernoulliArms-v0"


def test_environments_run_side_by_side():
    spec = to_gymnasium(BernoulliArms(ARMS), rounds=3).spec
    several = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(spec)] * 2)
    several.reset(seed=1)
    assert several.step(np.array([0, 2]))[1].shape == (2,)
    several.close()


class Elsewhere:
    """A world of somebody else's, stepped in Python."""

    arms, scores, totals = ("x", "y"), (), ()

    def __init__(self, shown):
        self.shown = shown

    def reset(self, seed):
        pass

    def observe(self):
        return self.shown

    def respond(self, decision):
        return (1,)


def test_a_world_from_elsewhere_becomes_an_environment_too():
    environment = to_gymnasium(Elsewhere(([[1, 2], [3, 4]],)), rounds=2)
    assert environment.reset(seed=1)[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert environment.step(1)[1:] == (1.0, False, False, {"arm": "y", "round": 1})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: to_gymnasium(7, rounds=3), "world: expected an object with arms, scores"),
        (lambda: to_gymnasium(BernoulliArms, rounds=3), "make one of that class"),
        (lambda: to_gymnasium(BernoulliArms(ARMS), rounds=0), "rounds: expected a whole number >= 1"),
        (lambda: to_gymnasium(BernoulliArms(ARMS), rounds="x"), "rounds: expected a whole number >= 1"),
        (lambda: to_gymnasium(BernoulliArms(ARMS), rounds=3, seed=-1), "seed: expected an int >= 0"),
        (lambda: to_gymnasium(eh.sampling.SyntheticModel1(instance="I"), rounds=3), "it lacks arms, scores"),
        (
            lambda: to_gymnasium(Elsewhere((1, 2)), rounds=3),
            "world: expected one whose contexts are an array of numbers",
        ),
        (
            lambda: to_gymnasium(Elsewhere(("text",)), rounds=3),
            "world: expected one whose contexts are an array of numbers",
        ),
        (
            lambda: to_gymnasium(BernoulliArms(ARMS), rounds=3).step(0),
            "step: expected .* got 'no replication'; call reset",
        ),
    ],
)
def test_what_is_no_world_of_arms_is_refused_by_name(call, said):
    with pytest.raises(ArgumentError, match=said):
        call()


def test_a_world_that_plays_rounds_of_its_own_is_refused_by_name():
    world = next(eh.similarity.LinearContexts._examples())
    with pytest.raises(ArgumentError, match="a round is one arm and one reward, got 'a LinearContexts, which plays"):
        to_gymnasium(world, rounds=3)


@pytest.mark.parametrize("action", [3, -1, 0.5, True, "a", None])
def test_what_is_no_arm_is_refused_and_changes_nothing(action):
    environment = to_gymnasium(BernoulliArms(ARMS), rounds=1)
    environment.reset(seed=1)
    with pytest.raises(ArgumentError, match="action: expected the position of an arm, from 0 to 2"):
        environment.step(action)
    assert environment.step(0)[4]["round"] == 1
    with pytest.raises(ArgumentError, match=r"step: expected .* over after 1 rounds'; call reset"):
        environment.step(0)


# ---------------------------------------------------------------------- environments of others


class Bandit(gymnasium.Env):
    """A bandit of one step an episode, as others write it: an observation of two numbers says which action pays."""

    def __init__(self, start=0, observation_space=None, happened=None, actions=None):
        self.action_space = actions or gymnasium.spaces.Discrete(3, start=start)
        self.observation_space = observation_space or gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
        self.happened = happened

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.shown = self.np_random.random(2).astype(np.float32)
        return self.shown, {}

    def step(self, action):
        if self.happened is not None:
            return self.happened
        assert self.action_space.contains(action)
        paid = self.np_random.random() < (0.2, 0.5, 0.9)[action - self.action_space.start]
        return np.zeros(2, np.float32), float(paid), True, False, {}


def test_a_bandit_of_gymnasium_becomes_a_world():
    world = from_gymnasium(Bandit(start=5), arms=["x", "y", "z"], contexts=False, reward_range=(0, 1))
    policies = {"fair": FairUCB({"x": 0.2, "y": 0.2, "z": 0.2}), "free": EpsilonGreedy()}
    history = eh.simulate(policies, world, rounds=400, replications=2, seed=1, jobs=1, checkpoints=10)
    assert (history.violations.sel(policy="fair") == 0).all()
    last = history.isel(round=-1)
    assert (last.pulls.sum("arm") == 400).all()
    assert (last.pulls.sel(arm="z") > 150).all()
    assert "regret" not in history
    # 400 rewards of 0.9 at most, and 80 rounds of 0.2 and 0.5: within five standard errors of 10
    assert (last.reward.sel(policy="fair") <= 0.9 * 400 + 50).all()


def test_the_same_seed_gives_the_same_history():
    def history(jobs, backend=None):
        world = from_gymnasium(Bandit(), contexts=False)
        return eh.simulate(UCB1(), world, rounds=50, replications=2, seed=3, jobs=jobs, backend=backend)

    assert history(1).equals(history(1))
    assert history(1).equals(history(2, "threading"))


def make_bandit():
    return Bandit()


def test_a_function_or_a_name_makes_the_environment():
    direct = eh.simulate(UCB1(), from_gymnasium(Bandit(), contexts=False), rounds=50, seed=3, jobs=1)
    made = from_gymnasium(make_bandit, contexts=False)
    assert eh.simulate(UCB1(), made, rounds=50, seed=3, jobs=1).equals(direct)
    assert pickle.loads(pickle.dumps(made)).arms == (0, 1, 2)
    gymnasium.register("evenhand-test/Bandit-v0", entry_point=Bandit)
    try:
        named_world = from_gymnasium("evenhand-test/Bandit-v0", contexts=False)
        assert eh.simulate(UCB1(), named_world, rounds=50, seed=3, jobs=1).equals(direct)
    finally:
        del gymnasium.registry["evenhand-test/Bandit-v0"]


def test_observations_become_contexts_of_every_arm():
    world = from_gymnasium(Bandit())
    assert (world.arms, world.dimension) == ((0, 1, 2), 2)
    world.reset(1)
    (shown,) = world.observe()
    assert shown.shape == (3, 2)
    assert shown.dtype == np.float64
    assert (shown == shown[0]).all()
    policy = eh.groups.LinearThompson(["F", "M", "M"], seed=1)
    assert eh.simulate(policy, world, rounds=20, seed=1, jobs=1).pulls[..., -1, :].sum() == 20
    space = gymnasium.spaces.Box(0.0, 1.0, (3, 4), np.float64)
    assert from_gymnasium(Bandit(observation_space=space)).dimension == 4


@pytest.mark.parametrize("world", [BernoulliArms([0.9, 0.1]), BiasedLinearArms(arms=3, sensitive=1)], ids=named)
def test_there_and_back_again(world):
    back = from_gymnasium(to_gymnasium(world, rounds=10))
    assert tuple(back.arms) == tuple(world.arms)
    assert back.dimension == world.dimension
    back.reset(1)
    shown = back.observe()
    assert [one.shape for one in shown] == ([(3, 2)] if world.dimension else [])


BOX = gymnasium.spaces.Box(0.0, 1.0, (4, 4), np.float64)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: from_gymnasium(7), "environment: expected a Gymnasium environment, the name of a registered one"),
        (lambda: from_gymnasium("Nothing-v0"), "environment: expected a Gymnasium environment.*Nothing"),
        (lambda: from_gymnasium(Bandit), r"write Bandit\(\)"),
        (lambda: from_gymnasium(lambda: 7), "got 'a function that returns 7'"),
        (lambda: from_gymnasium(lambda: 1 / 0), "division by zero"),
        (lambda: from_gymnasium(Bandit(actions=BOX)), "one with two or more numbered actions"),
        (lambda: from_gymnasium(Bandit(actions=gymnasium.spaces.Discrete(1))), "one with two or more numbered actions"),
        (lambda: from_gymnasium(Bandit(), arms=["x", "y"]), "arms: expected 3 labels, one for each action, got 2"),
        (lambda: from_gymnasium(Bandit(), arms="xyz"), "arms: expected a number of arms or a list"),
        (lambda: from_gymnasium(Bandit(), contexts="yes"), "contexts: expected True or False"),
        (lambda: from_gymnasium(Bandit(), reward_range=(1, 0)), "reward_range: expected the lowest and the highest"),
        (
            lambda: from_gymnasium(Bandit(observation_space=BOX)),
            r"array of shape \(d,\) or \(3, d\).*FlattenObservation",
        ),
        (
            lambda: from_gymnasium(Bandit(observation_space=gymnasium.spaces.Discrete(5))),
            r"expected observations that are an array.*contexts=False",
        ),
    ],
)
def test_what_is_no_bandit_is_refused_by_name(call, said):
    with pytest.raises(ArgumentError, match=said):
        call()


def test_an_environment_that_cannot_be_copied_is_refused_by_name():
    class Locked(Bandit):
        def __deepcopy__(self, memo):
            raise TypeError("cannot pickle 'lock' object")

    with pytest.raises(ArgumentError, match=r"one that can be copied.*pass a function that makes one"):
        from_gymnasium(Locked())
    assert from_gymnasium(lambda: Locked()).arms == (0, 1, 2)


@pytest.mark.parametrize("happened", [(0, 1.0, True, {}), None, 7])
def test_an_environment_of_another_standard_is_refused_by_name(happened):
    world = from_gymnasium(Bandit(happened=happened or 7), contexts=False)
    with pytest.raises(ContractError, match="Bandit: expected step to return an observation, a reward, terminated"):
        eh.simulate(UCB1(), world, rounds=5, seed=1, jobs=1)


def test_several_arms_are_not_one_action():
    world = from_gymnasium(Bandit(), arms=["x", "y", "z"], contexts=False)
    policy = eh.quotas.LFG({"x": 0.5, "y": 0.5, "z": 0.5}, plays=2)
    with pytest.raises(ArgumentError, match="decision: expected one arm in a round, which is one action"):
        eh.simulate(policy, world, rounds=5, seed=1, jobs=1)


def test_where_gymnasium_is_missing_the_line_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    for call in (lambda: to_gymnasium(BernoulliArms(ARMS), rounds=3), lambda: from_gymnasium(Bandit)):
        with pytest.raises(MissingExtraError, match=r"needs gymnasium: pip install 'evenhand\[gymnasium\]'"):
            call()
