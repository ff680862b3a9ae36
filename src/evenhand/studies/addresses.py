"""Addresses to which alerts are posted: which ones a monitor may name, and which machines they may lead to."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from evenhand.errors import ArgumentError, wanted

__all__ = ["check_machine", "check_webhook"]

METADATA = {ip_address(text) for text in ("fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")}
"""Where clouds keep the credentials of a machine, beside 169.254.169.254."""
NAT64 = ip_network("64:ff9b::/96")


def check_webhook(address: Any) -> None:
    """Refuse an address to which no alert may be posted.

    >>> check_webhook("https://example.org/hook")

    Raises
    ------
    ArgumentError
        If it is no http or https URL of printable ASCII characters, or names a machine that `check_machine` refuses.
    """
    try:  # urlsplit drops line ends without a word
        parts = urlsplit(address if isinstance(address, str) and re.fullmatch("[!-~]+", address) else "")
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        mend = "percent-encode spaces and other characters"
        raise ArgumentError(wanted("webhook", "an address that begins with http:// or https://", address, mend))
    check_machine(parts.hostname or "")


def check_machine(host: str) -> None:
    """Refuse a numeric address that is link-local or a cloud's metadata service; a name passes.

    Whoever may set a monitor could otherwise have the service ask for credentials that only it can reach.

    Raises
    ------
    ArgumentError
        If it is one.
    """
    try:
        machine = ip_address(host.partition("%")[0])
    except ValueError:
        return
    if isinstance(machine, IPv6Address):
        inside = machine.ipv4_mapped or machine.sixtofour
        machine = inside or (ip_address(int(machine) & 2**32 - 1) if machine in NAT64 else machine)
    if machine.is_link_local or machine in METADATA:
        raise ArgumentError(wanted("webhook", "no link-local address and no metadata service of a cloud", host))
