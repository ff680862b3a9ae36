"""Real logs: Thompson sampling from the random policy's log of Open Bandit, against its own clicks and itself live."""

import pandas as pd
import pytest

import evenhand as eh

pytestmark = pytest.mark.data
COLUMNS = {"arm": "item_id", "reward": "click", "propensity": "propensity_score"}


def test_thompson_sampling_is_evaluated_from_the_random_log(data_folder):
    """From the logs of the random policy and of Thompson sampling, of the same week."""
    tried, own = (pd.read_csv(data_folder / f"open_bandit/{policy}/men/men.csv.gz") for policy in ("random", "bts"))
    shares = {
        position: {item: float((rows["item_id"] == item).mean()) for item in range(34)}
        for position, rows in own.groupby("position")
    }
    found = {
        name: eh.evaluate(tried, shares, **COLUMNS, position="position", estimator=name)
        for name in ("ips", "snips", "dr")
    }
    truth, error = own["click"].mean(), own["click"].sem()
    chances = [shares[place][item] for place, item in zip(tried["position"], tried["item_id"], strict=True)]
    wide = 1.96 * ((tried["click"] * chances / tried["propensity_score"]).sem() ** 2 + error**2) ** 0.5
    for one in found.values():
        assert abs(one.value - truth) <= wide
        assert one.low <= truth <= one.high
    ips = found["ips"]
    assert ips.value == pytest.approx(0.0057, abs=5e-5)
    assert ips.effective_rounds == pytest.approx(2869, abs=1)
    assert [ips.low, ips.high] == pytest.approx([0.0022, 0.0120], abs=1.5e-4)
    back = eh.evaluate(own, dict.fromkeys(range(34), 1 / 34), **COLUMNS, position="position", estimator="ips")
    assert back.effective_rounds < len(own) / 10
    assert back.high - back.low > 5 * (ips.high - ips.low)
