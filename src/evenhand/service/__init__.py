"""The service: studies over HTTP, with keys, limits, logs and a web page that shows them."""

from evenhand.extras import optional

optional("starlette", "the service", extra="service")
