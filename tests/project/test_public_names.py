"""The names that others build on are there, and everything public says what it is."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import evenhand as eh
from evenhand import errors


def test_scripts_elsewhere_find_the_audit_among_the_quotas():
    assert eh.quotas.audit is eh.audit.promise


def modules():
    parts = ("learners", "quotas", "simulation", "kernels", "plots", "cli", "experiments", "datasets")
    for info in pkgutil.walk_packages(eh.__path__, "evenhand."):
        part = info.name.split(".")[1]
        top = not info.ispkg and info.name.count(".") == 1 and part != "__main__"
        shared = part in parts and not any(problem in info.name for problem in PROBLEMS_OF_OTHERS)
        if top or shared:
            yield info.name


@cache
def imported():
    """Return what some module imports from another one, by module: that is public."""
    found = defaultdict(set)
    for file in Path(eh.__file__).parent.rglob("*.py*"):
        for node in ast.walk(ast.parse(file.read_text())) if file.suffix in (".py", ".pyi") else ():
            if isinstance(node, ast.ImportFrom):
                package = f"evenhand.{file.parent.name}." if node.level else ""
                found[package + (node.module or "")] |= {one.name for one in node.names if not one.name.startswith("_")}
    return found


PROBLEMS_OF_OTHERS = ("groups", "similarity", "interventions", "sampling")


@pytest.mark.parametrize("name", sorted(modules()))
def test_everything_public_has_a_docstring(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    for thing in [getattr(module, each) for each in imported().get(name, ()) if hasattr(module, each)]:
        if not str(getattr(thing, "__module__", "")).startswith("evenhand"):
            continue
        if inspect.isclass(thing) or callable(thing):
            thing = getattr(thing, "function", thing)
            assert (thing.__doc__ or "").strip(), f"{name}.{thing.__name__}"
        if inspect.isclass(thing):
            for method, member in vars(thing).items():
                plain = getattr(member, "__func__", member)
                if not method.startswith("_") and inspect.isfunction(plain) and not inherits_doc(thing, method):
                    assert (plain.__doc__ or "").strip(), f"{name}.{thing.__name__}.{method}"


def inherits_doc(cls, method):
    """A method that fills in one of its bases is described there."""
    return any(hasattr(base, method) for base in cls.__mro__[1:])


def test_the_tree_of_errors_is_the_one_that_is_drawn():
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__)
    depth = {name: line.index("──") for line in errors.__doc__.splitlines() for name in re.findall(r"── (\w+)", line)}
    path = {}
    for name in drawn:
        cls = getattr(errors, name)
        path[depth[name]] = cls
        parents = [at for at in path if at < depth[name]]
        parent = path[max(parents)] if parents else errors.EvenhandError
        assert cls.__bases__[0] is parent
    everything = {
        name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)
    }
    assert everything == {*drawn, "EvenhandError"}
    assert issubclass(errors.ArgumentError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert set(errors.__all__) == everything | {"Refusal", "Wording", "expected"}


def printed(code):
    """Return what a new process prints that runs this code."""
    return subprocess.check_output([sys.executable, "-c", code], text=True)


def test_importing_evenhand_loads_nothing_heavy():
    heavy = {"pandas", "xarray", "matplotlib", "sklearn", "torch", "joblib", "typer", "rich", "pooch", "dask"}
    assert printed(f"import sys, evenhand; print(sorted({heavy!r} & set(sys.modules)))") == "[]\n"


NAMES = [name for name in eh.__all__ if inspect.ismodule(getattr(eh, name))]
PACKAGES = [f"evenhand.{name}" for name in NAMES]


@pytest.mark.parametrize("package", ["evenhand", *PACKAGES])
def test_a_package_lists_its_public_names_and_nothing_else(package):
    module = importlib.import_module(package)
    assert sorted(dir(module)) == sorted(module.__all__)
    assert len(module.__all__) > 1
    for name in dir(module):
        assert getattr(module, name) is not None


def test_every_package_is_an_attribute_without_an_import():
    code = f"import evenhand as eh; print([getattr(eh, name).__name__ for name in {NAMES!r} if name in dir(eh)])"
    assert printed(code) == f"{PACKAGES}\n"


def test_a_loader_is_an_attribute_of_the_data_sets():
    assert len(eh.datasets.load_diabetes()) == 442
    with pytest.raises(AttributeError, match=r"evenhand\.datasets attribute load_nothing"):
        _ = eh.datasets.load_nothing
