"""What stands beside the log: a changed row is found by `verify`, named by an error, and stops one person at most."""

import numpy as np
import pytest
from sqlalchemy import text

import evenhand as eh
from evenhand.errors import ErasedError, EvenhandError, StoreError
from evenhand.studies import Ask, Study, Tell

SHARES = {"a": 0.2, "b": 0.3}
ROWS = [[0.1, 0.2], [0.3, 0.4]]


def run(study, statement, /, **values):
    with study.store.writing() as connection:
        assert connection.execute(text(statement), values).rowcount > 0


# ---------------------------------------------------------------------- people


@pytest.fixture
def people():
    """A study with contexts of Ann and Ben, and an open ticket of each."""
    pytest.importorskip("cryptography")
    study = Study.create(":memory:", eh.groups.LinearThompson({"a": "F", "b": "M"}, seed=1), name="ads")
    for n in range(6):
        study.tell(study.ask(np.array(ROWS) + n / 10, subject=("Ann", "Ben")[n % 2], key=f"visit {n}"), n % 2)
    study.ask(ROWS, subject="Ann"), study.ask(ROWS, subject="Ben")
    assert study.verify().ok
    return study


@pytest.mark.parametrize(
    "change",
    ["name = 'Bob'", "day = day + 1", "name = 'Ann', day = day + 9", "secret = 'zz'", "secret = 'ab'", "study = 2"],
)
def test_a_changed_row_of_a_subject_is_found(people, change):
    Study.create(people.store, eh.quotas.FairUCB(SHARES, seed=1), name="other")
    run(people, f"UPDATE subjects SET {change} WHERE name = 'Ben'")
    problems = people.verify().problems
    assert any("subject key" in problem and ("was changed" in problem or "damaged" in problem) for problem in problems)


@pytest.mark.parametrize("damage", ["UPDATE subjects SET secret = 'zz'", "DELETE FROM subjects"])
@pytest.mark.parametrize("fresh", [True, False])
def test_a_bad_row_of_one_person_stops_this_person_alone(people, damage, fresh):
    if fresh:  # an object that read the log before it goes on by itself
        Study.open(people.store).ask(ROWS, subject="Eve")
    run(people, f"{damage} WHERE name = 'Ben'")
    study = Study.open(people.store) if fresh else people
    asks = [Ask(given={"contexts": ROWS}, subject=name) for name in ("Ann", "Ben", None)]
    first, second, third = study.run(asks)
    assert not isinstance(first, EvenhandError)
    assert not isinstance(third, EvenhandError)
    if damage.startswith("UPDATE"):
        assert isinstance(second, StoreError)
        assert "its secret is damaged" in str(second)
    told, refused = study.run([Tell(ticket=number, given={"reward": 1.0}) for number in (7, 8)])
    assert told == "told"
    if fresh:
        assert isinstance(refused, ErasedError)
        assert "the contexts of ticket 8 cannot be read" in str(refused)
    assert Study.open(people.store).ask(ROWS, subject="Ann").id > 8
    assert not study.verify().ok
    assert study.erase("Ben").subjects == 1
    if damage.startswith("UPDATE"):
        assert study.log.record(8).status in ("forgotten", "told")


def test_a_damaged_decision_is_an_error_by_name():
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    study.tell(study.ask(), 0.5)
    for decision in ("{", "[]", '{"index": "x"}', '{"index": 10.5}'):
        run(study, "UPDATE events SET decision = :decision WHERE sequence = 1", decision=decision)
        with pytest.raises(EvenhandError, match=r"entry 1 cannot be read"):
            Study.open(study.store).statistics()
