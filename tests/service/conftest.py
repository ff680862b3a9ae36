"""A service on a free port of this machine, with a key of each role."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.studies import Store
from evenhand.studies.keys import ROLES, add_key

if TYPE_CHECKING:
    import httpx

POLICY = {"policy": "quotas/fair-ucb", "shares": {"a": 0.2, "b": 0.3}, "seed": 1}


class Served:
    """A running service, and shorthands for what tests send to it."""

    def __init__(self, store: Store, **settings: Any) -> None:
        import httpx
        import uvicorn

        from evenhand.service.app import create_app
        from evenhand.service.logs import json_log
        from evenhand.service.run import options

        self.store, self.written = store, io.BytesIO()
        self.keys = {role: add_key(store, role) for role in (*ROLES, "both")}
        self.key = f"{self.keys['both']} {self.keys['read']}"  # for everything
        self.app = create_app(store, log=json_log(self.written), **settings)
        listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.server = uvicorn.Server(uvicorn.Config(self.app, **options("warning") | {"log_config": None}))
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.thread.start()
        self.http = httpx.Client(base_url=self.url, trust_env=False, timeout=60, verify=False)  # reads no certificates

    def send(self, role: str, method: str, path: str, **given: Any) -> httpx.Response:
        """Send a request with the key of a role."""
        headers = {"Authorization": f"Bearer {self.keys[role]}", **given.pop("headers", {})}
        return self.http.request(method, path, headers=headers, **given)

    def create(self, name: str = "ads", policy: dict[str, Any] = POLICY) -> None:
        """Create a study."""
        answer = self.send("decide", "POST", "/studies", json={"name": name, "policy": policy})
        assert answer.status_code == 201, answer.text

    def ask(self, name: str = "ads", **given: Any) -> httpx.Response:
        """Ask once."""
        return self.send("decide", "POST", f"/studies/{name}/ask", **({"json": {}} | given))

    def tell(self, body: Any, name: str = "ads", **given: Any) -> httpx.Response:
        """Tell once."""
        return self.send("report", "POST", f"/studies/{name}/tell", json=body, **given)

    def read(self, path: str, **given: Any) -> Any:
        """Read something that must be there."""
        answer = self.send("read", "GET", path, **given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def every_decision(self, query: str = "limit=500", side: str = "before") -> list[Any]:
        """The decisions of "ads", read page by page."""
        found, more = [], ""
        while more is not None:
            page = self.read(f"/studies/ads/decisions?{query}{more}")
            found += page["decisions"]
            more = page["next"] and f"&{side}={page['next']}"
        return found

    def lines(self) -> list[dict[str, Any]]:
        """Return what was logged."""
        return [json.loads(line) for line in self.written.getvalue().splitlines()]

    def stop(self) -> None:
        """Stop as SIGTERM would."""
        self.http.close()
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(scope="module")
def asked() -> Iterator[Served]:
    """A service for a whole module whose study "ads" has one open ticket."""
    one = Served(Store.at(":memory:", create=True))
    one.create()
    one.ticket = one.ask().json()["ticket"]
    yield one
    one.stop()


@pytest.fixture
def serving() -> Iterator[Callable[..., Served]]:
    """Start services that end with the test."""
    running = []

    def start(store: Store | None = None, **settings: Any) -> Served:
        running.append(Served(Store.at(":memory:", create=True) if store is None else store, **settings))
        return running[-1]

    yield start
    for served in running:
        served.stop()


@pytest.fixture
def served(serving: Callable[..., Served]) -> Served:
    """A service over a store in memory with the study "ads"."""
    one = serving()
    one.create()
    return one
