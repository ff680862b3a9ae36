"""Do the answers fit any metric at all?

If they do, each is wrong with the same probability, whatever was asked. A region of questions in which answers are
wrong more often, or in one direction, is evidence against this: for a metric g the mixture KT (R. Krichevsky and V.
Trofimov, "The performance of universal encoding", 1981) bets on error rates that differ between a region and the rest,
and between the answers that g expects,

    e(g) = mean over regions of exp(sum over cells ln KT(wrong, all) - greatest ln-likelihood of one rate).

Under the true metric it is an e-value: its mean is at most 1, so that it reaches 20 with probability at most 1/20. The
test uses the least over metrics that were drawn, which is measured, not proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp, xlogy

from evenhand.kernels.arrays import Bools, Floats
from evenhand.similarity.line_walk import Answers, wrong_under

ALARM = 20.0
"""From this e-value on no metric is believed to fit."""

QUARTILES = {0.25: "lower quartile", 0.5: "median", 0.75: "upper quartile"}


class Misfit(NamedTuple):
    """How strongly answers speak against every metric, and the region of questions that does most.

    Attributes
    ----------
    e : the e-value; from 20 on no metric is believed to fit.
    feature : the number of the feature that the region is about, -1 for none.
    place : where the two people are, such as "both above the median".
    inside, outside : the share of wrong answers there and elsewhere; without a region, where "unfair" and where
        "acceptable" is right.
    """

    e: float
    feature: int
    place: str
    inside: float
    outside: float

    def words(self, features: Sequence[str] = ()) -> str:
        """Return the sentence that names the region, features by these names."""
        shares = f"{self.inside:.0%} of the answers seem wrong, elsewhere {self.outside:.0%}"
        if self.feature < 0:
            return (
                f"where the difference is unfair {self.inside:.0%} of the answers seem wrong, where it is acceptable "
                f"{self.outside:.0%}"
            )
        name = features[self.feature] if features else f"feature {self.feature}"
        return f"where {self.place.format(name)}, {shares}"


class Region(NamedTuple):
    """A set of questions: the feature and the place of the two people in words, and which answers (n,) it holds."""

    feature: int
    place: str
    members: Bools


def misfit(draws: Floats, answers: Answers, people: tuple[Floats, Floats]) -> Misfit:
    """Return the least e-value over metrics (draws, m), and its region.

    Parameters
    ----------
    draws : the metrics.
    answers : n answers.
    people : the first (n, d) and the second of the two people of each.
    """
    among = regions(*people)
    inside = np.array([region.members for region in among], np.float64).T
    evidence = _evidence(draws, answers, inside)
    values = np.asarray(logsumexp(evidence, axis=1)) - np.log(len(among))
    n = int(values.argmin())
    least, region, metric = float(values[n]), among[int(evidence[n].argmax())], draws[n][None]
    wrong = wrong_under(metric, answers)[0]
    here = region.members if region.feature >= 0 else _expected(metric, answers)[0]
    shares = [float(wrong[which].mean()) if which.any() else 0.0 for which in (here, ~here)]
    return Misfit(float(np.exp(min(least, 700.0))), region.feature, region.place, *shares)


def regions(x: Floats, y: Floats) -> list[Region]:
    """Return all questions, and for each feature those where it lies on both sides of a quartile, above or below it for
    both, or is larger for the first."""
    found = [Region(-1, "anywhere", np.zeros(len(x), bool))]
    for feature, (one, other) in enumerate(zip(x.T, y.T, strict=True)):
        both = np.r_[one, other]
        for share, name in QUARTILES.items():
            limit = np.quantile(both, share)
            above, beyond = one > limit, other > limit
            found += [
                Region(feature, f"the {name} of {{}} lies between the two", above != beyond),
                Region(feature, f"{{}} is above its {name} for both", above & beyond),
                Region(feature, f"{{}} is not above its {name} for either", ~above & ~beyond),
            ]
        found.append(Region(feature, "{} is larger for the first", one > other))
    return found


def _expected(draws: Floats, answers: Answers) -> Bools:
    """Return for each metric which answers should be "unfair"."""
    squares = np.einsum("gm,nm->gn", draws, answers.directions)
    expected: Bools = squares < answers.levels
    return expected


def _evidence(draws: Floats, answers: Answers, inside: Floats) -> Floats:
    """Return ln KT minus the greatest ln-likelihood, for each metric and each region (draws, regions)."""
    wrong, unfair = wrong_under(draws, answers), _expected(draws, answers)
    evidence = np.zeros((len(draws), inside.shape[1]))
    for auditor in np.unique(answers.auditors):
        mine = answers.auditors == auditor
        held = inside[mine]
        bad, total = wrong[:, mine].sum(axis=1), int(mine.sum())
        evidence -= (xlogy(bad, bad / total) + xlogy(total - bad, 1.0 - bad / total))[:, None]
        for side in (unfair[:, mine], ~unfair[:, mine]):
            for cells in (held, 1.0 - held):
                evidence += _kt((wrong[:, mine] & side) @ cells, side @ cells)
    return evidence


def _kt(wrong: Floats, all: Floats) -> Floats:
    """Return the logarithm of the mean of r^wrong (1 - r)^(all - wrong) over r by Beta(1/2, 1/2)."""
    mean: Floats = betaln(wrong + 0.5, all - wrong + 0.5) - betaln(0.5, 0.5)
    return mean
