"""`evenhand audit-pairs`: a person audits how differently individuals are treated, pair by pair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.protocol import Decision

__all__ = ["audit_pairs"]


def audit_pairs(
    table: Annotated[Path, typer.Argument(help="The individuals, a row each: CSV (also .gz) or Parquet.")],
    features: Annotated[str, typer.Option(help="Columns that describe an individual, separated by commas.")],
    reward: Annotated[str, typer.Option(help="The column with what an individual brings.")],
    individuals: Annotated[int, typer.Option(help="How many are shown a round.")] = 4,
    rounds: Annotated[int, typer.Option(help="After how many rounds to stop.")] = 10,
    questions: Annotated[int, typer.Option(help="At most so many pairs are asked about a round.")] = 3,
    errors: Annotated[float, typer.Option(help="The share of your own answers that may be wrong.")] = 0.0,
    state: Annotated[Path | None, typer.Option(help="File in which the policy lives on between sessions.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rows shown and of the draws.")] = 0,
) -> None:
    """Show each round's individuals side by side and ask about the pairs that teach the most.

    The policy learns from "unfair" and "acceptable"; "unsure" and silence teach nothing.
    """
    from evenhand import load, save
    from evenhand.cli.output import say
    from evenhand.errors import ArgumentError, VerdictError, wanted
    from evenhand.rng import child
    from evenhand.similarity import LipschitzUCB, MahalanobisOracle, MomentDistance, TableIndividuals
    from evenhand.tables import read_table

    names = [name.strip() for name in features.split(",") if name.strip()]
    frame = read_table(table)
    blind = MahalanobisOracle([[0.0] * max(1, len(names))])
    world = TableIndividuals(frame, features=names, reward=reward, oracle=blind, individuals=individuals)
    if state is not None and state.exists():
        policy = load(state)
        if not isinstance(policy, LipschitzUCB) or policy.dimension != len(names):
            raise ArgumentError(wanted("--state", f"a LipschitzUCB for {len(names)} features", str(state)))
    else:
        policy = LipschitzUCB(len(names), metric=MomentDistance(error_rate=errors), silence="nothing", seed=seed)
    world.reset(child(seed, policy.round))
    world.watch(policy)
    asked = 0
    for _ in range(rounds):
        (contexts,) = world.observe()
        decision = policy.ask(contexts)
        _show(frame, world.shown, names, decision)
        said: dict[str, list[Any]] = {"u": [], "a": []}
        for i, j in policy.questions(decision)[:questions]:
            answer = _answer(i, j, decision)
            if answer == "q":
                policy.forget(decision)
                return _leave(policy, state, asked)
            if answer in said:
                said[answer].append((i, j))
                asked += 1
        outcome, _ = world.respond(decision)
        try:
            policy.tell(decision, outcome, said["u"], acceptable=said["a"])
        except VerdictError as error:
            say(f"Your answers of this round cannot all hold and were set aside: {error}")
            policy.tell(decision, outcome)
        if state is not None:
            save(policy, state)
    return _leave(policy, state, asked)


def _show(frame: pd.DataFrame, rows: Any, columns: list[str], decision: Decision) -> None:
    from evenhand.cli.output import table

    assert decision.probabilities is not None
    cells: list[list[Any]] = [[name, *(str(frame[name].iloc[int(row)]) for row in rows)] for name in columns]
    cells.append(["probability", *(f"{p:.3f}" for p in decision.probabilities)])
    table(f"round {decision.round}", ["", *map(str, range(len(rows)))], cells)


def _answer(i: int, j: int, decision: Decision) -> str:
    assert decision.probabilities is not None
    gap = abs(decision.probabilities[i] - decision.probabilities[j])
    prompt = f"{i} and {j} differ by {gap:.3f}: [u]nfair, [a]cceptable, unsure [Enter], [q]uit"
    while True:
        try:
            answer = typer.prompt(prompt, default="", show_default=False).strip().lower()
        except typer.Abort as interrupted:
            raise typer.Exit(130) from interrupted
        if answer in ("", "u", "a", "q", "unfair", "acceptable", "unsure", "quit"):
            return answer[:1] if answer != "unsure" else ""
        typer.echo("Please answer u, a, q or nothing.")


def _leave(policy: Any, state: Path | None, asked: int) -> None:
    from evenhand import save
    from evenhand.cli.output import say

    if state is not None:
        save(policy, state)

    kept = "" if state is None else f" The policy is kept in {state}."
    say(f"{asked} verdicts given, {len(policy.metric.verdicts)} in the log.{kept}")
