"""What a BIF file says is read once and whole, or refused with the line in which it goes wrong."""

import gzip

import numpy as np
import pytest

from evenhand.errors import ArgumentError, TableError
from evenhand.interventions import CausalModel

BIF = """network n { property url http://example.org/a; }
variable rain { type discrete [ 2 ] { yes, no }; }
variable sun { type discrete [2] { yes, no }; property note it's "5; or 6"; }
variable wet { type discrete [ 3 ] { dry, damp, "so aked" }; }
probability ( rain ) { table 0.2, 0.8; } // half
probability ( sun | rain ) { (no) 0.5, 0.5; (yes) 0.1, 0.9; }
/* a comment
of two lines */
probability ( wet | rain, sun ) {
  (yes, yes) 0.1, 0.2, 0.7;
  (no, yes) 0.8, 0.1, 1e-1;
  (yes, no) 0.0, 0.1, 0.9;
  (no, no) 0.6, 0.3, 0.1;
}
"""


@pytest.fixture
def read(tmp_path):
    def reading(text, encoding=None):
        data = text if isinstance(text, bytes) else text.encode()
        path = tmp_path / ("net.bif.gz" if data.startswith(b"\x1f\x8b") else "net.bif")
        path.write_bytes(data)
        return CausalModel.from_bif(path, encoding=encoding)

    return reading


def test_properties_comments_and_quotations_hide_nothing(read):
    model = read(BIF)
    assert model.states == {"rain": ("yes", "no"), "sun": ("yes", "no"), "wet": ("dry", "damp", "so aked")}
    assert model.tables["wet"].tolist() == [[[0.1, 0.2, 0.7], [0.0, 0.1, 0.9]], [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1]]]
    assert read(b"\xef\xbb\xbf" + BIF.encode()).states == model.states
    assert model.tables["sun"].tolist() == [[0.1, 0.9], [0.5, 0.5]]
    flat = BIF.replace("(no) 0.5, 0.5; (yes) 0.1, 0.9;", "table 0.1, 0.5, 0.9, 0.5;")
    default = BIF.replace("(no) 0.5", "default 0.5")
    for other in (BIF.replace(", ", " ").replace("\n", "\r\n"), flat, default):
        assert read(other).tables["sun"].tolist() == model.tables["sun"].tolist()


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("(no) 0.5, 0.5;", "(no) 0.5;", "line 6: probability of sun: expected 2 numbers, got 1"),
        ("0.1, 0.2, 0.7", "0.1, 0.2, 0.3, 0.4", "line 10: probability of wet: expected 3 numbers, got 4"),
        ("wet | rain, sun", "wet | rain, rain", "line 9: probability of wet: rain is a parent twice"),
        ("sun | rain", "sun | sun", "line 6: probability of sun: sun is its own parent"),
        ("wet | rain, sun", "wet | rain, son", "line 9: probability of wet: son is not declared before"),
        ("(no) 0.5", "(yes) 0.5", r"line 6: probability of sun: \( yes \) appears twice"),
        ("(no) 0.5, 0.5;", "default 0.5, 0.5; default 0.4, 0.6;", "line 6: .*default appears twice"),
        ("(no) 0.5, 0.5;", "table 0.1, 0.5, 0.9, 0.5;", "line 6: .*`table` beside rows"),
        ("(no) 0.5, 0.5;", "", r"line 6: probability of sun: no row for \(no\)"),
        (
            "probability ( rain ) {",
            "probability ( rain ) { table 0.5, 0.5; }\nprobability ( rain ) {",
            "line 6: probability of rain appears twice",
        ),
        ("variable sun", "variable rain { type discrete [1] { a }; }\nvariable sun", "line 3: variable rain is"),
        ("variable sun", "variable sun moon", "line 3: expected `variable NAME"),
        ("[2] {", "[3] {", r"line 3: variable sun: 2 states, where \[3\] were announced"),
        ("[2] { yes, no }", "[2] { yes, yes }", "line 3: variable sun: expected distinct states"),
        ("[2] { yes, no };", "[2] { yes, no }; type discrete [1] { a };", "line 3: variable sun: expected one `type"),
        ("(yes, yes) 0.1", "(yes, yes, no) 0.1", "line 10: .*rain in .*, sun in"),
        ("table 0.2", "(yes) 0.2", "line 5: probability of rain: .*it has none"),
        ("table 0.2", "tabel 0.2", "line 5: .*expected `table`, `default` or a row .*got 'tabel'"),
        ("0.1, 0.2, 0.7", "nan, 0.2, 0.8", "line 10: .*expected probabilities >= 0"),
        ("0.1, 0.2, 0.7", "0.1, 0.2, 0.8", r"line 9: .*the row for \(yes, yes\) sums to 1.1, not to one"),
        ("( rain ) {", "rain {", "line 5: expected `probability"),
        (
            "variable sun",
            "varible sun",
            "line 3: not BIF: expected one of network, variable, probability, got 'varible'",
        ),
        ("(no, no) 0.6, 0.3, 0.1;\n}", "(no, no) 0.6, 0.3, 0.1;", "line 9: .*'probability' has no end"),
        ("variable rain", "network m { }\nvariable rain", "line 2: a second network"),
        ("of two lines */", "of two lines", "line 7: .*a quotation or a comment has no end"),
    ],
)
def test_a_slip_is_refused_with_its_line(read, old, new, match):
    assert old in BIF
    with pytest.raises(TableError, match=match):
        read(BIF.replace(old, new, 1))


PACKED = gzip.compress(BIF.encode())


def test_a_file_that_pyagrum_writes_is_read_as_pyagrum_has_it(tmp_path):
    gum = pytest.importorskip("pyagrum")
    gum.initRandom(1)
    network = gum.fastBN("a{x|y}->c{r|s|t}<-b{u|v|w};a->b")
    gum.saveBN(network, str(tmp_path / "theirs.bif"))
    ours = CausalModel.from_bif(tmp_path / "theirs.bif")
    assert list(ours.states.values()) == [("x", "y"), ("r", "s", "t"), ("u", "v", "w")]
    for node in ours.states:
        table = network.cpt(node)
        names = list(table.names)[::-1]  # the axes of its array stand in reverse
        order = [names.index(name) for name in (*ours.parents[node], node)]
        np.testing.assert_allclose(np.transpose(table.toarray(), order), ours.tables[node], atol=1e-6)


LATIN = BIF.replace("dry, damp", "säure, böig").replace("// half", "// à moitié")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_another_encoding_is_given_or_shown_by_its_mark(read, encoding):
    whole = read(LATIN)
    assert whole.states["wet"] == ("säure", "böig", "so aked")
    given = None if encoding.startswith("utf") else encoding
    assert read(LATIN.encode(encoding), given).states == whole.states
    assert read(gzip.compress(LATIN.encode(encoding)), given).states == whole.states


@pytest.mark.parametrize(("encoding", "names"), [("latin-1", "säure, böig"), ("gbk", "年轻, 年老")], ids=str)
def test_names_are_never_garbled(read, encoding, names):
    """Every text can be read as Latin-1: what it means there is nobody's guess."""
    text = BIF.replace("dry, damp", names)
    with pytest.raises(TableError, match=r"line 4 is not UTF-8; pass encoding=, such as cp1252, latin-1, .*gbk"):
        read(text.encode(encoding))
    assert read(text.encode(encoding), encoding).states == read(text).states


@pytest.mark.parametrize(
    ("text", "encoding", "error", "got"),
    [
        (PACKED[:-20], None, TableError, "net.bif.gz: cannot be read: "),
        (PACKED[:-8] + bytes(8), None, TableError, "net.bif.gz: cannot be read: "),
        (PACKED + b"more", None, TableError, "net.bif.gz: cannot be read: "),
        (b"", None, TableError, "not a BIF network; it has no variables"),
        (b"// nothing", None, TableError, "not a BIF network; it has no variables"),
        (b"network n { }", None, TableError, "not a BIF network; it has no variables"),
        (b"variable a { type discrete [ 2 ] { x, y }; }", None, TableError, "not a BIF network; it has no prob"),
        (BIF.replace("damp", "da\0mp"), None, TableError, "line 4: expected text, got 'U.0000'"),
        (LATIN.replace("ä", "\ufffd"), None, TableError, "line 4: expected text, got 'U.FFFD'; pass another encoding="),
        (BIF.replace("dry", "\u201cdry").encode("cp1252"), "latin-1", TableError, "line 4: .* text, got 'U.0093'"),
        (BIF, "utf9", ArgumentError, "encoding: expected the name of an encoding, got 'utf9'; did you mean 'utf"),
    ],
    ids=range(11),
)
def test_what_is_no_text_or_no_network_is_refused(read, text, encoding, error, got):
    with pytest.raises(error, match=got):
        read(text, encoding)


def test_what_is_no_file_is_refused(tmp_path):
    absent = tmp_path / "absent.bif"
    for path, words in ((absent, "no such file"), (tmp_path, "is a directory"), (7, "path: expected the name")):
        with pytest.raises(TableError, match=words):
            CausalModel.from_bif(path)
