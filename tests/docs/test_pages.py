"""The pages of the site: each has its place in a menu, and each notebook can be read."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted(page for page in DOCS.rglob("*.md") if page.read_text().startswith("---\nfile_format: mystnb"))
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def listed():
    """Yield the pages that menus list."""
    for page in DOCS.rglob("*.md"):
        for menu in TOCTREE.findall(page.read_text()):
            for line in menu.splitlines():
                if line and not line.startswith(":"):
                    name = re.sub(r".*<(.*)>", r"\1", line.strip())
                    yield (page.parent / f"{name}.md").resolve()


def cells(page):
    return re.findall(r"^```\{code-cell\} ipython3\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def test_every_page_is_in_a_menu_once():
    """A new page of docs/ belongs into the list at the end of guides/index.md, or of another section's index.md."""
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {DOCS.resolve() / "index.md"}
    entries = sorted(listed())
    assert sorted({*entries} - pages) == [], "menus list pages that are not there"
    assert sorted(pages - {*entries}) == [], "add these pages to docs/guides/index.md or to another section's index.md"
    assert len(entries) == len({*entries})


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_notebook_holds_code_that_compiles_and_no_outputs(page):
    from IPython.core.inputtransformer2 import TransformerManager

    found = cells(page)
    assert found
    for cell in found:
        source = re.sub(r"^:\w+:.*\n", "", cell)
        compile(TransformerManager().transform_cell(source), page.name, "exec", flags=0x2000)
    assert "file_format: mystnb\nkernelspec:\n  name: python3\n" in page.read_text()
