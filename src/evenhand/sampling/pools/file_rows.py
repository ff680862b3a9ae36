"""Rows that stay on disk: a memory-mapped array, a Parquet file, a folder of pictures; named by path and digest."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.errors import ArgumentError, ContextError, MissingExtraError, wanted
from evenhand.extras import optional
from evenhand.registry import register

__all__ = ["FILES", "FileRows", "ImageFolder", "MappedRows", "ParquetRows", "RowReference", "fetched"]

FILES = "EVENHAND_FILES"
"""The environment variable that names the folder in which references are looked up that this process did not open."""
PICTURES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")
_opened: dict[str, FileRows] = {}


@dataclass(frozen=True)
class RowReference:
    """Rows of a file by number. Samplers take it in the place of X, and a study's log keeps it instead of the rows."""

    path: str
    digest: str
    rows: list[int]


class FileRows(ABC):
    """Rows X (n, ...) of a file that are read when they are asked for.

    Parameters
    ----------
    path : the file or folder.
    digest : the SHA-256 that its content must have; computed if left out.

    Attributes
    ----------
    shape : (n, ...).

    Raises
    ------
    ArgumentError
        If there is no such file, it cannot be read, or its content has another digest.
    """

    shape: tuple[int, ...]

    def __init__(self, path: str | os.PathLike[str], *, digest: str | None = None) -> None:
        self.path = Path(path).resolve()
        try:
            found = _digest(self.path)
            self.shape = self._open()
        except MissingExtraError:
            raise
        except (OSError, ValueError, ImportError) as error:
            raise ArgumentError(
                wanted("path", f"what {type(self).__name__} can read", str(path), str(error))
            ) from error
        if digest not in (None, found):
            raise ArgumentError(wanted("path", f"content with the digest {digest}", f"{path}: {found}"))
        self.digest = found
        _opened[found] = self

    @abstractmethod
    def _open(self) -> tuple[int, ...]:
        """Look at the file and return the shape of its rows."""

    @abstractmethod
    def _read(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return those rows, in order."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return self._read(np.arange(len(self))[rows])

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> RowReference:
        """Return rows by reference.

        Raises
        ------
        ArgumentError
            If a number is none of a row.
        """
        numbers = np.asarray(rows)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not ((numbers >= 0) & (numbers < len(self))).all():
            raise ArgumentError(wanted("rows", f"whole numbers from 0 to {len(self) - 1}", rows))
        return RowReference(str(self.path), self.digest, numbers.tolist())

    def snapshot(self) -> dict[str, Any]:
        """Return path and digest; the rows stay where they are."""
        return {"path": str(self.path), "digest": self.digest}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Open the file again; its content must be the same."""
        return cls(snapshot["path"], digest=snapshot["digest"])


@register("sampling/mapped-rows", kind="part")
class MappedRows(FileRows):
    """The rows of a `.npy` file, memory-mapped. See `FileRows`."""

    def _open(self) -> tuple[int, ...]:
        self._array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        if self._array.ndim < 2:
            raise ValueError("an array with a row for each example is wanted")
        return self._array.shape

    def _read(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        return np.array(self._array[rows])


@register("sampling/parquet-rows", kind="part")
class ParquetRows(FileRows):
    """The columns of numbers of a Parquet file, as rows of floats; read by row group. See `FileRows`.

    Parameters
    ----------
    columns : the features, in order; all columns if left out.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, columns: Sequence[str] | None = None, digest: str | None = None
    ) -> None:
        self.columns = None if columns is None else list(columns)
        super().__init__(path, digest=digest)

    def _open(self) -> tuple[int, ...]:
        self._file = optional("pyarrow.parquet", "a Parquet file").ParquetFile(self.path)
        names = self._file.schema_arrow.names
        self.columns = names if self.columns is None else self.columns
        if missing := [name for name in self.columns if name not in names]:
            raise ValueError(f"no column is named {missing[0]!r}")
        groups = self._file.metadata.num_row_groups
        self._ends = np.cumsum([0, *(self._file.metadata.row_group(g).num_rows for g in range(groups))])
        self._read(np.arange(min(1, self._ends[-1])))
        return int(self._ends[-1]), len(self.columns)

    def _read(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        assert self.columns is not None
        found = np.empty((len(rows), len(self.columns)))
        group = np.searchsorted(self._ends, rows, side="right") - 1
        for g in np.unique(group):
            table = self._file.read_row_group(int(g), columns=self.columns)
            mine = group == g
            for number, name in enumerate(self.columns):
                found[mine, number] = table.column(name).to_numpy()[rows[mine] - self._ends[g]]
        return found

    def snapshot(self) -> dict[str, Any]:
        """Return path, columns and digest; the rows stay where they are."""
        return super().snapshot() | {"columns": self.columns}

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Open the file again; its content must be the same."""
        return cls(snapshot["path"], columns=snapshot["columns"], digest=snapshot["digest"])


@register("sampling/image-folder", kind="part")
class ImageFolder(FileRows):
    """The pictures of one size in a folder and in the folders in it, sorted by name, as bytes (n, channels, height,
    width).

    See `FileRows`.

    Attributes
    ----------
    names : the pictures' paths in the folder, in order.
    """

    def _open(self) -> tuple[int, ...]:
        self.names = [name for name, file in _files(self.path) if file.suffix.lower() in PICTURES]
        if not self.names:
            raise ValueError(f"no picture ({', '.join(PICTURES)}) is in it")
        return len(self.names), *self._picture(0).shape

    def _read(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        found = np.empty((len(rows), *self.shape[1:]), np.uint8)
        for place, row in enumerate(rows):
            picture = self._picture(row)
            if picture.shape != self.shape[1:]:
                raise ContextError(wanted(self.names[row], f"a picture of shape {self.shape[1:]}", picture.shape))
            found[place] = picture
        return found

    def _picture(self, row: int) -> NDArray[np.uint8]:
        from PIL import Image

        with Image.open(self.path / self.names[row]) as picture:
            gray = picture.mode in ("1", "L", "LA")
            pixels = np.asarray(picture.convert("L" if gray else "RGB"))
        return pixels[None] if gray else np.moveaxis(pixels, 2, 0)


def fetched(X: Any) -> Any:
    """Return the rows that a reference means, or X as it is.

    A file is found if this process opened it, or if it lies in the folder that EVENHAND_FILES names: a service reads no
    other file for a client.

    Raises
    ------
    ContextError
        If the reference is not complete, or no such file with this digest is found.
    """
    if isinstance(X, Mapping) and set(X) == {"path", "digest", "rows"}:
        X = RowReference(X["path"], X["digest"], X["rows"])
    if not isinstance(X, RowReference):
        return X
    if not isinstance(X.path, str) or not isinstance(X.digest, str) or not isinstance(X.rows, list):
        raise ContextError(wanted("X", "a reference as FileRows.take() returns it", X))
    source = _opened.get(X.digest) or _in_folder(X)
    if source is None:
        mend = f"open the file first, or set {FILES} to its folder"
        raise ContextError(wanted("X", "a reference to a file that is open", X.path, mend))
    try:
        return source[np.asarray(source.take(X.rows).rows, np.int64)]
    except ArgumentError as error:
        raise ContextError(str(error)) from error


def _in_folder(reference: RowReference) -> FileRows | None:
    folder = os.environ.get(FILES)
    path = Path(folder or ".") / Path(reference.path).name
    kind = ImageFolder if path.is_dir() else ParquetRows if path.suffix == ".parquet" else MappedRows
    try:
        return kind(path, digest=reference.digest) if folder and path.exists() else None
    except ArgumentError:
        return None


def _files(folder: Path) -> list[tuple[str, Path]]:
    return sorted((file.relative_to(folder).as_posix(), file) for file in folder.rglob("*") if file.is_file())


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and digests of a folder's files."""
    if path.is_dir():
        named = "".join(f"{name} {_digest(file)}\n" for name, file in _files(path))
        return hashlib.sha256(named.encode()).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
