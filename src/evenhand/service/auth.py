"""Admission: the key of a request, and whether its role allows the route."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

from starlette.types import Scope

from evenhand.service.bodies import header
from evenhand.service.errors import Refusal
from evenhand.service.jobs import run_detached
from evenhand.studies.keys import ALLOWED, Key, Ring, Role, passing_key, read_keys
from evenhand.studies.store.store import Store

DOING: dict[Role, str] = {"decide": "deciding", "report": "reporting", "read": "reading"}
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

    async def admit(self, scope: Scope, role: Role | None) -> None:
        """Let a request to a route of a role pass, and note its key and the key's id in the scope.

        Raises
        ------
        Refusal
            As `holder` does; a route without a role needs no key.
        """
        if role is not None:
            key = await self.holder(header(scope, b"authorization"), role)
            scope["key"], scope["admitted"] = key.id, key

    async def holder(self, authorization: bytes | None, role: Role) -> Key:
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
            may = " and ".join(ALLOWED[key.role])
            raise Refusal(403, f"this key may {may}; {DOING[role]} needs a key with the role {role}")
        return key

    async def _refresh(self) -> None:
        """Read the keys on a thread; requests that arrive meanwhile wait for the same read."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._load())
        # Without the shield, a client that hangs up would cancel the read for all who wait for it.
        await asyncio.shield(self._reading)

    async def _load(self) -> None:
        keys = await run_detached(lambda: read_keys(self._store))
        self._ring = Ring([*self._page, *keys])
        self._read = self._clock()


def _text_of(authorization: bytes) -> str:
    scheme, _, text = authorization.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise Refusal(401, "expected the header Authorization: Bearer KEY", headers=CHALLENGE)
    return text.strip()
