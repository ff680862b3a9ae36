"""The file of a proof: the log in lines of JSON, and beside it the programs that check it without evenhand."""

from __future__ import annotations

import zipfile
from pathlib import Path

from evenhand.errors import ArgumentError, expected
from evenhand.studies.log.codec import to_text
from evenhand.studies.log.reader import Reader
from evenhand.studies.statistics.checkpoint import Count

LOG = "log.jsonl"
VERIFIERS = ("verify.py", "verify.js", "verify.html")


def begin_proof(log: Reader) -> Count:
    """Return the counts of a log before its first entry, with its proof.

    Raises
    ------
    ArgumentError
        If two arms are written alike.
    """
    count = Count(log.first_policy, log.birth)
    if count.proof is None:
        arms = count.check.promise.arms if count.check.promise else "others"
        raise ArgumentError(expected("proof", "a study whose arms are written differently, unlike 1 and '1'", arms))
    return count


def write_proof(log: Reader, file: Path) -> int:
    """Write the proof of a log into a ZIP file, which anybody can check, and return its number of entries.

    Raises
    ------
    ArgumentError
        If the file cannot be written, or two arms are written alike.
    ReplayError
        If an entry decides for no arm.
    """
    count = begin_proof(log)
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            info = zipfile.ZipInfo(LOG)
            info.compress_type = archive.compression
            with archive.open(info, "w", force_zip64=True) as member:
                member.write(f"{'' if count.proof is None else count.proof.header}\n".encode())
                for entry in log.entries():
                    said = count.take(entry)
                    member.write(f"{to_text([*entry, said] if said else [*entry])}\n".encode())
            for name in VERIFIERS:
                archive.write(Path(__file__).with_name(name), name)
    except OSError as error:
        hint = error.strerror or str(error)
        raise ArgumentError(expected("proof", "a file that can be written", str(file), hint)) from error
    return count.sequence
