"""What `evenhand simulate` knows about groups: tables with a group column, their policies, the bias that is learned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.audit.parity import WIDE
from evenhand.audit.similar import SimilarGap, supposed
from evenhand.cli.output import draw, print_text, records
from evenhand.data.csv_files import write_csv
from evenhand.data.groupings import Grouping
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.policy.traits import traits_of
from evenhand.simulation.world import world_traits

if TYPE_CHECKING:
    import pandas as pd

MANY = 4
"""So many arms are not named."""
ENOUGH = 20_000
"""Rounds after which the bias is shown; a conversation from Python takes a second for these."""


def table_bias(world: Any) -> tuple[pd.DataFrame, list[SimilarGap]]:
    """Return the bias that a user's table shows feature by feature, and the gaps between similar people, without groups
    of which it says too little; the world's notes then name these instead of those that have few rows.

    Raises
    ------
    ArgumentError
        If they hold more than half of the rows, as with a column of ages, or the sensitive group is one of them.
    """
    import numpy as np

    from evenhand.groups.bias import INTERCEPT

    found, (low, high) = world.bias(), world.reward_range
    names, codes = world.membership.names, world.codes()
    average, judged = found[found["feature"] == INTERCEPT], np.full(len(names), world.enough)
    if len(names) > 2:
        judged = (average["high"] - average["low"]).to_numpy() <= WIDE * (high - low)
        found = found[np.repeat(judged, len(found) // len(names))]
    groups = Grouping(names, np.bincount(codes), judged)
    groups.refuse("--group", "groups with enough rows to be compared")
    rows = {name: size for name, size, enough in zip(names, groups.sizes, judged, strict=True) if not enough}
    if world.sensitive in rows:
        few = Wording(f"{world.sensitive!r}, which has {rows[world.sensitive]}")
        raise ArgumentError(expected("--sensitive", "a group with enough rows to be compared", few))
    if len(names) > 2:
        said = f"groups of {', '.join(map(repr, world.group))}", "have too few rows to be compared"
        by_rows = Grouping.of_rows(names, groups.sizes).note(*said)
        world.notes = groups.note(*said) + tuple(note for note in world.notes if note not in by_rows)
    return found, world.similar_gaps([code for code in world.compared() if judged[code]])


def learned_bias(policies: dict[str, Any], world: Any, rounds: int, seed: int) -> pd.DataFrame | None:
    """Return what the first of these policies that learns the bias has learned of it in a simulated world, after one
    conversation of at most 20,000 rounds; None where none does."""
    name = next((name for name, policy in policies.items() if traits_of(policy).bias is not None), None)
    if name is None:
        return None
    policy = policies[name].fresh(seed=seed)
    traits, shown = traits_of(policy), world_traits(world)
    last = min(rounds, ENOUGH, *filter(None, (traits.horizon, traits_of(traits.learner).horizon)))
    world.reset(seed)
    for _ in range(last):
        decision = policy.ask(*world.observe())
        policy.tell(decision, *world.respond(decision))
    others = [group for group in traits.membership.names if group != shown.sensitive]
    bias: Any = traits_of(policy).bias
    found: pd.DataFrame = bias(others[0] if len(others) == 1 else None, features=shown.features)
    found.attrs["intervals"] += f"; from one conversation of {last:,} rounds beside the replications"
    found.attrs["policy"] = name
    return found


def say_gaps(world: Any, gaps: list[SimilarGap], reward: str) -> None:
    """Say what a table shows of the gaps between similar people, and what the rules that follow have to do with it."""
    print_text(*(gap.sentences(reward, 0.95) for gap in gaps), supposed())
    arms = [f"one random {arm!r}" for arm in world.arms] if len(world.arms) < MANY else ["one random row of each arm"]
    print_text(f"The rules below choose in each round {'between ' if len(arms) > 1 else ''}{' and '.join(arms)}.\n")


def show_bias(found: pd.DataFrame, of_table: bool) -> None:
    """Print the bias that was learned, or that a table shows."""
    said = f"{100 * found.attrs['level']:g} % intervals ({found.attrs['intervals']})"
    title = f"Bias by feature that {found.attrs.get('policy')} has learned, {said}"
    unknown = found["low"].abs() == float("inf")
    found = found.astype(object).where(found.notna() & ~(found.isin([float("inf"), -float("inf")])), None)
    rows = found.to_dict("records")
    if of_table:
        title = f"Bias in the table per unit of a feature, {said}"
        if found["group"].nunique() == 1:
            title = f"{rows[0]['group']} less {rows[0]['reference']}: {title}"
            rows = found.drop(columns=["group", "reference"]).to_dict("records")
    records(title, rows)
    if unknown.any() and not of_table:
        print_text("No interval (-): these plays, or one arm of a group, do not show how much its arms differ.\n")


def write_bias(found: pd.DataFrame, origin: str, out: Path, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write the bias, with what is to be known of its intervals and what it was made with, into a folder and return
    what was written."""
    from evenhand.plots import plot_bias

    said = {str(name): value for name, value in found.attrs.items()}
    write_csv(found.assign(**said, made_with=origin), out / "bias.csv")
    height = max(3.8, 0.25 * found["feature"].nunique())
    return [out / "bias.csv", *draw(out, "bias", partial(plot_bias, found), height=height, formats=formats)]
