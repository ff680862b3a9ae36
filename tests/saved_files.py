"""Saved files with another content: as damage leaves them, or as somebody makes them who knows the format."""

import io
import json
import zipfile

from evenhand.saving.state import _digest


def rewritten(data, change, *, signed):
    """Return the file after `change(manifest, bytes of the arrays)` in place, with the old digest, or with that of
    the new content where it is `signed`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        body = json.loads(archive.read("evenhand.json"))
        arrays, digest = bytearray(archive.read("arrays")), archive.read("sha256")
    change(body, arrays)
    manifest = json.dumps(body).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("evenhand.json", manifest)
        archive.writestr("arrays", bytes(arrays))
        archive.writestr("sha256", _digest(manifest, bytes(arrays)) if signed else digest)
    return buffer.getvalue()
