"""Contrasts of candidates: sums of expected outcomes that trials speak of."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.kernels.arrays import Floats, Ints


class Delivery(NamedTuple):
    """Trials that were told together: which of the (2, K, S, places, Y states) were seen, how often each, and whether
    they were logged before the first plan."""

    at: Ints
    times: Floats
    logged: bool


class Contrast(NamedTuple):
    """A sum of expected outcomes; of each the candidate, the value of S or None where S comes as it does, and 1 or
    -1."""

    terms: tuple[tuple[int, int | None, int], ...]

    def reversed(self) -> Contrast:
        """Return the contrast with every sign changed."""
        return Contrast(tuple((k, s, -sign) for k, s, sign in self.terms))


def outcome(k: int) -> Contrast:
    """Return E_k[Y]."""
    return Contrast(((k, None, 1),))


def lead(k: int, j: int) -> Contrast:
    """Return E_k[Y] - E_j[Y]."""
    return Contrast(((k, None, 1), (j, None, -1)))


def gap(k: int, a: int, b: int) -> Contrast:
    """Return E_k[Y | do(S = a)] - E_k[Y | do(S = b)]."""
    return Contrast(((k, a, 1), (k, b, -1)))


def least(contrast: Contrast) -> float:
    """Return what a contrast is at least, on the scale where outcomes lie in [0, 1]."""
    return float(sum(min(sign, 0) for *_, sign in contrast.terms))


def most(contrast: Contrast) -> float:
    """Return what a contrast is at most, on the scale where outcomes lie in [0, 1]."""
    return float(sum(max(sign, 0) for *_, sign in contrast.terms))
