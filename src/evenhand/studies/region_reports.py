"""How regions tell each other what their workers have learned: by files that may be lost, repeated or overtaken.

A region's file holds the last report of each of its workers, cumulative and numbered, and is signed with the study's
secret. The store that imports it keeps one file a region, replaced by a later one; its workers take in at their next
exchange what is new, as an entry of their logs. So a folder is enough, shared or copied by whatever copies files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from evenhand.errors import ArgumentError, EvenhandError, FencedError, StoreError, wanted
from evenhand.state import write
from evenhand.studies.codec import now
from evenhand.studies.exchange import read_report
from evenhand.studies.regions import BEGINNING, HOME, read_signed, signed
from evenhand.studies.schema import STUDIES, WORKERS
from evenhand.studies.segments import folder_named
from evenhand.studies.statements import read
from evenhand.studies.worker_logs import log_name, row_of

__all__ = ["Mail", "exchange_reports", "export_reports", "import_reports", "list_regions", "mail", "reports_of"]

MAIL = (
    "SELECT name, reported, holder, reported_at, report FROM studies JOIN workers ON workers.study = studies.id "
    "WHERE substr(name, 1, ?) = ?"
)
WHAT = "the reports of a region, as study.export_reports returned them"


class Mail(NamedTuple):
    """The last reports that a store has of another region: its number, the import of its grant, when it came, and its
    text."""

    number: int
    origin: str
    at: int
    text: str


def export_reports(study: Any) -> bytes:
    """Return the last reports of all workers of this store, signed; see `SharedStudy.export_reports`."""
    membership, reports = study.membership(), {}
    for one in membership.members.values():
        log = study.log_of(one)
        if one.number == 0:
            study._report_beginning(log)
        with log.store.reading() as connection:
            report = read_report(row_of(connection, log._number), one.name, study._secret)
        if report is not None:
            reports[one.name or BEGINNING] = report
    origin = membership.settings.get("region", {})
    body = {
        "study": study.name,
        "region": origin.get("region", HOME),
        "grant": origin.get("grant", ""),
        "import": origin.get("import", ""),
        "number": sum(report["number"] for report in reports.values()),
        "reports": reports,
    }
    return signed(body, study._secret)


def import_reports(study: Any, data: bytes) -> bool:
    """Keep the reports of another region, and return whether they are newer; see `SharedStudy.import_reports`."""
    body = read_signed(data, study._secret, "reports", WHAT)
    region, membership = str(body.get("region")), study.membership()
    if not {"study", "region", "grant", "import", "number", "reports"} <= set(body) or region == (study.region or HOME):
        raise ArgumentError(wanted("reports", f"{WHAT}, of another region", region))
    granted = membership.regions.get(region)
    if membership.region is None and (granted is None or granted.grant != body["grant"]):
        raise StoreError(
            f"{study.store.url}: this store did not grant region {region!r}, or has lost it: it was replaced by an "
            "older copy, and what it grants now may be given twice; use the newest copy"
        )
    with study.store.writing() as connection:
        held = mail(connection, study.name).get(region)
        if held is not None and held.origin != body["import"]:
            raise FencedError(
                f"the grant of region {region!r} was imported in two stores, and this report is from the second: both "
                "spend the same endowment, so the promise is not kept over both; let the workers of one leave"
            )
        if held is not None and held.number >= body["number"]:
            return False
        _keep(connection, study, region, Mail(body["number"], body["import"], now(), data.decode()), held is None)
    return True


def _keep(connection: Connection, study: Any, region: str, mail: Mail, new: bool) -> None:
    name = _box(study.name, region)
    if new:
        row = {"name": name, "policy": study.policy_name, "secret": "", "created_at": mail.at}
        number = connection.scalar(insert(STUDIES).values(row).returning(STUDIES.c.id))
        connection.execute(insert(WORKERS).values(study=number, claim=0, reported=0))
    mine = WORKERS.c.study == select(STUDIES.c.id).where(STUDIES.c.name == name).scalar_subquery()
    kept = {"reported": mail.number, "holder": mail.origin, "reported_at": mail.at, "report": mail.text}
    connection.execute(update(WORKERS).where(mine).values(kept))


def mail(connection: Connection, study: str) -> dict[str, Mail]:
    """Return the last reports of each other region."""
    box = _box(study, "")
    found = read(connection, MAIL, len(box), box)
    return {name.removeprefix(box): Mail(number, origin or "", at, text) for name, number, origin, at, text in found}


def _box(study: str, region: str) -> str:
    """Return the name under which a store keeps what it heard of a region; no study and no worker has such a name."""
    return log_name(study, f":{region}")


def reports_of(study: Any, unheard: dict[str, str]) -> dict[str, Any]:
    """Return the last reports of the workers of all other regions, and note why some cannot be read."""
    found: dict[str, Any] = {}
    with study.store.reading() as connection:
        heard = mail(connection, study.name)
    for region, one in heard.items():
        try:
            body = read_signed(one.text.encode(), study._secret, "reports", WHAT)
            found |= {f"{region}:{name}": report for name, report in body["reports"].items()}
        except EvenhandError as error:
            unheard[region] = str(error)
    return found


def list_regions(study: Any) -> Iterator[dict[str, Any]]:
    """Yield what is known of each region: its name, its state, its rounds, and when it was heard."""
    with study.store.reading() as connection:
        heard = mail(connection, study.name)
    reports = reports_of(study, {})
    for region in {**study.membership().regions, **heard}:
        rounds = sum(report["rounds"] for name, report in reports.items() if name.startswith(f"{region}:"))
        at = heard[region].at if region in heard else None
        state = "read" if region in study._regions else "granted" if at is None else "heard"
        yield {"region": region, "state": state, "rounds": rounds, "heard": at}


def exchange_reports(study: Any, folder: str | os.PathLike[str]) -> dict[str, str]:
    """Write this region's reports to a folder and import those of all others; see `SharedStudy.exchange_reports`."""
    named = folder_named("folder", folder)
    if named is None or not os.path.isdir(named):
        raise ArgumentError(wanted("folder", "a folder that is there", named))
    place = Path(named)
    ending, own = f".{study.name}.reports", study.region or HOME
    write(place / f"{own}{ending}", export_reports(study))
    outcome: dict[str, str] = {}
    for file in sorted(place.glob(f"*{ending}")):
        region = file.name.removesuffix(ending)
        if region != own:
            try:
                outcome[region] = "learned" if import_reports(study, file.read_bytes()) else "nothing new"
            except (EvenhandError, OSError) as error:
                outcome[region] = str(error)
    return outcome
