"""Several classifiers of which each row gets one: groups that contradict each other are served better by a mixture."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Floats, Ints
from evenhand.registry import register
from evenhand.sampling.models.logistic import LogisticModel


@register("sampling/mixture", kind="part")
class ModelMixture:
    """Models of which one, each as likely as the others, predicts for a row.

    Which one depends on the row's features alone, as if it had been drawn: whoever asks again gets the same answer, and
    a certificate is about this very classifier. A risk is about the mean of the models' risks. `predict_proba` is the
    mean over all models.

    Attributes
    ----------
    models : the models, fitted with the same labels.
    """

    def __init__(self, models: Sequence[LogisticModel]) -> None:
        self.models = list(models)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return self.models[0].classes_

    def codes(self, X: object) -> Ints:
        """Return the predicted class codes (n,)."""
        said = np.array([model.codes(X) for model in self.models])
        digests = [hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in np.ascontiguousarray(X) + 0.0]
        drawn = np.array([int.from_bytes(digest, "big") % len(said) for digest in digests], np.int64)
        return np.asarray(said[drawn, np.arange(len(drawn))], np.int64)

    def probabilities(self, X: object) -> Floats:
        """Return the probabilities (n, 2) of the classes."""
        return np.mean([model.probabilities(X) for model in self.models], axis=0)

    def predict(self, X: object) -> NDArray[Any]:
        """Return the predicted labels (n,); of a data frame the column names decide.

        Raises
        ------
        ContextError, ModelError
            If the rows are not as those before.
        """
        return self.classes_[self.models[0]._answered(self.codes, X)]

    def predict_proba(self, X: object) -> Floats:
        """Return the probabilities (n, 2) of the sorted labels."""
        return self.models[0]._answered(self.probabilities, X)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs."""
        return {"models": self.models}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the mixture that `snapshot` was taken of."""
        return cls(snapshot["models"])

    def __repr__(self) -> str:
        return f"ModelMixture({len(self.models)} models)"
