"""A running service with the study "ads", and networks that lose what they carry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.service.conftest import served, serving

__all__ = ["served", "serving"]


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses are noted, and none is made."""
    noted: list[float] = []

    async def note(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr("evenhand.client.client.sleep", noted.append)
    monkeypatch.setattr("evenhand.client.async_client.sleep", note)
    return noted


@pytest.fixture
def flaky() -> Callable[[list[str]], Any]:
    """Return a network, for either client, that does with the n-th request what the n-th word says."""
    import httpx

    class Flaky(httpx.BaseTransport, httpx.AsyncBaseTransport):
        def __init__(self, words: list[str]) -> None:
            self.words, self.carried, self.network = iter(words), 0, httpx.HTTPTransport()

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            word = next(self.words, "ok")
            if word == "lost request":
                raise httpx.ConnectError("no route", request=request)
            response = self.network.handle_request(request)
            content = response.read()
            self.carried += 1
            if word == "lost reply":
                raise httpx.ReadError("the connection broke", request=request)
            return httpx.Response(response.status_code, headers=response.headers, content=content)

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return await asyncio.to_thread(self.handle_request, request)

        def close(self) -> None:
            self.network.close()

        async def aclose(self) -> None:
            self.close()

    return Flaky
