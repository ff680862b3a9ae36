"""Why a policy decided as it did: numbers that kernels report, the words for people, and the code for programs."""

from __future__ import annotations

import zlib
from typing import Literal, get_args

from evenhand.errors import ArgumentError, wanted
from evenhand.kernels.compose import kernel

REASONS: dict[int, str] = {}
"""What the reason numbers of `choose` mean; filled by `reason` when a policy's module is imported."""

ReasonCode = Literal["other", "forced", "untried", "explored", "greedy", "optimistic", "sampled", "drawn", "learner"]
CODES: tuple[ReasonCode, ...] = get_args(ReasonCode)
CODE_BITS = 32
"""A reason's number is the position of its code in `CODES`, above this many bits of its words."""


def reason(text: str, code: ReasonCode = "other") -> int:
    """Return the number under which kernels report this reason, the same number for the same words in any process.

    Parameters
    ----------
    text : the reason in words, for whoever reads it.
    code : the kind of the reason, for programs: "forced" by a promise, "untried", "explored" at random, "greedy" (the
        best so far), "optimistic" (the highest bound), "sampled" (the best of a posterior sample), "drawn" from a
        distribution, or the "learner"'s own.

    Raises
    ------
    ArgumentError
        If there is no such code, or the words have the number of others.
    """
    if code not in CODES:
        raise ArgumentError(wanted("code", f"one of {', '.join(CODES)}", code))
    number = CODES.index(code) << CODE_BITS | zlib.crc32(text.encode())
    if REASONS.setdefault(number, text) != text:
        raise ArgumentError(f"reason: {text!r} has the number of {REASONS[number]!r}; word it otherwise")
    return number


FORCED_CODE = CODES.index("forced")
FORCED = reason("owed its share", "forced")


@kernel
def is_forced(why: int) -> bool:
    """Say whether a decision was forced by a promise."""
    return why >> CODE_BITS == FORCED_CODE
