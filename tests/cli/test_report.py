"""A report is one file: the answer first, standing alone, and what it says can be checked again."""

import hashlib
import html
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import evenhand as eh
from evenhand.errors import ArgumentError
from tests.cli.shell import NEW, answer, as_json, refused

CHROMIUM = shutil.which("chromium")
ARMS = "aabbacabbcab" * 4
PROMISE = """
tolerance = 1
[shares]
a = 0.5
[caps]
b = "1/4"
[[sets]]
arms = ["b", "c"]
share = 0.25
"""


@pytest.fixture
def log():
    rows = {"item": list(ARMS), "click": [int(arm == "a") for arm in ARMS], "when": range(len(ARMS), 0, -1)}
    pd.DataFrame(rows).to_csv("log.csv", index=False)
    Path("promise.toml").write_text(PROMISE)
    return "log.csv"


@pytest.fixture
def store():
    promise = eh.Promise({"a": 0.25, "b": 0, "c": 0}, caps={"b": 0.5}, windows={"c": 9})
    with eh.Study.create("ads.evenhand", eh.quotas.DeadlineLearn(eh.learners.UCB1(), promise), name="ads") as study:
        for _ in range(80):
            decision = study.ask()
            study.tell(decision, float(decision.arm == "b"))
    return "ads.evenhand"


def reported(*arguments, code):
    """The text of a report, and its words."""
    answer("report", *arguments, code=code)
    text = Path("report.html").read_text(encoding="utf-8")
    shown = re.sub(r"<style>.*</style>|data:image/png;base64,[^\"]*", " ", text, flags=re.DOTALL)
    return text, " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def commands(text):
    return html.unescape(re.search(r"<pre>(.*?)</pre>", text, re.DOTALL)[1]).splitlines()


def test_a_report_on_a_log_says_what_was_promised_and_where_it_was_broken(log):
    text, words = reported(log, "--arm", "item", "--promise", "promise.toml", "--reward", "click", code=1)
    finding = eh.audit.promise(
        pd.read_csv(log),
        arm="item",
        promise=eh.Promise({"a": 0.5, "b": 0, "c": 0, ("b", "c"): 0.25}, tolerance=1, caps={"b": 0.25}),
    )
    assert f"▲ {finding.verdict}" in words
    assert "What the log shows" not in words
    for line in (
        "a at least 1/2 of the rounds (behind by less than 2)",
        "b, c together at least 1/4 of the rounds",
        "b at most 1/4 of the rounds",
        f"The first breach: {finding.first_breach}.",
        "In the long run the promise costs ",
        "This assumes that an arm earns the same",
        "What each clause costs, in reward per round arm promised costs a point tighter costs a point looser saves",
    ):
        assert line in words
    assert text.count("data:image/png;base64,") == 1


def test_the_command_in_a_report_finds_the_same(log):
    options = ["--arm", "item", "--shares", "a=0.25", "--shares", "c=0.2", "--order", "when", "--sep", ","]
    text, words = reported(log, *options, code=1)
    audit, digest = commands(text)
    assert shlex.split(audit) == ["evenhand", "audit", log, *shlex.split(audit)[3:]]
    again = as_json(*shlex.split(audit)[1:], code=1)
    assert again["kept"] is False
    assert f"of {again['rounds']} rounds" in words
    assert digest.split() == ["sha256sum", log, "#", hashlib.sha256(Path(log).read_bytes()).hexdigest()]


def test_every_answer_says_that_the_order_of_ties_may_change_it(log):
    frame = pd.read_csv(log)
    frame["id"] = frame["on, by"] = range(len(frame), 0, -1)
    frame.assign(when=frame["when"] // 10).to_csv(log, index=False)
    ask = (log, "--arm", "item", "--promise", "promise.toml", "--order")
    words = "have the same when as another that differs, and are taken as the log has them, from its end"
    assert words in " ".join(answer("audit", *ask, "when", code=1).split())
    for command in ("audit", "report"):
        assert words in as_json(command, *ask, "when", code=1)["notes"][0]
    assert words in Path("report.html").read_text()
    orders = [("audit", "when,id"), ("report", "when", "--order", "id"), ("audit", "when", "--order", "on, by")]
    for command, *order in orders:
        assert as_json(command, *ask, *order, code=1)["notes"] == []


def test_the_last_decisions_of_a_log_stand_in_its_order(log):
    _, words = reported(log, "--arm", "item", "--shares", "0.1", "--order", "when", "--tolerance", "3", code=0)
    assert "round when item 41 41 " in words
    assert "The promise was kept in each of 48 rounds" in words
    assert "Not known: name the column of rewards with --reward." in words


def test_a_report_on_a_study_says_what_its_log_shows_and_how_to_verify_it(store):
    text, words = reported(store, code=0)
    for line in (
        "✓ The promise was kept at every round",
        "a at least 1/4 of the rounds",
        "b at most 1/2 of the rounds",
        "c at least once in any 9 rounds",
        "The log is whole and replays to the same decisions and states.",
        " were the learner's first wish among the arms on offer; the promise decided ",
        "In the long run the promise costs ",
        "ticket at arm reason status reward",
    ):
        assert line in words
    assert text.count("data:image/png;base64,") == 2
    (verify,) = commands(text)
    assert "The promise was kept" in answer(*shlex.split(verify)[1:])


@pytest.mark.parametrize("of", ["log", "store"])
def test_a_report_stands_alone(of, request):
    arguments = ["--arm", "item", "--shares", "0.3"] if of == "log" else []
    text, _ = reported(request.getfixturevalue(of), *arguments, code=1 if of == "log" else 0)
    assert not re.findall(r"<script|<link|@import|url\(", text)
    assert all(source.startswith("data:image/png;base64,") for source in re.findall(r"(?:src|href)=\"([^\"]*)", text))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,1 b, a,1 b,0", "the promise costs 0.400 a round (95 % interval 0.227 to 0.552)"),
        ('"[""a"",""b""]",1 "[""b"",""a""]",0', "Not known: arms share rewards."),
        ("a,1 b,", "rewards of each arm, got 0 of arm 'b'"),
    ],
)
def test_the_cost_is_said_where_the_log_shows_it(rows, said):
    Path("log.csv").write_text("\n".join(["arm,won", *rows.split() * 9]))
    _, words = reported("log.csv", "--shares", "b=0.4", "--reward", "won", code=0)
    assert said in words


def test_files_that_are_read_in_batches_have_no_cost():
    for part in "12":
        Path(f"log{part}.csv").write_text("arm,won\n" + "a,1\nb,0\n" * 9)
    _, words = reported("log*.csv", "--shares", "0.4", "--reward", "won", code=0)
    assert "Not known: the log was read in batches." in words
    assert "The promise was kept in each of 36 rounds" in words


def test_labels_in_a_report_are_text():
    pd.DataFrame({"arm": ["<b>x</b>", "y"] * 9}).to_csv("log.csv", index=False)
    text, words = reported("log.csv", "--shares", "0.4", code=0)
    assert "<b>x" not in text
    assert "<b>x</b>" in words


def test_a_study_that_promises_nothing_has_a_report():
    with eh.Study.create("s.evenhand", eh.sampling.UniformSampler(["x", "y"]), name="s") as study:
        study.ask()
    _, words = reported("s.evenhand", code=0)
    assert "The log is sound; the policy makes no promise that it can show" in words


def test_a_study_without_a_decision_has_a_report():
    answer("new", "s.evenhand", *NEW)
    text, words = reported("s.evenhand", code=0)
    assert "evenhand verify s.evenhand --study s" in words
    assert "There is no decision yet" in words
    assert "was kept" not in words
    assert "<table" not in text
    shown = answer("show", "s.evenhand")
    assert "There is no decision yet." in shown
    assert "was kept" not in shown


COUNTED = "counted after every round in whole numbers; nothing is estimated"


def test_a_report_says_how_many_arms_are_played_and_how_it_counted():
    played = eh.quotas.DeadlineLearn(eh.learners.UCB1(), eh.Promise({"a": 0.2, "b": 0.2, "c": 0}, plays=2))
    in_the_long_run = eh.quotas.LFG({"a": 0.2, "b": 0.3}, eta=10)
    said = "2 arms are played per round", "a at least 1/5 of the rounds"
    for policy, line, counted in zip((played, in_the_long_run), said, (True, False), strict=True):
        with eh.Study.create(f"{counted}.evenhand", policy) as study:
            study.ask(count=8)
        _, words = reported(f"{counted}.evenhand", code=0)
        assert line in words
        assert "segment" not in words
        assert (COUNTED in words) is counted


def test_a_store_that_was_changed_is_not_sound(store):
    import sqlite3

    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE events SET at = at + 1 WHERE sequence = 40")
    _, words = reported(store, code=1)
    assert "▲ entry 40 was changed after it was written" in words
    assert "WRONG: entry 40 " in words


ASK = ["log.csv", "--arm", "item", "--shares", "0.1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*ASK, "--out", "r.pdf"], "--out: expected a file that ends in .html"),
        ([*ASK, "--study", "ads"], "--study: expected nothing together with"),
        (["ads.evenhand", "--shares", "0.1"], "--shares: expected nothing together with the store of a study"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, words, log, store):
    refused(ArgumentError, words, "report", *arguments)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("of", ["log", "store"])
def test_a_report_prints_on_two_pages(of, request, tmp_path):
    arguments = ["--arm", "item", "--promise", "promise.toml", "--reward", "click"] if of == "log" else []
    reported(request.getfixturevalue(of), *arguments, code=1 if of == "log" else 0)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    places = [f"--user-data-dir={tmp_path}/profile", "--print-to-pdf=report.pdf", "report.html"]
    subprocess.run([CHROMIUM, *flags, *places], check=True, cwd=tmp_path, capture_output=True)
    assert len(re.findall(rb"/Type\s*/Page\b", Path("report.pdf").read_bytes())) <= 2


def test_a_report_has_totals_and_the_worth_of_plays_behind(log):
    _, words = reported(log, "--arm", "item", "--shares", "a=0.6,c=0.1", "--reward", "when", code=1)
    frame = pd.read_csv(log)
    worth, plays = frame.groupby("item")["when"], frame["item"].value_counts()
    for item, total in worth.sum().items():
        mean, share = f"{total / plays[item]:.4g}", f"{plays[item] / len(frame):.4g}"
        assert re.search(rf" {item} {plays[item]} {share} {plays[item]} {mean}\d* {total}", words), words
    assert f" all {len(frame)} 1 {len(frame)} {frame['when'].mean():.4g} {frame['when'].sum()}" in words
    behind = max(0.6 * (t + 1) - played for t, played in enumerate((frame["item"] == "a").cumsum()))
    told = re.search(r"a at least 0.6 0.4167 20 (\S+) (\S+) (\S+) in", words)
    now = 0.6 * len(frame) - plays["a"]
    assert [*map(float, told.groups())] == pytest.approx([now, now * worth.mean()["a"], behind], rel=1e-3)


def test_plays_behind_are_worth_what_their_own_rounds_and_segment_earn():
    """Of 100 rounds a plays 50, then 10, each promised half; rewards are 1, then 10."""
    late = [False] * 100 + [True] * 100
    arms = ["a" if t % (10 if then else 2) == 0 else "b" for t, then in enumerate(late)]
    frame = pd.DataFrame({"arm": arms, "late": late, "price": [10.0 if then else 1.0 for then in late]})
    frame.to_csv("log.csv", index=False)
    pd.DataFrame({"from": [1, 1, 101], "arm": list("aba"), "share": ["1/2", "0", "1/2"]}).to_csv("s.csv", index=False)
    _, words = reported("log.csv", "--shares", "s.csv", "--reward", "price", code=1)
    assert " a 101 - at least 0.5 0.1 10 40 400 " in words
    _, words = reported("log.csv", "--shares", "a=1/2,b=0", "--segment", "late", "--reward", "price", code=1)
    assert re.search(r" a True at least 0.5 0.1 10 40 400 ", words)
    with eh.Study.create("s.evenhand", eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": "1/2", "b": 0})) as study:
        for reward in (0.0, 1.0):
            [study.tell(decision, reward) for decision in study.ask(count=100)]
            study.change({"a": "1/4", "b": 0})
    _, words = reported("s.evenhand", code=0)
    means = re.findall(r" a (1|101) \S+ .{20,90}? at least 0\.\d+ \S+ \d+ \S+ \S+ never (\S+)", words)
    assert means == [("1", "0"), ("101", "1")]


def test_a_price_is_that_of_the_arms_that_stay():
    earned, random = {"gold": 0.9, "a": 0.5, "b": 0.4}, np.random.default_rng(1)
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"gold": 0, "a": 0, "b": "1/2"}, seed=1)
    with eh.Study.create("s.evenhand", policy) as study:
        for retired in ("gold", None):
            [study.tell(one, float(random.random() < earned[one.arm])) for one in study.ask(count=200)]
            study.retire(retired) if retired else None
        log = study.frame()
    stay = eh.Promise({"a": 0, "b": "1/2"})
    for first in (0, 200):
        _, words = reported("s.evenhand", "--since", log["at"][first].isoformat(), code=0)
        rows = log[first:]
        assert eh.quotas.price(stay, rows.loc[rows["arm"] != "gold", ["arm", "reward"]]).finding in words


def test_a_report_uses_the_words_of_its_reader(log, monkeypatch):
    drawn = []
    monkeypatch.setattr("evenhand.cli.output.saved", lambda figure: drawn.append(figure) or b"")
    _, words = reported(log, "--arm", "item", "--shares", "a=0.25,c=0.2", "--call", "arm=offer,round=visit", code=1)
    assert "after every visit t an offer has had at least r t plays" in words
    assert "arm " not in words.partition("How to check it again")[0].replace("--arm ", "")
    written = [text.get_text() for text in drawn[0].findobj(Text)]
    assert any(text.startswith("The promise was broken in") and "visits" in text for text in written)
    assert "visit" in written
    assert not [text for text in written if re.search(r"\b(arm|round)s?\b", text)]
    refused(ArgumentError, "--call: expected", "report", log, "--arm", "item", "--shares", "a=0.25", "--call", "x=y")
    frame = pd.read_csv(log)
    frame.assign(item=frame["item"].replace("a", "an arm")).to_csv(log, index=False)
    refused(ArgumentError, "no arm's label", "report", log, "--arm", "item", "--shares", "b=0.1", "--call", "arm=x")


def test_many_arms_are_all_named():
    names = [f"seller{n:02}" for n in range(20)]
    pd.DataFrame({"arm": names * 3}).to_csv("many.csv", index=False)
    text, words = reported("many.csv", "--shares", "0.05", code=0)
    assert ", ".join(names) in words
    assert "more ..." not in text


ROUNDS = 240
PROMISED = [("a", 0.2, 1, 170), ("b", 0.1, 1, 110), ("e", 0.15, 61, 170), ("a", 0.3, 171, None), ("d", 0.1, 171, None)]
FREE = [("c", None, 1, 170), ("d", None, 1, 170), ("c", None, 171, None), ("e", None, 171, None)]
CHANGES = {
    61: "e joined; e at least 0.15",
    111: "b was retired",
    171: "another promise; a at least 0.3; d at least 0.1",
}


@pytest.fixture
def changed():
    """The log of a study whose promise changed three times, and in which one arm was often away."""
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.1, "c": 0, "d": 0}, seed=3)
    with eh.Study.create("changed.evenhand", policy) as study:
        for number in range(ROUNDS):
            if number == 60:
                study.add("e", 0.15)
            if number == 110:
                study.retire("b")
            if number == 170:
                study.change({"a": 0.3, "c": 0, "d": 0.1, "e": 0})
            there = [arm for arm in study.policy.arms if arm != ("b" if number > 109 else None)]
            decision = study.ask(available=[arm for arm in there if arm != "a" or number % 7])
            study.tell(decision, float(decision.arm == "c"))
        return study.frame()


def by_pandas(log, name, promised, since, until, first=1, last=ROUNDS):
    """What an arm had of the rounds from `first` to `last` that offered it, and was behind at their end and at most."""
    part = log[since - 1 : min(until or last, last)]
    on, mine = part["available"].map(lambda arms: name in arms), part["arm"] == name
    behind = (promised or 0) * on.cumsum() - mine.cumsum()
    had, of = (int(each[part.index >= first - 1].sum()) for each in (mine, on))
    at = {"since_at": log["at"][since - 1]} | ({} if until is None else {"until_at": log["at"][until - 1]})
    figures = {"had": had, "of": of, "share": had / of, "behind": behind.iloc[-1] if promised else None}
    whole = {"name": name, "promised": promised, "since": since, "until": until}
    row = whole | figures | {key: time.floor("s").isoformat() for key, time in at.items()}
    return row, f"{max(0.0, behind.max()):.4g}" if since >= first else "-"


@pytest.mark.parametrize(("first", "last"), [(1, ROUNDS), (101, 200)])
def test_everybody_who_is_promised_something_is_named_since_each_promise_began(changed, first, last):
    at = [changed["at"][first - 1].isoformat(), (changed["at"][last - 1] + pd.Timedelta("1us")).isoformat()]
    options = [] if (first, last) == (1, ROUNDS) else ["--since", at[0], "--until", at[1]]
    body = as_json("report", "changed.evenhand", *options)
    _, words = reported("changed.evenhand", *options, code=0)
    held = [one for one in PROMISED + FREE if first <= (one[3] or last) and one[2] <= last]
    inner = changed[first - 1 : last]
    for row in body["who"]:
        one = next(one for one in held if one[:3] == (row["name"], row["promised"], row["since"]))
        one = (*one[:3], None if (one[3] or 0) > last else one[3])
        figures, most = by_pandas(changed, *one, first, last)
        for name, value in figures.items():
            assert row[name] == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value), (row, name)
        begins = rf" {row['name']} {row['since']} \(.{{26,70}}"
        if row["promised"]:
            cells = re.search(rf"{begins} at least {row['promised']} (\S+) {row['had']} (\S+) (\S+) never", words)
            assert [*map(float, cells.groups()[:2])] == pytest.approx([row["share"], row["behind"]], rel=1e-3, abs=1e-9)
            assert cells[3] in (most, "-")
        else:
            own = inner[(inner["arm"] == row["name"]) & inner.index.isin(range(one[2] - 1, one[3] or last))]
            mean = f"{own['reward'].mean():g}".replace("nan", "-")
            assert re.search(rf"{begins} {row['share']:.4g} {row['had']} {mean} ", words)
    assert len(body["who"]) == len(held)
    assert [row["promised"] is None for row in body["who"]] == sorted(row["promised"] is None for row in body["who"])
    assert body["kept"] is True
    expected = {round: what for round, what in CHANGES.items() if first <= round <= last}
    assert {row["round"]: row["what"] for row in body["changes"]} == expected
    titles = "Who is promised something", "Who is promised nothing", "What changed"
    assert sorted(titles, key=words.index) == [*titles]
    forced = int((inner["reason"] == "owed its share").sum())
    own = rf"Of {len(inner)} decisions \d+ were the learner's first wish among the arms on offer; "
    assert re.search(rf"{own}the promise decided {forced}\b", words)


def test_weights_that_are_not_told_yet_are_left_out_and_said_to_be():
    promise = eh.Promise({"a": 0.3, "b": 0}, weight="tokens", largest=10, tolerance=40, in_flight=5)
    with eh.Study.create("s.evenhand", eh.quotas.DeadlineLearn(eh.learners.UCB1(), promise)) as study:
        for _ in range(8):
            study.tell(study.ask(), 1.0, weight=4)
        study.tell(study.ask(count=2)[1], 1.0, weight=9)
    body = as_json("report", "s.evenhand")
    assert {row["of"] for row in body["who"]} == {32}
    assert "leaves out the decisions from the first on whose tokens is not told yet" in " ".join(body["notes"])


def test_weights_and_tolerances_are_written_as_people_write_them():
    pd.DataFrame({"arm": list("ab") * 3, "tokens": [400_000, 12_000] * 3}).to_csv("log.csv", index=False)
    asked = ("--shares", "a=0.5,b=0", "--weight", "tokens", "--tolerance", 64000, "--cap", "b=0.5")
    _, words = reported("log.csv", *asked, "--cap-tolerance", 0.5, code=0)
    assert " behind most behind most above broken " in words
    assert " 0.9709 1,200,000 " in words
    assert " 36,000 " in words
    assert "--tolerance 64000 " in words
