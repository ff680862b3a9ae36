"""Sessions of a command in processes of their own, which a test talks to as people at two terminals would."""

import os
import subprocess
import sys

COMMAND = "import sys; from evenhand.cli import main; sys.argv[0] = 'evenhand'; main()"


class Session:
    """One terminal: `until` reads what is shown, `say` types."""

    def __init__(self, *words):
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *map(str, words)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip

    def until(self, words):
        """Read on until these words are shown."""
        seen = b""
        while not seen.endswith(words.encode()):
            one = os.read(self._process.stdout.fileno(), 1)
            assert one, (seen, self._process.stderr.read())
            seen += one
        return seen.decode()

    def say(self, line):
        self._process.stdin.write(f"{line}\n".encode())

    def end(self):
        """Return the exit code and what was written to standard error."""
        _, errors = self._process.communicate(timeout=120)
        return self._process.returncode, errors.decode()
