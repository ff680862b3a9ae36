"""A trial at two sites, from the promise to the board."""

import numpy as np
import pandas as pd
import pytest

from tests.tasks.pages import follow, write_promises


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_trials(tmp_path):
    write_promises("tasks/trials.md", tmp_path)
    outcomes = np.random.default_rng(1).integers(0, 2, 39)
    pd.DataFrame({"ticket": range(1, 40), "reward": outcomes}).to_csv(tmp_path / "outcomes.csv", index=False)
    follow("tasks/trials.md", tmp_path)
