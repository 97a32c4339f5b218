"""coracle certs: what openssl says of the files, what is refused, and servers and clients that use them."""

import os
import pathlib
import stat

import pytest

from programs import Server, own, run

ALL = {"ca.pem", "ca.key", "server.pem", "server.key", "client.pem", "client.key"}


@pytest.fixture
def folder(tmp_path):
    """One that there is not yet."""
    return tmp_path / "made"


def certs(folder, *words):
    return run(own("coracle"), "certs", "--out", folder, *words)


def made(folder, *words):
    done = certs(folder, *words)
    assert done.returncode == 0, f"the exit code ({done.stderr.strip()})"
    assert done.stdout == "", "what is on stdout"
    return done.stderr


def refused(folder, *words, says, code=65):
    """Nothing is made or changed, and one line says each of the texts."""
    before = contents(folder)
    done = certs(folder, *words)
    assert done.returncode == code, f"the exit code ({done.stderr.strip()})"
    assert done.stdout == "", "what is on stdout"
    text = done.stderr.strip()
    assert text and "\n" not in text, f"not one line, but {text!r}"
    for part in says:
        assert part in text, f"{text!r} does not say {part!r}"
    assert contents(folder) == before, "files have changed"


def contents(folder):
    folder = pathlib.Path(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else None


def openssl(*words):
    done = run("openssl", *words)
    assert done.returncode == 0, f"openssl {words[0]}'s exit code ({done.stderr.strip()})"
    return done.stdout


def extensions(certificate):
    """{"X509v3 Key Usage: critical": "Certificate Sign"}"""
    lines = openssl("x509", "-in", certificate, "-noout", "-ext", "basicConstraints,keyUsage,extendedKeyUsage,"
                    "subjectAltName,subjectKeyIdentifier,authorityKeyIdentifier").splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("X509v3")]
    return {lines[a].strip().rstrip(":"): " ".join(lines[a + 1:b]).strip()
            for a, b in zip(heads, heads[1:] + [len(lines)])}


def test_both_chains_are_right(folder):
    made(folder, "localhost", "127.0.0.1")
    for name, purpose in (("server", "sslserver"), ("client", "sslclient")):
        for strict in ([], ["-x509_strict"]):
            openssl("verify", *strict, "-CAfile", folder / "ca.pem", "-purpose", purpose, folder / f"{name}.pem")
    for name, wrong in (("server", "sslclient"), ("client", "sslserver")):
        done = run("openssl", "verify", "-CAfile", folder / "ca.pem", "-purpose", wrong, folder / f"{name}.pem")
        assert done.returncode != 0, f"the {name}'s certificate is good for {wrong}, too"


def test_each_file_is_said_to_be_for_something(folder):
    lines = made(folder, "localhost").splitlines()
    assert {pathlib.Path(line.split()[0]).name for line in lines} == ALL, "what is told of"
    assert set(os.listdir(folder)) == ALL, "what is made"
    assert all(len(line.split()) > 3 for line in lines), f"not a word about a file: {lines}"


def test_names_and_addresses_become_alternative_names(folder):
    made(folder, "localhost", "127.0.0.1", "::1", "*.example.org", "2001:db8::17", "localhost", "db_1.internal")
    assert (extensions(folder / "server.pem")["X509v3 Subject Alternative Name"] == "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:*.example.org, "
          "IP Address:2001:DB8:0:0:0:0:0:17, DNS:db_1.internal"), "the alternative names"
    for kind, name in (("ip", "::1"), ("ip", "127.0.0.1"), ("hostname", "localhost"), ("hostname", "a.example.org")):
        openssl("verify", "-CAfile", folder / "ca.pem", f"-verify_{kind}", name, folder / "server.pem")
    done = run("openssl", "verify", "-CAfile", folder / "ca.pem", "-verify_hostname", "other", folder / "server.pem")
    assert done.returncode != 0, "the server's certificate is good for another name, too"


def test_a_long_name_is_an_alternative_name_alone(folder):
    name = ".".join(["label" * 5] * 4)
    made(folder, name)
    openssl("verify", "-CAfile", folder / "ca.pem", "-verify_hostname", name, folder / "server.pem")


def test_each_certificate_is_for_one_thing(folder):
    made(folder, "localhost")
    ca, server, client = (extensions(folder / f"{name}.pem") for name in ("ca", "server", "client"))
    assert ca["X509v3 Basic Constraints: critical"].startswith("CA:TRUE"), f"the CA says {ca}"
    assert ca["X509v3 Key Usage: critical"] == "Certificate Sign", "the CA's key usage"
    for what, usage in ((server, "TLS Web Server Authentication"), (client, "TLS Web Client Authentication")):
        assert what["X509v3 Extended Key Usage"] == usage, "the extended key usage"
        assert what["X509v3 Basic Constraints: critical"] == "CA:FALSE", "the basic constraints"
        assert what["X509v3 Authority Key Identifier"] == ca["X509v3 Subject Key Identifier"], "the authority's key"
    identifiers = {what["X509v3 Subject Key Identifier"] for what in (ca, server, client)}
    assert len(identifiers) == 3, "the number of keys"


def test_serials_are_random_and_positive(folder):
    seen = set()
    for run_number in ("1", "2"):
        made(folder / run_number, "localhost")
        for name in ("ca", "server", "client"):
            serial = openssl("x509", "-in", folder / run_number / f"{name}.pem", "-noout", "-serial").split("=")[1].strip()
            assert not serial.startswith("-") and len(serial) <= 40, f"a serial number is {serial}"
            seen.add(serial)
    assert len(seen) == 6, "the number of serial numbers of six certificates"


def test_keys_are_pkcs8_on_p256_for_their_owner_alone(folder):
    old = os.umask(0)  # the mode must not depend on it
    try:
        made(folder, "localhost")
    finally:
        os.umask(old)
    for name in ("ca", "server", "client"):
        key = folder / f"{name}.key"
        assert oct(key.stat().st_mode & 0o777) == "0o600", f"the mode of {name}.key"
        assert key.read_text().startswith("-----BEGIN PRIVATE KEY-----\n"), f"{name}.key is no PKCS#8"
        assert "prime256v1" in openssl("pkey", "-in", key, "-noout", "-text"), f"{name}.key is not on P-256"
        public = openssl("x509", "-in", folder / f"{name}.pem", "-noout", "-pubkey")
        assert openssl("pkey", "-in", key, "-pubout") == public, f"{name}'s public key"


def test_the_days_are_those_asked_for(folder):
    made(folder, "localhost", "--days", "3")
    for name, valid_days in (("server", 3), ("client", 3), ("ca", 3650)):
        for days, code in ((valid_days - 1, 0), (valid_days, 1)):
            done = run("openssl", "x509", "-in", folder / f"{name}.pem", "-noout", "-checkend", days * 86400 + 600)
            assert done.returncode == code, f"{name}: whether it ends within {days} days"


def test_no_certificate_outlives_its_authority(folder):
    folder.mkdir()
    openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=another CA",
            "-addext", "keyUsage=critical,keyCertSign", "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    made(folder, "localhost")
    openssl("verify", "-CAfile", folder / "ca.pem", folder / "server.pem", folder / "client.pem")
    ends = {openssl("x509", "-in", folder / f"{name}.pem", "-noout", "-enddate") for name in ("ca", "server", "client")}
    assert len(ends) == 1, "the number of days on which the three end"


def test_the_clients_name_is_the_one_asked_for(folder):
    made(folder, "localhost", "--client", "Ada Löwe")
    subject = openssl("x509", "-in", folder / "client.pem", "-noout", "-subject", "-nameopt", "utf8")
    assert subject.strip().endswith("Ada Löwe"), f"the subject is {subject}"


def test_nothing_is_overwritten(folder):
    made(folder, "localhost")
    refused(folder, "localhost", says=("server.pem and ", "server.key exist", "--name", "--out"))
    refused(folder, "localhost", "--name", "api", "--client", "ada", says=("client.pem and ", "client.key exist", "--out"))
    for name in ALL - {"server.key"}:
        (folder / name).unlink()
    refused(folder, "localhost", says=("server.key exists",))
    (folder / "server.key").unlink()
    (folder / "client.key").symlink_to("nowhere")
    done = certs(folder, "localhost")
    assert done.returncode == 65, "the exit code where a link has the name"
    assert os.listdir(folder) == ["client.key"], "what is there beside the link"


def test_force_replaces_all_but_the_authority(folder):
    made(folder, "localhost")
    before = contents(folder)
    for words in (("--client", "ada"), ()):
        made(folder, "localhost", "--force", *words)
        after = contents(folder)
        assert {name for name in before if before[name] != after[name]} == ALL - {"ca.pem", "ca.key"}, "what has changed"
        before = after
    assert set(after) == ALL and stat.S_IMODE((folder / "server.key").stat().st_mode) == 0o600
    openssl("verify", "-CAfile", folder / "ca.pem", folder / "server.pem")


def test_a_second_run_signs_with_the_same_authority(folder):
    made(folder, "localhost")
    before = contents(folder)
    said = made(folder, "api.example", "--name", "api")
    assert "ca.pem existed and signed" in said, f"it says {said!r}"
    assert set(os.listdir(folder)) == ALL | {"api.pem", "api.key"}, "what is there"
    assert all(contents(folder)[name] == before[name] for name in ALL), "a file of the first run has changed"
    openssl("verify", "-CAfile", folder / "ca.pem", "-verify_hostname", "api.example", folder / "api.pem")


def test_an_authority_that_cannot_sign_is_refused(folder):
    made(folder, "localhost")
    key = folder / "ca.key"
    text = key.read_text()
    more = ("localhost", "--name", "api")
    key.write_text((folder / "client.key").read_text())
    refused(folder, *more, says=("ca.key", "key values mismatch", "put back"))
    openssl("ec", "-in", folder / "server.key", "-aes128", "-passout", "pass:sesame", "-out", key)
    refused(folder, *more, says=("ca.key", "without a passphrase"))
    key.write_text("no key")
    refused(folder, *more, says=("ca.key", "OpenSSL reports", "PEM"))
    key.unlink()
    refused(folder, *more, says=("ca.pem exists without ", "ca.key"))
    key.write_text(text)
    (folder / "ca.pem").write_bytes((folder / "client.pem").read_bytes())
    refused(folder, *more, says=("ca.pem is not a CA certificate", "--out"))


WRONG_NAMES = {"https://localhost": "URL", "localhost:50051": "port", "[::1]:443": "brackets", "10.0.0.0/8": "networks",
               "127.0.0.256": "look like", "a..b": "look like", "-a": None, "fe80::1%eth0": "zone", "": "look like",
               "a.example.": "dot", "bücher.example": "xn--", "a,IP:1.2.3.4": None, "*": "look like", "a.*.b": None, ".": "--out", "..": "--out",
               "./": "--out", "../certs": "--out", "/etc/ssl": "--out", "/": "--out"}


def test_what_is_no_name_is_refused(folder):
    for name, says in WRONG_NAMES.items():
        if says:
            refused(folder, name, says=(f"'{name}'", says), code=64)
        else:
            assert certs(folder, "--", name).returncode != 0, f"{name} was taken"
    assert not folder.exists(), "a folder was made"


def test_wrong_options_are_refused(folder):
    refused(folder, "localhost", "--name", "../api", says=("--name", "../api"), code=64)
    refused(folder, "localhost", "--name", "ca", says=("--name ca",), code=64)
    refused(folder, "localhost", "--client", "x" * 65, says=("--client", "64"), code=64)
    for words in ((), ("localhost", "--days", "0"), ("localhost", "--days", "soon"), ("localhost", "--colour")):
        done = certs(folder, *words)
        assert done.returncode == 64, f"the exit code of {words}"
        assert done.stderr.strip() and not done.stdout, f"{words}: not a word on stderr"


def test_a_file_in_the_folders_place_is_named(folder):
    folder.write_text("mine")
    for path in (folder, folder / "below"):
        done = certs(path, "localhost")
        assert done.returncode == 65, "the exit code"
        assert f"cannot create the directory {folder}: Not a directory" in done.stderr, f"it says {done.stderr!r}"
    assert folder.read_text() == "mine", "what was there"


def test_a_write_that_fails_leaves_nothing(folder):
    """The disk is full, as it were, in the middle of the third file."""
    many = [f"host-{number}.example.org" for number in range(60)]
    short_files = "trap '' XFSZ; ulimit -f 1; exec"
    done = run("bash", "-c", f'{short_files} "$0" certs --out "$@"', own("coracle"), folder / "new", *many)
    assert done.returncode == 65, f"the exit code ({done.stderr.strip()})"
    assert "server.pem" in done.stderr and "too large" in done.stderr, f"it says {done.stderr!r}"
    assert not folder.exists(), "something is left"


def test_servers_and_clients_use_them(folder):
    made(folder, "localhost", "127.0.0.1")
    pair = ("--cert", folder / "server.pem", "--key", folder / "server.key")
    client = (own("movie_client"), "--ca", folder / "ca.pem")
    with Server(own("movie_server"), "--port=0", *pair) as server:
        for host in ("127.0.0.1", "localhost"):
            done = run(*client, f"{host}:{server.port}")
            assert done.returncode == 0, f"the exit code over TLS to {host} ({done.stderr.strip()})"
        assert server.stop() == 0, "the server's exit code"
    with Server(own("movie_server"), "--port=0", *pair, "--client-ca", folder / "ca.pem") as server:
        assert run(*client, server.address).returncode != 0, "a client without a certificate was served"
        done = run(*client, server.address, "--cert", folder / "client.pem", "--key", folder / "client.key")
        assert done.returncode == 0, f"the exit code over mTLS ({done.stderr.strip()})"
        done = run(own("coracle"), "ls", server.address, "--ca", folder / "ca.pem", "--cert", folder / "client.pem", "--key",
                   folder / "client.key")
        assert "movie.MovieService" in done.stdout, f"coracle ls says {done.stdout!r} {done.stderr!r}"
        wrong = run(*client, server.address, "--cert", folder / "server.pem", "--key", folder / "server.key")
        assert wrong.returncode != 0, "the server's own certificate was taken for a client's"
        assert server.stop() == 0, "the server's exit code"
