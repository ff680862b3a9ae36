"""What holds of a promise that changes in mid-run, counted version by version; and the game of what can be kept from
here on."""

from __future__ import annotations

from tests.promises.judge import CheckerCounts, bits, choices
from tests.reference.game import Game


class Versions(CheckerCounts):
    """The counts of a promise that changes; `live` are the arms that are not retired."""

    def __init__(self, promise, arms):
        super().__init__(promise.clauses, arms)
        self.live, self.plays, self.offers = list(arms), promise.plays, promise.offers

    def enter(self, offered, played):
        """Count a round; return what is broken by it, None where every clause holds."""
        return super().enter(bits(offered, self.arms), bits(played, self.arms))

    def choices(self):
        """Return what may be on offer."""
        return choices(self.live, self.offers, self.plays)

    def game(self, counts):
        """Return the game of these clauses."""
        return Game(counts, self.arms, self.plays, self.choices())

    def change(self, promise):
        """Begin a new version that carries nothing; return the claims."""
        claims, self.offers = self.claims(self.live), promise.offers
        super().__init__(promise.clauses, self.arms)
        return claims

    def carried(self, claims):
        """Return the counts of a version that begins with these claims; None where there is no floor to carry one."""
        clauses = [count.clause for count in self.counts]
        floors = {frozenset(clause.arms) for clause in clauses if clause.kind == "floor"}
        return None if claims.keys() - floors else CheckerCounts(clauses, self.arms, claims)

    def retire(self, arm):
        self.live.remove(arm)
        if not isinstance(self.offers, str):
            stay = tuple(other for other in self.offers if other != arm)
            self.offers = stay if len(stay) >= self.plays else "any"
        super().retire(arm)

    def add(self, arm, *promised):
        self.live.append(arm)
        super().add(arm, *promised)
