"""The image with the coracle command alone, built and run by buildah, which needs no daemon and here no namespaces."""

import importlib.util
import json

import pytest

from programs import BUILD, ROOT
from user_project import LIMIT_S, User

pytestmark = pytest.mark.timeout(LIMIT_S)


class Image:
    def __init__(self):
        self.user = User("container")
        spec = importlib.util.spec_from_file_location("package", ROOT / "scripts/package.py")
        package = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(package)
        self.folder = package.make_container(BUILD / "bin/coracle", self.user.scratch / "image").parent
        self.buildah("build", "--tag", "coracle", self.folder)
        self.container = self.buildah("from", "--pull-never", "coracle").split()[-1]

    def attempt(self, *words):
        return self.user.attempt("buildah", "--root", self.user.scratch / "store", "--runroot", self.user.scratch / "state",
                                 "--storage-driver", "vfs", *words, env={"BUILDAH_ISOLATION": "chroot"})

    def buildah(self, *words):
        done = self.attempt(*words)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def run(self, *words):
        return self.attempt("run", self.container, "--", "/usr/bin/coracle", *words)


@pytest.fixture(scope="module")
def image():
    return Image()


def test_the_image_has_the_command_and_the_c_library_alone(image):
    files = [path.relative_to(image.folder / "root") for path in (image.folder / "root").rglob("*") if path.is_file()]
    assert {path.name for path in files if "lib" in path.parts or "lib64" in path.parts} <= {
        "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "cert.pem"}
    assert sum((image.folder / "root" / path).stat().st_size for path in files) < 40_000_000
    described = json.loads(image.buildah("inspect", "--type", "image", "coracle"))["OCIv1"]["config"]
    assert (described["Entrypoint"], described["User"]) == (["/usr/bin/coracle"], "65534:65534")


def test_the_command_runs_in_it(image):
    done = image.run("--version")
    assert done.returncode == 0 and done.stdout.startswith("coracle "), done.stdout


def test_it_resolves_names_with_and_without_tls(image):
    """The call fails because nothing listens, and not before."""
    for words in (("health", "localhost:1"), ("health", "--plaintext", "localhost:1")):
        done = image.run(*words)
        assert done.returncode != 0 and "connection refused" in done.stdout, done.stdout


def test_authorities_are_where_openssl_looks(image):
    """The folder of Debian's OpenSSL, which the command links."""
    inside = image.folder / "root"
    assert (inside / "etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE") > 50
    assert (inside / "usr/lib/ssl/cert.pem").readlink().as_posix() == "/etc/ssl/certs/ca-certificates.crt"
