"""Pools that stay on disk: rows are read when they are drawn, and logs and files hold references to them."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import ArgumentError, ContextError, StateFileError
from evenhand.sampling import ArrayPool, ImageFolder, MappedRows, ParquetRows, UniformSampler, collect
from evenhand.sampling.pools import file_rows
from evenhand.saving.state import from_bytes, to_bytes

pytestmark = pytest.mark.compiled


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    return rng.normal(size=(120, 3)) + y[:, None], y, rng.choice(["u", "v"], 120)


def mapped(folder, X):
    np.save(folder / "rows.npy", X)
    return MappedRows(folder / "rows.npy")


def parquet(folder, X):
    frame = pd.DataFrame(X, columns=list("abc")).assign(note="x")
    frame.to_parquet(folder / "rows.parquet", row_group_size=37)
    return ParquetRows(folder / "rows.parquet", columns=list("abc"))


@pytest.mark.parametrize("kind", [mapped, parquet])
def test_a_collection_from_a_file_is_that_from_memory(kind, table, tmp_path):
    X, y, group = table
    files = kind(tmp_path, X)
    assert files.shape == (120, 3)
    assert (files[[7, 119, 0]] == X[[7, 119, 0]]).all()
    samplers = [UniformSampler(["u", "v"], batch=3, seed=1) for _ in range(2)]
    pools = [ArrayPool(rows, y, group=group) for rows in (X, files)]
    histories = [collect(sampler, pool, rounds=12) for sampler, pool in zip(samplers, pools, strict=True)]
    pd.testing.assert_frame_equal(*histories)
    assert to_bytes(samplers[0]) == to_bytes(samplers[1])
    again = from_bytes(to_bytes(pools[1]))
    draw = samplers[0].ask()
    assert again.respond(draw)[0] == pools[1].respond(draw)[0]


def test_a_saved_pool_holds_no_row(table, tmp_path):
    X, y, group = table
    X = np.tile(X, (1, 500))
    saved = to_bytes(ArrayPool(mapped(tmp_path, X), y, group=group))
    assert len(saved) < 10_000 < X.nbytes
    np.save(tmp_path / "rows.npy", X + 1)
    with pytest.raises((ArgumentError, StateFileError), match="path: wanted content with the digest"):
        from_bytes(saved)


def test_image_folders(tmp_path):
    from PIL import Image

    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 5, 4, 3)).astype(np.uint8)
    for number, picture in enumerate(pixels):
        (tmp_path / f"{number % 2}").mkdir(exist_ok=True)
        Image.fromarray(picture).save(tmp_path / f"{number % 2}" / f"{number}.png")
    (tmp_path / "notes.txt").write_text("none")
    rows = ImageFolder(tmp_path)
    assert rows.shape == (6, 3, 5, 4)
    assert rows.names == ["0/0.png", "0/2.png", "0/4.png", "1/1.png", "1/3.png", "1/5.png"]
    assert rows[[1, 5]].dtype == np.uint8
    assert (rows[[1, 5]] == np.moveaxis(pixels[[2, 5]], 3, 1)).all()
    Image.fromarray(pixels[0][:2]).save(tmp_path / "0" / "0.png")
    with pytest.raises(ContextError, match=r"0/2\.png: wanted a picture of shape \(3, 2, 4\), got \(3, 5, 4\)"):
        ImageFolder(tmp_path)[[1]]


@pytest.mark.parametrize("kind", [MappedRows, ParquetRows, ImageFolder])
def test_what_cannot_be_read_is_refused(kind, tmp_path):
    (tmp_path / "text.npy").write_text("text")
    (tmp_path / "empty").mkdir()
    for place in ("none", "text.npy", "empty"):
        with pytest.raises(ArgumentError, match=f"path: wanted what {kind.__name__} can read, got"):
            kind(tmp_path / place)


def test_columns_that_are_none_are_refused(table, tmp_path):
    parquet(tmp_path, table[0])
    for columns in (["a", "z"], ["note"]):
        with pytest.raises(ArgumentError, match="path: wanted what ParquetRows can read"):
            ParquetRows(tmp_path / "rows.parquet", columns=columns)


def test_references_are_refused_by_name(table, tmp_path, monkeypatch):
    rows = mapped(tmp_path, table[0])
    for numbers in ([120], [-1], [0.5], 3, ["a"]):
        with pytest.raises(ArgumentError, match="rows: wanted whole numbers from 0 to 119"):
            rows.take(numbers)
    sampler = UniformSampler(["u", "v"], seed=0)
    draw, good = sampler.ask(), asdict(rows.take([0, 1]))
    for change, match in (
        ({"rows": [0, 500]}, "rows: wanted whole numbers"),
        ({"rows": "all"}, "X: wanted a reference as FileRows.take"),
        ({"digest": 3}, "X: wanted a reference as FileRows.take"),
        ({"digest": "0" * 64}, "X: wanted a reference to a file that is open"),
    ):
        with pytest.raises(ContextError, match=match):
            sampler.tell(draw, {**good, **change}, [0, 1])
    monkeypatch.setattr(file_rows, "_opened", {})
    with pytest.raises(ContextError, match="open the file first, or set EVENHAND_FILES to its folder"):
        sampler.tell(draw, good, [0, 1])
    monkeypatch.setenv("EVENHAND_FILES", str(tmp_path))
    with pytest.raises(ContextError, match="a file that is open"):
        sampler.tell(draw, {**good, "digest": "0" * 64}, [0, 1])
    sampler.tell(draw, good, [0, 1])
    assert (sampler.training.X[0] == table[0][0]).all()


def test_a_study_keeps_references_and_replays_them(table, tmp_path):
    X, y, group = table
    pool = ArrayPool(mapped(tmp_path, np.tile(X, (1, 200))), y, group=group)
    pool.reset(1)
    store = tmp_path / "rows.evenhand"
    with eh.Study.create(store, UniformSampler(["u", "v"], batch=5, classes=[0, 1], seed=1)) as study:
        for _ in range(6):
            draw = study.ask()
            study.tell(draw, *pool.respond(draw))
        for event in study.log.events():
            if event.kind == "tell":
                assert set(event.given["X"]) == {"path", "digest", "rows"}
                assert len(str(event.given)) < 1000
        assert study.verify().ok
