"""An untrained scikit-learn object as plain data: its class and the arguments of its constructor, however nested.

Pipelines, column transformers, searches, kernels and skorch's networks are trees of such objects. Only classes of
scikit-learn and skorch and classes that were registered as parts are ever made from data, and torch's parts of a
network named in it; nothing is pickled.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.errors import ArgumentError, StateFileError

OURS = ("sklearn.", "skorch.")
PARTS = ("skorch.", "torch.nn.", "torch.optim.", "torch.utils.data.")
"""Modules whose classes a network's arguments may name."""
TYPES = {kind.__name__: kind for kind in (bool, float, int, object, str)}


def recipe(value: Any, where: str = "estimator") -> Any:
    """Return what `made` turns back into an equal, untrained object.

    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.pipeline import make_pipeline
    >>> made(recipe(make_pipeline(StandardScaler(with_mean=False))))
    Pipeline(steps=[('standardscaler', StandardScaler(with_mean=False))])

    Raises
    ------
    ArgumentError
        If something in it is no plain data, such as a function; the message names the argument.
    """
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value
    if type(value) is list:
        return [recipe(item, f"{where}[{n}]") for n, item in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": recipe(list(value), where)}
    if type(value) is dict:
        return {"dict": [[recipe(k, where), recipe(v, f"{where}[{k!r}]")] for k, v in value.items()]}
    if isinstance(value, slice):
        return {"slice": [recipe(part, where) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"numpy": value.__name__}
    if isinstance(value, type) and value in TYPES.values():
        return {"builtin": value.__name__}
    if (part := getattr(value, "__dict__", {}).get("registered_name")) is not None:  # a class, or a function
        return {"registered": part}
    if isinstance(value, type) and value.__module__.startswith(PARTS):
        return {"type": f"{value.__module__}:{value.__qualname__}"}
    if isinstance(value, np.ufunc) and vars(np).get(value.__name__) == value:
        return {"ufunc": value.__name__}
    return _object(value, where)


def _object(value: Any, where: str) -> dict[str, Any]:
    cls, name = type(value), registry.name_of(value)
    if name is None and not _of_scikit_learn(cls):
        what = str(getattr(value, "__name__", cls.__name__))
        mend = "use scikit-learn's own classes, or give yours get_params() and @evenhand.register(name, kind='part')"
        raise ArgumentError(f"{where}: {what} cannot be saved as plain data; {mend}")
    if hasattr(value, "get_params"):
        arguments = {key: given for key, given in value.get_params(deep=False).items() if not key.startswith("_")}
    else:
        arguments = {key: getattr(value, key) for key in inspect.signature(cls).parameters if hasattr(value, key)}
    source = {"class": f"{cls.__module__}:{cls.__qualname__}"} if name is None else {"part": name}
    return source | {"arguments": {key: recipe(item, f"{where}.{key}") for key, item in arguments.items()}}


def made(data: Any) -> Any:
    """Return the untrained object that `recipe` described.

    Raises
    ------
    StateFileError
        If it names a class that is neither scikit-learn's nor registered.
    """
    if isinstance(data, list):
        return [made(item) for item in data]
    if not isinstance(data, dict):
        return data
    if "arguments" in data:
        cls = registry.get(data["part"]).cls if "part" in data else class_of(data["class"])
        return cls(**{key: made(item) for key, item in data["arguments"].items()})
    ((kind, body),) = data.items()
    if kind == "tuple":
        return tuple(made(body))
    if kind == "dict":
        return {made(key): made(item) for key, item in body}
    if kind == "slice":
        return slice(*body)
    if kind == "builtin" and body in TYPES:
        return TYPES[body]
    if kind == "registered":
        return registry.get(body).cls
    if kind == "type":
        return _named(body, PARTS)
    found = getattr(np, body, None)
    if (kind == "ufunc" and isinstance(found, np.ufunc)) or (isinstance(found, type) and issubclass(found, np.generic)):
        return found
    raise StateFileError(f"estimator: {kind} {body!r} is not known")


def class_of(path: str) -> Any:
    """Return the class of scikit-learn at a path such as "sklearn.tree._classes:DecisionTreeClassifier".

    Raises
    ------
    StateFileError
        If it is anything else.
    """
    found = _named(path, OURS)
    if not _of_scikit_learn(found):
        raise StateFileError(f"estimator: {path!r} is no class of scikit-learn")
    return found


def _named(path: str, modules: tuple[str, ...]) -> Any:
    """Return the class at a path, in one of these modules."""
    module, _, name = path.partition(":")
    found = getattr(importlib.import_module(module), name, None) if module.startswith(modules) else None
    if not isinstance(found, type) or found.__module__ != module:
        raise StateFileError(f"estimator: {path!r} is no class of {', '.join(modules)}")
    return found


def _of_scikit_learn(cls: type) -> bool:
    """Return whether a class is an estimator, a kernel, a splitter or a network that its arguments describe."""
    described = hasattr(cls, "get_params") or hasattr(cls, "get_n_splits") or cls.__name__ == "make_column_selector"
    described = described or cls.__module__.startswith("skorch.")
    return cls.__module__.startswith(OURS) and described and cls.__name__ != "FrozenEstimator"
