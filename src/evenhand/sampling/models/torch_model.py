"""Any torch module as the model: a little training a round over everything collected so far, on the processor or a
GPU.

torch is an extra: `pip install evenhand[torch]`. It is imported when the first model is made, not before.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from evenhand import registry
from evenhand.errors import ArgumentError, ContextError, wanted
from evenhand.rng import child, generator
from evenhand.sampling.models.classifier import Classifier
from evenhand.sampling.models.device_rows import DeviceRows
from evenhand.sampling.models.modules import (
    built,
    checked_device,
    mini_batches,
    repeatable,
    tensors_of,
    torch_module,
    untrained,
)
from evenhand.sampling.models.optimizing import OptimizerChoice, made_optimizer, made_schedule
from evenhand.sampling.models.torch_state import restored_model, state_of, why_unsavable
from evenhand.sampling.pools.rows import Rows
from evenhand.sampling.problem import checked_flag, checked_number, checked_whole

__all__ = ["TorchModel", "torch_module"]

CHUNK = 2048
"""Rows that go through the network at once where no gradient step depends on it."""
CACHED = 256
"""The same on a processor: what the layers compute of so many rows stays in its cache."""


@registry.register("sampling/torch-model", kind="part")
class TorchModel(Classifier):
    """A torch classifier trained on the cross-entropy, one step, one mini-batch or one epoch a round.

    A round costs: "batch" the same at any time; "full" and "epoch" in proportion to the rows collected, so a whole
    collection is quadratic in its rounds, as the paper has it. Validation costs in proportion to the validation
    rows; `validation_rows=` of the sampler bounds it. As long as all rows have the same label the model waits.

    Dropout, augmentation, a function that makes the module and whatever else draws from torch's generators draws from
    the sampler's seed, and leaves torch's global generators as they were: the same seed gives the same weights, and a
    saved model continues exactly (on a GPU as far as its kernels are deterministic). A module that is given as it is
    begins with its own weights. A last mini-batch of a single row joins the one before it.

    Rows of whole numbers reach a network that takes them as they are (an `Embedding`); all others become single
    precision on the device. Pictures given as bytes are kept, saved and sent to the device as bytes.

    Parameters
    ----------
    module : a `torch.nn.Module` from rows (n, ...) to logits (n, number of classes), or a function that returns one.
        To be saved, the module's class has `config()`, or the function no arguments, and it is registered as a part.
    step : what a round trains: "full", one step over all rows; "epoch", mini-batches through all rows; "batch", one
        mini-batch.
    batch_size : rows of a mini-batch.
    learning_rate : of an optimizer that is given by name.
    final_rounds : rounds of training on training and validation rows together at the end.
    device : "cpu", "cuda", "cuda:1", or a `torch.device`.
    mixed_precision : multiply in bfloat16 (`torch.autocast`); weights and losses stay in single precision.
    optimizer : a name in `torch.optim`, or a function from the weights to an optimizer; to be saved, a registered one.
    schedule : a function from the optimizer to a schedule of `torch.optim.lr_scheduler`, which steps once a round.
    deterministic : use torch's deterministic algorithms alone.
    stream : leave the rows in the machine's memory, for pools beyond the memory of the GPU.

    Raises
    ------
    MissingExtraError
        If torch is not installed.
    ArgumentError
        If `module` is no torch module, has nothing to train or cannot be copied, or another argument is out of range.
    """

    keeps_types = True

    def __init__(
        self, module: Any, *, step: Literal["full", "epoch", "batch"] = "full", batch_size: int = 50,
        learning_rate: float = 1e-3, final_rounds: int = 20, device: Any = "cpu", mixed_precision: bool = False,
        optimizer: OptimizerChoice = "Adam", schedule: Callable[[Any], Any] | None = None,
        deterministic: bool = False, stream: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if step not in ("full", "epoch", "batch"):
            raise ArgumentError(wanted("step", "'full', 'epoch' or 'batch'", step))
        self.step, self.device = step, checked_device(device)
        self.batch_size = checked_whole("batch_size", batch_size, 1)
        self.learning_rate = checked_number("learning_rate", learning_rate, 0.0)
        self.final_rounds = checked_whole("final_rounds", final_rounds, 0)
        self.mixed_precision = checked_flag("mixed_precision", mixed_precision)
        self.deterministic = checked_flag("deterministic", deterministic)
        self.stream = checked_flag("stream", stream)
        self.rounds, self.seed = 0, 0
        found, self.factory = built(module, self.seed, self.device)
        self.untrained = untrained(found)
        self.module = copy.deepcopy(self.untrained).to(self.device)
        self.optimizer_choice, self.schedule_choice = optimizer, schedule
        self.optimizer = made_optimizer(optimizer, self.module, self.learning_rate)
        self.schedule = made_schedule(schedule, self.optimizer)
        self.takes_whole = False
        self._rows = DeviceRows(self.device, stream)

    def fresh(self, seed: int = 0) -> Self:
        """Return a model with the module's first weights, which are new where a function makes them and `seed` is
        another; `seed` orders the mini-batches and seeds torch.
        """
        first = self.untrained
        if self.factory is not None and seed != self.seed:
            first, _ = built(self.factory, seed, self.device)
        model = type(self)(first, **self.settings())
        model.factory, model.seed = self.factory, seed
        return model

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy made of the untrained module: a trained one may hold what torch cannot copy."""
        model = self.fresh(self.seed)
        self.checkpoint()(model)
        return model

    def checkpoint(self) -> Callable[..., None]:
        """Return a function that makes the model, or a copy of it, what the model is now."""
        torch = torch_module()
        tensors = {name: tensor.detach().clone() for name, tensor in tensors_of(self.module)}
        moments = copy.deepcopy(self.optimizer.state_dict())
        schedule = None if self.schedule is None else copy.deepcopy(self.schedule.state_dict())
        known = self.classes, self.constant, self.rounds, self.takes_whole
        kept = self._rows.kept.copy()

        def undo(model: Any = self) -> None:
            with torch.no_grad():
                for name, tensor in tensors_of(model.module):
                    tensor.copy_(tensors[name])
            model.optimizer.load_state_dict(moments)
            if model.schedule is not None:
                model.schedule.load_state_dict(schedule)
            model.classes, model.constant, model.rounds, model.takes_whole = known
            if model is self:
                model._rows.kept = kept

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
            shape = self._first_outputs(X).shape
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            raise ContextError(wanted("X", "rows that the network can take", X.shape, str(error))) from error
        least = max(2, len(self.classes))
        if len(shape) != 2 or shape[0] != len(X) or shape[1] < least:
            got = f"shape {tuple(shape)} for {len(X)} rows"
            raise ArgumentError(wanted("module", f"a network that returns logits (n, {least})", got))

    def _first_outputs(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the outputs for whole numbers as they are, where the network takes them, else in single precision."""
        self.takes_whole = X.dtype.kind in "ui"
        if self.takes_whole:
            try:
                return self._outputs(X)
            except (RuntimeError, TypeError, ValueError):
                self.takes_whole = False
        return self._outputs(X)

    @property
    def taught(self) -> bool:
        """Whether it was trained here; the weights that the module came with are where it begins."""
        return self.rounds > 0 or bool(self.classes)

    def update(self, rows: Rows, first: int) -> None:
        """Train one round over all rows."""
        if not self.waits(rows):
            self._train(self._rows.table(rows), rows.y[: rows.count])

    def _train(self, X: Any, codes: NDArray[np.int64]) -> None:
        torch = torch_module()
        order = generator(self.seed, self.rounds).permutation(len(codes))
        self.rounds += 1
        self.module.train()
        with self._repeatable(1):
            if self.step == "full":
                self.optimizer.zero_grad(set_to_none=True)
                for part in mini_batches(len(codes), self._chunk):
                    self._loss(X[part], codes[part], "sum").div(len(codes)).backward()
                self.optimizer.step()
            else:
                last = min(self.batch_size, len(order)) if self.step == "batch" else len(order)
                for part in mini_batches(last, self.batch_size):
                    self.optimizer.zero_grad(set_to_none=True)
                    self._loss(X[order[part]], codes[order[part]], "mean").backward()
                    self.optimizer.step()
            if self.schedule is not None:
                self.schedule.step()
        if not all(bool(torch.isfinite(weights).all()) for weights in self.module.parameters()):
            mend = "lower learning_rate, or scale X"
            raise ArgumentError(wanted("module", "weights that stay finite in training", "one that is not", mend))

    def _loss(self, X: Any, codes: NDArray[np.int64], reduction: str) -> Any:
        torch = torch_module()
        y = torch.as_tensor(codes, device=self.device)
        return torch.nn.functional.cross_entropy(self._forward(X).float(), y, reduction=reduction)

    def _forward(self, X: Any) -> Any:
        torch = torch_module()
        with torch.autocast(self._rows.device.type, torch.bfloat16, enabled=self.mixed_precision):
            return self.module(self._rows.tensor(X, whole=self.takes_whole))

    @property
    def _chunk(self) -> int:
        """How many rows go through the network at once; batch norms keep the large chunks, which decide their means."""
        small = self.device == "cpu" and not any(True for _ in self.module.buffers())
        return CACHED if small else CHUNK

    def _repeatable(self, purpose: int) -> AbstractContextManager[None]:
        return repeatable(child(self.seed, self.rounds, purpose), self._rows.device, self.deterministic)

    def final(self, rows: Rows, first: int) -> Self:
        """Return a copy trained for `final_rounds` more rounds on all rows."""
        model = copy.deepcopy(self)
        for _ in range(self.final_rounds):
            model.update(rows, first)
        return model

    def features(self, rows: Rows) -> Any:
        """Return the features of a table as `codes` takes them best: on a GPU they stay there."""
        return self._rows.table(rows)

    def logits(self, X: Any) -> NDArray[np.float64]:
        """Return the network's outputs (n, k), one for each class."""
        k = max(2, len(self.classes))
        return self._outputs(X)[:, :k].astype(np.float64) if len(X) else np.zeros((0, k))

    def _outputs(self, X: Any) -> NDArray[Any]:
        torch, chunk = torch_module(), self._chunk
        self.module.eval()
        with torch.inference_mode(), self._repeatable(2):
            parts = [self._forward(X[start : start + chunk]).float() for start in range(0, len(X), chunk)]
            found: NDArray[Any] = torch.cat(parts).cpu().numpy()
        return found

    def learned_codes(self, X: Any) -> NDArray[np.int64]:
        """Return the class codes (n,) that the network predicts."""
        return self.logits(X).argmax(axis=1)

    def learned_probabilities(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities (n, k) that the network predicts."""
        logits = self.logits(X)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"module": self.factory or self.untrained, **self.settings()}

    def settings(self) -> dict[str, Any]:
        """Return the constructor's arguments, without the module."""
        names = (
            "step", "batch_size", "learning_rate", "final_rounds", "device", "mixed_precision", "deterministic",
            "stream",
        )  # fmt: skip
        choices = {"optimizer": self.optimizer_choice, "schedule": self.schedule_choice}
        return {name: getattr(self, name) for name in names} | choices

    @property
    def unsavable(self) -> str:
        """Why the module cannot be saved, or nothing."""
        return why_unsavable(self)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs.

        Raises
        ------
        ArgumentError
            If the module's class is not registered with a `config()`, or a function is not registered.
        """
        return state_of(self)

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the model that `snapshot` was taken of, on the device that `evenhand.load` was given, or where it was;
        on the processor if that device is not here.
        """
        model: Self = restored_model(cls, snapshot)
        return model

    def __repr__(self) -> str:
        return f"TorchModel({type(self.module).__name__}, step={self.step!r}, device={self.device!r})"
