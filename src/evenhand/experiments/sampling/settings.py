"""The settings of the experiments of Shekhar, Fields, Ghavamzadeh and Javidi (2021), Section 5 and Appendix E."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Curves:
    """Figure 1: shares of group u that are tried, rows a training set, training sets a share."""

    shares: int = 41
    rows: int = 1000
    trials: int = 20
    seed: int = 2021


@dataclass(frozen=True)
class Synthetic:
    """Figures 2, 8 and 10."""

    rounds: int = 1000
    trials: int = 100
    checkpoints: int = 50
    seed: int = 2021


@dataclass(frozen=True)
class Tables:
    """Adult (Figure 3) and German (Figure 12), with the columns of Table 1."""

    rounds: int
    trials: int
    checkpoints: tuple[int, ...]
    seed: int = 2021


@dataclass(frozen=True)
class Images:
    """Figures 4-6, 11, 13 and 14."""

    data: str
    rounds: int
    trials: int
    batch: int = 50
    exploration: float = 0.1
    trend: float = 0.1
    validation_rows: int | None = None
    test_rows: int | None = None
    checkpoints: int = 20
    replace: bool = False
    device: str = "auto"
    mixed_precision: bool = False
    seed: int = 2021
