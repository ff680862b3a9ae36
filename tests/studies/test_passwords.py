"""Secrets: no command, refusal, representation or page shows the password that a store's address may hold.

Keys are shown once, kept as a digest, and good until they are revoked.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

import evenhand as eh
from evenhand.cli import main
from evenhand.cli.command import COMMANDS, command_of
from evenhand.errors import ArgumentError, EvenhandError, masked
from evenhand.service.run import _open
from evenhand.studies import Store, Study
from evenhand.studies.keys import Ring, add_key, list_keys, new_key, passing_key, read_keys
from evenhand.studies.store.address import read_address, shown_address
from evenhand.studies.store.schema import KEYS
from tests.cli.shell import NEW, call


def policy():
    return eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1)


def printed(*words):
    result = call(*words)
    return result.output + masked(str(result.exception or ""))


@pytest.fixture
def address(database):
    """A database whose address holds a password, which its server does not ask for."""
    return database.replace("postgres@", "postgres:qz7%40kxw%2F@")


def test_no_command_representation_or_log_shows_the_password_of_a_store(address, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    people = tmp_path / "people.csv"
    people.write_text("id,x,y\n" + "".join(f"p{i},{i},{i % 7}\n" for i in range(30)))
    new = "new", address, *NEW, "--name"
    pairs = "audit-pairs", people, "--store", address, "--features", "x", "--reward", "y"
    report = "report", address, "--out", tmp_path / "report.html", "--study", "ads"
    told = [printed(*words) for words in ((*new, "ads"), (*new, "ads"), (*new, "other", "--json"), pairs, report)]
    told.append((tmp_path / "report.html").read_text())
    for name in ("studies", "verify", "show", "ask", "snapshot", "keys", "erase", "export", "report", "choose"):
        told += [printed(name, address), printed(name, address, "--study", "ads"), printed(name, address, "--json")]
    told += [printed(*words) for name in COMMANDS for words in ((name, address), (name, address, address, address))]
    told += [printed(address), printed("tell", address, "--study", "ads", "1", "1")]
    study = Study.open(address, "ads")
    told += [repr(study), str(study), study._repr_html_(), repr(study.store), study.store.url, caplog.text]
    assert "Created study 'ads'" in told[0]
    assert "next: evenhand ask ADDRESS    then: evenhand tell ADDRESS TICKET" in told[0]
    assert "evenhand serve --store ADDRESS" in told[3], told[3]
    assert "evenhand verify ADDRESS --study ads" in told[5]
    assert any("***" in one for one in told)
    assert not [one for one in told if "qz7" in one or "kxw" in one]


TAKES = [name for name in COMMANDS if any(one.name == "store" and one.required for one in command_of(name).params)]
SERVER, ESCAPE, BLANKS = "write a server as postgresql://", "escape", "leave out the blanks"

WRONG = [
    ("postgresql://me:winter@2026geheim@127.0.0.1:1/db", ESCAPE),
    ("postgresql://me:win@ter?2026geheim@127.0.0.1:1/db", ESCAPE),
    ("postgresql://127.0.0.1:1/db?password=ab&2026geheim", "names with values: name=value"),
    ("host=127.0.0.1 port=1 user=app dbname=shop password=2026geheim", SERVER),
    ("Server=h;Pwd=2026geheim;Database=shop", SERVER),
    ("postgresql:/me:2026geheim@h/db", SERVER),
    ("postgresql://me:winter 2026geheim@h:port/db", ESCAPE),
    ("me:2026geheim@h/db", SERVER),
    ("jdbc:postgresql://me:2026geheim@h/db", SERVER),
    (" postgresql://me:2026geheim@h/db", BLANKS),
    ("ads.evenhand\n", BLANKS),
    ("sqlite://ads.evenhand", "three slashes"),
    ("file:ads.evenhand", "write the path alone"),
    ("rate=0.1.evenhand", "a file with : or = in its name as /folder/name"),
]


@pytest.mark.parametrize(("wrong", "mend"), WRONG, ids=map(repr, dict(WRONG)))
def test_an_address_that_cannot_be_read_is_refused_without_its_password(wrong, mend, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    doors = [lambda it: Store.at(it, create=True), lambda it: Study.create(it, policy()), Study.open]
    for door in (*doors, lambda it: _open(it, None, create=True)):
        for given, said in ((wrong, re.escape(mend)), (Path(wrong), "")):
            with pytest.raises(ArgumentError, match=f"store: expected a path such as .*{said}") as refusal:
                door(given)
            assert "2026geheim" not in str(refusal.value)
            assert refusal.value.__cause__ is None
    schemeless = re.match(r"[\w@]+:\w+@", wrong)
    turn = [one for one, _ in WRONG].index(wrong) % 4
    for command in (TAKES if schemeless else list(COMMANDS))[turn::4]:  # each meets every fourth address
        assert "2026geheim" not in printed(command, wrong), command
    for door in (eh.load, lambda it: eh.save(policy(), it), lambda it: eh.audit.promise(it, arm="a", shares=0.1)):
        for given in (wrong, Path(wrong)) if "geheim" in wrong and not schemeless else ():
            with pytest.raises(EvenhandError) as refusal:
                door(given)
            assert "2026geheim" not in f"{refusal.value}{refusal.value.__cause__}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see http://localhost:8000/docs, or write to a@b.c", "see http://localhost:8000/docs, or write to a@b.c"),
        ("postgresql://me@h:1/db: no entry for 'app@corp'", "postgresql://me@h:1/db: no entry for 'app@corp'"),
        ("postgresql://me:win ter@x y@h/db: 'app@corp'", "postgresql://me:***@h/db: 'app@corp'"),
        ("postgresql://a:x@h/db, postgresql://b:y@h/db", "postgresql://a:***@h/db, postgresql://b:***@h/db"),
        ("(postgresql://a@corp:x@h/db?pwd=ab&cd), and", "(postgresql://a@corp:***@h/db?pwd=***), and"),
        ("got 'host=h password=x'; password=y, or", "got 'host=h password=***'; password=***, or"),
        (r"password='it\'s x' host=h password=a\ b c", "password=*** host=h password=*** c"),
        (r"""got 'host="h" password=\'x y\' a=b'; or""", """got 'host="h" password=***; or"""),
        ("password=ab'cd host=h, Password=x;Server=y", "password=*** host=h, Password=***"),
    ],
)
def test_a_text_is_shown_without_the_passwords_in_it_and_with_all_else(text, shown):
    assert masked(text) == shown
    assert str(EvenhandError(text)) == shown


@pytest.mark.parametrize("words", [["audit", "{}", "--shares", "0.1"], ["{}"], ["ask", "a", "{}", "{}"]], ids=str)
def test_what_the_program_prints_where_it_stops_shows_no_password(words, monkeypatch, capsys):
    address = "postgresql://me:2026geheim@127.0.0.1:1/db"
    monkeypatch.setattr("sys.argv", ["evenhand", *(word.format(address) for word in words)])
    with pytest.raises(SystemExit):
        main()
    said = "".join(capsys.readouterr())
    assert "***@127.0.0.1" in said
    assert "2026geheim" not in said


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "POSTGRESQL", "PostgreSQL+psycopg"])
@pytest.mark.parametrize(
    ("rest", "shown"),
    [
        *((f"app:{password}@app/app", "app:***@app/app") for password in ("app", "2026geheim", "20%32%36geheim")),
        *(
            (f"app@h/db?{query}", "app@h/db?***")
            for query in ("password=2026geheim", "a=b&sslpassword=2026geheim&connect_timeout=5", "pwd=ab&a=2026geheim")
        ),
    ],
)
def test_an_address_is_shown_without_its_password(scheme, rest, shown):
    assert re.sub(r"\+psycopg", "", shown_address(read_address(f"{scheme}://{rest}"))) == f"postgresql://{shown}"


def test_a_question_mark_in_the_address_of_a_file_names_no_other_file(tmp_path):
    for query in ("?1.evenhand", "?mode=ro", "?"):
        with pytest.raises(ArgumentError, match="write a \\? in a file's name as %3F"):
            Study.create(f"sqlite:///{tmp_path}/week{query}", policy(), name="s")
    for number in (1, 2):
        Study.create(f"SQLite:///{tmp_path}/week%3F{number}.evenhand", policy(), name="s").close()
    assert Store.at(f"{tmp_path}/week?1.evenhand").url == f"{tmp_path}/week?1.evenhand"
    assert {path.name for path in tmp_path.glob("*.evenhand")} == {"week?1.evenhand", "week?2.evenhand"}
    with pytest.raises(ArgumentError, match=re.escape("name: expected up to 100 letters")):
        Study.create(f"sqlite:///{tmp_path}/week%3F3.evenhand", policy())


# ---------------------------------------------------------------------- keys


@pytest.fixture
def store():
    return Store.at(":memory:", create=True)


def test_a_secret_has_256_bits_and_is_never_the_same():
    texts = {new_key("read") for _ in range(50)}
    assert len(texts) == 50
    assert {len(text.split("_", 3)[3]) for text in texts} == {43}


def test_the_store_does_not_hold_the_text(store):
    text = add_key(store, "decide")
    with store.reading() as connection:
        row = connection.execute(select(KEYS)).one()
    assert text.split("_", 3)[3] not in repr(row)
    assert len(row.digest) == 64


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
        lambda text: text.replace("_read_", "_decide_"),
        lambda text: "",
        lambda text: text.split("_", 3)[3],
        lambda text: text + "ü",
        lambda text: "eh_read_00000000_" + text.split("_", 3)[3],
    ],
)
def test_a_text_that_differs_is_nobodys(store, change):
    text = add_key(store, "read")
    ring = Ring(read_keys(store))
    assert ring.holder(text).role == "read"
    assert ring.holder(change(text)) is None


@pytest.mark.parametrize("text", ["", "secret", "eh_read_1_short", "eh_boss_1_" + "x" * 43])
def test_a_passing_key_that_is_none_is_refused_without_being_shown(text):
    with pytest.raises(ArgumentError, match="the text of a key") as refused:
        passing_key(text, "the page")
    assert not text or text not in str(refused.value)


def limits(store, text):
    """Return the end and the studies of a key."""
    key = Ring(read_keys(store)).holder(text)
    return key.expires, key.studies


def test_a_key_is_limited_to_studies_and_ends_after_a_duration(store):
    assert limits(store, add_key(store, "read", studies=["b", "a", "a"])) == (None, ("a", "b"))
    key = list_keys(store)[0]
    assert (key.reaches("a"), key.reaches("c")) == (True, False)
    assert limits(store, add_key(store, "read")) == (None, None)
    for end in ("90d", timedelta(days=90)):
        left = limits(store, add_key(store, "read", expires=end))[0] - datetime.now(UTC)
        assert timedelta(days=89, hours=23) < left <= timedelta(days=90)


AT = datetime(2999, 1, 1, 12, tzinfo=UTC)
LAST = datetime(2999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("end", "at"), [(AT, AT), ("2999-01-01T14:00+02:00", AT), ("2999-01-01T12:00", AT), ("2999-12-31", LAST)]
)
def test_a_key_ends_with_a_day_and_at_a_time_with_its_zone(store, end, at):
    assert limits(store, add_key(store, "read", expires=end))[0] == at


NOTES = ["x" * 201, "a\x1b[2Jb", "two\nlines", "\x9b31m", "\u202egnp.exe", "\0", 7]
ENDS = [timedelta(0), "2999-13-01", datetime(2999, 1, 1), "soon"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        *(({"note": note}, "note: expected a text of up to 200 printable characters") for note in NOTES),
        ({"expires": "2020-01-01"}, "expires: expected a time in the future"),
        *(({"expires": end}, "expires: expected a date such as 2030-12-31") for end in ENDS),
        *(({"studies": names}, "studies: expected the names") for names in ([], [""], ["a/b"], [1], "a b")),
    ],
)
def test_what_a_list_cannot_show_and_limits_that_are_none_are_refused(store, given, words):
    with pytest.raises(ArgumentError, match=words):
        add_key(store, "read", **given)
    assert list_keys(store) == []
