"""The slow twin of compiled workers: the same team, asked and told round by round from Python."""

from evenhand.simulation.team import Team


class Stepped:
    """A team of workers that has no kernels."""

    def __init__(self, team: Team) -> None:
        self.team = team

    def fresh(self, *, arms=None, seed=None):
        return Stepped(self.team.fresh(arms=arms, seed=seed))

    def ask(self, *observed):
        return self.team.ask(*observed)

    def tell(self, decision, reward):
        self.team.tell(decision, reward)
