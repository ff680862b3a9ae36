"""Tests that need an extra that is not installed skip, and say so; with EVENHAND_NO_SKIPS=1, a skip is a failure.

With `--rest`, tests are left out that have passed in this checkout before; with `--rooms`, one process takes all files
of a folder; with `--shuffle SEED`, files come in another order; with `--limits FACTOR`, each limit of time is as many
times as long, as on a slower machine.
"""

import doctest
import importlib.util
import os
import random
import sys
import tempfile

import pytest

sys.setrecursionlimit(4_000)  # as high as compiling puts it, which inside a test of Hypothesis would be a warning

MEMORY, ROOM = "/dev/shm", 4 << 30
"""A folder in memory, and the bytes that must be free there: SQLite waits for a disk after each write."""


def in_memory():
    """Return whether tests may keep files, and programs that they install, in memory."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return False
    there = os.statvfs(MEMORY)
    return there.f_bavail * there.f_frsize > ROOM and not there.f_flag & os.ST_NOEXEC


if in_memory():
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")  # what asks for all cores gets one: other tests run on the others

EXTRAS = {
    "dask": ["dask", "distributed"],
    "docs": ["IPython", "ipykernel", "myst_nb", "myst_parser", "nbclient", "nbformat", "sphinx"],
    "fairlearn": ["fairlearn"],
    "openfeature": ["openfeature"],
    "peers": ["river"],
    "postgresql": ["psycopg"],
    "ray": ["ray"],
    "service": ["httpx", "prometheus_client", "pydantic", "starlette", "structlog", "uvicorn"],
    "test": ["duckdb", "hatch_fancy_pypi_readme", "polars", "pyagrum", "schemathesis", "selenium"],
    "torch": ["torch"],
}
EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}
NO_SKIPS = os.environ.get("EVENHAND_NO_SKIPS") == "1"
MAY_SKIP = ("no real data sets", "a file system can only be mounted by root")
"""How the reasons of skips begin that no installation mends: absent data sets, and rights that a container lacks."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return judged((yield), call.excinfo, item)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    call = getattr(report, "call", None)  # pytest --lf reports files that it leaves out without one
    return judged(report, None if call is None else call.excinfo, collector)


def judged(report, excinfo, node):
    """Return the report, a skip in place of a failure where an extra is missing; no skip where none is allowed."""
    module = None if excinfo is None else missing(excinfo.value)
    if report.failed and module is not None:
        report.outcome = "skipped"
        reason = f"Skipped: {module} is not installed: pip install 'evenhand[{EXTRA_OF[module]}]'"
        report.longrepr = (str(node.path), 0, reason)
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(MAY_SKIP):
            report.outcome = "failed"
            report.longrepr = f"{node.nodeid} skips where nothing may skip (EVENHAND_NO_SKIPS=1): {reason}"
    return report


def missing(error):
    """Return the module of an extra whose absence led to an error, None if there is none."""
    while error is not None:
        if isinstance(error, doctest.UnexpectedException):
            error = error.exc_info[1]
        if isinstance(error, ModuleNotFoundError):
            module = (error.name or "").split(".")[0]
            return module if module in EXTRA_OF and importlib.util.find_spec(module) is None else None
        error = error.__cause__
    return None


PASSED = "evenhand/passed"
"""Where pytest's cache keeps the names of the tests that have passed."""
passed: set[str] = set()
failed: set[str] = set()


def pytest_addoption(parser):
    parser.addoption("--rest", action="store_true", help="leave out what has passed in this checkout before")
    parser.addoption("--shuffle", metavar="SEED", help="take the files in another order, which SEED decides")
    parser.addoption("--rooms", action="store_true", help="give all files of a folder to one process")
    parser.addoption("--limits", metavar="FACTOR", type=float, default=1.0, help="multiply every limit of time")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--rooms`: files of a folder want much the same kernels, which two processes would compile twice."""
    if not config.getoption("rooms"):
        return None
    from xdist.scheduler import LoadFileScheduling

    class Rooms(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return super()._split_scope(nodeid).rpartition("/")[0]

    return Rooms(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("rest"):
        done = set(config.cache.get(PASSED, []))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
        items[:] = [item for item in items if item.nodeid not in done]
    if config.getoption("shuffle") is not None:
        files = sorted({item.path for item in items})
        random.Random(config.getoption("shuffle")).shuffle(files)
        items.sort(key=lambda item: files.index(item.path))
    for item in items if config.getoption("limits") != 1 else ():
        marked = item.get_closest_marker("timeout")
        seconds = float(config.getini("timeout") if marked is None else marked.args[0])
        item.add_marker(pytest.mark.timeout(seconds * config.getoption("limits")), append=False)


def pytest_runtest_logreport(report):
    """Take note of what passes: with several processes, in the one that hands out the tests."""
    if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
        passed.add(report.nodeid)
    elif report.failed:
        failed.add(report.nodeid)


def pytest_sessionfinish(session):
    cache = getattr(session.config, "cache", None)  # None with -p no:cacheprovider
    if cache is not None and not hasattr(session.config, "workerinput"):
        cache.set(PASSED, sorted((passed | set(cache.get(PASSED, []))) - failed))
