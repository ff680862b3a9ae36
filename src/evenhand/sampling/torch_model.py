"""Any torch module as the model: a little training a round over everything collected so far, on the processor or a
GPU.

torch is an extra: `pip install evenhand[torch]`. It is imported when the first model is made, not before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from evenhand import registry
from evenhand.errors import ArgumentError, ContextError, wanted
from evenhand.protocol import Label
from evenhand.rng import child, generator
from evenhand.sampling.modules import (
    arrays_of,
    checked_device,
    fill,
    mini_batches,
    tensors_of,
    torch_module,
    untrained,
)
from evenhand.sampling.problem import checked_number, checked_whole
from evenhand.sampling.rows import Rows

__all__ = ["TorchModel", "torch_module"]

CHUNK = 2048
"""Rows that go through the network at once where no gradient step depends on it."""


@registry.register("sampling/torch-model", kind="part")
class TorchModel:
    """A torch classifier trained by Adam on the cross-entropy, one step, one mini-batch or one epoch a round.

    A round costs: "batch" the same at any time; "full" and "epoch" in proportion to the rows collected, so a whole
    collection is quadratic in its rounds, as the paper has it. Validation costs in proportion to the validation
    rows; `validation_rows=` of the sampler bounds it. As long as all rows have the same label the model waits.

    Dropout and whatever else draws from torch's generators draws from the sampler's seed, and leaves torch's global
    generators as they were: the same seed gives the same weights, and a saved model goes on exactly (on a GPU as far as
    its kernels are deterministic). A last mini-batch of a single row joins the one before it.

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
        If `module` is no torch module, has nothing to train or cannot be copied, or another argument is out of range.
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
        self.step, self.device = step, checked_device(device)
        self.batch_size = checked_whole("batch_size", batch_size, 1)
        self.learning_rate = checked_number("learning_rate", learning_rate, 0.0)
        self.final_rounds = checked_whole("final_rounds", final_rounds, 0)
        self._untrained = untrained(module)
        self.module = copy.deepcopy(self._untrained).to(device)
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=self.learning_rate)
        self.classes: tuple[Label, ...] = ()
        self.constant: int | None = 0
        self.rounds, self._seed = 0, 0
        self._kept: dict[int, tuple[Any, int]] = {}

    def fresh(self, seed: int = 0) -> Self:
        """Return a model with the module's first weights; `seed` orders the mini-batches and seeds torch."""
        model = type(self)(self._untrained, **self._settings())
        model._seed = seed
        return model

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy made of the untrained module: a trained one may hold what torch cannot copy."""
        model = self.fresh(self._seed)
        self.checkpoint()(model)
        model._kept = {}
        return model

    def checkpoint(self) -> Callable[..., None]:
        """Return a function that makes the model, or a copy of it, what the model is now."""
        torch = torch_module()
        tensors = {name: tensor.detach().clone() for name, tensor in tensors_of(self.module)}
        moments = copy.deepcopy(self.optimizer.state_dict())
        kept = self.classes, self.constant, self.rounds, dict(self._kept)

        def undo(model: Any = self) -> None:
            with torch.no_grad():
                for name, tensor in tensors_of(model.module):
                    tensor.copy_(tensors[name])
            model.optimizer.load_state_dict(moments)
            model.classes, model.constant, model.rounds, model._kept = kept

        return undo

    def checked(self, X: NDArray[Any]) -> None:
        """Refuse rows that the network cannot take, and a network that does not return logits.

        Raises
        ------
        ContextError, ArgumentError
            If so.
        """
        torch = torch_module()
        try:
            shape = self._outputs(X).shape
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            raise ContextError(wanted("X", "rows that the network can take", X.shape, str(error))) from error
        least = max(2, len(self.classes))
        if len(shape) != 2 or shape[0] != len(X) or shape[1] < least:
            got = f"shape {tuple(shape)} for {len(X)} rows"
            raise ArgumentError(wanted("module", f"a network that returns logits (n, {least})", got))

    @property
    def taught(self) -> bool:
        """Whether it was trained here; the weights that the module came with are where it begins."""
        return self.rounds > 0 or bool(self.classes)

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
        with self._seeded(1):
            if self.step == "full":
                self.optimizer.zero_grad(set_to_none=True)
                for part in mini_batches(len(codes), CHUNK):
                    torch.nn.functional.cross_entropy(self.module(X[part]), y[part], reduction="sum").div(
                        len(codes)
                    ).backward()
                self.optimizer.step()
            else:
                last = min(self.batch_size, len(order)) if self.step == "batch" else len(order)
                for part in mini_batches(last, self.batch_size):
                    rows = torch.as_tensor(order[part], device=self.device)
                    self.optimizer.zero_grad(set_to_none=True)
                    torch.nn.functional.cross_entropy(self.module(X[rows]), y[rows]).backward()
                    self.optimizer.step()
        if not all(bool(torch.isfinite(weights).all()) for weights in self.module.parameters()):
            mend = "lower learning_rate, or scale X"
            raise ArgumentError(wanted("module", "weights that stay finite in training", "one that is not", mend))

    @contextmanager
    def _seeded(self, purpose: int) -> Iterator[None]:
        """Draw all that torch draws from this model's seed and round; its global generators are left as they were."""
        torch = torch_module()
        device, seed = torch.device(self.device), child(self._seed, self.rounds, purpose)
        gpus = [torch.cuda.current_device() if device.index is None else device.index] if device.type == "cuda" else []
        with torch.random.fork_rng(devices=gpus):
            torch.default_generator.manual_seed(seed)
            for gpu in gpus:
                torch.cuda.default_generators[gpu].manual_seed(seed)
            yield

    def final(self, rows: Rows, first: int) -> Self:
        """Return a copy trained for `final_rounds` more rounds on all rows."""
        model = copy.deepcopy(self)
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
        """Return the network's outputs (n, k), one for each class."""
        k = max(2, len(self.classes))
        return self._outputs(X)[:, :k].astype(np.float64) if len(X) else np.zeros((0, k))

    def _outputs(self, X: Any) -> NDArray[Any]:
        torch = torch_module()
        self.module.eval()
        with torch.inference_mode(), self._seeded(2):
            parts = [
                self.module(torch.as_tensor(X[start : start + CHUNK], dtype=torch.float32).to(self.device))
                .cpu()
                .numpy()
                for start in range(0, len(X), CHUNK)
            ]
        return np.concatenate(parts)

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

    @property
    def unsavable(self) -> str:
        """Why the module cannot be saved, or nothing."""
        name = type(self.module).__name__
        if registry.name_of(self.module) is None or not hasattr(self.module, "config"):
            return wanted("module", "a class with @register(name, kind='part') and config(), to be saved", name)
        if set(self.module.state_dict()) - {name for name, _ in tensors_of(self.module)}:
            return wanted("module", "parameters and buffers alone, to be saved", f"{name} with get_extra_state()")
        return ""

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs.

        Raises
        ------
        ArgumentError
            If the module's class is not registered with a `config()`.
        """
        if self.unsavable:
            raise ArgumentError(self.unsavable)
        moments = {
            str(key): {k: v.detach().cpu().numpy() for k, v in values.items()}
            for key, values in self.optimizer.state_dict()["state"].items()
        }
        return {
            "module": registry.name_of(self.module), "weights": arrays_of(self.module), "config": self.module.config(),
            "settings": self._settings(), "initial": arrays_of(self._untrained), "moments": moments,
            "classes": list(self.classes), "constant": self.constant, "rounds": self.rounds, "seed": self._seed,
        }  # fmt: skip

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the model that `snapshot` was taken of."""
        torch = torch_module()
        with torch.random.fork_rng(devices=[]):
            module = registry.get(snapshot["module"]).cls(**snapshot["config"])
        fill(module, snapshot["initial"])
        model = cls(module, **snapshot["settings"])
        fill(model.module, snapshot["weights"])
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
