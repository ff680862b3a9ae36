"""Worlds of individuals: drawn from a distribution, shown by an adversary, or taken from a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arguments import array, in_sequence, one_of, real
from evenhand.data.contexts import feature_columns
from evenhand.data.tables import numbers
from evenhand.errors import ArgumentError, TableError, Wording, expected
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Ints
from evenhand.registry import register
from evenhand.similarity import environment as environments
from evenhand.similarity.individuals import Individuals
from evenhand.similarity.oracles import Auditor, MahalanobisOracle
from evenhand.similarity.program import Select
from evenhand.similarity.reading import LARGEST_FEATURE, LARGEST_REWARD, read_theta
from evenhand.similarity.scale import Scale

if TYPE_CHECKING:
    import pandas as pd

Appearance = Literal["orthant", "ball", "clustered", "adversarial"]
KINDS = {
    "orthant": environments.ORTHANT,
    "ball": environments.BALL,
    "clustered": environments.CLUSTERED,
    "adversarial": environments.ADVERSARIAL,
}


@register("similarity/linear-contexts", "world")
class LinearContexts(Individuals):
    """Individuals whose expected reward is linear in their contexts, judged by an oracle.

    Parameters
    ----------
    theta : the weights (d,): an individual with context x has the reward <x, theta> plus normal noise.
    oracle : the auditor, usually a `MahalanobisOracle`.
    individuals : k, the number of individuals in each round.
    contexts : how they are drawn. "orthant": |N(0, I)| scaled to length 1; "ball": uniform in the unit ball;
        "clustered": around one of the `clusters` points; "adversarial": pairs whose distance the policy knows least,
        with the widest interval of 16 random ones.
    noise : standard deviation of rewards.
    select : "one" individual per round or "many", as in the policy.
    precision : epsilon; `violations` counts pairs treated more differently than their distance plus this.
    clusters : centres (c, d) for "clustered"; None takes the unit vectors.
    spread : standard deviation around the centres.
    truth : the oracle to measure against, where `oracle` is another callable.

    Raises
    ------
    ArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.similarity import LipschitzUCB
    >>> world = LinearContexts([0.6, 0.4], MahalanobisOracle([[0.5, 0.2]]), individuals=3)
    >>> history = eh.simulate(LipschitzUCB(2), world, rounds=500, seed=1, jobs=1)
    >>> bool(history.violated_rounds[0, 0, -1] < 50)
    True

    Source: Gillen, Jung, Kearns, Roth (2018), Section 2.
    """

    def __init__(
        self,
        theta: ArrayLike,
        oracle: Auditor,
        *,
        individuals: int = 5,
        contexts: Appearance = "orthant",
        noise: float = 0.1,
        select: Select = "one",
        precision: float = 0.02,
        clusters: ArrayLike | None = None,
        spread: float = 0.05,
        truth: MahalanobisOracle | None = None,
    ) -> None:
        super().__init__(oracle, individuals, select, precision, noise, truth)
        self.contexts = one_of("contexts", contexts, KINDS)
        self.theta = read_theta(theta)
        d = self.theta.size
        if self.truth.A.shape[1] != d:
            what = f"a matrix A with {d} columns, one per weight in theta"
            raise ArgumentError(expected("oracle", what, self.truth.A.shape))
        centres = f"finite centres of shape (c, {d})"
        self.clusters = array(
            "clusters", np.eye(d) if clusters is None else clusters, centres, dimensions=2, largest=LARGEST_FEATURE
        )
        if self.clusters.shape[1] != d:
            raise ArgumentError(expected("clusters", centres, Wording(f"an array of shape {self.clusters.shape}")))
        self.spread = real("spread", spread, low=0, high=LARGEST_FEATURE)
        nothing = np.zeros(len(self.clusters))
        self.population = KINDS[self.contexts], self.theta, self.clusters, nothing, self.spread

    @classmethod
    def _examples(cls) -> Iterator[LinearContexts]:
        oracle = MahalanobisOracle([[0.4, 0.1]], seed=3)
        yield cls([0.5, 0.3], oracle, individuals=3)
        yield cls([0.5, -0.3], oracle, individuals=4, contexts="adversarial", select="many")


@register("similarity/table-individuals", "world")
class TableIndividuals(Individuals):
    """Real individuals: k random rows of one table per round, with replacement.

    Features are on the scale of the table, `Scale.of`; rewards are the table's, plus noise if
    wanted. Regret is measured against the best fair distribution for the rows' own rewards, which no linear rule may
    reach.

    Parameters
    ----------
    frame : the table, one row per individual.
    features : names of the columns that describe an individual.
    reward : name of the column with the individuals' rewards, any finite numbers.
    oracle : the auditor over the scaled features, as in `rows`.
    individuals, noise, select, precision, truth : as in `LinearContexts`.

    Raises
    ------
    TableError
        If a column is missing, occurs twice, or holds anything but finite numbers; row and column are named.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [30, 40, 50], "income": [1.0, 2.0, 4.0], "repaid": [0, 1, 1]})
    >>> oracle = MahalanobisOracle([[0.5, 0.5]])
    >>> world = TableIndividuals(table, features=["age", "income"], reward="repaid", oracle=oracle, individuals=2)
    >>> world.reset(1)
    >>> world.observe()[0].shape
    (2, 2)
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        features: Sequence[str],
        reward: str,
        oracle: Auditor,
        individuals: int = 5,
        noise: float = 0.0,
        select: Select = "one",
        precision: float = 0.02,
        truth: MahalanobisOracle | None = None,
    ) -> None:
        what = "a list of column names, each once"
        names = in_sequence("features", features, what, refusal=TableError)
        if not names or len(set(map(repr, names))) < len(names):
            raise TableError(expected("features", what, features))
        frame = as_pandas(frame)
        super().__init__(oracle, individuals, select, precision, noise, truth)
        raw = feature_columns(frame, names, -LARGEST_FEATURE, LARGEST_FEATURE)
        self.features, self.reward = names, reward
        self.scale = Scale.of(raw)
        self.rows = self.scale(raw)
        self.rewards = numbers(frame, reward, -LARGEST_REWARD, LARGEST_REWARD)
        if self.truth.A.shape[1] != len(self.features):
            what = f"a matrix A with {len(self.features)} columns, one per feature"
            raise ArgumentError(expected("oracle", what, self.truth.A.shape))
        self.population = environments.TABLE, np.zeros(len(self.features)), self.rows, self.rewards, 0.0

    @property
    def shown(self) -> Ints:
        """The numbers (k,) of the table's rows in this round."""
        return self._environment.rows.copy()

    @classmethod
    def _examples(cls) -> Iterator[TableIndividuals]:
        import pandas as pd

        table = pd.DataFrame({"age": [30, 40, 50, 60], "income": [1.0, 2.0, 4.0, 3.0], "repaid": [0, 1, 1, 0]})
        oracle = MahalanobisOracle([[0.5, 0.5]], seed=2)
        yield cls(table, features=["age", "income"], reward="repaid", oracle=oracle, individuals=3)
