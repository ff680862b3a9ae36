"""The workflow for continuous integration elsewhere, which cannot run here: it names only what there is."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
MADE = ("dist", "out")
"""The folders that the workflow's own commands make."""


@pytest.fixture(scope="module")
def workflow():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: pip install 'evenhand[docs]'")
    return yaml.safe_load(WORKFLOW.read_text())


def commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def test_actions_are_pinned_to_commits_that_a_comment_names():
    for line in WORKFLOW.read_text().splitlines():
        if "uses:" in line:
            assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_it_runs_the_commands_of_the_readme(workflow):
    first = re.search(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    wanted = [line.partition("#")[0].strip() for line in first.splitlines()]
    assert [step["run"] for step in workflow["jobs"]["readme"]["steps"] if "run" in step] == wanted
    assert {system.partition("-")[0] for system in workflow["jobs"]["readme"]["strategy"]["matrix"]["system"]} == {
        "ubuntu",
        "macos",
    }
    assert workflow["jobs"]["windows"]["runs-on"].startswith("windows")


def test_every_target_and_file_that_it_names_exists(workflow):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    made = [command.split()[1] for command in commands(workflow) if command.startswith("make ")]
    assert {"demo", "test", "docs"} <= set(made) <= targets
    named = {
        word
        for command in commands(workflow)
        for word in shlex.split(command)
        if re.search(r"/|\.(py|lock)$", word) and not word.startswith(MADE)
    }
    assert {".ci/run", "requirements.lock"} <= named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert "python -m tests.wheels" in commands(workflow)
    assert (ROOT / "tests" / "wheels.py").exists()
