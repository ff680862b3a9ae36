"""`evenhand sample`: what cannot be meant is refused before anything is written, small groups are said by name."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, ttest_1samp

import evenhand as eh
from evenhand.cli.worst_off import say_compared, worst_of, worth_notes
from evenhand.errors import ArgumentError, EvenhandError, TableError
from evenhand.sampling import confidence_sequence
from tests.cli.shell import answer, as_json, call, refused

N = 120
RNG = np.random.default_rng(0)
POOL = pd.DataFrame({"x": RNG.random(N), "y": RNG.integers(0, 2, N), "g": ["a"] * 60 + ["b"] * 60})
SEVEN = POOL.assign(y=np.arange(N) % 7)
OUT = Path("out")
FILES = ["collection.evenhand", "history.csv", "mixture.csv", "rows.csv", "sample.png"]


def typed(frame, *options, budget=40):
    """Write a pool, and return the words that sample it."""
    frame.to_csv("pool.csv", index=False)
    usual = ["--group", "g", "--label", "y", "--budget", budget, "--seed", 1, "--out", "out"]
    return ["sample", "pool.csv", *usual, *options]


def sampled(frame, *options, budget=40):
    return as_json(*typed(frame, *options, budget=budget))


def written():
    return sorted(path.name for path in OUT.iterdir())


HOLES = POOL.assign(job=["a", "b", None] * 40).astype({"x": float, "y": "Int64"})
HOLES.loc[0:9, "x"], HOLES.loc[9:10, "g"], HOLES.loc[11, "y"] = np.nan, None, pd.NA


@pytest.mark.parametrize(
    ("how", "rows", "said"),
    [
        ("drop", 72, "48 of 120 rows with an empty cell ('g' 2, 'y' 1, 'x' 10, 'job' 40)"),
        ("fill", 117, "3 of 120 rows with an empty cell ('g' 2, 'y' 1); filled 50 empty cells ('x' 10, 'job' 40)"),
    ],
)
def test_rows_with_empty_cells_are_left_out_or_filled_as_asked(how, rows, said):
    result = call(*typed(HOLES, "--empty", how, budget=1000))
    assert f"Empty cells: left out {said}\n" in result.stderr
    chosen = pd.read_csv(OUT / "rows.csv")
    assert len(chosen) == rows
    assert f"{1000 - rows} of the budget of 1000 is left, as every pool is used up" in result.output
    full = HOLES.dropna(subset=["g", "y"] if how == "fill" else None)
    assert sorted(chosen["row"]) == (full.index + 1).tolist()
    assert set(chosen["job"]) == ({"a", "b", "empty"} if how == "fill" else {"a", "b"})
    assert (chosen.set_index("row")["x"].reindex(range(1, 10)).dropna() == full["x"].median()).all()


def test_empty_cells_are_refused_with_the_way_out():
    usual = typed(HOLES)
    refused(TableError, "column 'g', row 10: the cell is empty", *usual)
    refused(TableError, "; fill it or drop the row, or pass --empty drop or --empty fill", *usual)
    refused(ArgumentError, "--empty: expected one of refuse,drop,fill, got 'keep'", *usual, "--empty", "keep")
    HOLES.assign(x=np.nan).to_csv("pool.csv", index=False)
    refused(TableError, "no row is left", *usual, "--empty", "drop")
    refused(TableError, "column 'x': every cell is empty; leave it out of --features", *usual, "--empty", "fill")
    assert not OUT.exists()


def test_a_group_of_one_row_ends_with_all_files_and_a_note():
    body = sampled(POOL.assign(g=["one", *["a"] * 59, *["b"] * 60]))
    assert written() == FILES
    assert body["notes"] == [
        "1 of 3 groups of 'g', with under 1% of the rows, have too few rows to train and to validate: 'one'.",
        "the pool of 'one' is empty after 1 row",
        "the risk of 'one' is unknown: no row validates it",
    ]
    assert [group["risk"] for group in body["groups"] if group["group"] == "one"] == [None]


def test_the_final_model_is_saved_and_reweighting_changes_it():
    models = []
    for options in ([], ["--reweighted"]):
        sampled(POOL.assign(x=POOL["x"] + POOL["y"] * (POOL["g"] == "a")), *options, budget=100)
        saved = eh.load(OUT / "collection.evenhand")
        models.append(saved["model"].coefficients.tolist())
        again = saved["sampler"].finish(reweighted=bool(options)).model
        assert again.coefficients.tolist() == models[-1]
    assert models[0] != models[1]


def test_labels_all_alike_among_the_rows_that_were_bought_are_no_failure():
    body = sampled(POOL.assign(y=[0] * (N - 1) + [1]), "--reweighted", budget=8)
    assert any("the model waits" in note for note in body["notes"])
    assert written() == FILES


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (POOL.assign(y="yes"), [], "--label: expected a column of two labels, got 'y' with 1: yes"),
        (SEVEN, [], "got 'y' with 7: 0, 1, 2, 3, 4, ...; keep the rows"),
        (POOL.assign(y=[0.37, 1.37] * 60), [], "column 'y', row 1: expected a label that is text or a whole"),
        (POOL.assign(g=range(N)), [], "--group: expected groups with rows to train and to validate, got"),
        (POOL, ["--group", "y"], "group: expected columns that have no other use, got 'y'; it is the label"),
        (POOL, ["--costs", "3"], "--costs: expected NAME=NUMBER,NAME=NUMBER, got a value without names"),
        (POOL.assign(y=range(N)), ["--multiclass"], "2 to 100 labels, got 'y' with 120"),
        (SEVEN, ["--multiclass", "--loss", "false_negative"], "zero_one or log for 7 labels"),
        (SEVEN, ["--multiclass", "--reweighted"], "--reweighted: expected two labels, got 7"),
    ],
    ids=range(9),
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(frame, options, words):
    refused(EvenhandError, words, *typed(frame, *options))
    assert not OUT.exists()


def test_many_groups_are_drawn_and_noted_in_few_lines():
    groups = [f"g {max(i - N // 2, 0) // 3}" for i in range(N)]
    said = answer(*typed(POOL.assign(g=groups), budget=100))
    assert sum(line.startswith("- ") for line in said.splitlines()) == 12  # one of them on the groups that are judged
    assert "more notes; --json lists them all" in said


def test_more_than_two_labels():
    assert sampled(POOL.assign(y=list("abc") * 40), "--multiclass")["labels"] == 40
    assert written() == FILES
    assert set(eh.load(OUT / "collection.evenhand")["model"].classes) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (POOL.drop(columns="y"), "--label: expected one of the columns x,g, got 'y'; if no row"),
        (POOL.assign(y=None), "--label: expected a column with labels, got 'y'; every cell is empty;"),
    ],
)
def test_a_pool_without_labels_is_sent_to_label(frame, words):
    begin = "if no row has a label yet, begin with: evenhand label pool.csv --id COLUMN --group g --features"
    for said in (words, begin):
        refused(ArgumentError, said, *typed(frame))


def test_a_budget_too_small_is_said_before_it_is_spent():
    usual = typed(POOL)
    refused(ArgumentError, "--budget: expected enough for a draw of 2 rows of each of the 2", *usual, "--budget", 3)
    assert not OUT.exists()
    said = call(*usual, "--budget", 20)
    assert "Before it is spent: the budget pays for fewer than 6 validation rows in each of the 2 groups" in said.stderr
    assert "as many of each group: they are one uniform draw" in call(*usual, "--budget", 80, "--batch", 20).stderr
    assert "Before it is spent" not in call(*usual, "--budget", 40).stderr


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A folder with a pool whose group b is noise, later rows alike, and what was collected of the pool."""
    folder, draws = tmp_path_factory.mktemp("people"), np.random.default_rng(5)
    for name, rows in (("pool", 1500), ("later", 900)):
        x, g = draws.normal(size=rows), draws.choice(["a", "b"], rows)
        y = np.where(np.where(g == "a", x, draws.normal(size=rows)) > 0, "yes", "no")
        pd.DataFrame({"x": x, "g": g, "y": y}).to_csv(folder / f"{name}.csv", index=False)
    usual = ["--group", "g", "--label", "y", "--budget", 100, "--seed", 1, "--out", folder / "out"]
    (folder / "said.txt").write_text(call("sample", folder / "pool.csv", *usual).stdout)
    (folder / "said.json").write_text(call("sample", folder / "pool.csv", *usual, "--json").stdout)
    return folder


def test_the_answer_ends_with_the_worst_off_group_a_uniform_draw_and_the_command_that_certifies(people):
    *_, worst, uniform, overlap, holds, certifies = (people / "said.txt").read_text().splitlines()
    body = json.loads((people / "said.json").read_text())
    found, other = body["worst_off"], body["uniform"]["worst_off"]
    assert (found["group"], other["group"], body["uniform"]["rows"]) == ("b", "b", 100)
    assert found["low"] < 0.5 < found["high"]
    interval = f"{found['risk']:.3f} ({found['low']:.3f} to {found['high']:.3f})"
    assert worst == f"Worst off: b, error rate {interval} on {found['rows']} rows that were not drawn."
    assert uniform == f"After one uniform draw of 100 rows: b, error rate {other['risk']:.3f} " + (
        f"({other['low']:.3f} to {other['high']:.3f})."
    )
    assert overlap == "Neither draw is shown to serve the worst-off group better: the intervals overlap."
    assert "95 % confidence" in holds
    limit = np.ceil(100 * found["limit"]) / 100
    assert certifies == f"Certify your own limit: evenhand certify {people / 'out'} --at-most {limit:g}"
    assert sum(row["fresh_rows"] for row in body["fresh"]) == 1400
    done = answer("certify", people / "out", "--at-most", limit)
    used, spare = re.search(r"Risks on (\d+) rows (?s:.*)- The other (\d+) rows were not", done).groups()
    assert int(used) + int(spare) == 1400


def test_where_a_pool_is_used_up_the_model_is_not_judged():
    body = sampled(POOL, budget=120)
    assert body["worst_off"] is None
    said = answer(*typed(POOL, budget=120))
    assert "Too few rows are left in the pool to judge the model: certify it on fresh rows" in said
    assert "--at-most 0.2 --fresh FILE" in said


def test_groups_with_too_few_rows_left_are_named_beside_the_worst_off():
    frame = pd.concat([POOL] * 3).assign(g=["few"] * 20 + ["a"] * 170 + ["b"] * 170)
    said = answer(*typed(frame, budget=100))
    assert "Worst off of the groups that can be judged: " in said
    assert "1 of 3 groups, with 6% of the rows, have too few rows left to be judged: 'few'." in said
    assert said.endswith(" --fresh FILE, with rows of every group\n")


COLUMNS = "--columns: expected the columns of groups, labels and predictions, such as race,released,predicted"
RISKS = pd.DataFrame({"rows": 100, "risk": [0.2, 0.4], "low": [0.1, 0.3], "high": [0.3, 0.5]}, index=["a", "b"])
RISKS.index.name = "group"
SIZES = np.array([100, 100])


@pytest.mark.parametrize(("lower", "draw"), [(0.25, "the uniform draw"), (-0.25, "this draw")])
def test_whichever_draw_serves_the_worst_off_group_better_is_said_to(capsys, tmp_path, lower, draw):
    other = worst_of(RISKS.sub({"rows": 0, "risk": lower, "low": lower, "high": lower}), SIZES)
    uniform = {"rows": 9, "worst_off": other}
    found = {"fresh": [], "risk": "error rate", "worst_off": worst_of(RISKS, SIZES), "uniform": uniform, "worth": []}
    say_compared(found, "", tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert "It may also be a: the intervals overlap." in said
    better = "served the worst-off group better: the intervals do not overlap."
    assert f"With 90 % confidence {draw} {better}" in said


def test_the_highest_risk_lies_between_the_highest_limits_of_all_groups_that_may_be_worst_off():
    found = worst_of(RISKS.assign(low=[0.35, 0.1], high=[0.36, 0.9]), SIZES)
    assert (found["group"], found["perhaps"], found["least"], found["limit"]) == ("b", ["a"], 0.35, 0.9)
    assert worst_of(RISKS.assign(high=[0.29, 0.5]), SIZES)["perhaps"] == []


@pytest.mark.parametrize(
    ("limit", "code", "words"),
    [
        (0.6, 0, "Certified: in every group the risk is at most 0.6, with 0.95 confidence, for rows like these."),
        (0.3, 1, "Refuted: the risk of b is above 0.3 (0."),
        (0.48, 3, "Not shown: too few rows to tell whether the risk is at most 0.48 for b; give more: --fresh FILE."),
    ],
)
def test_a_limit_is_certified_refuted_or_not_shown(people, limit, code, words):
    said = answer("certify", people / "out", "--at-most", limit, code=code)
    assert words in said
    assert ("not shown" in said) == (code == 3)
    assert "not_shown" not in said


def test_certifying_reads_later_rows_as_the_pool_was_read(people):
    body = as_json("certify", people / "out", "--at-most", 0.6, "--fresh", people / "later.csv")
    assert (body["verdict"], body["at_most"]) == ("certified", 0.6)
    used = sum(row["rows"] for row in body["groups"])
    left = len(pd.read_csv(people / "later.csv")) - used
    looked = f"{used} labels were looked up for this, beside 100 for the collection."
    assert body["notes"] == [f"The other {left} rows were not needed.", looked]
    later = pd.read_csv(people / "later.csv").query("g == 'a'")
    later.to_csv(people / "a.csv", index=False)
    only = as_json("certify", people / "out", "--at-most", 0.6, "--fresh", people / "a.csv", code=3)
    groups = {row["group"]: row for row in only["groups"]}
    assert (groups["a"]["verdict"], groups["b"]["verdict"], groups["b"]["rows"]) == ("certified", "not_shown", 0)
    assert any("no fresh row of 'b' is left" in note for note in only["notes"])


@pytest.mark.parametrize("fresh", [False, True])
def test_rows_that_are_looked_at_once_have_exact_limits(people, fresh):
    saved = eh.load(people / "out" / "collection.evenhand")
    pool, model = saved["pool"], saved["model"]
    rows = pd.read_csv(people / "later.csv") if fresh else pd.read_csv(people / "pool.csv").drop(index=pool.chosen)
    wrong = model.predict(pool.features.transform(rows)) != rows["y"]
    more = ["--fresh", people / "later.csv"] if fresh else []
    found = set()
    for limit in (0.6, float(wrong[rows["g"] == "b"].mean()), 0.3):
        result = call("certify", people / "out", "--at-most", limit, "--once", *more, "--json")
        body = json.loads(result.stdout)
        for row in body["groups"]:
            mine = wrong[rows["g"] == row["group"]]
            assert (row["rows"], row["wrong"]) == (len(mine), mine.sum())
        assert result.exit_code == {"certified": 0, "not_shown": 3, "refuted": 1}[body["verdict"]]
        found.add(body["verdict"])
        assert f"{len(rows):,} labels were looked up for this, beside 100 for the collection." in body["notes"]
        assert any(note.startswith("Rows may be looked at once") for note in body["notes"])
    assert found == {"certified", "not_shown", "refuted"}


def test_rows_that_are_too_few_say_how_many_it_takes(people):
    rows = pd.read_csv(people / "later.csv")
    rows[rows["g"] == "a"][:20].to_csv(people / "few.csv", index=False)
    for once in ([], ["--once"]):
        more = ["certify", people / "out", "--at-most", 0.1, "--fresh", people / "few.csv", *once]
        body = as_json(*more, code=3)
        for row in body["groups"]:
            assert row["verdict"] == "not_shown"
            total = row["rows"] + row["needed"]
            more_than_these = "none of them among these" if once else f"{row['needed']:,.0f} more than these"
            takes = f"about {total:,.0f} rows, {more_than_these}, if the risk stays as it is."
            takes = takes if row["rows"] else f"at least {total:,.0f} rows."
            assert f"For {row['group']} it takes {takes}" in body["notes"]
            wrong = int(np.ceil((row["risk"] or 0.0) * total - 1e-9))
            exact = binomtest(wrong, int(total), alternative="less").proportion_ci(1 - 0.05 / 2).high
            limit = exact if once else confidence_sequence(wrong, int(total), delta=0.05 / 2)[1]
            assert 0.09 < limit <= 0.1
        words = "it takes a larger table of other rows." if once else "give more: --fresh FILE."
        assert words in answer(*more, code=3)


@pytest.fixture
def predictions():
    """724 rows of one group, 180 wrong, and 40 of another, 30 wrong."""
    group, wrong = ["a"] * 724 + ["b"] * 40, [1] * 180 + [0] * 544 + [1] * 30 + [0] * 10
    said = ["no" if one else "yes" for one in wrong]
    table = pd.DataFrame({"race": group, "released": "yes", "predicted": said})
    table.to_csv("said.csv", index=False, sep=";")
    return "said.csv"


SAID = ["--sep", ";", "--columns"]


def test_a_table_of_predictions_is_certified_at_once(predictions):
    usual = ["certify", predictions, "--columns", "race,released,predicted", "--sep", ";", "--at-most"]
    result = answer(*usual, 0.3, "--delta", 0.025, code=1)
    assert "Refuted: the risk of b is above 0.3" in result
    assert "764 labels were looked up for this." in result
    first = as_json(*usual, 0.3, "--delta", 0.025, code=1)["groups"][0]
    exact = binomtest(180, 724, alternative="less").proportion_ci(0.9875)
    assert (first["high"], first["verdict"]) == (pytest.approx(exact.high), "certified")
    answer(*usual, 0.25, code=1)
    assert [row["rows"] for row in as_json(*usual, 0.9, "--loss", "false_negative")["groups"]] == [724, 40]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], COLUMNS),
        ([*SAID, "race,released"], COLUMNS),
        ([*SAID, "race,released,said"], "expected one of the columns race,released,predicted"),
        ([*SAID, "race,released,predicted", "--loss", "log"], "--loss: expected one of 'zero_one',"),
    ],
)
def test_a_table_of_predictions_that_cannot_be_read_is_refused(predictions, options, words):
    refused(EvenhandError, words, "certify", predictions, "--at-most", 0.3, *options)


def test_predictions_that_are_no_labels_are_refused_or_counted():
    usual = ["--columns", "g,y,p", "--at-most", 0.5]
    for said, words in (
        ([2, 3, 4], "column 'p': expected labels among 0,1, got 2; write what is"),
        ([0.2, 1.0, 0.0], "column 'p': expected labels among 0,1 (whole numbers), got '0.2' (text); write what is"),
    ):
        pd.DataFrame({"g": "a", "y": [0, 1, 1], "p": said}).to_csv("said.csv", index=False)
        refused(EvenhandError, words, "certify", "said.csv", *usual)
    pd.DataFrame({"g": "a", "y": ["no", "yes", "yes"], "p": ["no", "Yes", "Yes"]}).to_csv("said.csv", index=False)
    body = as_json("certify", "said.csv", *usual, code=3)
    assert body["groups"][0]["wrong"] == 2
    assert "'Yes' is predicted in 2 rows and is the label of none: all of them count as wrong." in body["notes"]
    pd.DataFrame({"g": "a", "y": [0, 1, 1], "p": ["0", "1", "x"]}).to_csv("said.csv", index=False)
    assert as_json("certify", "said.csv", *usual, code=3)["groups"][0]["wrong"] == 1
    one_sided = "Limits are one-sided: all upper ones hold at once with 0.95 confidence, and so do all lower ones."
    assert one_sided in body["notes"]


@pytest.mark.parametrize("said", [[0.0, 1.0, 1.0, 1.0], [False, True, True, True], [0, 1, 1, 1]])
def test_predictions_of_the_same_labels_are_counted_and_rows_without_one_may_be_left_out(said):
    usual = ["--columns", "g,y,p", "--at-most", 0.9]
    pd.DataFrame({"g": "a", "y": [0, 1, 1, 0, 1], "p": [*said, None]}).to_csv("said.csv", index=False)
    refused(EvenhandError, "pass --empty drop", "certify", "said.csv", *usual)
    body = as_json("certify", "said.csv", *usual, "--empty", "drop")
    assert (body["groups"][0]["rows"], body["groups"][0]["wrong"]) == (4, 1)


@pytest.mark.parametrize(("loss", "wrong"), [("false_negative", 0), ("false_positive", 12)])
def test_the_positive_label_is_named_and_a_model_that_gives_it_to_everybody(loss, wrong):
    usual = ["--columns", "g,y,p", "--at-most", 1, "--loss", loss]
    pd.DataFrame({"g": "a", "y": ["no", "yes"] * 12, "p": "yes"}).to_csv("said.csv", index=False)
    said = answer("certify", "said.csv", *usual)
    assert "'yes' counts as positive." in said
    assert "The model answers 'yes' for everybody: it may not be worth having." in said
    kind = "positive" if loss == "false_negative" else "negative"
    assert f"Risks on 12 {kind} rows that are supposed to be new" in said
    assert as_json("certify", "said.csv", *usual)["groups"][0]["wrong"] == wrong
    pd.DataFrame({"g": "a", "y": ["no", "yes"] * 12, "p": ["yes", "no"] * 12}).to_csv("said.csv", index=False)
    assert "for everybody" not in answer("certify", "said.csv", *usual)
    pd.DataFrame({"g": "a", "y": ["no", "yes"] * 12, "p": ["maybe", "no"] * 12}).to_csv("said.csv", index=False)
    refused(TableError, "columns 'y' and 'p': expected two labels for false_", "certify", "said.csv", *usual)


def test_a_draw_for_one_kind_of_error_names_the_positive_label():
    assert "1 counts as positive." in sampled(POOL, "--loss", "false_negative")["worth"]


def test_a_model_is_worth_no_more_than_the_most_frequent_label_where_that_is_always_right():
    risks = pd.DataFrame({"risk": [1.0, 0.0, 0.2], "most_frequent": [0.0, 0.0, 0.3]}, index=["a", "b", "c"])
    risks.attrs["most_frequent"] = "no"
    words = "In a the model errs no less than the answer 'no' for everybody: it may not be worth having."
    assert worth_notes(risks) == [words]
    more = " Where one kind of error counts more, choose --loss false_negative or false_positive."
    assert worth_notes(risks, "--loss") == [words + more]


@pytest.mark.parametrize(
    ("folder", "options", "words"),
    [
        ("out", ["--columns", "g,y,p"], "--columns: expected nothing together with the folder of a"),
        ("nowhere", [], "expected the folder that `evenhand sample` wrote, its --out, got"),
        ("labels.evenhand", [], "FOLDER: expected a folder that evenhand sample wrote, or a table of"),
        ("out", ["--at-most", 1.5], "--at-most: expected a number >= 0 and <= 1, got 1.5"),
        ("out", ["--fresh", "pool.csv"], "--fresh: expected rows that the collection has not seen"),
        ("out", ["--fresh", "out/rows.csv"], "leave --fresh out to use the rows left in the pool"),
        ("out", ["--fresh", "other.csv"], "other.csv, columns g, row 1: expected groups among a,b"),
        ("out", ["--fresh", "none.csv"], "--fresh none.csv: expected one of the columns x,g"),
        ("out", ["--fresh", "new.csv"], "new.csv, column 'y', rows 3, 7: expected labels among no,yes, got 'maybe'"),
    ],
)
def test_what_certifies_nothing_is_refused(people, folder, options, words, monkeypatch):
    monkeypatch.chdir(people)
    pd.read_csv("later.csv").assign(g="c").to_csv("other.csv", index=False)
    pd.read_csv("later.csv").drop(columns="y").to_csv("none.csv", index=False)
    later = pd.read_csv("later.csv")
    later.assign(y=later["y"].where(~later.index.isin([2, 6]), "maybe")).to_csv("new.csv", index=False)
    refused(EvenhandError, words, "certify", folder, "--at-most", 0.3, *options)


@pytest.mark.parametrize(("part", "features"), [("all, shuffled", ["x", "job"]), ("one in twenty", ["job"])])
def test_rows_of_the_pool_are_not_taken_for_fresh_ones(people, part, features):
    pool, later = (_with_jobs(people / f"{name}.csv", features) for name in ("pool", "later"))
    answer(*typed(pool, budget=100))
    parts = {
        "all, shuffled": pool.sample(frac=1, random_state=0),
        "one in twenty": pd.concat([later, pool[: len(later) // 20]]),
    }
    parts[part].to_csv("seen.csv", index=False)
    certify = ["certify", OUT, "--at-most", 0.7, "--fresh"]
    seen = *certify, "seen.csv"
    if "x" in features:
        refused(ArgumentError, "--fresh: expected rows that the collection has not seen, got ", *seen)
    else:
        assert "it is unknown whether the collection has seen these" in answer(*seen)
    later.to_csv("later.csv", index=False)
    assert ("it is unknown whether" in answer(*certify, "later.csv")) == ("x" not in features)


def _with_jobs(path, features):
    """The people in a file with a few jobs, and the values of x only where it is named."""
    frame = pd.read_csv(path)
    frame["job"] = np.random.default_rng(len(frame)).choice(["b", "c", "d"], len(frame))
    return frame[[*features, "g", "y"]]


@pytest.mark.compiled
def test_repeats_say_whether_random_rows_are_as_good_and_write_nothing(people):
    usual = ["sample", people / "pool.csv", "--group", "g", "--label", "y", "--budget", 60, "--seed", 1]
    body = as_json(*usual, "--repeats", 3)
    interval = ttest_1samp(body["gains"], 0.0).confidence_interval(0.95)
    assert (body["gain"], body["low"], body["high"]) == pytest.approx((np.mean(body["gains"]), *interval))
    said = answer(*usual, "--repeats", 3)
    assert f"{body['low']:.4f} to {body['high']:.4f}, 95 % interval of 3 repeats). Seed 1; nothing was written." in said
    assert ("No difference is shown: " in said) == (body["low"] <= 0 <= body["high"])
