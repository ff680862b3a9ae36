"""Write src/evenhand/client/client.py, the client without asyncio, from async_client.py: `make clients`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from unasync import Rule, unasync_files

FOLDER = Path(__file__).parents[1] / "src" / "evenhand" / "client"
SOURCE, TARGET = FOLDER / "async_client.py", FOLDER / "client.py"
FIRST_LINE = "# Generated from async_client.py by `make clients`: change that file.\n"
NAMES = {
    "AsyncBaseTransport": "BaseTransport",
    "AsyncClient": "Client",
    "AsyncRemoteStudy": "RemoteStudy",
    "aclose": "close",
    "asyncio": "time",
}


def generate() -> str:
    """Return the module, its imports sorted and its lines broken as in every other."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "async"), Path(folder, "sync")
        source.mkdir()
        (source / TARGET.name).write_text(SOURCE.read_text())
        unasync_files([str(source / TARGET.name)], [Rule(str(source), str(target), NAMES)])
        text = FIRST_LINE + (target / TARGET.name).read_text()
    for command in (["check", "--select", "I", "--fix", "--exit-zero", "--quiet"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"]
        text = subprocess.run(ruff, input=text, text=True, check=True, capture_output=True, cwd=FOLDER).stdout
    return text


if __name__ == "__main__":
    TARGET.write_text(generate())
