"""German Credit, from the table to the answer."""

import pytest

from tests.tasks.pages import follow, run_scripts


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.data
def test_loans(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    run_scripts("tasks/loans.md", tmp_path)
    follow("tasks/loans.md", tmp_path)
