"""Requests of simulated clients, how they arrive at an instance, and a book of what was answered to them."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Book", "Broken", "Call", "Delivery"]

NOTHING = "nothing was done"
"""What a refusal says that comes before anything is written."""
CLOSED = ("ContradictionError", "ClosedTicketError")


class Broken(AssertionError):
    """What was promised and did not hold."""


@dataclass(eq=False)
class Call:
    """A request that a client sends, once or several times.

    Attributes
    ----------
    named : the key and the number under it of each decision that is asked for, the key None for none.
    tickets : those that are told or forgotten.
    tag : that of an earlier answer, if the client has it.
    """

    number: int
    method: str
    path: str
    body: dict[str, Any] | None = None
    key: str | None = None
    named: list[tuple[str | None, int]] = field(default_factory=list)
    tickets: list[int] = field(default_factory=list)
    tag: str | None = None
    deliveries: list[Delivery] = field(default_factory=list)


class Delivery:
    """A request as it arrives at an instance, with its answer."""

    def __init__(self, call: Call, instance: Any, book: Book) -> None:
        self.call, self.instance, self._book = call, instance, book
        self.name = f"{call.number}.{len(call.deliveries)}"
        call.deliveries.append(self)
        self.task: asyncio.Task[None] | None = None
        self.status, self.tag, self.parts = 0, "", [b""]
        self.known = len(book.asked), len(book.told)
        """How many decisions and reports were acknowledged before it was sent."""
        self.answered = self.ended = self.gone = self.cancelled = False
        """Whether the whole answer was sent, the application is done, the client went away, and it was cancelled."""

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.ended or bool(self.instance.dead)

    def arrive(self) -> None:
        """Begin to answer, on the loop of the instance, as a connection does."""
        answer = self.instance.app(self._described(), self._receive, self._send)
        self.task = self.instance.loop.create_task(answer)
        self.task.add_done_callback(self._end)

    @property
    def undone(self) -> bool:
        """Whether it was refused, and nothing was done."""
        late = self.status == 408  # the body did not arrive in time, as the process was suspended
        return self.answered and (late or (self.status == 503 and NOTHING in b"".join(self.parts).decode()))

    def cancel(self) -> None:
        """Cancel it where it is, as a server does that stops and waits no longer."""
        if self.task is not None and not self.ended:
            self.cancelled = self.task.cancel() or self.cancelled

    def _end(self, task: asyncio.Task[None]) -> None:
        self.ended = True
        if task.cancelled() and not self.cancelled:
            self._book.broken.append(f"request {self.name} was cancelled, and nobody had cancelled it")
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.instance.dead:
            self._book.broken.append(f"request {self.name} ended by {type(error).__name__}: {error}")

    def _described(self) -> dict[str, Any]:
        self._sent = json.dumps(self.call.body).encode() if self.call.body is not None else b""
        service = self.instance.service
        secret = service.reader if self.call.method == "GET" else service.key
        headers = {"host": "test", "authorization": f"Bearer {secret}", "x-request-id": self.name}
        if self.call.body is not None:
            headers |= {"content-type": "application/json", "content-length": str(len(self._sent))}
        if self.call.key is not None:
            headers["idempotency-key"] = self.call.key
        if self.call.tag is not None:
            headers["if-none-match"] = self.call.tag
        path = self.call.path
        known: dict[str, Any] = {"type": "http", "http_version": "1.1", "method": self.call.method, "path": path}
        known |= {"raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http"}
        known |= {"headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
        return known | {"client": ("10.0.0.1", 1234), "server": ("test", 80)}

    async def _receive(self) -> dict[str, Any]:
        """Return the body, at times in two parts and late."""
        if self.gone or self._sent is None:
            return {"type": "http.disconnect"}
        chance = self.instance.world.chance
        if len(self._sent) > 1 and chance.random() < 0.1:
            part, self._sent = self._sent[:1], self._sent[1:]
            return {"type": "http.request", "body": part, "more_body": True}
        if chance.random() < 0.1:
            await asyncio.sleep(chance.random())
        part, self._sent = self._sent, None
        return {"type": "http.request", "body": part, "more_body": False}

    async def _send(self, message: dict[str, Any]) -> None:
        if self.instance.world.chance.random() < 0.1:
            await asyncio.sleep(0)
        if self.gone or self.instance.dead:
            return
        if message["type"] == "http.response.start":
            self.status, self.tag = message["status"], dict(message["headers"]).get(b"etag", b"").decode()
        else:
            self.parts.append(message.get("body", b""))
            if not message.get("more_body"):
                self.answered = True
                self._book.note(self)


class Book:
    """What was asked for, and what was acknowledged."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.calls: list[Call] = []
        self.asked: dict[int, str] = {}
        self.told: dict[int, float] = {}
        self.signed: dict[int, str] = {}
        self.keyed: dict[tuple[str, int], int] = {}
        self.keyless: set[int] = set()
        self.rewards: dict[int, set[float]] = defaultdict(set)
        """The rewards that somebody sent for a ticket."""
        self.forgotten: set[int] = set()
        """Tickets that somebody wanted to forget."""
        self.first_told: Counter[int] = Counter()
        """How often it was answered that a report is the first one."""
        self.refused: list[tuple[int, float | None]] = []
        """Tickets that were said to be closed, with the reward that was told, None where it was to be forgotten."""
        self.unsure: set[int] = set()
        """Tickets of which a report failed in a batch: it may have been saved."""
        self.shown: list[tuple[int, int]] = []
        """The decisions and reports that views have shown."""
        self.tags: dict[str, tuple[int, int]] = {}
        """The same by the tags of these views."""
        self.broken: list[str] = []

    def reward(self, ticket: int, chance: random.Random) -> float:
        """Return the reward to be told of a ticket, at times another one than before."""
        sent = sorted(self.rewards[ticket])
        reward = sent[0] if sent and chance.random() < 0.9 else chance.choice([0.0, 0.5, 1.0])
        self.rewards[ticket].add(reward)
        return reward

    def note(self, delivery: Delivery) -> None:
        """Note an answer; one that must not be is found here."""
        call, status, text = delivery.call, delivery.status, b"".join(delivery.parts)
        try:
            if status == 304:
                said = self._unchanged(delivery)
            else:
                body = json.loads(text)
                said = body["error"]["message"] if status >= 400 else self._noted(delivery, body)
        except Broken as broken:
            self.broken.append(f"request {delivery.name}: {broken}")
            return
        self.log.append(f"  {delivery.name} {status} {said}")
        if status == 409 and call.tickets:
            self.refused.append((call.tickets[0], (call.body or {}).get("reward")))
        elif status not in (200, 304, 408, 503):
            self.broken.append(f"request {delivery.name} was answered {status}: {text.decode()}")

    def _noted(self, delivery: Delivery, body: dict[str, Any]) -> str:
        call = delivery.call
        if call.named:
            rows = body.get("decisions", [body])
            return " ".join(self._row(*named, row) for named, row in zip(call.named, rows, strict=True))
        if call.tickets:
            rows = body.get("results", [body])
            return " ".join(self._reported(call, i, row) for i, row in enumerate(rows))
        self._viewed(delivery, body)
        return ""

    # ------------------------------------------------------------------ decisions and reports

    def _row(self, key: str | None, number: int, row: dict[str, Any]) -> str:
        if "error" in row:
            return self._failed(row["error"], [])
        self.signed[row["id"]] = row["ticket"]
        return self.decided(key, number, row["id"], row["arm"])

    def decided(self, key: str | None, number: int, ticket: int, arm: str) -> str:
        """Note a decision."""
        if key is None:
            if ticket in self.asked:
                raise Broken(f"ticket {ticket} was handed out twice")
            self.keyless.add(ticket)
        elif self.keyed.setdefault((key, number), ticket) != ticket:
            raise Broken(f"decision {number} under {key} was {self.keyed[key, number]}, and is now {ticket}")
        if self.asked.setdefault(ticket, arm) != arm:
            raise Broken(f"ticket {ticket} was for {self.asked[ticket]}, and is now for {arm}")
        return f"{ticket} {arm}"

    def _reported(self, call: Call, i: int, row: dict[str, Any]) -> str:
        ticket, reward = call.tickets[i], (call.body or {}).get("batch", [call.body])[i].get("reward")
        if "error" in row:
            if row["error"]["name"] in CLOSED:
                self.refused.append((ticket, reward))
                return str(row["error"]["name"])
            return self._failed(row["error"], [ticket])
        if call.path.endswith("/tell"):
            self.reported(ticket, reward, row["status"])
        return f"{ticket} {row['status']}"

    def reported(self, ticket: int, reward: float, status: str) -> None:
        """Note a report."""
        if self.told.setdefault(ticket, reward) != reward:
            raise Broken(f"ticket {ticket} was told {self.told[ticket]}, and then {reward}")
        self.first_told[ticket] += status == "told"

    def _failed(self, error: dict[str, str], tickets: list[int]) -> str:
        """Return why a row of a batch failed."""
        if error["name"] != "StoreError":
            raise Broken(f"a row was refused: {error}")
        self.unsure.update(tickets)
        return error["name"]

    # ------------------------------------------------------------------ views

    def _viewed(self, delivery: Delivery, body: dict[str, Any]) -> None:
        """Check what a view shows: all that was acknowledged before it was asked for, and a promise that is kept."""
        problems = body.get("problems", [])
        if problems:
            raise Broken(f"the audit found {problems}")
        if isinstance(body.get("promise"), dict) and body["promise"]["kept"] is not True:
            raise Broken("the promise was not kept")
        row = next(iter(body["studies"]), {}) if isinstance(body.get("studies"), list) else body
        if "decisions" in row:
            seen = row["decisions"], row["told"]
            if any(known > shown for known, shown in zip(delivery.known, seen, strict=True)):
                raise Broken(f"a view shows {seen} decisions and reports, and {delivery.known} were acknowledged")
            self.shown.append(seen)
            if delivery.tag:
                self.tags.pop(delivery.tag, None)
                self.tags[delivery.tag] = seen

    def _unchanged(self, delivery: Delivery) -> str:
        seen = self.tags[delivery.call.tag or ""]
        if any(known > shown for known, shown in zip(delivery.known, seen, strict=True)):
            raise Broken(f"nothing is said to have changed since {seen}, and {delivery.known} were acknowledged")
        return "unchanged"
