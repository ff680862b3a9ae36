"""Keys, roles and monitors stand outside the logs: their changes are in a journal, which verification follows."""

import pytest
from sqlalchemy import text

import evenhand as eh
from evenhand.studies import Study
from evenhand.studies.keys import add_key, list_keys, revoke_key
from evenhand.studies.monitoring import monitors

POLICY = eh.quotas.FairUCB({"a": 0.2, "b": 0.3}, seed=1)


def run(study, statement):
    with study.store.writing() as connection:
        return connection.execute(text(statement)).rowcount


@pytest.fixture
def study(place):
    study = Study.create(place, POLICY, name="ads")
    add_key(study.store, "read", "auditor", actor="boss")
    add_key(study.store, "decide", studies=["ads"], expires="90d")
    watched = [monitors.add(study, "reward", threshold=0.5, window=2, actor="boss") for _ in range(2)]
    monitors.remove(study, watched[0].id)
    revoke_key(study.store, list_keys(study.store)[0].id)
    study.tell(study.ask(), 1.0)
    return study


def test_every_change_is_in_the_journal_with_who_made_it(study):
    found = study.verify()
    assert found.ok
    assert found.journal == found.as_dict()["journal"] == 7
    with study.store.reading() as connection:
        rows = connection.execute(text("SELECT change, actor FROM journal ORDER BY sequence")).all()
    assert rows == [
        ("begin", None), ("add key", "boss"), ("add key", None), ("add monitor", "boss"), ("add monitor", "boss"),
        ("remove monitor", None), ("revoke key", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE keys SET role = 'admin' WHERE role = 'decide'",
        "UPDATE keys SET revoked_at = NULL WHERE role = 'read'",
        "UPDATE keys SET digest = 'f' WHERE role = 'decide'",
        "UPDATE keys SET studies = NULL",
        "UPDATE keys SET expires_at = expires_at + 1",
        "INSERT INTO keys VALUES ('mine', 'admin', 'd', '', 1, NULL, NULL, NULL)",
        "UPDATE monitors SET threshold = 0.1",
        "UPDATE monitors SET webhook = 'http://elsewhere'",
        "UPDATE monitors SET removed_at = 1",
        "DELETE FROM monitors WHERE removed_at IS NOT NULL",
    ],
)
def test_a_change_that_is_not_in_the_journal_is_found(study, change):
    assert run(study, change) > 0
    found = study.verify()
    assert found.problems
    assert all(problem.endswith("and the journal of keys and monitors says otherwise") for problem in found.problems)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE journal SET given = '{}' WHERE sequence = 2",
        "UPDATE journal SET actor = 'me' WHERE sequence = 3",
        "UPDATE journal SET at = at + 1 WHERE sequence = 7",
        "DELETE FROM journal WHERE sequence = 4",
        "DELETE FROM journal WHERE sequence = 1",
    ],
)
def test_a_journal_that_was_changed_is_found(study, change):
    assert run(study, change) == 1
    (problem,) = study.verify().problems
    assert "is missing, or was changed after it was written" in problem


def test_an_end_that_was_cut_off_is_found_by_what_it_led_to(study):
    assert run(study, "DELETE FROM journal WHERE sequence = 7") == 1
    (problem,) = study.verify().problems
    assert problem.startswith("key ")
