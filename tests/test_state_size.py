"""Large files are compressed only where it pays."""

import zipfile

import numpy as np

import evenhand as eh
from evenhand.sampling import ArrayPool


def test_arrays_that_hardly_shrink_are_stored_as_they_are(tmp_path):
    rng, places = np.random.default_rng(0), {}
    for name, X in (("noise", rng.random((2000, 100))), ("pixels", rng.integers(0, 9, (2000, 100)))):
        pool = ArrayPool(X, rng.integers(0, 2, 2000), group=["u", "v"] * 1000)
        eh.save(pool, tmp_path / name)
        with zipfile.ZipFile(tmp_path / name) as archive:
            places[name] = archive.getinfo("arrays")
        assert (eh.load(tmp_path / name).X == X).all()
    assert places["noise"].compress_type == zipfile.ZIP_STORED
    assert places["pixels"].compress_type == zipfile.ZIP_DEFLATED
    assert places["pixels"].compress_size < places["pixels"].file_size / 3
