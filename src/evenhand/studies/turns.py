"""Whose turn it is to write to a file that several processes share: first come, first served.

SQLite has waiting writers try again after ever longer sleeps, so that one may wait for seconds while others pass it.
Here each writer draws a number and waits until the one before it is done. A number is in use for as long as its owner
holds a lock on that byte of a file beside the store, and the kernel lets go of the lock when a process dies. The queue
only orders, SQLite excludes: where there is no queue, writers wait as SQLite has them wait.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

if sys.platform == "linux":
    import fcntl

__all__ = ["queued"]

NAP = 0.0003
"""Seconds between two looks at whether it is one's turn."""
COUNTER = struct.Struct("<Q")
"""The beginning of the file: the number that was drawn last. The bytes behind it stand for the numbers."""
NUMBERS = 2**62
LOCK = struct.Struct("hhqqi0q")
"""`struct flock` on Linux: the kind of lock, 0, the first byte, how many bytes, 0."""


@contextmanager
def queued(store: str, patience: float) -> Iterator[None]:
    """Wait for one's turn to write to a store, at most `patience` seconds, and keep it while the block runs."""
    with ExitStack() as held:
        if sys.platform == "linux":
            with suppress(OSError):  # such as a folder that cannot be written to: SQLite says what is wrong
                held.enter_context(_turn(store, time.monotonic() + patience))
        yield


if sys.platform == "linux":

    @contextmanager
    def _turn(store: str, deadline: float) -> Iterator[None]:
        file = _opened(store)
        try:
            before, number = _drawn(file, deadline)
            try:
                while _in_use(file, before) and time.monotonic() < deadline:
                    time.sleep(NAP)
                yield
            finally:
                _lock(file, fcntl.F_UNLCK, COUNTER.size + number)
        finally:
            os.close(file)

    def _opened(store: str) -> int:
        """Open the file with the numbers, which has the mode of the store."""
        mode = stat.S_IMODE(os.stat(store).st_mode)
        file = os.open(f"{store}-queue", os.O_RDWR | os.O_CREAT, mode)
        if stat.S_IMODE(os.fstat(file).st_mode) != mode:
            with suppress(OSError):  # another user's
                os.fchmod(file, mode)
        return file

    def _drawn(file: int, deadline: float) -> tuple[int, int]:
        """Return the last number and the next one, which is in use from now on."""
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
            return before, number
        finally:
            _lock(file, fcntl.F_UNLCK, 0, COUNTER.size)

    def _lock(file: int, kind: int, first: int, bytes: int = 1) -> None:
        """Take or let go of a lock that belongs to the open file, so that threads are told apart as processes are."""
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, LOCK.pack(kind, os.SEEK_SET, first, bytes, 0))

    def _in_use(file: int, number: int) -> bool:
        asked = LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, COUNTER.size + number, 1, 0)
        return bool(LOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0] != fcntl.F_UNLCK)
