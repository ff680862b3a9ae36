"""Similar individuals treated similarly, when nobody can write the metric down.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018).
"""

from evenhand.similarity.program import FairProgram, fair_distribution

__all__ = ["FairProgram", "fair_distribution"]
