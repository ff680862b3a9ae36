"""Contextual bandits of Vowpal Wabbit as learners."""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.arrays import Floats
from evenhand.learners.adapter import Adapter
from evenhand.learners.elsewhere import Range, class_in, shared_row
from evenhand.rng import Seed, draw_seed, generator

__all__ = ["from_vowpal_wabbit"]

BANDITS = ("--cb_explore", "--cb_explore_adf")
FORGETS = ("--bag", "--cover", "--rnd", "--sgd")
"""Options of which Vowpal Wabbit saves too little to go on exactly."""
FILES = (
    *("-f", "--final_regressor", "-i", "--initial_regressor", "-d", "--data", "-c", "--cache", "--cache_file", "-k"),
    *("-p", "--predictions", "-r", "--raw_predictions", "--readable_model", "--invert_hash", "--feature_mask"),
    *("--dictionary", "--dictionary_path", "--daemon", "--port", "--port_file", "--pid_file", "--save_per_pass"),
    *("--output_feature_regularizer_binary", "--output_feature_regularizer_text", "--per_feature_regularizer_input"),
    *("--per_feature_regularizer_output", "--extra_metrics", "--args", "--sendto"),
)
"""Options that read or write files, or talk to others."""
LETTERS = tuple(option for option in FILES if not option.startswith("--"))
"""Those whose value may follow at once, as in -fmodel."""
SEED = re.compile(r"--random_seed[= ]\S+")
LEAST = 0.01
"""The smallest probability that a reward is weighted by."""


class VowpalWabbit:
    """A workspace of Vowpal Wabbit with its options, and the random stream that draws from its probabilities."""

    def __init__(self, options: str, random: Any, model: bytes = b"") -> None:
        self.options, self.random = options, random
        self.adf = "--cb_explore_adf" in shlex.split(options)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "model"
            place.write_bytes(model)
            start = f"{options} --quiet"
            if model:  # which has the seed of its next draw instead of the first one
                start = f"{SEED.sub('', start)} --preserve_performance_counters -i {shlex.quote(str(place))}"
            self.workspace = class_in("vowpalwabbit", "Workspace", "from_vowpal_wabbit")(start)

    def model(self) -> bytes:
        """Return what the workspace has learned, as Vowpal Wabbit saves it."""
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "model"
            self.workspace.save(str(place))
            return place.read_bytes()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(self.options, np.random.Generator(_bits(self.random.bit_generator.state)), self.model())


def from_vowpal_wabbit(
    options: str, *, contextual: bool | None = None, reward_range: Range = None, seed: Seed = None
) -> Adapter:
    """Return a learner that draws arms with the probabilities of a contextual bandit of Vowpal Wabbit.

    A reward is learned as a cost of the opposite sign, with the probability that the bandit gives the arm when the
    reward is told, at least 0.01: the learner is not told how a promise has changed it.

    Parameters
    ----------
    options : of Vowpal Wabbit, such as "--cb_explore_adf --epsilon 0.1", which sees a row an arm, or "--cb_explore 3"
        for three arms, which sees one context in a round or none.
    contextual : whether "--cb_explore" sees a context, one that all arms share; by default it sees none.
    reward_range : the lowest and the highest reward; None for [0, 1] under a quota.
    seed : seed of all draws, and Vowpal Wabbit's own where the options name none.

    Raises
    ------
    MissingExtraError
        If vowpalwabbit is not installed.
    ArgumentError
        If the options are not those of such a bandit, read or write files, or belong to a method that cannot be saved
        exactly: `--bag`, `--cover`, `--rnd`, `--sgd`.

    Examples
    --------
    >>> from evenhand.learners import from_vowpal_wabbit
    >>> from evenhand.quotas import DeadlineLearn
    >>> learner = from_vowpal_wabbit("--cb_explore_adf --epsilon 0.2", seed=1)
    >>> policy = DeadlineLearn(learner, {"ads": 0.2, "news": 0.3}, seed=1)
    >>> decision = policy.ask([[0.1, 0.7], [0.4, 0.2]])
    >>> policy.tell(decision, 1.0)
    """
    number = draw_seed(seed)
    words = _checked(options)
    if "--random_seed" not in words:
        options = f"{options} --random_seed {number % 2**31}"
    class_in("vowpalwabbit", "Workspace", "from_vowpal_wabbit")
    try:
        learner = VowpalWabbit(options, generator(number))
    except RuntimeError as error:
        raise ArgumentError(wanted("options", "options that Vowpal Wabbit knows", options, str(error))) from error
    arms = None if learner.adf else int(words[words.index("--cb_explore") + 1])
    sees = learner.adf if contextual is None else contextual
    if learner.adf and not sees:
        raise ArgumentError(wanted("contextual", "True or None for --cb_explore_adf", contextual))
    functions: dict[str, Any] = {"choose": choose, "update": update, "seed": reseed, "dump": dump, "load": load}
    return Adapter(learner, **functions, contextual=sees, reward_range=reward_range, arms=arms)


def choose(learner: VowpalWabbit, *contexts: Any) -> int:
    """Return an arm drawn with the bandit's probabilities."""
    chances = np.cumsum(learner.workspace.predict(_example(learner, contexts)))
    return int(min(np.searchsorted(chances, learner.random.random() * chances[-1], "right"), len(chances) - 1))


def update(learner: VowpalWabbit, *told: Any) -> None:
    """Tell the bandit a reward."""
    *contexts, index, reward = told
    example = _example(learner, contexts)
    chance = max(float(learner.workspace.predict(example)[index]), LEAST)
    if isinstance(example, list):
        example[index] = f"0:{-reward!r}:{chance!r} {example[index]}"
    else:
        example = f"{index + 1}:{-reward!r}:{chance!r} {example}"
    learner.workspace.learn(example)


def reseed(learner: VowpalWabbit, number: int) -> None:
    """Start the draws anew."""
    learner.random = generator(number)


def dump(learner: VowpalWabbit) -> dict[str, Any]:
    """Return everything that the bandit remembers."""
    return {"options": learner.options, "random": learner.random.bit_generator.state, "model": learner.model()}


def load(dumped: dict[str, Any]) -> VowpalWabbit:
    """Return a learner that goes on from there."""
    _checked(dumped["options"])
    return VowpalWabbit(dumped["options"], np.random.Generator(_bits(dumped["random"])), dumped["model"])


def _checked(options: Any) -> list[str]:
    """Return the words of the options."""
    what = 'options with --cb_explore_adf or --cb_explore N, such as "--cb_explore_adf --epsilon 0.1"'
    try:
        words = [part for word in shlex.split(options) for part in word.split("=", 1)]
    except (AttributeError, TypeError, ValueError) as error:
        raise ArgumentError(wanted("options", what, options)) from error
    if sum(word in BANDITS for word in words) != 1:
        raise ArgumentError(wanted("options", what, options))
    if "--cb_explore" in words:
        after = words[words.index("--cb_explore") + 1 :][:1]
        if not after or not after[0].isdecimal() or int(after[0]) < 2:
            raise ArgumentError(wanted("options", "--cb_explore and the number of arms, at least 2", options))
    for word in words:
        if word in FILES or word.startswith(LETTERS):
            raise ArgumentError(wanted("options", "none that read or write files", word, "evenhand saves the model"))
        if word in FORGETS:
            raise ArgumentError(wanted("options", f"none of {', '.join(FORGETS)}", word, "it cannot be saved exactly"))
    return words


def _example(learner: VowpalWabbit, contexts: Any) -> Any:
    """Return a round in Vowpal Wabbit's text: a line an arm, or one line."""
    if learner.adf:
        return [_line(row) for row in contexts[0]]
    return _line(shared_row(contexts[0], "--cb_explore")) if contexts else "| "


def _line(row: Floats) -> str:
    return "| " + " ".join(f"x{j}:{value!r}" for j, value in enumerate(row.tolist()))


def _bits(state: Any) -> Any:
    bits = np.random.PCG64()
    bits.state = state
    return bits
