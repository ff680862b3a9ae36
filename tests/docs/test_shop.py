"""The shop of the page: three workers, one of them killed, a thirteenth seller, and a month that a seller checks."""

import csv
import json
from fractions import Fraction

import pytest

from tests.tasks.pages import follow, write_scripts


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_shop_keeps_its_promise_though_a_worker_is_killed_and_a_seller_joins(tmp_path):
    write_scripts("shop.md", tmp_path)
    assert len((tmp_path / "shop.py").read_text().splitlines()) <= 120
    follow("shop.md", tmp_path)
    with (tmp_path / "mail" / "month.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == [f"visit {number}" for number in range(1, 121)]
    rounds, plays = {}, {}
    for row in rows:
        for seller in json.loads(row["available"]):
            rounds[seller] = rounds.get(seller, 0) + 1
        plays[row["arm"]] = plays.get(row["arm"], 0) + 1
        assert all(plays.get(name, 0) >= rounds.get(name, 0) // 20 for name in ("ada", "ben", "kim", "leo", "mia"))
        assert all(count <= -(-Fraction(3, 10) * rounds[name] // 1) for name, count in plays.items())
    assert (rounds["ada"], rounds["mia"]) == (120, 60)
