"""Connections of a store that are kept between two uses: to have the pool hand one out takes longer than a short
transaction."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, event

__all__ = ["BEGIN", "USED", "Connections"]

MOST = 4
"""How many connections are kept; further ones go back to the pool."""
BEGIN, USED = "evenhand_begin", "evenhand_used"
"""In the `info` of a connection: the statement that begins a transaction, None for none; when it was used last."""


class Connections:
    """The connections of an engine that nobody uses at the moment; they end when the engine is disposed of."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: list[Connection] = []
        event.listen(engine, "engine_disposed", self._drop)

    @contextmanager
    def take(self, begin: str | None, idle: float) -> Iterator[Connection]:
        """Provide a connection; it is kept for the next use unless the block raises.

        Parameters
        ----------
        begin : the statement that begins a transaction.
        idle : seconds after which an unused connection is handed out by the pool, which tests it.
        """
        connection = self._last() or self._engine.connect()
        if time.monotonic() - connection.info.get(USED, math.inf) > idle:
            connection.close()
            connection = self._engine.connect()
        info = connection.info
        info[BEGIN] = begin
        try:
            yield connection
            if connection.in_transaction():
                connection.rollback()
        except BaseException:
            info[BEGIN] = None
            connection.close()
            raise
        info[BEGIN], info[USED] = None, time.monotonic()
        if len(self._kept) < MOST:
            self._kept.append(connection)
        else:
            connection.close()

    def _last(self) -> Connection | None:
        try:
            return self._kept.pop()
        except IndexError:  # or another thread took it
            return None

    def _drop(self, engine: Engine) -> None:
        while connection := self._last():
            connection.invalidate()
            connection.close()
