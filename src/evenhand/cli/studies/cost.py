"""What the promise of a study has cost, as far as its log shows it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from evenhand import quotas
from evenhand.cli.price import BY_CONTEXTS, known_price
from evenhand.data.tables import OFFERED
from evenhand.display.digits import number
from evenhand.display.html import notes_of
from evenhand.policy.traits import traits_of
from evenhand.promises.versions import among
from evenhand.quotas.quota_policy import BY_RULE, QuotaPolicy
from evenhand.studies.log.codec import revive
from evenhand.studies.statistics.statistics import DECIDERS, Statistics

COSTLESS = "So the promise has cost nothing."


def cost_in_log(policy: Any, statistics: Statistics, before: Statistics | None = None) -> list[str]:
    """Return who decided, counted from the log of a study after others, in sentences; and that the promise has cost
    nothing, if nobody but the learner did."""
    rounds = statistics.rounds - (before.rounds if before else 0)
    if statistics.when is None or not rounds:
        return []
    if not isinstance(policy, QuotaPolicy):
        forced = statistics.forced - (before.forced if before else 0)
        return [f"The promise forced {forced:,} of {rounds:,} decisions."]
    own, *others = (statistics.deciders - (before.deciders if before else 0)).tolist()
    counts = [(who, count) for who, count in zip(DECIDERS[1:], others, strict=True) if count or who == DECIDERS[1]]
    counted = "; ".join(f"{who} decided {count:,}" for who, count in counts)
    said = f"Of {rounds:,} decisions {own:,} were the learner's first wish among the arms on offer; {counted}."
    free = own == rounds and not policy._drawn and not policy._priced
    return [said, *[COSTLESS] * free]


def cost_of_study(policy: Any, statistics: Statistics, frame: pd.DataFrame) -> quotas.Price | str:
    """Return what the promise of a study costs in the long run, among the arms that were not retired, or, if the policy
    sees contexts, a sentence: what its changes have cost by the learner's own scores, where these are expected
    rewards."""
    traits, arm = traits_of(policy), "arms" if "arms" in frame else "arm"
    if traits.contextual is False:
        promised = [one for one in statistics.promise.arms if one not in statistics.retired]
        told = frame.loc[frame["reward"].notna(), [arm, "reward"]].explode([arm, "reward"]).astype({"reward": float})
        told = told[told[arm].isin(promised)]
        named = pd.DataFrame({"arm": told[arm].to_numpy(), "reward": told["reward"]})
        return known_price(among(statistics.promise, promised), named)
    lost = []
    if traits.scored is not None and math.isfinite(traits.scored[0]):
        offers = frame.get(OFFERED, pd.Series([statistics.labels] * len(frame)))
        for given, decided, offer in zip(frame["given"], frame["decision"], offers, strict=True):
            if "contexts" in given:  # else they were erased
                scores = dict(zip(statistics.labels, np.ravel(revive(given["contexts"])).tolist(), strict=False))
                played = decided.get("arms") or [decided["arm"]]
                best = sorted((scores[one] for one in offer), reverse=True)[: len(played)]
                lost.append(sum(best) - sum(scores[one] for one in played))
    if not lost:
        return BY_CONTEXTS
    return (
        f"By the model's own reckoning, its scores in {len(lost):,} decisions, the changes of its first wishes cost "
        f"{number(sum(lost))} in all, {number(sum(lost) / len(lost))} a decision."
    )


def notes_beside(policy: Any, *, cost: bool) -> list[str]:
    """Return the notes of a policy; that a cost holds for its rule alone only beside a cost, or beside prices."""
    said = cost or (isinstance(policy, QuotaPolicy) and policy._priced)
    return [note for note in notes_of(policy) if said or note != BY_RULE]
