"""Several auditors: how often each errs is learned from all answers, and what one says can be withdrawn."""

import numpy as np
import pytest

from evenhand.errors import ArgumentError, VerdictError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.similarity import LipschitzUCB, MahalanobisOracle, MomentDistance, Panel
from evenhand.similarity.auditors import is_due, last_due

A = np.array([[0.5, 0.2], [0.0, 0.4]])


def audited(rates, questions=60, seed=0):
    """Return a belief that heard auditors who err at these rates, each of every question."""
    draws, learner = np.random.default_rng(seed), MomentDistance(radius=1.0, error_rate=0.1)
    for _ in range(questions):
        x, y = draws.uniform(-0.7, 0.7, (2, 2))
        true = np.linalg.norm(A @ (x - y))
        gap = float(np.clip(true + 0.15 * draws.normal(), 0.01, 1.0))
        for name, rate in rates.items():
            learner.verdict(x, y, gap, bool((true < gap) != (draws.random() < rate)), auditor=name)
    return learner


def test_rates_of_wrong_answers_are_learned_even_where_most_auditors_are_poor():
    for rates in ({"a": 0.02, "b": 0.1, "c": 0.4}, {"a": 0.05, "b": 0.45, "c": 0.45}, {"a": 0.1, "b": 0.1, "c": 0.9}):
        found = audited(rates).error_rates
        assert list(found) == list(rates)
        assert all(abs(found[name] - rates[name]) < 0.2 for name in rates), found
        assert found["a"] < 0.15
        assert found["c"] == max(found.values())


def test_what_is_learned_of_auditors_is_saved_and_a_withdrawn_answer_leaves_nothing():
    learner = audited({"a": 0.1, "b": 0.4}, questions=9)
    again = from_bytes(to_bytes(learner))
    assert again.rates == learner.rates
    extra = again.verdict([0.6, 0.1], [0.0, 0.2], 0.3, True, auditor="c")
    again.withdraw(extra)
    assert again.rates == learner.rates
    assert np.array_equal(again.state.centre, learner.state.centre)
    assert [v.auditor for v in again.verdicts] == ["a", "b"] * 9


def test_rates_are_learned_again_four_times_an_octave():
    assert [last_due(n) for n in (0, 3, 4, 7, 9, 11, 15, 31, 33)] == [0, 0, 4, 7, 8, 10, 14, 28, 32]
    learner = MomentDistance(radius=1.0, error_rate=0.1)
    for n in range(4):
        learner.verdict([0.5, 0.1 * n], [0.0, 0.0], 0.4, True, auditor="a")
        assert is_due(learner.verdicts, 1) == (n == 3)
    assert is_due(learner.verdicts, 4)


def test_a_learned_panel_follows_its_good_member_against_two_poor_ones():
    people = np.random.default_rng(1)
    members = [MahalanobisOracle(A, error_rate=r, seed=n) for n, r in enumerate((0.0, 0.4, 0.4))]
    panel, wrong = Panel(dict(zip("abc", members, strict=True)), rule="learned"), {"learned": 0, "most": 0}
    truth = MahalanobisOracle(A)
    for n in range(30):
        x, p = people.uniform(-0.6, 0.6, (3, 2)), people.dirichlet(np.ones(3))
        right = set(truth(x, p))
        said = [set(member(x, p)) for member in members]
        scripted = [lambda _x, _p, pairs=pairs: sorted(pairs) for pairs in said]
        panel.auditors = scripted
        if n >= 10:
            wrong["learned"] += len(set(panel(x, p)) ^ right)
            wrong["most"] += len(set(Panel(scripted, rule="most")(x, p)) ^ right)
        else:
            panel(x, p)
    assert wrong["learned"] < wrong["most"] / 2, wrong
    assert panel.error_rates["a"] < 0.1 < panel.error_rates["b"]
    assert panel.suspects()[0].wrong > 0.5
    panel.withdraw(panel.suspects()[0].id)
    assert len(panel.suspects()) == 269


def test_bad_panels_are_refused_by_name():
    with pytest.raises(ArgumentError, match="rule: wanted"):
        Panel([len], rule="guess")
    with pytest.raises(ArgumentError, match="auditors: wanted a name for each"):
        Panel({" ": len})
    with pytest.raises(ArgumentError, match="rule: wanted 'learned'"):
        _ = Panel([len]).error_rates
    panel = Panel([MahalanobisOracle(A)], rule="learned")
    with pytest.raises(ArgumentError, match="contexts: wanted"):
        Panel([lambda x, p: []], rule="learned")([[0.0, 1.0]], [0.5, 0.2])
    assert panel.error_rates == {"0": 0.25}
    with pytest.raises(VerdictError, match="verdict: wanted the id"):
        panel.withdraw(1)
    with pytest.raises(ArgumentError, match="auditor: wanted a name"):
        MomentDistance().verdict([1.0], [0.0], 0.3, True, auditor="")
    with pytest.raises(ArgumentError, match="auditor: wanted a name"):
        LipschitzUCB(1).verdict([1.0], [0.0], 0.3, True, auditor=7)
