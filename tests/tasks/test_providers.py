"""Providers: a share of the tokens, by the commands of the page alone."""

from pathlib import Path

import pytest

from tests.tasks.pages import follow, run_scripts, write_promises


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_share_of_the_tokens_is_audited_kept_and_shown(tmp_path: Path) -> None:
    write_promises("tasks/providers.md", tmp_path)
    run_scripts("tasks/providers.md", tmp_path)
    follow("tasks/providers.md", tmp_path)
