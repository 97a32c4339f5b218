"""The pages of docs/cli show what the commands print now."""

import pytest

import recorded


def test_every_record_stands_on_a_page():
    assert recorded.shown().keys() == recorded.RECORDS.keys()


@pytest.mark.parametrize("name", recorded.RECORDS)
def test_a_page_shows_what_is_printed(name):
    page, text = recorded.shown()[name]
    assert recorded.shape(text) == recorded.shape(recorded.RECORDS[name]()), f"{page.name}; fix: scripts/recorded.py --write"
