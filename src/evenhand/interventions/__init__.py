"""Which candidate has the best outcome among those that are counterfactually fair?"""

from evenhand.interventions.csr import CSR
from evenhand.interventions.model import CausalModel
from evenhand.interventions.one_shot import OneShot
from evenhand.interventions.problem import Problem
from evenhand.interventions.program import Rows
from evenhand.interventions.report import Recommendation
from evenhand.interventions.search import Allocation
from evenhand.interventions.sris import SRIS
from evenhand.interventions.two_stage import TwoStageCSR
from evenhand.interventions.worlds import SimulatedTrial

__all__ = [
    "Allocation",
    "CausalModel",
    "CSR",
    "OneShot",
    "Problem",
    "Recommendation",
    "Rows",
    "SimulatedTrial",
    "SRIS",
    "TwoStageCSR",
]


def __dir__() -> list[str]:
    return __all__
