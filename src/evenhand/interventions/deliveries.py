"""The deliveries of a search that tests, and the bets on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.interventions.bets import Bets
from evenhand.interventions.cells import Evidence
from evenhand.interventions.counts import Counts
from evenhand.interventions.pathways import through_v_alone
from evenhand.interventions.problem import Problem
from evenhand.interventions.shown import Delivery


class Deliveries:
    """What was told, delivery by delivery.

    Parameters
    ----------
    problem : the problem.
    """

    def __init__(self, problem: Problem) -> None:
        self.through_v = through_v_alone(problem.model, problem.structure)
        self._counts = Counts(problem.cells, problem.own)
        self.bets = Bets(self._counts, self.through_v)
        self.kept: list[Any] = []
        """The deliveries as files keep them."""

    def add(self, told: Evidence, *, logged: bool) -> None:
        """Take in a delivery."""
        rows = told.rows.reshape(-1)
        at = np.flatnonzero(rows)
        self.learn(Delivery(at, rows[at], logged))

    def learn(self, delivery: Delivery) -> None:
        """Take in a delivery as files keep it."""
        self.kept.append(delivery)
        self.bets.learn(self._counts.dense(delivery.at, delivery.times), delivery.logged)
