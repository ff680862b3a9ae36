"""Studies that were made by rules of version 1 replay by them: reasons, rounded lags and refusals over segments."""

import gzip
from fractions import Fraction as F
from pathlib import Path

import pytest
from sqlalchemy import delete

from evenhand.errors import ReplayError
from evenhand.quotas.under_quota import UnderQuota
from evenhand.studies import Study
from evenhand.studies.store.schema import SNAPSHOTS

OLDER = Path(__file__).parent / "older" / "rules-1.evenhand.gz"
NAMES = ("caps", "offers", "sets", "changes")
MORE = {"offers": {"available": ["a", "c"]}, "sets": {"segment": "x"}}


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "rules-1.evenhand"
    path.write_bytes(gzip.decompress(OLDER.read_bytes()))
    return path


def forget_snapshots(study):
    with study.store.writing() as connection:
        connection.execute(delete(SNAPSHOTS).where(SNAPSHOTS.c.sequence > 0))


@pytest.mark.parametrize("name", NAMES)
def test_a_study_keeps_the_rules_that_it_was_made_by(store, name):
    with Study.open(store, name) as study:
        forget_snapshots(study)
        finding = study.verify()
        assert finding.problems == ()
        assert finding.replayed == finding.entries
        study.tell(study.ask(**MORE.get(name, {})), 1.0)
        if name == "changes":
            study.change({"a": F(1, 3), "b": F(1, 5), "c": F(1, 5)})
        assert study.bare_policy.rules == 1
        assert study.verify().problems == ()


@pytest.mark.parametrize("name", NAMES)
def test_later_rules_decide_or_word_otherwise(store, name, monkeypatch):
    monkeypatch.setattr(UnderQuota, "_rules_of", classmethod(lambda cls, snapshot: 2))
    with Study.open(store, name) as study:
        forget_snapshots(study)
        with pytest.raises(ReplayError, match="the log says"):
            study.bare_policy  # noqa: B018, the policy follows the log
