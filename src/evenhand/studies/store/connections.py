"""Connections of a store that are kept between two uses: to have the pool hand one out takes longer than a short
transaction."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import SQLAlchemyError

from evenhand.studies.store.server import commit, driver_of
from evenhand.studies.store.turns import take_turn

__all__ = ["BEGIN", "USED", "Connections", "Use"]

MOST = 4
"""How many connections are kept; further ones go back to the pool."""
BEGIN, USED = "evenhand_begin", "evenhand_used"
"""In the `info` of a connection: the statement that begins a transaction, None for none; when it was used last."""


class Connections:
    """The connections of an engine that nobody uses at the moment; they end when the engine is disposed of.

    Parameters
    ----------
    turn : a lock that every use holds, such as an `RLock`; None for none.
    queue : the file whose writers take turns; None for none.
    refused : gives the error to raise in place of one of the database, None for no other.
    """

    def __init__(
        self,
        engine: Engine,
        turn: Any,
        queue: str | None,
        refused: Callable[[BaseException], Exception | None],
    ) -> None:
        self.engine, self.turn, self.queue, self.refused = engine, turn, queue, refused
        self.serial = engine.dialect.name == "sqlite"
        self._kept: list[tuple[Connection, float]] = []
        event.listen(engine, "engine_disposed", self._drop)

    def take(self, idle: float) -> Connection:
        """Return a connection for one use.

        Parameters
        ----------
        idle : seconds after which an unused connection is handed out by the pool, which tests it.
        """
        last = self._last()
        if last is None:
            return self.engine.connect()
        connection, used = last
        if time.monotonic() - used > idle:
            connection.info[USED] = used
            connection.close()
            return self.engine.connect()
        return connection

    def give(self, connection: Connection) -> None:
        """Keep a connection for the next use."""
        if len(self._kept) < MOST:
            self._kept.append((connection, time.monotonic()))
        else:
            connection.info[USED] = time.monotonic()
            connection.close()

    def _last(self) -> tuple[Connection, float] | None:
        try:
            return self._kept.pop()
        except IndexError:  # or another thread took it
            return None

    def _drop(self, engine: Engine) -> None:
        while last := self._last():
            last[0].invalidate()
            last[0].close()


class Use:
    """One use of a connection for one transaction, as a context manager.

    It is a class because context managers made of generators cost a short transaction a tenth of its time.

    Parameters
    ----------
    begin : the statement that begins the transaction, None if the block executes one with its first statement.
    idle : see `Connections.take`.
    patience : seconds to wait for one's turn to write; None to read, which leaves nothing behind.
    """

    __slots__ = ("_begin", "_connection", "_connections", "_idle", "_info", "_patience", "_queue")

    def __init__(self, connections: Connections, begin: str | None, idle: float, patience: float | None = None) -> None:
        self._connections, self._begin, self._idle, self._patience = connections, begin, idle, patience
        self._connection: Connection | None = None
        self._info: dict[Any, Any] = {}
        self._queue: int | None = None

    def __enter__(self) -> Connection:
        owner, writes = self._connections, self._patience is not None
        if owner.turn is not None:
            owner.turn.acquire()
        try:
            began = time.monotonic()
            if writes and owner.queue is not None:
                self._queue = take_turn(owner.queue, self._patience or 0.0)
            connection = self._connection = owner.take(self._idle)
            if self._begin is not None:
                self._info = connection.info
                self._info[BEGIN] = self._begin
                if writes:
                    self._begin_within(connection, time.monotonic() - began)
            return connection
        except BaseException as error:
            self._abandon(error)
            raise

    def _begin_within(self, connection: Connection, waited: float) -> None:
        """Begin to write; who has waited for a turn waits for the lock only for what is left of the same patience."""
        patience = self._patience or 0.0
        if waited < 1.0 or not self._connections.serial:
            connection.begin()
            return
        driver = driver_of(connection)
        driver.execute(f"PRAGMA busy_timeout = {max(1, round(1_000 * (patience - waited)))}")
        try:
            connection.begin()
        finally:
            driver.execute(f"PRAGMA busy_timeout = {round(1_000 * patience)}")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._abandon(error)
            return
        try:
            connection = self._end()
        except BaseException as failure:
            self._abandon(failure)
            raise
        try:
            self._connections.give(connection)
        finally:
            self._leave()

    def _end(self) -> Connection:
        """End the transaction, and return the connection as it was before."""
        connection = self._connection
        assert connection is not None
        if connection.in_transaction():
            if self._patience is None:
                connection.rollback()
            else:
                connection.commit()
        elif not self._connections.serial:
            commit(driver_of(connection))
        self._info[BEGIN] = None
        return connection

    def _abandon(self, error: BaseException) -> None:
        """Undo the transaction, and raise an error of the database as one of the store."""
        self._info[BEGIN] = None
        refusal = self._connections.refused(error)
        try:
            if self._connection is not None:
                self._undo(self._connection, refusal is not None)
        finally:
            self._leave()
        if refusal is not None:
            raise refusal from error

    def _undo(self, connection: Connection, refused: bool) -> None:
        """Undo the transaction; of a server that refused something, or is gone, the connection is not used again."""
        if refused and not self._connections.serial:
            connection.invalidate()
        with suppress(SQLAlchemyError):  # nothing is left to be undone where the server stopped
            connection.close()

    def _leave(self) -> None:
        """Let others write."""
        if self._queue is not None:
            os.close(self._queue)  # releases its locks
            self._queue = None
        if self._connections.turn is not None:
            self._connections.turn.release()
