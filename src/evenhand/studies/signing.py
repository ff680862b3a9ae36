"""Signed tickets: the study's name, the number, and a signature that only the store can make."""

from __future__ import annotations

import hmac
import re
import secrets
from typing import Any

from evenhand.arguments import is_whole
from evenhand.errors import ForeignTicketError, UnknownTicketError, expected
from evenhand.protocol import id_of
from evenhand.studies.log.chain import Birth

FORM = re.compile(r"(?P<study>.+)\.(?P<number>[1-9][0-9]{0,17})\.(?P<mark>[0-9a-f]{16})")
LOOK = "a ticket as ask returned it, such as 'ads.17.5f0c2a9d41b7e683'"


def new_secret() -> str:
    """Return a fresh secret for the tickets of one study."""
    return secrets.token_hex(32)


def sign_ticket(study: str, secret: str, number: int) -> str:
    """Return the ticket of this number in the study of this name.

    >>> sign_ticket("ads", "00", 17)
    'ads.17.0fac83b50550207f'
    """
    return f"{study}.{number}.{_mark(study, secret, number)}"


def ticket_number(study: Birth, ticket: Any) -> int:
    """Return the number of a ticket, given as a decision, its number or its signed text.

    Raises
    ------
    UnknownTicketError
        If it is none of these.
    ForeignTicketError
        If it is a text that is not a signed ticket, is another study's, or has a signature that was not made here.
    """
    if not isinstance(ticket, str):
        number = id_of(ticket)
        if not is_whole(number):
            raise UnknownTicketError(expected("ticket", "a decision, its number or its signed text", ticket))
        return int(number)
    parts = FORM.fullmatch(ticket)
    if parts is None:
        raise ForeignTicketError(expected("ticket", LOOK, ticket))
    number = int(parts["number"])
    if parts["study"] != study.name:
        raise ForeignTicketError(f"ticket {ticket} belongs to the study {parts['study']!r}, not to {study.name!r}")
    if not hmac.compare_digest(parts["mark"], _mark(study.name, study.secret, number)):
        raise ForeignTicketError(f"ticket {ticket} was not signed by the study {study.name!r}: mistyped, or made up")
    return number


def _mark(study: str, secret: str, number: int) -> str:
    return hmac.digest(bytes.fromhex(secret), f"{study}.{number}".encode(), "sha256").hex()[:16]
