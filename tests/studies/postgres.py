"""A PostgreSQL server of one's own, for as long as the tests take."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["binaries", "server"]


def binaries() -> Path | None:
    """Return the folder of the server's programs, None where it is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    if os.geteuid() == 0 and not shutil.which("runuser"):
        return None  # a server does not run as root
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return debian[-1].parent if debian else None


@contextmanager
def server() -> Iterator[str]:
    """Start a server that listens on a socket in a folder of its own; yield its URL, the database left open."""
    programs = binaries()
    assert programs is not None
    home = Path(tempfile.mkdtemp(prefix="eh-pg-", dir="/tmp"))
    root = os.geteuid() == 0
    as_user = ["runuser", "-u", "postgres", "--"] if root else []
    if root:
        shutil.chown(home, "postgres")
    data = home / "data"

    def do(*command: str) -> None:
        done = subprocess.run([*as_user, *command], capture_output=True, text=True, cwd=home)
        assert done.returncode == 0, done.stderr

    try:
        do(str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync")
        options = f"-k {home} -c listen_addresses='' -c max_connections=50"
        do(str(programs / "pg_ctl"), "-D", str(data), "-l", str(home / "log"), "-w", "-o", options, "start")
        try:
            yield f"postgresql://postgres@/{{database}}?host={home}"
        finally:
            do(str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
