"""`evenhand recommend`: the best fair candidate, in simulated trials or in real ones, guided file by file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.inputs.causal_data import fitted_model, model_in, show_answer
from evenhand.cli.inputs.inputs import numbers_by_name, read_object
from evenhand.cli.inputs.tables import is_table, read_texts
from evenhand.cli.options import JSON, WRITTEN, Options
from evenhand.cli.recommendation_report import show
from evenhand.cli.refusals import command_line, typed_options
from evenhand.data.csv_files import write_csv
from evenhand.display.progress import ProgressBar
from evenhand.errors import ArgumentError, TableError, Wording, expected, why_unreadable
from evenhand.interventions import CSR, Problem, SimulatedTrial
from evenhand.interventions.search import Search
from evenhand.rng import draw_seed
from evenhand.saving import state

AT_ANY_TIME = {"trial", "log", "tell", "ask", "out", "json", "sep", "decimal", "encoding", "format", "header"}
"""What may be given to a trial that goes on."""


@Options(
    tables="model tell log",
    beside={
        "--cut --smoothing --randomised": "--edges",
        "--delta": "--edges --budget --trial",
        "--seed": "not --trial",
        "--pooled --slack": "--budget --trial",
        "--ask --tell --log": "--trial",
        WRITTEN: "MODEL --candidates --tell --log",
    },
    arguments={"costs": "--candidates", "latent": "--edges", "parents": "--edges"},
)
def recommend(
    context: typer.Context,
    model: Path | None = None,
    *,
    edges: str = "",
    intervene: str = "",
    sensitive: list[str] | None = None,
    outcome: str = "",
    candidates: Path | None = None,
    values: str = "",
    tolerance: float | None = None,
    budget: int | None = None,
    pooled: Annotated[bool | None, typer.Option("--pooled/--paper")] = None,
    delta: float | None = None,
    smoothing: float = 1.0,
    randomised: str = "",
    cut: list[str] | None = None,
    slack: float | None = None,
    seed: int | None = None,
    trial: Path | None = None,
    log: Path | None = None,
    tell: Path | None = None,
    ask: Path | None = None,
    out: Path | None = None,
    json: JSON = False,
) -> None:
    """Find the best candidate among the fair ones. Without --budget it answers at once: exactly from a full model, or
    with --edges from a table of people. With --budget it simulates a trial; with --trial and --ask, --tell or --log it
    guides a real one.

    Parameters
    ----------
    model : The causal model, a BIF file; with --edges a CSV or Parquet file of observations. Not needed once --trial
        exists.
    edges : The graph over the columns of the data, such as "sex -> dose -> cured, sex -> cured"; a <-> b for an
        unobserved cause of both.
    intervene : The node whose table the candidates replace.
    sensitive : A sensitive root node; may be repeated.
    outcome : The outcome to maximise.
    candidates : JSON {"label": table, ...}, the deployed candidate first, null for the model's own table; a table may
        also be a rule such as "low" or {"young": "low", "old": {"low": 0.5, "high": 0.5}}; or {"candidates": {...},
        "values": {...}, "costs": {...}}.
    values : Values of the outcome's states, such as present=0,absent=1.
    tolerance : Largest fair gap, in the outcome's units.
    budget : The number of trials; without it the answer is computed at once from the model or the data.
    pooled : Mixture weights, or the paper's rules; mixture weights by default.
    delta : The share of searches that may ever answer wrongly; by default 0.05.
    smoothing : With --edges: how many observations the prior of one table row weighs.
    randomised : With --edges: the column of --intervene, if it was drawn by lot in the data; rules may then name any
        column that was measured before, such as {"age": {"young": 1, "old": 0}}.
    cut : Group a column of numbers, such as age=25,45, with --edges; may be repeated.
    slack : How far an answer may be below the best fair outcome; by default 0.
    seed : The seed of simulated trials, or of draws with --edges.
    trial : The file that stores a real trial between commands.
    log : Logged trials of the deployed candidate, or of those that a column candidate names, told before the first
        --ask.
    tell : CSV with the results of the open allocation.
    ask : CSV for the next allocation.
    out : Folder for the tables and the pictures, or an HTML file that has all of them on a page.
    """
    at_once = trial is None and budget is None
    if trial is not None and trial.exists():
        running = _begun(trial, [option for own, option in typed_options(context).items() if own not in AT_ANY_TIME])
    else:
        asked = {
            "MODEL": model,
            "--intervene": intervene,
            "--sensitive": sensitive,
            "--outcome": outcome,
            "--candidates": candidates,
            **({} if at_once else {"--budget": budget}),
            "--tolerance": tolerance,
        }
        problem, costs = _problem(asked, values, edges, smoothing, cut or [], log, randomised)
        if at_once:
            if seed is not None and not edges:
                raise ArgumentError(expected("--seed", "--edges or --budget as well", None))
            show_answer(problem, tolerance or 0.0, delta, seed, out, json, cut or [], command_line(context))
            return
        chosen = {"pooled": pooled, "delta": delta, "slack": slack, "costs": costs}
        settings: Any = {"tolerance": tolerance, "budget": budget}
        running = CSR(problem, **settings, **{name: value for name, value in chosen.items() if value is not None})
    if trial is None:
        seed = _simulate(running, seed, quiet=json)
    if log is not None:
        running.learn(read_texts(log))
    if tell is not None:
        if not running.open_tickets and not running.handed_out:
            none = Wording("none is open")
            raise ArgumentError(expected("--tell", "results of an open allocation", none, "use --ask first"))
        seen = read_texts(tell)
        running.tell(_ticket(running, seen), seen)
    if ask is not None and not running.finished:
        allocation = running.allocation(running.open_tickets[0]) if running.open_tickets else running.ask()
        try:
            write_csv(allocation.frame, ask)
        except OSError as error:
            raise ArgumentError(
                expected("--ask", "a file that can be written", str(ask), why_unreadable(error))
            ) from error
    if trial is not None:
        state.save(running, trial)
    _show(running, seed if trial is None else None, ask, out, json, command_line(context))


def _begun(trial: Path, again: list[str]) -> Search:
    """Return the search in a file; it goes on with what it was begun with, so nothing of that may be given again."""
    if again:
        what = "MODEL and its options" if "MODEL" in again else ", ".join(again)
        hint = f"leave {what} out to go on, or name another file"
        raise ArgumentError(expected("--trial", "a file that does not exist yet", str(trial), hint))
    running = state.load(trial)
    if not isinstance(running, Search):
        raise ArgumentError(expected("--trial", "the file of a trial", type(running).__name__))
    return running


def _ticket(running: Search, seen: Any) -> int:
    """Return the number of the allocation whose results a file holds: it stands in the column `ticket`."""
    from evenhand.interventions.trial_tables import TICKET

    structure = running.problem.structure
    if TICKET in seen and TICKET not in (*structure.sensitive, *structure.nodes) and len(seen):
        number = str(seen[TICKET].iloc[0])
        if not number.isdecimal():
            raise TableError(expected(f"--tell, column {TICKET!r}", "the number in the plan", number))
        return int(number)
    if len(seen) and TICKET not in (*seen, *structure.sensitive, *structure.nodes):
        hint = "copy it from the plan, so that no results count twice"
        raise TableError(expected("--tell", f"a column {TICKET!r}", list(seen.columns), hint))
    return int(running.open_tickets[0]) if running.open_tickets else running.handed_out


def _problem(
    asked: dict[str, Any],
    values: str,
    edges: str,
    smoothing: float,
    cuts: Sequence[str],
    log: Path | None,
    randomised: str,
) -> tuple[Problem, Any]:
    """Build the problem that the options describe; return it with the costs in the file of candidates."""
    missing = [option for option, value in asked.items() if value is None or value in ("", [])]
    if missing:
        them = "them" if len(missing) > 1 else "it"
        raise ArgumentError(f"{', '.join(missing)}: missing; add {them}, or --trial FILE to continue a trial")
    if not edges and is_table(str(asked["MODEL"])):
        what = "the graph over the columns of the data, such as 'sex -> dose -> cured'"
        raise ArgumentError(expected("--edges", what, Wording("none")))
    model = (
        fitted_model(asked["MODEL"], edges, smoothing, cuts, str(asked["--outcome"]))
        if edges
        else model_in(asked["MODEL"])
    )
    body = read_object(asked["--candidates"])
    study = body if isinstance(body.get("candidates"), dict) else {"candidates": body}
    unknown = sorted(set(study) - {"candidates", "values", "costs"})
    if unknown:
        hint = "put candidates of that name under 'candidates'"
        raise TableError(expected(str(asked["--candidates"]), "candidates, values and costs", unknown[0], hint))
    if randomised and randomised != asked["--intervene"]:
        raise ArgumentError(expected("--randomised", f"the column of --intervene, {asked['--intervene']}", randomised))
    problem = Problem(
        model,
        intervene=asked["--intervene"],
        sensitive=asked["--sensitive"] if len(asked["--sensitive"]) > 1 else asked["--sensitive"][0],
        outcome=asked["--outcome"],
        candidates=study["candidates"],
        values=numbers_by_name(values, "--values") if values else study.get("values"),
        log=None if log is None or model.complete else read_texts(log),
        randomised=bool(randomised),
    )
    costs = study.get("costs")
    problem.read_costs(costs)
    return problem, costs


def _simulate(running: Search, seed: int | None, *, quiet: bool) -> int:
    """Carry out the trials on the model itself; return the seed used."""
    world, seed = SimulatedTrial(running.problem), draw_seed(seed)
    world.reset(seed)
    with ProgressBar("trials", running.budget, shown=not quiet) as bar:
        while not running.finished:
            allocation = running.ask()
            running.tell(allocation, *world.respond(allocation))
            bar.reach(running.trials)
    return seed


def _show(running: Search, seed: int | None, ask: Path | None, out: Path | None, json: bool, again: str) -> None:
    said: dict[str, Any] = {"phase": running.phase, "trials": running.trials, "cost": running.cost}
    body, sentences, computed = {"finished": running.finished, **said, "open": running.open_tickets}, [], [again]
    if seed is not None:
        best = running.problem.best(float("inf") if running.tolerance is None else running.tolerance)
        body |= {"seed": seed, "exact": best}
        sentences.append(f"The exact answer by the model: {'no rule is fair' if best is None else repr(best)}.")
        computed.insert(0, f"Simulated with seed {seed}.")
    if ask is not None:
        over = "The search is over; no trials are left"
        sentences.append(over if running.finished else f"The next allocation is in {ask}")
    show(running.problem, running.recommend(), body, sentences, running.tolerance, out, json, computed=computed)
