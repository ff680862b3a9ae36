"""Choose arms when the observed reward is biased against a group.

Arm i of group g shows the context x and pays beta_i'x + psi_g'x + noise; psi_g is society's bias against the group,
zero for a reference group. The aim is a small regret against the true reward beta_i'x, without being told psi. Groups
are assumed to be truly equal on average: their arms' beta_i have the same mean. Where that fails, what is learned is
the bias plus the difference of the means.

Source: C. Schumann, Z. Lang, N. Mattei, J. P. Dickerson, "Group Fairness in Bandits with Biased Feedback", AAMAS 2022,
the model of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evenhand.errors import NOTHING, ArgumentError, ContextError, UnknownArmError, Wording, expected, expected_one_of
from evenhand.kernels.arrays import Floats
from evenhand.labels import Labels, as_given, combined_label, combined_labels
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.protocol import Decision, Label, arm_labels, as_label

MOST_MEMORY = 2**33
"""How many bytes the regressions of a policy may take."""

Membership = Sequence[Any] | Mapping[Label, Any]
"""The group of each arm: a list, or a dict arm -> group; a group is a label or several attributes, ("F", "under
25")."""


def _attributes(group: object, name: str = "groups") -> Any:
    """Return a group as a label, or as the tuple of its attributes."""
    if isinstance(group, (tuple, list)) and group:
        return tuple(_attributes(one, name) for one in group) if len(group) > 1 else _attributes(group[0], name)
    label = as_label(group)
    if not isinstance(label, (str, int)):
        raise ArgumentError(expected(name, "labels that are str or int, or tuples of such", group))
    return label


def _membership(groups: object) -> Any:
    """Return a membership as the user gave it as a dict or a list; a pandas Series is a dict by its index."""
    return as_given(groups, "groups", "a list with the group of each arm, or a dict arm -> group")


@dataclass(frozen=True)
class Groups:
    """Which arm belongs to which group.

    Attributes
    ----------
    arms : the labels of the arms (n_arms,).
    names : the labels of the groups (n_groups,), in the order in which they first appear.
    codes : the position in `names` of each arm's group (n_arms,).
    """

    arms: tuple[Label, ...]
    names: tuple[Label, ...]
    codes: tuple[int, ...]

    @classmethod
    def read(cls, groups: Any) -> Groups:
        """Read the membership as the user gave it.

        Combinations of attributes whose labels would look the same get labels that tell them apart.

        >>> Groups.read({"a": "F", "b": "M", "c": "F"}).codes
        (0, 1, 0)
        >>> Groups.read({"a": ("F", "M"), "b": "F & M"}).names
        ('["F", "M"]', 'F & M')

        Raises
        ------
        ArgumentError
            If it is not a list or dict of labels for at least two arms.
        """
        groups = _membership(groups)
        if isinstance(groups, Mapping):
            arms, given = arm_labels(list(groups)), list(groups.values())
        else:
            arms, given = arm_labels(len(groups)), list(groups)
        labels = combined_labels([_attributes(group) for group in given], "groups")
        codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        names = arm_labels(list(codes), "groups", least=1)
        return cls(arms, names, tuple(codes[label] for label in labels))

    def code(self, group: object, name: str = "groups") -> int:
        """Return a group's position.

        Raises
        ------
        UnknownArmError
            If there is no such group.
        """
        own = _attributes(group, name)
        for label in (combined_label(own, as_json=True), combined_label(own)):
            position = self._codes.place(label)
            if position is not None:
                return position
        raise UnknownArmError(expected_one_of(name, self.names, group, what="one of the groups"))

    def of_round(self, groups: Any) -> Floats:
        """Return the codes (n_arms,) of a membership that holds for one round; arms that a dict leaves out keep their
        group.

        Raises
        ------
        UnknownArmError
            If an arm or a group is not known.
        ArgumentError
            If a list does not have one group for each arm.
        """
        codes = np.array(self.codes, dtype=np.float64)
        groups = _membership(groups)
        if isinstance(groups, Mapping):
            for arm, group in groups.items():
                position = self.labels.place(arm)
                if position is None:
                    raise UnknownArmError(expected_one_of("groups", self.arms, arm, what="a dict over the arms"))
                codes[position] = self.code(group)
            return codes
        if len(groups) != len(self.arms):
            what = f"{len(self.arms)} groups, one per arm, or a dict arm -> group"
            raise ArgumentError(expected("groups", what, groups))
        return np.array([self.code(group) for group in groups], dtype=np.float64)

    @cached_property
    def _codes(self) -> Labels:
        return Labels(self.names)

    @cached_property
    def labels(self) -> Labels:
        """The labels of the arms, by which all that is given for each arm is read."""
        return Labels(self.arms)

    def sizes(self) -> Floats:
        """Return the number of arms of each group (n_groups,)."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.float64)

    def as_dict(self) -> dict[Label, Label]:
        """Return the membership as a dict arm -> group."""
        return {arm: self.names[code] for arm, code in zip(self.arms, self.codes, strict=True)}


def one_of_two(sizes: Any, sensitive: int | None = None) -> int:
    """Return which of two groups is compared with the other, so that a difference is told in one direction: the
    sensitive one, or the smaller, or the first."""
    return int(np.argmin(sizes)) if sensitive is None else sensitive


class ShownArms(NamedTuple):
    """Contexts with the membership of their round."""

    contexts: Any
    groups: Any


class Grouped(KernelPolicy):
    """What the policies of this package have in common: contexts, arms in groups, rewards on any scale."""

    _traits = replace(KernelPolicy._traits, contextual=True, reward_range=(-math.inf, math.inf), work="squares")
    membership: Groups
    horizon: int | None = None

    @property
    def groups(self) -> dict[Label, Label]:
        """The group of each arm."""
        return self.membership.as_dict()

    def ask(
        self,
        contexts: object = None,
        groups: Membership | None = None,
        *,
        available: object = None,
        scores: object = None,
    ) -> Decision:
        """Take the next decision and hand out its ticket.

        Parameters
        ----------
        contexts : the context of each arm, numbers (n_arms, d).
        groups : the arms' groups in this round, where they differ from the policy's: a list, or a dict of the arms
            that differ.
        available, scores : None; every arm is on offer, and ranked by the policy itself.

        Raises
        ------
        ContextError
            If `contexts` are missing, of another shape, or not finite.
        UnknownArmError
            If an arm or a group is not known.
        ArgumentError
            If the policy's horizon is over; simulations go on, with t instead of the horizon.
        """
        shown = contexts if groups is None else ShownArms(contexts, groups)
        return super().ask(shown, available=available, scores=scores)

    def _round_shown(
        self, contexts: object = None, groups: Membership | None = None, *, available: object = None
    ) -> Any:
        """Return what a round shows as the policy reads it, equal for two rounds that show the same."""
        codes = self.membership.codes if groups is None else self.membership.of_round(groups)
        return list(codes), super()._round_shown(contexts, available=available)

    def _begin(self, dimension: int) -> None:
        """Prepare for contexts (n_arms, dimension).

        Raises
        ------
        ContextError
            If the regressions, which keep d x d numbers an arm and a group, would not fit into memory.
        """
        rows = len(self.membership.arms) + len(self.membership.names)
        if 16 * rows * (dimension + 1) ** 2 > MOST_MEMORY:
            most = math.isqrt(MOST_MEMORY // (16 * rows)) - 1
            what = f"at most {most} features for {len(self.membership.arms)} arms"
            raise ContextError(expected("contexts", what, dimension, "leave some out, or summarize them"))
        super()._begin(dimension)

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        if self.horizon is not None and self.round >= self.horizon:
            hint = Wording("give a longer horizon, or ", NOTHING, " for widths that grow with t")
            what = f"at most horizon={self.horizon} rounds"
            raise ArgumentError(expected("horizon", what, f"round {self.round + 1}", hint))
        return super()._choose(shown)

    def _read_contexts(self, contexts: object = None, *, earlier: bool = False) -> Floats:
        if not isinstance(contexts, ShownArms):
            return super()._read_contexts(contexts, earlier=earlier)
        codes = self.membership.of_round(contexts.groups)
        return np.column_stack([super()._read_contexts(contexts.contexts), codes])

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        if "groups" in shown:
            shown = {"contexts": ShownArms(shown["contexts"], shown["groups"])}
        return super()._ticket_from_log(decided, shown)
