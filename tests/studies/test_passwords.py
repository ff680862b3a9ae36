"""A store's address may hold a password: no command, refusal, representation or page shows it."""

import re

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.cli.command import COMMANDS, command_of
from evenhand.errors import ArgumentError, EvenhandError, masked
from evenhand.service.run import _open
from evenhand.studies import Store, Study
from evenhand.studies.store.address import read_address, shown_address
from tests.cli.shell import NEW, call


def policy():
    return eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1)


def printed(*words):
    result = call(*words)
    return result.output + masked(str(result.exception or ""))


@pytest.fixture(params=["qz7kxw", "qz7%40kxw%2F"])
def address(request, database):
    """A database whose address holds a password, which its server does not ask for."""
    return database.replace("postgres@", f"postgres:{request.param}@")


def test_no_command_shows_the_password_of_a_store(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = tmp_path / "people.csv"
    people.write_text("id,x,y\n" + "".join(f"p{i},{i},{i % 7}\n" for i in range(30)))
    told = [
        printed("new", address, "--name", "ads", *NEW),
        printed("new", address, "--name", "ads", *NEW),
        printed("new", address, "--name", "other", *NEW, "--json"),
        printed("audit-pairs", people, "--store", address, "--features", "x", "--reward", "y"),
        printed("report", address, "--out", tmp_path / "report.html", "--study", "ads"),
        (tmp_path / "report.html").read_text(),
    ]
    for name in ("studies", "verify", "show", "ask", "snapshot", "keys", "erase", "export", "report", "choose"):
        told += [printed(name, address), printed(name, address, "--study", "ads"), printed(name, address, "--json")]
    told += [printed(*words) for name in COMMANDS for words in ((name, address), (name, address, address, address))]
    told += [printed(address), printed("tell", address, "--study", "ads", "1", "1")]
    assert "Created study 'ads'" in told[0]
    assert "Created study 'audit'" in told[3], told[3]
    assert any("***" in one for one in told)
    assert not [one for one in told if "qz7" in one or "kxw" in one]


def test_no_representation_or_log_shows_the_password_of_a_store(address, caplog):
    study = Study.create(address, policy(), name="ads")
    shown = [repr(study), str(study), study._repr_html_(), repr(study.store), study.store.url, caplog.text]
    with pytest.raises(ArgumentError, match="already exists") as refusal:
        Study.create(address, policy(), name="ads")
    assert not [one for one in [*shown, str(refusal.value)] if "qz7" in one or "kxw" in one]
    study.close()


TAKES = [name for name in COMMANDS if any(one.name == "store" and one.required for one in command_of(name).params)]
WRONG = {
    "an @ in the password": "postgresql://me:winter@2026geheim@127.0.0.1:1/db",
    "an @ and a slash": "postgresql://me:win@ter/2026geheim@127.0.0.1:1/db",
    "an @ and a question mark": "postgresql://me:win@ter?2026geheim@127.0.0.1:1/db",
    "an @ behind the question mark": "postgresql://127.0.0.1:1/db?password=winter@2026geheim",
    "keys and values": "host=127.0.0.1 port=1 user=app dbname=shop password=2026geheim",
    "quoted values": "dbname = 'shop' password = 'winter 2026geheim'",
    "capital keys": "PASSWORD=2026geheim HOST=h",
    "no slashes": "postgresql:me:2026geheim@h/db",
    "one slash": "postgresql:/me:2026geheim@h/db",
    "no scheme": "me:2026geheim@h/db",
    "Java": "jdbc:postgresql://me:2026geheim@h/db",
    "another database": "MYSQL://me:2026geheim@h/db",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_address_that_cannot_be_read_is_refused_without_its_password(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for door in (read_address, lambda it: Store.at(it, create=True), lambda it: Study.create(it, policy()), Study.open):
        with pytest.raises(ArgumentError, match="store: expected a path such as") as refusal:
            door(wrong)
        assert "2026geheim" not in str(refusal.value)
    with pytest.raises(ArgumentError, match="store: expected a path such as"):
        _open(wrong, None, create=True)
    for command in COMMANDS if wrong != WRONG["no scheme"] else TAKES:
        assert "2026geheim" not in printed(command, wrong), command
    assert list(tmp_path.iterdir()) == []


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
    "rest",
    [
        "app:2026geheim@h/db",
        "app:20%32%36geheim@h/db",
        "app@h/db?password=2026geheim",
        "app@h/db?sslmode=require&sslpassword=2026geheim&connect_timeout=5",
    ],
)
def test_an_address_is_shown_without_its_password(scheme, rest):
    shown = shown_address(read_address(f"{scheme}://{rest}"))
    assert shown.startswith("postgresql://app")
    assert "@h/db" in shown
    assert "***" in shown
    assert "geheim" not in shown


def test_a_password_that_is_the_name_of_the_user_is_masked_and_the_name_is_not():
    assert shown_address(read_address("postgresql://app:app@app/app")) == "postgresql://app:***@app/app"


def test_a_question_mark_in_the_address_of_a_file_names_no_other_file(tmp_path):
    for query in ("?1.evenhand", "?mode=ro", "?"):
        with pytest.raises(ArgumentError, match="write a \\? in a file's name as %3F"):
            Study.create(f"sqlite:///{tmp_path}/week{query}", policy(), name="s")
    for number in (1, 2):
        Study.create(f"SQLite:///{tmp_path}/week%3F{number}.evenhand", policy(), name="s").close()
    assert {path.name for path in tmp_path.glob("*.evenhand")} == {"week?1.evenhand", "week?2.evenhand"}
    with pytest.raises(ArgumentError, match=re.escape("name: expected up to 100 letters")):
        Study.create(f"sqlite:///{tmp_path}/week%3F3.evenhand", policy())


@pytest.mark.parametrize("door", [Study.create, Study.open])
def test_a_path_in_bytes_is_refused_by_name(door):
    with pytest.raises(EvenhandError, match=r"store: expected a path such as .*os\.fsdecode"):
        door(b"ads.evenhand", *([policy()] if door == Study.create else []))


@pytest.mark.parametrize("query", ["2026geheim", "a=1&2026geheim", "sslmode=require&"])
def test_a_name_without_a_value_in_an_address_is_refused(query):
    with pytest.raises(ArgumentError, match="after the \\? stand names with values") as refusal:
        Store.at(f"postgresql://me@h/db?{query}")
    assert "2026geheim" not in str(refusal.value)
