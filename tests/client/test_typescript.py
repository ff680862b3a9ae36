"""The client in TypeScript: its types are those of the service, and its tests pass against a running one."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.naming import at_night

FOLDER = Path(__file__).parents[2] / "clients" / "typescript"
TYPES = FOLDER / "src" / "service.ts"


def npm(*words, folder=FOLDER, **variables):
    """Run npm in a folder, by default the client's."""
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", **variables}
    done = subprocess.run(["npm", *words], cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    return done.stdout


def major_version():
    """The first number of node's version."""
    return int(subprocess.check_output(["node", "--version"], text=True).removeprefix("v").partition(".")[0])


@pytest.fixture(scope="module")
def node():
    """Node and npm."""
    if not (shutil.which("node") and shutil.which("npm")) or major_version() < 20:
        pytest.skip("node 20 or newer and npm are not installed: see https://nodejs.org")


@pytest.fixture(scope="module")
def installed(node):
    """The packages of the client, as its lock names them."""
    npm("ci", "--ignore-scripts", "--no-audit", "--no-fund")


def test_the_types_are_those_of_the_routes_as_they_are_now():
    own = runpy.run_path(str(FOLDER / "generate.py"))
    with TYPES.open() as types:
        assert types.readline() == own["first_line"](), "a route has changed: run `make clients` and commit the result"


def test_the_lock_names_no_place_to_download_from():
    assert '"resolved"' not in (FOLDER / "package-lock.json").read_text()


@pytest.mark.slow
def test_the_types_are_generated(installed):
    assert runpy.run_path(str(FOLDER / "generate.py"))["generate"]() == TYPES.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("variables", [at_night({}), {"NODE_ENV": "production"}], ids=["development", "production"])
def test_a_project_installs_the_client_from_a_fresh_checkout(node, tmp_path, variables):
    tracked = subprocess.check_output(["git", "ls-files"], cwd=FOLDER, text=True).split()
    for name in tracked:
        (tmp_path / "client" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FOLDER / name, tmp_path / "client" / name)
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "shop", "version": "1.0.0", "type": "module"}')
    npm("install", "--no-audit", "--no-fund", str(tmp_path / "client"), folder=project, **variables)
    program = (
        'import { Client } from "@evenhand/client"; console.log(new Client("http://a", { key: "k" }).study("s").name)'
    )
    (project / "shop.js").write_text(program)
    assert subprocess.check_output(["node", "shop.js"], cwd=project, text=True) == "s\n"


@pytest.mark.slow
def test_the_client_in_node(installed, served):
    said = npm("test", EVENHAND_URL=served.url, EVENHAND_KEY=served.key)
    counts = dict(re.findall(r"^# (pass|fail|skipped) (\d+)$", said, re.MULTILINE))
    assert counts == {"pass": "13", "fail": "0", "skipped": "0"}


@pytest.mark.slow
def test_the_examples_of_the_documentation_run(installed, served):
    npm("run", "build")
    served.create("banner")
    text = (FOLDER.parents[1] / "docs" / "clients.md").read_text() + (FOLDER / "README.md").read_text()
    examples = re.findall(r"```ts\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 2
    for code in examples[:1]:
        (FOLDER / "dist" / "example.mjs").write_text(code)
        npm("exec", "--", "node", "dist/example.mjs", EVENHAND_URL=served.url, EVENHAND_KEY=served.key)
    assert served.read("/studies/banner")["told"] == 2
