"""Regions: workers of one study that decide in stores of their own, with no common database on the way of a decision.

The study's first store, its home, gives a region a part of the tolerance, an endowment, and numbers for its workers;
that is an entry of the home's log. The grant is a file that is imported once, at the place of the region. From then on
workers join and leave there, paid from the region's endowment: what an arm is ahead or behind adds over all logs, so
the promise holds over all regions, whether they hear each other or not. A region that never comes back keeps its
endowment. Nobody can see from one store that its grant was imported at another too: reports show it when they are
exchanged, and a verification of both stores does.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.errors import (
    ArgumentError,
    EvenhandError,
    FencedError,
    ForeignTicketError,
    SharesError,
    StoreError,
    wanted,
)
from evenhand.promises.workers import endow
from evenhand.state import to_bytes
from evenhand.studies.codec import from_text, to_text
from evenhand.studies.membership import MOST, REGION, Membership, Region, enter, worker_name
from evenhand.studies.store import Store
from evenhand.studies.versions import policy_version

__all__ = ["BEGINNING", "HOME", "attach", "grant_region", "known_as", "read_grant", "read_signed", "signed"]

BEGINNING = "the serial beginning"
"""How reports name the serial beginning, which is no worker's."""
HOME = "home"
"""The name of a study's first store among the regions."""
FIELDS = {"study", "policy", "created_at", "secret", "state", "begin", "region"}
"""What a grant holds."""


def known_as(other: str, reader: str) -> str:
    """Return how the member `other` is named in the log of the member `reader`; those of regions begin with the
    region's name and a colon.

    >>> known_as("w1", "w2"), known_as("w1", "asia:w2"), known_as("asia:w1", "asia:w2"), known_as("asia:w1", "w2")
    ('w1', 'home:w1', 'w1', 'asia:w1')
    """
    region, _, name = other.rpartition(":")
    return name if region == reader.rpartition(":")[0] else f"{region or HOME}:{name}"


# ---------------------------------------------------------------------- grants


def grant_region(study: Any, name: str, workers: int) -> bytes:
    """Give a region its part of the tolerance, and return the grant; see `SharedStudy.export_region`."""
    worker_name(name, study.name, "region")
    if name == HOME:
        raise ArgumentError(wanted("region", f"a name other than {HOME!r}, which is this store's", name))
    if not 1 <= workers <= REGION:
        raise ArgumentError(wanted("workers", f"1 to {REGION} workers in a region", workers))
    version = policy_version(study._template)
    with study._changing() as connection:
        membership = Membership(study._log.rows(connection))
        if membership.region is not None:
            mend = "export it from the study's first store"
            raise ArgumentError(wanted("region", "the store that holds the tolerance", membership.region.name, mend))
        if name not in membership.regions:
            given = _given(study, membership, name, workers)
            enter(connection, study._log, "region", given, version, study.birth)
            membership = Membership(study._log.rows(connection))
        region = membership.regions[name]
    if region.workers != workers:
        mend = f"workers={region.workers} returns its grant again"
        raise ArgumentError(wanted("region", "a new name", f"{name!r}, which was granted for others", mend))
    begin = ("expire_after", "exchange", "exchange_rounds", "exchange_seconds")
    body = {
        "study": study.name,
        "policy": study.policy_name,
        "created_at": study._created,
        "secret": study._secret,
        "state": base64.b64encode(to_bytes(study._template)).decode(),
        "begin": {setting: membership.settings[setting] for setting in begin},
        "region": _plain(region),
    }
    return signed(body, study._secret)


def _given(study: Any, membership: Membership, name: str, workers: int) -> dict[str, Any]:
    """Return the entry that gives a region what its workers need, and where the tolerance allows more."""
    first = membership.next_number(name)
    if first + REGION - 1 > MOST:
        raise ArgumentError(wanted("region", f"numbers for {REGION} more workers, of {MOST}", name))
    left = study.beginning_left()
    if left:
        mend = f"{left} rounds of the serial beginning are left; let workers decide them first"
        raise ArgumentError(wanted("region", "a study whose workers decide by themselves", study.name, mend))
    endowment = None
    if study.promise is not None:
        each = endow(study.promise.shares, membership.pool(study.promise), workers)
        if each is None:
            raise SharesError(
                f"region {name!r} cannot be given what {workers} workers need: the rest of the tolerance is given to "
                "others; let workers leave, name fewer, or create a study with a larger tolerance"
            )
        endowment = [str(workers * e) for e in each]
    return {"region": name, "first": first, "workers": workers, "endowment": endowment}


def _plain(region: Region) -> dict[str, Any]:
    endowment = None if region.endowment is None else [str(e) for e in region.endowment]
    return {"region": region.name, "endowment": endowment} | {
        field: getattr(region, field) for field in ("first", "workers", "grant")
    }


def read_grant(grant: bytes) -> dict[str, Any]:
    """Return what a grant holds.

    Raises
    ------
    ArgumentError
        If it is no grant.
    ForeignTicketError
        If it was changed.
    """
    what = "the grant of a region, as study.export_region returned it"
    try:
        given = from_text(grant.decode())
        if set(given) != FIELDS | {"mark"}:
            raise ValueError
        bytes.fromhex(given["secret"])
        given["state"] = base64.b64decode(given["state"], validate=True)
    except (AttributeError, LookupError, StoreError, TypeError, ValueError, binascii.Error) as error:
        raise ArgumentError(wanted("grant", what, grant)) from error
    read_signed(grant, given["secret"], "grant", what)
    return dict(given)


# ---------------------------------------------------------------------- signed files


def signed(body: Mapping[str, Any], secret: str) -> bytes:
    """Return a body as text with a mark that only those who know the secret can make."""
    return to_text({**body, "mark": _mark(body, secret)}).encode()


def read_signed(data: bytes, secret: str, name: str, what: str) -> dict[str, Any]:
    """Return the body of a signed text.

    Raises
    ------
    ArgumentError
        If it is no such text.
    ForeignTicketError
        If it was not made by a store of this study, or was changed.
    """
    try:
        body = from_text(data.decode())
        mark = body.pop("mark")
    except (AttributeError, LookupError, StoreError, TypeError, ValueError) as error:
        raise ArgumentError(wanted(name, what, data)) from error
    if not hmac.compare_digest(str(mark).encode(), _mark(body, secret).encode()):
        raise ForeignTicketError(f"{name}: forged, changed after it was written, or another study's")
    return dict(body)


def _mark(body: Mapping[str, Any], secret: str) -> str:
    return hmac.new(bytes.fromhex(secret), b"region\x1f" + to_text(body).encode(), hashlib.sha256).hexdigest()


# ---------------------------------------------------------------------- several stores at once


def attach(study: Any, places: Iterable[Store | str | os.PathLike[str]], open_study: Any) -> None:
    """Have a study read the stores of its regions too.

    Raises
    ------
    ArgumentError
        If a store is not that of a region of this study.
    FencedError
        If two stores hold the same region.
    """
    try:
        if not hasattr(study, "_regions"):
            raise study._alone("regions")
        if study.worker is not None:
            raise ArgumentError(wanted("worker", "None, to read several regions", study.worker))
        if isinstance(places, (str, bytes, os.PathLike, Store)) or not isinstance(places, Iterable):
            raise ArgumentError(wanted("regions", "a list of stores", str(places)))
        for place in places:
            part = open_study(place, study.name)
            if part.region is None or part._secret != study._secret or study.region is not None:
                part.close()
                mend = "open the study's first store, and name the stores of its regions"
                raise ArgumentError(wanted("regions", f"the store of a region of {study.name!r}", part.store.url, mend))
            other = study._regions.get(part.region)
            if other is not None:
                part.close()
                raise FencedError(
                    f"region {part.region!r} was imported in two stores, {other.store.url} and {part.store.url}: both "
                    "spend the same endowment, so the promise is not kept over both; let the workers of one leave"
                )
            study._regions[part.region] = part
        study._membership = study.membership()
    except EvenhandError:
        study.close()
        raise
