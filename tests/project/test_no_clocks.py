"""No test looks at a clock or sleeps: on a busy machine it would fail, and on a quick one test nothing."""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "thread_time", "sleep"}
MAY = {
    "waiting.py": "the two functions that wait for something to happen",
    "checks/test_contract.py": "bugs that are planted: a thread loses its turn where a race would be",
    "test_threads.py": "other threads get their turn at points that are chosen",
    "service/simulated.py": "time of the simulated world",
    "service/simulated_requests.py": "time of the simulated world",
    "service/test_health.py": "a store that takes its time, shorter or longer than the patience under test",
    "service/test_writer.py": "a turn of the loop for other tasks: sleep(0)",
}
"""The files that may, each with its reason."""


def clocks(text):
    """Return the lines that call a clock of the modules time and asyncio, or sleep."""
    if not any(name in text for name in CLOCKS):
        return []
    tree = ast.parse(text)
    imported = {
        name.asname or name.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "asyncio")
        for name in node.names
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            of = node.func
            if isinstance(of, ast.Attribute) and of.attr in CLOCKS and ast.unparse(of.value) in ("time", "asyncio"):
                found.append(node.lineno)
            if isinstance(of, ast.Name) and of.id in CLOCKS & imported:
                found.append(node.lineno)
    return found


FILES = sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.py"))


def test_no_test_looks_at_a_clock_or_sleeps():
    found = {name: lines for name in FILES if (lines := clocks((HERE / name).read_text()))}
    assert {name: lines for name, lines in found.items() if name not in MAY} == {}, "wait with tests.waiting.until"
    assert sorted(found) == sorted(MAY), "whoever needs no exception any more loses it"


@pytest.mark.parametrize(
    "code",
    ["import time\ntime.sleep(1)", "from time import monotonic\nassert monotonic() < 3", "await asyncio.sleep(0.1)"],
)
def test_a_clock_is_found(code):
    assert clocks(code) == [code.count("\n") + 1]
