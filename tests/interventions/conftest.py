import gzip

import pytest


@pytest.fixture
def hepar2(data_folder, tmp_path, monkeypatch):
    """The HEPAR II network, gzipped, with an unpacked copy beside it; loaders find the folder of real data sets."""
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    packed = tmp_path / "hepar2.bif.gz"
    packed.write_bytes((data_folder / "hepar2" / "hepar2.bif.gz").read_bytes())
    (tmp_path / "plain.bif").write_bytes(gzip.decompress(packed.read_bytes()))
    return packed
