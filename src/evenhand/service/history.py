"""Downloads of a study's log."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

import orjson

from evenhand.data.csv_files import write_csv
from evenhand.extras import optional
from evenhand.studies import Study
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import flat

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["csv", "parquet", "json"]
KINDS: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
CONTENT: dict[str, Any] = {
    "text/csv": {"schema": {"type": "string"}},
    KINDS["parquet"]: {"schema": {"type": "string", "format": "binary"}},
    "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
}


def export_log(study: Study, format: Format, form: Literal["log", "bandit"]) -> tuple[bytes, str, str]:
    """Return the log as the content of a file, its media type, and how many decisions are left out, by status.

    Raises
    ------
    ArgumentError
        If the log is not bandit feedback.
    """
    table = study.frame() if form == "log" else bandit_frame(study)
    left_out = ", ".join(f"{count} {status}" for status, count in table.attrs.get("left_out", {}).items())
    body, kind = _written(table, format)
    return body, kind, left_out


def _written(table: pd.DataFrame, format: Format) -> tuple[bytes, str]:
    if format == "json":
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
        return orjson.dumps(rows, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z), KINDS[format]
    table = flat(table)
    if format == "csv":
        text = io.StringIO()
        write_csv(table, text)
        return text.getvalue().encode(), KINDS[format]
    pa, pq = optional("pyarrow", "a Parquet file"), optional("pyarrow.parquet", "a Parquet file")
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None), sink)
    return sink.getvalue(), KINDS[format]


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
