"""The rooms of the house: a reader finds the place of a thing by the names of folders and files alone."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import evenhand as eh

HOME = Path(eh.__file__).parent
PLACES = {
    "where is it decided whether a proposal is granted?": ("promises/selection.py", "is_grantable"),
    "where is a promise refused that cannot be kept?": ("promises/feasible.py", "check_sums"),
    "how are plays counted against clauses?": ("promises/round_kernels.py", "play"),
    "how long may a ticket stay open?": ("studies/log/expiry.py", "read_expiry"),
    "how are the entries of a log chained?": ("studies/log/chain.py", "digest_of"),
    "how long does a writer wait for another?": ("studies/store/engine.py", "begin"),
    "how large may the body of a request be?": ("service/bodies.py", "read_body"),
    "what is the body of a request that changes shares?": ("service/routes/promises.py", "ChangeBody"),
    "how is a log of another system audited against shares?": ("audit/promises.py", "audit"),
    "how is a table in a file read?": ("data/files.py", "read_table"),
    "which item is labelled next?": ("sampling/labelling/label_queue.py", "LabelQueue"),
    "how is a policy written to a file?": ("saving/state.py", "save"),
    "what does a policy say of itself?": ("policy/traits.py", "Traits"),
}
TRUNK = {
    "arguments", "errors", "extras", "frames", "labels", "parameters", "protocol", "registry", "rng", "threads",
    "version",
}  # fmt: skip
"""The modules that belong to no room; what is new belongs into one."""


def defined(path):
    return {getattr(node, "name", None) for node in ast.parse((HOME / path).read_text()).body}


@pytest.mark.parametrize("question", PLACES)
def test_the_name_of_a_place_answers_a_question(question):
    path, name = PLACES[question]
    assert name in defined(path)


def test_only_what_all_need_stands_outside_the_rooms():
    assert {file.stem for file in HOME.glob("[a-z]*.py")} == TRUNK


def test_no_room_holds_more_than_a_reader_can_survey():
    """At most 50 modules lie flat in one folder, rooms inside it not counted."""
    for folder in {file.parent for file in HOME.rglob("*.py")}:
        assert len(list(folder.glob("[a-z]*.py"))) <= 50, folder


def test_only_doors_list_their_names():
    """Everywhere else a name without an underscore is public."""
    doors = {HOME / "errors.py", HOME / "quotas" / "promise.py"}
    rooms = (file for file in HOME.rglob("*.py") if file.name != "__init__.py")
    assert {file for file in rooms if "\n__all__ = " in file.read_text()} == doors


def test_no_public_class_name_stands_twice():
    """One name, one thing: a reader who looks for a class finds it at once."""
    places = defaultdict(set)
    for file in HOME.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(str(file.relative_to(HOME)))
    assert {name: sorted(files) for name, files in places.items() if len(files) > 1} == {}


def test_foreign_objects_are_adapted_at_the_door():
    """At most 60 places ask an object for a name that it may lack."""
    calls = (node for file in HOME.rglob("*.py") for node in ast.walk(ast.parse(file.read_text())))
    names = (node.func.id for node in calls if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    assert sum(name in ("getattr", "hasattr") for name in names) <= 60
