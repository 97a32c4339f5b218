#!/usr/bin/env python3
"""Makes packages of the tree for distributions.

    package.py deb [--check]   Debian's source package in build/package, and the packages of this release in build/package/packages;
                               --check makes them again in another folder and compares them byte by byte
    package.py container       a folder for container builders in build/container: the command with what it needs beside a kernel,
                               and packaging/container/Containerfile

packaging/debian leaves open what stands elsewhere in the tree: the version, the SONAME, the address of the repository.
"""

import argparse
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from email.utils import formatdate

import repository

ROOT = pathlib.Path(__file__).resolve().parents[1]
DEB, CONTAINER = ROOT / "build/package", ROOT / "build/container"
CERTIFICATES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
# A distribution builds the source package with debug information.
DEB_OPTIONS = f"noautodbgsym parallel={os.cpu_count()}"


def last_change():
    """The same sources make the same packages: their time is that of the last commit."""
    return int(subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def values():
    """What packaging/debian leaves open."""
    project = (ROOT / "CMakeLists.txt").read_text()
    number = re.search(r"project\(coracle VERSION ([\d.]+)", project)[1]
    suffix = re.search(r'set\(coracle_version_suffix "(.*?)"\)', project)[1]
    homepage = repository.address(repository.Tree(ROOT))
    return {
        "VERSION": number + suffix.replace("-", "~"),  # "~dev" comes before the release
        "SOVERSION": ".".join(number.split(".")[:2]),
        "HOMEPAGE": homepage,
        "MAIL": f"coracle@{urllib.parse.urlsplit(homepage).hostname}",
        "DATE": formatdate(last_change()),
    }


def filled(text, known):
    return re.sub(r"@([A-Z]+)@", lambda found: known[found[1]], text)


def write_archive(path, name):
    """The files that git knows or would add, as they are now, below a folder of this name. The same files make the same bytes."""
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"], cwd=ROOT, capture_output=True,
                           check=True).stdout
    archive = subprocess.run(
        ["tar", "--create", "--null", "--files-from=-", f"--transform=flags=r;s,^,{name}/,", "--sort=name", f"--mtime=@{last_change()}",
         "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go+r,go-w"],
        cwd=ROOT, input=files, capture_output=True, check=True).stdout
    path.write_bytes(gzip.compress(archive, mtime=0))


def run(folder, command, cwd, env):
    """The output goes to build.log in the folder, and its end to the terminal when the command fails."""
    with (folder / "build.log").open("w") as log:
        done = subprocess.run(command, cwd=cwd, env=env, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        lines = (folder / "build.log").read_text(errors="replace").splitlines()
        sys.exit("\n".join([*lines[-30:], f"dev: {command[0]} failed; all of its output is in {folder / 'build.log'}"]))


def write_debian_sources(folder):
    """Makes coracle_VERSION.orig.tar.gz in the folder, and beside it the sources with debian/. Returns the path of these."""
    known = values()
    sources, template = folder / f"coracle-{known['VERSION']}", ROOT / "packaging/debian"
    original = folder / f"coracle_{known['VERSION']}.orig.tar.gz"
    write_archive(original, sources.name)
    subprocess.run(["tar", "--extract", "--file", original], cwd=folder, check=True)
    for path in sorted(template.rglob("*")):
        if path.is_file():
            to = sources / "debian" / filled(str(path.relative_to(template)), known)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(filled(path.read_text(), known))
            shutil.copymode(path, to)
    return sources


def make_deb(folder=DEB, environment=()):
    """The packages' paths; the source package is in the folder itself."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "packages").mkdir(parents=True)
    sources = write_debian_sources(folder)
    env = {"DEB_BUILD_OPTIONS": DEB_OPTIONS, **os.environ, **dict(environment)}
    if shutil.which("ccache"):  # whose folder is in the home folder, and debhelper gives builds another one
        cache = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True).stdout.strip()
        env = {"CCACHE_DIR": cache, "CCACHE_BASEDIR": str(sources), **env}
    run(folder, ["dpkg-buildpackage", "--unsigned-source", "--unsigned-changes", "--build=full"], sources, env)
    for path in folder.glob("*.deb"):
        path.rename(folder / "packages" / path.name)
    return sorted((folder / "packages").iterdir())


def make_container(program, folder=CONTAINER):
    """The Containerfile's path."""
    shutil.rmtree(folder, ignore_errors=True)
    root = folder / "root"
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(?:=> |^\s)(/\S+)", loaded, re.M):
        to = root / library.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, to)
    for directory in ("usr/bin", "etc/ssl/certs", "usr/lib/ssl", "work"):
        (root / directory).mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "-o", root / "usr/bin/coracle", program], check=True)
    # Authorities that OpenSSL trusts without --ca, where Debian's OpenSSL looks.
    if not CERTIFICATES.exists():
        sys.exit(f"dev: {CERTIFICATES} is missing (apt-get install ca-certificates)")
    shutil.copy(CERTIFICATES, root / CERTIFICATES.relative_to("/"))
    (root / "usr/lib/ssl/cert.pem").symlink_to(CERTIFICATES)
    (root / "etc/nsswitch.conf").write_text("hosts: files dns\n")
    (root / "etc/passwd").write_text("nobody:x:65534:65534:nobody:/work:/nonexistent\n")
    return pathlib.Path(shutil.copy(ROOT / "packaging/container/Containerfile", folder))


def digests(paths):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def compared(first):
    """Whether the packages are the same when they are made in another folder, by the compiler and not from its cache."""
    with tempfile.TemporaryDirectory(prefix="coracle-again-") as folder:
        second = digests(make_deb(pathlib.Path(folder) / "again", {"CCACHE_DISABLE": "1"}))
    for name in sorted(first | second):
        same = first.get(name) == second.get(name)
        print(f"{'PASS' if same else 'FAIL'} {name}: {'the same bytes' if same else f'{first.get(name)} and {second.get(name)}'}")
    return first == second


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("deb").add_argument("--check", action="store_true")
    kinds.add_parser("container")
    chosen = parser.parse_args()
    if chosen.kind == "container":
        folder = make_container(ROOT / "build/release/bin/coracle").parent.relative_to(ROOT)
        print(f"{folder}; next: podman build --tag coracle {folder} (or docker, or buildah)")
        return 0
    packages = make_deb()
    for path in packages:
        print(path.relative_to(ROOT))
    return 0 if not chosen.check or compared(digests(packages)) else 1


if __name__ == "__main__":
    sys.exit(main())
