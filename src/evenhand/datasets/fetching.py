"""Files of data sets: fetched once from the publisher, checked against a SHA-256, kept in a cache folder.

`EVENHAND_DATA` names the cache folder. A file that lies there is used as it is if its checksum fits, so that a folder
filled elsewhere works on a machine without a network.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from evenhand.errors import DatasetError
from evenhand.extras import optional


def folder() -> Path:
    """Return the cache folder: `EVENHAND_DATA`, or evenhand's own in the user's cache."""
    named = os.environ.get("EVENHAND_DATA")
    if named:
        return Path(named)
    return Path(optional("pooch", "a data set").os_cache("evenhand"))


def fetch(name: str, sha256: str, url: str | None, how: str = "") -> Path:
    """Return the path of a file of a data set.

    Parameters
    ----------
    name : path below the cache folder, such as "adult/adult.data".
    sha256 : checksum of the file.
    url : where the publisher keeps it; None where it cannot be fetched without a person's consent.
    how : what a person can do to get it, for the message.

    Raises
    ------
    DatasetError
        If the file has another checksum, or is absent and cannot be fetched.
    """
    path = folder() / name
    if path.exists():
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != sha256:
            raise DatasetError(f"{path}: SHA-256 is {found}, expected {sha256}; remove the file and fetch it again")
        return path
    absent = f"{path}: no such file"
    if url is None:
        raise DatasetError(f"{absent}; {how or 'get it from its publisher'}, put it there, or set EVENHAND_DATA")
    pooch = optional("pooch", "a data set")
    try:
        return Path(pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=path.name, path=path.parent))
    except Exception as error:
        raise DatasetError(
            f"{absent}, and {url} cannot be fetched ({error}); put it there or set EVENHAND_DATA"
        ) from error
