"""The rooms of the house: what stands where, and how much of it a reader meets at a time."""

import ast
import importlib.machinery
import importlib.util
from collections import defaultdict
from pathlib import Path

import pytest

import evenhand as eh
from evenhand import registry

HOME = Path(eh.__file__).parent
COUNTED = importlib.machinery.SourceFileLoader("ci_lines", str(Path(__file__).parents[2] / ".ci" / "lines"))
TRUNK = {
    "arguments",
    "errors",
    "extras",
    "frames",
    "jobs",
    "labels",
    "parameters",
    "processes",
    "protocol",
    "registry",
    "rng",
    "threads",
    "version",
}
"""The modules that belong to no room; what is new belongs into one."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.fixture(scope="module")
def parsed():
    """Return the nodes of every file."""
    return {file: list(ast.walk(ast.parse(file.read_text()))) for file in HOME.rglob("*.py")}


def test_only_what_all_need_stands_outside_the_rooms():
    assert {file.stem for file in HOME.glob("[a-z]*.py")} == TRUNK


def test_no_room_holds_more_than_a_reader_can_survey():
    """At most 50 modules lie flat in one folder, rooms inside it not counted."""
    for folder in {file.parent for file in HOME.rglob("*.py")}:
        assert len(list(folder.glob("[a-z]*.py"))) <= 50, folder


def test_only_the_errors_and_doors_list_their_names():
    """Everywhere else a name without an underscore is public."""
    rooms = (file for file in HOME.rglob("*.py") if file.name != "__init__.py")
    assert {file for file in rooms if "\n__all__ = " in file.read_text()} == {HOME / "errors.py"}


def test_no_public_class_name_stands_twice(parsed):
    """One name, one thing: a reader who looks for a class finds it at once."""
    places = defaultdict(set)
    for file, nodes in parsed.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(str(file.relative_to(HOME)))
    assert {name: sorted(files) for name, files in places.items() if len(files) > 1} == {}


def test_foreign_objects_are_adapted_at_the_door(parsed):
    """At most 60 places ask an object for a name that it may lack."""
    every = (node for nodes in parsed.values() for node in nodes)
    calls = [node for node in every if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    asked = [one for one in calls if one.func.id == "hasattr" or (one.func.id == "getattr" and len(one.args) == 3)]
    assert len(asked) <= 60


def test_a_file_is_read_in_one_sitting_and_a_function_on_one_screen(parsed):
    """At most 300 lines of code a file, and 60 a function below its signature."""
    ci_lines = importlib.util.module_from_spec(importlib.util.spec_from_loader(COUNTED.name, COUNTED))
    COUNTED.exec_module(ci_lines)
    long = []
    for file, nodes in parsed.items():
        text = file.read_text()
        functions = [node for node in nodes if isinstance(node, FUNCTIONS) and node.end_lineno - node.lineno >= 60]
        if not functions and text.count("\n") <= 300:
            continue
        lines = ci_lines.lines_of_code(text)
        if len(lines) > 300 and not text.startswith("# Generated"):
            long.append((str(file.relative_to(HOME)), len(lines)))
        for node in functions:
            count = len(lines & set(range(node.body[0].lineno, node.end_lineno + 1)))
            if count > 60:
                long.append((str(file.relative_to(HOME)), node.name, count))
    assert long == []


KINDS = ("policy", "world", "part")
"""What is registered; parts are models and metrics."""


def registered(kind):
    return [entry.cls for entry in registry.entries(kind) if entry.cls.__module__.startswith("evenhand.")]


def test_a_user_is_offered_what_a_user_needs():
    """At most 30 names; what authors fill in, and what a class states about itself, carries an underscore."""
    offered = {
        cls.__qualname__: count
        for kind in KINDS
        for cls in registered(kind)
        if (count := sum(not name.startswith("_") for name in dir(cls))) > 30
    }
    assert offered == {}


def test_a_class_is_read_with_few_others():
    """A chain of classes, from a registered one up to a root, has at most four."""

    def depth(cls):
        return 1 + max((depth(base) for base in cls.__bases__ if base.__module__.startswith("evenhand.")), default=0)

    assert max(depth(cls) for kind in KINDS for cls in registered(kind)) <= 4


def arguments_of(parsed, rooms):
    """Return name and annotation of every argument of the functions in these rooms."""
    for nodes in (nodes for file, nodes in parsed.items() if any(file.is_relative_to(HOME / room) for room in rooms)):
        for node in nodes:
            if isinstance(node, FUNCTIONS):
                given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                given += [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
                yield from ((one.arg, getattr(one.annotation, "id", "")) for one in given if one.arg not in OWNERS)


OWNERS = ("self", "cls")
OURS = {"engine", "promise", "queue", "rule", "tickets", "traits", "reader", "proposer", "calls", "decision"}
"""How arguments are called that are of our own types."""


def test_the_type_checker_sees_what_our_own_objects_do(parsed):
    """No argument of our own types is `Any` where policies are made, and at most 8 % of all arguments are."""
    core = arguments_of(parsed, ["policy", "quotas", "sampling/labelling"])
    assert {name for name, annotation in core if annotation == "Any"} & OURS == set()
    found = [annotation == "Any" for _, annotation in arguments_of(parsed, [""])]
    assert sum(found) <= 0.08 * len(found)
