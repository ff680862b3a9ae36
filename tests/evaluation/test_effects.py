"""Each arm against a control: numbers against plain loops, error rates against computed ones, and what is refused."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import evenhand as eh
from evenhand.cli.refusals import in_shell
from evenhand.errors import ArgumentError, TableError, UnknownArmError
from evenhand.evaluation.diagnosis import HIDDEN
from evenhand.evaluation.effects import CAUTION
from evenhand.evaluation.overlap import BETS, difference, evidence
from evenhand.quotas import DeadlineLearn
from evenhand.studies import Study
from evenhand.studies.export import bandit_frame
from tests.cli.shell import answer, as_json, refused

SHARES = {"control": 0.25, "A": 0.1, "B": 0.1}


def drawn(seed, n=300, rates=(0.3, 0.5, 0.3), missing=0.1):
    """A log of three arms whose chances change, some of them 0, and some outcomes of which are missing."""
    random = np.random.default_rng(seed)
    chances = random.dirichlet([3, 2, 2], n)
    chances[: n // 4] *= [1, 1, 0]
    chances /= chances.sum(axis=1, keepdims=True)
    codes = (random.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    outcomes = (random.random(n) < np.array(rates)[codes]) * 1.0
    outcomes[random.random(n) < missing] = np.nan
    log = pd.DataFrame(chances, columns=["p_control", "p_A", "p_B"])
    return log.assign(arm=np.array(["control", "A", "B"])[codes], reward=outcomes)


def by_loops(log, arm, alpha):
    """The estimate, the ends of the interval and the p-value, from the formulas as they stand, a row at a time."""
    rows = []
    for row in log.itertuples():
        control, other = row.p_control, getattr(row, f"p_{arm}")
        if row.arm in ("control", arm) and not math.isnan(row.reward) and control > 0 and other > 0:
            rows.append((float(row.arm == arm), other / (control + other), row.reward))
    total = sum(p * (1 - p) for _, p, _ in rows)

    def excess(effect, second):
        left = [y - effect * a for a, _, y in rows]
        mean = sum(p * (1 - p) * x for (_, p, _), x in zip(rows, left, strict=True)) / total
        score = sum((a - p) * (x - mean) for (a, p, _), x in zip(rows, left, strict=True))
        by = [(a - p) ** 2 if second else p * (1 - p) for a, p, _ in rows]
        return score, sum(b * (x - mean) ** 2 for b, x in zip(by, left, strict=True))

    (score, one), (_, other) = excess(0.0, False), excess(0.0, True)
    estimate = brentq(lambda effect: excess(effect, False)[0], -1, 1)
    ends = []
    for second, far in itertools.product((False, True), (-1.0, 1.0)):

        def outside(effect, second=second):
            score, variance = excess(effect, second)
            return score**2 - norm.isf(alpha / 2) ** 2 * variance

        ends.append(brentq(outside, estimate, far))
    return estimate, min(ends), max(ends), 2 * norm.sf(abs(score) / math.sqrt(max(one, other))), len(rows)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_numbers_are_those_of_the_formulas(alpha):
    log = drawn(1)
    found = eh.effects(log, control="control", alpha=alpha, propensity="p").arms
    assert found["arm"].tolist() == ["control", "A", "B"]
    p_values = []
    for row in found.iloc[1:].itertuples():
        estimate, low, high, p_value, rows = by_loops(log, row.arm, alpha)
        assert row.compared == rows
        assert (row.difference, row.low, row.high, row.p_value) == pytest.approx((estimate, low, high, p_value))
        p_values.append(p_value)
    least, most = sorted(p_values)
    holm = {least: min(1, 2 * least), most: max(min(1, 2 * least), most)}
    assert found["adjusted"].iloc[1:].tolist() == pytest.approx([holm[one] for one in p_values])
    known = log.dropna(subset="reward").groupby("arm")["reward"].agg(["count", "mean"]).loc[found["arm"]]
    assert found["allocated"].tolist() == log["arm"].value_counts().loc[found["arm"]].tolist()
    assert found["observed"].tolist() == known["count"].tolist()
    assert found["rate"].tolist() == pytest.approx(known["mean"].tolist())
    assert (found["allocated"] - found["observed"]).tolist() == found["missing"].tolist()


def test_chances_dropouts_and_the_course():
    log = drawn(2)
    found = eh.effects(log, control="control", propensity="p")
    every = log[["p_control", "p_A", "p_B"]].to_numpy()
    assert found.chances["least"].tolist() == pytest.approx(every.min(axis=0))
    assert found.chances["largest"].tolist() == pytest.approx(every.max(axis=0))
    assert found.chances["zeros"].tolist() == [0, 0, 75]
    assert found.chances["ones"].tolist() == [0, 0, 0]
    silent = log["reward"].isna()
    assert found.dropped["decision"].tolist() == (np.flatnonzero(silent) + 1).tolist()
    assert found.dropped["arm"].tolist() == log.loc[silent, "arm"].tolist()
    assert found.course.iloc[-1].to_dict() == log["arm"].value_counts().to_dict()
    assert any("compared by the 225 of 300 decisions" in note for note in found.notes)


def test_the_e_value_is_that_of_its_formula_and_is_one_on_average():
    random = np.random.default_rng(3)
    chance, outcomes = random.uniform(0.1, 0.9, 8), random.integers(0, 2, 8) * 1.0
    mean = 0.0
    for draws in itertools.product((0.0, 1.0), repeat=8):
        products, ones = [1.0] * (2 * len(BETS)), 0.0
        for row, (a, p, y) in enumerate(zip(draws, chance, outcomes, strict=True)):
            before = (0.5 + ones) / (1 + row)
            most = max(p, 1 - p) * max(before, 1 - before)
            for place, bet in enumerate([*BETS, *-BETS]):
                products[place] *= 1 + bet * (a - p) * (y - before) / most
            ones += y
        found = math.exp(evidence(np.array(draws), chance, outcomes)[-1])
        assert found == pytest.approx(sum(products) / len(products))
        mean += found * math.prod(p if a else 1 - p for a, p in zip(draws, chance, strict=True))
    assert mean == pytest.approx(1.0)


@pytest.mark.parametrize(("rates", "least"), [((0.05, 0.5), 0.935), ((0.5, 0.05), 0.935), ((0.25, 0.25), 0.935)])
def test_intervals_hold_as_often_as_they_say(rates, least):
    """Of 4,000 logs; the standard error of .95 is .0034."""
    random = np.random.default_rng(4)
    chance = np.full((4000, 400), 0.2)
    arm = (random.random(chance.shape) < chance) * 1.0
    outcomes = (random.random(chance.shape) < np.where(arm == 1, rates[1], rates[0])) * 1.0
    found = difference(arm, chance, outcomes, 0.05)
    truth = rates[1] - rates[0]
    assert ((found.low <= truth) & (truth <= found.high)).mean() > least
    if not truth:
        assert 0.04 < (found.p_value < 0.05).mean() < 0.06


def test_a_row_that_stands_twice_is_two_rows():
    random = np.random.default_rng(7)
    rows, times = random.integers(0, 2, (2, 40)) * 1.0, random.integers(0, 4, 40)
    chance = random.uniform(0.1, 0.9, 40)
    several = difference(*(np.repeat(one, times) for one in (rows[0], chance, rows[1])), 0.05)
    found = difference(rows[0], chance, rows[1], 0.05, times * 1.0)
    assert np.allclose(found, several)


def test_a_drift_that_all_arms_share_is_no_effect():
    random = np.random.default_rng(5)
    n = 400
    chance = np.tile(np.linspace(0.1, 0.9, n), (4000, 1))  # the arm is drawn more often when rates are high
    arm = (random.random(chance.shape) < chance) * 1.0
    outcomes = (random.random(chance.shape) < np.linspace(0.2, 0.7, n)) * 1.0
    assert (difference(arm, chance, outcomes, 0.05).p_value < 0.05).mean() < 0.06
    plain = (arm * outcomes).sum(axis=1) / arm.sum(axis=1) - ((1 - arm) * outcomes).sum(axis=1) / (1 - arm).sum(axis=1)
    assert plain.mean() > 0.1


def trial():
    """A study in which an arm joins, one is away once and leaves, two tickets are open and one is forgotten."""
    study = Study.create(":memory:", DeadlineLearn(eh.learners.Thompson(), SHARES, lottery=0.5, seed=1), name="trial")
    random = np.random.default_rng(1)
    for t in range(120):
        if t == 40:
            study.add("C", 0.1)
        if t == 80:
            study.retire("A")
        decision = study.ask(available=["control", "B", "C"] if t == 60 else None)
        if t == 50:
            study.forget(decision)
        elif t not in (70, 119):
            study.tell(decision, float(random.random() < 0.4))
    return study


def test_a_study_its_frame_and_its_exports_say_the_same(tmp_path):
    study = trial()
    found = eh.effects(study, control="control")
    assert found.dropped[["decision", "status"]].to_numpy().tolist() == [[51, "forgotten"], [71, "open"], [120, "open"]]
    zeros = found.chances.set_index("arm")["zeros"].to_dict()
    assert zeros["A"] == 41
    assert zeros["C"] == 40
    pd.testing.assert_frame_equal(eh.effects(study.frame(), control="control").arms, found.arms)
    feedback = bandit_frame(study)
    chances = feedback[["propensity_control", "propensity_A", "propensity_B", "propensity_C"]]
    for row, wide in zip(feedback.itertuples(), chances.to_numpy(), strict=True):
        stated = study.log.record(row.ticket).decision["probabilities"]
        assert wide.tolist() == [*stated, 0.0][:4]
    exported = eh.effects(feedback, control="control")
    shared = [arms.drop(columns=["allocated", "missing"]) for arms in (exported.arms, found.arms)]
    pd.testing.assert_frame_equal(*shared)
    assert any("leaves out 3 decisions" in note for note in exported.notes)
    store, out = tmp_path / "own.evenhand", tmp_path / "out.csv"
    with Study.create(store, DeadlineLearn(eh.learners.Thompson(), SHARES, lottery=0.5)) as own:
        [own.tell(decision, 1.0) for decision in own.ask(count=40)]
    for form in ("log", "bandit"):
        answer("export", store, "--form", form, "--out", out)
        arms = [as_json("effects", place, "--control", "A")["arms"] for place in (store, out)]
        assert arms[0] == [pytest.approx(row) for row in arms[1]]


def test_at_any_time_it_looks_up_to_the_first_open_decision():
    study = trial()
    found = eh.effects(study, control="control", anytime=True)
    assert (found.looked, found.decisions) == (70, 120)
    assert {"difference", "low", "high"}.isdisjoint(found.arms.columns)
    assert any("first 70 of 120 decisions" in note for note in found.notes)
    frame = study.frame().iloc[:70].reset_index(drop=True)
    again = eh.effects(frame, control="control", anytime=True).arms.dropna().reset_index(drop=True)
    columns = ["arm", "compared", "e_value", "p_value", "adjusted"]
    known = found.arms.dropna().reset_index(drop=True)
    pd.testing.assert_frame_equal(again[columns], known.loc[known["arm"].isin(again["arm"]), columns])
    assert "Close those" in " ".join(found.notes)
    exported = eh.effects(bandit_frame(study), control="control", anytime=True)
    assert exported.looked == 50
    assert "does not say whether its outcome may still come" in " ".join(exported.notes)
    assert "forget" not in " ".join(exported.notes)
    with pytest.raises(TableError, match="decision 1 is still open, or the log leaves it out: close it"):
        eh.effects(drawn(1).assign(reward=[np.nan] + [1.0] * 299), control="A", propensity="p", anytime=True)


def test_evaluate_finds_the_chances_of_all_arms_and_says_what_a_single_column_hides():
    study = Study.create(":memory:", DeadlineLearn(eh.learners.Thompson(), SHARES, lottery=0.5, seed=1))
    for t in range(60):
        study.tell(study.ask(), float(t % 3 == 0))
    log = bandit_frame(study)
    policy, columns = {"control": 0.5, "A": 0.25, "B": 0.25}, {arm: f"propensity_{arm}" for arm in SHARES}
    named = eh.evaluate(log, policy, arm="arm", reward="reward", propensity=columns)
    for given in (None, "propensity"):
        found = eh.evaluate(log, policy, arm="arm", reward="reward", propensity=given)
        assert (found.value, found.low, found.high, found.notes) == (named.value, named.low, named.high, named.notes)
    assert HIDDEN not in named.notes
    alone = log.drop(columns=list(columns.values()))
    assert HIDDEN in eh.evaluate(alone, policy, arm="arm", reward="reward", propensity="propensity").notes
    words = r"propensity: expected a column of the chance of each arm, whichever was drawn"
    with pytest.raises(TableError, match=words):
        eh.effects(alone, control="control", propensity="propensity")


GOOD = drawn(1)


@pytest.mark.parametrize(
    ("log", "more", "error", "words"),
    [
        (GOOD, {"control": "Z"}, UnknownArmError, "control: expected one of the arms of the log, .*got 'Z'"),
        (GOOD, {"alpha": 1.5}, ArgumentError, "alpha: expected a number > 0 and < 1, got 1.5"),
        (GOOD, {"anytime": "yes"}, ArgumentError, "anytime: expected"),
        (GOOD, {"reward": "cured"}, TableError, "expected one of .*got 'cured'"),
        (GOOD, {"propensity": None}, TableError, "got None; .*an export with form bandit has all"),
        (
            GOOD.rename(columns=lambda name: name.replace("p_", "propensity_")).replace({"arm": {"B": "b"}}),
            {"propensity": None},
            TableError,
            r"column 'arm': expected an arm with a column propensity_ARM: .*'A'.*, got 'b'",
        ),
        (GOOD, {"propensity": {"A": "p_A"}}, UnknownArmError, "a column for every arm of the log"),
        (GOOD.assign(p_A=0.9), {}, TableError, "chances of all arms that sum to 1"),
        (GOOD.assign(reward=0.5), {}, TableError, "row 1: expected an outcome of 0 or 1, got 0.5; .*not measured yet"),
        (GOOD.assign(reward="yes"), {}, TableError, "column 'reward', row 1: expected finite numbers"),
        (GOOD.assign(reward=np.nan), {}, TableError, "column 'reward', row 1: the cell is empty"),
        (GOOD.assign(arm="A"), {}, TableError, "column 'arm': expected at least two arms"),
        (GOOD.assign(arms="A"), {}, TableError, "decisions for one arm each"),
        (None, {}, ArgumentError, "log: expected a"),
    ],
    ids=range(14),
)
def test_what_cannot_be_compared_is_refused(log, more, error, words):
    with pytest.raises(error, match=words):
        eh.effects(log, **{"control": "control", "propensity": "p"} | more)


def test_a_rule_that_draws_nothing_or_hides_how_is_refused():
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1))
    for _ in range(9):
        study.tell(study.ask(), 1.0)
    with pytest.raises(TableError, match="its arms are not compared by it; draw them by a lottery"):
        eh.effects(study, control="control")
    with pytest.raises(TableError, match="column 'probabilities', row 1: expected the chances of all arms"):
        eh.effects(study.frame().assign(propensity=np.nan), control="control")
    for cell in ("[0.5", '["a"]', "{}"):
        with pytest.raises(TableError, match="column 'probabilities', row 1: expected the chances of all arms"):
            eh.effects(study.frame().assign(propensity=0.5, probabilities=cell), control="control")


def test_chances_that_were_not_those_of_the_draws_are_doubted():
    log = drawn(6)
    swapped = log.rename(columns={"p_control": "p_A", "p_A": "p_control"})
    doubted = [
        [note for note in eh.effects(one, control="B", propensity="p").notes if "chances sum to" in note]
        for one in (log, swapped)
    ]
    assert doubted[0] == []
    assert len(doubted[1]) == 2


def noted(log):
    return [note for note in eh.effects(log, control="control", propensity="p").notes if "would miss about" in note]


def test_outcomes_that_one_arm_misses_are_named():
    """Every outcome of "A" that is 0 may be lost: expected is the arm's share of all missing ones, by a plain loop."""
    log = drawn(6, n=2000, missing=0.1)
    random = np.random.default_rng(1)
    log.loc[(log["arm"] == "A") & (log["reward"] == 0) & (random.random(len(log)) < 0.5), "reward"] = np.nan
    part, mean = log["reward"].isna().mean(), 0.0
    for row in log.itertuples():
        mean += part * (row.arm == "A") + (math.isnan(row.reward) - part) * row.p_A
    lost = log[log["arm"] == "A"]["reward"].isna().sum()
    about = f"Arm 'A' misses {lost} outcomes where regardless of the arm it would miss about {mean:,.1f}: its effect"
    assert any(note.startswith(about) for note in noted(log))
    waiting = log.assign(status=np.where(log["reward"].isna(), "open", "told"))
    assert noted(waiting) == []
    assert noted(waiting.assign(status=waiting["status"].replace("open", "forgotten"))) == noted(log)


def test_what_is_missing_regardless_of_the_arm_is_seldom_named():
    """A learner whose chances move, and outcomes of which the early ones are missing more: 1 in 1,000 is named."""
    named, random = 0, np.random.default_rng(8)
    for _ in range(300):
        log = drawn(int(random.integers(1 << 31)), rates=(0.3, 0.3, 0.3), missing=0.0)
        late = np.sort(log[["p_control", "p_A", "p_B"]], axis=0)
        log[["p_control", "p_A", "p_B"]] = late / late.sum(axis=1, keepdims=True)
        codes = (random.random((len(log), 1)) > log[["p_control", "p_A", "p_B"]].cumsum(axis=1)).sum(axis=1)
        log["arm"] = np.array(["control", "A", "B"])[codes]
        log.loc[random.random(len(log)) < np.linspace(0.6, 0.0, len(log)), "reward"] = np.nan
        named += bool(noted(log))
    assert named <= 3


def test_an_arm_without_a_comparison_says_so_and_few_outcomes_too():
    log = pd.DataFrame({"arm": ["a", "b"] * 30 + ["c"] * 3, "reward": [0, 1] * 30 + [1] * 3})
    log = log.assign(p_a=[0.5] * 60 + [0] * 3, p_b=[0.5] * 60 + [0] * 3, p_c=[0.0] * 60 + [1] * 3)
    found = eh.effects(log, control="a", propensity="p")
    assert "Arm 'c' cannot be compared with 'a'" in str(found)
    assert any("few outcomes, 60" in note for note in found.notes)


def test_the_caution_stands_in_every_form(tmp_path):
    drawn(1).to_csv(tmp_path / "log.csv", index=False)
    usual = ["effects", tmp_path / "log.csv", "--control", "control", "--propensity", "p"]
    found = eh.effects(drawn(1), control="control", propensity="p")
    caution = found.notes[0]
    assert caution.startswith(CAUTION[:60])
    assert caution in repr(found)
    assert "missing regardless of the arm" in found._repr_html_()
    said = " ".join(answer(*usual, "--out", tmp_path / "out").split())
    assert str(found) in said
    assert " ".join(in_shell(caution).split()) in said
    body = as_json(*usual)
    assert body["notes"][0] == caution
    assert body["arms"][1]["low"] == pytest.approx(found.arms["low"][1])
    assert pd.read_csv(tmp_path / "out" / "effects.csv")["caution"].eq(in_shell(caution)).all()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "missing regardless of the arm" in page
    assert "Decisions without an outcome" in page
    assert (tmp_path / "out" / "effects.png").stat().st_size > 10_000
    columns = "control=p_control,A=p_A,B=p_B"
    assert as_json(*usual[:4], "--propensity", columns)["arms"] == body["arms"]


def test_the_page_of_a_study_has_its_promises_and_options_that_it_knows_are_refused(tmp_path):
    with Study.create(tmp_path / "t.evenhand", DeadlineLearn(eh.learners.Thompson(), SHARES, lottery=0.5)) as study:
        for t in range(30):
            if t == 20:
                study.change({"control": 0.3, "A": 0.1, "B": 0.1})
            study.tell(study.ask(), float(t % 2))
    usual = ["effects", tmp_path / "t.evenhand", "--control", "control"]
    assert "e = " in answer(*usual, "--anytime", "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "From decision 1 on: control at least 0.25, A at least 0.1, B at least 0.1." in page
    assert "From decision 21 on: control at least 0.3" in page
    refused(ArgumentError, "--reward: expected nothing together with the store of a study", *usual, "--reward", "y")
    drawn(1).to_csv(tmp_path / "log.csv", index=False)
    words = "--study: expected nothing together with a log, got 'one'"
    refused(ArgumentError, words, "effects", tmp_path / "log.csv", "--control", "A", "--study", "one")


def test_intervals_of_hardly_any_outcomes_are_not_to_be_used():
    log = drawn(1)
    never = eh.effects(log.assign(reward=0), control="control", propensity="p")
    note = "Fewer than 5 outcomes of one kind are known of 'control', 'A', 'B': intervals that rest on them may be far"
    assert any(one.startswith(note) for one in never.notes)
    assert not any("Fewer than 5" in one for one in eh.effects(log, control="control", propensity="p").notes)
