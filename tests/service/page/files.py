"""Files that the browser saves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until


class File:
    """What was saved: its name and its content, once the block of `downloaded` has ended."""

    name, content = "", b""


@contextmanager
def downloaded(visitor, folder: Path) -> Iterator[File]:
    """Let the browser save into `folder` what the block makes it save."""
    allow = {"behavior": "allow", "downloadPath": str(folder)}
    visitor.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    file = File()
    yield file
    (path,) = until(lambda: [path for path in folder.iterdir() if path.suffix not in (".crdownload", ".tmp")], 0.05)
    file.name, file.content = path.name, path.read_bytes()
