"""The strategy in LiteLLM's router, with mocked answers and no network: every model has its floor at every round."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.client import AsyncClient, Client
from evenhand.errors import ArgumentError
from tests.waiting import until, until_async

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:::(litellm|pydantic|aiohttp)")]

BIG, SMALL = "openai/gpt-4o", "openai/gpt-4o-mini"
SHARES = {BIG: 0.3, SMALL: 0.2}
ASKED = [{"role": "user", "content": "How are you?"}]
FAILING = "litellm.RateLimitError"


@pytest.fixture
def routed(monkeypatch):
    """Start routers of deployments, given as (model, mocked answer); `routed.module` is the module under test."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    from evenhand.client import litellm as module

    made = []

    def start(study, *deployments, arm=None, reward=None, **settings):
        models = [
            {"model_name": "chat", "litellm_params": {"model": model, "api_key": "x", "mock_response": answer}}
            for model, answer in deployments or [(BIG, "good"), (SMALL, "good")]
        ]
        models += [{"model_name": "other", "litellm_params": models[0]["litellm_params"]}]
        router = litellm.Router(model_list=models, num_retries=0, **settings)
        given = {name: value for name, value in {"arm": arm, "reward": reward}.items() if value is not None}
        made.append(module.EvenhandRouting(router, {"chat": study}, **given))
        return router

    start.module = module
    yield start
    for routing in made:
        routing.detach()


def floors(seed=1):
    return eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, seed=seed)


def model_of(response):
    return f"openai/{response.model}"


def settle(study, told):
    """Wait until so many outcomes are told: LiteLLM reports them in the background."""
    until(lambda: [one.status for one in study.latest(told)] == ["told"] * told)


def owed(models, shares=SHARES):
    """By how many requests some model was ever behind its floor."""
    return max(
        int(share * t + 1e-9) - models[:t].count(model)
        for t in range(1, len(models) + 1)
        for model, share in shares.items()
    )


def test_every_model_has_its_floor_at_every_round_and_the_better_one_the_rest(routed):
    study = eh.Study.create(":memory:", floors(), name="chat")
    models = []
    router = routed(study, reward=lambda outcome: float(outcome.arm == BIG))
    for t in range(60):
        models.append(model_of(router.completion("chat", ASKED)))
        settle(study, t + 1)
    assert owed(models) <= 0
    assert models.count(BIG) > 36
    assert study.verify().ok


def test_async(routed):
    study = eh.Study.create(":memory:", floors(), name="chat")
    router = routed(study, reward=lambda outcome: float(outcome.arm == BIG))

    async def talk():
        answers = [await router.acompletion("chat", ASKED) for _ in range(40)]
        together = await asyncio.gather(*(router.acompletion("chat", ASKED) for _ in range(20)))
        stream = await router.acompletion("chat", ASKED, stream=True)
        assert [part async for part in stream]
        await until_async(lambda: study.statistics().told == 61)
        return [model_of(one) for one in answers], len(together)

    models, _ = asyncio.run(talk())
    assert owed(models) <= 0
    finding = study.verify()
    assert (finding.ok, finding.decisions, finding.told) == (True, 61, 61)


def test_failures_are_rewarded_by_zero_and_deployments_that_cool_down_are_not_on_offer(routed):
    import litellm

    study = eh.Study.create(":memory:", floors(), name="chat")
    router = routed(study, (BIG, "good"), (SMALL, FAILING), allowed_fails=0, cooldown_time=600)
    models = []
    for _ in range(12):
        try:
            models.append(model_of(router.completion("chat", ASKED)))
        except litellm.RateLimitError:
            models.append(SMALL)
    settle(study, 12)
    assert models.count(SMALL) == 1
    record = next(one for one in study.latest(12) if one.decision["arm"] == SMALL)
    assert record.told["reward"] == 0.0
    after = [one for one in study.latest(12) if one.ticket > record.ticket]
    assert after
    assert all(one.given["available"] == [BIG] for one in after)
    assert study.verify().ok


def test_a_deployment_that_cools_down_is_not_on_offer_async(routed):
    import litellm

    study = eh.Study.create(":memory:", floors(), name="chat")
    router = routed(study, (BIG, "good"), (SMALL, FAILING), allowed_fails=0, cooldown_time=600)

    async def talk():
        failed = 0
        for _ in range(8):
            try:
                await router.acompletion("chat", ASKED)
            except litellm.RateLimitError:
                failed += 1
            await until_async(lambda: study.latest(1)[0].status == "told")
        return failed

    assert asyncio.run(talk()) == 1
    assert {str(one.given.get("available")) for one in study.latest(5)} == {f"['{BIG}']"}


def test_where_nothing_is_on_offer_litellm_says_so_and_nothing_is_decided(routed):
    import litellm

    study = eh.Study.create(":memory:", floors(), name="chat")
    router = routed(study, (BIG, FAILING), (SMALL, FAILING), allowed_fails=0, cooldown_time=600)
    for _ in range(2):
        with pytest.raises(litellm.RateLimitError):
            router.completion("chat", ASKED)
    with pytest.raises(ValueError, match="No deployments available"):
        router.completion("chat", ASKED)
    assert len(study.latest(10)) == 2


def test_attempts_that_the_router_repeats_are_rounds(routed):
    study = eh.Study.create(":memory:", floors(), name="chat")
    router = routed(study, (BIG, "good"), (SMALL, FAILING), retry_after=0, allowed_fails=100)
    for _ in range(6):
        router.completion("chat", ASKED, num_retries=5)
    settle(study, 6)
    rewards = {one.decision["arm"]: one.told["reward"] for one in study.latest(100) if one.told}
    assert rewards == {BIG: 1.0, SMALL: 0.0}


def test_rewards_of_latency_and_cost_and_those_that_come_later(routed):
    seen = []

    def reward(outcome):
        seen.append(outcome)
        return None if outcome.arm == SMALL else max(0.0, 1.0 - outcome.seconds / 60 - outcome.cost)

    study = eh.Study.create(":memory:", floors(), name="chat")
    router = routed(study, reward=reward)
    for _ in range(10):
        router.completion("chat", ASKED)
    until(lambda: len(seen) == 10)
    assert all(one.ok and one.cost > 0 and one.seconds >= 0 and one.response.choices for one in seen)
    later = [one for one in seen if one.arm == SMALL]
    assert {study.tell(one.decision, 0.5) for one in later} == {"told"}
    settle(study, 10)


def test_a_study_of_a_service(routed, served):
    policy = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "shares": SHARES, "seed": 1}
    with Client(served.url, key=served.key) as client:
        study = client.create("chat", policy)
        router = routed(study)
        models = [model_of(router.completion("chat", ASKED)) for _ in range(12)]
        until(lambda: study.state()["told"] == 12)
        assert owed(models) <= 0
        assert study.state()["told"] == 12
        assert study.verify()["ok"]


def test_deployments_of_one_arm_take_turns_and_other_groups_are_as_before(routed):
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"big": 0.3, "small": 0.2}, seed=1)
    router = routed(
        policy, (BIG, "one"), (BIG, "two"), (SMALL, "three"),
        arm=lambda one: "big" if one["litellm_params"]["model"] == BIG else "small",
    )  # fmt: skip
    said = [router.completion("chat", ASKED).choices[0].message.content for _ in range(20)]
    turns = [word for word in said if word != "three"]
    assert turns == ["one", "two"] * (len(turns) // 2) + ["one"] * (len(turns) % 2)
    before = policy.ask().round
    assert router.completion("other", ASKED).choices[0].message.content == "one"
    assert policy.ask().round == before + 1


def test_requests_that_share_their_metadata_have_tickets_of_their_own(routed):
    study = eh.Study.create(":memory:", floors(), name="chat")
    router, shared = routed(study), {"team": "blue"}
    for _ in range(6):
        router.completion("chat", ASKED, metadata=shared)
    assert "evenhand" not in shared
    settle(study, 6)


def test_a_reward_that_is_refused_is_logged_and_the_answer_returned(routed, caplog):
    policy = floors()
    router = routed(policy, reward=lambda outcome: 7.0)
    with caplog.at_level(logging.WARNING, "evenhand.client.litellm"):
        assert router.completion("chat", ASKED).choices
        until(lambda: caplog.records)
    assert "scale rewards" in caplog.text


def test_what_cannot_be_routed_is_refused(routed):
    import litellm

    make = routed.module.EvenhandRouting
    models = [{"model_name": "chat", "litellm_params": {"model": one, "api_key": "x"}} for one in (BIG, SMALL)]
    router = litellm.Router(model_list=models)
    with pytest.raises(ArgumentError, match="groups of the router"):
        make(router, {"nothing": floors()})
    with pytest.raises(ArgumentError, match=r"openai/gpt-4o.*give arm="):
        make(router, {"chat": eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.2})})
    with pytest.raises(ArgumentError, match="do not need await"):
        make(router, {"chat": AsyncClient("http://x", key="k").study("chat")})
    with pytest.raises(ArgumentError, match="policies, or studies"):
        make(router, {"chat": "chat"})
    assert "get_available_deployment" not in vars(router)


def test_a_study_with_other_arms_is_refused_by_name_and_its_ticket_is_closed(routed, served):
    with Client(served.url, key=served.key) as client:
        router = routed(client.study("ads"))
        with pytest.raises(ArgumentError, match=r"one of .*gpt-4o.*give arm="):
            router.completion("chat", ASKED)
        assert client.study("ads").record(1)["status"] == "forgotten"


def test_the_example_of_the_documentation_runs(monkeypatch):
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    text = (Path(__file__).parents[2] / "docs" / "clients.md").read_text()
    (example,) = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "EvenhandRouting" in code]
    names = {}
    exec(example, names)
    assert names["answer"].choices[0].message.content == "Hello!"
    names["routing"].detach()


def test_a_missing_litellm_says_how_to_install_it():
    code = "import sys; sys.modules['litellm'] = None; import evenhand.client.litellm"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'evenhand[litellm]'" in failed.stderr
