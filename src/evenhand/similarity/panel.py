"""Several auditors as one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.arguments import array, one_of
from evenhand.data.rows import in_step
from evenhand.display.html import Card, Shown, Table
from evenhand.errors import ArgumentError, wanted
from evenhand.similarity.auditors import UNKNOWN, Suspect
from evenhand.similarity.metric import EQUAL
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.oracles import Auditor, Pair
from evenhand.similarity.reading import LARGEST_FEATURE, read_pairs

if TYPE_CHECKING:
    pass

__all__ = ["Panel"]


class Panel(Shown):
    """Several auditors as one: a pair is unfair if any, most or all of them say so, or those who are seldom wrong.

    With "any" the panel stands for the smallest of the members' distances, with "all" for the largest. Neither is a
    Mahalanobis distance unless the members agree: give the learner a `tolerance` that covers how far they differ in
    d^2, otherwise nothing is guaranteed. With "most" and members who err independently, the panel errs less than
    each. With "learned" the members judge one distance and each errs at a rate of its own, which the panel learns
    from all answers: each vote weighs log((1 - r) / r). A majority that is wrong together is believed.

    Parameters
    ----------
    auditors : callables of contexts and probabilities; a dict names them, otherwise they are "0", "1", ...
    rule : "any", "most" (more than half), "all" or "learned".

    Attributes
    ----------
    metric : what the panel believes of the distance; only with the rule "learned".

    Raises
    ------
    ArgumentError
        If there is no auditor, or the rule is unknown.

    Examples
    --------
    >>> from evenhand.similarity import MahalanobisOracle
    >>> strict, mild = MahalanobisOracle([[0.1]]), MahalanobisOracle([[0.9]])
    >>> Panel([strict, mild], rule="any")([[0.0], [1.0]], [0.5, 0.0])
    [(0, 1)]
    >>> Panel([strict, mild], rule="all")([[0.0], [1.0]], [0.5, 0.0])
    []
    """

    def __init__(
        self,
        auditors: Sequence[Auditor] | Mapping[str, Auditor],
        *,
        rule: Literal["any", "most", "all", "learned"] = "any",
    ) -> None:
        if isinstance(auditors, Mapping):
            self.names, members = [str(name) for name in auditors], list(auditors.values())
        else:
            members = list(auditors) if isinstance(auditors, Iterable) else []
            self.names = [str(number) for number in range(len(members))]
        if not members or not all(callable(auditor) for auditor in members):
            raise ArgumentError(wanted("auditors", "a list of callables", auditors))
        if not all(name.strip() for name in self.names) or len(set(self.names)) < len(members):
            raise ArgumentError(wanted("auditors", "a name for each, all different", list(auditors)))
        self.auditors, self.rule = members, one_of("rule", rule, ("any", "most", "all", "learned"))
        self.metric = MomentDistance(error_rate=UNKNOWN)

    def __call__(self, contexts: ArrayLike, probabilities: ArrayLike) -> list[Pair]:
        """Return the pairs (i, j), i < j, that the panel calls unfair.

        Raises
        ------
        ArgumentError
            If contexts are not finite numbers of shape (k, d), where the rule is "learned".
        VerdictError
            If an auditor returns anything but pairs of positions.
        """
        round: Any = in_step(("contexts", contexts), ("probabilities", probabilities))
        contexts, probabilities = round
        k, said = int(np.size(probabilities)), list[set[Pair]]()
        for number, auditor in enumerate(self.auditors):
            said.append(set(read_pairs(f"auditors[{number}]", auditor(*round), k)))
        if self.rule == "learned":
            return self._weighed(contexts, np.asarray(probabilities, np.float64), said)
        votes = Counter(pair for pairs in said for pair in pairs)
        enough = {"any": 1, "most": len(said) // 2 + 1, "all": len(said)}[self.rule]
        return sorted(pair for pair, count in votes.items() if count >= enough)

    def _weighed(self, contexts: ArrayLike, p: NDArray[np.float64], said: list[set[Pair]]) -> list[Pair]:
        """Learn all answers, and return the pairs for which the weighed votes say that they are unfair."""
        x = array("contexts", contexts, "finite numbers of shape (k, d)", dimensions=2, largest=LARGEST_FEATURE)
        if len(x) != p.size:
            raise ArgumentError(wanted("contexts", f"{p.size} individuals, one a probability", len(x)))
        judged = [(i, j) for i in range(p.size) for j in range(i + 1, p.size) if abs(p[i] - p[j]) > EQUAL]
        for i, j in judged:
            for name, pairs in zip(self.names, said, strict=True):
                self.metric.verdict(x[i], x[j], min(float(abs(p[i] - p[j])), 1.0), (i, j) in pairs, auditor=name)
        rates = [self.metric.rates.get(name, UNKNOWN) for name in self.names]
        weights = [math.log((1.0 - rate) / rate) for rate in rates]
        votes = {
            pair: sum(w if pair in pairs else -w for w, pairs in zip(weights, said, strict=True)) for pair in judged
        }
        return [pair for pair, vote in votes.items() if vote > 0.0]

    def card(self) -> Card:
        facts = {"rule": self.rule, "auditors": len(self.names)}
        if self.rule != "learned":
            return Card("Panel", facts, [Table(("auditor",), len(self.names), lambda i: [self.names[i]])])
        rates = dict.fromkeys(self.names, UNKNOWN) | self.metric.rates
        columns = "auditor", "share of wrong answers"
        answers = {"answers": len(self.metric.verdicts)}
        return Card("Panel", facts | answers, [Table(columns, len(rates), [*rates.items()].__getitem__, "Auditors")])

    # ------------------------------------------------------------------ what was learned

    @property
    def error_rates(self) -> dict[str, float]:
        """The share of wrong answers of each auditor, as far as is known; a quarter before anything is.

        Raises
        ------
        ArgumentError
            If the rule is not "learned".
        """
        return dict.fromkeys(self.names, UNKNOWN) | self._learned.error_rates

    def suspects(self) -> list[Suspect]:
        """Return each answer with the probability that it is wrong, the likeliest first.

        Raises
        ------
        ArgumentError
            If the rule is not "learned".
        """
        return self._learned.suspects()

    def withdraw(self, verdict: int) -> None:
        """Take an answer back, as if it had never been given.

        Raises
        ------
        ArgumentError
            If the rule is not "learned".
        VerdictError
            If there is no such answer.
        """
        self._learned.withdraw(verdict)

    @property
    def _learned(self) -> MomentDistance:
        if self.rule != "learned":
            mend = "other rules keep no answers; pass rule='learned'"
            raise ArgumentError(wanted("rule", "'learned'", self.rule, mend))
        return self.metric
