"""How many examples the property tests try: a few that are always the same, or with `make fuzz` many new ones."""

import os

__all__ = ["TIMES", "many"]

TIMES = int(os.environ.get("EVENHAND_FUZZ", "1"))


def many(examples: int) -> int:
    """Return how many examples to try where `examples` are enough for an ordinary run."""
    return examples * TIMES
