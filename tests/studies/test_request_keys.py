"""A key names the same decisions for the library, the shell and HTTP, however many are asked for at once."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ContradictionError, ExhaustedError
from evenhand.studies import Ask, Study
from evenhand.studies.log import request_keys
from tests.cli.shell import asked, refused

SHARES = {"ads": 0.2, "news": 0.3}


@pytest.fixture
def study():
    return Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), name="ads")


def numbered(key, count):
    return [Ask(key=key, number=number) for number in range(count)]


WAYS = {
    "ask": lambda study, key, count: [study.ask(key=key)],
    "ask with a count": lambda study, key, count: study.ask(key=key, count=count),
    "run": lambda study, key, count: study.run(numbered(key, count)),
    "run backwards": lambda study, key, count: study.run(numbered(key, count)[::-1])[::-1],
    "run one by one": lambda study, key, count: [study.run([one])[0] for one in numbered(key, count)],
}


@pytest.mark.parametrize(("first", "again"), [*itertools.pairwise([*WAYS, "ask"])])
def test_whoever_asks_again_gets_the_same_decisions(first, again):
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1))
    before = WAYS[first](study, "night", 2)
    after = WAYS[again](study, "night", 4)
    assert after[: len(before)] == before[: len(after)]
    assert study.log.sequence == max(len(before), len(after)) == len({one.id for one in before + after})
    assert WAYS[first](study, "night", 1)[0] == after[0]
    assert study.verify().ok


LIKE = ["k.1", "k.2", "k#0", "k#1", "k#2", "k.1.1", "k#1#1", "k#1.1", "k.01", "k.0", "k#00", "k.", "k#", ".1", "k"]


@pytest.mark.parametrize("order", [LIKE, LIKE[::-1]], ids=["k last", "k first"])
def test_keys_that_read_like_numbered_ones_are_keys_of_their_own(study, order):
    before = {key: study.ask(key=key, count=3) for key in order}
    assert len({one.id for several in before.values() for one in several}) == 3 * len(LIKE)
    for key in order:
        assert study.ask(key=key, count=3) == before[key]
        assert study.ask(key=key) == before[key][0]
    assert {study.log.record(several[0]).key for several in before.values()} == set(LIKE)
    assert study.verify().ok


def test_a_count_takes_all_or_none():
    sampler = eh.sampling.UniformSampler(["a", "b"], budget=6.0, seed=1)
    study = Study.create(":memory:", sampler)
    with pytest.raises(ExhaustedError):
        study.ask(count=4, key="k")
    assert study.log.sequence == 0
    assert len(study.ask(count=3, key="k")) == 3
    assert study.verify().ok


def test_what_is_no_count_no_number_of_a_key_and_not_sticky_is_refused(study):
    study.ask(key="ann")
    for count in (0, -1, 1.0, True, "3"):
        with pytest.raises(ArgumentError, match="count: expected a whole number >= 1"):
            study.ask(count=count)
    asks = {
        "number: expected a whole number >= 0": [Ask(key="k", number=number) for number in (-1, 1.0, True, "3", None)],
        "sticky: expected an ask with a key": [Ask(sticky=True)],
        "sticky: expected True or False": [Ask(key="ann", sticky=sticky) for sticky in ("no", 1, None)],
    }
    for words, wrong in asks.items():
        for refusal in study.run(wrong):
            assert isinstance(refusal, ArgumentError)
            assert str(refusal).startswith(words)
    assert study.log.sequence == 1


def test_a_key_that_is_too_long_for_its_number_is_refused(study):
    long = "k" * (request_keys.LONGEST - 2)
    assert len(study.ask(key=long, count=10)) == 10
    with pytest.raises(ArgumentError, match="decision 10 under it needs 201"):
        study.ask(key=long, count=11)
    assert study.log.sequence == 10
    assert study.ask(key="k" * request_keys.LONGEST).id == 11


ONES, TWOS = [[1.0], [1.0]], [[2.0], [2.0]]


@pytest.fixture
def shown():
    """A study whose rounds show contexts, and its first decision under the key "ann"."""
    study = Study.create(":memory:", eh.groups.TopInterval({"a": "m", "b": "w"}, horizon=50, seed=1))
    return study, study.ask(ONES, key="ann", sticky=True)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        *((given, {}) for given in ((TWOS,), (), ("nonsense",))),
        ((TWOS,), {"available": ["nobody"]}),
        ((ONES,), {"contexts": TWOS}),
        ((object(),), {"colour": "red"}),
    ],
)
def test_a_sticky_key_gets_its_first_decision_whatever_else_is_given(shown, given, named):
    study, first = shown
    assert study.ask(*given, key="ann", sticky=True, **named) == first
    assert study.ask(*given, key="ann", sticky=True, count=1, **named) == [first]
    assert study.log.sequence == 1
    study.tell(first, 1.0)
    assert study.ask(*given, key="ann", sticky=True, **named) == first
    assert study.verify().ok


def test_a_key_without_sticky_is_for_one_ask_and_the_refusal_names_the_way_out(shown):
    study, decision = shown
    with pytest.raises(ContradictionError, match="used before for a different ask; use a new key, or pass sticky"):
        study.ask(TWOS, key="ann")
    same, other = study.run([Ask(given={"contexts": one}, key="ann") for one in (ONES, TWOS)])
    assert (same, type(other)) == (decision, ContradictionError)
    with pytest.raises(ArgumentError, match="contexts"):
        study.ask(key="bob", sticky=True)
    with pytest.raises(ArgumentError, match="ask: expected contexts, groups, available, scores, got 'colour'"):
        study.ask(ONES, key="bob", sticky=True, colour="red")
    assert study.log.sequence == 1


def test_of_sticky_asks_at_the_same_moment_one_decides(shown):
    study, _ = shown
    bobs = [Ask(given={"contexts": one}, key="bob", sticky=True) for one in (ONES, TWOS, "nonsense")]
    assert study.run(bobs) == [study.ask(TWOS, key="bob", sticky=True)] * 3
    with ThreadPoolExecutor(4) as threads:
        asks = [threads.submit(study.ask, [[x], [1.0]], key="cid", sticky=True) for x in range(8)]
        assert len({one.result().id for one in asks}) == 1
    assert study.log.sequence == 3


def test_the_shell_has_sticky_keys(tmp_path):
    store = tmp_path / "ads.evenhand"
    Study.create(store, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, seed=1)).close()
    first = asked(store, "--key", "ann", "--sticky", "--available", "ads")
    assert asked(store, "--key", "ann", "--sticky", "--available", "news") == first
    assert asked(store, "--key", "ann", "--sticky") == first
    unreadable = ("--contexts", "no.csv", "no such file"), ("--contexts", "[[1", "rows of"), ("--groups", "x", "ARM")
    for *unread, words in unreadable:
        assert asked(store, "--key", "ann", "--sticky", *unread) == first
        refused(ArgumentError, words, "ask", store, "--key", "bob", "--sticky", *unread)


def test_all_arms_are_those_that_were_not_retired():
    study = Study.create(":memory:", eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.2, "c": 0}, seed=1))
    study.retire("c")
    decision = study.ask(key="k")
    assert study.ask(available=["b", "a"], key="k") == decision
    with pytest.raises(ContradictionError):
        study.ask(available=["b", "a", "c"], key="k")


NAMES = ["ads", "caf\N{LATIN SMALL LETTER E WITH ACUTE}", 7]
BOTH = NAMES[:2]
PEOPLE = {"ann": "f", "bob": "m"}
ROWS, PAIR = [[0.5, 1.0], [0.25, 2.0]], [[0.5, 0.0], [0.0, 0.25]]
TABLE = pd.DataFrame(ROWS, columns=["u", "v"], index=["ann", "bob"])
TURNED = pd.Series({"bob": "f", "ann": "m"})


def shop():
    return eh.quotas.DeadlineLearn(eh.learners.UCB1(), dict.fromkeys(NAMES, 0.2), seed=1)


def jobs():
    return eh.groups.LinearThompson(PEOPLE, seed=1)


def loans():
    return eh.similarity.LipschitzUCB(2, seed=1)


def each(name, *values, **beside):
    return [{**beside, name: value} for value in values]


SAME = [
    (shop, each("available", BOTH, BOTH[::-1], ["ads", *BOTH], set(BOTH), tuple(BOTH), pd.Series(BOTH, index=[4, 2]))),
    (shop, each("available", BOTH, ["ads", "cafe\N{COMBINING ACUTE ACCENT}"])),
    (shop, each("available", None, NAMES, NAMES[::-1], [*NAMES, 7])),
    (shop, each("available", "ads", ["ads"], ["ads", "ads"])),
    (jobs, each("groups", ["m", "f"], {"bob": "f", "ann": "m"}, TURNED, np.array(["m", "f"]), contexts=ROWS)),
    (jobs, each("groups", None, PEOPLE, {"bob": "m"}, contexts=ROWS)),
    (jobs, each("contexts", TABLE, ROWS, TABLE.reset_index(drop=True), TABLE.loc[["bob", "ann"], ["v", "u"]])),
    (jobs, each("contexts", TABLE, np.array(ROWS, np.float32), pl.DataFrame({"v": [1.0, 2.0], "u": [0.5, 0.25]}))),
    (jobs, each("contexts", [[1, 2], [1, 2]], [[1.0, 2.0]], [1, 2.0], {"v": 2, "u": 1})),
    (loans, each("contexts", PAIR, np.array(PAIR), pd.DataFrame(PAIR))),
]
OTHERS = {
    shop: each("available", ["ads", 7], [7], ["nobody"], ["7"], []),
    jobs: [
        *each("contexts", ROWS[::-1], TABLE.set_axis(["q", "r"]), "nonsense", None),
        *each("groups", ["f", "f"], ["q", "f"], contexts=ROWS),
    ],
    loans: each("contexts", PAIR[::-1], "nonsense"),
}
ALIKE = [(made, *pair) for made, same in SAME for pair in itertools.pairwise([*same, same[0]])]


@pytest.mark.parametrize(("made", "first", "again"), ALIKE)
def test_what_a_policy_reads_alike_is_the_same_ask(made, first, again):
    study = Study.create(":memory:", made())
    if made is jobs:
        study.ask(TABLE)  # the policy knows its columns from here on
    before = study.log.sequence
    decision = study.ask(**first, key="k")
    assert study.ask(**again, key="k") == decision
    assert study.log.sequence == before + 1
    for other in OTHERS[made]:
        with pytest.raises(ContradictionError, match="for a different ask"):
            study.ask(**other, key="k")
    assert study.verify().ok
