"""Structured logs: one JSON object per line on standard error, without keys or contexts."""

from __future__ import annotations

import logging
import sys
from typing import Any, BinaryIO

import orjson
import structlog

PROCESSORS: list[Any] = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    structlog.processors.format_exc_info,
]


def json_log(stream: BinaryIO | None = None, *, level: str = "info") -> Any:
    """Return a logger that writes to a binary stream, by default standard error."""
    return structlog.wrap_logger(
        structlog.BytesLogger(sys.stderr.buffer if stream is None else stream),
        processors=[*PROCESSORS, structlog.processors.JSONRenderer(serializer=_serialized)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        cache_logger_on_first_use=True,
    ).bind()


def uvicorn_logging(level: str = "info") -> dict[str, Any]:
    """Return a logging configuration that writes uvicorn's messages in the same format."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": PROCESSORS,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.JSONRenderer(serializer=_text),
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "loggers": {"uvicorn": {"handlers": ["stderr"], "level": level.upper(), "propagate": False}},
    }


def _serialized(event: Any, **_: Any) -> bytes:
    return orjson.dumps(event, default=str)


def _text(event: Any, **_: Any) -> str:
    return orjson.dumps(event, default=str).decode()
