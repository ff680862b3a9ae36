"""Clicks: was a promise kept, what would it cost, and how it is kept from now on, by the commands of the page alone."""

import gzip

import pytest

from tests.tasks.pages import follow, write_promises

pytestmark = [pytest.mark.slow, pytest.mark.data, pytest.mark.timeout(300)]


def test_the_page_on_clicks_goes_from_the_log_to_a_promise_that_is_kept(data_folder, tmp_path):
    for name, logged_by in (("shop.csv", "bts"), ("uniform.csv", "random")):
        packed = data_folder / "open_bandit" / logged_by / "men" / "men.csv.gz"
        (tmp_path / name).write_bytes(gzip.decompress(packed.read_bytes()))
    write_promises("tasks/clicks.md", tmp_path)
    follow("tasks/clicks.md", tmp_path)
