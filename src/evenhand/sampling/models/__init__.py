"""Models that a sampler trains: logistic regression, scikit-learn's, and networks by skorch."""

from evenhand.sampling.models.trainer import Model

__all__ = ["Model"]
