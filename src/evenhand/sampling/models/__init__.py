"""Models that a sampler trains: logistic regression, scikit-learn's, and networks by skorch."""

from evenhand.sampling.models.classifier import Classifier

__all__ = ["Classifier"]
