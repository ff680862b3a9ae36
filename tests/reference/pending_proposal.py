"""A slow, obvious twin of DeadlineLearn over a learner whose refused proposals are held."""

from tests.reference.quotas import deadline_learn


def held_rounds(learner, shares, slack, payoffs):
    """Yield the arm of each round; `learner` is a policy by itself, asked and told as if it were alone."""
    pulls, wish = [0] * len(shares), None
    for t, rewards in enumerate(payoffs):
        if wish is None:
            wish = learner.ask()
        arm = deadline_learn(shares, slack, pulls, t, wish.index)
        pulls[arm] += 1
        if arm == wish.index:
            learner.tell(wish, float(rewards[arm]))
            wish = None
        yield arm
