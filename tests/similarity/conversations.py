"""Talks between a policy and a world whose oracle answers, and the metric learners that trust every answer."""

from evenhand.similarity import EllipsoidDistance, MomentDistance, ProjectedVolumeDistance

__all__ = ["METRICS", "talk"]

METRICS = {
    "moments": MomentDistance,
    "ellipsoid": EllipsoidDistance,
    "projected volume": lambda **given: ProjectedVolumeDistance(**{"seed": 3, **given}),
}


def talk(policy, world, rounds, acceptable=0):
    """Ask and tell for so many rounds, and yield people, decision and reward of each; the first so many questions that
    the oracle does not flag are called acceptable."""
    for _ in range(rounds):
        (people,) = world.observe()
        decision = policy.ask(people)
        reward, flags = world.respond(decision)
        asked = policy.questions(decision)[:acceptable] if acceptable else []
        policy.tell(decision, reward, flags, acceptable=[pair for pair in asked if pair not in flags])
        yield people, decision, reward
