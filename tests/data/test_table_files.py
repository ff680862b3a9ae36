"""One reader of tables: what other people's files mean is read, or refused for what it is, at every door."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import evenhand as eh
from evenhand.cli.inputs.inputs import named_shares
from evenhand.cli.inputs.tables import read_texts
from evenhand.data.csv_files import EVERY
from evenhand.data.files import read_table
from evenhand.data.tables import cells, column, numbers
from evenhand.errors import ArgumentError, TableError
from evenhand.sampling.labelling.label_files import read_labels
from evenhand.studies.files import read_csv
from tests.cli.shell import answer, asked, call, refused
from tests.cli.test_tables import write
from tests.quotas.test_file_audit import same

__all__ = ["write"]


def test_text_is_read_exactly_as_written(write):
    frame = read_table(write('arm,x\n01,1\n1,2\n"007",3\nNA,4\nnan,5\n1.0,NA\n'), text=["arm", "absent"])
    assert column(frame, "arm").tolist() == ["01", "1", "007", "NA", "nan", "1.0"]
    assert np.isnan(frame["x"].iloc[-1])


def test_only_an_empty_cell_of_text_is_empty(write):
    frame = read_table(write("arm,x\na,1\n,2\n"), text=["arm"])
    with pytest.raises(TableError, match="column 'arm', row 2: the cell is empty"):
        column(frame, "arm")


def test_a_doubled_column_is_refused_where_it_is_wanted(write):
    frame = read_table(write("item,item,click,\na,b,1,z\n"), text=["item"])
    assert numbers(frame, "click").tolist() == [1.0]
    with pytest.raises(TableError, match="column 'item': appears 2 times"):
        column(frame, "item")


def test_a_column_is_one_of_texts_or_of_numbers_however_long_it_is(write):
    """Read part by part, 1 would be a number where no other part of the column holds a text."""
    frame = read_table(write("arm,place\n" + "a,1\n" * 200_000 + "b,1\nb,x\n"), text=["arm"])
    assert set(column(frame, "place")) == {"1", "x"}


ROWS = {"round": ["1", "2", "3"], "arm": ["a", "b", "a"], "reward": ["0", "1", "0.5"]}
PLAIN = "round,arm,reward\n1,a,0\n2,b,1\n3,a,0.5\n"
MEANT = {
    "a comma at the end of each row": "round,arm,reward\n1,a,0,\n2,b,1,\n3,a,0.5,\n",
    "and of the header": "round,arm,reward,\n1,a,0,\n2,b,1,\n3,a,0.5,\n",
    "at the end of some rows": "round,arm,reward\n1,a,0\n2,b,1, \n3,a,0.5,\n",
    "several empty columns": "round,arm,reward\n1,a,0,,,\n2,b,1,,,\n3,a,0.5,,,\n",
    "a tab at the end": "round\tarm\treward\n1\ta\t0\t\n2\tb\t1\t\n3\ta\t0.5\t\n",
    "row numbers of pandas": ",round,arm,reward\n0,1,a,0\n1,2,b,1\n2,3,a,0.5\n",
    "row numbers of R": '"","round","arm","reward"\n"1",1,"a",0\n"2",2,"b",1\n"3",3,"a",0.5\n',
    "comments above": "# exported 2025-12-01, by hand\n\n# in euros\nround,arm,reward\n1,a,0\n2,b,1\n3,a,0.5\n",
    "a comment that a spreadsheet filled up": "# exported,,\nround,arm,reward\n1,a,0\n2,b,1\n3,a,0.5\n",
    "empty rows above": ",,\n\nround,arm,reward\n1,a,0\n2,b,1\n3,a,0.5\n",
    "comments and the line of a spreadsheet": "# a\nsep=;\n# b\nround;arm;reward\n1;a;0\n2;b;1\n3;a;0.5\n",
    "a comment at the end": "round,arm,reward\r\n1,a,0\r\n2,b,1\r\n3,a,0.5\r\n# end of log,",
    "a comment below the header": "round;arm;reward\n  # no euros\n1;a;0\n2;b;1\n#\n3;a;0.5\n",
    "blanks around names": " round ,arm , reward\n1,a,0\n2,b,1\n3,a,0.5\n",
    "a blank behind each comma": 'round, arm, reward\n1, "a", 0\n2, b, 1\n3, a, 0.5\n',
    "a blank behind each comma of the rows": "round,arm,reward\n1, a, 0\n2, b, 1\n3, a, 0.5\n",
    "lines of an old Mac": "round,arm,reward\r1,a,0\r2,b,1\r3,a,0.5\r",
    "a mark of byte order": "\ufeffround,arm,reward\n1,a,0\n2,b,1\n3,a,0.5\n",
    "an array of objects": json.dumps([dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]),
    "objects over several lines": '{\n "round": 1, "arm": "a",\n "reward": 0}\n{"round": 2, "arm": "b", "reward": 1}'
    '{"round": 3, "arm": "a", "reward": 0.5}',
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("text", [PLAIN, *MEANT.values()], ids=["plain", *MEANT])
def test_what_other_programs_write_is_read_as_they_mean_it(text, encoding, write):
    said = []
    frame = read_table(write(text, name="log", encoding=encoding), text=EVERY, say=said.append)
    assert list(frame.columns) == list(ROWS)
    frame["reward"] = numbers(frame, "reward")
    assert frame.astype({"round": str}).to_dict("list") == ROWS | {"reward": [0.0, 1.0, 0.5]}
    assert frame.index.tolist() == [0, 1, 2]


NOT_MEANT = {
    "a fraction with a comma": ("arm,share\n1,0,5\n2,0,25\n", "row 1 has 3 cells, more cells than the header"),
    "words between blanks": ("arm reward\na  1\nb  2\n", "looks separated by blanks; pass --sep ' '"),
    "R's table with blanks": ('"arm" "x"\n"1" "a b" 0.5\n"2" "b" 1\n', "looks separated by blanks"),
    "one wide row": ("arm,x\na,1\nb,2\nc,3,4\n", r"row 3 has 3 cells, more cells than the header \(2\); name every"),
    "a very wide row": ("# x\narm,x\na,1\nb,2\nc,3,4,5,6\n", r"line 5 has 5 cells, more cells than the header \(2\)"),
    "a line above rows": ("|1x3 Valid\n1, a, 2\n3, b, 4\n", "line 1 is not a header, as each line below has 3 cells"),
    "words above the header": ("Statement of May\n\narm,x\na,1\n", "drop lines above the header"),
    "a comment that may be the header": ("# arm, x\na,1\nb,2\n", "line 1 may be a comment, or the header"),
    "a word that may be the header": ("#x\n0.5\n1\n", "line 1 may be a comment, or the header"),
    "columns in JSON": ('{"arm": {"0": "a"}, "x": {"0": 1}}', r"expected an array of objects, \[\{\.\.\.\}"),
    "rows inside an object": ('{"rows": [{"arm": "a"}], "total": 1}', "expected an array of objects"),
    "lists in JSON": ('[{"arm": "a"}, ["b"]]', r"row 2: expected an object \{\.\.\.\}, got \['b'\]"),
    "commas between lines": ('{"arm": "a"},\n{"arm": "b"}', "cannot be read as JSON: .* line 1 column 13"),
    "half a letter": ('[{"arm": "\\ud800"}]', "cannot be read as JSON: 'utf-8' codec can't encode"),
    "a name twice": ('{"arm": "a"}\n{"arm": "a", "arm": "b"}', "line 2: cannot be read as JSON: 'arm' appears"),
    "not UTF-8": ("arm,x\nJosé,1\n".encode("latin-1"), "is not UTF-8; save it as CSV in UTF-8"),
    "JSON that is not UTF-8": ('[{"arm":\n"José"}]'.encode("latin-1"), "line 2 is not UTF-8; save it as JSON in UTF-8"),
    "no row": ("arm,x\n", "no rows"),
    "nothing": ("", "the file is empty"),
    "comments alone": ("# nothing\n", "the file is empty"),
}


@pytest.mark.parametrize(("text", "words"), NOT_MEANT.values(), ids=NOT_MEANT)
def test_what_could_mean_something_else_is_refused_for_that(text, words, write):
    with pytest.raises(TableError, match=words):
        read_table(write(text, name="log"), text=["arm"])


@pytest.mark.parametrize("path", [None, 3, b"log.csv", ["log.csv"]], ids=repr)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(TableError, match="path: expected the path of a file, got"):
        read_table(path)


def test_a_column_without_a_name_is_nobodys(write):
    """A part of a shuffled frame has such row numbers: they are no feature, and no rank."""
    frame = read_table(write(",arm,x\n7,a,0.5\n3,b,1\n"), text=["arm"])
    assert numbers(frame, "x").tolist() == [0.5, 1.0]
    for features in (frame, frame.drop(columns="arm"), frame.iloc[[1, 0]].reset_index(drop=True)):
        with pytest.raises(TableError, match="column 1 has no name in the header; name it"):
            cells(features, "Unnamed: 0")


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_a_line_ends_where_files_end_lines_alone(sign, kind, write):
    texts = [f"one{sign}line", sign, f"{sign}a;b{sign}"]
    buffer = io.StringIO()
    frame = pd.DataFrame({"id": [1, 2, 3], "text": texts})
    if kind == "csv":
        frame.to_csv(buffer, index=False)
    else:
        frame.to_json(buffer, orient="records", lines=kind == "jsonl", force_ascii=False)
    assert read_table(write(buffer.getvalue(), name=f"t.{kind}"), text=["text"])["text"].tolist() == texts


COMMENTED = {
    "rows of as many cells": ("x,y\n#1,2\n# a,b\n", [["#1", "2"], ["# a", "b"]]),
    "a cell that goes on": ('x,y\n"a\n# b",1\n"#c\n#d",2\n', [["a\n# b", "1"], ["#c\n#d", "2"]]),
    "one column": ("x\n# a\nb\n", [["# a"], ["b"]]),
    "one other cell that is not empty": ("x,y,z\n#1,2\na,b,c\n", [["#1", "2", ""], ["a", "b", "c"]]),
    "as many cells, empty ones": ("x,y,z\n#1,,\na,b,c\n", [["#1", "", ""], ["a", "b", "c"]]),
    "a tab at the end": ("x\ty\n#1\t\na\tb\n", [["#1", ""], ["a", "b"]]),
    "a tab at the beginning": ("x\ty\tz\n\t#1\na\tb\tc\n", [["", "#1", ""], ["a", "b", "c"]]),
    "a quoted cell": ('x,y\n"#1"\n"# b"\n#c,"d,e"\n', [["#1", ""], ["# b", ""], ["#c", "d,e"]]),
}


@pytest.mark.parametrize(("text", "rows"), COMMENTED.values(), ids=COMMENTED)
def test_a_row_that_begins_like_a_comment_stays(text, rows, write):
    assert read_table(write(text), text=EVERY).fillna("").to_numpy().tolist() == rows


AT_EVERY_DOOR = {
    "a table": lambda file: read_table(file, text=EVERY),
    "an audit": lambda file: eh.audit.promise(file, arm="arm", shares=0, caps=1),
    "an export": read_csv,
    "labels": lambda file: read_labels(file, None, "labels"),
}


@pytest.mark.parametrize("door", AT_EVERY_DOOR)
@pytest.mark.parametrize("line", ["#sale", "# sale", "# sale,"])
def test_what_may_be_a_comment_or_a_row_is_refused_where_there_is_much_of_it(line, door, write):
    log = write("arm,reward,note\n" + f"plain,0.4,ok\n{line}\n" * 30)
    with pytest.raises(TableError, match=r"30 lines among the rows begin with # and may be .*quotation marks"):
        AT_EVERY_DOOR[door](log)


@pytest.mark.parametrize("door", ["a table", "an audit"])
def test_a_few_comments_are_left_out_and_a_warning_says_so(door, write):
    log = write("arm,reward,note\n" + "plain,0.4,ok\n" * 30 + "# end of log\n#\n")
    with pytest.warns(UserWarning, match=r"t\.csv: 2 comment lines \(# ...\) among the rows left out") as said:
        found = AT_EVERY_DOOR[door](log)
    assert [one.filename for one in said] == [__file__]
    assert (found.rounds if door == "an audit" else len(found)) == 30


def test_rows_that_begin_like_a_comment_are_audited_as_those_of_a_frame(write):
    log = write("arm,reward,note\n" + "plain,0.4,ok\n#sale,0.9\n" * 30)
    assert not eh.audit.promise(log, arm="arm", shares={"plain": 0.6, "#sale": 0}).kept


def test_a_row_above_the_others_is_no_comment_where_no_header_is(write):
    log = write("#sale,0.9\n# by hand\nplain,0.4\n#sale,0.9\n")
    refused(TableError, "line 1 may be a comment, or a row", "audit", log, "--header", "arm,reward", "--shares", "0")


def test_comments_are_left_out_of_long_files_too(write):
    rows = "".join(f"{row},a\n" for row in range(60_000))
    said = []
    frame = read_table(write(f"# above\nid,arm\n# units\n{rows}# half\n{rows}# end\n"), say=said.append)
    assert frame["id"].dtype.kind == "i"
    assert frame["id"].tolist() == [*range(60_000)] * 2
    assert said[0].endswith("; 3 comment lines (# ...) among the rows left out")


@pytest.mark.parametrize("above", ["", "# by hand\n", "# by, hand, too\n\n"])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_a_column_of_row_numbers_may_be_called_by_their_sign(sep, above, write):
    rows = above + "#,arm,reward\n\n1,a,0.5\n2,b,1\n".replace(",", sep)
    assert read_table(write(rows), text=["arm"]).to_dict("list") == {"#": [1, 2], "arm": ["a", "b"], "reward": [0.5, 1]}


@pytest.mark.parametrize("ending", [".txt", ".csv", ""])
@pytest.mark.parametrize("kind", ["json", "parquet", "feather"])
def test_the_first_bytes_are_believed_where_an_ending_means_any_text(kind, ending, tmp_path):
    frame, path = pd.DataFrame({"arm": ["a", "b"], "x": [1, 2]}), tmp_path / f"t{ending}"
    getattr(frame, f"to_{kind}")(path, **({"orient": "records"} if kind == "json" else {}))
    pd.testing.assert_frame_equal(read_table(path), frame, check_dtype=False)


LARGE = 2**53 + 1
GAPS = pa.table({"id": [LARGE, None, 7], "n": [1, None, 7], "u": pa.array([2**63 + 1, None, 7], pa.uint64())})
ROW_BY_ROW = [json.dumps({name: cell for name, cell in row.items() if cell}) for row in GAPS.to_pylist()]
WHOLE = {
    "json": lambda path: path.write_text(json.dumps(GAPS.to_pylist())),
    "jsonl": lambda path: path.write_text("\n".join(ROW_BY_ROW)),
    "parquet": lambda path: parquet.write_table(GAPS, path),
    "arrow": lambda path: feather.write_feather(GAPS, path),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_beside_an_empty_cell_stay_what_they_are(kind, tmp_path):
    WHOLE[kind](tmp_path / f"t.{kind}")
    frame = read_table(tmp_path / f"t.{kind}")
    assert frame["n"].dtype == float
    assert [column(frame.dropna(), name).tolist() for name in ("id", "n")] == [[LARGE, 7], [1, 7]]
    texts = {"id": [str(LARGE), "", "7"], "n": ["1", "", "7"], "u": [str(2**63 + 1), "", "7"]}
    assert read_texts(tmp_path / f"t.{kind}").to_dict("list") == texts


def test_the_rows_of_a_frame_that_pandas_saved_are_numbered_anew(tmp_path):
    frame = pd.DataFrame({"arm": ["a", "b", "c"]}, index=pd.Index([7, 3, 5], name="user"))
    frame.to_parquet(tmp_path / "named.parquet")
    frame.rename_axis(None).to_feather(tmp_path / "plain.feather")
    assert read_table(tmp_path / "named.parquet").to_dict("list") == {"user": [7, 3, 5], "arm": ["a", "b", "c"]}
    plain = read_table(tmp_path / "plain.feather")
    assert (plain.index.tolist(), plain["arm"].tolist()) == ([0, 1, 2], ["a", "b", "c"])


def test_a_row_of_lists_in_an_array_is_a_row(write):
    assert read_table(write('[{"arm": ["a", "b"]}]', name="t.json"))["arm"].tolist() == [["a", "b"]]


def test_endings_in_upper_case_are_known(tmp_path):
    path = tmp_path / "LOG.PARQUET"
    pd.DataFrame({"arm": [1, 2]}).to_parquet(path)
    assert column(read_table(path), "arm").tolist() == [1, 2]


def test_files_of_any_format_are_audited_by_name(write, tmp_path):
    rows = [{"arm": "ab"[row % 3 == 0], "round": row} for row in range(30)]
    for part in range(2):
        mine = rows[15 * part :][:15]
        write(json.dumps(mine), name=f"p{part}.json")
        write("\n".join(map(json.dumps, mine)), name=f"p{part}.txt")
        pd.DataFrame(mine).to_feather(tmp_path / f"p{part}.arrow")
    frame = pd.DataFrame(rows)
    frame.to_parquet(tmp_path / "all")
    expected = eh.audit.promise(frame, arm="arm", shares=0.4)
    for pattern in ("p*.json", "p*.txt", "p*.arrow", "all"):
        same(eh.audit.promise(tmp_path / pattern, arm="arm", shares=0.4), expected)
    with pytest.raises(TableError, match="column: expected one of"):
        eh.audit.promise(tmp_path / "p0.json", arm="item", shares=0.4)


def test_segments_of_a_csv_are_read_as_written(write):
    log = write("arm,place\n" + "a,01\nb,01\na,1\nb,1\n" * 5)
    found = json.loads(answer("audit", log, "--shares", "0.4", "--segment", "place", "--tolerance", "2", "--json"))
    assert {row["segment"] for row in found["promises"]} == {"01", "1"}


LATIN = {
    "shares": ("audit", "{log}", "--shares", "{shares}", "--tolerance", "1"),
    "a promise": ("audit", "{log}", "--promise", "{promise}"),
    "a promise in TOML": ("audit", "{log}", "--promise", "{toml}"),
}


@pytest.mark.parametrize("command", LATIN.values(), ids=LATIN)
def test_the_encoding_that_is_given_counts_for_every_file(command, write):
    files = {
        "log": write("arm\nbücher\ncds\n", "log.csv", "latin-1"),
        "shares": write('{"bücher": 0.3, "cds": 0.2}', "s.json", "latin-1"),
        "promise": write('{"shares": {"bücher": 0.3}, "tolerance": 1}', "p.json", "latin-1"),
        "toml": write('tolerance = 1\n[shares]\n"bücher" = 0.3\n', "p.toml", "latin-1"),
    }
    words = [word.format(**files) for word in command]
    refused(TableError, "is not UTF-8; pass", *words)
    assert call(*words, "--encoding", "latin-1").exit_code == 0


def test_shares_and_contexts_are_tables_in_json_too(tmp_path, write):
    shares = write('[{"arm": "a", "share": 0.25}, {"arm": "b", "share": "1/3"}]', name="shares.json")
    assert named_shares(str(shares)) == {"a": 0.25, "b": "1/3"}
    assert named_shares(str(write('{"a": 0.25}', name="object.json"))) == {"a": 0.25}
    store = tmp_path / "s.evenhand"
    answer("new", store, "-p", "top-interval", "--groups", "ann=F,bob=M", "--seed", "2")
    rows = [{"arm": "bob", "x": 0.0, "y": 1.0}, {"arm": "ann", "x": 1.0, "y": 0.5}]
    for given in (write(json.dumps(rows), name="c.json"), json.dumps(rows)):
        asked(store, "--contexts", given)
    with eh.Study.open(store) as study:
        table = {"$table": {"x": [1.0, 0.0], "y": [0.5, 1.0]}}
        assert [event.given["contexts"] for event in study.log.events()] == [table] * 2
    refused(ArgumentError, "--contexts", "ask", store, "--contexts", '{"x": 1, "x": 2}')


@pytest.mark.parametrize("door", AT_EVERY_DOOR)
@pytest.mark.parametrize(
    "text", ["arm,id,label\na,1,x\nb\0c,2,y\n", 'arm,id,label\na,"1\0",x\n', "arm\0,id,label\na,1,x\n"]
)
def test_the_character_nul_is_refused_with_its_line(text, door, write):
    line = text[: text.index("\0")].count("\n") + 2
    with pytest.raises(TableError, match=rf"t\.csv: line {line} holds the character NUL"):
        AT_EVERY_DOOR[door](write("# above\n" + text))


@pytest.mark.parametrize("cells", [["$1.20", "$3"], ["1,200.50 EUR", "2 EUR"], ["-$5", "(7 kg)"]], ids=str)
def test_numbers_with_a_unit_are_to_be_cleaned_and_not_numbered(cells):
    with pytest.raises(TableError, match="it is a number written as text: take the currency") as refusal:
        numbers(pd.DataFrame({"price": cells}), "price")
    assert "turn its texts into numbers" not in str(refusal.value)
