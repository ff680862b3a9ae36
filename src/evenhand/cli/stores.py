"""`evenhand studies`, `snapshot` and `upgrade`: what a store holds, and in which form."""

from __future__ import annotations

from evenhand.cli.conversation import JSON, STORE, STUDY

__all__ = ["snapshot", "studies", "upgrade"]


def studies(store: STORE, json: JSON = False) -> None:
    """List the studies of a store."""
    from evenhand.cli.output import as_json, cell, say, table
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
        table(store, [*rows[0]], [[cell(value) for value in row.values()] for row in rows])
    else:
        say(f"{store}: no studies yet")


def snapshot(store: STORE, study: STUDY = None) -> None:
    """Keep a study's state as it is now: to be done before evenhand, or the policy's own code, is replaced."""
    from evenhand.cli.output import say
    from evenhand.studies import Study

    with Study.open(store, study) as running:
        running.snapshot()
        say(
            f"{running.name}: its state after {running.sequence} entries is kept; nothing before them is replayed again"
        )


def upgrade(store: STORE) -> None:
    """Bring a store that an older version wrote to this version's form, all or nothing."""
    from evenhand.cli.output import say
    from evenhand.studies import Store

    place = Store.at(store, older=True)
    before, now = place.upgrade()
    say(f"{store}: {'has this version already' if before == now else f'brought from {before} to {now}'}")
    place.close()
