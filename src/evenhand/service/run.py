"""Serve a store: print its address and keys, and run until a signal stops it."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.arguments import one_of, whole
from evenhand.errors import ArgumentError, UnreachableError, expected
from evenhand.extras import optional
from evenhand.studies import Store
from evenhand.studies.keys import add_key, list_keys, new_key

if TYPE_CHECKING:
    from starlette.applications import Starlette

SETTINGS = "EVENHAND_SERVE"
"""The environment variable that tells workers what to serve."""
NEEDED = ("httpx", "prometheus_client", "pydantic", "sqlalchemy", "starlette", "structlog", "uvicorn")
CONNECTIONS = 1_000
"""Open at once in one process; further requests are answered with 503."""
PAUSE = 0.5
"""Seconds between two looks at whether the database is there."""
HOST = "an address of this machine, such as 127.0.0.1"
LOCAL = ("127.0.0.1", "::1", "localhost")


def serve(
    store: str,
    *,
    password_file: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    open_metrics: bool = False,
    max_body: int = 8 * 2**20,
    log_level: str = "info",
    print_keys: bool = True,
    create: bool = False,
    wait: int = 60,
) -> None:
    """Serve a store until SIGTERM or SIGINT; requests accepted by then are completed.

    Parameters
    ----------
    store : a path or URL, see `Store.at`.
    password_file : a file whose first line is the password for a store on a server, so that the URL need not hold it.
    host, port : the address to listen on; port 0 takes a free one.
    workers : processes, each with its own connections; one, if the store is in memory.
    open_metrics : let `/metrics` be read without a key.
    max_body : the largest request, in bytes.
    log_level : "debug", "info", "warning" or "error".
    print_keys : print the address of the page with a key in it, and at the first start keys to decide and to report;
        False where what is printed is kept, as in the log of a container.
    create : create the store if it does not exist, for studies that are to be created over HTTP.
    wait : the seconds to wait for a database server that does not answer yet, as while it starts.

    Raises
    ------
    MissingExtraError
        If the extra `service` is not installed.
    ArgumentError
        If the address is in use, several workers would share a store in memory, or a file cannot be read or written.
    StoreError
        If the store does not exist and is not to be created, cannot be reached, or the file is not a store.
    """
    for name in NEEDED:
        optional(name, "evenhand serve", extra="service")
    import uvicorn

    whole("workers", workers, low=1)
    one_of("log_level", log_level, ("debug", "info", "warning", "error"))
    place = _open_once_there(store, password_file, create=create, wait=whole("wait", wait, low=0))
    if place.in_memory and workers > 1:
        raise ArgumentError(
            expected("workers", "1, since a store in memory serves one process", workers, "name a file")
        )
    listening = _listen(host, port)
    page_key = new_key("read")
    _print_addresses(place, listening, host, page_key if print_keys else None)
    settings = {
        "store": store,
        "password_file": password_file,
        "log_level": log_level,
        "app": {"page_key": page_key, "open_metrics": open_metrics, "max_body": max_body},
    }
    if workers == 1:
        with suppress(KeyboardInterrupt), _exit_cleanly():
            uvicorn.Server(uvicorn.Config(_application(place, settings), **options(log_level))).run([listening])
        return
    port = listening.getsockname()[1]
    listening.close()
    place.close()
    with tempfile.TemporaryDirectory(prefix="evenhand-metrics-") as folder:
        os.environ |= {SETTINGS: json.dumps(settings), "PROMETHEUS_MULTIPROC_DIR": folder}
        try:
            application = "evenhand.service.run:worker"
            uvicorn.run(application, factory=True, host=host, port=port, workers=workers, **options(log_level))
        finally:
            del os.environ[SETTINGS], os.environ["PROMETHEUS_MULTIPROC_DIR"]


@contextmanager
def _exit_cleanly() -> Iterator[None]:
    """End the process with exit code 0 on SIGTERM, which uvicorn raises again after it has stopped."""

    def ended(*_: Any) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def worker() -> Starlette:
    """Return the application of one of several workers, from the settings in the environment."""
    settings = json.loads(os.environ[SETTINGS])
    return _application(_open(settings["store"], settings["password_file"]), settings)


def _open_once_there(store: str, password_file: str | None, *, create: bool, wait: int) -> Store:
    """Return the store, waiting for a server that does not answer yet; say what for."""
    until, said = time.monotonic() + wait, False
    while True:
        try:
            return _open(store, password_file, create=create)
        except UnreachableError as error:
            if "://" not in store or time.monotonic() >= until:
                raise
            if not said:
                print(f"waiting up to {wait} s for the database: {error}", file=sys.stderr, flush=True)
            said = True
            time.sleep(PAUSE)


def _open(store: str, password_file: str | None, *, create: bool = False) -> Store:
    """Return the store at a path or URL, with the password that a file holds."""
    from evenhand.studies.store.address import read_address
    from evenhand.studies.store.engine import MEMORY

    url = read_address(store)
    in_file = url.get_backend_name() == "sqlite"
    if password_file is None:
        return Store.at(store, create=create or (in_file and url.database in MEMORY))
    password = read_password(password_file)
    if in_file:
        raise ArgumentError(expected("password_file", "none for a store in a file", password_file))
    url = url.set(drivername=url.get_backend_name(), password=password)
    return Store.at(url.render_as_string(hide_password=False), create=create)


def read_password(path: str) -> str:
    """Return the first line of a file.

    Raises
    ------
    ArgumentError
        If it cannot be read or is empty; the message does not show it.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "it is not text"
        raise ArgumentError(expected("password_file", "a file that can be read", path, why)) from error
    if not lines[0]:
        raise ArgumentError(expected("password_file", "a file whose first line is the password", path))
    return lines[0]


def _application(store: Store, settings: dict[str, Any]) -> Starlette:
    from evenhand.service.app import create_app
    from evenhand.service.logs import json_log

    return create_app(store, log=json_log(level=settings["log_level"]), **settings["app"])


def options(level: str) -> dict[str, Any]:
    """Return how uvicorn serves the application."""
    from evenhand.service.logs import uvicorn_logging
    from evenhand.service.middleware import HEAD

    return {
        "http": "h11",  # httptools parses pipelined requests ahead without bound: a flood takes gigabytes
        "h11_max_incomplete_event_size": HEAD,
        "limit_concurrency": CONNECTIONS,
        "timeout_keep_alive": 20,
        "ws": "none",
        "access_log": False,
        "server_header": False,
        "log_config": uvicorn_logging("warning" if level == "info" else level),
        "timeout_graceful_shutdown": 30,
    }


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, OverflowError) as error:
        raise ArgumentError(expected("host", HOST, host)) from error
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        listening.close()
        code = error.errno if isinstance(error, OSError) else None
        if code not in (None, errno.EADDRINUSE, errno.EACCES):
            raise ArgumentError(expected("host", HOST, host)) from error
        hint = "another program uses this port: stop it, or " * (code == errno.EADDRINUSE) + "choose another --port"
        raise ArgumentError(expected("port", f"a free one on {host}", port, f"{error}; {hint}")) from error
    listening.setblocking(False)
    return listening


def _print_addresses(store: Store, listening: socket.socket, host: str, page_key: str | None) -> None:
    """Print the address of the page, and at the first start new keys; its page key stays valid at later starts.

    Without a page key, no key is printed or made.
    """
    from evenhand.studies.store.address import typed_address

    shown = f"[{host}]" if ":" in host else host
    base = f"http://{shown}:{listening.getsockname()[1]}"
    names = store.names()
    made: list[str] = []
    if page_key is not None and not list_keys(store):
        page_key = add_key(store, "read", "the page, made at the first start")
        made = [f"  {role:7} {add_key(store, role, 'made at the first start')}" for role in ("decide", "report")]
    lines = [
        f"evenhand serves {store.url}: {', '.join(names[:12]) or 'no studies yet; POST /studies creates one'}",
        f"  page    {base}/" + ("" if page_key is None else f"#key={page_key}"),
        f"  manual  {base}/docs",
        *(["Keys (shown only this once):", *made] if made else []),
        f"More keys: evenhand keys {typed_address(store.url)} add --role decide|report|read. Stop with Ctrl-C.",
    ]
    if host not in LOCAL:
        lines.append("Others can reach this address, and HTTP is not encrypted: put a TLS proxy in front of it.")
    print("\n".join(lines), flush=True)
