"""Files of data sets: used only with the right checksum, refused by name with the mend."""

import hashlib

import pytest

from evenhand.datasets.fetching import fetch, folder
from evenhand.errors import DatasetError

CONTENT = b"a,b\n1,2\n"
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    return tmp_path


def test_the_folder_is_named_by_the_environment(cache):
    assert folder() == cache


def test_a_file_in_the_cache_is_used_without_a_network(cache):
    (cache / "set").mkdir()
    (cache / "set" / "data.csv").write_bytes(CONTENT)
    assert fetch("set/data.csv", SHA, url=None) == cache / "set" / "data.csv"


def test_a_file_with_another_checksum_is_refused(cache):
    (cache / "data.csv").write_bytes(CONTENT + b"3,4\n")
    with pytest.raises(DatasetError, match=rf"data.csv: SHA-256 is .*, expected {SHA}; remove the file"):
        fetch("data.csv", SHA, url=None)


def test_a_file_that_needs_a_persons_consent_says_how_to_get_it(cache):
    with pytest.raises(DatasetError, match=r"data.csv: no such file; ask nicely, put it there, or set EVENHAND_DATA"):
        fetch("data.csv", SHA, url=None, how="ask nicely")


def test_a_file_that_cannot_be_fetched_says_so(cache):
    with pytest.raises(DatasetError, match=r"data.csv: no such file, and file:///no/such/host cannot be fetched"):
        fetch("data.csv", SHA, url="file:///no/such/host")


def test_the_listed_checksums_are_those_of_the_files(data_folder):
    """What tests on real data stand on: three of the listed files, read whole."""
    listed = [line.split() for line in (data_folder / "checksums.txt").read_text().splitlines() if line.strip()]
    small = [(sha, name) for sha, name in listed if "open_bandit" in name or "german" in name][:3]
    assert small
    for sha, name in small:
        assert hashlib.sha256((data_folder / name).read_bytes()).hexdigest() == sha
