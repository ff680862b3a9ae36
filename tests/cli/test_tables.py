"""Tables as people have them: what a file does not say is found out and said, and never misread in silence."""

import bz2
import gzip
import io
import lzma

import pandas as pd
import pyarrow as pa
import pytest

from evenhand.cli.inputs.inputs import read_table_options
from evenhand.cli.inputs.tables import GIVEN, is_table, read_table
from evenhand.data.files import TableOptions
from evenhand.data.tables import cells, column, numbers
from evenhand.errors import ArgumentError, TableError
from tests.cli.shell import answer, as_json, asked, refused


@pytest.fixture
def write(tmp_path):
    def written(text, name="t.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return written


@pytest.fixture
def given():
    tokens = []
    yield lambda **form: tokens.append(GIVEN.set(TableOptions(**form)))
    for token in reversed(tokens):
        GIVEN.reset(token)


def test_a_plain_csv_is_read_without_a_word(write, capfd):
    frame = read_table(write("arm,reward\n01,0.5\nNA,1\n"), text=["arm"])
    assert column(frame, "arm").tolist() == ["01", "NA"]
    assert numbers(frame, "reward").tolist() == [0.5, 1.0]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("sep", "said"), [(";", "';'"), ("\t", "tab"), ("|", "'|'"), (",", None)])
def test_the_separator_is_found_and_said(sep, said, write, capfd):
    path = write(f'arm{sep}note{sep}reward\na{sep}"x,y;z|\tq"{sep}0.5\nb{sep}{sep}1\n')
    frame = read_table(path, text=["arm"])
    assert frame["note"].tolist()[0] == "x,y;z|\tq"
    assert numbers(frame, "reward").tolist() == [0.5, 1.0]
    words = f"Read {path}: 2 rows, separator {said}, decimal '.', encoding UTF-8\n" if said else ""
    assert capfd.readouterr().err == words


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "utf-16"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32"),
        ("cp1252", "Windows-1252 (assumed; --encoding names another)"),
    ],
)
def test_the_encoding_is_found_and_said(encoding, said, write, capfd):
    frame = read_table(write("Ort;Größe\nMünchen;1\nKöln;2\n", encoding=encoding), text=["Ort"])
    assert column(frame, "Ort").tolist() == ["München", "Köln"]
    assert numbers(frame, "Größe").tolist() == [1.0, 2.0]
    assert f"encoding {said}\n" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("ort;x\nJosé;1\nKöln;2\nMünchen;3\n".encode().replace(b"\xc3\xb6", b"\xf6"), "is UTF-8 but line 3 is damaged"),
        ("ort;x\nПривет;1\nМосква;2\n".encode("cp1251"), "does not look like Windows-1252; pass --encoding"),
        (b"ort;x\nM\x81ller;1\n", "line 2 is neither UTF-8 nor Windows-1252; pass --encoding"),
    ],
    ids=["damaged", "cyrillic", "undefined"],
)
def test_an_encoding_that_would_garble_names_is_refused(content, words, write, given):
    with pytest.raises(TableError, match=words):
        read_table(write(content), text=["ort"])
    given(encoding="cp1251" if b"\x81" not in content else "cp437")
    assert column(read_table(write(content), text=["ort"]), "ort").size


def test_german_numbers_days_and_empty_cells(write, capfd):
    text = "wann;menge;preis;punkte;rest\n31.12.2025;1.234,5;0,25;1.250;\n1.1.2026 9:30;7;1;2.000;x\n;;;;\n"
    frame = read_table(write(text, encoding="cp1252"))
    assert numbers(frame, "menge").tolist() == [1234.5, 7.0]
    assert numbers(frame, "preis").tolist() == [0.25, 1.0]
    assert numbers(frame, "punkte").tolist() == [1250.0, 2000.0]
    assert frame["wann"].tolist() == ["2025-12-31", "2026-01-01 09:30"]
    said = capfd.readouterr().err
    assert "2 rows, separator ';', decimal ','" in said
    assert "dates in 'wann' are read as 2025-12-31 and so on" in said
    assert "1 empty row at the end left out" in said
    with pytest.raises(TableError, match="column 'rest', row 1: the cell is empty"):
        cells(frame, "rest")


@pytest.mark.parametrize(
    ("column_of", "read"),
    [
        (["0,5", "1", "0,25"], [0.5, 1.0, 0.25]),
        (["1.234,56", "-0,5", ",5"], [1234.56, -0.5, 0.5]),
        (["1 234,5", "1\u00a0234,5", "1'000,0"], [1234.5, 1234.5, 1000.0]),
        (["1,234.56", "0.5", "12"], [1234.56, 0.5, 12.0]),
        (["1,5e3", "2", "3"], [1500.0, 2.0, 3.0]),
    ],
)
def test_numbers_of_one_column_are_read(column_of, read, write):
    rows = "".join(f"a;{cell}\n" for cell in column_of)
    assert numbers(read_table(write(f"arm;x\n{rows}"), text=["arm"]), "x").tolist() == read


def test_a_column_of_numbers_with_some_text_is_refused_by_its_first_such_row(write):
    rows = "".join(f"a;0,{place + 10};x\n" for place in range(95)) + "a;k.A.;x\n" * 5
    frame = read_table(write(f"arm;gewinn;rest\n{rows}"), text=["arm"])
    assert column(frame, "rest").tolist() == ["x"] * 100
    with pytest.raises(TableError, match=r"column 'gewinn', row 96: 'k\.A\.' is not a number with the decimal sign"):
        numbers(frame, "gewinn")
    with pytest.raises(TableError, match="row 96"):
        column(frame, "gewinn")


@pytest.mark.parametrize("cell", ["1,234", "1.234"])
def test_a_fraction_that_may_be_thousands_is_refused_until_the_user_says(cell, write, given):
    path = write(f"arm;x\na;{cell}\nb;{cell}\n")
    both = "1.234 or 1234" if cell[1] == "," else "1234 or 1.234"
    words = f"column 'x', row 1: '{cell}' may be {both}; pass --decimal , for the first, --decimal . for the second"
    with pytest.raises(TableError, match=words):
        numbers(read_table(path), "x")
    given(decimal=cell[1])
    assert numbers(read_table(path), "x").tolist() == [1.234, 1.234]
    given(decimal="." if cell[1] == "," else ",")
    assert numbers(read_table(path), "x").tolist() == [1234.0, 1234.0]


def test_another_column_shows_what_a_column_of_thousands_means(write):
    frame = read_table(write("a;b\n1.234;0,5\n2.500;1\n"))
    assert numbers(frame, "a").tolist() == [1234.0, 2500.0]
    frame = read_table(write("a;b\n1,234;0.5\n2,500;1\n"))
    assert numbers(frame, "a").tolist() == [1234.0, 2500.0]
    both = read_table(write("a;b;c\n1.234;0,5;0.5\n2.500;1;1\n"))
    assert numbers(both, "b").tolist() == [0.5, 1.0]
    assert numbers(both, "c").tolist() == [0.5, 1.0]
    with pytest.raises(TableError, match=r"column 'a', row 1: '1\.234' may be 1234 or 1.234"):
        numbers(both, "a")


def test_what_is_given_is_not_guessed(write, given):
    path = write("arm;x\na;0,5\nb;0.5\n")
    given(decimal=",")
    with pytest.raises(TableError, match=r"column 'x', row 2: '0\.5' is not a number with the decimal sign ','"):
        numbers(read_table(path), "x")
    given(sep=",")
    with pytest.raises(TableError, match="looks separated by ';'"):
        read_table(path)
    given(sep="|")
    assert read_table(path).columns.tolist() == ["arm;x"]


def test_one_column_needs_no_separator(write, capfd):
    assert read_table(write("arm\na\nb\n"), text=["arm"])["arm"].tolist() == ["a", "b"]
    assert capfd.readouterr().err == ""
    assert numbers(read_table(write("x\n0,5\n1\n")), "x").tolist() == [0.5, 1.0]
    assert "one column of numbers is assumed; pass --sep ," in capfd.readouterr().err


def test_a_separator_that_could_be_another_is_said(write, capfd):
    frame = read_table(write("a,b;c\n1,2;3\n"))
    assert frame.columns.tolist() == ["a", "b;c"]
    assert "the separator is assumed; pass --sep ';' if it is another" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("days", "read"),
    [
        (["31/12/2025", "1/2/2026"], ["2025-12-31", "2026-02-01"]),
        (["12/31/2025", "1/2/2026"], ["2025-12-31", "2026-01-02"]),
        (["1/2/2025", "3/4/2026"], ["1/2/2025", "3/4/2026"]),
        (["31.02.2025", "1.1.2026"], ["31.02.2025", "1.1.2026"]),
    ],
)
def test_days_are_turned_only_where_their_order_is_clear(days, read, write):
    frame = read_table(write("when,x\n" + "".join(f"{day},1\n" for day in days)))
    assert frame["when"].tolist() == read


FRAME = pd.DataFrame({"arm": ["a", "b", "a"], "reward": [0.5, 1.0, 0.0]})


def _written(kind):
    table, buffer = pa.Table.from_pandas(FRAME), io.BytesIO()
    if kind == "arrows":
        with pa.ipc.new_stream(buffer, table.schema) as stream:
            stream.write_table(table)
    elif kind in ("arrow", "feather"):
        FRAME.to_feather(buffer)
    elif kind in ("jsonl", "ndjson"):
        buffer.write(FRAME.to_json(orient="records", lines=True).encode())
    elif kind == "parquet":
        FRAME.to_parquet(buffer)
    else:
        buffer.write(FRAME.to_csv(index=False, sep={"tsv": "\t"}.get(kind, ",")).encode())
    return buffer.getvalue()


KINDS = ["csv", "tsv", "parquet", "arrow", "feather", "arrows", "jsonl", "ndjson"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_is_read_by_its_ending_packed_or_not(kind, tmp_path):
    content = _written(kind)
    packed = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    for ending, pack in packed.items():
        path = tmp_path / f"t.{kind}{ending}"
        path.write_bytes(pack(content))
        assert is_table(str(path))
        pd.testing.assert_frame_equal(read_table(path, text=["arm"]), FRAME, check_dtype=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_read_whatever_its_format(kind, pack):
    audit = ("audit", "-", "--shares", "0.3", "--tolerance", "1")
    assert as_json(*audit, stdin=pack(_written(kind)))["rounds"] == 3


def test_the_format_of_a_file_with_another_ending_may_be_given(write, given):
    path = write('{"arm": "01", "reward": 1}\n\n{"arm": "b"}\n', name="log.txt")
    given(format="jsonl")
    frame = read_table(path)
    assert frame["arm"].tolist() == ["01", "b"]
    with pytest.raises(TableError, match="column 'reward', row 2: the cell is empty"):
        numbers(frame, "reward")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.arrow", b"ARROW1 no more", "cannot be read as Arrow"),
        ("t.parquet", b"item\na\n", "cannot be read as Parquet"),
        ("t.csv.gz", b"item\na\n", "cannot be read as CSV"),
        ("t.csv.xz", b"item\na\n", "cannot be read as CSV"),
        ("t.csv", b'a;b\n1;"2\n', "a quotation mark is opened in row 1 and never closed"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(name, content, words, write):
    with pytest.raises(TableError, match=words):
        read_table(write(content, name=name))


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("sep", "ab", "--sep: expected one character such as ';'"),
        ("decimal", ";", "--decimal: expected ',' or '.', got ';'"),
        ("encoding", "utf9", "--encoding: expected the name of an encoding, got 'utf9'; did you mean 'utf"),
        ("encoding", "rot13", "--encoding: expected the name of an encoding, got 'rot13'; such as cp1252"),
        ("format", "parket", "--format: expected one of csv,parquet,arrow,jsonl,json, got 'parket'; did you mean"),
    ],
)
def test_a_form_that_says_nothing_is_refused(option, value, words, write):
    refused(ArgumentError, words, "audit", write("arm\na\n"), "--shares", "0.1", f"--{option}", value)


def test_a_form_may_be_said_in_words():
    assert read_table_options("tab", ",", "latin1", "csv") == TableOptions("\t", ",", "latin1", "csv")
    assert read_table_options("\\t", "", "", "") == TableOptions("\t")
    assert read_table_options("semicolon", "", "", "").sep == ";"


def test_german_shares_rewards_and_contexts_of_a_study(write):
    shares = write("arm;share\nBücher;0,25\nCDs;1/3\n", name="anteile.csv", encoding="cp1252")
    answer("new", "ads.evenhand", "-p", "deadline-learn", "--shares", shares)
    one, other = (decision["id"] for decision in asked("ads.evenhand", "--count", "2"))
    told = write(f"ticket;reward\n{one};0,5\n{other};1\n", name="gewinne.csv")
    assert as_json("tell", "ads.evenhand", "--file", told)["told"] == 2
    changed = write("arm;share\nBücher;0,5\nCDs;0,25\n", name="neu.csv")
    assert as_json("change", "ads.evenhand", "--shares", changed)["status"] == "changed"


def test_german_weights_are_counted_as_they_are_meant(write):
    rows = write("Anbieter;Tokens;Kosten\nA;500;0,5\nB;1.000;0,5\nA;500;0,5\n")
    ask = ("--arm", "Anbieter", "--shares", "A=50%", "--tolerance", 100, "--weight")
    found, paid = as_json("audit", rows, *ask, "Tokens", code=1), as_json("audit", rows, *ask, "Kosten")
    assert (found["arms"][0]["weight"], found["worst_shortfall"], found["kept"]) == (1000, 250, False)
    assert (paid["arms"][0]["weight"], paid["kept"]) == (1, True)
    alone = write("Anbieter;Tokens\nA;500\nB;1.000\nA;500\n")
    refused(TableError, "may be 1000 or 1; pass --decimal , for the first", "audit", alone, *ask, "Tokens")
