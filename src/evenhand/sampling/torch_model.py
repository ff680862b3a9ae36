"""Any torch module as the model: a little training a round over everything collected so far, on the processor or a
GPU.

torch is an extra: `pip install evenhand[torch]`. It is imported when the first model is made, not before.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from evenhand import registry
from evenhand.errors import ArgumentError, MissingExtraError, wanted
from evenhand.protocol import Label
from evenhand.rng import generator
from evenhand.sampling.problem import checked_number, checked_whole
from evenhand.sampling.rows import Rows

__all__ = ["TorchModel", "torch_module"]

CHUNK = 2048
"""Rows that go through the network at once where no gradient step depends on it."""


def torch_module() -> Any:
    """Return the module `torch`.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("networks need torch; install it with: pip install 'evenhand[torch]'") from error
    return torch


@registry.register("sampling/torch-model", kind="part")
class TorchModel:
    """A torch classifier trained by Adam on the cross-entropy, one step, one mini-batch or one epoch a round.

    A round costs: "batch" the same at any time; "full" and "epoch" in proportion to the rows collected, so a whole
    collection is quadratic in its rounds, as the paper has it. Validation costs in proportion to the validation
    rows; `validation_rows=` of the sampler bounds it. As long as all rows have the same label the model waits.

    Parameters
    ----------
    module : a `torch.nn.Module` from rows (n, ...) to logits (n, number of classes).
    step : what a round trains: "full", one step over all rows; "epoch", mini-batches through all rows; "batch", one
        mini-batch.
    batch_size : rows of a mini-batch.
    learning_rate : of Adam.
    final_rounds : rounds of training on training and validation rows together at the end.
    device : "cpu", "cuda", "cuda:1" ...

    Raises
    ------
    MissingExtraError
        If torch is not installed.
    ArgumentError
        If `module` is no torch module, or another argument is out of range.
    """

    def __init__(
        self, module: Any, *, step: Literal["full", "epoch", "batch"] = "full", batch_size: int = 50,
        learning_rate: float = 1e-3, final_rounds: int = 20, device: str = "cpu",
    ) -> None:  # fmt: skip
        torch = torch_module()
        if not isinstance(module, torch.nn.Module):
            raise ArgumentError(wanted("module", "a torch.nn.Module", type(module).__name__))
        if step not in ("full", "epoch", "batch"):
            raise ArgumentError(wanted("step", "'full', 'epoch' or 'batch'", step))
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise ArgumentError(wanted("device", "a device that is there", device, "use device='cpu'"))
        self.step, self.device = step, device
        self.batch_size = checked_whole("batch_size", batch_size, 1)
        self.learning_rate = checked_number("learning_rate", learning_rate, 0.0)
        self.final_rounds = checked_whole("final_rounds", final_rounds, 0)
        self._initial = copy.deepcopy(module.state_dict())
        self.module = copy.deepcopy(module).to(device)
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=self.learning_rate)
        self.classes: tuple[Label, ...] = ()
        self.constant: int | None = 0
        self.rounds, self._seed = 0, 0
        self._kept: dict[int, tuple[Any, int]] = {}

    def fresh(self, seed: int = 0) -> Self:
        """Return a model with the module's first weights; `seed` orders the mini-batches."""
        module = copy.deepcopy(self.module).cpu()
        module.load_state_dict(self._initial)
        model = type(self)(module, **self._settings())
        model._seed = seed
        return model

    def begin(self, classes: tuple[Label, ...]) -> None:
        """Learn what the labels are, sorted."""
        self.classes = classes

    def update(self, rows: Rows, first: int) -> None:
        """Train one round over all rows."""
        codes = rows.y[: rows.count]
        if self.constant is not None and len(codes):
            self.constant = int(codes[0]) if (codes == codes[0]).all() else None
        if self.constant is None:
            buffer = self._resident(rows)
            self._train(buffer[: rows.count], codes)
            self._kept = {id(rows): (buffer, rows.count)}

    def _train(self, X: Any, codes: NDArray[np.int64]) -> None:
        torch = torch_module()
        y = torch.as_tensor(codes, device=self.device)
        order = generator(self._seed, self.rounds).permutation(len(codes))
        self.rounds += 1
        self.module.train()
        if self.step == "full":
            self.optimizer.zero_grad(set_to_none=True)
            for start in range(0, len(codes), CHUNK):
                part = slice(start, start + CHUNK)
                torch.nn.functional.cross_entropy(self.module(X[part]), y[part], reduction="sum").div(
                    len(codes)
                ).backward()
            self.optimizer.step()
            return
        last = min(self.batch_size, len(order)) if self.step == "batch" else len(order)
        for start in range(0, last, self.batch_size):
            part = torch.as_tensor(order[start : start + self.batch_size], device=self.device)
            self.optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(self.module(X[part]), y[part]).backward()
            self.optimizer.step()

    def final(self, rows: Rows, first: int) -> Self:
        """Return a copy trained for `final_rounds` more rounds on all rows."""
        kept, self._kept = self._kept, {}
        model = copy.deepcopy(self)
        self._kept = kept
        for _ in range(self.final_rounds):
            model.update(rows, first)
        model._kept = {}
        return model

    def resumed(self, rows: Rows) -> Self:
        """Return the model that continues after loading: this one."""
        return self

    def _resident(self, rows: Rows) -> Any:
        torch = torch_module()
        buffer, filled = self._kept.get(id(rows), (None, 0))
        if buffer is None or len(buffer) < rows.count or filled > rows.count:
            buffer = torch.empty((len(rows.X), *rows.X.shape[1:]), dtype=torch.float32, device=self.device)
            filled = 0
        new = torch.as_tensor(rows.X[filled : rows.count], dtype=torch.float32)
        buffer[filled : rows.count] = new.to(self.device)
        return buffer

    def logits(self, X: Any) -> NDArray[np.float64]:
        """Return the network's outputs (n, k)."""
        torch = torch_module()
        self.module.eval()
        with torch.inference_mode():
            parts = [
                self.module(torch.as_tensor(X[start : start + CHUNK], dtype=torch.float32).to(self.device))
                .cpu()
                .numpy()
                for start in range(0, len(X), CHUNK)
            ]
        return np.concatenate(parts).astype(np.float64) if parts else np.zeros((0, max(2, len(self.classes))))

    def codes(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the predicted class codes (n,)."""
        if self.constant is not None:
            return np.full(len(X), self.constant)
        return self.logits(X).argmax(axis=1)

    def probabilities(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probabilities (n, k) of the classes."""
        if self.constant is not None:
            return np.eye(max(2, len(self.classes)))[np.full(len(X), self.constant)]
        logits = self.logits(X)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels (n,)."""
        return np.array(self.classes)[self.codes(np.asarray(X))]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n, k) of the sorted labels."""
        return self.probabilities(np.asarray(X))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self.classes)

    def _settings(self) -> dict[str, Any]:
        names = ("step", "batch_size", "learning_rate", "final_rounds", "device")
        return {name: getattr(self, name) for name in names}

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs.

        Raises
        ------
        ArgumentError
            If the module's class is not registered with a `config()`.
        """
        name = registry.name_of(self.module)
        if name is None or not hasattr(self.module, "config"):
            raise ArgumentError(
                wanted(
                    "module",
                    "a class with @register(name, kind='part') and config(), to be saved",
                    type(self.module).__name__,
                )
            )
        moments = {
            str(key): {k: v.detach().cpu().numpy() for k, v in values.items()}
            for key, values in self.optimizer.state_dict()["state"].items()
        }
        weights = _arrays(self.module.state_dict())
        return {
            "module": name, "weights": weights, "config": self.module.config(), "settings": self._settings(),
            "initial": _arrays(self._initial), "moments": moments, "classes": list(self.classes),
            "constant": self.constant, "rounds": self.rounds, "seed": self._seed,
        }  # fmt: skip

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the model that `snapshot` was taken of."""
        torch = torch_module()

        module = registry.get(snapshot["module"]).cls(**snapshot["config"])
        module.load_state_dict(_tensors(snapshot["initial"]))
        model = cls(module, **snapshot["settings"])
        model.module.load_state_dict(_tensors(snapshot["weights"]))
        state = model.optimizer.state_dict()
        state["state"] = {
            int(key): {k: torch.as_tensor(v) for k, v in values.items()} for key, values in snapshot["moments"].items()
        }
        model.optimizer.load_state_dict(state)
        model.classes, model.constant = tuple(snapshot["classes"]), snapshot["constant"]
        model.rounds, model._seed = snapshot["rounds"], snapshot["seed"]
        return model

    def __repr__(self) -> str:
        return f"TorchModel({type(self.module).__name__}, step={self.step!r}, device={self.device!r})"


def _arrays(state: Any) -> dict[str, NDArray[Any]]:
    return {name: value.detach().cpu().numpy() for name, value in state.items()}


def _tensors(arrays: dict[str, NDArray[Any]]) -> Any:
    torch = torch_module()
    return {name: torch.as_tensor(value) for name, value in arrays.items()}
