"""What is derived from the sources is up to date: the code that pages show, the reference of options, the figures."""

import pytest

import figures
import options_reference
import samples
from tree import Tree

PAGES = [name for name in Tree(samples.ROOT).files if name.endswith(".md")]
SAMPLES = {label: fault for page in PAGES for label, fault in samples.check(samples.ROOT, page, write=False)}
FIGURES = sorted(figures.FOLDER.glob("*.toml"))


def test_there_is_something_to_compare():
    assert SAMPLES and FIGURES


@pytest.mark.parametrize("label", SAMPLES)
def test_a_page_shows_the_code_that_is_compiled(label):
    assert SAMPLES[label] is None, SAMPLES[label]


def test_the_reference_of_options_is_that_of_the_headers():
    same = (options_reference.ROOT / options_reference.PAGE).read_text() == options_reference.page()
    assert same, "the headers say something else; fix: scripts/options_reference.py --write"


@pytest.mark.parametrize("source", FIGURES, ids=lambda source: source.stem)
def test_a_figure_is_drawn_from_its_source(source):
    same = source.with_suffix(".svg").read_text() == figures.svg(source)
    assert same, f"{source.name} says something else; fix: scripts/figures.py --write"


def shown(folder, text):
    """What is found wrong in a page that shows a part of a source."""
    (folder / "server.cpp").write_text("// --8<-- [start:part]\nint answer = 42;\n// --8<-- [end:part]\n")
    (folder / "README.md").write_text(f"<!-- sample: server.cpp#part -->\n```cpp\n{text}\n```\n")
    return [fault for _, fault in samples.check(folder, "README.md", write=False) if fault]


def test_a_sample_that_is_the_source_passes(tmp_path):
    assert shown(tmp_path, "int answer = 42;") == []


def test_a_stale_sample_fails(tmp_path):
    assert len(shown(tmp_path, "int answer = 41;")) == 1
