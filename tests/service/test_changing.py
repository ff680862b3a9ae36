"""Slates, arms on offer and promises that change, over HTTP."""

from evenhand.studies import Study

SLATES = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "plays": 2, "seed": 1}
SHARES = {"a": 0.5, "b": 0.5, "c": 0.25, "d": 0.1}
PACE = {"policy": "quotas/deadline-learn", "learner": "learners/ucb1", "shares": [0.5, "1/4", 0.1], "seed": 1}


def test_a_slate_is_asked_and_told(served):
    served.create("places", SLATES | {"shares": SHARES})
    first = served.ask("places", json={"available": ["a", "c", "d"]}).json()
    assert set(first["arms"]) <= {"a", "c", "d"}
    assert (first["arm"], len(first["indexes"])) == (first["arms"][0], 2)
    by_arm = {arm: float(arm == "a") for arm in first["arms"]}
    listed = [by_arm[arm] for arm in first["arms"]]
    told = [served.tell({"ticket": first["ticket"], "reward": reward}, "places") for reward in (by_arm, listed)]
    assert [answer.json()["status"] for answer in told] == ["told", "already told"]
    late = served.ask("places").json()
    for bad in (1.0, [1.0], {"a": 1.0}, {"a": [1.0]}):
        refused = served.tell({"ticket": late["ticket"], "reward": bad}, "places")
        assert refused.status_code == 422, refused.text
    row = served.read("/studies/places/decisions")["decisions"][-1]
    assert (row["arms"], row["reward"]) == (first["arms"], listed)
    for arm in first["arms"]:
        assert 1 in [one["id"] for one in served.read(f"/studies/places/decisions?arm={arm}")["decisions"]]
    assert served.read("/studies/places")["promise"]["plays"] == 2
    assert served.read("/studies/places/audit")["ok"]


def test_a_promise_changes_and_the_page_can_tell(served):
    served.create("pace", PACE)
    for _ in range(8):
        served.tell({"ticket": served.ask("pace").json()["ticket"], "reward": 1}, "pace")
    send = served.send
    added = send("decide", "POST", "/studies/pace/add", json={"arm": "new", "share": "1/10"}).json()
    assert added == {"status": "added", "arm": "new", "begins_after": 0}
    assert send("decide", "POST", "/studies/pace/retire", json={"arm": 1}).json() == {"status": "retired", "arm": 1}
    answer = send("decide", "POST", "/studies/pace/change", json={"shares": {"0": 0.1, "2": 0.2, "new": "1/2"}})
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "changed"
    served.ask("pace", json={"available": [0, "new"]})
    state = served.read("/studies/pace")
    promise = state["promise"]
    assert promise["retired"] == [1]
    kinds = [(row["round"], row["kind"]) for row in promise["history"]]
    assert kinds == [(1, None), (9, "add"), (9, "retire"), (9, "change")]
    shares = {row["label"]: row["share"] for row in promise["history"][-1]["shares"]}
    assert shares == {0: 0.1, 2: 0.2, "new": 0.5}
    assert [arm["label"] for arm in state["arms"]] == [0, 1, 2, "new"]
    assert served.read("/studies/pace/series")["labels"] == [0, 1, 2, "new"]
    actors = [event.actor for event in Study.open(served.store, "pace").log.events() if event.ticket is None]
    assert len(actors) == 3
    assert all(actors)
    audit = served.read("/studies/pace/audit")
    assert (audit["ok"], audit["promise_kept"]) == (True, True)


def test_windows_caps_and_sets_come_over_http(served):
    served.create("regions", {**PACE, "sets": [{"arms": [0, 1], "share": 0.5}], "shares": {"0": 0, "1": 0.1, "2": 0.1}})
    windows = {"policy": PACE["policy"], "learner": PACE["learner"], "promise": {"windows": {"a": 4, "b": [2, 9]}}}
    served.create("rows", windows)
    served.create("capped", {**PACE, "caps": {"0": 0.6}})
    served.ask("regions"), served.ask("rows"), served.ask("capped")
    regions = served.read("/studies/regions")["promise"]
    assert regions["sets"] == [{"arms": ["0", "1"], "share": 0.5}], "the keys name the arms, three in all"
    rows = served.read("/studies/rows")["promise"]
    assert (rows["when"], rows["kept"], rows["tolerance"]) == ("at every round", True, None)
    assert rows["windows"][1] == {"label": "b", "plays": 2, "rounds": 9}
    assert served.read("/studies/capped")["promise"]["caps"] == [{"label": 0, "cap": 0.6}]
    listed = {row["name"]: row["promise"] for row in served.read("/studies")["studies"]}
    assert listed["rows"] == "kept"


def test_slates_and_arms_on_offer_come_in_batches(served):
    served.create("places", SLATES | {"shares": SHARES})
    rows = [{"available": ["a", "c", "d"], "count": 2}, {}, {"available": ["b", "c"]}]
    asked = served.ask("places", json={"batch": rows}).json()["decisions"]
    slates = [one["arms"] for one in asked]
    assert len(slates) == 4
    assert set(slates[0]) | set(slates[1]) <= {"a", "c", "d"}
    assert set(slates[3]) == {"b", "c"}
    assert [len(one["indexes"]) for one in asked] == [2] * 4
    rewards = [[1.0, 0.0], [0.0, 0.5], [1.0], [1.0, 1.0]]
    rows = [{"ticket": one["ticket"], "reward": reward} for one, reward in zip(asked, rewards, strict=True)]
    told = served.tell({"batch": rows}, "places").json()["results"]
    assert [one.get("status") for one in told] == ["told", "told", None, "told"]
    assert told[2]["error"]["name"] == "RewardError"
    assert served.read("/studies/places/decisions/2")["reward"] == [0.0, 0.5]
    assert served.read("/studies/places/audit")["ok"]


def test_labels_of_json_are_read_as_the_policy_reads_them(served):
    served.create("draws", {"policy": "sampling/uniform", "groups": ["F", "M"], "seed": 1})
    drawn = served.ask("draws").json()
    told = {"ticket": drawn["ticket"], "X": [[0.0], [1.0]], "y": [True, False]}
    assert served.tell(told, "draws").status_code == 200
    served.create("pace", PACE)
    assert served.ask("pace", json={"available": [1.0, "2"]}).status_code == 200
    for arm, label in ((3.0, 3), (True, "true")):
        assert served.send("decide", "POST", "/studies/pace/add", json={"arm": arm}).json()["arm"] == label
    with Study.open(served.store, "pace") as study:
        assert study.policy.arms == (0, 1, 2, 3, "true")
        assert study.verify().ok
