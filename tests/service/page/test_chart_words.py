"""What charts say in words, run by node: no browser is needed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import evenhand.service

PAGE = Path(evenhand.service.__file__).parent / "page"
PROGRAM = """
import { chartsOf } from "./charts.js";
import { place, sentence } from "./chart_words.js";
const rounds = Number(process.argv[2]);
const series = {
  round: Array.from({ length: rounds }, (_, i) => i + 1), labels: ["a", "b"], promised: [0.5, 0], at: null,
  shares: [Array(rounds).fill(0.5), Array(rounds).fill(0.5)],
  shortfall: [Array.from({ length: rounds }, (_, i) => (i === 4 ? 3 : 0)), Array(rounds).fill(0)],
  reward_mean: Array(rounds).fill(null), reward_recent: Array(rounds).fill(null),
};
const state = { arms: [], promise: { when: "at every round", tolerance: 0 } };
const specs = chartsOf({ series, state, close: null, ui: { chosen: [0, 1], axis: "rounds", zoom: null } });
const words = (id) => [0, 1].map((i) => [sentence(specs[id], i), place(specs[id], i)]);
console.log(JSON.stringify({ shortfall: words("chart-shortfall"), shares: words("chart-shares") }));
"""


def said(tmp_path, rounds):
    """Return what the charts say of their first two points."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: see https://nodejs.org")
    shutil.copytree(PAGE, tmp_path / "page")
    (tmp_path / "page" / "package.json").write_text('{"type": "module"}')
    (tmp_path / "page" / "words.js").write_text(PROGRAM)
    done = subprocess.run(
        ["node", tmp_path / "page" / "words.js", str(rounds)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_point_that_stands_for_several_rounds_names_them_all(tmp_path):
    """The shortfall of 3 was in round 5, not in round 10, where the stretch of ten ends."""
    found = said(tmp_path, 600)
    assert found["shortfall"] == [
        ["Largest in rounds 1 to 10: a 3.00", "largest in rounds 1 to 10"],
        ["Largest in rounds 11 to 20: a 0.00", "largest in rounds 11 to 20"],
    ]
    assert found["shares"][0] == ["Round 1: a 50.0%, b 50.0%", "round 1"]


def test_a_point_that_is_one_round_names_it_and_no_arm_that_is_owed_nothing(tmp_path):
    """Arm b has a share and no promise."""
    assert said(tmp_path, 20)["shortfall"][0] == ["Round 1: a 0.00", "round 1"]
