"""The page and its files over HTTP."""

from __future__ import annotations

import pytest

from evenhand.service.routes.system import FOLDER


def test_the_page_is_sent_to_anybody_and_looked_for_anew_each_time(served):
    answer = served.http.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"


def test_the_files_of_the_page_are_sent_only_when_they_changed(served):
    for file in sorted(FOLDER.glob("*.js")):
        answer = served.http.get(f"/page/{file.name}")
        assert answer.content == file.read_bytes()
        assert "javascript" in answer.headers["content-type"]
        again = served.http.get(f"/page/{file.name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    ["", ".", "nothing.js", "..%2Fapp.py", "..%2F..%2Ferrors.py", "%00", "a%00b.js", "x" * 3000, "%2Fetc%2Fpasswd"],
)
def test_nothing_else_is_sent(served, path):
    answer = served.http.get(f"/page/{path}")
    assert (answer.status_code, answer.json()["error"]["name"]) == (404, "NotFoundError")
