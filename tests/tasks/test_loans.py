"""German Credit, from the table to the answer."""

import pytest

from evenhand.datasets import load_german
from tests.tasks.pages import follow


@pytest.mark.slow
@pytest.mark.data
def test_loans(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    credit = load_german().rename(columns={"group": "sex"})
    loans = credit.assign(repaid=1 - credit["bad"]).drop(columns=["bad", "personal"])
    loans.to_csv(tmp_path / "loans.csv", index=False)
    follow("tasks/loans.md", tmp_path)
