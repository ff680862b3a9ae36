"""What would a policy have earned? Its value from the log of another, with an interval, before it goes live."""

from evenhand.evaluation.evaluate import evaluate
from evenhand.evaluation.findings import Comparison, Evaluation
from evenhand.evaluation.floors import under_shares

__all__ = ["Comparison", "Evaluation", "evaluate", "under_shares"]


def __dir__() -> list[str]:
    return __all__
