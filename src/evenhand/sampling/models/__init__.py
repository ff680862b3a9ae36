"""Models that a sampler trains: logistic regression, scikit-learn's and torch's."""

from evenhand.sampling.models.models import Model

__all__ = ["Model"]
