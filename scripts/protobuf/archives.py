"""The sources of protobuf and its Abseil, which grpcio-tools carries: from the package index, in the user's cache."""

import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "coracle/protobuf"
# protobuf's version: that of grpcio-tools which carries it, and the SHA-256 of its archive.
VERSIONS = {
    "23.4": ("1.58.3", "23448c7688f11a047e76593fe5076e10f0194f17696812a46275493fadb4497d"),
    "25.1": ("1.62.3", "7c7136015c3d62c3eef493efabaf9e3380e3e66d24ee8e94c01cb71377f57833"),
    "26.1": ("1.65.5", "7c3a47ad0070bc907c7818caf55aa1948e9282d24e27afd21015872a25594bc7"),
    "27.2": ("1.66.2", "4a36e07913d26ba5ccfd2685ba63ca97f26b08c249d2cc9e74dda37efa49d7e4"),
    "28.1": ("1.68.1", "2413a17ad16c9c821b36e4a67fc64c37b9e4636ab1c3a07778018801378739ba"),
    "29.0": ("1.71.2", "b5304d65c7569b21270b568e404a5a843cf027c66552a6a0978b23f137679c09"),
    "30.0": ("1.72.2", "0168a6ea7565dd8319e0fb9691b9ccf5c24ea67f2cc7aaf138e9660c0358af2d"),
    "31.1": ("1.76.0", "ce80169b5e6adf3e8302f3ebb6cb0c3a9f08089133abca4b76ad67f751f5ad88"),
    "35.1": ("1.85.1", "d6f1ee213a07de9462c90ee5debe4a78dff20306a0fb394a65d48b2f94fe31a1"),
}
# What pip needs to read the archive's metadata, which it does before it hands over the archive: the older ones import pkg_resources.
METADATA_PACKAGES = ["setuptools>=77,<81", "wheel", "cython"]
# The exit code if the package index cannot be reached.
UNAVAILABLE = 69


def archive(version):
    """The source archive of the grpcio-tools that carries that version."""
    package, sha256 = VERSIONS[version]
    folder = CACHE / "archives"
    found = next(folder.glob(f"grpcio[-_]tools-{package}.tar.gz"), None)
    if not found:
        pip = [CACHE / "venv/bin/python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
        for command in ([sys.executable, "-m", "venv", CACHE / "venv"], [*pip, "install", *METADATA_PACKAGES],
                        [*pip, "download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", folder, f"grpcio-tools=={package}"]):
            if subprocess.run(command).returncode != 0:
                print(f"dev: grpcio-tools {package} cannot be downloaded", file=sys.stderr)
                sys.exit(UNAVAILABLE)
        found = next(folder.glob(f"grpcio[-_]tools-{package}.tar.gz"))
    if hashlib.sha256(found.read_bytes()).hexdigest() != sha256:
        sys.exit(f"dev: {found} is not the archive whose SHA-256 scripts/protobuf has; remove it, and compare with the package index")
    return found


def unpack(version, to):
    """Returns the folder of both."""
    with tarfile.open(archive(version)) as content:
        content.extractall(to, filter="data") if hasattr(tarfile, "data_filter") else content.extractall(to)
    return next(to.glob("grpcio*")) / "third_party"
