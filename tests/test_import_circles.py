"""No module of a package imports itself by way of others of that package: neither at the top of a file, nor inside a
function, nor for types alone.
"""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import evenhand

ROOT = Path(evenhand.__file__).parent
PACKAGES = sorted(
    ".".join(folder.relative_to(ROOT.parent).parts) for folder in [ROOT, *ROOT.glob("*/")] if any(folder.glob("*.py"))
)


def modules_of(package: str) -> dict[str, Path]:
    """Return the files of a package's modules by their dotted names; not those of the packages in it."""
    folder = ROOT.parent.joinpath(*package.split("."))
    return {f"{package}.{file.stem}": file for file in folder.glob("*.py") if file.stem != "__init__"}


def imports_of(source: str) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever its import statements stand."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def circle_in(sources: dict[str, str]) -> list[str]:
    """Return the modules of a circle among these, first one repeated at the end; nothing where there is none."""
    graph = {name: {one for one in imports_of(source) if one in sources} for name, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_itself_by_way_of_others(package):
    sources = {name: file.read_text(encoding="utf-8") for name, file in modules_of(package).items()}
    assert circle_in(sources) == []


@pytest.mark.parametrize(
    "source",
    [
        "from evenhand.studies.b import b",
        "from evenhand.studies import b",
        "import evenhand.studies.b",
        "if TYPE_CHECKING:\n    from evenhand.studies.b import b",
        "def late():\n    from evenhand.studies.b import b",
    ],
)
def test_a_circle_is_found_wherever_the_import_stands(source):
    names = {"evenhand.studies.a": source, "evenhand.studies.b": "import evenhand.studies.a"}
    assert sorted(set(circle_in(names))) == sorted(names)
    assert circle_in({**names, "evenhand.studies.b": "import os"}) == []


def test_every_package_is_walked():
    assert {"evenhand", "evenhand.studies", "evenhand.kernels"} <= set(PACKAGES)
