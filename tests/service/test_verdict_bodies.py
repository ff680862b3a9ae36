"""Contexts, rewards and verdicts on pairs of individuals over HTTP: what cannot be is refused by name."""

import pytest

from evenhand.studies import Store
from tests.service.conftest import Served

PEOPLE = [[1.0, 0.0], [0.4, 0.0], [0.0, 0.0]]
ALIKE = {
    "policy": "similarity/lipschitz-ucb",
    "theta": [1.0, 0.0],
    "metric": {"part": "similarity/known-distance", "A": [[0.3, 0.0]]},
    "seed": 1,
}


@pytest.fixture(scope="module")
def alike():
    served = Served(Store.at(":memory:", create=True))
    served.create("alike", ALIKE)
    while (decision := served.ask("alike", json={"contexts": PEOPLE}).json())["index"] < 0:
        pass
    served.open = decision["ticket"]
    yield served
    served.stop()


@pytest.mark.parametrize(
    ("told", "name"),
    [
        *(({"reward": value}, "RewardError") for value in ("1.0", 1e300, [1.0, 1.0], ["1.0"], [])),
        *(({"reward": value}, "ArgumentError") for value in (True, {"a": 1}, [True])),
        *(({"violations": value}, "VerdictError") for value in ("01", 3, [0, 1], [[0]], [[0, 1, 2]], [[0, 3]])),
        *(({"violations": value}, "VerdictError") for value in (True, [[0, "1"]], [[0, 1.0]], [[1, 1]], [[-1, 0]])),
        *(({"violations": value}, "ArgumentError") for value in ({"0": 1}, [[0, True]], [[0, None]])),
        *(({"acceptable": value}, "ArgumentError") for value in (True, {"0": 1})),
        *(({"acceptable": value}, "VerdictError") for value in ("01", [[0, 3]], [[0, 1.0]])),
        ({"violations": [[0, 1]], "acceptable": [[1, 0]]}, "VerdictError"),
    ],
    ids=str,
)
def test_reports_are_refused_and_change_nothing(alike, told, name):
    before = alike.read("/studies/alike")
    answer = alike.tell({"ticket": alike.open, "reward": 1.0, **told}, "alike")
    assert (answer.status_code, answer.json()["error"]["name"]) == (422, name), answer.text
    assert next(iter(told)) in answer.json()["error"]["message"] or len(told) > 1
    assert alike.read("/studies/alike") == before


def test_a_number_beyond_floating_point_is_refused(alike):
    for body in ('{"contexts": [[1e999, 0.0]]}', '{"contexts": [[' + "9" * 400 + ", 0.0]]}"):
        answer = alike.ask("alike", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422), answer.text
