"""Files that the browser saves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.waiting import until


def downloaded(visitor, folder: Path, save: Callable[[], None]) -> tuple[str, bytes]:
    """Let the browser save into `folder`; return the name and the content of the file that `save` makes it save."""
    allow = {"behavior": "allow", "downloadPath": str(folder)}
    visitor.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allow)
    save()
    (path,) = until(lambda: [path for path in folder.iterdir() if path.suffix not in (".crdownload", ".tmp")], 0.05)
    return path.name, path.read_bytes()
