"""docs/guides/from_movie_tutorial.md, gone through as a reader would, who has Python's gRPC (tests/support/walk.py)."""

import os
import pathlib
import sys

import pytest

from programs import BIN, ROOT
from walk import BLOCK, LIMIT_S, START_S, Reader, line_of, step_of

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_tools", reason="./dev peers installs it")

PAGE = ROOT / "docs/guides/from_movie_tutorial.md"
TEXT = PAGE.read_text()
STEPS = {f"{line_of(TEXT, block.start())}": step_of(block) for block in BLOCK.finditer(TEXT)}
broken = []  # the step at which the walk had to end: what follows depends on it


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    one = Reader(tmp_path_factory.mktemp("movies"))
    one.env["PATH"] = os.pathsep.join((str(BIN), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]))
    yield one
    one.close()


def test_each_block_says_what_it_is():
    assert all(STEPS.values()) and len(STEPS) == TEXT.count("\n```") / 2, "a block without a comment, or with one of no kind"


def test_its_definition_is_the_tutorials():
    tutorial = (ROOT / "tests/interop/peers/tutorial.proto").read_text()
    definition = tutorial[tutorial.index("syntax ="):]
    assert f"```proto\n{definition}```\n" in TEXT, "the page defines something else"


@pytest.mark.timeout(LIMIT_S + START_S)
@pytest.mark.parametrize("line", STEPS)
def test_a_reader_comes_through(line, reader):
    assert not broken, f"line {broken[0]} has failed, and this step depends on it"
    broken.append(line)
    STEPS[line](reader)
    broken.pop()
