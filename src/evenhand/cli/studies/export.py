"""`evenhand export`: write a study's log as a table, for a spreadsheet or for off-policy estimators."""

from __future__ import annotations

import sys
from pathlib import Path

from evenhand.cli.options import JSON, STORE, STUDY
from evenhand.cli.output import answer
from evenhand.data.csv_files import write_csv
from evenhand.errors import ArgumentError, expected
from evenhand.extras import optional
from evenhand.studies import Study
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import flat

FORMS = ("log", "bandit")


def export(store: STORE, *, out: str, form: str = "log", study: STUDY = None, json: JSON = False) -> None:
    """Write the decisions to a file, one per row.

    Parameters
    ----------
    out : The file: .csv, .csv.gz or .parquet; - for CSV on standard output.
    form : log: one row per decision; bandit: logged bandit feedback with propensities.
    """
    if form not in FORMS:
        raise ArgumentError(expected("--form", f"one of {', '.join(FORMS)}", form))
    parquet = out.lower().endswith((".parquet", ".pq"))
    if out != "-" and not parquet and not out.lower().endswith((".csv", ".csv.gz")):
        raise ArgumentError(expected("--out", "a file ending in .csv, .csv.gz or .parquet, or -", out))
    if out == "-" and json:
        raise ArgumentError(expected("--json", "a file as --out, since the decisions go to standard output", "-"))
    with Study.open(store, study) as running:
        table = running.frame() if form == "log" else bandit_frame(running)
    written, left_out = flat(table), table.attrs.get("left_out", {})
    lacking = ", ".join(f"{count} {status}" for status, count in left_out.items())
    lacking = f"; left out because they have no reward of a single arm: {lacking}" if lacking else ""
    decisions = f"{len(written)} decision{'s' * (len(written) != 1)}"
    if out == "-":
        write_csv(written, sys.stdout)
        if lacking:
            print(f"{decisions}{lacking}", file=sys.stderr)
        return
    try:
        if parquet:
            optional("pyarrow", "a Parquet file")
            written.to_parquet(out, index=False)
        else:
            write_csv(written, out)
    except OSError as error:
        hint = error.strerror or str(error)
        raise ArgumentError(expected("--out", "a file that can be written", str(Path(out)), hint)) from error
    body = {"decisions": len(written), "file": out} | ({"left_out": left_out} if form == "bandit" else {})
    answer(body, f"{decisions} written to {out}{lacking}", json)
