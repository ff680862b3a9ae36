"""What a result was made with: version, commit, libraries, date, so that a file says by itself how to make it again."""

from __future__ import annotations

import functools
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evenhand.version import __version__

LIBRARIES = ("numpy", "scipy", "numba", "pandas", "xarray", "scikit-learn")
"""Those whose versions may change a number."""


def made_with() -> dict[str, str]:
    """Return the versions of evenhand, Python and the libraries, the date, and of a checkout its commit, with "+" where
    files differ from it."""
    found = {"evenhand": __version__, "python": platform.python_version()}
    if commit := _commit():
        found["commit"] = commit
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"date": f"{datetime.now(UTC):%Y-%m-%d}"}


def in_a_line(about: Mapping[str, str], *more: str) -> str:
    """Return what a table was made with as its column `made_with` says it: without commas, which divide cells."""
    names = [f"{name} {about[name]}" for name in ("evenhand", "commit") if name in about]
    return " ".join("; ".join([*more, *names, about["date"]]).replace(",", " ").split())


def in_a_picture(kind: str, *more: str) -> dict[str, str]:
    """Return the metadata of a picture of this format (png, pdf, svg), which say what it was made with."""
    return {"Software" if kind == "png" else "Creator": in_a_line(made_with(), *more)}


@functools.cache
def _commit() -> str:
    """Return the commit of the checkout that this file stands in, as it was when first asked, or nothing where it was
    installed from elsewhere."""
    folder = Path(__file__).resolve().parents[3]
    if not (folder / ".git").exists():
        return ""
    try:
        told = [
            subprocess.run(["git", "-C", folder, *words], capture_output=True, check=True, text=True, timeout=10).stdout
            for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--", "src"))
        ]
    except (OSError, subprocess.SubprocessError):
        return ""
    return told[0].strip() + "+" * bool(told[1].strip())
