"""What a command imports: only what it needs, so that it answers at once."""

import re
import subprocess
import sys
from pathlib import Path

from evenhand import registry
from evenhand.cli.command import COMMANDS
from evenhand.experiments.framework import catalogue
from tests.cli.shell import NEW, answer, as_json

RUN = """
import sys
from evenhand.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
HEAVY = {"fastapi", "joblib", "matplotlib", "numba", "pandas", "pyarrow", "scipy", "sklearn", "torch", "xarray"}
PROBLEMS = {f"evenhand.{problem}" for problem in ("groups", "interventions", "sampling", "similarity")}


def imported(*arguments):
    """The modules that a command has imported in a process of its own."""
    done = subprocess.run([sys.executable, "-c", RUN, *map(str, arguments)], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_help_imports_no_library_that_computes():
    modules = imported("--help")
    assert not modules & (HEAVY | PROBLEMS | {"numpy", "sqlalchemy", "evenhand.studies", "evenhand.quotas"})


def test_help_fits_one_screen_and_has_every_command():
    lines = answer("--help").rstrip("\n").split("\n")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    words = re.findall(r"[a-z-]+", "\n".join(lines[14:20]))
    assert [words.count(name) for name in COMMANDS] == [1] * len(COMMANDS)


OTHERS = {"evenhand.simulation", "evenhand.quotas.deadline_learn", "evenhand.learners.random"}


def test_ask_imports_no_other_problem_policy_or_command():
    answer("new", "s.evenhand", *NEW)
    modules = imported("ask", "s.evenhand")
    assert {"evenhand.cli.studies.decide", "evenhand.quotas.paper_rules"} <= modules
    assert not modules & (HEAVY | PROBLEMS | OTHERS | {"rich", "evenhand.cli.simulate", "evenhand.cli.studies.show"})


def test_an_audit_imports_no_study():
    Path("log.csv").write_text("arm\n" + "a\nb\n" * 9)
    Path("promise.toml").write_text("[shares]\na = 0.3\nb = 0.3\n")
    modules = imported("audit", "log.csv", "--promise", "promise.toml")
    assert "evenhand.audit.promises" in modules
    assert "evenhand.studies" not in modules


def test_a_registered_name_is_found_without_other_problems():
    name = "learners/kl-ucb"
    look = f"import sys; from evenhand import registry; print(registry.get({name!r}).name, *sys.modules)"
    found, *modules = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True
    ).stdout.split()
    assert found == name
    assert not set(modules) & (HEAVY | PROBLEMS)


def test_the_list_is_read_from_the_source_and_lacks_nothing_that_is_registered():
    everything = {(one.kind, one.name, one.summary) for one in registry.entries() if not one.baseline}
    own = {row for row in everything if registry.get(row[1]).cls.__module__.startswith("evenhand.")}
    own |= {("experiment", one.id, one.title) for one in catalogue()}
    assert {tuple(row.values()) for row in as_json("list")} == own


def test_list_imports_no_policy():
    assert not imported("list") & (HEAVY | PROBLEMS)
