"""Seeds and streams: every random number comes from an explicit seed, drawn once and reported.

A seed becomes a `numpy.random.SeedSequence`; a stream is a child of it, named by a path of integers, and is
handed to compiled code as the four words of xoshiro256+ (`evenhand.kernels.random`). The same path under the same seed
is the same stream on any machine and any number of workers.
"""

from __future__ import annotations

import numpy as np

from evenhand.arguments import is_whole
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.kernels.arrays import Words

Seed = int | np.random.Generator | None


MOST_BITS = 256
"""Of a seed; a stream has as many."""


def draw_seed(seed: Seed) -> int:
    """Return the integer behind a seed: itself, a draw from a Generator, or fresh entropy for None.

    >>> draw_seed(7)
    7

    Raises
    ------
    ArgumentError
        If `seed` is neither an int from 0 to 2^256 - 1, a Generator nor None.
    """
    if seed is None:
        return int(np.random.SeedSequence().entropy) % 2**63  # type: ignore[arg-type]
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if is_whole(seed) and seed >= 0:
        if seed >= 1 << MOST_BITS:
            raise ArgumentError(expected("seed", f"an int below 2^{MOST_BITS}", seed))
        return int(seed)
    what = Wording("an int >= 0, a numpy Generator or None", shell="a whole number >= 0")
    raise ArgumentError(expected("seed", what, seed))


def stream(seed: int, *path: int) -> Words:
    """Return the state (4,) of the xoshiro256+ stream at `path` under `seed`.

    >>> bool((stream(1, 0) == stream(1, 0)).all()), bool((stream(1, 0) == stream(1, 1)).any())
    (True, False)
    """
    return _sequence(seed, path).generate_state(4, np.uint64).astype(np.uint64)


def generator(seed: int, *path: int) -> np.random.Generator:
    """Return the numpy Generator at `path` under `seed`, for code that runs outside kernels."""
    return np.random.default_rng(_sequence(seed, path))


def child(seed: int, *path: int) -> int:
    """Return the integer seed at `path` under `seed`, for an object that wants a seed of its own."""
    return int(_sequence(seed, path).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _sequence(seed: int, path: tuple[int, ...]) -> np.random.SeedSequence:
    """Return numpy's source of the numbers at `path` under `seed`.

    Raises
    ------
    ArgumentError
        If the seed is not a whole number >= 0.
    """
    if not is_whole(seed) or seed < 0:
        raise ArgumentError(expected("seed", "an int >= 0", seed))
    return np.random.SeedSequence(int(seed), spawn_key=path)
