"""What users give a policy in a round, read and checked: the arms on offer, and rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.arguments import as_float, real
from evenhand.data.contexts import LARGEST
from evenhand.data.rows import in_step
from evenhand.errors import NOTHING, ArgumentError, RewardError, Wording, expected, expected_one_of
from evenhand.labels import Labels, listed
from evenhand.policy.open_decision import OpenDecision
from evenhand.protocol import Label

NO_LABELS = {bool, np.bool_}
"""Types of what says which arms are on offer by their order, and names none."""


def positions(available: object, arms: Labels, name: str = "available") -> list[int]:
    """Return the positions of the arms that are on offer; refusals speak of `name`."""
    if isinstance(available, Mapping):
        hint = "keep only those on offer: [arm for arm, here in available.items() if here]"
        raise ArgumentError(expected("available", "a list of the arms on offer", available, hint))
    try:
        labels = listed(available)
        found = _places_of(labels, arms)
    except TypeError:
        labels, found = [available], None
    if found is None:
        unknown = next((label for label in labels if label not in arms), available)
        raise ArgumentError(expected_one_of(name, arms.names, unknown, what="labels of the arms"))
    if not found:
        raise ArgumentError(expected(name, "at least one arm", available))
    return list(dict.fromkeys(found))


def _places_of(labels: list[Any], arms: Labels) -> list[int] | None:
    """Return the position of each label, None where one is no arm's."""
    # True == 1 and hash alike: where arms are numbers, a mask such as [True, False] would be read as the arms 1 and 0.
    if not NO_LABELS.isdisjoint(map(type, labels)):
        return None
    try:
        return list(map(arms.exact.__getitem__, labels))
    except KeyError:  # the same label may be written otherwise
        found = arms.places(labels)
        return None if -1 in found else found


def scores_as_shown(policy: Any, scores: object, contexts: object, available: object) -> tuple[Any, Any]:
    """Return contexts and an offer as they are given, or scores as what a log has of them: contexts (n_arms, 1), 0 for
    arms that are not on offer, and the arms on offer, None where these are all. Of equal scores each after the first is
    the next lower number, so that the first that is given leads.

    Raises
    ------
    ArgumentError
        If the policy takes none, or ranks by them and neither they nor contexts are given; if anything is given beside
        them, or one is no number in the range that is declared.
    """
    ends = policy._traits.scored
    if scores is None and contexts is None and ends is not None:
        hint = "as contexts they are one number for each arm"
        raise ArgumentError(expected("scores", "a dict arm -> score", None, hint))
    if scores is None:
        return contexts, available
    arms = Labels(policy.arms or ())
    if ends is None:
        hint = "DeadlineLearn(Scores(), ...) takes them"
        raise ArgumentError(expected("scores", Wording(NOTHING, ": this policy ranks the arms itself"), scores, hint))
    for name, beside in (("contexts", contexts), ("available", available)):
        if beside is not None:
            what = Wording(NOTHING, " together with scores, whose keys are the arms on offer")
            raise ArgumentError(expected(name, what, beside))
    given = arms.read(scores, "scores", "a dict arm -> score")
    if not isinstance(given, dict):
        raise ArgumentError(expected("scores", "a dict arm -> score", scores))
    offered = positions(list(given), arms, "scores")
    numbers = [real(f"scores[{label!r}]", score, low=ends[0], high=ends[1]) for label, score in given.items()]
    shown, before = [[0.0] for _ in arms.names], math.inf
    for place in sorted(range(len(numbers)), key=numbers.__getitem__, reverse=True):
        before = min(numbers[place], math.nextafter(before, -math.inf))
        shown[offered[place]] = [before]
    return shown, None if sorted(offered) == policy._on_offer() else list(given)


def checked_reward(reward: object, low: float, high: float, name: str = "reward") -> float:
    """Return a reward as a number in [low, high]; refusals speak of `name`.

    Raises
    ------
    RewardError
        If it is no finite number, or outside.
    """
    if type(reward) is not float:
        if isinstance(reward, bool) or getattr(reward, "dtype", None) == np.bool_:
            raise RewardError(expected(name, "a number", reward, "write 1.0 for yes and 0.0 for no"))
        given, reward = reward, as_float(reward)
        if not math.isfinite(reward) and not isinstance(given, (float, np.floating)):
            one = "one number" if math.isinf(reward) or getattr(given, "shape", None) else "a number"
            raise RewardError(expected(name, one, given))
    if not (low <= reward <= high and abs(reward) <= LARGEST):
        free = math.isinf(high)
        inside = f"a finite number, of at most {LARGEST:g}" if free else f"a number in [{low:g}, {high:g}]"
        raise RewardError(expected(name, inside, reward, "" if free else "scale rewards to that range"))
    return float(reward)


def rewards_of(
    remembered: OpenDecision, arms: Sequence[Label], reward: object, pays: tuple[float, float]
) -> list[tuple[int, float]]:
    """Return the index and the reward of each arm that was played, or refuse them all."""
    indexes = remembered.indexes
    if remembered.slate is None:
        return [(indexes[0], checked_reward(reward, *pays))]
    labels = [arms[index] for index in indexes]
    what = "a list in the order of decision.arms, or a dict arm -> reward"
    given = Labels(arms).read(reward, "reward", what, refusal=RewardError)
    unnamed = isinstance(given, dict) and set(given) != set(labels)
    if len(given) != len(labels) or unnamed:
        raise RewardError(expected("reward", Wording("one for each of the arms ", labels), reward))
    ordered = [given[label] for label in labels] if isinstance(given, dict) else list(given)
    return [(index, checked_reward(one, *pays)) for index, one in zip(indexes, ordered, strict=True)]


def paired(
    decisions: object, rewards: object, find: Callable[[Any], tuple[int, OpenDecision]]
) -> tuple[list[Any], list[Any]]:
    """Return decisions and their rewards, in step; `find` returns the number of an open ticket first."""
    told = _one_each("decisions", decisions)
    numbers = list(dict.fromkeys(find(one)[0] for one in told))
    if len(numbers) < len(told):
        got = Wording(f"{len(told)} of {len(numbers)} tickets")
        raise ArgumentError(expected("decisions", "each ticket once", got))
    _, rewards = in_step(("decisions", decisions), ("rewards", rewards), labels=numbers)
    paid = _one_each("rewards", rewards)
    if len(told) != len(paid):
        raise ArgumentError(expected("rewards", f"{len(told)}, one for each decision", len(paid)))
    return told, paid


def _one_each(name: str, given: object) -> list[Any]:
    if isinstance(given, (str, bytes, Mapping)) or not np.iterable(given):
        raise ArgumentError(expected(name, "a list, one for each decision", given))
    return list(given)
