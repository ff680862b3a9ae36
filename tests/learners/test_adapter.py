"""A learner from elsewhere is saved by functions of its own, found again by name, and put into a study."""

import functools
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, ModelError, RewardError, StateFileError
from evenhand.learners import functions
from evenhand.policy.traits import traits_of
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn
from evenhand.saving.state import from_bytes, to_bytes
from tests.learners import foreign
from tests.learners.foreign import MEANS, adapter, talk
from tests.naming import named
from tests.saved_files import rewritten

SHARES = {"a": 0.2, "b": 0.2, "c": 0.2}
LEARNERS = {"plain data": {}, "pickled": {"dump": foreign.pickled, "load": foreign.unpickled}}


def test_a_policy_over_it_keeps_the_contract():
    done = eh.check_policy(DeadlineLearn(adapter(), [0.2] * 3), BernoulliArms(MEANS), rounds=60)
    skipped = {check.name: check.skipped for check in done if check.skipped}
    assert list(skipped) == ["one kernel", "learns"]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_study_of_it_is_closed_opened_and_verified(name, tmp_path):
    alone = DeadlineLearn(adapter(**LEARNERS[name]), SHARES, seed=1)
    study = eh.Study.create(tmp_path / "s.evenhand", DeadlineLearn(adapter(**LEARNERS[name]), SHARES, seed=1))
    said = talk(study, 20)
    late = study.ask()
    study.close()
    with eh.Study.open(tmp_path / "s.evenhand") as study:
        study.state.snapshot()
        study.tell(late.id, 1.0)
        said += [(late.arm, late.reason), *talk(study, 20, 20)]
        found = study.verify()
        assert (found.ok, found.problems) == (True, ())
    expected = talk(alone, 20)
    last = alone.ask()
    alone.tell(last, 1.0)
    assert said == [*expected, (last.arm, last.reason), *talk(alone, 20, 20)]


def test_whether_it_is_contextual_is_saved_however_it_was_said():
    learner = adapter()
    learner.contextual = True
    again = from_bytes(to_bytes(FairLearn(learner, [0.1, 0.1])))
    assert traits_of(again).contextual
    assert again.learner.contextual


# ---------------------------------------------------------------------- what a file may name

MODULE = """
from evenhand.learners import Adapter

def choose(counts): return counts.index(min(counts))
def update(counts, index, reward): counts[index] += 1
def dump(counts): return {"counts": counts}
def load(dumped): return list(dumped["counts"])
"""
MAKE = """
import evenhand as eh, my_learners as my
learner = eh.learners.Adapter([5, 0, 0], choose=my.choose, update=my.update, dump=my.dump, load=my.load)
"""
GO_ON = """
import evenhand as eh, sys
try:
    print(eh.load("p").ask().index, *(d.index for d in [eh.Study.open("s.evenhand").ask()]))
except eh.errors.StateFileError as error:
    print(type(error).__name__, error)
"""


def test_another_process_finds_the_functions_in_modules_that_its_user_names_and_nowhere_else(tmp_path):
    (tmp_path / "my_learners.py").write_text(MODULE)

    def run(script, **environment):
        known = {"PYTHONPATH": ":".join(filter(None, sys.path)), "NUMBA_DISABLE_JIT": "1", **environment}
        done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=known, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    made = "policy = eh.quotas.FairLearn(learner, [0.0] * 3)\n"
    run(MAKE + made + 'eh.save(policy, "p")\neh.Study.create("s.evenhand", policy).close()')
    assert run(GO_ON, EVENHAND_IMPORT="my_learners") == "1 1"
    assert run(MAKE + GO_ON) == "1 1"
    refusal = run(GO_ON)
    assert "'my_learners:choose'" in refusal
    assert "make an Adapter with it first, or name its module in EVENHAND_IMPORT" in refusal
    assert run("import my_learners" + GO_ON) == refusal


def forged(policy, change):
    """Return the state of a policy with the snapshot of its adapter changed, and the digest that belongs to it."""
    data = to_bytes(policy)
    return rewritten(data, lambda body, _: change(body["object"]["snapshot"]["learner"]["snapshot"]), signed=True)


NEVER_GIVEN = ["os:system", "builtins:eval", "pickle:loads", "_pickle:loads", "tests.learners.foreign:adapter"]
OURS = ("functions:know", "ucb1:choose", "nothing:load", "\0:load", ":load")
NEVER_GIVEN += [f"evenhand.learners.{path}" for path in OURS]


@pytest.mark.parametrize("path", [*NEVER_GIVEN, "x", 3, {}])
def test_a_file_calls_no_function_that_was_not_given_to_an_adapter(path, monkeypatch):
    monkeypatch.delenv("EVENHAND_IMPORT", raising=False)
    policy = FairLearn(adapter(), [0.1] * 3)
    with pytest.raises(StateFileError, match="expected one that an Adapter of this process has"):
        from_bytes(forged(policy, lambda snapshot: snapshot["functions"].update(load=path)))


def test_a_named_module_gives_away_what_it_defines_and_nothing_that_it_imported(monkeypatch):
    monkeypatch.setenv("EVENHAND_IMPORT", "tests.learners.foreign")
    monkeypatch.setattr(functions, "_known", {})
    assert functions.find("tests.learners.foreign:load") is foreign.load
    for path in ("pickle.loads", "pickle", "random.Random", "load.__globals__", "nothing", "", "load.__call__"):
        with pytest.raises(StateFileError, match="expected one that an Adapter of this process has"):
            functions.find(f"tests.learners.foreign:{path}")


class Method:
    def choose(self, *given):
        return 0

    @classmethod
    def load(cls, dumped):
        return foreign.load(dumped)

    @staticmethod
    def dump(learner):
        return foreign.dump(learner)


def test_functions_of_a_class_can_be_named():
    policy = FairLearn(adapter(load=Method.load, dump=Method.dump, choose=Method.choose), [0.1] * 3)
    assert to_bytes(from_bytes(to_bytes(policy))) == to_bytes(policy)


FUNCTIONS = ("choose", "update", "seed", "dump", "load")


def inner():
    def function(*given): ...

    return function


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "function", [lambda *given: 0, inner(), Method().choose, functools.partial(foreign.gamble)], ids=range(4)
)
def test_a_function_that_no_file_can_name_is_refused_by_name_when_saving(name, function, tmp_path):
    policy = FairLearn(adapter(**{name: function}), [0.1, 0.1])
    words = f"^{name}: expected a function that a state file can name.*top of a module"
    with pytest.raises(ArgumentError, match=words):
        eh.save(policy, tmp_path / "p")
    with pytest.raises(ArgumentError, match=words):
        eh.Study.create(tmp_path / "s.evenhand", policy)
    assert list(tmp_path.iterdir()) == []


def test_two_functions_of_one_name_are_told_apart():
    def named(value):
        def choose(gambler):
            return value

        choose.__qualname__ = "choose_of_a_notebook"
        return choose

    first = FairLearn(adapter(choose=named(0)), [0.1, 0.1])
    second = FairLearn(adapter(choose=named(1)), [0.1, 0.1])
    to_bytes(second)
    with pytest.raises(ArgumentError, match=r"choose: expected a function.*another function of that name"):
        to_bytes(first)


# ---------------------------------------------------------------------- what is refused, and what fails


REFUSED = [
    *(({name: 3}, f"^{name}: expected a function") for name in FUNCTIONS),
    ({"load": None}, "load: expected a function together with dump"),
    ({"dump": None}, "dump: expected a function together with load"),
    *(({name: 1}, f"{name}: expected True or False") for name in ("contextual", "among", "own_choices")),
    *(
        ({"contextual": True, "features": wrong}, "features: expected a list of names, each once")
        for wrong in ([], "ab", 3, ["a", "a"], ["a", 1], {"a"})
    ),
]


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=named)
def test_what_cannot_be_an_adapter_is_refused_by_name(given, words):
    with pytest.raises(ArgumentError, match=words):
        adapter(**given)


@pytest.mark.parametrize(
    "wrong",
    [3, "ab", (1,), (0, 1, 2), (1, 0), (0, 0), (math.nan, 1), ("0", "1"), (True, 5), (0, 1j), (0, 10**400), (None, 1)],
)
def test_what_is_no_range_is_refused(wrong):
    with pytest.raises(ArgumentError, match="reward_range: expected the lowest and the highest reward"):
        adapter(reward_range=wrong)
    learner = foreign.Gambler()
    learner.choose, learner.update, learner.reward_range = (lambda: 0), (lambda index, reward: None), wrong
    with pytest.raises(ArgumentError, match="reward_range: expected the lowest and the highest reward"):
        FairLearn(learner, [0.1, 0.1])


RANKINGS = [([2, 0], [2, 0]), ((1,), 1), (np.array([1, 2]), [1, 2]), (np.int64(1), 1)]


@pytest.mark.parametrize(("ranking", "said"), RANKINGS, ids=str)
def test_a_learner_may_rank_arms(ranking, said):
    assert adapter(choose=lambda gambler: ranking).choose() == said


@pytest.mark.parametrize("wrong", [[], [0.5], "1", None, {1}, {1: 2}, [[1, 2]], True], ids=str)
def test_what_is_neither_an_arm_nor_a_ranking_is_refused(wrong):
    words = "choose: expected a function that returns an arm's index, or a list of them"
    with pytest.raises(ArgumentError, match=words):
        adapter(choose=lambda gambler: wrong).choose()


def test_the_arguments_are_saved():
    given = {"arms": ["a", "b"], "among": True, "own_choices": True, "contextual": True, "reward_range": (0.0, 2.0)}
    given |= {"features": ["age", "bias"]}
    again = from_bytes(to_bytes(adapter(**given)))
    assert {name: again.config()[name] for name in given} == given
    assert again.known_arms == 2


def test_a_learner_with_features_gets_the_columns_in_their_order():
    seen = []
    learner = adapter(contextual=True, features=["1", "0"], choose=lambda gambler, contexts: seen.append(contexts) or 0)
    policy = FairLearn(learner, {"a": 0.0, "b": 0.0})
    for shown in ({"0": 5.0, "1": 7.0}, pd.DataFrame({0: [5.0, 5.0], 1: [7.0, 7.0]}), [[7.0, 5.0]] * 2):
        policy.ask(shown)
    assert [rows.tolist() for rows in seen] == [[[7.0, 5.0]] * 2] * 3
    with pytest.raises(ContextError, match=r"contexts: expected the columns \['1', '0'\]"):
        policy.ask({"0": 5.0, "2": 7.0})


def test_a_learner_has_a_reward_range_of_its_own_under_a_quota():
    policy = FairLearn(adapter(reward_range=(-2, np.int64(5))), [0.1] * 3)
    assert traits_of(policy).reward_range == (-2.0, 5.0)
    for reward in (-2.1, 5.1, math.nan):
        with pytest.raises(RewardError, match=r"expected a number in \[-2, 5\]"):
            policy.tell(policy.ask(), reward)
    policy.tell(policy.ask(), -2.0)
    for one in (from_bytes(to_bytes(policy)), policy.fresh()):
        assert traits_of(one).reward_range == (-2.0, 5.0)
        one.tell(one.ask(), 5.0)
    anything = FairLearn(adapter(reward_range=(-math.inf, math.inf)), [0.1] * 3)
    anything.tell(anything.ask(), 1e50)
    usual = FairLearn(adapter(), [0.1] * 3)
    with pytest.raises(RewardError, match=r"expected a number in \[0, 1\]"):
        usual.tell(usual.ask(), 1.5)


def set_of(learner):
    return {"seen": {1}}


def test_what_cannot_be_saved_is_refused_with_the_way_to_mend_it(tmp_path):
    with pytest.raises(ArgumentError, match=r"Adapter cannot be saved: .*Gambler; give it dump=, load="):
        eh.save(FairLearn(adapter(dump=None, load=None), [0.1, 0.1]), tmp_path / "p")
    with pytest.raises(ArgumentError, match=r"dumped\.seen: set cannot be saved"):
        eh.save(FairLearn(adapter(dump=set_of), [0.1, 0.1]), tmp_path / "p")


@pytest.mark.parametrize("name", ["choose", "update", "dump"])
def test_a_function_that_fails_is_named_and_its_error_is_the_cause(name):
    policy = FairLearn(adapter(**{name: foreign.fail}), [0.0, 0.0])
    with pytest.raises(ModelError, match=rf"^{name}: the call on a Gambler failed with KeyError: 'lost'") as failure:
        to_bytes(policy) if name == "dump" else policy.tell(policy.ask(), 1.0)
    assert isinstance(failure.value.__cause__, KeyError)


def test_a_load_that_fails_is_named(monkeypatch):
    data = to_bytes(FairLearn(adapter(), [0.1] * 3))
    monkeypatch.setitem(functions._known, "tests.learners.foreign:load", foreign.fail)
    with pytest.raises(
        StateFileError, match=r"load: tests\.learners\.foreign:load failed on the contents of .*: 'lost'"
    ):
        from_bytes(data)


class Known(foreign.Gambler):
    """A learner of one's own class, registered and without an adapter."""

    choose, update, snapshot = foreign.gamble, foreign.learn, foreign.dump

    @classmethod
    def restored(cls, snapshot):
        learner = cls()
        vars(learner).update(vars(foreign.load(snapshot)))
        return learner


def test_a_registered_learner_keeps_what_it_has_learned(scratch_registry):
    eh.register("learners/known", kind="part")(Known)
    policy = FairLearn(Known(), SHARES, seed=1)
    talk(policy, 30)
    again = from_bytes(to_bytes(policy))
    assert again.learner.sums == policy.learner.sums != [1.0] * 3
    assert talk(again, 20, 30) == talk(policy, 20, 30)


@pytest.mark.parametrize(("contextual", "choose"), [(None, lambda learner, contexts: 0), (True, lambda learner: 0)])
def test_a_function_that_takes_contexts_or_none_says_what_to_pass(contextual, choose):
    policy = FairLearn(adapter(choose=choose, contextual=contextual), [0.0, 0.0])
    with pytest.raises(ModelError, match=r"TypeError: .*; contextual=True says that it takes contexts"):
        policy.ask() if contextual is None else policy.ask(np.zeros((2, 1)))
    if contextual:
        with pytest.raises(ArgumentError, match=r"^world: expected one that shows contexts, as this policy takes"):
            eh.check_policy(policy)
