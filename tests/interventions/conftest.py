import gzip
import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("evenhand-interventions", derandomize=True, deadline=None, database=None)
settings.load_profile("evenhand-interventions")

SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def data_folder(monkeypatch):
    """The folder of real data sets; the test is skipped where it is absent."""
    folder = Path(os.environ.get("EVENHAND_DATA", SHARED))
    if not (folder / "hepar2" / "hepar2.bif.gz").is_file():
        pytest.skip(f"{folder}: no real data sets here; set EVENHAND_DATA")
    monkeypatch.setenv("EVENHAND_DATA", str(folder))
    return folder


@pytest.fixture
def hepar2(data_folder, tmp_path):
    """The HEPAR II network, gzipped, with an unpacked copy beside it."""
    packed = tmp_path / "hepar2.bif.gz"
    packed.write_bytes((data_folder / "hepar2" / "hepar2.bif.gz").read_bytes())
    (tmp_path / "plain.bif").write_bytes(gzip.decompress(packed.read_bytes()))
    return packed
