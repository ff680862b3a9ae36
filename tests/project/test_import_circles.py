"""No module imports itself by way of others: neither at the top of a file, nor inside a function, nor for types alone,
nor by a text that names the module.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import evenhand

ROOT = Path(evenhand.__file__).parent


def modules() -> dict[str, str]:
    """Return the source of every module of the house by its dotted name; the packages' own lists are left out."""
    files = {".".join(file.relative_to(ROOT.parent).with_suffix("").parts): file for file in ROOT.rglob("*.py")}
    return {name: file.read_text(encoding="utf-8") for name, file in files.items() if file.stem != "__init__"}


def imports_of(name: str, source: str) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever its statements stand, or names in a text of its own: in
    full, from its own package on, or behind the beginning of a text that is put together, f"evenhand.cli.{module}"."""
    nodes = list(ast.walk(ast.parse(source)))
    together = [node.values[0] for node in nodes if isinstance(node, ast.JoinedStr) and len(node.values) > 1]
    beginnings = [str(one.value) for one in together if isinstance(one, ast.Constant)]
    beginnings = ["", *(text for text in beginnings if text.startswith("evenhand."))]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.partition(":")[0]
            named = [*(beginning + text for beginning in beginnings), f"{name.rpartition('.')[0]}{text}"]
            yield from (one for one in named if one != name)


def circle_in(sources: dict[str, str]) -> list[str]:
    """Return the modules of a circle among these, first one repeated at the end; nothing where there is none."""
    graph = {name: {one for one in imports_of(name, source) if one in sources} for name, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others():
    every = modules()
    assert {"evenhand.errors", "evenhand.studies.study", "evenhand.studies.log.log"} <= set(every), "rooms are left out"
    assert circle_in(every) == []


@pytest.mark.parametrize(
    "source",
    [
        "from evenhand.studies.log.b import b",
        "import evenhand.studies.log.b",
        "if TYPE_CHECKING:\n    from evenhand.studies.log.b import b",
        "def late():\n    from evenhand.studies.log.b import b",
        "late = partial(import_module, 'evenhand.studies.log.b')",
        "COMMANDS = {'b': 'log.b:main'}\nlate = import_module(f'evenhand.studies.{COMMANDS[name]}')",
    ],
)
def test_a_circle_is_found_wherever_the_import_stands(source):
    names = {"evenhand.studies.a": source, "evenhand.studies.log.b": "import evenhand.studies.a"}
    assert sorted(set(circle_in(names))) == sorted(names)
    assert circle_in({**names, "evenhand.studies.log.b": "import os"}) == []
