"""How many examples the property tests and repeated trials try.

A third of them, always the same, whenever the tests run; all of them at night (EVENHAND_FUZZ=1, `make nightly`); with
`make fuzz` many new ones.
"""

import os

__all__ = ["TIMES", "many", "most"]

TIMES = float(os.environ.get("EVENHAND_FUZZ", "0.34"))


def many(examples: int) -> int:
    """Return how many examples to try where all are `examples`."""
    return max(1, int(examples * TIMES))


def most(rate: float, trials: int) -> float:
    """Return how many of so many trials may fail at this rate: the mean and four standard deviations."""
    return rate * trials + 4 * (rate * (1 - rate) * trials) ** 0.5
