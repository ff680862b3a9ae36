"""Audits of outcomes, whoever decided: are groups treated alike? Looked at as often as you like."""

from evenhand.audit.parity import Parity, parity

__all__ = ["Parity", "parity"]


def __dir__() -> list[str]:
    return __all__
