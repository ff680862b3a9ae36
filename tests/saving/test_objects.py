"""Objects of other libraries become plain data and come back alike; nothing else does."""

import collections
import functools
import random

import numpy as np
import pytest

from evenhand.errors import ArgumentError, StateFileError
from evenhand.saving.objects import described, rebuilt
from evenhand.saving.state import _decode, _encode


def through_a_file(value, libraries=("sklearn",)):
    arrays = []
    encoded = _encode(described(value, libraries, "it"), arrays, "it")
    return rebuilt(_decode(encoded, arrays), libraries)


RECORDS = np.zeros(3, dtype=np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 16}))
RECORDS["b"] = [0.5, 1.5, -2.0]
VALUES = [
    *(None, True, 3, 2**80, 0.1, "ü", b"\x00\xff", [1, [2]], (1, (2,)), {1, 2}, frozenset("ab"), {("a", 1): [None]}),
    *(np.float32(0.1), np.int8(-3), np.bool_(True), np.float64, int, slice(1, 5), range(3), complex(1, 2)),
    *(collections.deque([1, 2], 5), collections.Counter("abca"), collections.OrderedDict(b=1, a=2)),
    *(collections.defaultdict(float, a=1.5), np.dtype("<f8"), RECORDS.dtype),
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_data_comes_back_alike(value):
    again = through_a_file(value)
    assert (type(again), again) == (type(value), value)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 3)),
        np.array(["a", "üb"]),
        RECORDS,
        np.array(["a", None, 3], dtype=object).reshape(3, 1),
    ],
    ids=range(5),
)
def test_arrays_come_back_alike_in_their_order_of_memory(array):
    again = through_a_file(array)
    assert (again.dtype, again.shape, again.tolist()) == (array.dtype, array.shape, array.tolist())
    assert again.flags.f_contiguous == array.flags.f_contiguous
    assert again.flags.writeable


def test_what_was_one_object_is_one_object_again():
    shared = [1]
    first, second, _ = through_a_file([shared, shared, np.zeros(2)])
    assert first is second
    circle = {}
    circle["self"] = circle
    again = through_a_file(circle)
    assert again["self"] is again


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng, random.Random])
def test_a_random_stream_goes_on(make):
    stream = make(7)
    draw = type(stream).random if isinstance(stream, random.Random) else type(stream).normal
    draw(stream)
    again = through_a_file(stream)
    assert [draw(stream) for _ in range(5)] == [draw(again) for _ in range(5)]


def test_bound_methods_and_partials_come_back():
    counter = through_a_file(collections.defaultdict(functools.partial(float, 1)))
    assert counter["a"] == 1.0


class Own:
    pass


@pytest.mark.parametrize("value", [Own(), [Own()], lambda: 0, {"a": Own}, print, np.mean, open, np], ids=range(8))
def test_what_is_neither_data_nor_of_the_library_is_refused(value):
    with pytest.raises(ArgumentError, match=r"^it cannot be saved: it holds .*neither data nor an object of sklearn"):
        described(value, ("sklearn",), "it")


def node(**body):
    return {"root": {"at": 0}, "nodes": [body, {"tuple": []}, {"list": []}]}


CALL = {"arguments": {"at": 1}, "state": None, "items": {"at": 2}, "pairs": {"at": 2}}
ELSEWHERE = ["os:system", "builtins:eval", "numpy:load", "", 3]
NO_CLASSES = ["sklearn.utils:Bunch", "sklearn.base:clone", "sklearn.externals.joblib:load"]


@pytest.mark.parametrize("path", [*ELSEWHERE, *NO_CLASSES])
@pytest.mark.parametrize("how", ["new", "call", "class"])
def test_a_file_makes_nothing_but_objects_of_the_library(path, how):
    body = {how: path} if how == "class" else {how: path, **CALL}
    with pytest.raises(StateFileError, match="saved object"):
        rebuilt(node(**body), ("sklearn",))


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"root": {"at": 0}, "nodes": []},
        {"root": {"at": "x"}, "nodes": [1]},
        node(what=3),
        node(),
        node(tuple=3),
        node(Generator={"at": 2}),
        node(dtype="nothing"),
    ],
    ids=range(9),
)
def test_data_that_was_never_written_is_refused(data):
    with pytest.raises(StateFileError, match="saved object"):
        rebuilt(data, ("sklearn",))
