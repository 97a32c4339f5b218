"""Each fuzzer, for a second on its corpus; the canary has to find its planted bug."""

import pytest

import fuzz


@pytest.mark.parametrize("name", fuzz.names())
def test_a_second_finds_nothing(name):
    fault = fuzz.smoke_one(name)
    assert fault is None, fault
