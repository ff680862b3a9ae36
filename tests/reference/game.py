"""A promise as a game: after a play, can every clause still be kept against every future? All of it is walked."""

from __future__ import annotations

import itertools
from functools import cache

from tests.promises.judge import START, after_round, bits


class Game:
    """Clauses, as `tests.promises.judge` counts them, over these arms, and which sets of them may be on offer."""

    def __init__(self, counts, arms, plays, offers):
        self.counts, self.arms, self.plays, self.offers = tuple(counts), tuple(arms), plays, offers
        self.begin = (START,) * len(self.counts)
        self.can_be_kept = cache(self._can_be_kept)

    def slates(self, offered):
        return list(itertools.combinations(offered, min(self.plays, len(offered))))

    def after(self, books, offered, played):
        """Return the books after a round; what is whole is taken off, so that states come again."""
        found = after_round(self.counts, books, bits(offered, self.arms), bits(played, self.arms))
        return tuple(count.cycled(at) for count, at in zip(self.counts, found, strict=True))

    def kept(self, books):
        return all(count.short(at) <= 0 for count, at in zip(self.counts, books, strict=True))

    def _can_be_kept(self, books, depth):
        """Return whether some rule keeps every clause for so many rounds, whatever is on offer in them."""
        if not self.kept(books):
            return False
        if depth == 0:
            return True
        return all(
            any(self.can_be_kept(self.after(books, offered, slate), depth - 1) for slate in self.slates(offered))
            for offered in self.offers
        )

    def allowed(self, books, offered, depth):
        """Return the slates after which every clause can be kept for so many rounds."""
        return [s for s in self.slates(offered) if self.can_be_kept(self.after(books, offered, s), depth)]
