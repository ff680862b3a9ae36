"""What the page shows of promises beside fixed shares of single arms."""

from __future__ import annotations

from tests.service.page.fake import SHARES, Played

CHANGED = {
    "when": "at every round",
    "kept": True,
    "tolerance": 0.0,
    "worst_shortfall": 0.9,
    "worst_arm": "a",
    "worst_round": 3,
    "plays": 2,
    "caps": [{"label": "b", "cap": 0.4}],
    "sets": [{"arms": ["a", "b"], "share": 0.5}],
    "windows": [{"label": "c", "plays": 2, "rounds": 25}],
    "retired": ["old shop"],
    "history": [
        {"round": 1, "at": None, "kind": None, "shares": [{"label": "a", "share": 0.1}, {"label": "b", "share": 0.3}]},
        {
            "round": 361,
            "at": "2026-03-01T18:00:00Z",
            "kind": "change",
            "shares": [{"label": "a", "share": 0.5}, {"label": "c", "share": 0.2}],
        },
    ],
}


def test_the_promise_and_its_past_are_shown(visitor, fake):
    fake.studies["pace"] = Played("pace", SHARES, 500, promise=CHANGED)
    visitor.watch("pace")
    visitor.sees("2 arms are played in a round", "#promises")
    words = visitor.text("#promises")
    for text in (
        "b has at most 40.0% of the rounds",
        "a and b together are owed 50.0%",
        "c is played at least 2 times in any 25 rounds",
        "old shop was taken off offer",
        "the shares were changed",
        "the start",
    ):
        assert text in words
    rows = [row.text for row in visitor.all("#promises tbody tr")]
    assert rows[0].startswith("361")
    assert rows[0].endswith("50.0% – 20.0%")
    assert rows[1].endswith("10.0% 30.0% –")
    assert visitor.complaints() == []


def test_a_study_of_shares_alone_has_no_such_part(visitor):
    visitor.watch("ads")
    visitor.sees("1,234 decisions", "#headline")
    assert visitor.all("#promises") == []
