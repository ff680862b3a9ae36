"""How Sphinx builds the site of documentation: `make docs`."""

import re
from pathlib import Path
from typing import Any

from evenhand.policy import KernelPolicy
from evenhand.policy.ask_tell import AskTell
from evenhand.simulation.world import KernelWorld
from evenhand.version import __version__

project = "evenhand"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
templates_path = ["_templates"]
nitpicky = True
OTHERS = "numpy pandas xarray matplotlib fractions collections sklearn typing"
nitpick_ignore_regex = [("py:.*", rf"({OTHERS.replace(' ', '|')})\..*|Label|Check|Audit|Breach|pd\.DataFrame")]
highlight_language = "none"

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_search_summary = False  # a browser refuses to read other pages of a folder, so summaries need a server
html_theme_options = {
    "logo": {"text": "evenhand"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "gallery": [], "results": []}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_output_stderr = "error"
nb_render_markdown_format = "myst"

autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"
autosummary_ignore_module_all = False
autosummary_imported_members = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
toc_object_entries_show_parents = "hide"
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Any) -> None:
    """Teach Sphinx the form of our docstrings, and mathematics that needs no script."""
    app.connect("autodoc-process-docstring", translate_docstring, priority=400)
    app.connect("autodoc-skip-member", skip_hook)
    app.connect("source-read", link_inside)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))


SECTION = re.compile(r"(?P<name>[A-Z][a-z]+)\n-+\n?")
CODE_OR_BOLD = re.compile(r"(`[^`]+`|\*\*[^*]+\*\*)")
ENTRIES = {
    "Parameters": re.compile(r"\S[^:\n]* : "),
    "Attributes": re.compile(r"\S[^:\n]* : "),
    "Raises": re.compile(r"\S+\n    "),
    "Returns": re.compile(r"\S.*\n    "),
    "Warns": re.compile(r"\S+\n    "),
}
"""How an entry of a section begins; the first block that has none ends the section."""


def link_inside(app: Any, name: str, source: list[str]) -> None:
    """Let a link to a file beside `docs/` lead to its page of the site."""
    source[0] = source[0].replace("](../CONTRIBUTING.md)", "](contributing.md)")


CONVERSED = "ask choose compile forget forget_older gaps learn observe open_tickets plays probabilities reset respond"
CONVERSED += " round tell tell_all update"
BEHIND = "read_label prepare replay shape sources contradicts"
TRUNK = {name for base in (AskTell, KernelPolicy, KernelWorld) for name in dir(base)}
HOOKS = {*BEHIND.split()} | TRUNK - {*CONVERSED.split()}
"""What authors of policies and worlds fill in, and no user calls."""


def skip_hook(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave the hooks out of the reference."""
    return True if name in HOOKS else None


def translate_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring, which is plain text with `code`, into what napoleon and reStructuredText expect."""
    section, found = "", []
    for block in "\n".join(lines).split("\n\n"):
        head = SECTION.match(block)
        if head:
            section, block = head["name"], block[head.end() :]
            found += ["", *head[0].split()]
        elif section in ENTRIES and not ENTRIES[section].match(block):
            section = ""
            found += ["", ""]
        elif found:
            found.append("")
        found += translate_block(block, section).split("\n") if block else []
    if what in ("attribute", "property"):
        found.insert(0, "\\ ")  # else napoleon takes "a: b" for b of the type a
    lines[:] = found


def translate_block(block: str, section: str) -> str:
    """Escape what reStructuredText would take for markup; set indented text, which is mathematics, as it is."""
    if block.lstrip().startswith(">>>"):
        return block
    if block.startswith("    ") and not section:
        return f"::\n\n{block}"
    parts = CODE_OR_BOLD.split(block)
    parts[::2] = [re.sub(r"([*|\\`]|_(?!\w))", r"\\\1", part) for part in parts[::2]]
    block = "".join(f"`{part}`" if part.startswith("`") else part for part in parts)
    if section in ("Parameters", "Attributes"):
        apart = ", " if section == "Parameters" else ","  # a name with a space would be a type and a name
        block = re.sub(r"^(\S[^:\n]*) : ", lambda it: it[1].replace(", ", apart) + "\n    ", block, flags=re.MULTILINE)
    return block


def write_formula(writer: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers draw by themselves."""
    from docutils import nodes
    from docutils.utils.math.latex2mathml import tex2mathml

    writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode
