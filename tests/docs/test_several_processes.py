"""Three processes under a split promise, one of them killed: what the page shows is done."""

import re

import pytest

from tests.tasks.pages import DOCS, follow


@pytest.mark.slow
def test_three_processes_keep_a_split_promise_though_one_is_killed(tmp_path):
    [script] = re.findall(r"^```python\n(# decide\.py\n.*?)^```$", (DOCS / "workers.md").read_text(), re.M | re.S)
    (tmp_path / "decide.py").write_text(script)
    follow("workers.md", tmp_path)
    logs = [(tmp_path / f"{number}.csv").read_text().splitlines() for number in range(3)]
    assert len(logs[2]) < len(logs[0]) == 20_001
