"""A PostgreSQL server of one's own, for as long as the tests take."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PLACE = os.environ.get("EVENHAND_GATE", "/tmp")
"""Where servers keep their data: the way to a socket may only be short."""
UNSAFE = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off"
"""For a server that nobody kills: nothing is read from its disk again, and waiting for it takes most of the time."""

__all__ = ["binaries", "primary_and_standby", "server"]


def binaries() -> Path | None:
    """Return the folder of the server's programs, None where it is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    if os.geteuid() == 0 and not shutil.which("runuser"):
        return None  # a server does not run as root
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return debian[-1].parent if debian else None


class Server:
    """A server that listens on a socket in a folder of its own, `home`."""

    def __init__(self) -> None:
        programs = binaries()
        assert programs is not None
        self.programs, self.home = programs, Path(tempfile.mkdtemp(prefix="eh-pg-", dir=PLACE))
        self.data = self.home / "data"
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.as_user:
            shutil.chown(self.home, "postgres")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(AssertionError):
            self.control("-m", "immediate", "stop")
        shutil.rmtree(self.home, ignore_errors=True)

    def do(self, program: str, *arguments: str) -> None:
        """Run one of the server's programs."""
        command = [*self.as_user, str(self.programs / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.home)
        assert done.returncode == 0, done.stderr

    def control(self, *arguments: str) -> None:
        """Start, stop or promote it."""
        self.do("pg_ctl", "-D", str(self.data), "-l", str(self.home / "log"), "-w", *arguments)

    def start(self, settings: str = "") -> None:
        """Start it, so that only its socket leads to it."""
        self.control("-o", f"-k {self.home} -c listen_addresses='' -c max_connections=50 {settings}", "start")

    def make(self, settings: str = "") -> None:
        """Make an empty server and start it."""
        self.do("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "--no-sync")
        self.start(settings)

    def copy(self, primary: "Server") -> None:
        """Begin as a standby of another server that runs."""
        place = ["-h", str(primary.home), "-U", "postgres", "-D", str(self.data)]
        self.do("pg_basebackup", *place, "-R", "-X", "stream", "-c", "fast")
        self.start()

    def kill(self) -> None:
        """Kill it with SIGKILL, as a machine that loses its power."""
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(postmaster)], capture_output=True, text=True).stdout.split()
        for process in (postmaster, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def run(self, statement: str) -> None:
        """Run a statement of SQL."""
        self.do("psql", "-h", str(self.home), "-U", "postgres", "-d", "postgres", "-c", statement)


@contextmanager
def server(settings: str = UNSAFE) -> Iterator[str]:
    """Start a server that is never killed; yield its URL, the database left open."""
    with Server() as one:
        one.make(settings)
        yield f"postgresql://postgres@/{{database}}?host={one.home}"


@contextmanager
def primary_and_standby() -> Iterator[tuple[Server, Server]]:
    """Start two servers, the second a synchronous standby of the first: a commit returns when both have it on disk."""
    with Server() as primary, Server() as standby:
        primary.make()
        standby.copy(primary)
        primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.run("SELECT pg_reload_conf()")
        yield primary, standby
