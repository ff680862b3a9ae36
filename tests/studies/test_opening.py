"""What opening a study takes: a name."""

import pytest

import evenhand as eh
from evenhand.errors import UnknownStudyError
from evenhand.studies import Store, Study


def test_a_name_that_is_no_text_is_unknown(place):
    store = Store.at(place, create=True)
    Study.create(store, eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}, seed=1), name="ads")
    for name in (5, 5.0, True):
        with pytest.raises(UnknownStudyError, match="no study is named"):
            Study.open(store, name)
    assert not Study.open(store, "ads").log.has_digest(5)
