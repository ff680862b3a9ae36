"""`evenhand studies`, `snapshot` and `upgrade`: the studies of a store, and its version."""

from __future__ import annotations

from evenhand.cli.options import JSON, STORE, STUDY

__all__ = ["snapshot", "studies", "upgrade"]


def studies(store: STORE, json: JSON = False) -> None:
    """List the studies of a store."""
    from evenhand.cli.output import as_json, records, say
    from evenhand.studies import Store, Study
    from evenhand.studies.summary import outline

    place = Store.at(store)
    rows = []
    for name in place.names():
        study = Study.open(place, name)
        rows.append(outline(study, study.statistics()))
    place.close()
    if json:
        as_json(rows)
    elif rows:
        records(store, rows)
    else:
        say(f"{store}: no studies yet")


def snapshot(store: STORE, study: STUDY = None) -> None:
    """Save a study's state. Do this before you replace evenhand or the policy's own code."""
    from evenhand.cli.output import say
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        running.snapshot()
        say(f"{running.name}: its state after {running.sequence} entries is kept; they are not replayed again")


def upgrade(store: STORE) -> None:
    """Upgrade a store that an older version wrote, all or nothing."""
    from evenhand.cli.output import say
    from evenhand.studies import Store

    place = Store.at(store, older=True)
    before, now = place.upgrade()
    say(f"{store}: {'has this version already' if before == now else f'upgraded from {before} to {now}'}")
    place.close()
