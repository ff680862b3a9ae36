"""Finished replications on disk, kept apart by everything that a result depends on."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import inspect
import json
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import ArgumentError
from evenhand.kernels.arrays import Ints
from evenhand.kernels.compose import Kernel, fingerprint
from evenhand.policy.kernel_set import Kernels
from evenhand.protocol import Configurable
from evenhand.rng import draw_seed
from evenhand.simulation.delay import Delay
from evenhand.simulation.history import Variables
from evenhand.simulation.schedule import ScheduleSource
from evenhand.version import __version__

if TYPE_CHECKING:
    import pandas as pd

CLASSES = "classes.json"
"""The code of each class with which the runs beside it were played."""


class ReplicationCache:
    """A folder in which finished replications are kept; the same simulation started again takes up what is there, and
    warns where only the code of a class is another by now, see `code_of`."""

    def __init__(self, folder: Path, signature: str, code: Mapping[str, Any]) -> None:
        said = json.dumps(code, sort_keys=True)
        self.folder = folder / signature / hashlib.sha256(said.encode()).hexdigest()[:32]
        if (self.folder / CLASSES).exists():
            return
        earlier = max(self.folder.parent.glob(f"*/{CLASSES}"), key=lambda file: file.stat().st_mtime_ns, default=None)
        if earlier is not None:
            before = json.loads(earlier.read_text())
            for name in [name for name, found in code.items() if before.get(name) != found]:
                warnings.warn(f"{folder}: runs are played again, as the code of {name} has changed", stacklevel=4)
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / "classes.part"
        part.write_text(said)
        part.replace(self.folder / CLASSES)

    def read(self, name: str, replication: int) -> Variables | None:
        """Return the variables of a replication of the policy of that name, or None if it was not finished or the file
        is damaged."""
        try:
            with self._file(name, replication).open("rb") as file, np.load(file, allow_pickle=False) as saved:
                found = {member: saved[member] for member in saved.files}
        except (OSError, EOFError, ValueError, zipfile.BadZipFile):
            return None
        return {key.split("|")[0]: (tuple(key.split("|")[1:]), values) for key, values in found.items()}

    def write(self, name: str, replication: int, found: Variables) -> None:
        """Keep the variables of a finished replication; the file appears whole or not at all."""
        file = self._file(name, replication)
        part = file.with_suffix(".part")
        with part.open("wb") as handle:
            arrays: dict[str, Any] = {"|".join((name, *dims)): values for name, (dims, values) in found.items()}
            np.savez(handle, **arrays)
        part.replace(file)

    def _file(self, name: str, replication: int) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{replication}.npz"


def remembered_seed(folder: Path) -> int:
    """Return the seed that the store in this folder drew when it was first used without one."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "seed"
    text = file.read_text(errors="replace").strip() if file.exists() else ""
    if not (text.isascii() and text.isdigit()):
        text = str(draw_seed(None))
        file.write_text(text)
    return int(text)


def signature(
    named: dict[str, Any],
    world: Any,
    seed: int,
    kept: Ints,
    delay: Delay | None,
    given: ScheduleSource | None,
    learned: pd.DataFrame | None = None,
    analyse: object = None,
) -> str:
    """Return a text that is the same where results must be: version, policies, world, seed, checkpoints, delay, what
    rounds are given, what was learned before them, and how their log is analysed."""
    import joblib

    anew = copy.deepcopy(world)
    anew.reset(0)
    policies = {name: _described(policy) for name, policy in named.items()}
    settings = _described(getattr(anew, "__dict__", anew))
    rounds = None if given is None else (_described(given.offers), str(given.changes))
    try:
        parts = (__version__, policies, type(world).__qualname__, settings, seed, kept, delay, rounds, learned)
        return str(joblib.hash((*parts, _described(analyse))))
    except Exception as error:
        raise ArgumentError(
            f"store: a policy, the world or analyse cannot be identified, as it does not pickle ({error})"
        ) from error


def code_of(named: dict[str, Any], world: Any) -> dict[str, list[str]]:
    """Return by the names of the classes of policies, of what they are built on, and of the world, digests of the files
    that they stand in, and of all that their kernels call; of a class in no file, as in a notebook, of its methods."""
    classes = {cls for thing in (*named.values(), world) for cls in _classes(thing)}
    found = sorted((f"{cls.__module__}.{cls.__qualname__}", _source(cls)) for cls in classes)
    return {name: [source for other, source in found if other == name] for name, _ in found}


def _classes(thing: Any) -> Iterator[type[Any]]:
    yield from type(thing).__mro__
    if isinstance(thing, Configurable) and not isinstance(thing, type):
        for part in thing.get_params(deep=False).values():
            yield from _classes(part)


def _source(cls: type[Any]) -> str:
    methods = [_code(part.__code__) for part in vars(cls).values() if isinstance(part, FunctionType)]
    code = repr(methods).encode()
    with contextlib.suppress(TypeError, OSError):  # a class that is built in, or from a cell that is not kept
        code = Path(inspect.getfile(cls)).read_bytes()
    sets = [part for part in vars(cls).values() if isinstance(part, (Kernels, tuple))]
    kernels = [one for part in sets for one in (vars(part).values() if isinstance(part, Kernels) else part)]
    called = [fingerprint(one) for one in kernels if isinstance(one, Kernel)]
    return hashlib.sha256(code + repr(called).encode()).hexdigest()


def _described(value: Any) -> Any:
    """Return what results depend on: class and configuration, functions by their code, dicts in their order, no
    seeds."""
    if callable(getattr(value, "config", None)) and not isinstance(value, type):
        return type(value).__qualname__, [
            (name, _described(part)) for name, part in value.config().items() if name != "seed" or callable(part)
        ]
    if isinstance(value, Mapping):
        return [(key, _described(part)) for key, part in value.items()]
    if isinstance(value, FunctionType):
        enclosed = [_described(cell.cell_contents) for cell in value.__closure__ or ()]
        return _code(value.__code__), _described(value.__defaults__), _described(value.__kwdefaults__), enclosed
    return value


def _code(code: CodeType) -> Any:
    constants = [_code(part) if isinstance(part, CodeType) else part for part in code.co_consts]
    return code.co_code, code.co_names, constants
