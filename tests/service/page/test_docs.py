"""The manual at /docs, drawn by Swagger UI in a real Chromium."""

from __future__ import annotations

from tests.service.page.visitor import Visitor


def test_the_manual_shows_every_route_and_loads_nothing_from_elsewhere(chromium, served):
    document = served.http.get("/openapi.json").json()
    wanted = sorted((method.upper(), path) for path, item in document["paths"].items() for method in item)
    someone = Visitor(chromium, served.url)
    someone.complaints()
    chromium.get(f"{served.url}/docs")
    someone.until(f"document.querySelectorAll('.opblock').length === {len(wanted)}")
    shown = chromium.execute_script(
        "return [...document.querySelectorAll('.opblock-summary')].map(block =>"
        " [block.querySelector('.opblock-summary-method').innerText,"
        " block.querySelector('.opblock-summary-path').getAttribute('data-path')])"
    )
    assert sorted(map(tuple, shown)) == wanted
    loaded = chromium.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert loaded
    assert all(name.startswith((served.url, "data:")) for name in loaded)
    assert someone.complaints() == []
    chromium.get("about:blank")
