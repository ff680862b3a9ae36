"""What `evenhand simulate` shows and writes: the table of the policies, that of the arms, files and pictures."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evenhand import plots
from evenhand.cli.output import PROMISE_WORDS, draw, print_text, promised_cells, table
from evenhand.data.csv_files import write_csv
from evenhand.errors import MissingExtraError
from evenhand.extras import optional
from evenhand.labels import label_texts
from evenhand.saving.provenance import in_a_line
from evenhand.simulation.frames import frame
from evenhand.simulation.measures import half_width, losses_a_round, whole_plays

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from evenhand.promises.clause import Clause

WIDEST = 12
"""How many columns a table has at most."""
LOSSES = ("regret", "r_regret", "true_regret", "biased_regret", "perceived_regret")
FRACTION = re.compile(r"Fraction\((\d+), (\d+)\)")


def show_policies(summary: list[dict[str, Any]]) -> None:
    """Print a table of the policies, without the columns in which nothing stands, and one of their groups."""
    told = [{k: PROMISE_WORDS[v] if k == "promise_kept" else v for k, v in row.items()} for row in summary]
    of_groups = [k for k in told[0] if k.startswith("share_of_") or k == "selection_rate_ratio"]
    blank = {k for k in summary[0] if all(row[k] is None or row[k] != row[k] for row in summary)}
    blank |= {"forced_share"} if "worst_shortfall" in blank else set()
    of_policies = [k for k in told[0] if k not in of_groups and k not in blank]
    first = "Rewards" if "forced_share" in blank else "Promises at every round, and rewards"
    for title, columns in (
        (f"{first} (means over replications)", of_policies),
        (
            "Share of each rule's choices by group; ratio of the smallest to the largest rate at which it chooses",
            ["policy", *of_groups],
        ),
    ):
        cells: list[Any] = [[k.replace("_", " ") for k in columns], *([row[k] for k in columns] for row in told)]
        if len(columns) > WIDEST:  # a row of each, as a line has no room for so many columns
            cells = list(zip(*cells, strict=True))
        if len(columns) > 1:
            table(title, cells[0], cells[1:])
    if "r_regret" in of_policies:
        print_text(
            "regret: expected reward lost against the best arm; r regret: against the best that keeps the promise."
        )


def policy_rows(history: xr.Dataset, later: set[str], rewards: tuple[float, float]) -> list[dict[str, Any]]:
    """Return a row for each policy: whether its promise was kept, what it earned and lost, and its groups' shares;
    `later` are the policies whose promise is not due at every round, `rewards` the least and the largest reward."""
    last = history.isel(round=-1)
    rounds = float(last["round"])
    rows = []
    for name in history.policy.values:
        own = last.sel(policy=name)
        broken, reward, wide = (float(x) for x in (own.violations.max(), own.reward.mean(), half_width(own.reward)))
        row = {
            "policy": str(name),
            "promise_kept": None if broken != broken or name in later else broken == 0,
            "worst_shortfall": float(own.worst_shortfall.max()),
            "forced_share": float(own.forced.mean()) / rounds,
            "reward_a_round": (mean := reward / rounds),
            "reward_low": mean - min(wide / rounds, abs(mean - rewards[0])),
            "reward_high": mean + min(wide / rounds, abs(rewards[1] - mean)),
        }
        row |= {loss: float(own[loss].mean()) for loss in LOSSES if loss in own}
        if "group_share" in own:
            shares = own.group_share.mean("replication")
            rates = shares / own.arm_share
            texts = label_texts(own.group.values.tolist())
            row |= {f"share_of_{text}": float(share) for text, share in zip(texts, shares.values, strict=True)}
            row["selection_rate_ratio"] = float(rates.min() / rates.max())
        rows.append(row)
    return rows


def arms_table(history: xr.Dataset, clauses: list[Clause], most: int = 60) -> tuple[list[str], list[list[Any]]]:
    """Return a table of what each arm and each set of arms is promised, and what it had under each policy."""
    last = history.isel(round=-1)
    pulls, rounds = last.pulls.mean("replication"), float(last["round"])
    on_offer = last.offered.mean("replication") if "offered" in last else None
    names, texts = [str(name) for name in history.policy.values], label_texts(history.arm.values.tolist())
    rows: list[list[Any]] = []
    columns = ["arm"]
    for places, cells in promised_cells(clauses, history.arm.values.tolist()).items():
        columns = ["arm", *cells, *names]
        if len(rows) < most or len(places) > 1:
            mine = pulls.isel(arm=list(places)).sum("arm")
            share = mine / rounds if on_offer is None else mine / on_offer.isel(arm=places[0])
            known = on_offer is None or len(places) == 1
            shown = [f"{float(share.sel(policy=name)):.4f}" if known else None for name in names]
            rows.append([" + ".join(texts[place] for place in places), *cells.values(), *shown])
    if history.sizes["arm"] > most:
        rows.append([f"... {history.sizes['arm'] - most} more", *["" for _ in columns[1:]]])
    return columns, rows


def _write_netcdf(history: xr.Dataset, path: Path) -> list[Path]:
    """Write the whole history, or say what is missing to do so: what was simulated is not lost for it."""
    try:
        optional("h5netcdf", path.name)
    except MissingExtraError as error:
        typer.secho(f"evenhand: {error}; the other files are written", err=True, fg="yellow")
        return []
    history.to_netcdf(path, engine="h5netcdf")
    return [path]


def _means(history: xr.Dataset) -> pd.DataFrame:
    """Return all means over replications with their intervals: of each checkpoint, and by arm or group of the last."""
    import pandas as pd

    over = [name for name, values in history.data_vars.items() if {*values.dims} == {"policy", "replication", "round"}]
    before = frame(history[over].isel(round=slice(-1)), last=False) if history.sizes["round"] > 1 else None
    return pd.concat([before, frame(history)])


def _largest_shortfalls(history: xr.Dataset) -> pd.DataFrame:
    """Return the worst shortfall of any replication at each checkpoint, and in whole plays, as the picture draws it."""
    found = history.worst_shortfall.max("replication").to_series().rename("largest_worst_shortfall").reset_index()
    return found.assign(
        whole_plays=whole_plays(found["largest_worst_shortfall"]), replications=history.sizes["replication"]
    )


def origin_of(history: xr.Dataset) -> str:
    """Return what the numbers of a history depend on as a line for tables."""
    about = history.attrs
    names = ("seed", "rounds", "replications", "delay", "missing", "data", "log", "learn")
    made = [FRACTION.sub(r"\1/\2", said) for said in about["made_of"][1:]]
    return in_a_line(about, *(f"{name} {about[name]}" for name in names if name in about), *made)


def write_files(
    history: xr.Dataset,
    clauses: list[Clause],
    summary: list[dict[str, Any]],
    plan: pd.DataFrame | None,
    origin: str,
    out: Path,
    formats: list[str],
    against: list[str | None],
) -> list[Path]:
    """Write the history, tables, pictures and what they were made with, `origin` in the tables, into a folder, and
    return what was written; losses are measured against each policy named in `against`, None for the best, and in the
    picture against the first."""
    import pandas as pd

    (out / "about.json").write_text(json.dumps(history.attrs, indent=2) + "\n")
    written = [*_write_netcdf(history, out / "history.nc"), out / "about.json"]
    columns, rows = arms_table(history, clauses, most=len(history.arm))
    tables = {"summary": pd.DataFrame(summary).assign(level=0.95), "arms": pd.DataFrame(rows, columns=columns)}
    tables |= {"means": _means(history)} | ({} if plan is None else {"characteristics": plan})
    drawings: dict[str, Any] = {"shares": plots.plot_shares}
    if "regret" in history:
        drawings |= {"regret": plots.plot_regret, "cost": partial(plots.plot_cost, against=against[0])}
        tables["cost"] = pd.concat([losses_a_round(history, one) for one in against])
    if "share" in history.coords:
        drawings["shortfall"] = plots.plot_shortfall
        tables["shortfall"] = _largest_shortfalls(history)
    for name, found in tables.items():
        written.append(out / f"{name}.csv")
        write_csv(found.assign(made_with=origin), written[-1])
    if "group_share" in history:
        drawings["groups"] = plots.plot_group_share
    for loss in ("true_regret", "perceived_regret"):
        if loss in history:
            drawings[loss] = partial(plots.plot_regret, variable=loss)
    for name, plot in drawings.items():
        width = max(7.2, 1.5 + 0.22 * min(60, history.sizes["arm"])) if name == "shares" else 7.2
        written += draw(out, name, partial(plot, history), width=width, formats=formats)
    return written
