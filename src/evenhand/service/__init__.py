"""The service: studies over HTTP, with keys, limits, logs and a page to watch."""

from evenhand.extras import optional

optional("starlette", "the service", extra="service")
