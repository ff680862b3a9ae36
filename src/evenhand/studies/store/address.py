"""The address of a store: a path, or a URL of SQLite or PostgreSQL. `evenhand.errors.masked` prints one."""

from __future__ import annotations

import os
import re
from typing import Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError as BadURL

from evenhand.errors import ArgumentError, masked, wanted

DRIVERS = {
    "sqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
KINDS = "a path such as ads.evenhand, sqlite:///ads.evenhand, sqlite:// (in memory) or postgresql://user@host/database"
ESCAPE = "escape the special characters of a password: @ is %40, / is %2F, ? is %3F"
NO_PATH = re.compile(
    r"\s*(?:(?:jdbc:)?(?:postgres(?:ql)?|sqlite)(?:\+\w+)?:"
    r"|(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|connect_timeout)\s*=|[^/\\:]+:(?![/\\]).*@)",
    re.IGNORECASE,
)
"""How other forms of a server's address begin, which may hold a password and would be the name of a file."""


def read_address(where: Any) -> URL:
    """Return the address of a store, at a path or a URL.

    Raises
    ------
    ArgumentError
        If `where` is neither, or a URL of another kind, or one in which a password cannot be told from what follows it.
    """
    given = os.fspath(where) if isinstance(where, os.PathLike) else where
    if not isinstance(given, str) or not given.strip():
        mend = "os.fsdecode turns bytes into text" if isinstance(given, bytes) else ""
        raise ArgumentError(wanted("store", KINDS, where, mend))
    if given == ":memory:":
        given = "sqlite://"
    scheme, slashes, rest = given.partition("://")
    if not slashes:
        if given is where and NO_PATH.match(given):
            mend = "write the address of a server as postgresql://user@host:port/database"
            raise ArgumentError(
                wanted("store", KINDS, given.split(":", 1)[0] + ":..." if "@" in given else given, mend)
            )
        return make_url("sqlite://").set(database=given)
    scheme = scheme.lower()
    shown = f"{scheme}://..."
    try:
        url = make_url(f"{scheme}://{rest}")
    except (BadURL, ValueError):
        raise ArgumentError(wanted("store", KINDS, shown, ESCAPE)) from None
    if scheme not in DRIVERS:
        raise ArgumentError(wanted("store", KINDS, shown))
    url, query = url.set(drivername=DRIVERS[scheme]), rest.partition("?")[2]
    if scheme == "sqlite" and (url.host or "?" in rest):
        mend = "a file takes three slashes" if url.host else "write a ? in a file's name as %3F; nothing may follow a ?"
        raise ArgumentError(wanted("store", KINDS, shown, mend))
    if scheme != "sqlite" and (rest.count("@") > 1 or "@" in query):
        raise ArgumentError(
            wanted("store", KINDS, shown, "escape the special characters of a password: @ is %40, ? %3F")
        )
    if query and not all("=" in part for part in query.split("&")):
        raise ArgumentError(wanted("store", KINDS, shown, "after the ? stand names with values: name=value&name=value"))
    return url


def shown_address(url: URL) -> str:
    """Return a URL without its passwords."""
    return masked(url.set(drivername=url.get_backend_name()).render_as_string(hide_password=False))
