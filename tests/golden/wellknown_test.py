"""What the library derives from gRPC's own definitions is up to date."""

import pytest

import wellknown

FILES = [*(f"src/wellknown/{name}.proto" for name in wellknown.COPIES),
         *(f"src/services/{name}.coracle.hpp" for name in wellknown.SERVICES), "src/wellknown/descriptors_table.cpp"]


@pytest.fixture(scope="module")
def derived(tmp_path_factory):
    return dict(wellknown.derived(tmp_path_factory.mktemp("wellknown")))


@pytest.mark.parametrize("path", FILES)
def test_it_is_what_is_derived_now(path, derived):
    same = (wellknown.ROOT / path).read_text() == derived[path]
    assert same, f"{path} is not what is derived now; if that is meant: tests/golden/wellknown.py"


def test_nothing_else_is_derived(derived):
    assert sorted(derived) == sorted(FILES)
