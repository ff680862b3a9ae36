"""A history: the traces of all replications as one `xarray.Dataset` with named dimensions and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.kernels.arrays import Ints
from evenhand.simulation.counting import Trace
from evenhand.simulation.measures import arm_share, fair_regret, group_names, group_share
from evenhand.simulation.schedule import RoundSchedule, least_loss
from evenhand.simulation.world import world_traits

if TYPE_CHECKING:
    import xarray as xr

Variables = dict[str, tuple[tuple[str, ...], NDArray[Any]]]

UNITS = {
    "pulls": "rounds in which the arm was decided for, so far",
    "offered": "rounds in which the arm was on offer, so far",
    "regret": "expected reward lost against the best arm, so far",
    "r_regret": "expected reward lost against the best policy that keeps the same promise, so far",
    "reward": "reward received, so far",
    "group_share": "pulls of the group's arms over all pulls, so far",
    "forced": "rounds in which an owed play decided, so far",
    "shortfall": "max of r t - N(t) over all arms and sets that are owed a share r, now, in pulls",
    "worst_shortfall": "largest r s - N(s) over all arms and sets that are owed a share r and all s <= t, in pulls",
    "violations": "pairs (promise, round s <= t) with the promise broken: a floor of an arm or a set, a cap, a window",
}
NEVER_NEGATIVE = ("pulls", "offered", "regret", "true_regret", "biased_regret", "group_share", "forced", "violations")
"""Variables that say so by the attribute `valid_min`, unless the world says otherwise what regret is against."""


def variables(
    trace: Trace, world: Any, promise: Any, rounds: Ints, plays: int = 1, *, schedule: RoundSchedule | None = None
) -> Variables:
    """Return the history variables of one replication, each with its dimensions after (policy, replication).

    Where several arms are played in a round, regret is measured against the best of them, and of those on offer where
    the rounds of `schedule` do not offer all.
    """
    found: Variables = {
        "pulls": (("round", "arm"), trace.pulls),
        "reward": (("round",), trace.reward),
        "forced": (("round",), trace.forced),
    }
    for i, name in enumerate(world.scores):
        found[name] = (("round",), trace.totals[:, i])
    nothing = np.full(len(rounds), np.nan)
    found["shortfall"] = (("round",), np.where(np.isfinite(trace.behind), trace.behind, np.nan))
    found["worst_shortfall"] = (("round",), np.where(np.isfinite(trace.worst), trace.worst, np.nan))
    found["violations"] = (("round",), nothing if promise is None else trace.violations)
    traits = world_traits(world)
    groups, gaps, offers = traits.groups, traits.gaps, None if schedule is None else schedule.offers
    if isinstance(groups, Mapping):
        found["group_share"] = (("round", "group"), group_share(trace.pulls, groups))
    if "regret" in found and (plays > 1 or offers is not None):
        least = least_loss(world, rounds, plays, offers)
        if least is not None:
            found["regret"] = (("round",), found["regret"][1] - least)
    if schedule is not None and offers is not None:
        found["offered"] = (("round", "arm"), schedule.offered(rounds))
    if schedule is None and gaps is not None:
        promised = promise is not None and promise.clauses
        fair = fair_regret(trace.pulls, gaps, promise, rounds, plays) if promised else nothing
        found["r_regret"] = (("round",), fair)
    return found


def _labels(labels: Sequence[Any]) -> Any:
    """Return labels of arms or groups as a coordinate; numpy would turn numbers among texts into texts."""
    mixed = any(isinstance(label, str) for label in labels) and not all(isinstance(label, str) for label in labels)
    return np.array(labels, dtype=object) if mixed else list(labels)


def assemble(
    results: dict[tuple[str, int], Variables],
    names: list[str],
    replications: int,
    rounds: Ints,
    world: Any,
    promises: dict[str, Any],
    attributes: dict[str, Any],
) -> xr.Dataset:
    """Return the dataset of all results; replications that an interruption left out are left out for every policy."""
    import xarray as xr

    traits = world_traits(world)
    whole = [r for r in range(replications) if all((name, r) in results for name in names)]
    data: dict[str, Any] = {}
    if whole:
        for variable, (dims, _) in results[names[0], whole[0]].items():
            values = np.stack([np.stack([results[name, r][variable][1] for r in whole]) for name in names])
            about: dict[str, Any] = {"long_name": traits.units.get(variable, UNITS.get(variable, ""))}
            if variable in NEVER_NEGATIVE and not (variable == "regret" and variable in traits.units):
                about["valid_min"] = 0.0
            data[variable] = (("policy", "replication", *dims), values, about)
    coords: dict[str, Any] = {"policy": names, "replication": whole, "round": rounds, "arm": _labels(world.arms)}
    coords |= traits.coordinates
    if "group_share" in data:
        coords |= {"group": _labels(group_names(world.groups)), "arm_share": ("group", arm_share(world.groups))}
    dataset = xr.Dataset(data, coords=coords, attrs=attributes | {"replications": len(whole)})
    if any(promise is not None for promise in promises.values()):
        none = np.full(len(world.arms), np.nan)
        shares = np.stack([none if promises[n] is None else promises[n].floats() for n in names])
        tolerance = [np.nan if promises[n] is None else promises[n].tolerance for n in names]
        dataset = dataset.assign_coords(share=(("policy", "arm"), shares), tolerance=("policy", tolerance))
        if any(promise is not None and promise.caps for promise in promises.values()):
            caps = [none if promises[n] is None or promises[n].caps is None else promises[n].caps for n in names]
            dataset = dataset.assign_coords(cap=(("policy", "arm"), np.array(caps, np.float64)))
    return dataset
