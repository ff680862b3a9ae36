"""What `evenhand simulate --control` shows of a trial: its operating characteristics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.cli.output import print_text, table
from evenhand.errors import ArgumentError, expected
from evenhand.labels import Labels
from evenhand.learners import EpsilonGreedy
from evenhand.quotas import BernoulliArms
from evenhand.trials.operating import YES_OR_NO, effects_on

if TYPE_CHECKING:
    import pandas as pd

OF_ARMS = {
    "patients": "plays",
    "missing": "missing",
    "most_used": "P(most used)",
    "shown": "shown to differ",
    "bias": "bias",
    "coverage": "coverage",
    "width": "width",
}
OF_TRIALS = {"successes": "successes", "successes_equal": "if shared equally", "any_shown": "P(any arm shown)"}
EQUAL = "equal allocation"
NOTE = (
    "An arm is shown to differ from the control by its p-value, adjusted for all arms by Holm's method, at 0.05: how "
    "often is the power where its rate differs, and the type I error where it does not. Bias, coverage and width are "
    "those of the effect and its 95 % interval. After +- stands the standard error of the simulation, and where all "
    "trials agree its 95 % interval; more --replications narrow both."
)

COMPARED = (
    "That takes outcomes of both, and a rule that draws every arm by chances that it states, such as "
    "deadline-learn:lottery=0.5: one that is certain of its arm leaves nothing to compare."
)


def analysis_of(control: str, world: Any) -> Any:
    """Return what computes the effects of each simulated trial against a control, None where none is named.

    Raises
    ------
    ArgumentError
        If it is no arm of the world, or the world is none of arms with outcomes of 0 and 1.
    """
    if not control:
        return None
    if not isinstance(world, BernoulliArms):
        raise ArgumentError(expected("--control", "a world with outcomes of 0 and 1, such as --means", control))
    if (place := Labels(world.arms).place(control)) is None:
        raise ArgumentError(expected("--control", f"one of the arms {list(world.arms)}", control))
    return effects_on(world.arms[place])


def beside_equal(policies: dict[str, Any], control: str) -> dict[str, Any]:
    """Return the policies of a planned trial, and equal allocation, by which they are judged."""
    return {**policies, EQUAL: EpsilonGreedy(1.0)} if control else policies


def show_plan(found: pd.DataFrame, replications: int) -> None:
    """Print a table of the arms under each policy, one of the trials, and what the numbers are."""
    known = found[found["mean"].notna()].to_dict("records")
    shown = {(one["policy"], one["arm"], one["variable"]): _with_error(one) for one in known}
    for policy in dict.fromkeys(found["policy"]):
        arms = dict.fromkeys(arm for of, arm, name in shown if of == policy and name in OF_ARMS)
        rows = [[arm, *(shown.get((policy, arm, name)) for name in OF_ARMS)] for arm in arms]
        table(f"{policy}: each arm (means over {replications} simulated trials)", ["arm", *OF_ARMS.values()], rows)
    trials = {(policy, name): said for (policy, _, name), said in shown.items() if name in OF_TRIALS}
    rows = [[of, *(trials.get((of, name)) for name in OF_TRIALS)] for of in dict.fromkeys(found["policy"])]
    table("Each trial", ["policy", *OF_TRIALS.values()], rows)
    for of in [row[0] for row in rows if (row[0], "any_shown") not in trials]:
        print_text(f"{of}: no arm could be compared with the control. {COMPARED}")
    print_text(NOTE)


def _with_error(one: Mapping[Any, Any]) -> str:
    """Return a mean with its standard error, or with its interval where this is 0 and the trials said yes or no.

    >>> _with_error({"variable": "shown", "mean": 0.0, "standard_error": 0.0, "low": 0.0, "high": 0.0596})
    '0 (0 to 0.06)'
    """
    if one["variable"] in YES_OR_NO and not one["standard_error"]:
        return f"{one['mean']:.4g} ({one['low']:.2g} to {one['high']:.2g})"
    return f"{one['mean']:.4g} +- {one['standard_error']:.2g}"
