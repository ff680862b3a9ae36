"""`evenhand demo`: a contract of shares, whether it was kept, what keeping it costs, and the report to forward."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

import numpy as np

from evenhand.cli.audit import audited_log
from evenhand.cli.log_report import log_report
from evenhand.cli.options import JSON
from evenhand.cli.output import as_json, cell, drawing, folder, print_text, records
from evenhand.cli.price import known_price
from evenhand.cli.promised import means_of, promised_rows
from evenhand.data.csv_files import write_csv
from evenhand.display.report import page
from evenhand.experiments.quotas.contract import CONTRACT, TOLERANCE, made_log

SHARES = ",".join(f"{name}={share}" for name, share in CONTRACT.items())


def demo(*, out: Path = Path("out/demo"), seed: int = 2026, json: JSON = False) -> None:
    """Show a contract of shares on a made-up log of 10,000 impressions: who is behind, by how much money, since when,
    what keeping it costs, and the report to forward.

    Parameters
    ----------
    out : Folder for the log, the picture and the report.
    seed : Seed of the made-up log.
    """
    from evenhand.plots import plot_audit

    log = folder(out) / "impressions.csv"
    frame = made_log(seed=seed)
    write_csv(frame, log)
    audited = partial(
        audited_log,
        share_texts=[SHARES],
        arm="advertiser",
        tolerance=TOLERANCE,
        times="at",
        order=None,
        segment="",
        available="",
        weight="",
        round="",
        since="",
        until="",
        by="",
    )
    asked = f"--arm advertiser --shares {SHARES} --tolerance {TOLERANCE} --times at"
    audit = f"evenhand audit {shlex.quote(str(log))} {asked}"
    of, kept, verdict, parts, _ = log_report(audited, str(log), "price", audit)
    (out / "report.html").write_text(page(f"Was the promise kept? {of}", kept, verdict, parts), encoding="utf-8")
    finding, _ = audited(log=[log])
    (out / "demo.png").write_bytes(drawing(partial(plot_audit, finding)))
    earned = frame.rename(columns={"advertiser": "arm", "price": "reward"}).assign(round=np.arange(1, len(frame) + 1))
    rows = promised_rows(finding, "row", False, ("price", means_of(earned)))
    cost = known_price(finding.promise, frame, "advertiser", "price")
    costs = cost if isinstance(cost, str) else cost.finding
    if json:
        body = {"kept": kept, "rounds": finding.rounds, "seed": seed, "folder": str(out), "cost": costs}
        as_json(body | {"promises": finding.promises.to_dict("records")}, finding)
        return
    print_text("You promised shares: see whether you kept them, keep them from now on at the smallest loss,")
    print_text("and hand the other side a proof.\n")
    print_text(f"A made-up log (seed {seed}): {len(frame):,} impressions of a week, with their times and prices in")
    print_text(f"euros. {len(rows)} of {frame['advertiser'].nunique()} advertisers bought a share of them.")
    shown = [name for name in rows[0] if name not in ("arm", "most behind")]
    bought = [{"advertiser": row["arm"]} | {name: row[name] for name in shown} for row in rows]
    records("What was promised, and what they got", bought, empty=False)
    print_text(f"{verdict}.")
    for row in rows:
        if row["broken"] != "never":
            plays, euros = row["behind"], row["behind, in price"]
            print_text(f"{cell(row['arm'])} was {plays:,.0f} impressions behind, worth {euros:,.2f} at its mean price.")
    print_text(f"{costs}.\n")
    print_text(f"Forward this: {out / 'report.html'}. The log: {log}; the picture: {out / 'demo.png'}.")
    print_text(f"Check it, or a log of your own:\n  {audit}")
    new = f"evenhand new ads.evenhand -p deadline-learn --learn {shlex.quote(str(log))} --arm advertiser --reward price"
    print_text(f"Keep it from now on, at the prices of this log:\n  {new} --shares {SHARES} --tolerance {TOLERANCE}")
