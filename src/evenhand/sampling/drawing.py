"""Conversations whose tickets are draws: from which group, and how many rows."""

from __future__ import annotations

from typing import Any

from evenhand.policy.conversation import Conversation
from evenhand.protocol import Label
from evenhand.sampling.problem import Draw


class Drawing(Conversation):
    """A conversation that hands out draws and remembers of each what it says."""

    hands_out = Draw
    feedback = "rows"
    groups: tuple[Label, ...]

    def _draw(self, round: int, index: int, count: int, why: str) -> Draw:
        said = (round, self.groups[index], index, count)
        draw = Draw(self._hand_out((said,)), *said, why)
        draw.token = self._token
        self._last = draw.group, why
        return draw

    def _said(self, ticket: Draw) -> tuple[Any, ...]:
        return ticket[1:5]

    def _kept(self, remembered: Any) -> tuple[int, int, int]:
        ((round, _, index, count),) = remembered
        return round, index, count

    def _logged(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[int, int, int]:
        return decided["round"], decided["index"], decided["count"]

    def _remembered(self, *kept: Any) -> tuple[Any, ...]:
        round, index, count = kept
        return ((round, self.groups[index], index, count),)
