"""What evenhand writes it can read: awkward texts come back as they were, through every kind of file."""

from itertools import product

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli.inputs.tables import read_texts
from evenhand.data.csv_files import write_csv
from evenhand.data.files import read_table
from evenhand.protocol import composed
from evenhand.service.routes.views import export_log
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import read_csv
from tests.fuzzing import many
from tests.quotas.test_file_audit import same

AWKWARD = (
    *("NA", "nan", "null", "007", "-1.5", "1e5", "1,5", "True", "=1+1", "+x", "-x", "@x", "'", "''", "'=1", "'tis"),
    *("a,b", "a;b", "a\tb", 'say "x"', '"', "a\nb", "a\r\nb", "a\rb", "\r", "\n", "\t", " ", " x ", "# x", "sep=;"),
    *("\u2028", "a\u2029b", "\x85", "\x0b", "\x0c", "\x1e", "\ufeff", "😀", "é", "＝1"),
    *("{", '{"a": 1}', "[{", "\\", "\\N"),
)
SIGNS = st.sampled_from(",;|\t\"'\r\n\u2028\x85\x0b=+-@# 01.Aé😀") | st.characters(codec="utf-8", min_codepoint=1)
TEXTS = st.sampled_from(AWKWARD) | st.text(SIGNS, max_size=6)
LABELS = TEXTS.filter(str.strip)
KEYS = LABELS.filter(str.isprintable)
NAMES = TEXTS.map(lambda name: name.strip().lstrip("\ufeff").strip()).filter(bool)
"""Blanks around a name are none of its own, and neither is a mark of byte order."""
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]
common = settings(max_examples=many(30), deadline=None, suppress_health_check=CHECKS)


@common
@given(data=st.data())
def test_a_table_that_is_written_is_read_as_it_was(tmp_path, data):
    names = data.draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    rows = data.draw(st.lists(st.tuples(st.integers(0, 9), *[TEXTS] * len(names)), min_size=1, max_size=4))
    frame = pd.DataFrame(rows, columns=["id", *names] if "id" not in names else ["number", *names])
    alone = pd.DataFrame({"text": [*frame[names[0]], "end"]})
    for ending, table in ((".csv", frame), (".csv.gz", frame), (".csv", alone)):
        write_csv(table, tmp_path / f"t{ending}")
        found = read_texts(tmp_path / f"t{ending}")
        assert found.to_dict("split") == table.astype(str).to_dict("split")


@common
@given(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), texts=st.lists(NAMES, min_size=1, max_size=4))
def test_a_name_in_the_header_is_never_taken_for_something_else(tmp_path, names, texts):
    """Comments, the line of a spreadsheet, blanks behind commas, another separator: what stands in a header is none."""
    frame = pd.DataFrame({name: texts for name in names if not name.lower().startswith("sep=")} or {"x": texts})
    write_csv(frame, tmp_path / "t.csv")
    assert read_texts(tmp_path / "t.csv").to_dict("list") == frame.to_dict("list")


def study_of(arms, keys):
    """A study whose arms and request keys are such texts."""
    study = eh.Study.create(":memory:", eh.learners.UCB1(arms=arms, seed=1), name="ads")
    for key in keys:
        study.tell(study.ask(key=key), 0.5)
    return study


@settings(parent=common, max_examples=many(3))
@given(arms=st.lists(LABELS, min_size=2, max_size=4, unique_by=composed), keys=st.lists(KEYS, min_size=1, max_size=4))
def test_an_export_is_read_and_audited_in_every_format(tmp_path, arms, keys):
    with study_of(arms, keys) as study:
        frame = study.frame()
        expected = eh.audit.promise(frame, arm="arm", shares=0.1)
        bandit = bandit_frame(study)
        for form, format in product(("log", "bandit"), ("csv", "parquet", "json")):
            path = tmp_path / f"log.{format}"
            path.write_bytes(export_log(study, format, form)[0])
            read = read_table(path, text=["arm", "key"])
            assert read["arm"].tolist() == frame["arm"].tolist()
            same(eh.audit.promise(read, arm="arm", shares=0.1), expected)
            same(eh.audit.promise(str(path), arm="arm", shares=0.1), expected)
            if format == "csv":
                again = read_csv(path)
                assert again["arm"].tolist() == frame["arm"].tolist()
                assert list(again.columns) == list(frame.columns if form == "log" else bandit.columns)
            if form == "log":
                assert read["key"].tolist() == frame["key"].tolist()
