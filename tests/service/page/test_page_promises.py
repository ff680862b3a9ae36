"""What the page shows of promises beside fixed shares of single arms."""

from __future__ import annotations

import pytest


def shared(**shares):
    return {"shares": [{"label": label, "share": share} for label, share in shares.items()]}


CHANGED = {
    "plays": 2,
    "caps": [{"label": "b", "cap": 0.4}],
    "sets": [{"arms": ["a", "b"], "share": 0.5}],
    "windows": [{"label": "c", "plays": 2, "rounds": 25}],
    "retired": ["old shop"],
    "history": [
        {"round": 1, "at": None, "kind": None, "others": []} | shared(a=0.1, b=0.3),
        {"round": 361, "at": "2026-03-01T18:00:00Z", "kind": "change", "others": ["b at most 2/5 of the rounds"]}
        | shared(a=0.5, c=0.2),
    ],
}


@pytest.fixture
def changed(visitor, played, said):
    """A visitor in front of a study whose promise changed."""
    said["ads"] = {"promise": played.state()["promise"] | CHANGED}
    visitor.watch("ads")
    return visitor


def test_the_promise_and_its_past_are_shown(changed):
    changed.sees("2 arms are played per round", "#promises")
    words = changed.text("#promises")
    owed = ("b has at most 40.0% of the rounds", "a and b together are owed 50.0%")
    past = ("c is played at least 2 times in any 25 rounds", "old shop was retired", "the shares were changed")
    assert all(text in words for text in (*owed, *past, "the start")), words
    rows = [row.text for row in changed.all("#promises tbody tr")]
    assert rows[0].startswith("361")
    assert rows[0].endswith("50.0% – 20.0% b at most 2/5 of the rounds")
    assert rows[1].endswith("10.0% 30.0% – –")
    assert changed.complaints() == []


def test_arms_and_sets_stand_beside_their_caps_and_windows(changed, played):
    heads = changed.text("#arms thead")
    assert "At most" in heads
    assert "Window" in heads
    rows = [row.text.split("\n") for row in changed.all("#arms tbody tr")]
    cells = [" ".join(row) for row in rows]
    assert "40.0%" in cells[1]
    assert "2 in any 25" in cells[2]
    state = played.state()
    both = sum(arm["decisions"] for arm in state["arms"][:2])
    assert cells[3].startswith(f"a + b {both:,} ")
    assert "50.0%" in cells[3]
    assert len(changed.all("#arms .cap")) == 1
    changed.sees("promised 30.0%, at most 40.0%", "#chart-shares .legend")
    changed.sees("the dashed and dotted one is its cap", "#shares")
    assert "at most" not in changed.text("#chart-shortfall .legend")
    assert changed.complaints() == []
