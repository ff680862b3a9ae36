"""Every route in one table: who may use it, and under which name logs and metrics know it."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.studies.keys import Role

__all__ = ["ROUTES", "Route", "found"]


class Route(NamedTuple):
    """A path's form, and for each method the role that it needs (None: no key); what can be got has a head too."""

    template: str
    methods: dict[str, Role | None]


ROUTES = (
    Route("/studies", {"GET": "read", "POST": "decide"}),
    Route("/studies/{name}", {"GET": "read"}),
    Route("/studies/{name}/ask", {"POST": "decide"}),
    Route("/studies/{name}/tell", {"POST": "report"}),
    Route("/studies/{name}/forget", {"POST": "report"}),
    Route("/studies/{name}/series", {"GET": "read"}),
    Route("/studies/{name}/decisions", {"GET": "read"}),
    Route("/studies/{name}/decisions/{id}", {"GET": "read"}),
    Route("/studies/{name}/owed", {"GET": "read"}),
    Route("/studies/{name}/history", {"GET": "read"}),
    Route("/studies/{name}/audit", {"GET": "read"}),
    Route("/livez", {"GET": None}),
    Route("/readyz", {"GET": None}),
    Route("/healthz", {"GET": None}),
    Route("/metrics", {"GET": "read"}),
    Route("/openapi.json", {"GET": None}),
    Route("/docs", {"GET": None}),
    Route("/docs/style.css", {"GET": None}),
    Route("/", {"GET": None}),
    Route("/page/{file}", {"GET": None}),
)
_FIXED = {route.template: route for route in ROUTES if "{" not in route.template}
_OF_STUDY = {
    route.template.split("/")[3]: route
    for route in ROUTES
    if route.template.startswith("/studies/{name}/") and route.template.count("/") == 3
}
_STUDY, _DECISION, _FILE = (
    next(route for route in ROUTES if route.template == template)
    for template in ("/studies/{name}", "/studies/{name}/decisions/{id}", "/page/{file}")
)


def found(path: str) -> tuple[Route | None, str]:
    """Return the route of a path and the study that it names, (None, "") where there is none.

    >>> found("/studies/ads/ask")[0].template, found("/studies/ads/ask")[1]
    ('/studies/{name}/ask', 'ads')
    """
    if path.startswith("/studies/"):
        parts = path.split("/")
        if len(parts) == 4 and parts[2]:
            return _OF_STUDY.get(parts[3]), parts[2]
        if len(parts) == 3 and parts[2]:
            return _STUDY, parts[2]
        if len(parts) == 5 and parts[2] and parts[3] == "decisions" and parts[4]:
            return _DECISION, parts[2]
        return None, ""
    fixed = _FIXED.get(path)
    if fixed is None and path.startswith("/page/"):
        return _FILE, ""
    return fixed, ""
