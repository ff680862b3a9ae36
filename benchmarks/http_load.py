"""Converse with a served study over several connections, and say how long each call took: one process of its own.

python -m benchmarks.http_load PORT STUDY DECIDE_KEY REPORT_KEY CONNECTIONS BATCH CONVERSATIONS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import orjson


class Connection:
    """One kept-alive connection that sends a request and reads its answer, no more."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def post(self, path: str, key: str, body: bytes) -> bytes:
        """Return the body of the answer, which must be 200."""
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        assert answer.startswith(b"http/1.1 200"), answer
        start = answer.index(b"content-length:") + 15
        return await self._reader.readexactly(int(answer[start : answer.index(b"\r\n", start)]))


async def converse(port: int, study: str, decide: str, report: str, batch: int, size: int) -> list[float]:
    """Hold `size` conversations over one connection, `batch` at a time; return the seconds of each call."""
    connection = Connection(*await asyncio.open_connection("127.0.0.1", port))
    ask, tell = f"/studies/{study}/ask", f"/studies/{study}/tell"
    wish = b"" if batch == 1 else orjson.dumps({"count": batch})
    waits: list[float] = []
    for _ in range(size // batch):
        began = time.perf_counter()
        answer = orjson.loads(await connection.post(ask, decide, wish))
        asked = time.perf_counter()
        rows = [{"ticket": one["ticket"], "reward": 0.5} for one in answer.get("decisions", [answer])]
        body = orjson.dumps(rows[0] if batch == 1 else {"batch": rows})
        told = orjson.loads(await connection.post(tell, report, body))
        waits += [asked - began, time.perf_counter() - asked]
        assert all(row["status"] == "told" for row in told.get("results", [told]))
    return waits


async def main(port: int, study: str, decide: str, report: str, connections: int, batch: int, size: int) -> None:
    began = time.perf_counter()
    each = size // connections
    done = await asyncio.gather(*(converse(port, study, decide, report, batch, each) for _ in range(connections)))
    seconds = time.perf_counter() - began
    waits = sorted(wait for one in done for wait in one)
    p50, p99 = (waits[int(len(waits) * part)] * 1e3 for part in (0.5, 0.99))
    print(json.dumps({"rate": len(done) * (each // batch) * batch / seconds, "p50": p50, "p99": p99}))


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[5:8]]
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:5], *numbers))
