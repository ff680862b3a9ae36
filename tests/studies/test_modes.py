"""Who may read what evenhand keeps: its owner alone, unless somebody allowed more."""

from __future__ import annotations

import os
import stat

import pytest

import evenhand as eh
from evenhand.studies import Store, Study


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.fixture(params=[0o022, 0o000, 0o277], ids=oct)
def umask(request):
    """A umask, and the mode that it leaves of 0600."""
    before = os.umask(request.param)
    yield 0o600 & ~request.param
    os.umask(before)


def by_library(path):
    Study.create(path, eh.quotas.FairUCB([0.2, 0.3], seed=1), name="ads").close()


@pytest.mark.parametrize("place", ["{}", "sqlite:///{}"])
def test_a_new_store_is_for_its_owner_alone(place, umask, tmp_path):
    by_library(place.format(tmp_path / "ads.evenhand"))
    assert set(modes(tmp_path).values()) == {umask}


def test_a_store_that_is_there_keeps_its_mode(tmp_path):
    path = tmp_path / "ads.evenhand"
    by_library(path)
    path.chmod(0o640)
    with Study.open(path) as study:
        study.ask()
        assert set(modes(tmp_path).values()) == {0o640}
    Store.at(path, create=True).close()
    empty = tmp_path / "empty.evenhand"
    empty.touch(0o644)
    Store.at(empty, create=True).close()
    assert set(modes(tmp_path).values()) == {0o640, 0o644}


def test_a_link_to_a_store_that_is_not_there_yet_leads_to_it(tmp_path):
    (tmp_path / "link.evenhand").symlink_to(tmp_path / "ads.evenhand")
    by_library(tmp_path / "link.evenhand")
    assert stat.S_IMODE((tmp_path / "ads.evenhand").stat().st_mode) == 0o600
