"""Similar individuals treated similarly, when nobody can write the metric down.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018).
"""

from evenhand.similarity.bounds import regret_bound, violations_bound
from evenhand.similarity.ellipsoid import EllipsoidDistance
from evenhand.similarity.known import KnownDistance
from evenhand.similarity.lipschitz_ucb import KnownRewardLipschitz, LipschitzUCB
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.oracles import MahalanobisOracle
from evenhand.similarity.pair_queue import PairQueue
from evenhand.similarity.posterior import PosteriorDistance
from evenhand.similarity.program import FairProgram, fair_distribution
from evenhand.similarity.projected_volume import ProjectedVolumeDistance
from evenhand.similarity.scale import Scale
from evenhand.similarity.worlds import LinearContexts, TableIndividuals

__all__ = [
    "EllipsoidDistance",
    "FairProgram",
    "KnownDistance",
    "KnownRewardLipschitz",
    "LinearContexts",
    "LipschitzUCB",
    "MahalanobisOracle",
    "MomentDistance",
    "PairQueue",
    "PosteriorDistance",
    "ProjectedVolumeDistance",
    "Scale",
    "TableIndividuals",
    "fair_distribution",
    "regret_bound",
    "violations_bound",
]


def __dir__() -> list[str]:
    return __all__
