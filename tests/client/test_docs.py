"""The examples of docs/clients.md run against a running service."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()


def test_the_examples_in_python_run(served, monkeypatch):
    monkeypatch.setenv("EVENHAND_URL", served.url)
    monkeypatch.setenv("EVENHAND_KEY", served.key)
    names: dict[str, object] = {}
    examples = [code for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "litellm" not in code]
    assert len(examples) == 5
    for code in examples:
        exec(code, names)
    names["client"].close()
    assert names["status"] == "told"
    assert names["details"].error_code is None
    state = served.read("/studies/banner")
    assert (state["decisions"], state["told"]) == (113, 104)
