"""From which group should the next training example come, for the smallest risk of the worst-off group?"""

from evenhand.sampling.bounds import mann_kendall, rademacher_deviation, vc_deviation
from evenhand.sampling.certification import Certification
from evenhand.sampling.epsilon_greedy import EpsilonGreedySampler, GreedySampler
from evenhand.sampling.final import Collected
from evenhand.sampling.labelling.collection import collect, group_errors
from evenhand.sampling.labelling.label_queue import LabelQueue, Task
from evenhand.sampling.measures import confidence_sequence, fairness_report
from evenhand.sampling.models.estimators import EstimatorModel
from evenhand.sampling.models.logistic import LogisticModel
from evenhand.sampling.models.torch_model import TorchModel
from evenhand.sampling.optimistic import OptimisticSampler
from evenhand.sampling.pools.pools import ArrayPool, label_pairs
from evenhand.sampling.pools.table_pool import TablePool
from evenhand.sampling.problem import Draw
from evenhand.sampling.reweighting import Reweighted, minimax_reweighting
from evenhand.sampling.sampler import Sampler
from evenhand.sampling.uniform import ProportionalSampler, UniformSampler
from evenhand.sampling.worlds import SyntheticModel1, SyntheticModel2

ON_DEMAND = ("networks",)
"""Modules that import torch: they are imported when something in them is asked for by name."""

__all__ = [
    "ArrayPool",
    "Certification",
    "Collected",
    "Draw",
    "EpsilonGreedySampler",
    "EstimatorModel",
    "GreedySampler",
    "LabelQueue",
    "LogisticModel",
    "OptimisticSampler",
    "ProportionalSampler",
    "Reweighted",
    "Sampler",
    "SyntheticModel1",
    "SyntheticModel2",
    "TablePool",
    "Task",
    "TorchModel",
    "UniformSampler",
    "collect",
    "confidence_sequence",
    "fairness_report",
    "group_errors",
    "label_pairs",
    "mann_kendall",
    "minimax_reweighting",
    "rademacher_deviation",
    "vc_deviation",
]


def __dir__() -> list[str]:
    return __all__
