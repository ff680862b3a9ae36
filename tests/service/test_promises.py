"""Every kind of promise over HTTP."""

import random

import pytest

import evenhand as eh
from tests.promises.test_consumers import KINDS, offers_of


@pytest.mark.parametrize("lottery", [None, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_service_makes_and_states_it(kind, lottery, served):
    promise = eh.Promise(**KINDS[kind])
    described = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "seed": 1, "promise": promise.to_dict()}
    served.create("kept", described | ({} if lottery is None else {"lottery": lottery}))
    rng = random.Random(3)
    for _ in range(10):
        decision = served.ask("kept", json={"available": list(offers_of(promise, rng))}).json()
        reward = [1.0, 0.0] if promise.plays > 1 else 1.0
        assert served.tell({"ticket": decision["ticket"], "reward": reward}, "kept").status_code == 200
    assert served.read("/studies/kept/audit")["promise_kept"]
    state = served.read("/studies/kept")["promise"]
    assert state["kept"]
    windows = [tuple(one.get("arms") or [one["label"]]) for one in state.get("windows") or ()]
    assert windows == [members for members, _ in promise.windows]
    assert len(state.get("caps") or ()) == sum(clause.kind == "cap" for clause in promise.clauses)
    assert served.send("read", "GET", "/studies/kept/series").status_code == 200
