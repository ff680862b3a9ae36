"""Group commit: one thread per study runs all waiting operations in one transaction, and answers after it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.service.errors import busy
from evenhand.studies import Study

FEW = 10
"""Operations of a request for which a tenth of the queue is kept free of batches."""


class _Waiting:
    """A request: its operations in the next transaction, those left for later ones, and the outcomes so far."""

    def __init__(
        self, operations: Sequence[Any], loop: asyncio.AbstractEventLoop, answer: Callable[[Any], None]
    ) -> None:
        self.operations: Sequence[Any] = ()
        self.left, self.loop, self.answer = operations, loop, answer
        self.outcomes: list[Any] = []


class Writer:
    """The one thread that writes to a study; it starts with the first operations, so that reading needs none.

    Parameters
    ----------
    study : the study that runs the operations.
    most : the most operations in one transaction, which bounds how long a new operation waits. Every request that waits
        has a fair share of the next transaction, so that a large batch takes several, and holds up nobody.
    queue : the most operations that may wait; further ones are refused with 503.
    first : called on the thread before everything else.
    """

    def __init__(
        self, study: Study, *, most: int = 1000, queue: int = 50_000, first: Callable[[], None] | None = None
    ) -> None:
        self.study, self._most, self._capacity, self._first = study, most, queue, first
        self._queue: deque[_Waiting] = deque()
        self._waiting = 0
        self._woken = False
        self._lock, self._arrived = threading.Lock(), threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._write, name="evenhand writer", daemon=True)

    def start(self) -> None:
        """Start the thread, if it has not been started."""
        with self._lock:
            if self._thread.ident is None and not self._stopping:
                self._thread.start()

    async def run(self, operations: Sequence[Any]) -> list[Any]:
        """Return the outcomes of the operations once they are committed, see `submit`."""
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.submit(operations, partial(_settle, answer))
        return await answer

    def check_room(self, count: int) -> None:
        """Refuse so many operations if too many wait.

        Raises
        ------
        HttpRefusal
            503, with the seconds until the next attempt in `Retry-After`.
        """
        # The last tenth is kept for small requests: otherwise bulk uploads would fill the queue, and every single ask
        # would be refused until they are done.
        room = self._capacity if count <= FEW else self._capacity * 9 // 10
        if self._waiting + count > max(room, count):
            raise busy("too many operations wait; nothing was done: try again", 1)

    def submit(self, operations: Sequence[Any], answer: Callable[[Any], None]) -> None:
        """Have operations run; call `answer` in this event loop with the outcomes, or with why there are none.

        Raises
        ------
        HttpRefusal
            503 if too many operations wait, or the service is stopping.
        """
        if self._thread.ident is None:
            self.start()
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._stopping:
                raise busy("the service is stopping; nothing was done: try again", 2)
            self.check_room(len(operations))
            self._queue.append(_Waiting(operations, loop, answer))
            self._waiting += len(operations)
            sleeping, self._woken = not self._woken, True
        if sleeping:  # once the loop has read all requests that arrived together
            loop.call_soon(self._arrived.set)

    def stop(self, timeout: float | None = None) -> None:
        """Accept no more operations, run and answer those accepted, and end the thread."""
        with self._lock:
            # Under the lock: a request is either in the queue by now, and is answered, or is refused. None is lost.
            self._stopping = True
        self._arrived.set()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def _write(self) -> None:
        if self._first is not None:
            self._first()
        while group := self._next():
            done = self._ended(_run(self.study, group))
            # Answer only after the commit: otherwise a client could hold a decision that a crash has undone.
            # See test_an_answer_comes_only_after_the_commit.
            loops = {waiting.loop for waiting, _ in done}
            for loop in loops:
                mine = [(waiting.answer, outcome) for waiting, outcome in done if waiting.loop is loop]
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_answer, loop, mine)

    def _next(self) -> list[_Waiting]:
        """Wait for operations and return as many as fit into one transaction; none once the writer stops.

        The lock is not held by a thread that wakes up, since the loop would wait for it as long as that takes.
        """
        while True:
            with self._lock:
                if self._queue or self._stopping:
                    return self._take()
                self._woken = False
                self._arrived.clear()
            self._arrived.wait()

    def _take(self) -> list[_Waiting]:
        """Take the first requests, each with its share: what the smaller ones leave is divided among the larger."""
        group = [self._queue.popleft() for _ in range(min(self._most, len(self._queue)))]
        room = self._most
        for others, waiting in zip(range(len(group), 0, -1), sorted(group, key=lambda one: len(one.left)), strict=True):
            share = room // others
            waiting.operations, waiting.left = waiting.left[:share], waiting.left[share:]
            room -= len(waiting.operations)
        self._waiting -= self._most - room
        return group

    def _ended(self, done: list[tuple[_Waiting, Any]]) -> list[tuple[_Waiting, Any]]:
        """Queue requests again of which operations are left; return the others with all their outcomes."""
        ended = []
        with self._lock:
            for waiting, outcome in done:
                if isinstance(outcome, BaseException):
                    self._waiting -= len(waiting.left)
                    ended.append((waiting, outcome))
                elif waiting.left:
                    waiting.outcomes += outcome
                    self._queue.append(waiting)
                else:
                    ended.append((waiting, waiting.outcomes + outcome))
        return ended


def _run(study: Study, group: list[_Waiting]) -> list[tuple[_Waiting, Any]]:
    """Return the outcomes of each request in the group, or the error because of which none was run."""
    try:
        outcomes = study.run([operation for waiting in group for operation in waiting.operations])
    # The store refused the whole transaction: trying each request alone would wait for a dead store again and again.
    except EvenhandError as error:
        return [(waiting, error) for waiting in group]
    except Exception as error:
        if len(group) == 1:
            return [(group[0], error)]
        # The transaction was undone, so each request is tried alone: only the one with the defect fails.
        # See test_a_defect_hits_only_the_request_that_brings_it.
        return [done for waiting in group for done in _run(study, [waiting])]
    done, start = [], 0
    for waiting in group:
        end = start + len(waiting.operations)
        done.append((waiting, outcomes[start:end]))
        start = end
    return done


def _answer(loop: asyncio.AbstractEventLoop, done: list[tuple[Callable[[Any], None], Any]]) -> None:
    """Answer each request; one that cannot be answered holds up no other."""
    for answer, outcome in done:
        try:
            answer(outcome)
        except Exception as error:
            loop.call_exception_handler({"message": "an answer could not be sent", "exception": error})


def _settle(answer: asyncio.Future[list[Any]], outcome: Any) -> None:
    if answer.done():
        return
    if isinstance(outcome, BaseException):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
