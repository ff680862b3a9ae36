"""Pages that lead from a model, a table or a promise to the answer by their commands alone."""

import gzip

import numpy as np
import pandas as pd
import pytest

from tests.tasks.pages import follow, run_scripts, write_promises

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.data
def test_the_page_leads_from_a_model_and_a_table_of_patients_to_the_best_fair_rule(data_folder, tmp_path):
    (tmp_path / "patients.bif").write_bytes(gzip.decompress((data_folder / "hepar2" / "hepar2.bif.gz").read_bytes()))
    follow("tasks/patients.md", tmp_path)


def test_a_share_of_the_tokens_is_audited_kept_and_shown(tmp_path):
    write_promises("tasks/providers.md", tmp_path)
    run_scripts("tasks/providers.md", tmp_path)
    follow("tasks/providers.md", tmp_path)


def test_a_trial_at_two_sites_goes_from_the_promise_to_the_board(tmp_path):
    write_promises("tasks/trials.md", tmp_path)
    outcomes = np.random.default_rng(1).integers(0, 2, 39)
    pd.DataFrame({"ticket": range(1, 40), "reward": outcomes}).to_csv(tmp_path / "outcomes.csv", index=False)
    follow("tasks/trials.md", tmp_path)
