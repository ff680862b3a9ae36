"""Code that changes under a study: what was decided stays, what cannot be replayed is said, and the study goes on."""

import importlib.util
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select

import evenhand as eh
from evenhand.errors import ReplayError
from evenhand.studies import Store, Study
from evenhand.studies.log.versions import _evenhand, policy_version
from evenhand.studies.store.schema import SNAPSHOTS
from tests.studies.conftest import Scripted


class Turns(Scripted):
    """Plays the arms in turn; its second version plays them in the other direction."""

    version = 1

    def ask(self):
        return super().ask((1 if self.version == 1 else -1) * (self.round + 1) % 3)


@pytest.fixture
def upgrade(scratch_registry, monkeypatch):
    """Replace the policy's code by its second version."""
    scratch_registry(Turns)
    for module in ("log.replay", "creation"):
        monkeypatch.setattr(f"evenhand.studies.{module}.policy_version", lambda policy: f"version {Turns.version}")
    monkeypatch.setattr(Turns, "version", 1)
    return lambda: monkeypatch.setattr(Turns, "version", 2)


def grown(place, rounds=5):
    study = Study.create(place, Turns([0, 0, 0]), name="turns")
    for _ in range(rounds):
        study.tell(study.ask(), 1.0)
    return study


def test_closing_keeps_the_state_so_that_new_code_goes_on_and_says_what_it_cannot_replay(shared, upgrade):
    grown(shared).close()
    with Study.open(shared) as looking:
        looking.verify()
    with Store.at(shared).reading() as connection:  # who only looks writes nothing
        assert connection.execute(select(func.count()).select_from(SNAPSHOTS)).scalar() == 2
    upgrade()
    later = Study.open(shared)
    assert later.ask().index == -6 % 3
    finding = later.verify()
    assert finding.ok
    assert finding.versions == ("version 1", "version 2")
    assert (finding.entries, finding.replayed, finding.decisions) == (11, 1, 6)
    assert "entries from 1 on were written by version version 1" in finding.notes[0]
    assert "version version 2 began after entry 10" in finding.notes[1]


def test_without_a_snapshot_new_code_that_decides_otherwise_is_told_what_to_do(shared, upgrade):
    study = grown(shared)
    upgrade()
    with pytest.raises(ReplayError, match=r"take a snapshot with version version 1 first: `evenhand snapshot`"):
        Study.open(study.store).ask()


def test_snapshots_of_each_version_s_beginning_stay(shared, upgrade, monkeypatch):
    monkeypatch.setattr("evenhand.studies.log.replay.ENTRIES", 4)
    study = grown(shared, rounds=10)
    study.state.snapshot()
    upgrade()
    later = Study.open(study.store)
    for _ in range(10):
        later.tell(later.ask(), 1.0)
    assert later.verify().ok

    taken = select(SNAPSHOTS.c.version, SNAPSHOTS.c.sequence).order_by(SNAPSHOTS.c.sequence.desc())
    with later.store.reading() as connection:
        kept = connection.execute(taken).all()
    assert dict(map(tuple, kept)) == {"version 1": 0, "version 2": 20}
    assert len(kept) <= 2 + 2 + 1


def test_the_version_covers_what_a_policy_holds(tmp_path, monkeypatch, scratch_registry):
    file = tmp_path / "elsewhere.py"
    version = {}
    for text in ("1", "2", "1"):
        file.write_text(f"class Model:\n    answer = {text}\n")
        spec = importlib.util.spec_from_file_location("elsewhere", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "elsewhere", module)
        spec.loader.exec_module(module)
        scratch_registry(module.Model)
        policy = eh.quotas.FairUCB([0.2, 0.3], seed=1)
        plain = policy_version(policy)
        policy.model = module.Model()
        assert version.setdefault(text, policy_version(policy)) == policy_version(policy) != plain
    assert len(set(version.values())) == 2


def test_the_version_covers_evenhand_s_own_deciding_code(monkeypatch):
    policy = eh.quotas.FairUCB([0.2, 0.3], seed=1)
    before = policy_version(policy)
    _evenhand.cache_clear()
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: read(file) + (b"#" if file.name == "indices.py" else b""))
    after = policy_version(policy)
    _evenhand.cache_clear()
    assert before.split("+")[0] == after.split("+")[0] == eh.__version__
    assert before != after
