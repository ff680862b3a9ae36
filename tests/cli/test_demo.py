"""The demonstration tells of a contract: who is behind, by how much money, since when, and what keeping it costs."""

import re
import shlex

import pandas as pd
import pytest

import evenhand as eh
from evenhand.experiments.quotas.contract import CONTRACT, FORGOTTEN, PRICES, SINCE, TOLERANCE, made_log
from tests.cli.shell import answer, as_json


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    return out, " ".join(answer("demo", "--out", out).split())


def test_the_contract_is_kept_until_a_release_forgets_it(shown):
    log = pd.read_csv(shown[0] / "impressions.csv")
    assert len(log) == 10_000
    owed = dict.fromkeys(PRICES, 0) | CONTRACT
    found = eh.audit.promise(log, arm="advertiser", shares=owed, tolerance=TOLERANCE).promises
    (row,) = found[found["rounds_in_violation"] > 0].to_dict("records")
    assert (row["arm"], row["stretches"], row["last_broken"]) == (FORGOTTEN, 1, 10_000)
    began = log["at"][row["first_broken"] - 1]
    assert pd.Timestamp(began) >= pd.Timestamp("2026-11-02") + pd.Timedelta(hours=SINCE)
    told = re.search(r"(\w+) was ([\d,]+) impressions behind, worth ([\d,.]+) at its mean price", shown[1])
    worst, mean = row["worst_shortfall"], log.loc[log["advertiser"] == FORGOTTEN, "price"].mean()
    assert told[1] == FORGOTTEN
    assert float(told[2].replace(",", "")) == pytest.approx(worst, abs=0.5)
    assert float(told[3].replace(",", "").rstrip(".")) == pytest.approx(worst * mean, abs=0.005)
    assert f"from round {row['first_broken']:,} ({began}) on" in shown[1]


def test_what_keeping_it_costs_is_the_price_of_the_log(shown):
    log = pd.read_csv(shown[0] / "impressions.csv").rename(columns={"advertiser": "arm", "price": "reward"})
    found = eh.quotas.price(eh.Promise(dict.fromkeys(PRICES, 0) | CONTRACT), log)
    assert found.finding in shown[1]
    best = max(PRICES.values())
    truth = sum(share * (best - PRICES[name]) for name, share in CONTRACT.items())
    assert found.cost == pytest.approx(truth, abs=0.02)


def test_a_file_can_be_forwarded_and_the_log_is_said_to_be_made_up(shown, tmp_path):
    assert "Lumen" in (shown[0] / "report.html").read_text()
    assert (shown[0] / "demo.png").read_bytes()[:4] == b"\x89PNG"
    assert "A made-up log (seed 2026): 10,000 impressions" in shown[1]
    other = as_json("demo", "--out", tmp_path, "--seed", 3)
    assert (other["seed"], other["kept"]) == (3, False)
    assert not made_log(200, seed=3).equals(made_log(200))


def test_the_commands_run_as_they_are_printed():
    audit, new = (line.strip() for line in answer("demo").splitlines() if line.startswith("  evenhand"))
    answer(*shlex.split(audit)[1:], code=1)
    answer(*shlex.split(new)[1:])
    with eh.Study.open("ads.evenhand") as study:
        assert set(study.policy.arms) == set(PRICES)
        arms = {study.ask().arm for _ in range(60)}
        assert arms == {*PRICES} - {"Alder"}  # which it has learned from the log to pay too little to be tried
