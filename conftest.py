"""Tests that need an extra that is not installed skip, and say so; with EVENHAND_NO_SKIPS=1, a skip is a failure."""

import doctest
import importlib.util
import os

import pytest

EXTRAS = {
    "dask": ["dask", "distributed"],
    "docs": ["IPython", "ipykernel", "myst_nb", "myst_parser", "nbclient", "nbformat", "sphinx"],
    "fairlearn": ["fairlearn"],
    "gymnasium": ["gymnasium"],
    "litellm": ["litellm"],
    "openfeature": ["openfeature"],
    "peers": ["mabwiser", "optuna", "river", "vowpalwabbit"],
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
    return judged(report, report.call.excinfo, collector)


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
