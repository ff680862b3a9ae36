"""Arrays as bytes: what goes in comes out; what is not a plain array is refused by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

from evenhand.saving.buffers import can_hold, pack, unpack

KINDS = st.one_of(some.scalar_dtypes(), some.byte_string_dtypes(), some.unicode_string_dtypes())
LAYOUTS = st.sampled_from([np.ascontiguousarray, np.asfortranarray, lambda array: array[..., ::2], lambda a: a[::-1]])


@st.composite
def arrays(draw):
    array = draw(some.arrays(draw(KINDS), some.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
    return draw(LAYOUTS)(array) if array.ndim else array


def same(got, array):
    assert got.dtype == array.dtype.newbyteorder("<")
    assert got.shape == array.shape
    assert got.tobytes() == array.astype(got.dtype).tobytes()
    assert got.flags.f_contiguous >= array.flags.fnc
    assert all((got.flags.writeable, got.flags.owndata, got.flags.aligned))


@given(st.lists(arrays(), max_size=4))
def test_every_array_comes_back_as_it_was(several):
    for got, array in zip(unpack(*pack(several)), several, strict=True):
        same(got, array)


@pytest.mark.parametrize("dtype", ["O", "i4,f8", [("a", "f8")], "V3", "T"], ids=str)
def test_arrays_of_other_kinds_are_not_held(dtype):
    assert not can_hold(np.dtype(dtype))


FORGED = {
    "code": ["f8,f8", [1], "C"],
    "no such type": ["<i3", [2], "C"],
    "two negatives": ["<f8", [-2, -1], "C"],
    "too many": ["<f8", [3], "C"],
    "far too many": ["<f8", [10**40], "C"],
    "nothing, endlessly": ["<f8", [0, 10**40], "C"],
    "no shape": ["<f8", 2, "C"],
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_description_makes_no_array(case):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        unpack([FORGED[case]], bytes(16))


def test_no_objects_are_made_of_bytes():
    with pytest.raises(ValueError, match=r"array 0: expected numbers, truth values, text or times, got the type '\|O'"):
        unpack([["|O", [2], "C"]], bytes(16))
