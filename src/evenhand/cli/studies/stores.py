"""`evenhand studies`, `snapshot` and `erase`: the studies of a store, and what is erased."""

from __future__ import annotations

import typer

from evenhand.cli.options import JSON, STORE, STUDY
from evenhand.cli.output import answer, as_json, print_text, records
from evenhand.studies import Store, Study
from evenhand.studies.statistics.state import outline


def studies(store: STORE, json: JSON = False) -> None:
    """List the studies of a store."""
    place = Store.at(store)
    rows = []
    for name in place.names():
        study = Study.open(place, name)
        rows.append(outline(study, study.statistics()))
    place.close()
    if json:
        as_json(rows)
    elif rows:
        records(place.url, rows)
    else:
        print_text(f"{place.url}: no studies yet")


def snapshot(store: STORE, study: STUDY = None, json: JSON = False) -> None:
    """Save a study's state. Do this before you replace evenhand or the policy's own code."""
    with Study.open(store, study) as running:
        running.state.snapshot()
        words = f"{running.name}: saved its state after {running.log.sequence} entries; they need not be replayed again"
        answer({"name": running.name, "entries": running.log.sequence}, words, json)


def erase(
    store: STORE, *, subject: str | None = None, older_than: str | None = None, study: STUDY = None, json: JSON = False
) -> None:
    """Make the encrypted contexts of a subject, or all old ones, unreadable for ever. The log can still be verified.
    Exit code 1 when the study keeps no contexts of the subject.

    Parameters
    ----------
    subject : The subject to erase, as given to `evenhand ask --subject`.
    older_than : Erase all contexts older than this, such as 365d.
    """
    with Study.open(store, study) as running:
        erased = running.erase(subject, older_than=older_than)
        words = f"{running.name}: {erased.subjects} subject{'' if erased.subjects == 1 else 's'} erased"
        if erased.forgotten:
            words += f"; {erased.forgotten} open ticket{'' if erased.forgotten == 1 else 's'} forgotten"
        if subject is not None and not erased.subjects:
            words += f"; no contexts of subject {subject!r} are kept"
        if not erased.purged:
            words += "; another program is reading the store; erase again later to clear its files"
        answer(erased._asdict(), words, json)
    if subject is not None and not erased.subjects:
        raise typer.Exit(1)
