"""Admission: the key of a request, whether its role allows the route, and how many requests it may send."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from starlette.types import Scope

from evenhand.service.errors import Refusal
from evenhand.service.jobs import run_detached
from evenhand.service.limits.limits import Buckets, header
from evenhand.studies.keys import ALLOWED, Key, Ring, Role, passing_key, read_keys
from evenhand.studies.store.store import Store

__all__ = ["DOING", "Admission", "Guard"]

DOING: dict[Role, str] = {"decide": "deciding", "report": "reporting", "read": "reading", "admin": "administering"}
VERBS: dict[Role, str] = {"admin": "administer"}
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="evenhand"'}


class Guard:
    """Knows the keys of a store, reads them again after `age` seconds, and has a key of its own for the page.

    Parameters
    ----------
    page : the text of a key with the role read that lives as long as the service.
    """

    def __init__(
        self,
        store: Store,
        page: str | None = None,
        *,
        age: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store, self._age, self._clock, self._now = store, age, clock, now
        self._page = [] if page is None else [passing_key(page, "the page")]
        self._ring = Ring(self._page)
        self._read = -float("inf")
        self._reading: asyncio.Task[None] | None = None

    async def admit(self, authorization: bytes | None, role: Role) -> Key:
        """Return the key that an `Authorization` header holds; read the keys again if they are old.

        Raises
        ------
        Refusal
            401 without a valid key, or after its end; 403 if it has another role.
        """
        if authorization is None:
            raise Refusal(401, "no key; send the header Authorization: Bearer KEY", headers=CHALLENGE)
        text = _text_of(authorization)
        if self._clock() - self._read > self._age:
            await self._refresh()
        key = self._ring.holder(text)
        if key is None:
            raise Refusal(401, "the key is unknown or revoked", headers=CHALLENGE)
        if key.expires is not None and key.expires <= self._now():
            raise Refusal(
                401, f"the key expired at {key.expires:%Y-%m-%d %H:%M:%S} UTC; get a new one", headers=CHALLENGE
            )
        if role not in ALLOWED[key.role]:
            may = " and ".join(VERBS.get(one, one) for one in ALLOWED[key.role])
            raise Refusal(403, f"this key may {may}; {DOING[role]} needs a key with the role {role}")
        return key

    def expire(self) -> None:
        """Read the keys again at the next request."""
        self._read = -float("inf")

    async def _refresh(self) -> None:
        """Read the keys on a thread; requests that arrive meanwhile wait for the same read."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._load())
        await asyncio.shield(self._reading)

    async def _load(self) -> None:
        keys = await run_detached(lambda: read_keys(self._store))
        self._ring = Ring([*self._page, *keys])
        self._read = self._clock()


def _text_of(authorization: bytes) -> str:
    scheme, _, text = authorization.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise Refusal(401, "wanted the header Authorization: Bearer KEY", headers=CHALLENGE)
    return text.strip()


class Admission:
    """Decides which requests may go on.

    Parameters
    ----------
    keys, strangers : limits of the requests of a key, and of an address without a valid key.
    """

    def __init__(self, guard: Guard, keys: Buckets, strangers: Buckets) -> None:
        self.guard, self._keys, self._strangers = guard, keys, strangers

    async def admit(self, scope: Scope, role: Role | None, *, limited: bool = True) -> None:
        """Let a request to a route of a role pass, and note its key and the key's id in the scope.

        Raises
        ------
        Refusal
            401 or 403 without a valid key of the role, 429 if requests come too fast.
        """
        if role is not None:
            key = await self.guard.admit(header(scope, b"authorization"), role)
            scope["key"], scope["admitted"] = key.id, key
            self._keys.take(key.id)
        elif limited:
            self.stranger(scope)

    def stranger(self, scope: Scope) -> None:
        """Count a request of an address without a valid key.

        Raises
        ------
        Refusal
            429 if requests come too fast.
        """
        client = scope.get("client")
        self._strangers.take(client[0] if client else "")
