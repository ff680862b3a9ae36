"""The address of a store: a path, or a URL of SQLite or PostgreSQL. All are read and printed here."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError as BadURL

from evenhand.errors import ArgumentError, expected, masked

SERVER = "postgresql+psycopg"
DRIVERS = {"sqlite": "sqlite", "postgres": SERVER, "postgresql": SERVER, SERVER: SERVER}
KINDS = "a path such as ads.evenhand, sqlite:///ads.evenhand, sqlite:// (in memory) or postgresql://user@host/database"
ESCAPE = "escape the special characters of the user's name and password: @ is %40, / is %2F, ? is %3F"
SERVER_OR_FILE = "write a server as postgresql://user@host/database, a file with : or = in its name as /folder/name"
MENDS = {"sqlite": "a file takes three slashes", "file": "write the path alone"}
"""What to write in the place of what begins so."""
NO_PATH = re.compile(r"(?!\w:)[\w+.-]*:|\w+\s*=|(?://)?[^/\\]*:(?://|(?![/\\]).*@)", re.DOTALL)
"""How other forms of an address begin, which would be the name of a file: a scheme (but C: is a drive), name=value, or
user:password@."""


def read_address(where: Any) -> URL:
    """Return the address of a store, at a path or a URL.

    Raises
    ------
    ArgumentError
        If `where` is neither, or a URL of another kind, or one in which a password cannot be told from what follows it.
    """
    given = os.fspath(where) if isinstance(where, os.PathLike) else where
    if not isinstance(given, str) or not given.strip():
        hint = "os.fsdecode turns bytes into text" if isinstance(given, bytes) else ""
        raise ArgumentError(expected("store", KINDS, where, hint))
    if given != given.strip():
        raise _refusal(given.strip(), "leave out the blanks or line breaks around it")
    scheme, slashes, rest = ("sqlite://" if given == ":memory:" else given).partition("://")
    scheme, query = scheme.lower(), rest.partition("?")[2]
    if not slashes or scheme not in DRIVERS:
        if NO_PATH.match(given) or masked(given) != given:
            raise _refusal(given, MENDS.get(given.partition(":")[0].lower(), SERVER_OR_FILE))
        return make_url("sqlite://").set(database=given)
    try:
        url = make_url(f"{DRIVERS[scheme]}://{rest}")
    except (BadURL, ValueError):
        raise _refusal(given, ESCAPE) from None
    if scheme == "sqlite" and url.host:
        raise _refusal(given, MENDS[scheme])
    if scheme == "sqlite" and "?" in rest:
        raise _refusal(given, "write a ? in a file's name as %3F; nothing may follow a ?")
    if scheme != "sqlite" and (rest.count("@") > 1 or "@" in query):
        raise _refusal(given, ESCAPE)
    if query and not all("=" in part for part in query.split("&")):
        raise _refusal(given, "after the ? stand names with values: name=value&name=value")
    return url


def _refusal(given: str, hint: str) -> ArgumentError:
    """Return the refusal of an address, of which it shows how it begins: nothing says where a password would be."""
    first = re.findall(r"^[\w+.-]*[:=/]*", given)[0]
    return ArgumentError(expected("store", KINDS, f"{first}...", hint))


def shown_address(url: URL) -> str:
    """Return an address for people: the path of a file, or a URL without its passwords."""
    if url.get_backend_name() == "sqlite" and url.database:
        return url.database
    server, mark, query = url.set(drivername=url.get_backend_name()).render_as_string().partition("?")
    return f"{server}{mark}{query if masked(query) == query else '***'}"


def typed_address(shown: str) -> str:
    """Return a shown address as it is typed in the shell; one that holds a password is left to the reader."""
    return "ADDRESS" if "***" in shown else shlex.quote(shown)
