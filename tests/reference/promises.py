"""A slow, obvious twin of the rule of windows: a game of finitely many states, searched for the safe ones."""

import itertools


class Windows:
    """Every arm i at least once in any a_i consecutive rounds; a state is within how many rounds each must come."""

    def __init__(self, windows):
        self.windows = windows
        self.safe = set(itertools.product(*(range(1, a + 1) for a in windows)))
        before = None
        while before != len(self.safe):
            before = len(self.safe)
            self.safe = {left for left in self.safe if self.may_serve(left)}

    def after(self, left, served):
        return tuple(self.windows[i] if i == served else rounds - 1 for i, rounds in enumerate(left))

    def may_serve(self, left):
        """The arms that may be played, -1 for one that has no window."""
        return [served for served in range(-1, len(left)) if self.after(left, served) in self.safe]
