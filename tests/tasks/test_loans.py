"""German Credit, from the table to the answer; what is printed is computed again as tests/tasks/test_pay.py says."""

import os

import pandas as pd
import pytest

from tests.tasks.pages import DOCS, follow, run_scripts, typed


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.data
def test_loans(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    run_scripts("tasks/loans.md", tmp_path)
    follow("tasks/loans.md", tmp_path)
    page = " ".join((DOCS / "tasks" / "loans.md").read_text().split())
    loans = pd.read_csv(tmp_path / "loans.csv")
    assert f"{len(loans):,} loans, {(loans['sex'] == 'women').sum()} of them to women" in page
    assert f"--set noise_scale={loans['repaid'].std():.2f}" in page
    again = "evenhand simulate --data loans.csv --group sex --reward repaid --sensitive women --rounds 300 "
    again += "--features age,amount,duration,purpose --replications 5 --seed 1 -p two-group-top-interval --out two"
    typed(again, tmp_path, {**os.environ})
    half, most = (pd.read_csv(tmp_path / out / "arms.csv", index_col="arm").loc["women"] for out in ("out", "two"))
    assert 0.45 < half["group-fair-top-interval"] < 0.55, "about half"
    assert 0.75 < most["two-group-top-interval"] < 0.85, "about 80 %"
