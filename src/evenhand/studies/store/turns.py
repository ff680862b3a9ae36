"""Turns of the processes that write to one SQLite file: first come, first served.

SQLite has waiting writers try again after ever longer sleeps, so that one may wait for seconds while others pass it.
Here each writer draws a number and waits until the one before it is done. A number is in use for as long as its owner
holds a lock on that byte of a file beside the store, and the kernel releases the lock when a process dies. The queue
only orders writers, SQLite excludes them: without a queue, writers wait as in any SQLite database.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

if sys.platform == "linux":
    import fcntl

__all__ = ["take_turn", "wait_turn"]

NAP = 0.0003
"""Seconds between two looks at whether it is one's turn."""
COUNTER = struct.Struct("<Q")
"""The beginning of the file: the number that was drawn last. The bytes behind it stand for the numbers."""
NUMBERS = 2**62
WRITING = COUNTER.size + NUMBERS
"""The byte that the one who writes holds."""
SLICE = 0.002
"""Seconds after its turn for which a process may write again at once, if nobody else writes at that moment. Others wait
a little longer, and far less time goes into handing over and into reading what the others wrote."""
slices: dict[str, float] = {}
"""Store -> when, on the clock of `monotonic`, the slice of this process ends."""
LOCK = struct.Struct("hhqqi0q")
"""`struct flock` on Linux: the kind of lock, 0, the first byte, how many bytes, 0."""


@contextmanager
def wait_turn(store: str, patience: float) -> Iterator[None]:
    """Wait for a turn to write to a store, at most `patience` seconds, and keep it while the block runs."""
    file = take_turn(store, patience)
    try:
        yield
    finally:
        if file is not None:
            os.close(file)


def take_turn(store: str, patience: float) -> int | None:
    """Wait for a turn to write to a store, at most `patience` seconds; return the file to close when it is over.

    It is None where there is no queue, such as in a folder that cannot be written to: SQLite says what is wrong.
    """
    return _take(store, time.monotonic() + patience) if sys.platform == "linux" else None


if sys.platform == "linux":

    def _take(store: str, deadline: float) -> int | None:
        file = None
        try:
            file = _opened(store)
            if time.monotonic() >= slices.get(store, 0.0) or not _won(file):
                _wait(file, deadline)
                slices[store] = time.monotonic() + SLICE
        except BaseException as error:
            if file is not None:
                os.close(file)
            if not isinstance(error, OSError):
                raise
            return None
        return file

    def _wait(file: int, deadline: float) -> None:
        """Draw a number and wait until it is its turn and nobody writes."""
        before = _drawn(file, deadline)
        while (_in_use(file, before) or not _won(file)) and time.monotonic() < deadline:
            time.sleep(NAP)

    def _won(file: int) -> bool:
        """Become the one who writes, if nobody is."""
        try:
            _lock(file, fcntl.F_WRLCK, WRITING)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _opened(store: str) -> int:
        """Open the file with the numbers, which has the mode of the store."""
        mode = stat.S_IMODE(os.stat(store).st_mode)
        file = os.open(f"{store}-queue", os.O_RDWR | os.O_CREAT, mode)
        if stat.S_IMODE(os.fstat(file).st_mode) != mode:
            with suppress(OSError):  # another user's
                os.fchmod(file, mode)
        return file

    def _drawn(file: int, deadline: float) -> int:
        """Draw the next number, which is in use from now on; return the one before."""
        while True:
            try:
                _lock(file, fcntl.F_WRLCK, 0, COUNTER.size)
                break
            except (BlockingIOError, PermissionError):
                if time.monotonic() >= deadline:
                    raise
                time.sleep(NAP)
        try:
            (last,) = COUNTER.unpack(os.pread(file, COUNTER.size, 0).ljust(COUNTER.size, b"\0"))
            before = int(last) % NUMBERS
            number = (before + 1) % NUMBERS
            _lock(file, fcntl.F_WRLCK, COUNTER.size + number)
            os.pwrite(file, COUNTER.pack(number), 0)
            return before
        finally:
            _lock(file, fcntl.F_UNLCK, 0, COUNTER.size)

    def _lock(file: int, kind: int, first: int, bytes: int = 1) -> None:
        """Take or release a lock that belongs to the open file, so that it also works between threads."""
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, LOCK.pack(kind, os.SEEK_SET, first, bytes, 0))

    def _in_use(file: int, number: int) -> bool:
        asked = LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, COUNTER.size + number, 1, 0)
        return bool(LOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0] != fcntl.F_UNLCK)
