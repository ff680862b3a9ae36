"""`evenhand serve`: a store over HTTP, with the page to watch it."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["serve"]


def serve(
    store: Annotated[str, typer.Option(help="A file such as ads.evenhand, or a URL; created if missing.")],
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for every interface.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any free one.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="The number of processes.", min=1)] = 1,
    rate: Annotated[float, typer.Option(help="The requests per second that a key may send to each worker.")] = 20_000.0,
    connections_per_address: Annotated[
        int,
        typer.Option(
            help="Connections from one address to each worker; behind a proxy all come from its address.",
            min=1,
        ),
    ] = 100,
    open_metrics: Annotated[bool, typer.Option("--open-metrics", help="Let /metrics be read without a key.")] = False,
) -> None:
    """Serve a store over HTTP, with a page to watch it, until it is stopped."""
    from evenhand.service.run import serve as run

    run(
        store,
        host=host,
        port=port,
        workers=workers,
        rate=rate,
        connections_per_address=connections_per_address,
        open_metrics=open_metrics,
    )
