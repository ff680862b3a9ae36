"""`evenhand audit-pairs`: a person audits how differently individuals are treated, pair by pair."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import JSON

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.similarity import LipschitzUCB

__all__ = ["audit_pairs"]

NOTES = "audit-pairs"
"""Where the policy's notes hold the settings that its state was begun with."""

DEFAULTS = {"individuals": 4, "errors": 0.0, "seed": 0}


def audit_pairs(
    table: Annotated[Path, typer.Argument(help="The individuals, one per row: CSV, Parquet, Arrow or JSON lines.")],
    features: Annotated[str, typer.Option(help="Columns that describe an individual, separated by commas.")],
    reward: Annotated[str, typer.Option(help="The column with the reward of each individual.")],
    individuals: Annotated[int | None, typer.Option(help="Individuals in a round; 4, or as in --state.")] = None,
    rounds: Annotated[int, typer.Option(help="How many rounds to show.", min=1)] = 10,
    questions: Annotated[int, typer.Option(help="The most pairs to ask about in a round.", min=1)] = 3,
    errors: Annotated[
        float | None, typer.Option(help="The share of your answers that may be wrong; 0, or as in --state.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="File that keeps the policy; it is saved after each answer.")
    ] = None,
    auditor: Annotated[str | None, typer.Option(help="Your name, where several people audit one --state.")] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Create a study in this store, for people who audit in a browser, and ask nothing."),
    ] = None,
    study: Annotated[str, typer.Option(help="The name of that study.")] = "audit",
    auditors: Annotated[int, typer.Option(help="How many people answer each question of that study.", min=1)] = 1,
    seed: Annotated[int | None, typer.Option(help="Seed of the rows and the draws; 0, or as in --state.")] = None,
    json: JSON = False,
) -> None:
    """Show each round's individuals side by side and ask about the pairs that teach the most.

    The policy learns from "unfair" and "acceptable"; "unsure" and silence teach nothing. An answer can be withdrawn,
    and is then as if it had never been given. An answer that contradicts earlier ones is taken when it is given again:
    the policy then believes that some answers are wrong, and its intervals are measured, not certified. One person at a
    time works on a --state; several audit at once in a study that --store creates.
    """
    from evenhand.arguments import real, whole
    from evenhand.cli.output import line
    from evenhand.cli.reading.inputs import names_of
    from evenhand.cli.reading.tables import read_table
    from evenhand.cli.studies.pair_audit import Audit
    from evenhand.rng import child
    from evenhand.saving.state_file import remember
    from evenhand.similarity import LipschitzUCB, MahalanobisOracle, MomentDistance, TableIndividuals
    from evenhand.similarity.auditors import checked_auditor

    names = names_of(features)
    frame = read_table(table)
    given = {
        "features": names,
        "reward": reward,
        "individuals": None if individuals is None else whole("--individuals", individuals, low=2),
        "errors": None if errors is None else real("--errors", errors, low=0, below=0.5),
        "seed": None if seed is None else whole("--seed", seed, low=0),
    }
    if store is not None:
        _create(store, study, frame, given, auditors, state, json)
        return
    policy = _begun(state, len(names)) if state is not None and state.exists() else None
    settings = _settings(given, policy, frame, state)
    blind = MahalanobisOracle([[0.0] * max(1, len(names))])
    world = TableIndividuals(frame, features=names, reward=reward, oracle=blind, individuals=settings["individuals"])
    if policy is None:
        learner = MomentDistance(error_rate=settings["errors"])
        policy = LipschitzUCB(len(names), metric=learner, silence="nothing", seed=settings["seed"])
        if state is not None:
            remember(policy, state, None)
    policy.on_contradiction = "robust"
    policy.notes[NOTES] = settings
    world.reset(child(settings["seed"], policy.round))
    world.watch(policy)
    Audit(policy, world, frame, state, checked_auditor(auditor)).converse(rounds, questions)
    if json:
        line(
            {
                "rounds": policy.round,
                "verdicts": len(policy.metric.verdicts),
                "state": None if state is None else str(state),
                "caveat": policy.metric.caveat(names),
            }
        )


def _create(
    store: str, study: str, frame: pd.DataFrame, given: dict[str, Any], auditors: int, state: Path | None, json: bool
) -> None:
    """Create a study that people answer at the page /audit of the service."""
    from evenhand.cli.output import line, say
    from evenhand.data.tables import numbers
    from evenhand.errors import ArgumentError, wanted
    from evenhand.similarity import PairQueue
    from evenhand.studies import Store, Study

    if state is not None:
        raise ArgumentError(wanted("--state", "nothing beside --store, which keeps every answer", str(state)))
    names = given["features"]
    settings = {name: DEFAULTS[name] if given[name] is None else given[name] for name in DEFAULTS}
    queue = PairQueue(
        [list(row) for row in zip(*(numbers(frame, name) for name in names), strict=True)],
        numbers(frame, given["reward"]),
        people=frame[names].astype(str).to_dict("records"),
        individuals=int(settings["individuals"]),
        auditors=auditors,
        errors=settings["errors"],
        seed=int(settings["seed"]),
    )
    place = Store.at(store, create=True)
    Study.create(place.url, queue, name=study).close()
    if json:
        line({"name": study, "store": store})
        return
    say(f"Created study {study!r} in {store}. Add a key for each auditor: evenhand keys {store} add --role both")
    say(f"Then serve it, and open the page /audit: evenhand serve --store {store}")


def _begun(state: Path, features: int) -> LipschitzUCB:
    """Return the policy in a file, if audit-pairs can go on with it."""
    from evenhand import load
    from evenhand.errors import ArgumentError, wanted
    from evenhand.similarity import LipschitzUCB

    policy = load(state)
    if not isinstance(policy, LipschitzUCB) or (NOTES not in policy.notes and policy.dimension != features):
        raise ArgumentError(wanted("--state", f"a LipschitzUCB for {features} features", str(state)))
    if policy.silence != "nothing" or policy.select != "one":
        begun = 'a policy that audit-pairs began: one individual is selected, and silence means "nothing"'
        raise ArgumentError(wanted("--state", begun, repr(policy)))
    for number in policy.open_tickets:
        policy.forget(number)
    return policy


def _settings(
    given: dict[str, Any], policy: LipschitzUCB | None, frame: pd.DataFrame, state: Path | None
) -> dict[str, Any]:
    """Return the settings of a session: those of the state where there is one, which others may not contradict."""
    from evenhand.errors import ArgumentError, TableError, wanted

    kept = {} if policy is None else {**policy.notes.get(NOTES, {}), "errors": policy.config()["metric"].error_rate}
    for name, value in given.items():
        if name in kept and value not in (None, kept[name]):
            begun, got = (",".join(one) if isinstance(one, list) else one for one in (kept[name], value))
            mend = "repeat what the state was begun with, or begin another --state"
            raise ArgumentError(wanted(f"--{name}", f"{begun!r} as in {state}", got, mend))
    settings: dict[str, Any] = {
        name: kept.get(name, DEFAULTS.get(name)) if value is None else value for name, value in given.items()
    }
    settings["columns"] = {name: _digest(frame, name) for name in [*given["features"], given["reward"]]}
    for name, digest in kept.get("columns", {}).items():
        if settings["columns"][name] != digest:
            mend = "use the same table, or begin another --state"
            raise TableError(f"column {name!r}: holds other values than when {state} was begun; {mend}")
    return settings


def _digest(frame: pd.DataFrame, name: str) -> str:
    """Return a digest of a column of numbers."""
    from evenhand.data.tables import numbers

    return hashlib.sha256(numbers(frame, name).tobytes()).hexdigest()
