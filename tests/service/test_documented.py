"""Every route that the documentation and the files of deploy name is one."""

import re
from pathlib import Path

from evenhand.service.app import ENDPOINTS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").iterdir(), *ROOT.glob("clients/*/*.md")]
WITH_METHOD = re.compile(r"\b(GET|HEAD|POST|PUT|PATCH|DELETE) (/[\w{}/.-]*)")
ALONE = re.compile(r"(?:`|\b(?:localhost|127\.0\.0\.1):\d+)(/(?!(?:dev|etc|opt|run|tmp|usr|var)/)[\w{}/.-]*)")
"""A path at the beginning of a code span, or behind an address; places in a file system are none."""


def is_route(path, method=None):
    """Whether a path is that of a route, or its end as in `/studies/{name}/audit` and then `/series`."""
    path = path.rstrip("/") or "/"
    for endpoint in ENDPOINTS:
        pattern = re.sub(r"\{\w+\}", "[^/]+", endpoint.template)
        named = method is None and endpoint.template.endswith(path)
        if named or (re.fullmatch(pattern, path) and method in (None, endpoint.method)):
            return True
    return False


def test_every_route_of_the_documentation_is_one():
    wrong, seen = [], 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = [(path, method) for method, path in WITH_METHOD.findall(text)]
        found += [(path, None) for path in ALONE.findall(text)]
        wrong += [(page.name, method, path) for path, method in found if not is_route(path, method)]
        seen += len(found)
    assert seen > 30
    assert not any(map(is_route, ("/admin/keys", "/healthz"))), "everything would be one"
    assert wrong == []
