"""Receipts: that one decision, with its chance, stands at its place of a root, without anything else of the log."""

from __future__ import annotations

import base64
import threading
from typing import Any

from evenhand.arguments import whole
from evenhand.errors import ArgumentError, expected
from evenhand.studies.log.codec import from_text
from evenhand.studies.log.reader import Reader
from evenhand.studies.proofs.files import begin_proof
from evenhand.studies.proofs.verify import drawn, sha

SIZE = 32
"""Bytes of a digest."""


class Receipts:
    """The tree of a log in memory, 64 bytes for each entry, which follows the log when a receipt is asked for."""

    def __init__(self, log: Reader) -> None:
        self._log, self._lock = log, threading.Lock()
        self._count = begin_proof(log)
        self._levels = [bytearray()]
        """The nodes over 1, 2, 4, ... leaves, as far as they are complete."""
        self._grow()

    def of(self, *, ticket: Any = None, key: str | None = None, entries: int | None = None) -> dict[str, Any]:
        """Return the receipt of a decision, and with it the checkpoint of the log as it is now, unless the receipt is
        for an earlier one.

        Parameters
        ----------
        ticket, key : the decision's ticket, or the key under which it was asked for; one of them.
        entries : of the checkpoint by which the receipt will be checked; None for one of now.

        Raises
        ------
        ArgumentError
            If neither or both are given, or there were not so many entries, or the decision came after them.
        UnknownTicketError
            If there is no such decision.
        """
        if (ticket is None) == (key is None):
            raise ArgumentError(expected("key, ticket", "one of them", ticket))
        asked = self._log.asked(ticket, key)
        with self._lock:
            for entry in self._log.entries(self._count.sequence):
                self._count.take(entry)
                self._grow()
            assert self._count.proof is not None
            log = self._count.proof.log
            last = log.sequence if entries is None else whole("entries", entries, low=asked.sequence, high=log.sequence)
            played, chance, _ = drawn(from_text(asked.decision))
            arms = [log.arms[arm] for arm in played if arm < len(log.arms)]
            path = b"".join(self._path(asked.sequence, 0, last + 1))
            return {
                "study": log.study,
                "entry": asked.sequence,
                "entries": last,
                "ticket": asked.ticket,
                "at": asked.at,
                "positions": played,
                "arms": arms,
                "chance": chance,
                "digest": asked.digest,
                "path": base64.b64encode(path).decode(),
                "checkpoint": log.checkpoint() if entries is None else None,
            }

    def _grow(self) -> None:
        """Put the leaf of the last entry into the tree."""
        assert self._count.proof is not None
        node, level = bytes.fromhex(self._count.proof.log.leaf), 0
        while True:
            self._levels[level] += node
            if len(self._levels[level]) // SIZE % 2:
                return
            node, level = sha(b"\x01", bytes(self._levels[level][-2 * SIZE :])), level + 1
            if level == len(self._levels):
                self._levels.append(bytearray())

    def _path(self, leaf: int, start: int, end: int) -> list[bytes]:
        """Return the nodes beside a leaf among those from `start` to before `end`, from the leaf up."""
        if end - start == 1:
            return []
        middle = start + _left(end - start)
        if leaf < middle:
            return [*self._path(leaf, start, middle), self._head(middle, end)]
        return [*self._path(leaf, middle, end), self._head(start, middle)]

    def _head(self, start: int, end: int) -> bytes:
        """Return the node over the leaves from `start` to before `end`."""
        size = end - start
        if size & (size - 1) == 0:
            level, at = size.bit_length() - 1, start // size * SIZE
            return bytes(self._levels[level][at : at + SIZE])
        middle = start + _left(size)
        return sha(b"\x01", self._head(start, middle), self._head(middle, end))


def _left(size: int) -> int:
    """Return how many of so many leaves the left part of a tree has: the largest power of two below."""
    return 1 << (size - 1).bit_length() - 1
