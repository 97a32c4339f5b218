"""The project's files as the structure rules see them: what git knows or would add, never what was built."""

import functools
import pathlib
import subprocess


class DoesNotApply(Exception):
    """A rule's reason not to judge this tree."""


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()

    def git(self, *words):
        """It trusts the tree, even if another user owns it."""
        return subprocess.run(["git", "-C", str(self.root), "-c", f"safe.directory={self.root}", *words], capture_output=True)

    @functools.cached_property
    def files(self):
        """Paths relative to the root, sorted, with forward slashes."""
        listing = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        if listing.returncode == 0:
            names = [name for name in listing.stdout.decode().split("\0") if name]
        else:  # a tarball, or a tree planted by faults_test.py
            names = [str(path.relative_to(self.root)) for path in self.root.rglob("*")]
            names = [name for name in names if not name.startswith(("build/", ".git/"))]
        return sorted({name for name in names if (self.root / name).is_file()})

    def under(self, *folders, ends=("",)):
        return [name for name in self.files if name.startswith(folders) and name.endswith(tuple(ends))]

    @functools.lru_cache(maxsize=None)
    def text(self, name):
        """The file's text; empty for what is no text."""
        try:
            return (self.root / name).read_bytes().decode()
        except UnicodeDecodeError:
            return ""

    def lines(self, name):
        return self.text(name).splitlines()
