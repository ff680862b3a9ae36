"""What has many arms is made in time proportional to them: never a pass over all arms for each arm."""

import sys

import numpy as np
import pytest

from evenhand.groups import GroupFairTopInterval, TopInterval
from evenhand.labels import Labels
from evenhand.learners import UCB1, Thompson
from evenhand.quotas import BernoulliArms, DeadlineLearn, FairLearn
from evenhand.sampling import OptimisticSampler

compared = [0]


class Name(str):
    """A label that counts how often it is compared with another: a search in a list runs no line of Python."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        compared[0] += 1
        return str.__eq__(self, other)


class Many:
    """So many arms: names, shares, groups of two."""

    def __init__(self, arms):
        self.arms = arms
        self.names = [Name(f"arm {number}") for number in range(arms)]
        self.equal = dict.fromkeys(self.names, 1 / arms)
        self.uneven = (np.arange(1, arms + 1) / (arms * (arms + 1) / 2) * 0.97).tolist()
        self.pairs = {name: f"group {number // 2}" for number, name in enumerate(self.names)}
        self.contexts = np.ones((arms, 1))


def work(made, many):
    """Return how many lines of Python run, and how many labels are compared, while something is made."""
    lines = [0]

    def trace(frame, event, argument):
        lines[0] += event == "line"
        return trace

    compared[0], before = 0, sys.gettrace()
    sys.settrace(trace)
    try:
        made(many)
    finally:
        sys.settrace(before)
    return lines[0] + compared[0]


MADE = {
    "FairLearn": lambda many: FairLearn(Thompson(), many.equal),
    "DeadlineLearn": lambda many: DeadlineLearn(UCB1(), many.uneven),
    "BernoulliArms": lambda many: BernoulliArms(dict.fromkeys(many.names, 0.5)),
    "GroupFairTopInterval": lambda many: GroupFairTopInterval(many.pairs),
    "groups of a round by arm": lambda many: TopInterval(many.pairs, seed=1).ask(many.contexts, many.pairs),
    "groups of a round in a list": lambda many: TopInterval(many.pairs, seed=1).ask(
        many.contexts, list(many.pairs.values())
    ),
    "costs": lambda many: OptimisticSampler(many.names, costs=dict.fromkeys(many.names, 1.0)),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_four_times_as_many_arms_take_four_times_as_much_work(made):
    """Where every arm was looked for among all, it was sixteen times as much."""
    made(Many(10))  # what is done once, such as imports
    few, many = work(made, Many(500)), work(made, Many(2_000))
    assert few > 500
    assert many < 6 * few


def test_a_label_is_found_as_it_is_written_first_and_then_by_its_composed_form():
    plain, marked = "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}"
    for labels in (("tea", plain, marked), ("tea", marked, plain)):
        assert Labels(labels).places(labels) == [0, 1, 2]
    for labels in ((7, marked), (7, plain)):
        assert Labels(labels).places((7, plain, marked, "tea", [7], None)) == [0, 1, 1, -1, -1, -1]
