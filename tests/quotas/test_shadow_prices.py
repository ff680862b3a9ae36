"""Prices in front of a learner's scores: the promise stays as sure, and who comes decides who is owed."""

from __future__ import annotations

import math
from fractions import Fraction as F
from html import unescape
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron

from evenhand.errors import ArgumentError, EvenhandError, SharesError
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import kernel
from evenhand.learners import UCB1, Adapter, LinUCB, Thompson, TsallisINF, from_river, from_sklearn
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, reason
from evenhand.promises.promise import Promise
from evenhand.quotas import DeadlineLearn
from evenhand.quotas.quota_policy import BY_RULE
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Study
from tests.cli.shell import answer
from tests.quotas.board import quietly
from tests.reference.quotas import kept, priced_rounds, settle

SHARES = {"a": 0, "b": F(3, 10), "c": F(1, 4)}
TOP = reason("test: the highest", "optimistic")


class Nothing(NamedTuple):
    nothing: Floats


@kernel
def choose_top(params, state, contexts, round, waiting):
    best = 0
    for arm in range(contexts.shape[0]):
        if contexts[arm, 0] > contexts[best, 0]:
            best = arm
    return best, TOP


@kernel
def rank_top(params, state, contexts, round, waiting, scores):
    for arm in range(contexts.shape[0]):
        scores[arm] = contexts[arm, 0]
    return TOP


@kernel
def learn_nothing(params, state, contexts, index, reward):
    pass


class Told(KernelPolicy):
    """Scores an arm by the one number that its context has."""

    _traits = LinUCB._traits.__class__(contextual=True, reward_range=(0.0, 1.0))
    _kernels = Kernels(choose_top, learn_nothing, rank=rank_top)

    def _parameters(self):
        return Nothing(np.zeros(1))

    def _memory(self):
        return Nothing(np.zeros(1))


def first(learner, contexts, arms=range(3)):
    return max(arms, key=lambda arm: contexts[arm, 0])


def unheard(learner, contexts, index, reward):
    pass


def told(learner, contexts, arms=range(3)):
    return contexts[[*arms], 0]


def elsewhere(**settings):
    return Adapter(
        object(), choose=first, update=unheard, contextual=True, **{"scores": told, "among": True} | settings
    )


def drawn(rounds, arms=3, seed=5):
    return np.random.default_rng(seed).random((rounds, arms, 1))


def play(policy, contexts):
    """Return the decisions; each is told 1 for the first arm and 0 for others."""
    taken = []
    for shown in contexts:
        taken.append(policy.ask(shown))
        policy.tell(taken[-1], float(taken[-1].index == 0))
    return taken


@pytest.mark.parametrize("learner", [Told, elsewhere], ids=["ours", "elsewhere"])
@pytest.mark.parametrize("slack", [0, 4])
@pytest.mark.parametrize("shares", [[0, F(3, 10), F(1, 4)], [F(1, 2), F(1, 4), F(1, 4)], [1, 0, 0]], ids=str)
def test_decides_as_its_twin(learner, shares, slack):
    contexts = drawn(150)
    policy = quietly(DeadlineLearn, learner(), shares, slack, priced=True)
    slow = priced_rounds(contexts[:, :, 0].tolist(), list(map(F, shares)), slack)
    for shown, (arm, prices) in zip(contexts, slow, strict=True):
        decision = policy.ask(shown)
        policy.tell(decision, 0.5)
        assert decision.index == arm
        assert list(policy.prices.values()) == pytest.approx(prices, abs=1e-12)


SMALL = [(F(1, 3), F(1, 3)), (F(1, 2), F(1, 2)), (F(2, 3), 0), (F(1, 4), F(1, 2)), (F(1, 5), F(1, 5))]


@pytest.mark.parametrize("slack", [0, 1])
@pytest.mark.parametrize("shares", SMALL, ids=str)
def test_keeps_the_promise_whatever_is_scored(shares, slack):
    policy = quietly(DeadlineLearn, elsewhere(), list(shares), slack, priced=True)
    for likes in product([0, 1], repeat=7):
        one, pulls = policy.fresh(), [0, 0]
        for t, like in enumerate(likes, 1):
            decision = one.ask([[float(like)], [1.0 - like]])
            pulls[decision.index] += 1
            assert kept(shares, slack, pulls, t)


def test_waits_for_whoever_costs_least():
    contexts = drawn(2_000) * np.array([[1.0], [0.7], [0.6]])
    free, priced = (DeadlineLearn(Told(), SHARES, 20, priced=so) for so in (False, True))
    found = {}
    for name, policy in (("free", free), ("priced", priced)):
        taken = play(policy, contexts)
        found[name] = sum(c[d.index, 0] for c, d in zip(contexts, taken, strict=True))
        found[name, "forced"] = sum(d.reason_code == "forced" for d in taken)
    owed = -np.tile(np.eye(3), (1, 2_000)), [-2_000 * share for share in SHARES.values()]
    one_each = kron(eye_array(2_000), np.ones((1, 3))), np.ones(2_000)
    best = -linprog(-contexts.ravel(), *owed, *one_each, bounds=(0, 1), method="highs").fun
    assert found["priced", "forced"] == 0 < found["free", "forced"]
    assert best - found["priced"] < (best - found["free"]) / 2


def test_says_that_a_price_decided():
    policy = DeadlineLearn(Told(), SHARES, 50, priced=True)
    shown = [[0.9], [0.6], [0.5]]
    reasons = [policy.ask(shown).reason for _ in range(60)]
    assert reasons[0] == "test: the highest"
    assert "the learner's choice with prices, which lead by what is owed" in reasons
    assert "owed its share" not in reasons
    assert policy.prices["b"] > 0.25
    assert "b is worth 0.3" in policy._repr_html_()


def test_saved_it_goes_on_where_it_stood():
    contexts = drawn(80)
    policy = DeadlineLearn(LinUCB(), SHARES, 3, priced=(0, 1), seed=1)
    play(policy, contexts[:20])
    for shown in contexts[20:40]:
        policy.ask(shown, available=["a", "c"])
    loaded, prices = from_bytes(to_bytes(policy)), policy.prices
    policy.probabilities(contexts[40])
    assert loaded.prices == prices == policy.prices
    assert loaded.priced == policy.priced == (0, 1)
    after = [[(d.arm, d.reason) for d in play(one, contexts[40:])] for one in (policy, loaded)]
    assert after[0] == after[1]
    assert loaded.prices == policy.prices


def test_a_study_replays_the_prices_and_reports_them(tmp_path):
    place = tmp_path / "study.db"
    with Study.create(place, DeadlineLearn(LinUCB(), SHARES, 3, priced=(0, 1), seed=1)) as study:
        for t, shown in enumerate(drawn(30)):
            study.tell(study.ask(shown, available=["a", "c"] if t > 20 else None), 0.5)
        assert study.verify().ok
        prices = study.policy.prices
    with Study.open(place) as again:
        assert again.policy.prices == prices
        dear = [note for note in again.policy.notes if note.endswith("because it is owed its share.")]
    assert max(prices.values()) > 0
    answer("report", place, "--out", tmp_path / "report.html")
    page = unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(dear) == sum(price > 0 for price in prices.values())
    assert all(note in page for note in (BY_RULE, *dear))


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("away", [False, True])
def test_compiled_it_decides_as_plain(away):
    contexts, found = drawn(60), []
    for machine_code in (False, True):
        policy = DeadlineLearn(Told(), SHARES, 2, priced=True)
        policy._begin(1)
        if away:
            policy._rank()
        if machine_code:
            policy.engine.compile()
        offers = list(on_offer(60)) if away else [None] * 60
        asked = zip(contexts, offers, strict=True)
        found.append([policy.ask(c, available=None if o is None else ["abc"[i] for i in o]) for c, o in asked])
        found[-1] = [(d.arm, d.reason) for d in found[-1]], policy.prices
    assert found[0] == found[1]


def test_prices_stay_while_the_promise_changes():
    policy = DeadlineLearn(LinUCB(), SHARES, 5, priced=(0, 1))
    shown = [[0.9, 1.0], [0.2, 0.5], [0.1, 0.0]]
    play(policy, [shown] * 30)
    before = policy.prices
    policy.add("d", 0.2)
    assert policy.prices == before | {"d": 0.0}
    play(policy, [[*shown, [0.0, 0.3]]] * 30)
    assert policy.prices["d"] > 0
    before = policy.prices
    policy.retire("b")
    policy.change({"a": 0, "c": 0.4, "d": 0})
    assert policy.prices == before | {"b": 0.0, "d": 0.0}
    assert policy.prices["c"] > 0
    with pytest.raises(SharesError, match=r"priced: .*shares of single arms"):
        policy.change(Promise({"a": 0, "c": 0.4, "d": 0}, caps={"a": 0.5}, offers="all"))


def on_offer(rounds, keep=()):
    """Yield which arms are on offer: b is away at first, and later each now and then, but for those that stay."""
    for t, here in enumerate(np.random.default_rng(8).random((rounds, 3)) < 0.7):
        here[[*keep]] = True
        here[1] &= t >= rounds // 3
        yield np.flatnonzero(here) if here.any() else np.arange(3)


LEARNERS = {"ours": Told, "asked among some": elsewhere, "asked among all": lambda: elsewhere(among=False)}


@pytest.mark.parametrize("offers", ["any", ["a"]], ids=str)
def test_only_arms_on_offer_are_priced(offers):
    """The prices follow from what was on offer and played; so do the plays that no deadline forced, and why."""
    rounds, shares = 240, list(SHARES.values())
    found = {}
    for name, learner in LEARNERS.items():
        policy = DeadlineLearn(learner(), Promise(SHARES, offers=offers), priced=True)
        prices, counts, said = [0.0] * 3, [0] * 3, []
        for shown, here in zip(drawn(rounds), on_offer(rounds, [0] if offers == ["a"] else []), strict=True):
            best = max(here, key=lambda i: shown[i, 0] + prices[i])
            decision = policy.ask(shown, available=["abc"[i] for i in here])
            own = here[np.argmax(shown[here, 0])] == decision.index
            settle(prices, counts, shares, decision.index, here)
            assert decision.reason_code == "forced" or decision.index == best
            assert decision.reason_code == "forced" or ("with prices" in decision.reason) != own
            assert list(policy.prices.values()) == pytest.approx(prices, abs=1e-12)
            said.append((decision.index, decision.reason_code == "forced", tuple(policy.prices.values())))
        assert counts[1] < 0.6 * rounds
        assert prices[1] > 0
        assert 0 < sum(forced for _, forced, _ in said) < rounds / 3
        found[name] = said
    assert found["ours"] == found["asked among some"] == found["asked among all"]


def scored():
    from river import bandit
    from sklearn.linear_model import SGDRegressor

    yield from_sklearn(SGDRegressor(), seed=1), 3
    yield from_river(bandit.LinUCBDisjoint(seed=1), arms=3), 1
    yield from_river(bandit.UCB(delta=1.0, burn_in=2, seed=1), arms=3), 0
    yield UCB1(), 0
    yield Thompson(), 0


@pytest.mark.parametrize("place", range(5))
def test_learners_with_scores_are_priced(place):
    learner, rows = list(scored())[place]
    policy = DeadlineLearn(learner, SHARES, 8, priced=True, seed=2)
    rng = np.random.default_rng(3)
    for _ in range(60):
        decision = policy.ask(*([rng.random((rows, 2))] if rows > 1 else [rng.random((1, 2))] if rows else []))
        policy.tell(decision, 1.0 if decision.arm == "a" else 0.2)
    assert policy.prices["a"] == 0
    assert from_bytes(to_bytes(policy)).prices == policy.prices
    assert max(policy.prices.values()) > 0


def of_thompson():
    from river import bandit, proba

    return from_river(bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=1), arms=3)


@pytest.mark.parametrize(
    ("learner", "more", "said"),
    [
        (TsallisINF, {}, r"priced: .*a score for each arm.*TsallisINF"),
        (of_thompson, {}, r"priced: .*a score for each arm.*ThompsonSampling"),
        (lambda: elsewhere(scores=None), {}, r"priced: .*a score for each arm.*Adapter\(..., scores=\)"),
        (LinUCB, {}, r"priced: .*lowest and the highest mean reward.*-inf to inf.*priced=\(low, high\)"),
        (LinUCB, {"priced": (0, math.inf)}, r"priced: .*lowest and the highest mean reward.*0 to inf.*priced=\(0, 1\)"),
        (LinUCB, {"priced": (1, 0)}, r"priced: .*lowest and the highest mean reward.*such as priced=\(0, 1\)"),
        (LinUCB, {"priced": "yes"}, r"priced: expected True, False, or .*'yes'; write priced=\(low, high\), such as"),
        (UCB1, {"priced": (0, 2)}, r"priced: .*rewards that the learner takes, 0 to 1"),
        (UCB1, {"lottery": 0.5}, r"priced: .*lottery="),
        (UCB1, {"caps": {"a": 0.5}}, r"priced: .*shares of single arms"),
        (UCB1, {"windows": {"a": 9}}, r"priced: .*shares of single arms"),
        (UCB1, {"plays": 2}, r"priced: .*one play a round"),
        (UCB1, {"shares": {("a", "b"): 0.5, "c": 0}}, r"priced: .*shares of single arms"),
    ],
)
def test_what_cannot_be_priced_is_refused_by_name(learner, more, said):
    settings = {"shares": SHARES, "priced": True} | more
    with pytest.raises(EvenhandError, match=said):
        DeadlineLearn(learner(), **settings)


def test_the_range_is_that_of_means():
    """A reward may lie outside it, and the prices are as large as it is."""
    policies = [DeadlineLearn(Told(), SHARES, 10**6, priced=so) for so in (True, (0.0, 0.1))]
    for policy in policies:
        for _ in range(30):
            policy.tell(policy.ask([[9.0], [0.0], [0.0]]), 1.0)
    wide, narrow = (np.array(list(policy.prices.values())) for policy in policies)
    assert narrow == pytest.approx(wide / 10)
    assert narrow.max() > 0


@pytest.mark.parametrize("said", [[0.1, 0.2], [0.1, math.nan, 0.2], "abc"])
def test_scores_that_are_no_numbers_are_refused(said):
    policy = DeadlineLearn(elsewhere(scores=lambda learner, contexts, arms: said), SHARES, priced=True)
    with pytest.raises(ArgumentError, match=r"learner\.scores\(\): .*3 numbers"):
        policy.ask(drawn(1)[0])
