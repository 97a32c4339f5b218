"""A hook of mkdocs. Each page links to its source in the repository, at the address that CMakeLists.txt has. The pages link to files outside of docs/ as a code host shows them; in the site these files lie below
source/: pages as pages, folders as their README or a list of what they hold, everything else as text.

Tables of raw data and what lies below source/ are kept out of the search, whose results they would fill. The sections of long
pages can be folded.
"""

import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import repository  # noqa: E402

LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
# Pages that the nav names, whether or not something links to them.
ALWAYS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md")
# Pages that the search does not know: thousands of numbers, and files of the project that are not its documentation.
UNSEARCHED = re.compile(r"reference/contest\.md|source/(?!CONTRIBUTING|SECURITY|CHANGELOG|CODE_OF_CONDUCT).*")


# Pages whose sections can be folded, as they are at first on a telephone.
LONG = ("performance.md", "reference/limits.md", "reference/options.md", "reference/comparison.md", "reference/contest.md")
FOLDED = ("reference/limits.md",)  # at first on every screen
SECTION = re.compile(r"(<h2 .*?)(?:<a class=\"headerlink\"[^>]*>[^<]*</a>)?</h2>(.*?)(?=<h2 |\Z)", re.S)  # a link may not be in a summary


class Places:
    """Where each file of the project is in the site."""

    def __init__(self, root):
        self.root = root
        self.of = {}  # by its path in the project

    def path_of(self, page, target):
        """The path in the project of what a page links to; None for what is no file of it."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if "://" in target or path.startswith("..") or not (self.root / path).exists():
            return None
        return posixpath.join(path, "README.md") if (self.root / path / "README.md").is_file() else path

    def add(self, path):
        """Gives what has to be generated: its place and content. None: it is there already."""
        if path in self.of:
            return None
        if path.startswith("docs/"):
            self.of[path] = path.removeprefix("docs/")
            return None
        file = self.root / path
        if file.is_dir():
            self.of[path] = f"source/{path}/contents.md"
            held = "".join(f"- `{child.name}`\n" for child in sorted(file.iterdir()))
            return self.of[path], f"# {path}\n\n{held}"
        self.of[path] = f"source/{path}" if path.endswith(".md") else f"source/{path}.txt"
        return self.of[path], file.read_bytes()


places = None


def targets(page):
    for target, _ in LINK.findall((places.root / page).read_text()):
        path = places.path_of(page, target)
        if path:
            yield path


def on_config(config):
    config.repo_url = repository.address(repository.Tree(repository.ROOT))
    config.repo_name = "Repository"
    return config


def on_files(files, config):
    global places
    places = Places(pathlib.Path(config.config_file_path).parent)
    pages = [*ALWAYS, *(f"docs/{file.src_uri}" for file in files.documentation_pages())]
    wanted = [*pages]
    while pages:
        wanted += targets(pages.pop())
        while wanted:
            path = wanted.pop()
            made = places.add(path)
            if made:
                files.append(File.generated(config, made[0], content=made[1]))
                if path.endswith(".md"):
                    pages.append(path)
    return files


def on_page_markdown(markdown, page, config, files):
    if UNSEARCHED.fullmatch(page.file.src_uri):
        page.meta["search"] = {"exclude": True}
    origin = next((path for path, place in places.of.items() if place == page.file.src_uri), None)
    if origin is None:
        return markdown
    page.edit_url = f"{config.repo_url}/edit/{repository.BRANCH}/{origin}"

    def placed(link):
        path = places.path_of(origin, link[1])
        if not path or path not in places.of:
            return link[0]
        return posixpath.relpath(places.of[path], posixpath.dirname(page.file.src_uri)) + (link[2] or "")

    return LINK.sub(placed, markdown)


def on_page_content(html, page, config, files):
    if page.file.src_uri not in LONG:
        return html
    state = "" if page.file.src_uri in FOLDED else " open"
    return SECTION.sub(rf'<details class="fold"{state}><summary>\1</h2></summary>\2</details>', html)


def on_post_page(output, page, config):
    """The theme's script would ask a code host for its stars; the pages request nothing from other servers."""
    return output.replace('data-md-component="source"', "")
