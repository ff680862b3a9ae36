"""`evenhand price`, and the same question asked of `simulate`, `evaluate` and `report`."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import evenhand as eh
from evenhand.errors import ArgumentError, EvenhandError
from tests.cli.shell import answer, as_json, call, cells, refused

MEANS = {"a": 0.9, "b": 0.5, "c": 0.3}
PROMISE = ["--shares", "b=0.1,c=0.1"]
RUNS = ["--rounds", "40", "--replications", "2", "--jobs", "1", "--seed", "1"]


@pytest.fixture
def log():
    random, arms = np.random.default_rng(1), list("abc") * 200
    won = random.random(600) < [MEANS[arm] for arm in arms]
    pd.DataFrame({"arm": arms, "reward": won.astype(int)}).to_csv("log.csv", index=False)
    Path("promise.toml").write_text("[shares]\nb = 0.1\nc = 0.1\n")
    return "log.csv"


def test_every_command_gives_the_price_that_scipy_finds():
    """Where an arm always earns the same there is one right number, whatever is drawn: that of the linear programme,
    and for each clause its marginal."""
    arms, means = list("abc"), np.array([MEANS[arm] for arm in "abc"])
    pd.DataFrame({"arm": arms * 40, "reward": means.tolist() * 40}).to_csv("log.csv", index=False)
    Path("promise.toml").write_text("[shares]\nb = 0.1\nc = 0.05\n[caps]\na = 0.6\n")
    solved = linprog(-means, A_eq=np.ones((1, 3)), b_eq=[1.0], bounds=[(0, 0.6), (0.1, 1), (0.05, 1)])
    cost = means.max() + solved.fun
    looser = [*solved.lower.marginals[1:] / 100, -solved.upper.marginals[0] / 100]
    promised = ("--promise", "promise.toml")
    simulated = ("simulate", "--data", "log.csv", "--learn", "log.csv", *promised, *RUNS)
    body = as_json(*simulated)
    prices = [
        as_json("price", "log.csv", *promised),
        as_json("evaluate", "log.csv", *promised, "--rounds", "40", "--replays", "2")["price"],
        *body["prices"],
    ]
    assert len(prices) == 3
    for one in prices:
        assert (one["cost"], one["free"], one["kept"]) == pytest.approx((cost, 0.9, -solved.fun))
        assert [row["looser"] for row in one["clauses"]] == pytest.approx(looser)
        assert any(note.startswith("This assumes that an arm earns the same in every round") for note in one["notes"])
        assert any(note.startswith("It is the price once the best arms are known") for note in one["notes"])
    assert [one["long_run"] for one in body["costs"]] == pytest.approx([cost] * len(body["costs"]))
    assert body["costs"]
    said = f"In the long run the promise costs {cost:.3f} a round"
    assert said in answer("price", "log.csv", *promised)
    printed = " ".join(answer(*simulated).split())
    assert said in printed
    assert f"after learning from 120 rows. In the long run it is {cost:.2g} per round; " in printed
    call("report", "log.csv", *promised, "--reward", "reward")
    page = Path("report.html").read_text()
    assert said in page
    assert "It is the price once the best arms are known" in page


@pytest.mark.parametrize("given", [["--propensity", '{"a": "p_a", "b": "p_b"}'], ["--propensity", "p"], []])
def test_means_of_arms_price_nothing_where_their_chances_vary(given):
    """Each kind of visitor was shown the arm that it likes: by their own rows arms earn 0.7, in all of them 0.4."""
    random = np.random.default_rng(1)
    kind = random.integers(0, 2, 2000)
    chances = np.where(kind[:, None] == 0, [0.1, 0.9], [0.9, 0.1])
    arms = (random.random(2000) < chances[:, 1]) * 1
    frame = pd.DataFrame({"arm": np.array(["a", "b"])[arms], "p": chances[np.arange(2000), arms]})
    prefix = "p_" if given else "propensity_"
    names = {} if given == ["--propensity", "p"] else {f"{prefix}{arm}": chances[:, i] for i, arm in enumerate("ab")}
    frame = frame.assign(reward=(random.random(2000) < np.where(arms != kind, 0.75, 0.05)) * 1, **names)
    frame.to_csv("log.csv", index=False)
    words = ["evaluate", "log.csv", *given, "-p", "a=0,b=1", "--shares", "a=0.5"]
    price = as_json(*words)["price"]
    assert price["cost"] is None
    assert "is not known: the propensities of an arm change from row to row" in price["notes"][0]
    assert "In the long run the promise costs" not in answer(*words)
    frame.assign(p=0.5)[["arm", "reward", "p"]].to_csv("log.csv", index=False)
    assert "In the long run the promise costs" in answer(*words[:2], "--propensity", "p", *words[-4:])


def test_a_price_of_means_has_no_interval_and_says_what_costs_nothing():
    ask = ("price", "--means", "a=0.9,b=0.5", "--shares", "b=0.1", "--cap", "a=0.5")
    said = answer(*ask)
    assert "In the long run the promise costs 0.2 a round, 22.2 % of the 0.9 earned without it." in said
    assert cells(said)[0] == ["a", "at most 1/2", "0.16", "0.004", "0.004"]
    assert "1 clause of 2 costs nothing as it is." in said
    (cap,) = [row for row in as_json(*ask)["clauses"] if row["promise"] == "cap"]
    assert (cap["cost"], cap["tighter"], cap["looser"]) == pytest.approx((0.16, 0.004, 0.004))


def test_money_is_written_as_people_write_it(log):
    ask = ("--shares", "b=0.1,c=0.12")
    said = answer("price", "--means", "a=92000,b=50000.4,c=61000", *ask)
    assert "the promise costs 7,920 a round, 8.61 % of the 92,000 earned without it." in said
    assert cells(said)[0] == ["b", "at least 1/10", "4,200", "420", "420"]
    table = pd.read_csv(log).assign(reward=lambda f: f["reward"] * 10_000)
    table.to_csv("money.csv", index=False)
    found = eh.quotas.price(eh.Promise({"a": 0, "b": 0.1, "c": 0.12}), table)
    low, high = f"{found.low:,.0f}", f"{found.high:,.0f}"
    said = answer("price", "money.csv", *ask)
    assert f"costs {found.cost:,.0f} a round (95 % interval {low} to {high})" in said
    assert "e+0" not in said


def test_windows_and_files_are_read_as_everywhere(log):
    assert as_json("price", "--means", "0.9,0.5", "--window", "1=1/4")["cost"] == pytest.approx(0.1)
    both = [answer("price", log, *promise, "--json") for promise in (PROMISE, ["--promise", "promise.toml"])]
    assert both[0] == both[1]


def test_a_list_of_shares_or_caps_is_that_of_the_arms_in_their_order(log):
    one, other = ("0.3,0.6", "0.5,0.9"), ("0=0.3,1=0.6", "0=0.5,1=0.9")
    priced = [answer("price", "--means", "0.9,0.5", "--shares", both[0], "--cap", both[1]) for both in (one, other)]
    assert priced[0] == priced[1]
    audited = [call("audit", log, "--shares", shares).output for shares in ("0.3,0.2,0.5", "a=0.3,b=0.2,c=0.5")]
    assert audited[0] == audited[1]
    answer("new", "ads.evenhand", "--policy", "fair-ucb", "--arms", "a,b", "--shares", "0.1,3/10")
    with eh.Study.open("ads.evenhand") as study:
        assert study.statistics().epochs[0].shares == pytest.approx({"a": 0.1, "b": 0.3})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "LOG: name a table of plays and rewards, or pass --means"),
        (["--means", "0.5,0.4"], "--shares: expected --shares, --cap, --window or --promise"),
        (["--means", "0.5,x", *PROMISE], "--means"),
        (["--means", "0.9,0.5", "--shares", "0.3,0.2,0.1"], "--shares: expected a share for each of the arms"),
        (["--means", "a=1,b=0", "--shares", "d=0.1"], "--shares: expected arms among"),
    ],
)
def test_what_cannot_be_priced_is_refused(words, said):
    refused(EvenhandError, said, "price", *words)


def test_a_log_that_says_too_little_of_an_arm_is_refused_and_beside_other_answers_only_said(log):
    Path("few.csv").write_text("arm,reward\n" + "a,1\na,0\nb,1\n" * 6 + "c,1\n")
    refused(ArgumentError, "at least two rewards of each arm, got 1 of arm 'c'", "price", "few.csv", *PROMISE)
    beside = answer("simulate", "--data", "few.csv", *PROMISE, "--rounds", "20", "--replications", "2", "--jobs", "1")
    assert "What the promise costs in the long run is not known: log: expected at least two rewards" in beside
