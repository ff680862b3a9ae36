"""Workers of one study in several stores: one promise over all of them, and nothing common on the way of a decision."""

import random
from fractions import Fraction

import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, FencedError, ForeignTicketError, SharesError, StoreError
from evenhand.studies import Study

SHARES = {"ads": 0.2, "news": 0.3, "sports": 0.1}
QUIET = {"exchange_rounds": None, "exchange_seconds": None}


def home_at(place, tolerance=9, workers=2, shares=SHARES, learner=None, **more):
    policy = eh.quotas.DeadlineLearn(learner or eh.learners.UCB1(), shares, tolerance, seed=1)
    return Study.create(place, policy, name="ads", workers=workers, **{**QUIET, **more})


@pytest.fixture
def stores(tmp_path):
    """A study with a region, each in a file of its own."""
    home = home_at(tmp_path / "home.evenhand")
    asia = Study.import_region(tmp_path / "asia.evenhand", home.export_region("asia", workers=2))
    return home, asia


def workers_of(study, *names):
    return [Study.open(study.store.file, worker=name) for name in names]


def converse(workers, rounds, seed=1):
    chance = random.Random(seed)
    for _ in range(rounds):
        worker = chance.choice(workers)
        worker.tell(worker.ask(), float(chance.random() < 0.5))


def together(home, *regions):
    return Study.open(home.store.file, regions=[one.store.file for one in regions])


def test_a_region_decides_in_its_own_store_and_one_promise_holds_over_both(stores):
    home, asia = stores
    assert (home.region, asia.region) == (None, "asia")
    workers = workers_of(home, "w1", "w2") + workers_of(asia, "w1", "w2")
    converse(workers, 120)
    both = together(home, asia)
    frame = both.frame()
    assert len(frame) == 120
    assert set(frame["worker"]) == {"w1", "w2", "asia:w1", "asia:w2"}
    assert frame["ticket"].is_unique
    counts = dict.fromkeys(SHARES, 0)
    for t, arm in enumerate(frame["arm"], 1):
        counts[arm] += 1
        for label, share in SHARES.items():
            assert counts[label] >= int(Fraction(str(share)) * t) - 9, (t, label)
    found = both.verify()
    assert found.problems == ()
    assert (found.decisions, found.promise_kept, found.notes) == (120, True, ())
    assert 0 < min(found.room.values()) < min(home.verify().room.values())


def test_all_merge_orders_keep_the_promise_even_if_every_worker_falls_as_far_behind_as_it_may(tmp_path):
    """Every worker plays only the arm that nothing forces, so each spends all of its endowment."""
    shares = {"ads": "1/2", "news": "1/3", "rest": 0}
    home = home_at(tmp_path / "home.evenhand", tolerance=20, shares=shares)
    parts = [home]
    for name in ("asia", "europe"):
        grant = home.export_region(name, workers=2)
        parts.append(Study.import_region(tmp_path / f"{name}.evenhand", grant))
    parts[1].join("late").close()
    least = {arm: Fraction(0) for arm in shares}
    for part in parts:
        for name in (one.name for one in part.membership().workers):
            with Study.open(part.store.file, worker=name) as worker:
                surplus, low = dict.fromkeys(shares, Fraction(0)), dict.fromkeys(shares, Fraction(0))
                for _ in range(60):
                    decision = worker.ask()
                    worker.tell(decision, float(decision.arm == "rest"))
                    for arm, share in shares.items():
                        surplus[arm] += (decision.arm == arm) - Fraction(share)
                        low[arm] = min(low[arm], surplus[arm])
            least = {arm: least[arm] + low[arm] for arm in shares}
    assert all(low > -21 for low in least.values())
    assert min(least.values()) < -9, "nobody was ever behind: the test shows nothing"
    found = together(*parts).verify()
    assert found.problems == ()
    assert found.room == pytest.approx({arm: float(low + 21) for arm, low in least.items()})


def test_a_region_may_be_a_server_and_another_a_file(database, tmp_path):
    home = home_at(database)
    asia = Study.import_region(tmp_path / "asia.evenhand", home.export_region("asia", workers=1))
    with pytest.raises(ArgumentError, match="already exists"):
        Study.import_region(database, home.export_region("europe", workers=1))
    here, there = Study.open(database, worker="w1"), Study.open(asia.store.file, worker="w1")
    converse([here, there], 20)
    for one in (here, there):
        one.exchange()
    letters = [home.export_reports(), asia.export_reports()]
    assert [home.import_reports(letters[1]) for _ in range(2)] == [True, False]
    assert asia.import_reports(letters[0])
    assert here.exchange().taken.keys() == {"asia:w1"}
    assert there.exchange().taken.keys() == {"home:w1"}
    found = Study.open(database, regions=[asia.store.file]).verify()
    assert (found.problems, found.decisions) == ((), 20)


def test_regions_learn_from_each_other_by_files(stores):
    home, asia = stores
    (here,), (there,) = workers_of(home, "w1"), workers_of(asia, "w2")
    converse([here], 30)
    converse([there], 20)
    for one in (here, there):
        one.exchange()
    assert home.import_reports(asia.export_reports()) is True
    assert here.exchange().taken == {"asia:w2": 20}
    assert asia.import_reports(home.export_reports()) is True
    assert there.exchange().taken == {"home:w1": 30}
    assert here.policy.pool.rounds == 20
    assert there.policy._learned.pulls.sum() == 50
    letter = asia.export_reports()
    assert [home.import_reports(letter) for _ in range(2)] == [True, False]
    assert here.exchange().taken == {}
    assert home.regions.drop(columns="heard").values.tolist() == [["asia", "heard", 20]]
    both = together(home, asia)
    assert both.membership().members.keys() == both._membership.members.keys()
    assert both.verify().problems == ()
    assert both.regions["state"].tolist() == ["read"]
    assert both.workers.set_index("worker")["lag"].to_dict() == {"w1": 0, "w2": 50, "asia:w1": 50, "asia:w2": 0}
    converse([there], 5)
    assert home.workers["lag"].tolist() == [0, 50]
    assert both.workers["lag"].tolist()[0] == 5


def test_reports_that_are_lost_repeated_or_late_do_no_harm(stores):
    home, asia = stores
    (here,), (there,) = workers_of(home, "w1"), workers_of(asia, "w1")
    letters = []
    for _ in range(4):
        converse([there], 10)
        there.exchange()
        letters.append(asia.export_reports())
    assert [home.import_reports(letters[n]) for n in (1, 3, 1, 0, 3)] == [True, True, False, False, False]
    assert here.exchange().taken == {"asia:w1": 40}
    assert here.policy._learned.pulls.sum() == 40


def test_a_folder_is_enough(stores, tmp_path):
    home, asia = stores
    (here,), (there,) = workers_of(home, "w1"), workers_of(asia, "w1")
    converse([there], 10)
    there.exchange()
    folder = tmp_path / "letters"
    with pytest.raises(ArgumentError, match="wanted a folder that is there"):
        home.exchange_reports(folder)
    folder.mkdir()
    assert asia.exchange_reports(folder) == {}
    (folder / "mars.ads.reports").write_bytes(b"{")
    outcome = home.exchange_reports(folder)
    assert outcome["asia"] == "learned"
    assert outcome["mars"].startswith("reports: wanted the reports of a region")
    assert home.exchange_reports(folder)["asia"] == "nothing new"
    assert here.exchange().taken == {"asia:w1": 10}


def test_forged_reports_and_grants_are_refused(stores, tmp_path):
    home, asia = stores
    (there,) = workers_of(asia, "w1")
    converse([there], 10)
    there.exchange()
    letter = asia.export_reports()
    for forged in (letter.replace(b'"rounds":10', b'"rounds":11'), letter.replace(b"asia", b"apia")):
        with pytest.raises(ForeignTicketError, match="forged"):
            home.import_reports(forged)
    for broken in (b"", b"[]", b"{}", letter[:-9], "text"):
        with pytest.raises((ArgumentError, ForeignTicketError)):
            home.import_reports(broken)
    with pytest.raises(ArgumentError, match="of another region"):
        asia.import_reports(letter)
    other = home_at(tmp_path / "other.evenhand")
    with pytest.raises(ForeignTicketError):
        other.import_reports(letter)
    assert home.regions["state"].tolist() == ["granted"]
    grant = home.export_region("europe", workers=2)
    place = tmp_path / "europe.evenhand"
    for forged in (grant.replace(b'"workers":2', b'"workers":3'), grant.replace(b"europe", b"eurasia")):
        with pytest.raises(ForeignTicketError, match="changed"):
            Study.import_region(place, forged)
    for broken in (b"", b"{}", b"[1]", grant[:50], None):
        with pytest.raises(ArgumentError, match="the grant of a region"):
            Study.import_region(place, broken)
    assert not place.exists()


def test_a_grant_is_given_once_and_comes_from_the_first_store(stores, tmp_path):
    home, asia = stores
    assert home.export_region("asia", workers=2) == home.export_region("asia", workers=2)
    with pytest.raises(ArgumentError, match="workers=2 returns its grant again"):
        home.export_region("asia", workers=3)
    with pytest.raises(ArgumentError, match="export it from the study's first store"):
        asia.export_region("europe", workers=1)
    for name in ("", "a:b", None, "x" * 41):
        with pytest.raises(ArgumentError, match="region: wanted up to 40 letters"):
            home.export_region(name)
    with pytest.raises(ArgumentError, match="which is this store's"):
        home.export_region("home")
    with pytest.raises(ArgumentError, match="1 to 100 workers"):
        home.export_region("europe", workers=101)
    with pytest.raises(SharesError, match="cannot be given what 100 workers need"):
        home.export_region("europe", workers=100)
    with pytest.raises(ArgumentError, match="already exists"):
        Study.import_region(asia.store.file, home.export_region("asia", workers=2))
    alone = Study.create(":memory:", eh.learners.UCB1(arms=2), name="alone")
    for refused in (alone.export_region, alone.import_reports, alone.exchange_reports):
        with pytest.raises(ArgumentError, match="a study with workers"):
            refused("asia")
    with pytest.raises(ArgumentError, match="a study with workers"):
        alone.export_reports()
    assert (alone.region, len(alone.regions)) == (None, 0)


def test_a_region_pays_its_workers_from_its_own_endowment(tmp_path):
    home = home_at(tmp_path / "home.evenhand", tolerance=30)
    asia = Study.import_region(tmp_path / "asia.evenhand", home.export_region("asia", workers=2))
    pool = home.membership().pool(home.promise)
    names = []
    with pytest.raises(SharesError, match="cannot join"):  # noqa: PT012
        while len(names) < 60:
            asia.join(f"more{len(names)}").close()
            names.append(f"more{len(names)}")
    assert names
    assert home.membership().pool(home.promise) == pool, "the home paid for what happens in a region"
    asia.leave(names[0])
    asia.join("again").close()
    assert together(home, asia).verify().problems == ()


def test_a_grant_that_was_imported_twice_is_found(stores, tmp_path):
    home, asia = stores
    twin = Study.import_region(tmp_path / "twin.evenhand", home.export_region("asia", workers=2))
    for study in (asia, twin):
        (worker,) = workers_of(study, "w1")
        converse([worker], 10)
        worker.exchange()
    assert home.import_reports(asia.export_reports())
    with pytest.raises(FencedError, match="imported in two stores, and this report is from the second"):
        home.import_reports(twin.export_reports())
    with pytest.raises(FencedError, match=r"region 'asia' was imported in two stores, .*asia.*twin"):
        together(home, asia, twin)


def test_a_home_that_was_replaced_by_an_older_copy_is_found(tmp_path):
    home = home_at(tmp_path / "home.evenhand")
    home.close()
    files = {file.name: file.read_bytes() for file in tmp_path.glob("home.evenhand*")}
    home = Study.open(tmp_path / "home.evenhand")
    asia = Study.import_region(tmp_path / "asia.evenhand", home.export_region("asia", workers=1))
    home.close()
    for file in tmp_path.glob("home.evenhand*"):
        file.unlink()
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    again = Study.open(tmp_path / "home.evenhand")
    with pytest.raises(StoreError, match="older copy"):
        again.import_reports(asia.export_reports())
    again.export_region("asia", workers=2)
    with pytest.raises(StoreError, match="older copy"):
        again.import_reports(asia.export_reports())
    found = together(again, asia).verify().problems
    assert found == ("asia: its endowment and its workers' numbers are not what the study's first store gave it",)


def test_what_several_regions_at_once_cannot_do(stores, tmp_path):
    home, asia = stores
    both = together(home, asia)
    for refused in (lambda: both.join("new"), lambda: both.leave("w1"), lambda: both.lease(9.0)):
        with pytest.raises(ArgumentError, match="without regions="):
            refused()
    with pytest.raises(ArgumentError, match="the store of a region of 'ads'"):
        together(home, home)
    with pytest.raises(ArgumentError, match="the store of a region of 'ads'"):
        together(asia, asia)
    with pytest.raises(ArgumentError, match="regions: wanted a list of stores"):
        Study.open(home.store.file, regions=asia.store.file)
    with pytest.raises(ArgumentError, match="to read several regions"):
        Study.open(home.store.file, worker="w1", regions=[asia.store.file])
    home_at(tmp_path / "other.evenhand").close()
    with pytest.raises(ArgumentError, match="the store of a region of 'ads'"):
        Study.open(home.store.file, regions=[tmp_path / "other.evenhand"])
    Study.create(tmp_path / "one.evenhand", eh.learners.UCB1(arms=2), name="ads").close()
    with pytest.raises(ArgumentError, match="a study with workers"):
        Study.open(tmp_path / "one.evenhand", regions=[asia.store.file])


def test_a_ticket_told_at_all_regions_reaches_its_worker(stores):
    home, asia = stores
    (there,) = workers_of(asia, "w2")
    decision = there.ask()
    assert together(home, asia).tell(there.sign(decision.id), 1.0) == "told"
    assert asia.record(decision.id).told == {"reward": 1.0}


def test_a_region_that_is_not_read_is_said_and_breaks_nothing(stores):
    home, asia = stores
    converse(workers_of(home, "w1") + workers_of(asia, "w1"), 30)
    found = home.verify()
    assert found.ok
    assert found.notes == ("region 'asia' was not read: the promise holds whatever it decides within its endowment",)
    alone = asia.verify()
    assert alone.ok
    assert alone.notes == ("these are the logs of region 'asia' alone, within its endowment",)
    assert min(alone.room.values()) > 0


def test_a_serial_beginning_comes_before_all_regions(tmp_path):
    shares = {"ads": "1/2", "news": "1/4"}
    home = home_at(tmp_path / "home.evenhand", tolerance=0, workers=4, shares=shares)
    assert home.burn_in == 15
    with pytest.raises(ArgumentError, match="15 rounds of the serial beginning are left"):
        home.export_region("asia", workers=1)
    (worker,) = workers_of(home, "w1")
    converse([worker], 15)
    with pytest.raises(SharesError):
        home.export_region("asia", workers=1)
    home.leave("w4")
    asia = Study.import_region(tmp_path / "asia.evenhand", home.export_region("asia", workers=1))
    converse([worker, *workers_of(asia, "w1")], 40)
    found = together(home, asia).verify()
    assert (found.problems, found.promise_kept, found.decisions) == ((), True, 55)
    (there,) = workers_of(asia, "w1")
    asia.import_reports(home.export_reports())
    assert there.exchange().taken["home:the serial beginning"] == 15
    assert together(home, asia).verify().problems == ()


def test_learners_without_a_promise_have_regions_too(tmp_path):
    home = Study.create(tmp_path / "home.evenhand", eh.learners.Thompson(arms=3, seed=4), name="ads", workers=2)
    asia = Study.import_region(tmp_path / "asia.evenhand", home.export_region("asia", workers=2))
    workers = workers_of(home, "w1") + workers_of(asia, "w1")
    arms = [[one.ask().arm for _ in range(20)] for one in workers]
    assert arms[0] != arms[1], "two workers draw the same numbers"
    assert together(home, asia).verify().problems == ()
