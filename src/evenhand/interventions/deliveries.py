"""The deliveries of a search that tests, and what they show by its evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.interventions.bets import Bets
from evenhand.interventions.cells import Evidence
from evenhand.interventions.counts import Counts
from evenhand.interventions.normal import Normal
from evenhand.interventions.pathways import blocked, through_v_alone
from evenhand.interventions.plug_in import PlugIn
from evenhand.interventions.problem import Problem
from evenhand.interventions.saved_parts import saved_delivery
from evenhand.interventions.shown import Delivery, Shown

__all__ = ["Deliveries"]


class Deliveries:
    """What was told, delivery by delivery.

    Parameters
    ----------
    problem : the problem.
    evidence : "exact" or "normal".
    looks : after how many deliveries the search may look, for normal intervals.
    """

    def __init__(self, problem: Problem, evidence: str, looks: int) -> None:
        self._evidence, self._looks = evidence, looks
        self.through_v = through_v_alone(problem.model, problem.structure)
        self._blocked = blocked(problem.model, problem.structure)
        self._counts = Counts(problem.cells, problem.own)
        self._bets = Bets(self._counts, self.through_v)
        self.kept: list[Any] = []
        """The deliveries as files keep them."""

    def add(self, told: Evidence, *, logged: bool) -> None:
        """Take in a delivery."""
        rows = told.rows.reshape(-1)
        at = np.flatnonzero(rows)
        self._learn(Delivery(at, rows[at], logged))

    def read(self, parts: Any, nothing: Evidence) -> None:
        """Take in a delivery that a file kept."""
        self._learn(saved_delivery(parts, nothing))

    def shown(self) -> Shown:
        """Return what the deliveries show."""
        return self.normal(self._looks) if self._evidence == "normal" else self._bets

    def normal(self, looks: int) -> Normal:
        """Return normal intervals for a number of looks, by the tables of all rows that were drawn by a known law."""
        known = ~self._counts.unknown
        return Normal(PlugIn(self._counts, trusted=known, through_v=self.through_v, blocked=self._blocked), looks)

    def _learn(self, delivery: Delivery) -> None:
        self.kept.append(delivery)
        self._bets.learn(self._counts.dense(delivery.at, delivery.times), delivery.logged)
