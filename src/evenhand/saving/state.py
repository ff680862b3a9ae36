"""Save and load: one file, arrays plus JSON, a format version, never pickle.

The file is a zip archive of three members: `evenhand.json` holds what is not an array, with the type and shape of each
array; `arrays` holds the bytes of all arrays; `sha256` is the digest of both, by which damage is found before anything
is made of them.
Whatever wants to be saved offers `snapshot() -> dict` and a classmethod `restored(snapshot) -> object` and is
registered; the dict may hold arrays, numbers, strings, bytes, lists, dicts, fractions, and further registered objects.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.errors import ArgumentError, EvenhandError, StateFileError, expected, is_broken, is_path
from evenhand.kernels.compose import is_named_tuple
from evenhand.protocol import Savable
from evenhand.saving.buffers import can_hold, pack, unpack

FORMAT = 1
_MANIFEST, _ARRAYS, _DIGEST = "evenhand.json", "arrays", "sha256"


def save(policy: object, path: str | os.PathLike[str]) -> None:
    """Save a policy to one file; `load` returns a policy that continues exactly as this one would.

    The file appears under its name only when it is complete, and replaces whatever was there, so it must have only one
    writer. Where several processes decide, keep the policy in a study.

    Raises
    ------
    ArgumentError
        If the policy, or a learner inside it, is not registered or does not know how to save itself.
    StateFileError
        If the file cannot be written, such as into a folder that does not exist.
    """
    target = _file(path)
    with _locked(policy):  # until the file is there, or another thread's older state could replace a newer one
        write(target, to_bytes(policy))


def write(target: Path, data: bytes) -> None:
    """Write a file that appears under its name only when it is complete and on disk.

    Raises
    ------
    StateFileError
        If it cannot be written.
    """
    place = target.resolve()  # a link goes on leading there
    # Write another file, sync it, then rename it: a crash leaves the old file or the new one. Without the sync the name
    # may reach the disk before the data, and a power cut would leave an empty file in the place of the old one.
    temporary = place.with_name(f"{place.name}.{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StateFileError(f"{target}: cannot be written: {error.strerror}") from error
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Return the policy saved at `path`.

    Raises
    ------
    ArgumentError
        If `path` is not a path.
    StateFileError
        If the file cannot be read, is truncated, was not written by evenhand, or has another format.
    """
    source = _file(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise StateFileError(f"{source}: cannot be read: {error.strerror}") from error
    return from_bytes(data, str(source))


def _locked(policy: object) -> AbstractContextManager[Any]:
    """Return what keeps other threads from the policy."""
    return getattr(policy, "_lock", nullcontext())


def _file(path: Any) -> Path:
    if not is_path(path):
        raise ArgumentError(expected("path", "the path of a file", path))
    return Path(path)


def to_bytes(policy: object) -> bytes:
    """Return the contents of the file that `save` would write: the state at one moment, whatever other threads do."""
    arrays: list[np.ndarray] = []
    with _locked(policy):
        encoded = _encode(policy, arrays, "policy")
        described, data = pack(arrays)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        manifest = json.dumps({"format": FORMAT, "arrays": described, "object": encoded}).encode()
        archive.writestr(_member(_MANIFEST), manifest)
        archive.writestr(_member(_ARRAYS), data, compresslevel=1)  # more takes long where arrays are large
        archive.writestr(_member(_DIGEST), _digest(manifest, data))
    return buffer.getvalue()


def _digest(manifest: bytes, arrays: bytes) -> bytes:
    digest = hashlib.sha256(manifest)
    digest.update(arrays)
    return digest.hexdigest().encode()


def _member(name: str) -> zipfile.ZipInfo:
    """Return the entry of a member without the time of writing: equal states are equal files."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def from_bytes(data: bytes, source: str = "state") -> Any:
    """Return the policy from the contents of a saved file."""
    try:
        if not data.startswith(b"PK"):  # a store whose last pages hold a saved policy ends like an archive
            raise zipfile.BadZipFile("it does not begin like a state file")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            manifest, arrays, digest = (archive.read(name) for name in (_MANIFEST, _ARRAYS, _DIGEST))
        # Before anything is decoded: a flipped bit in an array would give a policy that loads, and decides wrongly.
        if digest != _digest(manifest, arrays):
            what = "its content is not what was saved"
            raise StateFileError(f"{source}: damaged or edited by hand: {what}; load an earlier file")
        body = json.loads(manifest)
        if body["format"] != FORMAT:
            what = f"written in format {body['format']}, but this evenhand reads only format {FORMAT}"
            raise StateFileError(f"{source}: {what}; load it with the evenhand that wrote it")
        return _decode(body["object"], unpack(body["arrays"], arrays))
    except EvenhandError:
        raise
    except Exception as error:
        if is_broken(error):
            raise
        raise StateFileError(f"{source}: truncated, damaged or not a state file of evenhand ({error})") from error


def _encode(value: object, arrays: list[np.ndarray], where: str) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return {"$float": float(value).hex()}
    if isinstance(value, Fraction):
        return {"$fraction": str(value)}
    if isinstance(value, bytes):
        arrays.append(np.frombuffer(value, np.uint8))
        return {"$bytes": len(arrays) - 1}
    if isinstance(value, np.ndarray):
        if not can_hold(value.dtype):
            raise ArgumentError(f"{where}: arrays of the type {value.dtype} cannot be saved")
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    if isinstance(value, (list, tuple)) and not is_named_tuple(value):
        return [_encode(item, arrays, f"{where}[{n}]") for n, item in enumerate(value)]
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _encode(item, arrays, f"{where}.{key}") for key, item in value.items()}
        return {"$items": [[_encode(k, arrays, where), _encode(v, arrays, where)] for k, v in value.items()]}
    name = registry.name_of(value)
    if name is None or not isinstance(value, Savable):
        raise ArgumentError(
            f"{where}: {type(value).__name__} cannot be saved; "
            "give its class @evenhand.register(name), snapshot() and restored()"
        )
    return {"$object": name, "snapshot": _encode(value.snapshot(), arrays, where)}


def _decode(value: object, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "$float" in value:
        return float.fromhex(value["$float"])
    if "$fraction" in value:
        return Fraction(value["$fraction"])
    for tag in ("$array", "$bytes"):
        if tag in value:
            return arrays[value[tag]] if tag == "$array" else arrays[value[tag]].tobytes()
    if "$items" in value:
        pairs = ((_decode(key, arrays), _decode(item, arrays)) for key, item in value["$items"])
        return {tuple(key) if isinstance(key, list) else key: item for key, item in pairs}
    if "$object" in value:
        return registry.get(value["$object"]).cls.restored(_decode(value["snapshot"], arrays))
    return {key: _decode(item, arrays) for key, item in value.items()}
