"""What users give a policy, read and checked: contexts, the arms on offer, rewards, an encoder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.arguments import as_float
from evenhand.data.contexts import LARGEST, read_shown
from evenhand.data.encoding import Encoder, Transformer, as_encoder
from evenhand.data.rows import in_step
from evenhand.errors import ArgumentError, ContextError, RewardError, Wording, wanted, wanted_one_of
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels, listed
from evenhand.policy.compiled import NO_CONTEXTS

NO_LABELS = {bool, np.bool_}
"""Types of what says which arms are on offer by their order, and names none."""


def checked_contexts(policy: Any, contexts: Any) -> Floats:
    """Return the contexts (n_arms, d) of a round; the first ones make the policy ready for their dimension."""
    if not policy.contextual:
        if contexts is None:
            return NO_CONTEXTS
        mend = Wording("call ask()", shell="leave it out")
        raise ContextError(wanted("contexts", "none: this policy sees no contexts", contexts, mend))
    known, dimension = policy._columns, policy._numbers
    shown, columns = read_shown(contexts, policy.arms or (), columns=known, dimension=dimension, encoder=policy.encoder)
    if policy.dimension is None:
        policy.begin(shown.shape[1])
    if columns is not known:
        policy._name_columns(columns)
    return shown


def positions(policy: Any, available: Any) -> list[int]:
    """Return the positions of the arms that are on offer."""
    if isinstance(available, Mapping):
        mend = "keep only those on offer: [arm for arm, here in available.items() if here]"
        raise ArgumentError(wanted("available", "a list of the arms on offer", available, mend))
    arms = policy.arms or ()
    try:
        labels = listed(available)
        found = _places_of(policy, labels)
    except TypeError:
        labels, found = [available], None
    if found is None:
        known = Labels(arms)
        unknown = next((label for label in labels if label not in known), available)
        raise ArgumentError(wanted_one_of("available", arms, unknown, what="labels of the arms"))
    if not found:
        raise ArgumentError(wanted("available", "at least one arm", available))
    return list(dict.fromkeys(found))


def _places_of(policy: Any, labels: list[Any]) -> list[int] | None:
    """Return the position of each label, None where one is no arm's; the labels of the arms are made once."""
    arms = policy.arms or ()
    if policy._arm_labels is None or policy._arm_labels.names is not arms:
        policy._arm_labels = Labels(arms)
    # True == 1 and hash alike: where arms are numbers, a mask such as [True, False] would be read as the arms 1 and 0.
    if not NO_LABELS.isdisjoint(map(type, labels)):
        return None
    try:
        return list(map(policy._arm_labels.exact.__getitem__, labels))
    except KeyError:  # the same label may be written otherwise
        found: list[int] = policy._arm_labels.places(labels)
        return None if -1 in found else found


def checked_reward(reward: Any, low: float, high: float, name: str = "reward") -> float:
    """Return a reward as a number in [low, high]; refusals speak of `name`.

    Raises
    ------
    RewardError
        If it is no finite number, or outside.
    """
    if type(reward) is not float:
        if isinstance(reward, bool) or getattr(reward, "dtype", None) == np.bool_:
            raise RewardError(wanted(name, "a number", reward, "write 1.0 for yes and 0.0 for no"))
        given, reward = reward, as_float(reward)
        if not math.isfinite(reward) and not isinstance(given, (float, np.floating)):
            one = "one number" if math.isinf(reward) or getattr(given, "shape", None) else "a number"
            raise RewardError(wanted(name, one, given))
    if not (low <= reward <= high and abs(reward) <= LARGEST):
        free = math.isinf(high)
        inside = f"a finite number, of at most {LARGEST:g}" if free else f"a number in [{low:g}, {high:g}]"
        raise RewardError(wanted(name, inside, reward, "" if free else "scale rewards to that range"))
    return reward


def slate_rewards(policy: Any, indexes: tuple[int, ...], reward: Any) -> list[tuple[int, float]]:
    """Return the reward of each arm of a round, or refuse them all."""
    labels = [policy._labels[index] for index in indexes]
    what = "a list in the order of decision.arms, or a dict arm -> reward"
    given = Labels(policy._labels).read(reward, "reward", what, refusal=RewardError)
    unnamed = isinstance(given, dict) and set(given) != set(labels)
    if len(given) != len(labels) or unnamed:
        raise RewardError(wanted("reward", Wording("one for each of the arms ", labels), reward))
    ordered = [given[label] for label in labels] if isinstance(given, dict) else list(given)
    return [(index, checked_reward(one, *policy.reward_range)) for index, one in zip(indexes, ordered, strict=True)]


def told_rewards(policy: Any, decisions: Any, rewards: Any) -> tuple[list[Any], list[Any]]:
    """Return decisions and their rewards, of which none is refused when it is told."""
    told = _one_each("decisions", decisions)
    tickets = dict(map(policy.tickets.find, told))
    if len(tickets) < len(told):
        raise ArgumentError(wanted("decisions", "each ticket once", Wording(f"{len(told)} of {len(tickets)} tickets")))
    _, rewards = in_step(("decisions", decisions), ("rewards", rewards), labels=list(tickets))
    paid = _one_each("rewards", rewards)
    if len(told) != len(paid):
        raise ArgumentError(wanted("rewards", f"{len(told)}, one for each decision", len(paid)))
    for (_, _, _, *slate), reward in zip(tickets.values(), paid, strict=True):
        if slate:
            slate_rewards(policy, slate[0], reward)
        else:
            checked_reward(reward, *policy.reward_range)
    return told, paid


def _one_each(name: str, given: Any) -> list[Any]:
    if isinstance(given, (str, bytes, Mapping)) or not np.iterable(given):
        raise ArgumentError(wanted(name, "a list, one for each decision", given))
    return list(given)


def round_shown(policy: Any, contexts: Any, available: Any) -> Any:
    """Return what a round shows as the policy reads it, equal for two rounds that show the same."""
    arms, shown = policy.arms or (), None
    if contexts is not None:
        known, dimension = policy._columns, policy.dimension
        shown = read_shown(contexts, arms, columns=known, dimension=dimension, encoder=policy.encoder)[0].tolist()
    on_offer = [arm for arm in arms if arm not in policy.retired] if available is None else available
    return shown, set(positions(policy, on_offer))


def checked_encoder(policy: Any, encoder: Any) -> Encoder | Transformer:
    """Return what turns tables and dicts of contexts into numbers for a policy that has seen none yet."""
    name = type(policy).__name__
    if not policy.contextual:
        raise ArgumentError(wanted("encoder", f"none: {name} sees no contexts", encoder))
    if policy._begun:
        raise ArgumentError(wanted("encoder", f"a {name} that has seen no contexts yet", "one that has"))
    read, learned = as_encoder(encoder), policy._columns
    if learned is not None and read.names != learned:
        raise ArgumentError(wanted("encoder", f"an Encoder of the learner's features {learned}", encoder))
    return read
