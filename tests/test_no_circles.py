"""No circle of imports inside a room, whether at the head of a module, inside a function or for types alone."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import evenhand

SOURCE = Path(evenhand.__file__).parent
ROOMS = ("groups", "interventions", "kernels", "similarity")


def imported(path, room):
    """The modules of a room that a module of it imports anywhere."""
    package = f"evenhand.{room}"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            yield node.module.removeprefix(f"{package}.")


@pytest.mark.parametrize("room", ROOMS)
def test_no_circle(room):
    modules = {path.stem: path for path in (SOURCE / room).glob("*.py") if path.stem != "__init__"}
    graph = {name: {other for other in imported(path, room) if other in modules} for name, path in modules.items()}
    assert any(graph.values())
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"{room}: {' -> '.join(error.args[1])}")
