"""How a study stands: one answer for the shell, the service and whoever asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evenhand.errors import ArgumentError
from evenhand.studies.statistics import RECENT, Trail
from evenhand.traits import traits_of

if TYPE_CHECKING:
    from evenhand.studies.study import Study

__all__ = ["outline", "standing"]


def outline(study: Study, trail: Trail) -> dict[str, Any]:
    """Return a study in a line: `name`, `policy`, `created`, `decisions`, `told`, `open`, and whether its `promise` is
    "kept" or "broken", None where that is not said."""
    return {
        "name": study.name,
        "policy": study.policy_name,
        "created": study.created,
        "decisions": trail.rounds,
        "told": trail.told,
        "open": len(trail.open),
        "promise": {True: "kept", False: "broken", None: None}[trail.kept],
    }


def standing(study: Study, trail: Trail | None = None) -> dict[str, Any]:
    """Return a study's outline, arms, promise, reward, learned bias and groups; `trail` is its trail, if that is at
    hand.

    Of each arm: `label`, `group` (where there are groups), `decisions`, `share`, `promised`, `owed` (r_i t - N_i now),
    `reward` (mean), `last_owed_round`; None where there is none. `promise`: `when`, `kept`, `tolerance`,
    `worst_shortfall`, `worst_arm`, `worst_round`, `rounds_in_violation`. `reward`: `mean`, `recent`, `window`. `bias`:
    rows of `group`, `reference`, `feature`, `bias`, `low`, `high`. `groups`: `label`, `share`.
    """
    trail = study.trail() if trail is None else trail
    traits = traits_of(study.bare_policy)
    return {
        "name": study.name,
        "policy": study.policy_name,
        "created": study.created,
        "sequence": trail.sequence,
        "decisions": trail.rounds,
        "told": trail.told,
        "forgotten": trail.forgotten,
        "open": len(trail.open),
        "arms": _arms(trail, traits.membership),
        "promise": _promise(trail),
        "reward": None
        if trail.reward is None
        else {"mean": trail.reward[0], "recent": trail.reward[1], "window": RECENT},
        "bias": _bias(traits.bias),
        "groups": _groups(trail),
    }


def _arms(trail: Trail, membership: Any) -> list[dict[str, Any]]:
    promised = None if trail.promise is None else trail.promise.floats()
    owed = trail.owed
    rows = []
    for i, label in enumerate(trail.labels):
        told = int(trail.rewarded[i])
        row = {
            "label": label,
            **({} if membership is None else {"group": membership.names[membership.codes[i]]}),
            "decisions": int(trail.counts[i]),
            "share": int(trail.counts[i]) / trail.rounds if trail.rounds else None,
            "promised": None if promised is None else float(promised[i]),
            "owed": None if owed is None else float(owed[i]),
            "reward": float(trail.rewards[i]) / told if told else None,
            "last_owed_round": int(trail.last_owed[i]) or None,
        }
        rows.append(row)
    return rows


def _promise(trail: Trail) -> dict[str, Any] | None:
    if trail.promise is None:
        return None
    shortfall, arm, round = trail.worst or (None, None, None)
    return {
        "when": trail.when,
        "kept": trail.kept,
        "tolerance": trail.promise.tolerance,
        "worst_shortfall": shortfall,
        "worst_arm": arm,
        "worst_round": round,
        "rounds_in_violation": trail.violations,
    }


def _bias(bias: Callable[[], Any] | None) -> list[dict[str, Any]] | None:
    """Return the learned bias; None for policies that learn none, or have been told nothing yet."""
    if bias is None:
        return None
    try:
        rows: list[dict[str, Any]] = bias().to_dict("records")
    except ArgumentError:
        return None
    return rows


def _groups(trail: Trail) -> list[dict[str, Any]] | None:
    return [
        {"label": name, "share": float(count) / trail.rounds if trail.rounds else None}
        for name, count in zip(trail.groups, trail.group_counts, strict=True)
    ] or None
