"""Every name of the library that the documentation uses is there."""

import importlib
import re
from pathlib import Path

import pytest

import evenhand as eh
from evenhand import registry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
IMPORTED = re.compile(r"from (evenhand[\w.]*) import ([\w, ]+)")


def there(name):
    """Whether a name such as eh.Study.create leads to something."""
    found, path = eh, "evenhand"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part, None) or importlib.import_module(path)
        except ImportError:
            return False
    return True


def test_every_name_of_the_documentation_is_there():
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
    used = [(page, name) for page, text in texts.items() for name in re.findall(r"\beh(?:\.[A-Za-z_]\w*)+", text)]
    for page, text in texts.items():
        for module, names in IMPORTED.findall(text):
            used += [(page, f"{module}.{name.split(' as ')[0].strip()}") for name in names.split(",")]
    assert len(used) > 150
    assert [(page, name) for page, name in used if not there(name)] == []


def test_a_name_that_is_not_there_is_found():
    assert there("eh.Study.create")
    assert not there("eh.online.ask")
    assert not there("evenhand.client.litellm.Fair")


@pytest.mark.parametrize("entry", registry.entries("policy"), ids=lambda entry: entry.name)
def test_the_page_of_a_policy_names_its_paper(entry):
    """Authors and year, or that it is ours; the simulation guide sends those who cite it there."""
    assert re.search(r"\n    Source: (ours|.*?\(\d{4}\))", entry.cls.__doc__, re.DOTALL)
