"""What every test shares: Hypothesis without chance, and the folder of real data sets."""

import collections
import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from evenhand import registry
from tests.fuzzing import TIMES

settings.register_profile(
    "evenhand",
    derandomize=TIMES <= 1,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=TIMES > 1,
)
settings.load_profile("evenhand")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets, as `EVENHAND_DATA` names it or beside the repository."""
    folder = Path(os.environ.get("EVENHAND_DATA") or REPOSITORY.parent / "shared" / "data")
    if not (folder / "README.md").is_file():
        pytest.skip(f"no real data sets: {folder} is not there; set EVENHAND_DATA")
    return folder


@pytest.fixture
def scratch_registry(monkeypatch):
    """The registry, with room for classes of one test alone; yields `register` for policies of quotas."""
    registry.entries()
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    return lambda cls: registry.register("quotas/broken")(cls)


@pytest.fixture(autouse=True, scope="module")
def no_processes_left():
    """End the processes that joblib keeps for later: they hold what the module's tests have imported and compiled."""
    yield
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    if loky is not None and loky._executor is not None:
        loky._executor.shutdown(wait=True, kill_workers=True)


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close the pictures of other tests: a picture is drawn into the current figure."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def pytest_configure():
    """Collect no garbage while modules are imported: what they make stays to the end."""
    gc.disable()


def pytest_collection_finish():
    """Look no more at what the modules have made: each collection would walk through millions of objects of theirs."""
    gc.freeze()
    gc.enable()


LINES = [line.split() for line in Path(__file__).with_name("long.txt").read_text().splitlines() if line[0] != "#"]
LONG = {name: float(seconds) for seconds, name in LINES}
QUICK, SLOW = 0.05, 0.5
"""Seconds that a case of any other test takes, and one of those that are marked slow where they stand."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the long tests, and refuse names that differ from process to process: workers would not agree on them.

    Files that take long come first, so that no worker begins with one when the others have nothing left.
    """
    for item in items:
        if function_of(item) in LONG:
            item.add_marker("slow")
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"names with memory addresses, use ids=named of tests.naming: {unstable[:3]}")
    yield
    if config.getoption("shuffle") is None:
        taken = collections.Counter()
        for (path, function), cases in collections.Counter((item.path, function_of(item)) for item in items).items():
            taken[path] += LONG.get(function, QUICK * cases)
        for item in items:
            if function_of(item) not in LONG and item.get_closest_marker("slow"):
                taken[item.path] += SLOW
        items.sort(key=lambda item: -taken[item.path])


def function_of(item):
    return item.nodeid.partition("[")[0]
