"""What verification finds: every kind of tampering, in words; promises that were broken, and those not due yet."""

import pytest
from sqlalchemy import delete, insert, select, update

import evenhand as eh
from evenhand.promises.promise import Promise
from evenhand.protocol import Decision
from evenhand.saving.state import to_bytes
from evenhand.studies import Study
from evenhand.studies.log.chain import Birth, Entry, digest_of
from evenhand.studies.log.codec import from_text, to_text
from evenhand.studies.store.schema import EVENTS, SNAPSHOTS, STUDIES
from tests.cli.shell import call
from tests.naming import named

SHARES = {"ads": 0.2, "news": 0.3}


@pytest.fixture
def study(monkeypatch):
    """A study of eight entries with snapshots after the fourth and the eighth, opened anew: nothing is in memory."""
    monkeypatch.setattr("evenhand.studies.log.replay.ENTRIES", 4)
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    for reward in (1.0, 0.0, 0.5, 1.0):
        study.tell(study.ask(), reward)
    return Study.open(study.store)


def change(study, at, /, **values):
    with study.store.writing() as connection:
        done = connection.execute(update(EVENTS).where(EVENTS.c.sequence == at).values(**values))
        assert done.rowcount == 1


def entries(study):
    with study.store.reading() as connection:
        return [entry._asdict() for entry in study._log.rows(connection)]


def rewritten(study, log):
    """Put another log in the place of the study's, all its digests computed anew."""
    with study.store.writing() as connection:
        before = Birth(*connection.execute(select(*(STUDIES.c[name] for name in Birth._fields))).one()).digest
        for entry in log:
            entry["digest"] = before = digest_of(before, Entry(**entry))
        connection.execute(delete(EVENTS))
        connection.execute(insert(EVENTS), [{"study": 1, **entry} for entry in log])


def without_snapshots(study):
    with study.store.writing() as connection:
        connection.execute(delete(SNAPSHOTS).where(SNAPSHOTS.c.sequence > 0))


def test_of_an_empty_log_nothing_was_repeated():
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1))
    found = study.verify()
    assert (found.ok, found.repeated, found.entries) == (True, "none", 0)
    assert (found.worst_shortfall, found.promise_kept) == (None, True)


def test_chances_that_were_taken_out_of_a_log_are_found():
    """Of a policy that computes them when they are read."""
    study = Study.create(":memory:", eh.learners.Thompson(arms=["a", "b"], seed=1))
    study.ask(count=3)
    assert study.verify().ok
    log = entries(study)
    decision = from_text(log[1]["decision"])
    assert len(decision["probabilities"]) == 2
    log[1]["decision"] = to_text(decision | {"probabilities": None})
    rewritten(study, log)
    assert study.verify().problems[0].startswith("entry 2, written by version")


FIELDS = {
    "at": 5,
    "given": '{"reward":0.25}',
    "version": "0",
    "random_state": '["00"]',
    "key": "k",
    "actor": "somebody",
    "kind": "forget",
    "ticket": 9,
    "digest": "0" * 64,
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_was_changed(study, field):
    change(study, 2, **{field: FIELDS[field]})
    finding = study.verify()
    assert not finding.ok
    assert finding.problems[0] == "entry 2 was changed after it was written: its digest does not match"
    assert (finding.entries, finding.decisions, finding.replayed) == (8, 4, 1)


def test_an_arm_that_was_changed(study):
    log = entries(study)
    decision = log[2]["decision"].replace('"arm":"news","index":1', '"arm":"ads","index":0')
    assert decision != log[2]["decision"]
    change(study, 3, decision=decision)
    assert study.verify().problems[0] == "entry 3 was changed after it was written: its digest does not match"
    log[2]["decision"] = decision
    rewritten(study, log)
    problem = study.verify().problems[0]
    assert problem.startswith("entry 3, written by version ")
    assert '"arm":"ads"' in problem.split("replay")[0]
    assert '"arm":"news"' in problem.split("replay")[1]


def test_a_reward_that_was_changed_with_all_digests(study):
    log = entries(study)
    log[1]["given"] = '{"reward":0.75}'
    rewritten(study, log)
    (problem,) = study.verify().problems
    assert problem == "the snapshot after entry 4 differs from the state after replay"


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"reward":{"$float":"abc"}}'])
@pytest.mark.parametrize("digests", [False, True], ids=["as they were", "computed anew"])
def test_an_entry_that_cannot_be_read(study, text, digests):
    without_snapshots(study)
    if digests:
        log = entries(study)
        log[5]["given"] = text
        rewritten(study, log)
    else:
        change(study, 6, given=text)
    finding = study.verify()
    said = "entry 6, tell 3: refused in replay" if digests else "entry 6 was changed after it was written"
    assert finding.problems[0].startswith(said)
    assert (finding.entries, finding.decisions) == (8, 4)


def test_an_entry_that_is_missing_in_the_middle(study):
    with study.store.writing() as connection:
        connection.execute(delete(EVENTS).where(EVENTS.c.sequence == 4))
    finding = study.verify()
    assert finding.problems[0] == "entry 4 is missing from the log"
    assert finding.told == 3


def test_an_end_that_was_cut_off_is_seen_where_a_snapshot_was_taken_later(study):
    with study.store.writing() as connection:
        connection.execute(delete(EVENTS).where(EVENTS.c.sequence > 6))
    assert study.verify().problems == ("the log ends with entry 6, but a snapshot was taken after entry 8",)
    without_snapshots(study)
    assert study.verify().ok


@pytest.mark.parametrize("sequence", [0, 4, 8])
@pytest.mark.parametrize("how", ["cut", "another", "digest"])
def test_a_snapshot_that_was_damaged(study, sequence, how):
    mine = SNAPSHOTS.c.sequence == sequence
    other = eh.quotas.FairUCB(SHARES, seed=1)
    other.ask()
    with study.store.writing() as connection:
        state = connection.scalar(select(SNAPSHOTS.c.state).where(mine))
        changed = {
            "cut": {"state": state[:-40]},
            "another": {"state": to_bytes(other)},
            "digest": {"digest": "1" * 64},
        }[how]
        connection.execute(update(SNAPSHOTS).where(mine).values(**changed))
    finding = study.verify()
    if sequence:
        assert finding.problems == (f"the snapshot after entry {sequence} differs from the state after replay",)
    elif how == "cut":
        assert finding.problems[0].startswith("snapshot 0: truncated, damaged or not a state file")
    else:
        assert {"another": "entry 1", "digest": "one of them was changed"}[how] in finding.problems[0]
    assert (finding.entries, finding.told) == (8, 4)


@pytest.mark.parametrize(
    "what", [{"policy": "quotas/lfg"}, {"created_at": 1}, {"secret": "00" * 32}, {"name": "other"}], ids=named
)
def test_a_study_that_was_made_another(study, what):
    with study.store.writing() as connection:
        connection.execute(update(STUDIES).values(**what))
    assert "one of them was changed" in Study.open(study.store).verify().problems[0]


def test_a_digest_that_was_kept_elsewhere(study):
    kept = study.verify().digest
    assert kept == list(study.log.events())[-1].digest
    study.ask()
    assert study.verify(known=kept).ok
    without_snapshots(study)
    with study.store.writing() as connection:
        connection.execute(delete(EVENTS).where(EVENTS.c.sequence > 6))
    again = Study.open(study.store)
    assert again.verify().ok
    assert again.verify(known=kept).problems == (f"no entry has the digest {kept}: entries were cut off or rewritten",)


def test_no_snapshot_left(study):
    with study.store.writing() as connection:
        connection.execute(delete(SNAPSHOTS))
    assert "no snapshot left" in study.verify().problems[0]


def test_another_version_that_decides_alike_is_listed(study):
    log = entries(study)
    for entry in log[:4]:
        entry["version"] = "0.9+cafe"
    without_snapshots(study)
    rewritten(study, log)
    finding = study.verify()
    assert finding.ok
    assert finding.replayed == 8
    assert finding.versions == ("0.9+cafe", study.state.now().version)


def test_a_study_that_goes_on_during_the_check_is_no_problem(study):
    other, now = Study.open(study.store), study.state.now

    def overtaken():
        other.ask()
        return now()

    study.state.now = overtaken
    assert study.verify().problems == ()
    assert other.log.sequence == 9


def test_a_state_in_memory_that_is_not_the_log_s_is_found(study):
    study.ask()
    study.state.seen.policy.ask()
    assert study.verify().problems == ("the state in use differs from the state after replay",)


# ---------------------------------------------------------------------- promises


class Stingy:
    """Promises every arm a share and plays the first one until it is told to stop."""

    arms = ("ads", "news")
    holds_when = "at every round"

    def __init__(self, round=0, until=6):
        self.promise = Promise({"ads": 0.25, "news": 0.25})
        self.round, self.until, self.open_tickets = round, until, []

    def ask(self):
        self.round += 1
        index = int(self.round > self.until)
        return Decision(self.round, self.round, self.arms[index], index, None, "first come")

    def tell(self, decision, reward):
        pass

    def forget(self, decision):
        pass

    def snapshot(self):
        return {"round": self.round, "until": self.until}

    @classmethod
    def restored(cls, snapshot):
        return cls(**snapshot)


def test_a_broken_promise_is_reported_with_its_first_round_and_arm(scratch_registry):
    scratch_registry(Stingy)
    study = Study.create(":memory:", Stingy(until=6), name="stingy")
    for _ in range(3):
        study.ask()
    finding = study.verify()
    assert finding.ok
    assert (finding.promise_kept, finding.worst_shortfall, finding.worst_round) == (True, 0.75, 3)
    for _ in range(5):
        study.ask()
    finding = study.verify()
    assert finding.problems == ("the promise was broken: first at round 4 to 'news' (3 rounds in all)",)
    assert (finding.promise_kept, finding.first_violation, finding.rounds_in_violation) == (False, (4, "news"), 3)
    assert (finding.worst_shortfall, finding.worst_arm, finding.worst_round) == (1.5, "news", 6)
    assert study.statistics().kept is False


def test_a_promise_at_the_horizon_is_judged_there():
    study = Study.create(":memory:", eh.quotas.HorizonFairUCB(SHARES, horizon=10))
    for _ in range(9):
        study.ask()
    finding = study.verify()
    assert (finding.ok, finding.promise, finding.promise_kept) == (True, "at the horizon", None)
    study.ask()
    finding = study.verify()
    assert (finding.ok, finding.promise_kept) == (True, True)


def test_a_promise_broken_at_the_horizon(scratch_registry, monkeypatch):
    scratch_registry(Stingy)
    monkeypatch.setattr(Stingy, "holds_when", "at the horizon")
    monkeypatch.setattr(Stingy, "horizon", 8, raising=False)
    for until, kept in ((6, True), (7, False)):
        study = Study.create(":memory:", Stingy(until=until), name="stingy")
        for _ in range(8):
            study.ask()
        finding = study.verify()
        assert (finding.ok, finding.promise_kept) == (kept, kept)
    assert finding.problems[0].startswith("the promise was broken:")


def test_a_promise_in_the_long_run_is_not_judged_at_any_round():
    study = Study.create(":memory:", eh.quotas.LFG(SHARES, eta=1.0))
    for _ in range(5):
        study.tell(study.ask(), 1.0)
    finding = study.verify()
    assert (finding.ok, finding.promise, finding.promise_kept) == (True, "in the long run", None)
    assert finding.worst_shortfall is not None


def test_no_promise_no_finding():
    study = Study.create(":memory:", eh.learners.UCB1(arms=2))
    study.ask()
    finding = study.verify()
    assert (finding.promise, finding.promise_kept, finding.worst_arm) == (None, None, None)


def test_a_digest_is_of_one_entry_only():
    entry = Entry(1, "tell", None, 0, "{}", None, "1", None, None, None, "")
    texts = (None, "", "\0", "\0\0", "\0\0\0", "a\0", "\0a")
    digests = {digest_of("", entry._replace(key=key, actor=actor)) for key in texts for actor in texts}
    assert len(digests) == len(texts) ** 2


def test_the_shell_says_that_a_log_is_empty_and_that_nothing_came_since(tmp_path):
    store, mark = str(tmp_path / "ads.evenhand"), str(tmp_path / "mark")
    study = Study.create(store, eh.quotas.FairUCB(SHARES, seed=1))
    found = call("verify", store, "--strict")
    assert (found.exit_code, "The log is empty." in found.output) == (0, True)
    study.ask()
    for said in ("The log is whole and replays to the same decisions and states.", "No entries came since then."):
        found = call("verify", store, "--strict", "--mark", mark)
        assert (found.exit_code, said in found.output) == (0, True)
