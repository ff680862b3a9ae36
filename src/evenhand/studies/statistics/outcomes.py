"""Rewards that never come: whether a log's rewards could have taught its policy anything.

Where only one outcome is ever reported, such as a click, every reward is the same. A learner then believes that all
arms are equally good, and an index of uncertainty sends it to the arm with the fewest rewards, which is the worst.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evenhand.errors import Wording, argument

LEAST = 20
"""How many rewards there must be before anything is said."""
ALIKE = 0.95
"""The share of equal rewards from which they are nearly all equal."""
SILENT = 0.2
"""The share of decisions without a reward from which there are many."""
VALUES = 100
"""How many different rewards are counted: a reward that is nearly always the same is among the first."""


class Outcomes:
    """Counts the rewards of a log by their values."""

    def __init__(self) -> None:
        self._rewards = self._refused = 0
        self._times: dict[float, int] = {}

    def add(self, rewards: Iterable[Any]) -> None:
        """Count the rewards of a decision."""
        for reward in rewards:
            self._rewards += 1
            if reward in self._times or len(self._times) < VALUES:
                self._times[reward] = self._times.get(reward, 0) + 1

    def closed(self, given: dict[str, Any]) -> None:
        """Count a ticket that was closed without a reward; `given` is what the log says of it."""
        self._refused += "refused" in given

    def notes(self, decisions: int, closed: int, open_tickets: int) -> tuple[str, ...]:
        """Return a warning if nearly all rewards are equal and many decisions have none, and one of refused rewards.

        Parameters
        ----------
        decisions : how many there are; `closed` of them were closed without a reward, `open_tickets` are open.
        """
        refused = (
            f"tickets that expired without the study's reward for it: {self._refused:,}; the policy refused it, as "
            "`refused` in their entries of the log says",
        ) * bool(self._refused)
        silent = closed + open_tickets
        if self._rewards < LEAST or silent < SILENT * decisions:
            return refused
        value = max(self._times, key=self._times.__getitem__)
        times = self._times[value]
        # Where both outcomes are told, most are often 0, as of clicks: then silence is not what hides the other one.
        if times < (ALIKE if value else 1) * self._rewards:
            return refused
        which = "every reward is" if times == self._rewards else f"{times:,} of {self._rewards:,} rewards are"
        other = "a reward of 0" if value else "another reward"
        none = Wording(
            f"{which} {value:g}, and {silent:,} of {decisions:,} decisions have none ({closed:,} closed without one, "
            f"{open_tickets:,} open): if silence means {other}, tell it; a new study does so by itself with ",
            *(argument("expire_after"), " and ", argument("expire_reward")),
            "; as it is, the policy may not learn which arm is best",
        )
        return none, *refused

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue exactly here."""
        return {"rewards": self._rewards, "refused": self._refused, "times": [[*each] for each in self._times.items()]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot."""
        self._rewards, self._refused = snapshot["rewards"], snapshot["refused"]
        self._times = dict(snapshot["times"])
