"""A page for whoever has a model of patients, or a table of them, and rules to choose among."""

import gzip

import pytest

from tests.tasks.pages import follow


@pytest.mark.slow
@pytest.mark.data
def test_the_page_leads_from_a_model_and_a_table_of_patients_to_the_best_fair_rule(data_folder, tmp_path):
    (tmp_path / "patients.bif").write_bytes(gzip.decompress((data_folder / "hepar2" / "hepar2.bif.gz").read_bytes()))
    follow("tasks/patients.md", tmp_path)
