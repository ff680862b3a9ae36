"""Reading what users give to a policy: contexts, rewards, verdicts; what is invalid is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import array, is_whole, real
from evenhand.errors import ContextError, RewardError, VerdictError, Wording, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.labels import in_order
from evenhand.similarity.metric import EQUAL

Pairs = Iterable[tuple[int, int]]

LARGEST_REWARD = 1e9
"""The largest size of a reward: beside larger ones the widths of confidence bounds, at most 1, vanish in rounding."""

LARGEST_FEATURE = 1e70
"""The largest size of a feature, and of an entry of a matrix: fourth powers stay finite."""

MOST_INDIVIDUALS = 10_000
"""The most individuals in a round: a policy keeps tables of all their pairs."""
MOST_FEATURES = 1_000_000
"""Of an individual; how many a metric learner can keep, it says itself."""


class RoundTicket(NamedTuple):
    """An open decision: what was shown, with which probabilities it was decided, who was chosen, which pairs were
    undecided."""

    contexts: Floats
    probabilities: Floats
    chosen: Ints
    undecided: Ints

    @property
    def gaps(self) -> Floats:
        """How differently each pair was treated (k, k)."""
        return np.abs(self.probabilities[:, None] - self.probabilities[None, :])

    def drawn(self, select: str) -> tuple[Any, int]:
        """Return who was drawn, as a decision's arm, and the first of them or -1."""
        drawn: list[int] = np.flatnonzero(self.chosen).tolist()
        first = drawn[0] if drawn else -1
        return first if select == "one" else tuple(drawn), first


def read_theta(theta: object) -> Floats:
    """Return the weights of rewards as a finite vector, refusing anything else."""
    return array("theta", theta, "finite numbers (d,)", dimensions=1, largest=LARGEST_REWARD)


def read_contexts(
    contexts: ArrayLike, dimension: int, individuals: int | None, scale: Callable[[Floats], Floats] | None
) -> Floats:
    """Return contexts (k, d) on the scale that there is, with norms of at most 1."""
    shape = f"numbers of shape (k, {dimension}), one row per individual"
    shown = array("contexts", contexts, shape, dimensions=2, largest=LARGEST_FEATURE, refusal=ContextError)
    if shown.shape[1] != dimension:
        raise ContextError(expected("contexts", shape, Wording(f"an array of shape {shown.shape}")))
    if individuals is not None and len(shown) != individuals:
        raise ContextError(expected("contexts", f"{individuals} individuals", len(shown)))
    if len(shown) > MOST_INDIVIDUALS:
        raise ContextError(expected("contexts", f"at most {MOST_INDIVIDUALS} individuals", len(shown)))
    shown = shown if scale is None else scale(shown)
    lengths = np.sqrt((shown * shown).sum(axis=1))
    if not lengths.max() <= 1.0 + 1e-9:
        what = "norms of at most 1"
        hint: str = Wording(
            "rescale the features with Scale.of(pool): pass it as scale=, or show scale(contexts)",
            shell="begin the study with a scale in the file of --spec, the part similarity/scale with a centre and a "
            "unit for each feature",
        )
        if scale is not None:
            hint = "fit it to a pool with such people: Scale.of(pool)"
            hint = Wording(hint, shell="begin a study whose scale has a larger unit")
            what = f"{what} on the policy's scale"
        worst = int(lengths.argmax())
        raise ContextError(expected("contexts", what, Wording(f"{lengths[worst]:.4g} for individual {worst}"), hint))
    return shown


def read_rewards(reward: Any, ticket: RoundTicket) -> list[float]:
    """Return a number for each individual drawn, none for nobody, where 0 is taken as well."""
    drawn = int(ticket.chosen.sum())
    reward = in_order(reward, [np.flatnonzero(ticket.chosen).tolist()], "reward", refusal=RewardError)
    if reward is None:
        given = []
    elif isinstance(reward, (list, tuple)) or np.ndim(reward) == 1:
        given = list(reward)
    else:
        given = [reward]
    rewards = [real("reward", value, low=-LARGEST_REWARD, high=LARGEST_REWARD, refusal=RewardError) for value in given]
    if drawn == 0 and not any(rewards):
        return []
    if len(rewards) != drawn:
        raise RewardError(expected("reward", f"{drawn} finite numbers, one for each individual drawn", reward))
    return rewards


def read_verdicts(ticket: RoundTicket, violations: Pairs, acceptable: Pairs) -> Ints:
    """Return the verdicts (k, k): 1 unfair, -1 acceptable, 0 silent."""
    k, gaps = len(ticket.contexts), ticket.gaps
    said = np.zeros((k, k), np.int64)
    for name, pairs, value in (("violations", violations, 1), ("acceptable", acceptable, -1)):
        for i, j in read_pairs(name, pairs, k):
            if value > 0 and gaps[i, j] <= EQUAL:
                why = f"both had the same probability, up to {EQUAL:g} for rounding"
                raise VerdictError(expected(name, "pairs that were treated differently", (i, j), why))
            if said[i, j] == -value:
                raise VerdictError(expected(name, "each pair on one side", (i, j), "it is called both"))
            said[i, j] = value
    return said


def read_pairs(name: str, pairs: Any, k: int) -> list[tuple[int, int]]:
    """Return pairs of positions (i, j), i < j < k, refusing what names no two different positions."""
    if not _listed(pairs):
        raise VerdictError(expected(name, "a list of pairs (i, j) of positions", pairs, "pass [] for no pair"))
    read = []
    for pair in pairs:
        places = list(pair) if _listed(pair) else []
        if len(places) != 2:
            raise VerdictError(expected(name, "pairs (i, j) of positions", pair))
        i, j = sorted(int(place) if is_whole(place) else -1 for place in places)
        if not 0 <= i < j < k:
            raise VerdictError(expected(name, f"pairs of two different positions below {k}", pair))
        read.append((i, j))
    return read


def _listed(value: object) -> bool:
    """Return whether a value holds others, one after another; a text and a dict do not."""
    return np.iterable(value) and not isinstance(value, (str, bytes, dict))
