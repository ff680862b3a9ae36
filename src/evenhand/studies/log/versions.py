"""The version of the deciding code: evenhand's version, and a fingerprint of every file that decisions depend on."""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any

from evenhand import registry
from evenhand.learners.adapter import Adapter
from evenhand.policy.traits import traits_of
from evenhand.version import __version__

DECIDING = (
    "data/features.py",
    "policy",
    "rng.py",
    "kernels",
    "promises",
    *registry.HOMES,
)
"""Files and folders of evenhand whose code may take part in a decision."""


def policy_version(policy: Any) -> str:
    """Return the version of the code behind a policy, such as "0.1.0+3f2a9c41".

    The fingerprint covers evenhand's kernels, learners and problems, and the files that define the policy and what it
    holds (its learner, its model, its metric) where these are somebody else's: of an adapter, the object's class and
    the functions.
    """
    held = [policy, traits_of(policy).learner, *vars(policy).values()]
    parts = [part for part in held if part is policy or registry.name_of(part) is not None]
    own = {source for part in parts for source in (part.sources if isinstance(part, Adapter) else [type(part)])}
    files = {_file(source) for source in own if not str(source.__module__).startswith("evenhand.")}
    digest = hashlib.sha256(_evenhand())
    for file in sorted(files):
        digest.update(file.encode())
        digest.update(Path(file).read_bytes() if file else b"")
    return f"{__version__}+{digest.hexdigest()[:8]}"


@cache
def _evenhand() -> bytes:
    """Return the digest of evenhand's own deciding code."""
    root = Path(registry.__file__).resolve().parent
    digest = hashlib.sha256()
    for name in DECIDING:
        place = root / name
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.digest()


def _file(source: Any) -> str:
    """Return the file that defines a class or a function, "" where there is none, as in a notebook."""
    try:
        file = inspect.getfile(source)
    except (OSError, TypeError):
        return ""
    return file if Path(file).is_file() else ""
