"""A trial at two sites, from the promise to the board."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.tasks.pages import DOCS, follow


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_trials(tmp_path):
    promise = re.search(r"^```toml\n(.*?)^```$", (DOCS / "tasks" / "trials.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "trial.toml").write_text(promise[1])
    outcomes = np.random.default_rng(1).integers(0, 2, 39)
    pd.DataFrame({"ticket": range(1, 40), "reward": outcomes}).to_csv(tmp_path / "outcomes.csv", index=False)
    follow("tasks/trials.md", tmp_path)
