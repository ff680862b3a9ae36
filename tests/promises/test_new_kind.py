"""A new kind of clause touches four files: here is one, added to a copy of the package.

`starts={"b": (2, 5)}` promises b at least two plays in the first five rounds.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand

pytestmark = pytest.mark.slow
EDITS = {
    "clause.py": [
        ('Kind = Literal["floor", "cap", "window"]', 'Kind = Literal["floor", "cap", "window", "start"]'),
        (
            "        if isinstance(self.rate, tuple):\n            plays, rounds = self.rate",
            '        if self.kind == "start":\n'
            '            return f"at least {self.rate[0]} plays in the first {self.rate[1]} rounds"\n'
            "        if isinstance(self.rate, tuple):\n            plays, rounds = self.rate",
        ),
        (
            '        if isinstance(self.rate, tuple):\n            return f"{by} fewer',
            '        if self.kind == "start":\n'
            '            return f"{by} fewer than the {self.rate[0]} owed in the first {self.rate[1]} rounds"\n'
            '        if isinstance(self.rate, tuple):\n            return f"{by} fewer',
        ),
    ],
    "plain_data.py": [
        ('"clock", *WEIGHED)', '"clock", *WEIGHED, "starts")'),
        ('TABLES = ("shares", "caps", "windows")', 'TABLES = ("shares", "caps", "windows", "starts")'),
        ('        "windows": windows,\n', '        "windows": windows,\n        "starts": dict(promise.starts),\n'),
        ('"windows": {}, "plays": 1,', '"windows": {}, "starts": {}, "plays": 1,'),
    ],
    "promise.py": [
        ("in_flight: int | None = None\n\n", "in_flight: int | None = None\n    starts: tuple = ()\n\n"),
        ('clock: object = "offered",\n    ) ->', 'clock: object = "offered",\n        starts: Any = None,\n    ) ->'),
        ("offers, **weighed)\n        self", "offers, **weighed, starts=starts)\n        self"),
        (
            "return (*floors, *limits, *(",
            'starts = [Clause("start", members, start) for members, start in self.starts]\n'
            "        return (*floors, *limits, *starts, *(",
        ),
        ('clock: Any = "offered",\n) ->', 'clock: Any = "offered",\n    starts: Any = None,\n) ->'),
        (
            "        windows=read_windows(windows, labels),\n",
            "        windows=read_windows(windows, labels),\n        starts=read_windows(starts, labels),\n",
        ),
    ],
    "round_kernels.py": [
        ("FLOOR, CAP, WINDOW = range(3)", "FLOOR, CAP, WINDOW, START = range(4)"),
        ('"window": WINDOW}', '"window": WINDOW, "start": START}'),
        (
            "    if isinstance(rate, tuple):\n        return 0",
            '    if clause.kind == "start":\n'
            "        return 0, 0, max(0, rate[0] - plays) if clock >= rate[1] else 0\n"
            "    if isinstance(rate, tuple):\n        return 0",
        ),
        (
            "    if rates.kinds[q] == WINDOW:\n        if missed",
            "    if rates.kinds[q] == START:\n"
            "        return rates.lengths[q] if counts.plays[at] + missed < rates.plays[q] else NEVER\n"
            "    if rates.kinds[q] == WINDOW:\n        if missed",
        ),
        ("    if rates.kinds[q] != WINDOW:\n        move", "    if rates.kinds[q] < WINDOW:\n        move"),
        (
            "    elif rates.kinds[q] == CAP:\n        if has_room",
            "    elif rates.kinds[q] == START:\n"
            "        if counts.missed[at] > 0:\n            ease(counts, key, at, own)\n"
            "    elif rates.kinds[q] == CAP:\n        if has_room",
        ),
    ],
}
TRIED = """
import pandas as pd
import evenhand as eh
from evenhand.errors import SharesError
from evenhand.promises.promise import promise_of, read_promise

promise = read_promise({"a": "1/5", "b": 0}, starts={"b": (2, 5)}, audited=True)
print(promise)
assert promise_of(promise.to_dict()).clauses == promise.clauses
for arms in ("abab", "ababa", "aaaba", "aaabab"):
    finding = eh.audit.promise(pd.DataFrame({"arm": list(arms)}), arm="arm", promise=promise)
    print(arms, finding.kept, finding.first_breach, finding.promises["rounds_in_violation"].tolist())
for make in (lambda: eh.Promise({"a": "1/5"}, starts={"a": (2, 5)}), lambda: promise.split(2)):
    try:
        make()
    except SharesError as refusal:
        print(refusal)
"""


def test_a_new_kind_of_clause_touches_four_files(tmp_path):
    home = tmp_path / "evenhand"
    shutil.copytree(Path(evenhand.__file__).parent, home, ignore=shutil.ignore_patterns("__pycache__", "page"))
    for name, edits in EDITS.items():
        file = home / "promises" / name
        text = file.read_text()
        for old, new in edits:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        file.write_text(text)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    said = subprocess.run([sys.executable, "-c", TRIED], env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert len(EDITS) == 4
    assert said.stdout.splitlines() == [
        "a at least 1/5 of the rounds; b at least 2 plays in the first 5 rounds",
        "abab True None [0, 0, 0]",
        "ababa True None [0, 0, 0]",
        "aaaba False after round 5, the plays of arm 'b' were 1 fewer than the 2 owed in the first 5 rounds [0, 0, 1]",
        "aaabab False after round 5, the plays of arm 'b' were 1 fewer than the 2 owed in the first 5 rounds [0, 0, 1]",
        "a at least 2 plays in the first 5 rounds: no known rule keeps a start; you can only audit a log against it",
        "b at least 2 plays in the first 5 rounds: no known rule keeps a start; you can only audit a log against it",
    ]
