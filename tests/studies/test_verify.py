"""What verification finds: every kind of tampering, in words; promises that were broken, and those not due yet."""

import dataclasses

import pytest
from sqlalchemy import delete, insert, select, update

import evenhand as eh
from evenhand.errors import ArgumentError
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.studies import Ask, Study
from evenhand.studies.log.chain import Birth, Entry, digest_of
from evenhand.studies.log.codec import from_text, to_text
from evenhand.studies.store.schema import EVENTS, SNAPSHOTS, STUDIES
from tests.cli.shell import call

SHARES = {"ads": 0.2, "news": 0.3}


@pytest.fixture
def study(monkeypatch):
    """A study of eight entries with snapshots after the fourth and the eighth, opened anew: nothing is in memory."""
    monkeypatch.setattr("evenhand.studies.log.replay.ENTRIES", 4)
    study = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1), name="ads")
    for reward in (1.0, 0.0, 0.5, 1.0):
        study.tell(study.ask(), reward)
    return Study.open(study.store)


def execute(study, *statements):
    with study.store.writing() as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0


def change(study, at, /, **values):
    execute(study, update(EVENTS).where(EVENTS.c.sequence == at).values(**values))


def told(finding):
    """A finding without what depends on where it began."""
    return dataclasses.replace(finding, since=0, replayed=0, repeated="none", notes=())


def entries(study):
    with study.store.reading() as connection:
        return [entry._asdict() for entry in study._log.rows(connection)]


def rewritten(study):
    """Compute all digests of a log anew, as one does who has changed it."""
    log = entries(study)
    with study.store.writing() as connection:
        before = Birth(*connection.execute(select(*(STUDIES.c[name] for name in Birth._fields))).one()).digest
        for entry in log:
            entry["digest"] = before = digest_of(before, Entry(**entry))
        connection.execute(delete(EVENTS))
        connection.execute(insert(EVENTS), [{"study": 1, **entry} for entry in log])


WITHOUT_SNAPSHOTS = delete(SNAPSHOTS).where(SNAPSHOTS.c.sequence > 0)
WITHOUT_THE_END = delete(EVENTS).where(EVENTS.c.sequence > 6)


def test_chances_that_were_taken_out_of_a_log_are_found():
    """Of a policy that computes them when they are read."""
    study = Study.create(":memory:", eh.learners.Thompson(arms=["a", "b"], seed=1))
    study.ask(count=3)
    assert study.verify().ok
    decision = from_text(entries(study)[1]["decision"])
    assert len(decision["probabilities"]) == 2
    change(study, 2, decision=to_text(decision | {"probabilities": None}))
    rewritten(study)
    assert study.verify().problems[0].startswith("entry 2, written by version")


@pytest.mark.parametrize(
    "changed",
    [
        *({"at": 5}, {"given": '{"reward":0.25}'}, {"version": "0"}, {"random_state": '["00"]'}, {"key": "k"}),
        *({"actor": "somebody"}, {"kind": "forget"}, {"ticket": 9}, {"digest": "0" * 64}),
    ],
)
def test_a_field_that_was_changed(study, changed):
    change(study, 2, **changed)
    finding = study.verify()
    assert finding.problems[0] == "entry 2 was changed after it was written: its digest does not match"
    assert (finding.entries, finding.decisions, finding.replayed) == (8, 4, 1)


def test_an_arm_that_was_changed(study):
    decision = entries(study)[2]["decision"]
    assert '"arm":"news","index":1' in decision
    change(study, 3, decision=decision.replace('"arm":"news","index":1', '"arm":"ads","index":0'))
    assert study.verify().problems[0] == "entry 3 was changed after it was written: its digest does not match"
    rewritten(study)
    problem = study.verify().problems[0]
    assert problem.startswith("entry 3, written by version ")
    assert '"arm":"ads"' in problem.split("replay")[0]
    assert '"arm":"news"' in problem.split("replay")[1]


def test_a_reward_that_was_changed_with_all_digests(study):
    change(study, 2, given='{"reward":0.75}')
    rewritten(study)
    assert study.verify().problems == ("the snapshot after entry 4 differs from the state after replay",)


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"reward":{"$float":"abc"}}'])
@pytest.mark.parametrize("digests", [False, True], ids=["as they were", "computed anew"])
def test_an_entry_that_cannot_be_read(study, text, digests):
    execute(study, WITHOUT_SNAPSHOTS)
    change(study, 6, given=text)
    if digests:
        rewritten(study)
    finding = study.verify()
    said = "entry 6, tell 3: refused in replay" if digests else "entry 6 was changed after it was written"
    assert finding.problems[0].startswith(said)
    assert (finding.entries, finding.decisions) == (8, 4)


@pytest.mark.parametrize(
    ("change", "problem", "told"),
    [
        (delete(EVENTS).where(EVENTS.c.sequence == 4), "entry 4 is missing from the log", 3),
        (delete(SNAPSHOTS), "no snapshot left", 4),
        *(
            (update(STUDIES).values(**what), "one of them was changed", 4)
            for what in ({"policy": "quotas/lfg"}, {"created_at": 1}, {"secret": "00" * 32}, {"name": "other"})
        ),
    ],
)
def test_what_is_missing_and_a_study_that_was_made_another_are_found(study, change, problem, told):
    execute(study, change)
    found = Study.open(study.store).verify()
    assert problem in found.problems[0]
    assert found.told == told


def test_an_end_that_was_cut_off_is_seen_where_a_snapshot_was_taken_later(study):
    execute(study, WITHOUT_THE_END)
    assert study.verify().problems == ("the log ends with entry 6, but a snapshot was taken after entry 8",)
    execute(study, WITHOUT_SNAPSHOTS)
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


def test_a_digest_that_was_kept_elsewhere(study):
    kept = study.verify().digest
    assert kept == list(study.log.events())[-1].digest
    study.ask()
    assert study.verify(known=kept).ok
    execute(study, WITHOUT_SNAPSHOTS, WITHOUT_THE_END)
    again = Study.open(study.store)
    assert again.verify().ok
    assert again.verify(known=kept).problems == (f"no entry has the digest {kept}: entries were cut off or rewritten",)


def test_another_version_that_decides_alike_is_listed(study):
    execute(study, WITHOUT_SNAPSHOTS, update(EVENTS).where(EVENTS.c.sequence <= 4).values(version="0.9+cafe"))
    rewritten(study)
    finding = study.verify()
    assert (finding.ok, finding.replayed) == (True, 8)
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


def played(scripted, *arms):
    """A study that promises each of two arms a quarter and plays them as it is told."""
    study = Study.create(":memory:", scripted({"ads": 0.25, "news": 0.25}), name="stingy")
    study.run([Ask(given={"index": arm}) for arm in arms])
    return study


def test_a_broken_promise_is_reported_with_its_first_round_and_arm_after_a_mark_too(scripted):
    study = played(scripted, 0, 0, 0)
    mark = study.verify()
    assert mark.ok
    assert (mark.promise_kept, mark.worst_shortfall, mark.worst_round) == (True, 0.75, 3)
    for arm in (0, 0, 0, 1, 1):
        study.ask(arm)
    finding = study.verify()
    assert finding.problems == ("the promise was broken: first at round 4 to 'news' (3 rounds in all)",)
    assert (finding.promise_kept, finding.first_violation, finding.rounds_in_violation) == (False, (4, "news"), 3)
    assert (finding.worst_shortfall, finding.worst_arm, finding.worst_round) == (1.5, "news", 6)
    assert study.statistics().kept is False
    assert told(study.verify(since=mark)) == told(finding)


def test_a_promise_at_the_horizon_is_judged_there(scripted, monkeypatch):
    monkeypatch.setattr(scripted, "holds_when", "at the horizon")
    monkeypatch.setattr(scripted, "horizon", 8, raising=False)
    before = played(scripted, *[0] * 7).verify()
    assert (before.ok, before.promise, before.promise_kept) == (True, "at the horizon", None)
    for last, kept in ((1, True), (0, False)):
        finding = played(scripted, *[0] * 6, last, 1).verify()
        assert (finding.ok, finding.promise_kept) == (kept, kept)
    assert finding.problems[0].startswith("the promise was broken:")


@pytest.mark.parametrize(
    ("policy", "promise"), [(eh.quotas.LFG(SHARES, eta=1.0), "in the long run"), (eh.learners.UCB1(arms=2), None)]
)
def test_what_is_promised_in_the_long_run_or_not_at_all_is_not_judged_at_any_round(policy, promise):
    study = Study.create(":memory:", policy.fresh())
    for _ in range(5):
        study.tell(study.ask(), 1.0)
    finding = study.verify()
    assert (finding.ok, finding.promise, finding.promise_kept) == (True, promise, None)
    assert (finding.worst_shortfall is None, finding.worst_arm is None) == (promise is None,) * 2


def test_a_digest_is_of_one_entry_only():
    entry = Entry(1, "tell", None, 0, "{}", None, "1", None, None, None, "")
    texts = (None, "", "\0", "\0\0", "\0\0\0", "a\0", "\0a")
    digests = {digest_of("", entry._replace(key=key, actor=actor)) for key in texts for actor in texts}
    assert len(digests) == len(texts) ** 2


def test_of_an_empty_log_nothing_was_repeated_and_the_shell_says_so_and_that_nothing_came_since(tmp_path):
    store, mark = str(tmp_path / "ads.evenhand"), str(tmp_path / "mark")
    study = Study.create(store, eh.quotas.FairUCB(SHARES, seed=1))
    found = study.verify()
    assert (found.ok, found.repeated, found.entries) == (True, "none", 0)
    assert (found.worst_shortfall, found.promise_kept) == (None, True)
    found = call("verify", store, "--strict")
    assert (found.exit_code, "The log is empty." in found.output) == (0, True)
    study.ask()
    for said in ("The log is whole and replays to the same decisions and states.", "No entries came since then."):
        found = call("verify", store, "--strict", "--mark", mark)
        assert (found.exit_code, said in found.output) == (0, True)


# ---------------------------------------------------------------------- since an earlier verification


def converse(study, rounds):
    for n in range(rounds):
        late = study.ask()
        if n % 3:
            study.tell(late, n % 5 / 4)


def test_what_was_added_since_any_mark_is_verified_and_the_whole_is_reported(study):
    mark = Study.create(":memory:", eh.quotas.FairUCB(SHARES, seed=1)).verify()
    with pytest.raises(ArgumentError, match='since: expected a mark of this study, got "another study\'s"'):
        study.verify(since=mark)
    mark = study.verify()
    for rounds in (1, 0, 7, 30):
        before = mark.entries
        converse(study, rounds)
        mark = study.verify(since=mark)
        assert mark.ok
        assert told(mark) == told(study.verify())
        assert (mark.since, mark.replayed) == (before, mark.entries - before)
        assert mark.notes == (f"entries 1 to {before} were not read: an earlier verification found them sound",)
    assert Study.open(study.store).verify(since=mark.mark).replayed == 0


def test_a_change_after_the_mark_is_found_and_one_before_it_is_what_was_assumed_not_to_happen(study):
    mark = study.verify()
    converse(study, 5)
    change(study, 3, at=5)
    assert study.verify(since=mark).ok
    assert not study.verify().ok
    change(study, mark.entries + 2, at=5)
    finding = Study.open(study.store).verify(since=mark)
    expected = f"entry {mark.entries + 2} was changed after it was written: its digest does not match"
    assert (finding.problems[0], finding.mark) == (expected, None)
    with pytest.raises(ArgumentError, match="since: expected"):
        study.verify(since=finding)


def test_a_log_that_no_longer_leads_to_the_mark_is_found(study):
    mark = study.verify()
    change(study, mark.entries, digest="0" * 64)
    said = f"entry {mark.entries} is not the one that the earlier verification ended with"
    assert Study.open(study.store).verify(since=mark).problems[0] == said
    execute(study, *(delete(table).where(table.c.sequence > 5) for table in (EVENTS, SNAPSHOTS)))
    assert Study.open(study.store).verify(since=mark).problems[0] == said


def test_a_history_that_was_written_anew_after_the_mark_is_replayed(study):
    mark = study.verify()
    converse(study, 4)
    execute(study, WITHOUT_SNAPSHOTS)
    last = [entry for entry in entries(study)[mark.entries :] if entry["kind"] == "ask"][-1]
    change(study, last["sequence"], decision=last["decision"].replace("ads", "news"))
    rewritten(study)
    assert "written by version" in Study.open(study.store).verify(since=mark).problems[0]


def test_what_is_no_mark_is_refused(study):
    sound = study.verify().mark
    mark = from_bytes(sound)
    without = {name: part for name, part in mark["count"].items() if name != "outcomes"}
    for since, said in [
        *((other, "as bytes, got") for other in ("0" * 64, 7, True)),
        *((other, "got 'no mark, or a damaged one'") for other in (b"", b"{}\n", sound[:40] + b"?" + sound[41:])),
        *((to_bytes(other), "got 'no mark of this version'") for other in (mark | {"count": without}, without, [7])),
    ]:
        with pytest.raises(ArgumentError, match=f"since: expected the mark of an earlier verification,.*{said}"):
            study.verify(since=since)
