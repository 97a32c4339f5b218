"""The software bill of materials that the build writes: valid SPDX, with what the library links."""

import json

import pytest

from programs import BUILD, PEERS, ROOT, run

FILE = BUILD / "coracle.spdx.json"


def test_it_names_the_library_and_what_it_links():
    packages = {one["name"]: one["versionInfo"] for one in json.loads(FILE.read_text())["packages"]}
    assert f"version_text = \"{packages.pop('coracle')}\"" in (ROOT / "include/coracle/base/version.hpp").read_text()
    assert {"liburing", "libcares", "zlib", "libzstd", "protobuf", "openssl"} <= set(packages)
    assert "NOASSERTION" not in packages.values(), packages


def test_it_is_valid_spdx():
    validator = PEERS.parent / "venv/bin/pyspdxtools"
    if not validator.exists():
        pytest.skip("spdx-tools is not installed; ./dev peers installs it")
    done = run(validator, "-i", FILE)
    assert done.returncode == 0, done.stdout + done.stderr
