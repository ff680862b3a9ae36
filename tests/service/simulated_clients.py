"""Clients of a simulated service: they ask and tell, with keys and without, and try again where no answer comes."""

from __future__ import annotations

from typing import Any

from tests.service.simulated_requests import Call

__all__ = ["Client"]

CALLS = {"ask": 4, "ask_many": 2, "ask_shared": 2, "ask_batch": 1, "tell": 6, "tell_batch": 2, "forget": 1, "read": 3}
READINGS = ["/studies/s", "/studies/s", "/studies/s/audit", "/readyz", "/studies"]
ATTEMPTS = 4
TWICE = 0.08
"""How often a request arrives a second time."""
BESIDE = 0.3
"""How often a client sends another request at the same time, whose answer it does not wait for."""
LOST = 0.1
"""How often an answer does not arrive."""


class Client:
    """Sends so many requests, one after another, each to any instance."""

    def __init__(self, service: Any, number: int, requests: int) -> None:
        self._service, self._number, self._requests = service, number, requests
        self._chance, self._book = service.chance, service.book
        self._keys = 0

    def run(self) -> None:
        for _ in range(self._requests):
            call = self._some_call()
            if self._chance.random() < BESIDE and (beside := self._some_call()) is not None:
                self._service.send(beside)
            for _ in range(ATTEMPTS):
                if call is None or self._answered(call):
                    break
                self._service.scheduler.sleep(self._chance.random())

    def _some_call(self) -> Call | None:
        call: Call | None = getattr(self, self._chance.choices([*CALLS], [*CALLS.values()])[0])()
        return call

    def _answered(self, call: Call) -> bool:
        """Send a request, and return whether an answer came that needs no other attempt."""
        delivery = self._service.send(call)
        if delivery is None:
            return False
        if self._chance.random() < TWICE:
            self._service.send(call)
        self._service.scheduler.wait(lambda: delivery.over, self._chance.choice([0.1, 1.0, 60.0]))
        if delivery.answered:
            return delivery.status not in (408, 503) and self._chance.random() > LOST
        if self._chance.random() < 0.5:
            delivery.gone = True
            if self._chance.random() < 0.5:
                delivery.cancel()
        return False

    # ------------------------------------------------------------------ requests

    def ask(self) -> Call:
        """Ask for one decision, mostly under a key of this client."""
        key = self._key() if self._chance.random() < 0.6 else None
        return self._new("ask", {}, key, [(key, 0)])

    def ask_many(self) -> Call:
        key, count = self._key(), self._chance.choice([2, 3])
        return self._new("ask", {"count": count}, key, [(key, number) for number in range(count)])

    def ask_shared(self) -> Call:
        """Ask under a key that others use at the same time."""
        key = self._chance.choice("kl")
        return self._new("ask", {}, key, [(key, 0)])

    def ask_batch(self) -> Call:
        keys = [self._key(), self._chance.choice("kl"), self._key()]
        return self._new("ask", {"batch": [{"key": key} for key in keys]}, None, [(key, 0) for key in keys])

    def tell_batch(self) -> Call | None:
        return self.tell(3)

    def tell(self, most: int = 1) -> Call | None:
        known = sorted(self._book.signed)
        tickets = self._chance.sample(known, min(most, len(known)))
        book = self._book
        rows = [{"ticket": book.signed[one], "reward": book.reward(one, self._chance)} for one in tickets]
        if not rows:
            return None
        return self._new("tell", rows[0] if most == 1 else {"batch": rows}, tickets=tickets)

    def forget(self) -> Call | None:
        known = sorted(self._book.signed)
        if not known:
            return None
        ticket = self._chance.choice(known)
        self._book.forgotten.add(ticket)
        return self._new("forget", {"ticket": self._book.signed[ticket]}, tickets=[ticket])

    def read(self) -> Call:
        path = self._chance.choice(READINGS)
        seen = self._book.tags if path == "/studies/s" and self._chance.random() < 0.5 else {}
        return self._service.call(Call(0, "GET", path, tag=next(reversed(seen), None)))

    def _key(self) -> str:
        self._keys += 1
        return f"c{self._number}-{self._keys}"

    def _new(self, verb: str, *given: Any, **more: Any) -> Call:
        return self._service.call(Call(0, "POST", f"/studies/s/{verb}", *given, **more))
