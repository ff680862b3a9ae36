"""`evenhand export`: write a study's log as a table, for a spreadsheet or for off-policy estimators."""

from __future__ import annotations

import sys
from pathlib import Path

from evenhand.audit.decision_log import moments_of
from evenhand.audit.period import between
from evenhand.cli.options import JSON, STORE, STUDY, Options
from evenhand.cli.output import answer
from evenhand.data.csv_files import write_csv
from evenhand.errors import ArgumentError, expected
from evenhand.extras import optional
from evenhand.studies import Study
from evenhand.studies.export import feedback_of
from evenhand.studies.files import flat
from evenhand.studies.proofs.files import write_proof

FORMS = ("log", "bandit")


@Options(beside={"--form --since --until": "--out", "--proof": "not --out"})
def export(
    store: STORE,
    *,
    out: str = "",
    form: str = "log",
    proof: Path | None = None,
    since: str = "",
    until: str = "",
    study: STUDY = None,
    json: JSON = False,
) -> None:
    """Write the decisions to a file, one per row, or all of the log as a proof that others check without evenhand.

    Parameters
    ----------
    out : The file: .csv, .csv.gz or .parquet; - for CSV on standard output.
    form : log: one row per decision; bandit: logged bandit feedback with propensities.
    proof : A .zip file for the log and the programs that check it, instead of --out.
    since : Only the decisions from a time on, such as 2026-12-01 or 2026-12-01T09:00+01:00.
    until : Only the decisions before a time; a date means to its end.
    """
    if proof is not None:
        if proof.suffix.lower() != ".zip":
            raise ArgumentError(expected("--proof", "a file ending in .zip", str(proof)))
        with Study.open(store, study) as running:
            entries = write_proof(running.log, proof)
        answer({"entries": entries, "file": str(proof)}, f"The proof of {entries:,} entries: {proof}", json)
        return
    if form not in FORMS:
        raise ArgumentError(expected("--form", f"one of {', '.join(FORMS)}", form))
    parquet = out.lower().endswith((".parquet", ".pq"))
    if out != "-" and not parquet and not out.lower().endswith((".csv", ".csv.gz")):
        raise ArgumentError(expected("--out", "a file ending in .csv, .csv.gz or .parquet, or -; or --proof", out))
    if out == "-" and json:
        raise ArgumentError(expected("--json", "a file as --out, since the decisions go to standard output", "-"))
    with Study.open(store, study) as running:
        table, period = running.frame(), ""
        if since or until:
            inside, period = between(moments_of(table["at"], "at"), since, until, "decisions")
            table = table[inside].reset_index(drop=True)
        table = table if form == "log" else feedback_of(running, table)
    written, left_out = flat(table), table.attrs.get("left_out", {})
    lacking = ", ".join(f"{count} {status}" for status, count in left_out.items())
    lacking = f"; left out because they have no reward of a single arm: {lacking}" if lacking else ""
    lacking += f". {period} are taken." if period else ""
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
