"""An untrained scikit-learn object as plain data: its class and the arguments of its constructor, however nested.

Pipelines, column transformers, searches and kernels are trees of such objects. Only classes of scikit-learn and classes
that were registered as parts are ever made from data; nothing is pickled.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.errors import ArgumentError, StateFileError

__all__ = ["class_of", "made", "recipe"]

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
        arguments = value.get_params(deep=False)
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
    module, _, name = path.partition(":")
    if module.startswith("sklearn."):
        found = getattr(importlib.import_module(module), name, None)
        if isinstance(found, type) and _of_scikit_learn(found):
            return found
    raise StateFileError(f"estimator: {path!r} is no class of scikit-learn")


def _of_scikit_learn(cls: type) -> bool:
    """Say whether a class is an estimator, a kernel or a splitter of scikit-learn that its arguments describe."""
    described = hasattr(cls, "get_params") or hasattr(cls, "get_n_splits") or cls.__name__ == "make_column_selector"
    return cls.__module__.startswith("sklearn.") and described and cls.__name__ != "FrozenEstimator"
