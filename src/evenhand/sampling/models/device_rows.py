"""Rows where the network computes: on a GPU new ones alone are copied up; on a processor they stay where they are."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from evenhand.sampling.models.modules import torch_module
from evenhand.sampling.pools.rows import Rows

__all__ = ["DeviceRows"]


class DeviceRows:
    """The rows of tables on one device.

    Parameters
    ----------
    device : its name.
    stream : keep tables in the machine's memory, and send up what each step needs.
    """

    def __init__(self, device: str, stream: bool) -> None:
        self.device = torch_module().device(device)
        self._held = self.device.type != "cpu" and not stream
        self.kept: WeakKeyDictionary[Rows, tuple[Any, int]] = WeakKeyDictionary()

    def table(self, rows: Rows) -> Any:
        """Return the features of a table: the array itself, or a tensor on the device to which new rows were added."""
        if not self._held:
            return rows.X[: rows.count]
        buffer, filled = self.kept.get(rows, (None, 0))
        dtype = _single(torch_module().from_numpy(rows.X[:0])).dtype
        if buffer is None or len(buffer) < rows.count or filled > rows.count or buffer.dtype != dtype:
            buffer, filled = torch_module().empty(rows.X.shape, dtype=dtype, device=self.device), 0
        buffer[filled : rows.count] = self._up(rows.X[filled : rows.count])
        self.kept[rows] = (buffer, rows.count)
        return buffer[: rows.count]

    def tensor(self, X: Any, *, whole: bool) -> Any:
        """Return rows as a tensor on the device: in single precision, or whole numbers as they are with `whole`."""
        X = self._up(X) if isinstance(X, np.ndarray) else X
        return X if whole and not X.is_floating_point() else X.float()

    def _up(self, X: NDArray[Any]) -> Any:
        found = _single(torch_module().from_numpy(np.require(X, requirements=["C", "W"])))
        if self.device.type != "cuda":
            return found.to(self.device)
        return found.pin_memory().to(self.device, non_blocking=True)


def _single(tensor: Any) -> Any:
    return tensor.float() if tensor.is_floating_point() and tensor.element_size() > 4 else tensor
