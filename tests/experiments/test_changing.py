"""The comparisons of learners for means that change: orders are judged, and small settings leave them open."""

from evenhand.experiments.changing.comparison import TOLERANCE, Settings, compare, order
from evenhand.experiments.framework import Claim, Runner, find
from evenhand.learners import EpsilonGreedy
from evenhand.quotas import ChangingArms

NEEDS = {"rounds": 200, "replications": 50}
CLAIM = Claim("the learner that explores less loses less", "nowhere", TOLERANCE, NEEDS)


def test_the_comparisons_are_there():
    assert {"changing/besson-problem-1", "changing/garivier-moulines"} <= {one.id for one in find("changing")}


def test_an_order_is_judged_by_the_differences_within_worlds():
    world = ChangingArms([[0.9, 0.1], [0.9, 0.2]], [100])
    learners = {"little": EpsilonGreedy(0.02), "much": EpsilonGreedy(0.8)}
    settings = Settings(200, 20, 1)
    report = compare(learners, world, settings, Runner(jobs=1))
    assert list(report.data["table"].columns) == ["learner", "regret", "standard_error"]
    history = report.data["history"]
    assert order(CLAIM, history, ["little"], ["much"], settings).word == "reproduced"
    assert order(CLAIM, history, ["much"], ["little"], settings).word == "not reproduced"
    assert order(CLAIM, history, ["little"], ["little"], settings).word == "inconclusive"
    one = history.isel(replication=[0])
    assert order(CLAIM, one, ["little"], ["much"], Settings(200, 1, 1)).word == "inconclusive"


def test_the_router_keeps_every_clause_and_every_chance():
    (one,) = find("changing/router")
    assert [verdict.word for verdict in one.run(quick=True).verdicts] == ["reproduced", "reproduced"]
