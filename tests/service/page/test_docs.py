"""The manual at /docs, in a real Chromium."""

from __future__ import annotations

from tests.service.page.visitor import Visitor


def test_the_manual_shows_every_route_and_loads_nothing_from_elsewhere(chromium, served):
    document = served.http.get("/openapi.json").json()
    wanted = sorted((method.upper(), path) for path, item in document["paths"].items() for method in item)
    someone = Visitor(chromium, served)
    someone.complaints()
    chromium.get(f"{served.url}/docs")
    someone.until(f"document.querySelectorAll('.route').length === {len(wanted)}")
    shown = chromium.execute_script(
        "return [...document.querySelectorAll('.route > summary')].map(line =>"
        " [line.querySelector('.method').innerText, line.querySelector('.path').innerText])"
    )
    assert sorted(map(tuple, shown)) == wanted
    loaded = chromium.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert loaded
    assert all(name.startswith((served.url, "data:")) for name in loaded)
    chromium.get("about:blank")
    chromium.get(f"{served.url}/docs#change")
    someone.until("document.querySelector('#change[open]') !== null")
    said = chromium.execute_script("return document.querySelector('#change').innerText")
    parts = ("/studies/{name}/change", "The study's name.", "The share of each arm on offer.", "curl -X POST", "422")
    assert all(part in said for part in parts), said
    assert f"{served.url}/studies/ads/change" in said
    assert """-d '{"shares":{"a":"1/2","b":0.1}}'""" in said
    assert someone.complaints() == []
    chromium.get("about:blank")
