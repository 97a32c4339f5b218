"""Certificates for the tests, made with the openssl program: a CA, and what it vouches for."""

import pathlib
import subprocess
import pytest


SERVER_NAMES = "subjectAltName=DNS:localhost,DNS:foo.test.google.fr,IP:127.0.0.1"


def openssl(*words, data=None):
    done = subprocess.run(["openssl", *map(str, words)], input=data, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        pytest.fail(f"openssl {words[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")


class Certificates:
    """In a folder: ca.pem, server.pem and server.key for this machine's own addresses, client.pem and client.key."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.ca = self.folder / "ca.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=a CA of the tests", "-keyout", self.folder / "ca.key", "-out", self.ca)
        self.server, self.server_key = self.vouched("server", "/CN=localhost", SERVER_NAMES)
        self.client, self.client_key = self.vouched("client", "/CN=a client", "extendedKeyUsage=clientAuth")

    def vouched(self, name, subject, extension, days=2):
        """A certificate of the CA and its key."""
        key, request, certificate, more = (self.folder / f"{name}.{suffix}" for suffix in ("key", "csr", "pem", "ext"))
        more.write_text(extension + "\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject, "-keyout", key,
                "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.folder / "ca.key", "-CAcreateserial", "-days",
                days, "-extfile", more, "-out", certificate)
        return certificate, key


class TutorialCertificates:
    """As the Movie tutorial makes them: RSA, X.509 v1, no alternative names, and the CA called like the server."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.ca, self.server, self.server_key = (self.folder / name for name in ("ca.crt", "server.crt", "server.pem"))
        ca_key, request, plain = (self.folder / name for name in ("ca.key", "server.csr", "server.key"))
        openssl("genrsa", "-out", ca_key, "2048")
        openssl("req", "-new", "-x509", "-days", "2", "-key", ca_key, "-out", self.ca, "-subj", "/CN=localhost")
        openssl("genrsa", "-out", plain, "2048")
        openssl("req", "-new", "-key", plain, "-out", request, "-subj", "/CN=localhost")
        openssl("x509", "-req", "-days", "2", "-in", request, "-CA", self.ca, "-CAkey", ca_key, "-set_serial", "01", "-out",
                self.server)
        openssl("pkcs8", "-topk8", "-nocrypt", "-in", plain, "-out", self.server_key)
