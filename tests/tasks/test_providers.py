"""Providers: a share of the tokens, by the commands of the page alone."""

import re
from pathlib import Path

import pytest

from tests.tasks.pages import DOCS, follow, run_scripts


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_share_of_the_tokens_is_audited_kept_and_shown(tmp_path: Path) -> None:
    page = (DOCS / "tasks" / "providers.md").read_text()
    promises = re.findall(r"`(\w+\.toml)`:\n\n```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(promises) == 2
    for name, promise in promises:
        (tmp_path / name).write_text(promise)
    run_scripts("tasks/providers.md", tmp_path)
    follow("tasks/providers.md", tmp_path)
