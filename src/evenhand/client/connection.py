"""What both clients know about a service: its addresses, the keys, the connections, and when a request is repeated.

Nothing here sends or waits: `Client` and `AsyncClient` do, and ask here after each attempt how to continue.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from evenhand.client.answers import refusal_of, unreadable
from evenhand.client.calls import Call, Role
from evenhand.errors import ArgumentError, ServiceError, expected
from evenhand.extras import optional
from evenhand.processes import refuse_copy, renew_in_child

if TYPE_CHECKING:
    import httpx

ALSO: Mapping[Role, tuple[str, ...]] = {"decide": ("both",), "report": ("both",), "read": ()}
"""The roles of keys that may do what a key of the role may, and more."""
FIRST, LONGEST = 0.1, 5.0
"""Seconds of the longest pause before the first repetition, doubled for each further one; and of any."""
CONNECTIONS = 100
"""Of a client at most, all kept alive: httpx closes those above, also one that another thread is about to use."""
PATIENCE = 30.0
"""Seconds: of a service that says to wait longer than this, the other addresses are tried, and then it is an error."""
AGAIN = (429, 502, 503, 504)
"""The statuses after which a request is repeated: too fast, and of services and proxies that are not ready."""
UNREAD = (408, 429)
"""The statuses of requests that nobody has read, so that whoever sends them again does nothing twice."""
LOCAL = re.compile(r"(.+\.)?localhost|127\.[0-9.]+|0\.0\.0\.0|::1")
"""The names and numbers of this machine."""


def import_httpx() -> Any:
    """Return httpx; refuse by the line that installs it where it is missing."""
    return optional("httpx", "evenhand.client", extra="client")


class Connection:
    """The addresses of a service, the keys for it, its connections, and when a request is repeated, and where.

    Parameters
    ----------
    url, key : one or several, taken from the environment, EVENHAND_URL and EVENHAND_KEY, where they are None.
    timeout : the seconds that each attempt may take.
    retries : how many times a request is repeated at most.
    seed : of the random parts of the pauses; None for new ones.
    kind : httpx's `Client` or `AsyncClient`.
    transport : an httpx transport in place of the network, or None.

    Raises
    ------
    ArgumentError
        If there is no address or no key, or one that cannot be used, or if the environment names a proxy that cannot.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None,
        key: str | Sequence[str] | None,
        timeout: float,
        retries: int,
        seed: int | None,
        kind: Any,
        transport: Any,
    ) -> None:
        self._httpx = import_httpx()
        self._urls = _checked_urls(os.environ.get("EVENHAND_URL", "") if url is None else url)
        self._place = 0
        self._keys = _checked_keys(os.environ.get("EVENHAND_KEY", "") if key is None else key)
        if not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
            raise ArgumentError(expected("timeout", "a number of seconds > 0", timeout))
        if not isinstance(retries, int) or retries < 0:
            raise ArgumentError(expected("retries", "a whole number >= 0", retries))
        self.timeout, self._retries = timeout, retries
        if not isinstance(seed, int | None):
            raise ArgumentError(expected("seed", "a whole number, or None", seed))
        self._seed, self._random = seed, random.Random(seed)
        self._kind, self._transport, self._process = kind, transport, os.getpid()
        self._clients: dict[asyncio.AbstractEventLoop | None, Any] = {None: self._made()}
        """httpx's client of each event loop, None where it is closed; under None, that of a client without asyncio, or
        of the first loop."""
        renew_in_child(self, Connection._forked)

    @property
    def url(self) -> str:
        """The address that answered last, or that is tried next."""
        return self._urls[self._place]

    def http(self) -> Any:
        """Return httpx's client of this process and event loop, in which alone its connections work.

        Raises
        ------
        ServiceError
            If it is closed here, or this process was forked and the client has a transport of its own.
        """
        loop = self._loop()
        if loop not in self._clients:
            for other in [one for one in list(self._clients) if one is not None and one.is_closed()]:
                self._clients.pop(other, None)
            self._clients.setdefault(loop, self._clients.pop(None, None) or self._made())
        found = self._clients[loop]
        if found is None:
            raise ServiceError("the client is closed; make a new one")
        return found

    def ended(self) -> list[Any]:
        """Return httpx's clients that can be closed here, once; here there is none from now on."""
        loop, unused = self._loop(), self._clients.pop(None, None)
        found = unused, self._clients.get(loop)
        self._clients[loop] = None
        return [one for one in found if one is not None]

    def _loop(self) -> asyncio.AbstractEventLoop | None:
        return asyncio.get_running_loop() if self._kind is self._httpx.AsyncClient else None

    def _made(self) -> Any:
        if self._transport is not None and self._process != os.getpid():
            raise ServiceError("a forked process cannot use the client's own transport; make a client in each process")
        given: dict[str, Any] = {"transport": self._transport}
        if self._is_direct() and self._transport is None:  # httpx would load a proxy, and certificates, without need
            plain = all(urlsplit(url).scheme == "http" for url in self._urls)
            given = {"trust_env": False, "verify": False if plain else self._httpx.create_ssl_context()}
        limits = self._httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        try:
            return self._kind(limits=limits, **given)
        except (ImportError, ValueError, self._httpx.InvalidURL) as error:
            hint = "set another, or name the service's host in NO_PROXY"
            raise ArgumentError(f"{_proxies()}: the proxy cannot be used: {error}; {hint}") from error

    def _is_direct(self) -> bool:
        """Return whether no proxy of the environment is used: the service is on this machine, or they leave it out."""
        hosts = [urlsplit(url).hostname or "" for url in self._urls]
        return self._transport is not None or all(LOCAL.fullmatch(host) or proxy_bypass(host) for host in hosts)

    def _forked(self) -> object:
        """Begin anew in a forked process; return the connections of its parent."""
        inherited = self._clients
        self._clients = {loop: one for loop, one in inherited.items() if one is None}
        if self._seed is None:
            self._random.seed()
        return inherited

    def __reduce__(self) -> NoReturn:
        refuse_copy(f"a client of {self.url}, and with it its studies,", "make one in each process")

    def request(self, call: Call) -> dict[str, Any]:
        """Return the arguments of httpx's `request`."""
        headers = {"Authorization": f"Bearer {key_for(call.role, self._keys)}"}
        if call.content is not None:
            headers["Content-Type"] = "application/json"
        if call.key is not None:
            headers["Idempotency-Key"] = call.key
        return {
            "method": call.method,
            "url": self.url + call.path,
            "content": call.content,
            "params": call.query or None,
            "headers": headers,
            "timeout": call.timeout or self.timeout,
        }

    def pause_after_error(self, call: Call, attempt: int, error: httpx.RequestError, sent: str) -> float:
        """Return the seconds to wait before a request is repeated whose response did not come.

        Parameters
        ----------
        sent : the address that it was sent to.

        Raises
        ------
        ServiceError
            If it is not repeated.
        """
        unsent = isinstance(error, (self._httpx.ConnectError, self._httpx.ConnectTimeout))
        again = call.repeatable or unsent
        self._leave(call, sent)
        if again and attempt <= self._retries:
            return self._backoff(attempt)
        said, proxies = str(error) or type(error).__name__, "" if self._is_direct() else _proxies()
        hint = "that the address is right" + (f", and that the proxy in {proxies} works" if proxies else "")
        raise _noted(
            ServiceError(
                f"no answer from the service at {' or '.join(self._urls)} after {_times(attempt)}: {said}; check that "
                f"it runs (`evenhand serve`) and {hint}"
            ),
            call,
            again,
        ) from error

    def pause_after_refusal(self, call: Call, attempt: int, response: httpx.Response, sent: str) -> float:
        """Return the seconds to wait before a request is repeated that the service did not serve.

        Parameters
        ----------
        sent : the address that it was sent to.

        Raises
        ------
        EvenhandError
            The error that the service answers, if the request is not repeated.
        """
        status, told = response.status_code, _seconds(response.headers)
        safe, long = call.repeatable or status in UNREAD, told > PATIENCE
        stays = status == 429 and not long
        if status in AGAIN and safe:
            if not stays:
                self._leave(call, sent)
            pause = self._backoff(attempt, stays=stays)
            if attempt <= self._retries and not (long and pause):
                return told + pause if pause else 0.0
        raise _noted(refusal_of(status, response.content), call, safe and status in (*UNREAD, *AGAIN))

    def _leave(self, call: Call, sent: str) -> None:
        """Go on to the next address, unless another request has left this one before."""
        if sent == self.url + call.path:
            self._place = (self._place + 1) % len(self._urls)

    def _backoff(self, attempt: int, *, stays: bool = False) -> float:
        """Return a random pause, so that clients that failed together do not come back together; none where the request
        goes on to an address that was not tried in this turn."""
        if attempt % len(self._urls) and not stays:
            return 0.0
        return self._random.uniform(0, min(LONGEST, FIRST * 2 ** ((attempt - 1) // len(self._urls))))


def read(call: Call, content: bytes) -> Any:
    """Return what a method returns, of the body of a good response."""
    try:
        return call.read(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise unreadable(content) from error


def _noted(error: Any, call: Call, again: bool) -> Any:
    """Say whether the request may be sent again, and under which key a decision that may have been taken."""
    error.repeatable = again
    if call.key is not None and (not isinstance(error, ServiceError) or error.status in (None, *AGAIN)):
        error.add_note(f"The decision may have been taken. Ask again with key={call.key!r} to get the same one.")
    return error


def _seconds(headers: Mapping[str, str]) -> float:
    """Return how long a service says to wait: 0 if it does not, or names a date."""
    told = headers.get("Retry-After", "")
    return float(told) if told.isascii() and told.isdigit() else 0.0


def _times(count: int) -> str:
    return "one attempt" if count == 1 else f"{count} attempts"


def key_for(role: Role, keys: Sequence[str]) -> str:
    """Return the key for a request that needs a role: the first that has it, else the first of all.

    >>> key_for("report", ["eh_decide_17_abc", "eh_report_18_def"])
    'eh_report_18_def'
    """
    having = (key for known in (role, *ALSO[role]) for key in keys if key.startswith(f"eh_{known}_"))
    return next(having, keys[0])


def _checked_keys(keys: str | Sequence[str]) -> list[str]:
    """Return the texts of one key, or of several of different roles."""
    given = re.split(r"[\s,]+", keys.strip()) if isinstance(keys, str) else keys
    texts = list(given) if isinstance(given, (list, tuple)) else []
    if not texts or not all(isinstance(text, str) and re.fullmatch("[!-~]+", text) for text in texts):
        raise ArgumentError(
            "key: expected the text of a key, or of several; pass key= or set EVENHAND_KEY "
            "(`evenhand keys STORE add --role both` makes one)"
        )
    return texts


def _checked_urls(given: str | Sequence[str]) -> list[str]:
    """Return the addresses of one service or of several on the same store, each once."""
    urls = given.split() if isinstance(given, str) else given
    return [*dict.fromkeys(map(_checked_url, urls if isinstance(urls, (list, tuple)) and urls else [given]))]


def _checked_url(url: Any) -> str:
    text = url.strip() if isinstance(url, str) else ""
    try:
        parts, _ = urlsplit(text), import_httpx().URL(text)
        sound = bool(parts.hostname) and parts.port != 0 and not re.search(r"[\s?#]", text)
    except (ValueError, import_httpx().InvalidURL):  # also of a port that is none
        parts, sound = urlsplit(""), False
    if "@" in parts.netloc:
        raise ArgumentError("url: expected an address without a user and a password; pass the key as key=")
    if parts.scheme not in ("http", "https") or not sound:
        hint = "pass url= or set EVENHAND_URL"
        raise ArgumentError(expected("url", "the address of a service, such as http://localhost:8000", url, hint))
    return text.rstrip("/")


def _proxies() -> str:
    """Return the environment variables that name a proxy, "" where none does."""
    known = ("http_proxy", "https_proxy", "all_proxy")
    return ", ".join(name for name, value in os.environ.items() if value and name.lower() in known)
