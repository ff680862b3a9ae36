"""Objects of other libraries as plain data and back, without pickle: a trained classifier, a bandit, an encoder.

An object's state is written down attribute by attribute, as `copy` would do it. Only objects of the libraries that the
caller names are made again, and a few of Python and numpy that hold data; nothing else is imported or called.
Two references to one object remain references to one object.

An untrained estimator is written down as its class and the arguments of its constructor, however nested: pipelines,
column transformers, searches, kernels and skorch's networks are trees of such objects. Only classes of scikit-learn
and skorch, and classes that were registered as parts, are made again; torch's parts of a network are named.
"""

from __future__ import annotations

import copyreg
import importlib
import inspect
from operator import attrgetter
from types import BuiltinFunctionType, BuiltinMethodType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.errors import ArgumentError, StateFileError, is_broken
from evenhand.protocol import Configurable, Splitter
from evenhand.saving.buffers import can_hold

PLAIN = (type(None), bool, int, float, str, bytes)
HOLDERS = {
    "builtins": {"bool", "complex", "dict", "float", "frozenset", "int", "list", "object", "range", "set", "slice"}
    | {"str", "tuple"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "timedelta"},
    "fractions": {"Fraction"},
    "functools": {"partial"},
    "numpy": {"ndarray"},
    "random": {"Random"},
}
"""Classes of Python that hold data, by their module."""
MAKERS = ("__pyx_unpickle_", "newObj")
"""How functions of compiled classes are named that make an empty object."""
ESTIMATORS = ("sklearn.", "skorch.")
PARTS = ("skorch.", "torch.nn.", "torch.optim.", "torch.utils.data.")
"""Modules whose classes a network's arguments may name."""
LACKS: Any = object()
"""What an estimator keeps under the name of an argument that it does not keep."""
NAMED = (type, FunctionType, BuiltinFunctionType, MethodType)
METHODS = (BuiltinMethodType, MethodType, MethodWrapperType)
UFUNCS = {name: one for name, one in vars(np).items() if isinstance(one, np.ufunc)}
"""numpy's functions of arrays, by their names."""
GENERATORS: dict[str, type[np.random.BitGenerator]] = {
    one.__name__: one
    for one in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
}
STREAMS = {"RandomState": np.random.RandomState, "Generator": np.random.Generator}


def described(value: object, libraries: tuple[str, ...], what: str) -> dict[str, Any]:
    """Return a value as plain data that a state file can hold.

    Parameters
    ----------
    libraries : the packages whose objects it may hold, such as ("river",).
    what : what it is, for the message.

    Raises
    ------
    ArgumentError
        If something in it is neither data nor an object of these libraries, such as a user's own function.
    """
    nodes: list[Any] = []
    return {"root": _Writer(libraries, what, nodes).write(value), "nodes": nodes}


def recipe(estimator: object, where: str = "estimator") -> dict[str, Any]:
    """Return an untrained estimator as plain data that a state file can hold.

    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.pipeline import make_pipeline
    >>> rebuilt(recipe(make_pipeline(StandardScaler(with_mean=False))))
    Pipeline(steps=[('standardscaler', StandardScaler(with_mean=False))])

    Raises
    ------
    ArgumentError
        If something in it is not plain data, such as a function; the message names the argument.
    """
    nodes: list[Any] = []
    return {"root": _Recipes((), where, nodes).write(estimator), "nodes": nodes}


def rebuilt(data: Any, libraries: tuple[str, ...] = ()) -> Any:
    """Return the value that `described` or `recipe` has written.

    Raises
    ------
    StateFileError
        If the data is not of that form, or names a class of another library.
    """
    try:
        return _Reader(libraries, data["nodes"]).read(data["root"])
    except Exception as error:
        if isinstance(error, StateFileError) or is_broken(error):
            raise
        raise StateFileError(f"saved object: {type(error).__name__}: {error}") from error


class _Writer:
    """Writes each object once, as a node that others refer to by its number."""

    def __init__(self, libraries: tuple[str, ...], what: str, nodes: list[Any]) -> None:
        self.libraries, self.what, self.nodes = libraries, what, nodes
        self.known: dict[int, tuple[int, Any]] = {}

    def write(self, value: object) -> Any:
        if type(value) in PLAIN:
            return value
        if id(value) not in self.known:
            number = len(self.nodes)
            self.known[id(value)] = number, value  # the value is kept, so that no other takes its id
            self.nodes.append(None)
            self.nodes[number] = self._node(value)
        return {"at": self.known[id(value)][0]}

    def _node(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        if kind in (list, tuple, set, frozenset):
            return {kind.__name__: [self.write(item) for item in value]}
        if kind is dict:
            return {"dict": [[self.write(key), self.write(item)] for key, item in value.items()]}
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": np.array([value])}
        if isinstance(value, np.dtype):
            return {"dtype": self.write(_described_dtype(value))}
        if kind.__name__ in STREAMS and isinstance(value, STREAMS[kind.__name__]):
            return {kind.__name__: self.write(_state_of_stream(value))}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"number": value.__name__}
        if isinstance(value, type):
            return {"class": self._path(value)}
        if isinstance(value, METHODS) and value.__self__ is not None and not isinstance(value.__self__, ModuleType):
            return {"method": value.__name__, "of": self.write(value.__self__)}
        return self._object(value)

    def _array(self, value: Any) -> dict[str, Any]:
        if value.dtype.hasobject:
            return {"objects": [self.write(item) for item in value.ravel().tolist()], "shape": list(value.shape)}
        order: Any = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        if can_hold(value.dtype):
            return {"array": np.ascontiguousarray(value.T if order == "F" else value), "order": order}
        clean = np.zeros(value.shape, value.dtype)  # what lies between the fields is by chance
        for name in value.dtype.names or ():
            clean[name] = value[name]
        body = {"bytes": clean.tobytes(order), "shape": list(value.shape), "order": order}
        return body | {"dtype": self.write(value.dtype)}

    def _object(self, value: object) -> dict[str, Any]:
        if not self._allowed(type(value)):
            self._refuse(value)
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):
            self._refuse(value)
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        if make is copyreg.__newobj__:  # type: ignore[attr-defined]
            how, make, arguments = "new", arguments[0], arguments[1:]
        elif _makes(make):
            how = "call"
        else:
            self._refuse(value)
        node: dict[str, Any] = {how: self._path(make), "arguments": self.write(tuple(arguments))}
        node["state"] = self.write(state)
        node["items"] = self.write(list(items or ()))
        node["pairs"] = self.write([list(pair) for pair in pairs or ()])
        return node

    def _path(self, value: Any) -> str:
        if not self._allowed(value):
            self._refuse(value)
        return f"{value.__module__}:{value.__qualname__}"

    def _allowed(self, value: Any) -> bool:
        return _is_allowed(value.__module__, value.__qualname__, self.libraries)

    def _refuse(self, value: object) -> Any:
        name = value.__qualname__ if isinstance(value, NAMED) else type(value).__qualname__
        own = " or ".join(self.libraries)
        raise ArgumentError(
            f"{self.what} cannot be saved: it holds {name}, which is neither data nor an object of {own}; "
            "wrap it in evenhand.learners.Adapter with your own dump= and load="
        )


class _Recipes(_Writer):
    """Writes estimators as the arguments of their constructors."""

    def _node(self, value: Any) -> dict[str, Any]:
        if isinstance(value, (type, FunctionType)) and (part := vars(value).get("_registered_name")) is not None:
            return {"registered": part}
        if isinstance(value, np.ufunc) and UFUNCS.get(value.__name__) == value:
            return {"ufunc": value.__name__}
        if isinstance(value, type) and value.__module__.startswith(PARTS):
            return {"class": f"{value.__module__}:{value.__qualname__}"}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self._inside(f"[{n}]", item) for n, item in enumerate(value)]}
        return super()._node(value)

    def _object(self, value: object) -> dict[str, Any]:
        cls, name = type(value), registry.name_of(value)
        if name is None and not _is_estimator(cls):
            return super()._object(value)
        if isinstance(value, Configurable):
            given = {key: item for key, item in value.get_params(deep=False).items() if not key.startswith("_")}
        else:
            held = ((key, getattr(value, key, LACKS)) for key in inspect.signature(cls).parameters)
            given = {key: item for key, item in held if item is not LACKS}
        made = name or f"{cls.__module__}:{cls.__qualname__}"
        return {"made": made, "arguments": {key: self._inside(f".{key}", item) for key, item in given.items()}}

    def _inside(self, place: str, value: object) -> Any:
        outside, self.what = self.what, self.what + place
        written, self.what = self.write(value), outside
        return written

    def _refuse(self, value: object) -> Any:
        name = getattr(value, "__name__", type(value).__name__)
        hint = "use scikit-learn's own classes, or give yours get_params() and @evenhand.register(name, kind='part')"
        raise ArgumentError(f"{self.what}: {name} cannot be saved as plain data; {hint}")


class _Reader:
    """Makes each node when it is first referred to; an object is known before its own state is read."""

    def __init__(self, libraries: tuple[str, ...], nodes: list[Any]) -> None:
        self.libraries, self.nodes = libraries, nodes
        self.made: dict[int, Any] = {}

    def read(self, value: object) -> Any:
        if type(value) is not dict:
            return value
        number = value["at"]
        if number not in self.made:
            self._make(number, self.nodes[number])
        return self.made[number]

    def _make(self, number: int, node: dict[str, Any]) -> None:
        kind = next(iter(node))
        body = node[kind]
        if kind == "list":
            made = self.made[number] = []
            made.extend(map(self.read, body))
        elif kind == "dict":
            filled = self.made[number] = {}
            filled.update((self.read(key), self.read(item)) for key, item in body)
        elif kind in ("new", "call"):
            self._make_object(number, node, kind)
        elif kind == "made":
            made = self._find(body, ESTIMATORS) if ":" in body else registry.get(body).cls
            self.made[number] = made(**{key: self.read(item) for key, item in node["arguments"].items()})
        else:
            self.made[number] = self._leaf(kind, body, node)

    def _leaf(self, kind: str, body: Any, node: dict[str, Any]) -> Any:
        if kind in ("tuple", "set", "frozenset"):
            return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](map(self.read, body))
        if kind == "scalar":
            return body[0]
        if kind == "dtype":
            return np.dtype(self.read(body))
        if kind in STREAMS:
            return _stream(kind, self.read(body))
        if kind == "number":
            return np.dtype(body).type
        if kind == "class":
            return self._find(body, PARTS)
        if kind == "registered":
            return registry.get(body).cls
        if kind == "ufunc" and body in UFUNCS:
            return UFUNCS[body]
        if kind == "method":
            return getattr(self.read(node["of"]), body)
        if kind == "array":
            return np.array(body.T if node["order"] == "F" else body, order=node["order"])
        if kind == "objects":
            held = np.empty(len(body), dtype=object)
            held[:] = [self.read(item) for item in body]
            return held.reshape(node["shape"])
        if kind == "bytes":
            flat = np.frombuffer(body, self.read(node["dtype"]))
            return flat.reshape(node["shape"], order=node["order"]).copy(order=node["order"])
        raise StateFileError(f"saved object: the kind {kind!r} is not known")

    def _make_object(self, number: int, node: dict[str, Any], how: str) -> None:
        make, arguments = self._find(node[how]), self.read(node["arguments"])
        made = self.made[number] = make.__new__(make, *arguments) if how == "new" else make(*arguments)
        state = self.read(node["state"])
        if hasattr(made, "__setstate__") and state is not None:
            made.__setstate__(state)
        elif state is not None:
            own, slots = state if isinstance(state, tuple) else (state, None)
            vars(made).update(own or {})
            for name, value in (slots or {}).items():
                setattr(made, name, value)
        for item in self.read(node["items"]):
            made.append(item)
        for key, value in self.read(node["pairs"]):
            made[key] = value

    def _find(self, path: object, beside: tuple[str, ...] = ()) -> Any:
        """Return the class at a path, in the libraries or in one of the modules `beside`: an estimator, a part."""
        module, _, name = str(path).partition(":")
        if _is_allowed(module, name, self.libraries) or module.startswith(beside):
            found = attrgetter(name)(importlib.import_module(module))
            own = _makes(found) and (found.__module__, found.__qualname__) == (module, name)
            if own and (beside != ESTIMATORS or _is_estimator(found)):
                return found
        raise StateFileError(f"saved object: {path!r} is not a class of {' or '.join((*self.libraries, *beside))}")


def _makes(found: object) -> bool:
    """Return whether this is a class, or a function of a compiled class that makes an empty object."""
    return isinstance(found, type) or (inspect.isroutine(found) and found.__name__.startswith(MAKERS))


def _is_allowed(module: str, name: str, libraries: tuple[str, ...]) -> bool:
    return module.partition(".")[0] in libraries or name in HOLDERS.get(module, ())


def _described_dtype(kind: Any) -> Any:
    """Return what `np.dtype` makes the type of, its padding included."""
    if not kind.names:
        return kind.str
    fields = [kind.fields[name] for name in kind.names]
    formats, offsets = [_described_dtype(field[0]) for field in fields], [field[1] for field in fields]
    return {"names": list(kind.names), "formats": formats, "offsets": offsets, "itemsize": kind.itemsize}


def _state_of_stream(stream: Any) -> Any:
    return stream.get_state(legacy=False) if isinstance(stream, np.random.RandomState) else stream.bit_generator.state


def _stream(kind: str, state: Any) -> Any:
    words = GENERATORS.get(state["bit_generator"])
    if words is None:
        raise StateFileError(f"saved object: {state['bit_generator']!r} is not a random bit generator")
    if kind == "Generator":
        bits = words()
        bits.state = state
        return np.random.Generator(bits)
    made = np.random.RandomState(words())
    made.set_state(state)
    return made


def _is_estimator(cls: type) -> bool:
    """Return whether a class is an estimator, a kernel, a splitter or a network that its arguments describe."""
    described = issubclass(cls, Configurable) or issubclass(cls, Splitter) or cls.__name__ == "make_column_selector"
    described = described or cls.__module__.startswith("skorch.")
    return cls.__module__.startswith(ESTIMATORS) and described and cls.__name__ != "FrozenEstimator"
