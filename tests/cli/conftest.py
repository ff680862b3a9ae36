"""Studies in files, made by the shell."""

import json
from pathlib import Path

import numpy as np
import pytest

from evenhand.studies import Ask, Study, Tell
from tests.cli.shell import NEW, answer
from tests.descriptions.test_policies import CSR, PROBLEM


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Each test types its commands in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def store(tmp_path):
    """A store with one study, FairUCB over the arms a and b."""
    answer("new", "ads.evenhand", *NEW, "--seed", "1")
    return tmp_path / "ads.evenhand"


MODEL = """network unknown {}
variable sex { type discrete [ 2 ] { f, m }; }
variable dose { type discrete [ 2 ] { low, high }; }
variable cured { type discrete [ 2 ] { 0, 1 }; }
probability ( sex ) { table 0.5, 0.5; }
probability ( dose | sex ) { (f) 0.8, 0.2; (m) 0.4, 0.6; }
probability ( cured | dose ) { (low) 0.7, 0.3; (high) 0.1, 0.9; }
"""


@pytest.fixture
def trial():
    """A store with a search whose model is a BIF file."""
    Path("model.bif").write_text(MODEL)
    problem = PROBLEM | {"model": "model.bif", "values": {"0": 0, "1": 1}}
    Path("search.json").write_text(json.dumps(CSR | {"problem": problem}))
    answer("new", "trial.evenhand", "--spec", "search.json")
    return "trial.evenhand"


@pytest.fixture
def played(store):
    """The study after 60 decisions, the last two still open."""
    with Study.open(store) as study:
        rng = np.random.default_rng(3)
        for _ in range(3):
            decisions = study.run([Ask()] * 20)
            study.run([Tell(ticket=d.id, given={"reward": float(rng.random() < 0.5)}) for d in decisions[:-1]])
        study.forget(20)
    return store
