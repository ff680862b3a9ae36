"""Salaries of professors, from the table to the answer."""

import shutil

import pytest

from tests.tasks.pages import follow


@pytest.mark.slow
@pytest.mark.data
def test_pay(data_folder, tmp_path):
    table = data_folder.parent / "tables" / "salaries.csv"
    if not table.is_file():
        pytest.skip(f"no real data sets: {table} is not there")
    shutil.copy(table, tmp_path)
    follow("tasks/pay.md", tmp_path)
