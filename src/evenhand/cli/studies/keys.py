"""`evenhand keys`: the keys for a store over a network."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

import typer

from evenhand.cli.options import JSON, STORE
from evenhand.cli.output import answer, as_json, print_text, records
from evenhand.errors import ArgumentError, expected
from evenhand.studies import Store
from evenhand.studies.keys import ALLOWED, add_key, list_keys, revoke_key

ACTIONS = ("list", "add", "revoke")


def keys(
    store: STORE,
    action: str = "list",
    key: str = "",
    *,
    role: str = "",
    note: str = "",
    expires: str | None = None,
    lifetime: Annotated[str | None, typer.Option("--for")] = None,
    study: list[str] | None = None,
    json: JSON = False,
) -> None:
    """Add, list and revoke the keys of the service. A key is shown only once; the store keeps its digest.

    Parameters
    ----------
    action : list, add or revoke.
    key : The id of the key to revoke, as shown by list.
    role : The role of a new key: decide, report, read, or both (decide and report).
    note : The owner or the purpose of a new key.
    expires : The last day of a new key, such as 2030-12-31 (UTC), or a time with its zone.
    lifetime : How long a new key works, such as 90d or 12h.
    study : A study that a new key is limited to; give it again for several.
    """
    if action not in ACTIONS:
        raise ArgumentError(expected("ACTION", f"one of {', '.join(ACTIONS)}", action))
    if (action == "revoke") != bool(key):
        raise ArgumentError(expected("KEY", "the id of the key to revoke", key or None))
    if (action == "add") != bool(role) or ((note or expires or lifetime or study) and action != "add"):
        roles = "decide, report, read or both, for the new key"
        raise ArgumentError(expected("--role", roles, role or None))
    if expires and lifetime:
        raise ArgumentError(expected("--expires, --for", "one of them", lifetime))
    with contextlib.closing(Store.at(store)) as place:
        if action == "add":
            given: Any = role
            text = add_key(place, given, note, expires=expires or lifetime, studies=study or None)
            may = " and ".join(ALLOWED[given])
            words = f"{text}\nThis key may {may}. It is shown only once."
            answer({"key": text, "role": role}, words, json)
            return
        status = revoke_key(place, key) if action == "revoke" else ""
        rows = [one._asdict() for one in list_keys(place)]
    if json:
        as_json(rows if action == "list" else {"key": key, "status": status})
    elif action == "revoke":
        print_text(status)
    elif rows:
        records(place.url, rows)
    else:
        print_text(f"{place.url}: no keys yet")
