"""The pages of docs/start, gone through as a reader would: tests/support/walk.py."""

import pathlib
import subprocess

import pytest

from programs import BUILD, ROOT
from walk import BLOCK, LIMIT_S, PAGES, START_S, TEXTS, WALKS, Reader, step_of, steps_of

NOT_WALKED = ("install",)  # it installs packages: tests/docs/install_page_test.py
STEPS = {name: (walk, step) for walk, pages in WALKS.items() for page in pages for name, step in steps_of(page).items()}
broken = {}  # the step at which a walk had to end: what follows stands on it


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    done = subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], capture_output=True, text=True)
    assert done.returncode == 0, f"cmake --install ended with {done.returncode}: {done.stderr[-300:]}"
    return folder


@pytest.fixture(scope="module")
def readers(prefix, tmp_path_factory):
    each = {walk: Reader(tmp_path_factory.mktemp(walk), prefix) for walk in WALKS}
    yield each
    for one in each.values():
        one.close()


def test_each_page_is_walked():
    assert {page.stem for page in PAGES.glob("*.md")} == {*TEXTS, *NOT_WALKED}


@pytest.mark.parametrize("page", TEXTS)
def test_each_block_says_what_it_is(page):
    blocks = [block for block in BLOCK.finditer(TEXTS[page]) if step_of(block)]
    assert len(blocks) == TEXTS[page].count("\n```") / 2, "a block of code has no comment before it, or one of no kind"


@pytest.mark.timeout(LIMIT_S + START_S)
@pytest.mark.parametrize("name", STEPS)
def test_a_reader_comes_through(name, readers):
    walk, step = STEPS[name]
    assert walk not in broken, f"{broken[walk]} has failed, and this stands on it"
    broken[walk] = name
    step(readers[walk])
    del broken[walk]


FINISHED = ROOT / "examples/16_guestbook"
OWN = ("README.md",)  # of the example: the project has another one


@pytest.mark.parametrize("name", sorted(str(path.relative_to(FINISHED)) for path in FINISHED.rglob("*")
                                        if path.is_file() and path.parts[len(FINISHED.parts)] not in ("build", "certs", *OWN)))
def test_the_finished_project_is_what_the_pages_make(name, readers):
    assert "tutorial" not in broken, f"{broken['tutorial']} has failed, and this stands on it"
    assert (FINISHED / name).read_text() == pathlib.Path(readers["tutorial"].here(), name).read_text()
