"""Files are compressed."""

import zipfile

import numpy as np

import evenhand as eh
from evenhand.sampling import ArrayPool


def test_large_arrays_are_compressed(tmp_path):
    rng = np.random.default_rng(0)
    pool = ArrayPool(rng.integers(0, 9, (2000, 100)), rng.integers(0, 2, 2000), group=["u", "v"] * 1000)
    eh.save(pool, tmp_path / "pixels")
    with zipfile.ZipFile(tmp_path / "pixels") as archive:
        place = archive.getinfo("arrays")
    assert (eh.load(tmp_path / "pixels").X == pool.X).all()
    assert place.compress_size < place.file_size / 3
