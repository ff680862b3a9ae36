"""The service: studies over HTTP, with keys, limits, logs and a page to watch."""
