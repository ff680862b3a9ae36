"""The service as a deployment of Ray Serve: replicas are workers, and those that are killed are replaced."""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

import evenhand as eh
from evenhand.studies import Store, Study
from evenhand.studies.keys import add_key

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(600)]


def test_replicas_on_ray_that_are_killed_lose_nothing_and_are_replaced(tmp_path):
    if importlib.util.find_spec("ray") is None:
        pytest.skip('Ray Serve is not installed: pip install "evenhand[ray]"')
    place = tmp_path / "ads.evenhand"
    policy = eh.quotas.DeadlineLearn(eh.learners.UCB1(), {"a": 0.2, "b": 0.3}, tolerance=10, seed=1)
    Study.create(place, policy, name="ads", workers=6).close()
    store = Store.at(place)
    key = add_key(store, "both")
    store.close()
    environment = {**os.environ, "ADS": str(place)}
    command = [sys.executable, "-m", "tests.service.ray_replicas", key]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert len(set(said["acknowledged"])) == len(said["acknowledged"]) == 200
    assert len(set(said["killed"])) == 4
    study = Study.open(place, "ads")
    frame = study.frame()
    assert set(said["acknowledged"]) <= set(frame["ticket"])
    assert frame["worker"].nunique() > 1
    found = study.verify()
    assert found.problems == ()
    assert min(found.room.values()) > 0
    study.close()
