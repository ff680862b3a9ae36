"""Admission: the key of a request, and whether its role allows the route."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from starlette.types import Scope

from evenhand.service.bodies import header
from evenhand.service.errors import HttpRefusal
from evenhand.service.jobs import Recent
from evenhand.studies.keys import ALLOWED, Key, Ring, Role, passing_key, read_keys
from evenhand.studies.store.store import Store

DOING: dict[Role, str] = {"decide": "deciding", "report": "reporting", "read": "reading"}
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="evenhand"'}


class Guard:
    """Knows the keys of a store, as they were at most a second ago, and has a key of its own for the page.

    Parameters
    ----------
    page : the text of a key with the role read that lives as long as the service.
    """

    def __init__(
        self, store: Store, page: str | None = None, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        own = [] if page is None else [passing_key(page, "the page")]
        self.ring, self._now = Recent(lambda: Ring([*own, *read_keys(store)])), now

    async def admit(self, scope: Scope, role: Role | None) -> None:
        """Let a request to a route of a role pass, and note its key and the key's id in the scope.

        Raises
        ------
        HttpRefusal
            As `holder` does; a route without a role needs no key.
        """
        if role is not None:
            key = await self.holder(header(scope, b"authorization"), role)
            scope["key"], scope["admitted"] = key.id, key

    async def holder(self, authorization: bytes | None, role: Role) -> Key:
        """Return the key that an `Authorization` header holds; read the keys again if they are old.

        Raises
        ------
        HttpRefusal
            401 without a valid key, or after its end; 403 if it has another role.
        """
        if authorization is None:
            raise HttpRefusal(401, "no key; send the header Authorization: Bearer KEY", headers=CHALLENGE)
        text = _text_of(authorization)
        key = (await self.ring.result()).holder(text)
        if key is None:
            raise HttpRefusal(401, "the key is unknown or revoked", headers=CHALLENGE)
        if key.expires is not None and key.expires <= self._now():
            raise HttpRefusal(
                401, f"the key expired at {key.expires:%Y-%m-%d %H:%M:%S} UTC; get a new one", headers=CHALLENGE
            )
        if role not in ALLOWED[key.role]:
            may = " and ".join(ALLOWED[key.role])
            raise HttpRefusal(403, f"this key may {may}; {DOING[role]} needs a key with the role {role}")
        return key


def _text_of(authorization: bytes) -> str:
    scheme, _, text = authorization.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise HttpRefusal(401, "expected the header Authorization: Bearer KEY", headers=CHALLENGE)
    return text.strip()
