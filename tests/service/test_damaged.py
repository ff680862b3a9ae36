"""A damaged store is refused, and nothing waits for it: not the sound studies in it, nor the end of the service."""

import threading

import pytest

import evenhand as eh
from evenhand.service import sessions as sessions_module
from evenhand.studies import Ask, Store, Study
from evenhand.studies.log.reader import Reader
from tests.service.conftest import Served
from tests.studies.test_damage import index_page
from tests.waiting import until

SHARES = {"a": 0.2, "b": 0.3}
TEAM = ("", "/series", "/series?first=2", "/decisions", "/forced", "/audit", "/history?format=csv")
PATHS = ("/studies", "/metrics", "/readyz", *(f"/studies/team{path}" for path in TEAM))
SOUND = ("/studies/sound", "/studies/sound/decisions", "/studies/sound/audit")
LIMIT = 20.0
"""Seconds in which a service with a damaged store has answered everything and ended; it takes about one."""


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A service over a file with the studies "team" and "sound"; it must answer everything within a time."""
    store = Store.at(tmp_path / "ads.evenhand", create=True)
    with monkeypatch.context() as patched:
        patched.setattr("evenhand.studies.log.replay.ENTRIES", 16)
        team = Study.create(store, eh.quotas.DeadlineLearn(eh.learners.UCB1(), SHARES, tolerance=3), name="team")
        for n in range(40):
            decision = team.ask(key=f"round {n}" if n % 2 else None)
            if n % 3:
                team.tell(decision, n % 2)
        sound = Study.create(store, eh.quotas.FairUCB(SHARES, seed=1), name="sound")
        for decision in sound.run([Ask()] * 30):
            sound.tell(decision, 0.5)
    store.close()
    one = Served(store)
    one.http.timeout = LIMIT
    yield one
    ends(one)
    one.http.close()
    store.close()


def ends(served):
    """End the service, within a time."""
    served.server.should_exit = True
    served.thread.join(LIMIT)
    assert not served.thread.is_alive(), "the service does not end"


def test_an_index_that_leads_to_nothing_hangs_nothing(served, tmp_path):
    """The index of entries leads to none, as the byte in it that was flipped for the first report of this."""
    path = tmp_path / "ads.evenhand"
    start, _ = index_page(path, "sqlite_autoindex_events_1")
    content = bytearray(path.read_bytes())
    content[start + 3 : start + 5] = b"\0\0"  # how many cells the page has
    path.write_bytes(content)
    found = {path: served.send("read", "GET", path) for path in (*PATHS, *SOUND)}
    served.ask("team")
    for path in ("/studies", "/metrics", "/readyz"):
        assert found[path].status_code == 200, (path, found[path].text)
    audit = found["/studies/team/audit"]
    assert audit.status_code == 200
    assert not audit.json()["ok"]


def test_a_read_that_hangs_takes_no_place_of_another_study_and_the_end_does_not_wait_for_it(served, monkeypatch):
    free, entries = threading.Event(), Reader.entries

    def hanging(log, after=0):
        if log.birth.name == "sound":
            free.wait(2 * LIMIT)
        return entries(log, after)

    monkeypatch.setattr(Reader, "entries", hanging)
    served.read("/studies/team")  # which has as long as it takes; only the other one is in a hurry
    monkeypatch.setattr(sessions_module, "SECONDS", 0.5)
    answers = [served.send("read", "GET", "/studies/sound") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [503] * 6
    assert "reading study 'sound': no answer within 0.5 seconds" in answers[0].json()["error"]["message"]
    listed = served.read("/studies")
    assert [row["name"] for row in listed["studies"]] == ["team"]
    assert [row["name"] for row in listed["unreadable"]] == ["sound"]
    assert "no answer within" in listed["unreadable"][0]["why"]
    text = served.send("read", "GET", "/metrics").text
    assert 'evenhand_readable{study="sound"} 0.0' in text
    assert 'evenhand_readable{study="team"} 1.0' in text
    assert served.read("/readyz")["unreadable"] == 1
    assert served.ask("sound").status_code == 200, "decisions need no reader"
    monkeypatch.setattr(sessions_module, "SECONDS", 60.0)
    reads = served.app.state.sessions.open("sound").reads
    reads.seconds = 60.0
    last = threading.Thread(target=served.send, args=("read", "GET", "/studies/sound"))
    last.start()
    until(lambda: reads._places._waiters)
    served.server.config.timeout_graceful_shutdown = 0.2
    ends(served)
    last.join(LIMIT)
    free.set()
