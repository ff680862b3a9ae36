"""`evenhand serve`: a store over HTTP, with the page to watch it."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.errors import ArgumentError, expected


def serve(
    context: typer.Context,
    *,
    store: str | None = None,
    settings: str | None = None,
    host: Annotated[str | None, typer.Option(show_default="127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, show_default="8000")] = None,
    workers: Annotated[int | None, typer.Option(min=1, show_default="1")] = None,
    open_metrics: Annotated[bool | None, typer.Option("--open-metrics", show_default="no")] = None,
    max_body: Annotated[int | None, typer.Option(min=1, show_default="8388608")] = None,
    log_level: Annotated[str | None, typer.Option(show_default="info")] = None,
    password_file: str | None = None,
    print_keys: Annotated[bool | None, typer.Option(show_default="yes")] = None,
    create: Annotated[bool | None, typer.Option("--create", show_default="no")] = None,
    wait: Annotated[int | None, typer.Option(min=0, show_default="60")] = None,
) -> None:
    """Serve a store over HTTP, with a web page that shows its studies, until you stop it.

    Parameters
    ----------
    store : A file such as ads.evenhand, or a URL.
    settings : A TOML file with these options, such as port = 8000; EVENHAND_PORT=8000 overrides it.
    host : The address to listen on; 0.0.0.0 for every interface.
    port : The port; 0 for any free one.
    workers : The number of processes.
    open_metrics : Let /metrics be read without a key.
    max_body : The largest request, in bytes.
    log_level : debug, info, warning or error.
    password_file : A file whose first line is the password for the store's server.
    print_keys : Print the page's address with a key, and keys at the first start.
    create : Create the store if it does not exist.
    wait : The seconds to wait for a database server that does not answer yet.
    """
    from evenhand.service.run import serve as run
    from evenhand.service.settings import read_settings

    given = {name: value for name, value in context.params.items() if name != "settings" and value is not None}
    chosen = read_settings(settings) | given
    if "store" not in chosen:
        hint = "give --store, EVENHAND_STORE, or store in the settings file"
        raise ArgumentError(expected("store", "a file such as ads.evenhand, or a URL", None, hint))
    run(chosen.pop("store"), **chosen)
