"""What each object knows of the files that it is kept in, so that no save undoes what another process has saved there.

Two people who begin from one file and both save would otherwise lose what the first of them saved. A save therefore
compares the file with what the object was read from, or saved as, and holds a lock on `NAME.lock` from before the
comparison until the new file is in place. The kernel releases that lock when a process dies. Where Python has no
`fcntl`, as on Windows, there is no lock: the comparison comes right before the replacement, and two saves at the same
instant are not told apart.
"""

from __future__ import annotations

import hashlib
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from evenhand.errors import StateFileError

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked_file", "refuse_changed", "remember"]

PATIENCE = 60.0
"""Seconds that a save waits for others to the same file."""
NAP = 0.002
_KNOWN: dict[int, dict[Path, str | None]] = {}
"""The identity of an object -> file -> the digest of its contents as the object knows them; None: there is no file.
Not an attribute, which would travel into the states that objects are compared and replayed by.
"""


def remember(policy: Any, target: Path, data: bytes | None) -> None:
    """Remember that an object was read from a file with these contents, or saved as them; None: that there is none."""
    known = _KNOWN.get(id(policy))
    if known is None:
        try:
            weakref.finalize(policy, _KNOWN.pop, id(policy)).atexit = False
        except TypeError:  # it has slots and takes no weak reference: who knows when its identity is another's
            return
        known = _KNOWN[id(policy)] = {}
    known[target.resolve()] = None if data is None else hashlib.sha256(data).hexdigest()


def refuse_changed(policy: Any, target: Path) -> None:
    """Refuse to save over a file that is not as this object knows it; any contents will do where it knows none.

    Raises
    ------
    StateFileError
        If another process, or another object, has saved to the file.
    """
    known = _KNOWN.get(id(policy), {})
    place = target.resolve()
    if place not in known or not place.exists():
        return
    try:
        with place.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StateFileError(f"{target}: cannot be compared with what it was: {error.strerror}") from error
    if found != known[place]:
        since = "it was not there at the start" if known[place] is None else "it has changed since it was read"
        raise StateFileError(
            f"{target}: {since}, so another session has saved to it; nothing was written. What came after your last "
            "save is not in the file: start again from the file and repeat that, or save to another file"
        )


@contextmanager
def locked_file(target: Path) -> Iterator[None]:
    """Have other saves to a file wait while the block runs.

    Raises
    ------
    StateFileError
        If there is no such folder, or another process keeps the file locked for a minute.
    """
    if fcntl is None:  # pragma: no cover
        yield
        return
    place = target.resolve()
    lock = place.with_name(f"{place.name}.lock")
    try:
        held = _waited_for(lock)
    except OSError as error:
        raise StateFileError(f"{target}: cannot be written: {error.strerror}") from error
    if held is None:
        mend = f"delete {lock.name} if no other evenhand is running"
        raise StateFileError(f"{target}: another process has been saving to it for {PATIENCE:.0f} s; {mend}")
    try:
        yield
    finally:
        with suppress(OSError):  # another user's, left behind by a process that was killed
            lock.unlink()
        os.close(held)


def _waited_for(lock: Path) -> int | None:
    """Return the open file of the lock, None where others hold it for too long."""
    deadline = time.monotonic() + PATIENCE
    while (held := _taken(lock)) is None and time.monotonic() < deadline:
        time.sleep(NAP)
    return held


def _taken(lock: Path) -> int | None:
    """Return the open file of the lock, None where another process or thread holds it."""
    try:
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        if lock.exists():  # another user's
            return None
        raise
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file), os.stat(lock)):
            return file
    except (BlockingIOError, FileNotFoundError):  # held, or removed by the one before
        pass
    os.close(file)
    return None
