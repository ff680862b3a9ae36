"""The contexts that rounds show a policy, read as numbers under the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.data.contexts import LARGEST, feature_columns, read_shown
from evenhand.data.encoding import Encoder, Transformer, as_encoder
from evenhand.errors import NOTHING, ArgumentError, ContextError, Wording, expected
from evenhand.kernels.arrays import Floats
from evenhand.policy.engine import NO_CONTEXTS
from evenhand.policy.traits import Traits
from evenhand.protocol import Label

if TYPE_CHECKING:
    import pandas as pd


class ContextReader:
    """Reads contexts as a policy has learned to see them.

    Parameters
    ----------
    traits : of the policy: whether rounds show any, scores of the arms in their place, and a row of each arm's own.
    features : the names of their columns, where a learner from elsewhere says them.

    Attributes
    ----------
    columns : the names of the columns in their order, None where none are known.
    dimension : how many numbers describe an arm, None before the first contexts.
    encoder : what turns tables and dicts into numbers, None for numbers alone.
    """

    def __init__(self, traits: Traits, features: Sequence[str] | None = None) -> None:
        self.contextual, self._own_rows = bool(traits.contextual), traits.own_rows
        self.columns: list[str] | None = None if features is None else list(features)
        self.dimension: int | None = (1 if traits.scored else None) if self.contextual else 0
        self.encoder: Encoder | Transformer | None = None
        self._expected = None if features is None else len(features)

    def read(
        self, contexts: object, arms: Sequence[Label], *, earlier: bool = False
    ) -> tuple[Floats, list[str] | None]:
        """Return the contexts (n_arms, d) of a round, and the names of their columns; those of an earlier round may
        have no rows for the last arms, which joined since."""
        if earlier and 1 < (rows := _rows(contexts)) < len(arms):
            arms = arms[:rows]
        if self.contextual:
            known: dict[str, Any] = {"columns": self.columns, "dimension": self.expected, "encoder": self.encoder}
            return read_shown(contexts, arms, **known, own_rows=self._own_rows)
        if contexts is not None:
            hint = Wording("call ask()", shell="leave it out")
            raise ContextError(expected("contexts", "none: this policy sees no contexts", contexts, hint))
        return NO_CONTEXTS, self.columns

    @property
    def expected(self) -> int | None:
        """How many numbers describe an arm, None where nothing says so yet."""
        return self._expected if self.dimension is None else self.dimension

    @property
    def table_columns(self) -> list[str] | None:
        """The names of the columns of a table of numbers; None with an encoder, or where none are known."""
        return self.columns if self.encoder is None else None

    @property
    def feature_names(self) -> list[str] | None:
        """The name (d,) of each number of a context: its column's, or the encoder's; None where none are known."""
        return self.columns if self.encoder is None else self.encoder.names

    @property
    def named(self) -> list[str]:
        """The columns of a table, or attributes of a person, that make up contexts; none where no names are known."""
        return list((self.columns if self.encoder is None else self.encoder.columns) or ())

    def encode_with(self, encoder: object, owner: str) -> None:
        """Have tables and dicts turned into numbers, for a policy that has seen no contexts yet."""
        if not self.contextual:
            raise ArgumentError(expected("encoder", f"none: {owner} sees no contexts", encoder))
        if self.dimension is not None:
            raise ArgumentError(expected("encoder", f"a {owner} that has seen no contexts yet", "one that has"))
        read = as_encoder(encoder)
        if self.columns is not None and read.names != self.columns:
            what = f"an Encoder of the learner's features {self.columns}"
            raise ArgumentError(expected("encoder", what, encoder))
        self.encoder = read

    def read_log(self, frame: pd.DataFrame, names: object) -> tuple[list[str] | None, Floats]:
        """Return the names of a log's columns with contexts, None where an encoder reads them, and what they show
        (n_rows, d); see `log_columns`."""
        columns = self.log_columns(names)
        if self.encoder is not None:
            return None, self.encoder.transform(frame)
        return columns, feature_columns(frame, columns, -LARGEST, LARGEST)

    def log_columns(self, names: object) -> list[str]:
        """Return the names of a log's columns with contexts, in the order that is known; none where rounds show none.

        Raises
        ------
        ContextError
            If they are missing, not wanted, not names, not as many as the contexts have numbers, or others than are
            known.
        """
        dimension, known = (self.expected, self.columns) if self.encoder is None else (None, None)
        if names is None and not self.contextual:
            return []
        if not self.contextual:
            raise ContextError(expected("contexts", Wording(NOTHING, ": this policy sees no contexts"), names))
        what = f"a list of {dimension or 'column'} column names, for the contexts of the arm that was played"
        listed = list(names) if isinstance(names, Sequence) and not isinstance(names, str) else []
        if not listed or not all(isinstance(name, str) for name in listed) or len(listed) != (dimension or len(listed)):
            raise ContextError(expected("contexts", what, names))
        if known is None:
            return listed
        if set(listed) != set(known):
            what = Wording("the columns ", known, ", as before")
            raise ContextError(expected("contexts", what, names, "rename the log's columns"))
        return known


def _rows(contexts: Any) -> int:
    """Return how many rows contexts have, 0 where they are one row alone."""
    shape = np.shape(contexts)
    each = isinstance(contexts, list) and all(isinstance(row, Mapping) for row in contexts)
    return shape[0] if len(shape) == 2 or each else 0
