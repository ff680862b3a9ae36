"""`evenhand recommend`: the best fair candidate, in simulated trials or in real ones, guided file by file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import JSON
from evenhand.errors import ArgumentError, TableError, wanted

if TYPE_CHECKING:
    from evenhand.interventions import Problem
    from evenhand.interventions.search import Search

__all__ = ["compact", "in_words", "recommend"]

SEARCHES = ("csr", "two-stage-csr", "sris", "one-shot")


def recommend(
    model: Annotated[
        Path | None, typer.Argument(help="The causal model, a BIF file; not needed once --trial exists.")
    ] = None,
    intervene: Annotated[str, typer.Option(help="The node whose table the candidates replace.")] = "",
    sensitive: Annotated[list[str] | None, typer.Option(help="A sensitive root node; may be repeated.")] = None,
    outcome: Annotated[str, typer.Option(help="The outcome to maximise.")] = "",
    candidates: Annotated[
        Path | None,
        typer.Option(
            help='JSON {"label": table, ...}, the deployed candidate first, null for the model\'s own table; '
            'or {"candidates": {...}, "values": {...}, "costs": {...}}.'
        ),
    ] = None,
    values: Annotated[str, typer.Option(help="Values of the outcome's states, such as present=0,absent=1.")] = "",
    tolerance: Annotated[float | None, typer.Option(help="Largest fair gap, in the outcome's units.")] = None,
    budget: Annotated[int | None, typer.Option(help="The number of trials.")] = None,
    search: Annotated[str, typer.Option(help=f"One of {', '.join(SEARCHES)}.")] = "csr",
    pooled: Annotated[
        bool | None,
        typer.Option("--pooled/--paper", help="Mixture weights, or the paper's rules; csr is pooled by default."),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="The probability with which an answer of csr may be wrong; by default 0.05.")
    ] = None,
    evidence: Annotated[str, typer.Option(help="The intervals behind an answer of csr: exact or normal.")] = "",
    seed: Annotated[int | None, typer.Option(help="The seed of the simulated trials.")] = None,
    trial: Annotated[Path | None, typer.Option(help="The file that keeps a real trial between commands.")] = None,
    log: Annotated[
        Path | None, typer.Option(help="Logged trials of the deployed candidate, told before the first --ask.")
    ] = None,
    tell: Annotated[Path | None, typer.Option(help="CSV with the results of the open allocation.")] = None,
    ask: Annotated[Path | None, typer.Option(help="CSV for the next allocation.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the table and the picture.")] = None,
    json: JSON = False,
) -> None:
    """Find the best candidate among the fair ones. With --ask, --tell or --log it guides a real trial; otherwise it
    simulates one."""
    from evenhand import state
    from evenhand.cli.inputs import read_texts

    real = ask is not None or tell is not None or log is not None
    if real and trial is None:
        raise ArgumentError(
            wanted("--trial", "a file that keeps the trial between commands", None, "add --trial study.evenhand")
        )
    if trial is not None and trial.exists():
        if model is not None:
            mend = "leave MODEL and its options out to go on, or name another file"
            raise ArgumentError(wanted("--trial", "a file that is not there yet", str(trial), mend))
        running = state.load(trial)
        if not hasattr(running, "recommend"):
            raise ArgumentError(wanted("--trial", "a file that keeps a trial", type(running).__name__))
    else:
        asked = {
            "MODEL": model,
            "--intervene": intervene,
            "--sensitive": sensitive,
            "--outcome": outcome,
            "--candidates": candidates,
        }
        wished = {"pooled": pooled, "delta": delta, "evidence": evidence or None}
        running = _search(asked, values, search, tolerance, budget, wished)
    if not real and trial is None:
        seed = _simulate(running, seed)
    if log is not None:
        running.tell(None, read_texts(log))
    if tell is not None:
        if not running.open_tickets:
            raise ArgumentError(wanted("--tell", "results of an open allocation", "none is open", "use --ask first"))
        running.tell(running.open_tickets[0], read_texts(tell))
    if ask is not None and not running.finished:
        allocation = running.allocation(running.open_tickets[0]) if running.open_tickets else running.ask()
        try:
            allocation.frame.to_csv(ask, index=False)
        except OSError as error:
            raise ArgumentError(wanted("--ask", "a file that can be written", str(ask), str(error))) from error
    if trial is not None:
        state.save(running, trial)
    _show(running, seed if not real and trial is None else None, ask, out, json)


def _search(
    asked: dict[str, Any],
    values: str,
    name: str,
    tolerance: float | None,
    budget: int | None,
    wished: dict[str, Any],
) -> Search:
    """Build the search that the options describe."""
    from evenhand import registry
    from evenhand.cli.inputs import read_object
    from evenhand.interventions import CausalModel, Problem

    missing = [option for option, value in (*asked.items(), ("--budget", budget)) if not value]
    if name != "sris" and tolerance is None:
        missing.append("--tolerance")
    if missing:
        raise ArgumentError(f"{', '.join(missing)}: missing; a new search needs them")
    if name not in SEARCHES:
        raise ArgumentError(wanted("--search", f"one of {', '.join(SEARCHES)}", name))
    model = CausalModel.from_bif(asked["MODEL"])
    body = read_object(asked["--candidates"])
    study = body if isinstance(body.get("candidates"), dict) else {"candidates": body}
    unknown = sorted(set(study) - {"candidates", "values", "costs"})
    if unknown:
        mend = "put candidates of that name under 'candidates'"
        raise TableError(wanted(str(asked["--candidates"]), "candidates, values and costs", unknown[0], mend))
    own = model.tables.get(asked["--intervene"])
    problem = Problem(
        model,
        intervene=asked["--intervene"],
        sensitive=asked["--sensitive"] if len(asked["--sensitive"]) > 1 else asked["--sensitive"][0],
        outcome=asked["--outcome"],
        candidates={label: own if table is None else table for label, table in study["candidates"].items()},
        values=_values(values) if values else study.get("values"),
    )
    settings: dict[str, Any] = {"budget": budget, "costs": study.get("costs")}
    settings |= {option: value for option, value in wished.items() if value is not None}
    for option in ("delta", "evidence"):
        if option in settings and name != "csr":
            raise ArgumentError(wanted(f"--{option}", "with --search csr alone, which tests", name))
    if name != "sris":
        settings["tolerance"] = tolerance
    return registry.get(f"interventions/{name}").cls(problem, **settings)


def _simulate(running: Search, seed: int | None) -> int:
    """Carry out the trials on the model itself; return the seed used."""
    from evenhand.interventions import SimulatedTrial
    from evenhand.rng import draw_seed

    world, seed = SimulatedTrial(running.problem), draw_seed(seed)
    world.reset(seed)
    while not running.finished:
        allocation = running.ask()
        running.tell(allocation, *world.respond(allocation))
    return seed


def _show(running: Search, seed: int | None, ask: Path | None, out: Path | None, json: bool) -> None:
    from evenhand.cli.output import as_json, folder, picture, say, table

    problem: Problem = running.problem
    found = running.recommend()
    rows = found.table.reset_index()
    if out is not None:
        from evenhand.plots.interventions import plot_candidates, plot_outcomes
        from evenhand.tables import write_csv

        folder(out)
        write_csv(rows, out / "candidates.csv")
        if running.tolerance is None:
            picture(plot_outcomes(found).get_figure(), out, "candidates")  # type: ignore[arg-type]
        else:
            picture(plot_candidates(found, tolerance=running.tolerance), out, "candidates")
    body: dict[str, Any] = {
        "candidate": found.candidate,
        "status": found.status,
        "confidence": found.confidence,
        "finished": running.finished,
        "phase": running.phase,
        "trials": running.trials,
        "cost": running.cost,
        "open": running.open_tickets,
    }
    if seed is not None:
        tolerance = float("inf") if running.tolerance is None else running.tolerance
        body |= {"seed": seed, "exact": problem.best(tolerance)}
    cells = rows.astype(object).where(rows.notna(), None)
    if json:
        as_json({**body, "table": cells.to_dict("records")})
        return
    table("Candidates", *compact(rows))
    say(in_words(found))
    if seed is not None:
        answer = "no candidate" if body["exact"] is None else body["exact"]
        say(f"Simulated with seed {seed}; the exact answer is {answer}")
    if ask is not None:
        say(
            "The search is over; there is nothing more to try"
            if running.finished
            else f"The next allocation is in {ask}"
        )


def in_words(found: Any) -> str:
    """Say what is recommended, and how sure that is.

    >>> from types import SimpleNamespace as Found
    >>> in_words(Found(candidate="even", status="certified", confidence=0.95))
    'certified: even (right with probability 0.95 or more)'
    >>> in_words(Found(candidate="even", status="not_shown", confidence=None))
    'not shown: even (the best guess so far)'
    """
    chosen = "-" if found.candidate is None else found.candidate
    if found.confidence is not None:
        return f"{found.status.replace('_', ' ')}: {chosen} (right with probability {found.confidence:g} or more)"
    guess = " (the best guess so far)" if found.status == "not_shown" and found.candidate is not None else ""
    return f"{found.status.replace('_', ' ')}: {chosen}{guess}"


def compact(rows: Any) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of the report for people: a number with its interval in a cell."""
    middles = [name for name in rows.columns if name == "outcome" or name.startswith("gap[")]
    header = [
        "candidate",
        *(name.replace("[", " ").replace("]", "").replace(", ", " - ") for name in middles),
        "verdict",
    ]
    lines = []
    for row in rows.to_dict("records"):
        cells = [str(row["candidate"])]
        for name in middles:
            stem, _, rest = name.partition("[")
            low, high = (row[f"{stem}_{end}" + (f"[{rest}" if rest else "")] for end in ("low", "high"))
            known = row[name] is not None and row[name] == row[name]
            cells.append(f"{row[name]:.3f} ({low:.3f} to {high:.3f})" if known else "unknown")
        dropped = row["verdict"] == "dropped"
        lines.append([*cells, f"dropped in phase {row['phase']}: {row['reason']}" if dropped else row["verdict"]])
    return header, lines


def _values(text: str) -> dict[str, float]:
    try:
        pairs = [part.split("=") for part in text.split(",")]
        read = [(state.strip(), float(number)) for state, number in pairs]
    except ValueError as error:
        raise ArgumentError(wanted("--values", "STATE=NUMBER,STATE=NUMBER", text)) from error
    if len({state for state, _ in read}) < len(read):
        raise ArgumentError(wanted("--values", "each state once", text))
    return dict(read)
