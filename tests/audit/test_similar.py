"""The gap between similar people: what of a difference the features explain, and how sure the rest is."""

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import block_diag, sqrtm
from scipy.stats import sem, t

import evenhand as eh
from evenhand.audit.similar import SimilarGap
from evenhand.display.digits import with_signs
from evenhand.errors import TableError
from evenhand.plots.style import figure
from tests.cli.shell import answer, call, cells, refused
from tests.fuzzing import many, most


def staff(seed, rows=120, gap=-3000.0, ads=40):
    """Salaries of staff, of whom the women have fewer years; `ad` says which rows belong together."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": random.choice(["F", "M"], rows, p=[0.3, 0.7]), "ad": random.integers(ads, size=rows)})
    frame["years"] = random.gamma(3, 4, rows) * np.where(frame["sex"] == "F", 0.6, 1.0)
    frame["rank"] = random.choice(["Asst", "Assoc", "Prof"], rows)
    noise = random.normal(0, 1, rows) * (2000 + 400 * frame["years"]) + random.normal(0, 3000, ads)[frame["ad"]]
    frame["salary"] = 60000 + 900 * frame["years"] + 5000 * (frame["rank"] == "Prof") + noise
    frame.loc[frame["sex"] == "F", "salary"] += gap
    return frame


def moved_by_choosing(frame):
    """What choosing by the same features adds to each record, and its notes."""
    chosen = eh.groups.choose(frame, group="sex", reward="salary", features=["years", "rank"], places=20)
    return chosen.people["corrected"] - chosen.people["record"], chosen.notes


def gaps_of(frame, **settings):
    given = {"group": "sex", "value": "salary", "given": ["years", "rank"]} | settings
    return eh.audit.parity(frame, **given).similar


@pytest.mark.parametrize("unit", [None, "ad"])
def test_the_numbers_are_those_of_the_definition(unit):
    """CR2 and its degrees of freedom with both hat matrices written out; HC2 where each row is a unit."""
    frame = staff(1).sort_values("sex", ignore_index=True)
    (found,) = gaps_of(frame, unit=unit, level=0.9)
    x = np.column_stack([frame["years"], frame["rank"] == "Asst", frame["rank"] == "Prof", np.ones(len(frame))]) * 1.0
    y, women = frame["salary"].to_numpy(), (frame["sex"] == "F").to_numpy()
    at = x[women].mean(axis=0)
    inverses = [np.linalg.pinv(x[side]) for side in (women, ~women)]
    weights = np.concatenate([at @ inverses[0], -at @ inverses[1]])
    left = np.eye(len(frame)) - block_diag(x[women] @ inverses[0], x[~women] @ inverses[1])
    units = frame["ad"] if unit else pd.Series(frame.index)
    turned = np.zeros((len(frame), units.nunique()))
    for place, rows in enumerate(units.groupby(units).groups.values()):
        turned[rows, place] = np.linalg.inv(sqrtm(left[np.ix_(rows, rows)])).real @ weights[rows]
    variance = np.square(turned.T @ left @ y).sum()
    products = turned.T @ left @ turned
    freedom = np.trace(products) ** 2 / np.square(products).sum()
    gap = y[women].mean() - at @ inverses[1] @ y[~women]
    half = t.ppf(0.95, freedom) * np.sqrt(variance)
    assert found.gap == pytest.approx(gap)
    assert found.freedom == pytest.approx(freedom)
    assert (found.low, found.high) == pytest.approx((gap - half, gap + half))
    assert found.difference == pytest.approx(y[women].mean() - y[~women].mean())
    assert found.explained + found.gap == pytest.approx(found.difference)
    assert found.at_average == pytest.approx(x.mean(axis=0) @ (inverses[0] @ y[women] - inverses[1] @ y[~women]))


def test_the_interval_covers_the_gap_that_was_planted():
    for rows, ads, unit in ((120, 1200, None), (200, 30, "ad")):
        gaps = [gap for seed in range(many(200)) for gap in gaps_of(staff(seed, rows, ads=ads), unit=unit)]
        assert sum(not one.low <= -3000 <= one.high for one in gaps) <= most(0.05, len(gaps))


def test_each_of_three_groups_is_compared_with_all_others_and_all_hold_together():
    frame = staff(2, 400)
    frame.loc[::5, "sex"] = "X"
    found = gaps_of(frame)
    assert [(one.group, one.reference) for one in found] == [(name, "all others") for name in "FMX"]
    for one in found:
        own = frame["sex"] == one.group
        rest = frame[~own].assign(sex="rest")
        if own.sum() < len(rest):
            (alone,) = gaps_of(pd.concat([frame[own], rest]), level=1 - 0.05 / 3)
            assert (one.gap, one.low, one.high) == pytest.approx((alone.gap, alone.low, alone.high))


@pytest.mark.parametrize(("scale", "start"), [(1.0, 1e3), (1e6, 1e3), (1e-6, 1e3), (1e-6, 0.0), (1e-9, 0.5)])
def test_one_look_at_any_scale_is_that_of_banerjee(scale, start):
    frame = staff(3).assign(salary=lambda f: f["salary"] * scale + start)
    found = eh.audit.parity(frame, group="sex", value="salary")
    women, men = (own.to_numpy() for _, own in frame.groupby("sex")["salary"])
    half = np.hypot(*(t.ppf(0.975, len(own) - 1) * sem(own) for own in (women, men)))
    low, high = women.mean() - men.mean() - half, women.mean() - men.mean() + half
    assert (found.group, found.once_low, found.once_high) == ("F", pytest.approx(low), pytest.approx(high))
    if start == 1e3:
        assert found.rejected == (not low <= 0 <= high)
    assert ("again and again" in str(found)) == (start < 1e3)


def a_gap(**changed):
    usual = {"group": "F", "reference": "M", "difference": -14088.01, "explained": -6251.3, "gap": -7836.73}
    usual |= {"low": -13725.7, "high": -1947.8, "freedom": 45.1, "at_average": -7500.0, "together": 1}
    usual |= {"features": ("years", "rank"), "left_out": 0, "lacking": (), "combined": ()}
    return SimilarGap(**usual | changed)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {},
            "Mean salary is 14,088 lower in group 'F' than in group 'M'. Of that, years and rank explain 6,251, as "
            "with the average features of group 'F' the mean of group 'M' would be that much lower. With the same "
            "features, those of the average member of group 'F', it is 7,837 lower (95 % interval: 1,948 to 13,726 "
            "lower, more than chance alone would make).",
        ),
        ({"high": 12.4}, "(95 % interval: 13,726 lower to 12 higher, so it may be chance)."),
        ({"explained": 1200.0}, "By years and rank alone it would be 1,200 higher, as with"),
        (
            {"low": -np.inf, "high": np.inf},
            "it is 7,837 lower (how sure is not known: on one side the features determine every value",
        ),
        ({"at_average": -3457.0}, "With the average features of the whole table it is 3,457 lower instead."),
        ({"together": 3}, "(95 % interval that holds for all 3 groups at once: 1,948 to 13,726 lower"),
        (
            {"features": ()},
            "than in group 'M' (95 % interval: 1,948 to 13,726 lower, more than chance alone would make). No feature "
            "is left that could explain any of it.",
        ),
    ],
)
def test_the_answer_is_a_sentence(changed, said):
    words = a_gap(**changed).sentences("salary", 0.95)
    assert said in words
    assert ("whole table" in words) is ("at_average" in changed)


@pytest.mark.parametrize(("tolerance", "verdict"), [(1900.0, "more than"), (2000.0, "not shown to be more than")])
def test_the_answer_says_what_gap_is_allowed(tolerance, verdict):
    words = a_gap().sentences("salary", 0.95, tolerance)
    assert f"1,948 to 13,726 lower, {verdict} the {tolerance:g} allowed)" in words


def fitted_gap(women, men):
    """The mean of the women's salaries less what the men's least squares predict for them, with a column a category."""
    ranks = sorted({*women["rank"], *men["rank"]})
    own, others = (np.column_stack([side["years"], *(side["rank"] == rank for rank in ranks)]) for side in (women, men))
    return (women["salary"] - own @ (np.linalg.pinv(others * 1.0) @ men["salary"])).mean()


@pytest.mark.parametrize("rare", ["Aide", "Dean", "Zany"])
@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("unit", [None, "ad"])
def test_a_category_of_the_others_alone_is_none_of_those_that_members_have(rare, rows, unit):
    frame = staff(4)
    men, women = (frame.index[frame["sex"] == sex] for sex in "MF")
    frame.loc[men[:rows], ["rank", "ad"]] = [rare, 5]
    frame.loc[men[:rows], "salary"] += 50_000
    frame.loc[women[0], "rank"] = "Prof"
    frame.loc[women[1:], "rank"] = np.resize(["Asst", "Assoc"], len(women) - 1)
    (found,) = gaps_of(frame, unit=unit)
    assert found.gap == pytest.approx(fitted_gap(frame.loc[women], frame.loc[men]))
    if rows == 1:
        (without,) = gaps_of(frame.drop(index=men[0]), unit=unit)
        assert (found.gap, found.low, found.high) == pytest.approx((without.gap, without.low, without.high))
    assert (found.left_out, found.lacking, np.isnan(found.at_average)) == (0, (), True)
    assert moved_by_choosing(frame)[0][women].mean() == pytest.approx(-found.gap)


@pytest.mark.parametrize("rare", ["Aide", "Zany"])
def test_members_whom_nobody_is_like_are_left_out(rare):
    frame = staff(4)
    men, women = (frame.index[frame["sex"] == sex] for sex in "MF")
    frame.loc[women[:9], "rank"] = rare
    frame.loc[men[0], "rank"] = rare  # one alone does not show how much is chance
    (found,) = gaps_of(frame)
    alike, others = frame.loc[women[9:]], frame.loc[men[1:]]
    assert found.gap == pytest.approx(fitted_gap(alike, others))
    assert found.difference == pytest.approx(alike["salary"].mean() - frame.loc[men, "salary"].mean())
    assert (found.left_out, found.lacking) == (9, ("rank",))
    said = "Left out of this: 9 members of group 'F', as nobody in group 'M' is like them in rank. Mean salary is"
    assert said in found.sentences("salary", 0.95)
    moved, notes = moved_by_choosing(frame)
    assert moved[alike.index].mean() == pytest.approx(-found.gap)
    assert (moved[women[:9]] == 0).all()
    assert any("9 people in group 'F'" in note and "keep their record" in note for note in notes)
    later = frame.assign(years=frame["years"] + 1e9)  # beside which a category is not rounding
    assert (moved_by_choosing(later)[0][women[:9]] == 0).all()
    nurses = np.where(frame["ad"] % 2, "Nurse", "Matron")
    everybody = frame.assign(rank=np.where(frame["sex"] == "F", nurses, frame["rank"]))
    with pytest.raises(TableError, match=r"given: expected at least two members of 'F', got .*in .'rank'"):
        gaps_of(everybody)


def test_a_side_of_equal_values_leaves_one_look_without_an_interval(tmp_path):
    """Two women and 14 of 40 men earn 20: Welch's interval takes the women's variance of 0 for known."""
    frame = pd.DataFrame({"g": ["f"] * 2 + ["m"] * 40, "y": [20, 20] + [20, 22, 24] * 13 + [22]})
    found = eh.audit.parity(frame, group="g", value="y")
    assert (found.once_low, found.once_high, found.rejected, found.enough) == (-np.inf, np.inf, False, False)
    twice = pd.concat([frame, frame], ignore_index=True)
    by_unit = eh.audit.parity(twice.assign(who=[*range(42)] * 2), group="g", value="y", unit="who")
    assert (by_unit.once_low, by_unit.once_high) == (-np.inf, np.inf)
    frame.to_csv(tmp_path / "two.csv", index=False)
    answer("audit-parity", tmp_path / "two.csv", "--group", "g", "--value", "y", code=3)


def test_groups_that_are_written_alike_are_noted():
    frame = staff(6, 300)
    frame.loc[frame.index % 7 == 0, "sex"] += " "
    frame["hired"] = frame["salary"] > 70_000
    for audit, value in ((eh.audit.parity, "salary"), (eh.audit.parity, "hired"), (eh.audit.rates, "hired")):
        found = audit(frame, group="sex", value=value)
        assert "'F' and 'F ' count as different groups; if they are one, write them alike." in found.notes


def test_a_feature_that_others_make_up_explains_nothing_of_its_own():
    frame = staff(4).assign(months=lambda f: 12 * f["years"] + 1, title=lambda f: f["rank"].str.upper(), staff=1)
    (alone,), (more,) = (
        gaps_of(frame, given=["years", "rank", *names]) for names in ([], ["months", "title", "staff"])
    )
    assert more.combined == ("months", "title_ASST", "title_PROF", "staff")
    assert (more.left_out, more.features) == (0, ("years", "rank"))
    assert (more.gap, more.low, more.high) == pytest.approx((alone.gap, alone.low, alone.high))
    (constant,) = gaps_of(frame, given=["staff"])
    assert (constant.features, constant.explained) == ((), pytest.approx(0, abs=1e-6))


@pytest.mark.parametrize("scale", [1e-9, 1e12], ids=["tiny", "huge"])
def test_the_table_has_the_digits_of_the_sentence(tmp_path, monkeypatch, scale):
    """One look at values in [0, 1] is far wider than a tiny gap; of huge numbers nobody reads 16 digits."""
    monkeypatch.setenv("COLUMNS", "200")
    frame = staff(7).assign(salary=lambda f: f["salary"] * scale)
    frame.to_csv(tmp_path / "staff.csv", index=False)
    asked = ("audit-parity", tmp_path / "staff.csv", "--group", "sex", "--value", "salary", "--given", "years,rank")
    (found,) = gaps_of(pd.read_csv(tmp_path / "staff.csv"))
    ((*_, difference, explained, gap, _, average, _, interval), _) = cells(answer(*asked, code=1))
    numbers = [found.difference, found.explained, found.gap, found.at_average]
    assert [difference, explained, gap, average] == with_signs(*numbers)
    assert interval == " to ".join(with_signs(found.low, found.high))
    assert [float(one) for one in with_signs(*numbers)] == pytest.approx(numbers, rel=0.01)


FIVE = staff(5)
WOMEN, MEN = (FIVE[FIVE["sex"] == sex] for sex in "FM")


@pytest.mark.parametrize(
    ("frame", "settings", "words"),
    [
        (
            FIVE.assign(gender=FIVE["sex"].str.lower()),
            {"given": ["years", "gender"]},
            "given: expected some that vary within a group, got 'gender'; 'gender' is 'F' under another name",
        ),
        (FIVE, {"given": ["sex", "years"]}, "given: expected columns that have no other use, got 'sex'"),
        (MEN.assign(rank="Prof"), {}, "column 'sex': expected at least two groups"),
        (pd.concat([WOMEN[:3], MEN]), {}, "two rows more in each group than columns, got .3 columns for 3 rows of 'F'"),
        (
            pd.concat([WOMEN[:4], MEN[:4]]),
            {"given": ["years", "rank", "ad"]},
            "given: expected two rows more in each group than columns, got .* columns for 4 rows of 'F'",
        ),
        (
            FIVE.assign(ad=np.where(FIVE["rank"] == "Prof", 1000, FIVE.index)),
            {"unit": "ad"},
            r"unit: expected at least two units on each side that .*, got .only the one of row \d+ for some feature",
        ),
        (
            FIVE.assign(bonus=(FIVE["salary"] / 7).round(2)),
            {"given": ["rank", "bonus", "years"]},
            r"value open, got \['bonus'\]; bonus determines the value, so that nothing is left to explain",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(frame, settings, words):
    with pytest.raises(TableError, match=words):
        gaps_of(frame, **settings)


def test_a_side_without_any_chance_leaves_the_gap_without_an_interval(tmp_path):
    """No woman of six is hired: that says nothing of how much their part in the gap is chance."""
    frame = staff(6, 66).assign(sex=["F"] * 6 + ["M"] * 60)
    frame["hired"] = (frame["sex"] == "M") & (frame.index % 3 == 0)
    found = eh.audit.parity(frame, group="sex", value="hired", given=["years"])
    (gap,) = found.similar
    others = frame[frame["sex"] == "M"]
    slope, start = np.polyfit(others["years"], others["hired"] * 1.0, 1)
    assert gap.gap == pytest.approx(-start - slope * frame["years"][:6].mean())
    assert (gap.low, gap.high, found.rejected, found.enough) == (-np.inf, np.inf, False, False)
    bars = eh.plots.plot_parity(found, ax=figure()[1]).collections[0].get_segments()
    assert len(bars[-1]) == 0 or np.isnan(bars[-1]).any(), "a gap without an interval is drawn without one"
    frame.to_csv(tmp_path / "staff.csv", index=False)
    asked = ("audit-parity", tmp_path / "staff.csv", "--group", "sex", "--value", "hired", "--given", "years")
    assert ["interval of the gap", "not known", "-"] in cells(answer(*asked, code=3))
    with pytest.raises(TableError, match="features: expected some that leave a part of the records to chance"):
        eh.groups.choose(frame, group="sex", reward="hired", features=["years"], places=3)


def test_what_a_reader_must_know_is_noted():
    frame = staff(6, 300)
    frame.loc[[0, 1], "sex"] = "X"
    found = eh.audit.parity(frame, group="sex", value="salary", given=["years", "rank"], unit="ad")
    assert [one.group for one in found.similar] == ["F", "M"]
    assert any("have too few rows for 3 columns of features: 'X'" in note for note in found.notes)
    assert any(re.search(r"\d+ units have rows in several groups; the interval counts all", n) for n in found.notes)
    apart = staff(6).assign(years=lambda f: f["years"] + 100 * (f["sex"] == "F"))
    notes = eh.audit.parity(apart, group="sex", value="salary", given=["years"]).notes
    assert any("do not overlap" in note for note in notes)


def test_both_commands_say_the_same_sentence(tmp_path):
    staff(7).to_csv(tmp_path / "staff.csv", index=False)
    path, given = tmp_path / "staff.csv", "years,rank"
    asked = ("audit-parity", path, "--group", "sex", "--value", "salary", "--given", given)
    drawn = ("--rounds", 5, "--replications", 1, "--seed", 1, "--jobs", 1)
    (found,) = gaps_of(staff(7))
    parity = answer(*asked, code=0 if found.low <= 0 <= found.high else 1)
    simulated = answer("simulate", "--data", path, "--group", "sex", "--reward", "salary", "--features", given, *drawn)
    said = found.sentences("salary", 0.95)
    assert all(said in " ".join(printed.split()) for printed in (parity, simulated))
    assert "choose in each round between one random 'F' and one random 'M'" in " ".join(simulated.split())
    assert f"{found.gap:,.0f}" in parity


def test_a_report_of_one_page_has_the_answer_a_picture_and_what_is_supposed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    staff(7).to_csv("staff.csv", index=False)
    given = ["--group", "sex", "--value", "salary", "--unit", "ad", "--given", "years,rank"]
    printed = call("audit-parity", "staff.csv", *given, "--out", "out").output
    assert "Written: out/report.html, out/groups.png, out/groups.csv" in " ".join(printed.split())
    found = eh.audit.parity(staff(7), group="sex", value="salary", given=["years", "rank"], unit="ad")
    page = html.unescape(Path("out/report.html").read_text())
    assert all(part in page for part in (found.finding(), found.supposed, *found.notes, "data:image/png;base64,"))
    assert "<pre>evenhand audit-parity staff.csv --group sex --value salary --unit ad --given years,rank</pre>" in page
    assert '<img alt="What the features explain of the difference, and what they do not: difference in mean' in page
    assert "http" not in re.sub(r"data:image[^\"]*", "", page), "it stands alone"
    written = pd.read_csv("out/groups.csv").set_index("group")
    assert written.loc["F", "gap"] == pytest.approx(found.similar[0].gap)


def test_the_picture_has_the_difference_its_parts_and_their_intervals():
    found = eh.audit.parity(staff(7), group="sex", value="salary", given=["years", "rank"])
    axes, (gap,) = eh.plots.plot_parity(found, ax=figure()[1]), found.similar
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([gap.difference, gap.explained, gap.gap])
    assert sorted(axes.collections[0].get_segments()[2][:, 0]) == pytest.approx([gap.low, gap.high])
    (beside,) = axes.child_axes
    names, numbers = ([text.get_text() for text in each.get_yticklabels()] for each in (axes, beside))
    assert names == ["F less M", "explained by the features", "not explained"]
    assert numbers == with_signs(gap.difference, gap.explained, gap.gap)
    assert axes.get_xlabel().startswith("difference in mean salary; ")
    plain = eh.plots.plot_parity(eh.audit.parity(staff(7), group="sex", value="salary"), ax=figure()[1])
    assert len(plain.patches) == 2


@pytest.mark.parametrize(
    ("changed", "options", "says"),
    [
        ({"name": [f"p{row}" for row in range(120)]}, ["--given", "name"], "leave it out of --given; merge categories"),
        ({"day": "2026-01-02"}, ["--given", "day"], "or leave it out of --given"),
        ({"rank": "Prof"}, ["--given", "rank"], "--given: expected columns with at least two values"),
        ({"salary": 3}, ["--given", "years"], "--value: expected a column of values that differ"),
        ({}, ["--unit", "sex"], "--unit: expected columns that have no other use"),
    ],
)
def test_the_shell_names_the_option_that_was_typed(tmp_path, changed, options, says):
    staff(5).assign(**changed).to_csv(tmp_path / "staff.csv", index=False)
    words = ("audit-parity", tmp_path / "staff.csv", "--group", "sex", "--value", "salary", *options)
    refused(TableError, says, *words)
