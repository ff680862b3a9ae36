"""The service against its own document: whatever is sent, the answer is one that the document foresees, and no 5xx.

`make fuzz` sends fifty times as many requests.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.fuzzing import many
from tests.naming import at_night

pytestmark = pytest.mark.slow

MANY = str(many(6))


@pytest.fixture
def one(served):
    """A service with two studies, one of them with twenty open tickets."""
    served.create("seen", {"policy": "groups/linear-thompson", "groups": {"a": "F", "b": "M"}, "seed": 1})
    served.tickets = [one["ticket"] for one in served.ask(json={"count": 20}).json()["decisions"]]
    return served


NAMED = ",negative_data_rejection"
"""Not where the studies are named: another name is no form that is refused, once a request has made such a study."""


def meant(document, tickets):
    """Return the document with the study and the tickets that there are, so that most requests get far."""
    for item in document["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "name":
                    parameter["schema"] = {"type": "string", "enum": ["ads", "seen"]}
    for form in {"TellBody", "ForgetBody"} & set(document["components"]["schemas"]):
        document["components"]["schemas"][form]["properties"]["ticket"] = {"type": "string", "enum": tickets}
    return document


ANY, THERE = "any study", "studies that are there"
TRIED = [("decide", THERE), ("report", THERE), ("read", THERE), ("service", ANY)]


@pytest.mark.parametrize(("tag", "studies"), [*TRIED, *(at_night(tag, ANY) for tag in ("decide", "report", "read"))])
def test_the_service_is_as_its_document_says(one, tmp_path, tag, studies):
    known = studies == THERE
    document = one.http.get("/openapi.json").json()
    place = tmp_path / "openapi.json"
    place.write_text(json.dumps(meant(document, one.tickets) if known else document))
    key = one.keys["read" if tag == "service" else tag]
    run = [sys.executable, "-m", "schemathesis.cli", "run", str(place), "--url", one.url, "--include-tag", tag]
    run += ["-H", f"Authorization: Bearer {key}", "-n", MANY, "--seed", "1", "--phases", "examples,coverage,fuzzing"]
    run += ["--exclude-checks", "positive_data_acceptance" + known * NAMED, "--suppress-health-check", "all"]
    run += ["--no-shrink"]
    found = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-1000:]
    assert " passed" in found.stdout
    assert [line for line in one.lines() if line["event"] == "defect"] == []


def test_the_document_describes_every_refusal_with_the_one_envelope(one):
    document = one.http.get("/openapi.json").json()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            refusing = {status: form for status, form in operation["responses"].items() if status >= "400"}
            assert {"401", "403", "503"} <= set(refusing) or path in ("/livez", "/readyz"), (method, path)
            for form in refusing.values():
                schema = form["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Envelope"}
