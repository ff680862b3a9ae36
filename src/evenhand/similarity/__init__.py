"""Similar individuals treated similarly, when nobody can write the metric down.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018).
"""

from evenhand.similarity.ellipsoid import EllipsoidDistance
from evenhand.similarity.moments import MomentDistance
from evenhand.similarity.program import FairProgram, fair_distribution
from evenhand.similarity.projected_volume import ProjectedVolumeDistance

__all__ = ["EllipsoidDistance", "FairProgram", "MomentDistance", "ProjectedVolumeDistance", "fair_distribution"]
