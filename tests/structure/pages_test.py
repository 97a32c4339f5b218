"""What is derived from other files is up to date: the code that pages show, the reference of options, figures, measured results."""

import pytest

import figures
import matrix
import module_interfaces
import options_reference
import published
import repository
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


def test_the_modules_export_the_names_of_the_headers():
    wanted = module_interfaces.interfaces()
    for path, text in wanted.items():
        assert (matrix.ROOT / path).read_text() == text, f"{path}: the headers say something else; fix: scripts/module_interfaces.py --write"
    exported = "".join(wanted.values())
    assert "using coracle::serve;" in exported and "using coracle::tls::key_pair;" in exported


def test_the_page_of_platforms_is_that_of_the_results():
    same = (matrix.ROOT / matrix.PAGE).read_text() == matrix.page(matrix.read_results())
    assert same, f"{matrix.RESULTS} or the cells say something else; fix: ./dev matrix --page"


def test_each_result_of_the_matrix_is_of_a_cell_and_whole():
    cells = {cell.name: cell for cell in matrix.cells()}
    lines = (matrix.ROOT / matrix.RESULTS).read_text().splitlines()
    results = matrix.read_results()
    assert len(cells) == len(matrix.cells()) and len(results) == len(lines) > 0, "two lines have one name"
    for name, one in results.items():
        assert name in cells, f"{matrix.RESULTS}: there is no cell {name}"
        assert one["tier"] == cells[name].tier and one["command"] == cells[name].shown_by and one["date"] and one["sources"]
        assert one["result"] == "passed" or one["result"] == "failed" and one["reason"], f"{name}: a failure without a reason"


def test_a_changed_result_of_the_matrix_changes_the_page():
    results = matrix.read_results()
    name = next(iter(results))
    failed = {**results, name: {**results[name], "result": "failed", "reason": "error: no room"}}
    assert "error: no room" in matrix.page(failed) and matrix.page(failed) != matrix.page(results)


@pytest.mark.parametrize(("pattern", "names"), [
    ("bookworm/g++-12/c++20/headers", ["bookworm/g++-12/c++20/headers"]),
    ("bookworm/g++-12*headers", ["bookworm/g++-12/c++20/headers", "bookworm/g++-12/c++23/headers", "bookworm/g++-12/c++20/headers:no-rtti"]),
    ("oars", []),
])
def test_a_pattern_names_cells(pattern, names):
    assert sorted(cell.name for cell in matrix.cells() if matrix.is_named(cell, pattern)) == sorted(names)


@pytest.mark.parametrize("source", FIGURES, ids=lambda source: source.stem)
def test_a_figure_is_drawn_from_its_source(source):
    same = source.with_suffix(".svg").read_text() == figures.svg(source)
    assert same, f"{source.name} says something else; fix: scripts/figures.py --write"


@pytest.mark.parametrize("page", published.PAGES)
def test_a_page_shows_the_results_that_are_published(page):
    text = (published.ROOT / page).read_text()
    assert text.count("<!-- results:") == len(published.MARKED.findall(text)) > 0, "a marker of results has no end"
    same = text == published.brought_up_to_date(published.ROOT, page)
    assert same, f"{published.SOURCE} says something else; fix: scripts/published.py --write"


def test_no_measured_table_is_left_out():
    page = (published.ROOT / "docs/performance.md").read_text()
    names = {found[1] for found in published.MARKED.findall(page)}
    assert set(published.published(published.ROOT)["tables"]) <= names


def test_tables_of_ratios_say_how_they_were_computed():
    results = published.published(published.ROOT)
    shares = [name for name in results["tables"] if "share" in name]
    assert shares and all("round" in results["tables"][name]["note"] for name in shares)
    assert "medians" in published.relative(results) and "medians" in published.busy(results)


def test_a_changed_result_changes_the_pages(tmp_path):
    (tmp_path / "bench").mkdir()
    text = (published.ROOT / published.SOURCE).read_text()
    assert '"grpc-go": [101.25, 30.84, 18.12' in text
    (tmp_path / published.SOURCE).write_text(text.replace('"grpc-go": [101.25, 30.84, 18.12', '"grpc-go": [101.25, 30.84, 9.06'))
    page = (published.ROOT / "README.md").read_text()
    (tmp_path / "README.md").write_text(page)
    changed = published.brought_up_to_date(tmp_path, "README.md")
    assert changed != page and "4.6 to 24" in " ".join(changed.split())


def test_the_pages_name_the_repository_that_the_packages_name():
    tree = Tree(repository.ROOT)
    named = [page for page in PAGES if f"git clone {repository.address(tree)}\n" in tree.text(page)]
    assert {"README.md", "docs/index.md", "docs/start/install.md"} <= set(named)
    assert set(repository.MANIFESTS) <= set(tree.files) and list(repository.faults(tree)) == []


def test_a_page_or_manifest_that_names_another_repository_fails(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text('project(x HOMEPAGE_URL "https://one.example.org/x")\n')
    (tmp_path / "README.md").write_text("```sh\ngit clone https://other.example.org/x\n```\n"
                                        "[issues](https://other.example.org/x/issues) [issues](https://one.example.org/x/issues)")
    (tmp_path / "index.html").write_text('<a href="https://other.example.org/x/blob/main/a.cpp">a</a> <a href="https://one.example.org/x/blob/main/b.cpp">b</a>')
    (tmp_path / "packaging/vcpkg/coracle").mkdir(parents=True)
    (tmp_path / "packaging/vcpkg/coracle/vcpkg.json").write_text('{"homepage": "https://other.example.org/x"}')
    assert len(list(repository.faults(Tree(tmp_path)))) == 4


def shown(folder, text):
    """What is found wrong in a page that shows a part of a source."""
    (folder / "server.cpp").write_text("// --8<-- [start:part]\nint answer = 42;\n// --8<-- [end:part]\n")
    (folder / "README.md").write_text(f"<!-- sample: server.cpp#part -->\n```cpp\n{text}\n```\n")
    return [fault for _, fault in samples.check(folder, "README.md", write=False) if fault]


def test_a_sample_that_is_the_source_passes(tmp_path):
    assert shown(tmp_path, "int answer = 42;") == []


def test_a_stale_sample_fails(tmp_path):
    assert len(shown(tmp_path, "int answer = 41;")) == 1
