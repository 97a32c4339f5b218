"""coracle::grpcpp has each header of grpc++, so that none of those in /usr/include is taken in its place: what the header declares, or names whose
use is an error that says what to use instead."""

import pathlib
import re
import subprocess

import pytest

from programs import BUILD, ROOT

WRITTEN = ROOT / "adapters/grpcpp/include"
MADE = BUILD / "adapters/grpcpp/include"  # of adapters/grpcpp/headers.txt
DEBIANS = pathlib.Path("/usr/include")
# Of versions after Debian's, what programs include.
NEWER = """grpc/credentials.h grpc/impl/channel_arg_names.h grpc/impl/compression_types.h grpc/impl/connectivity_state.h grpc/impl/grpc_types.h
    grpc/impl/propagation_bits.h grpc/impl/slice_type.h grpcpp/ext/admin_services.h grpcpp/ext/csm_observability.h grpcpp/ext/gcp_observability.h
    grpcpp/ext/orca_service.h grpcpp/ext/otel_plugin.h grpcpp/ext/server_load_reporting.h grpcpp/ext/server_metric_recorder.h
    grpcpp/generic/callback_generic_service.h grpcpp/generic/generic_stub_callback.h grpcpp/impl/create_auth_context.h
    grpcpp/impl/generic_stub_internal.h grpcpp/impl/sync.h grpcpp/opencensus.h grpcpp/passive_listener.h grpcpp/security/audit_logging.h
    grpcpp/security/tls_crl_provider.h grpcpp/security/tls_private_key_signer.h grpcpp/support/global_callback_hook.h""".split()


def headers_of(*includes):
    return {path.relative_to(include).as_posix()
            for include in includes for folder in ("grpc", "grpcpp") for path in (include / folder).rglob("*") if path.is_file()}


def older_spellings_of(include):
    """<grpc++/...>, as <grpcpp/...>, of which the build makes them."""
    return {"grpcpp/" + path.relative_to(include / "grpc++").as_posix().replace("grpc++.h", "grpcpp.h")
            for path in (include / "grpc++").rglob("*") if path.is_file()}


def test_each_header_of_debians_grpcpp_is_there():
    theirs = headers_of(DEBIANS) | older_spellings_of(DEBIANS)
    if "grpcpp/grpcpp.h" not in theirs:
        pytest.skip("libgrpc++-dev is not installed")
    assert "grpc/grpc.h" in theirs
    assert sorted(theirs - headers_of(WRITTEN, MADE)) == []


def test_headers_of_newer_versions_are_there():
    assert sorted(set(NEWER) - headers_of(WRITTEN, MADE)) == []


def test_the_groups_of_the_list_of_made_headers_are_in_order():
    for group in (ROOT / "adapters/grpcpp/headers.txt").read_text().split("\n\n"):
        headers = re.findall(r"^(grpc\S+\.h)\b", group, re.M)
        assert headers == sorted(headers)


def our_headers():
    """{header: its text}, without the one that every header includes first."""
    headers = {path.relative_to(include).as_posix(): path.read_text()
               for include in (WRITTEN, MADE) for folder in ("grpc", "grpcpp") for path in (include / folder).rglob("*.h")}
    return {header: headers[header] for header in sorted(headers) if header != "grpcpp/impl/one_library.h"}


def absent_names():
    """[(header, name with its namespaces, whether it is a type, text)] of what no program can use."""
    word = re.compile(r'^namespace ([\w:]+) \{|^(\})  // namespace|^(?:(class|struct) )?CORACLE_GRPCPP_ABSENT\(\s*((?:"[^"]*"\s*)+)\)\s*(?:void )?(\w+)', re.M)
    found = []
    for header, code in our_headers().items():
        spaces = []
        for space, end, kind, text, name in word.findall(code):
            if space:
                spaces.append(space)
            elif end:
                spaces.pop()
            else:
                found.append((header, "::".join(["", *spaces, name]), bool(kind), "".join(re.findall(r'"([^"]*)"', text))))
    return found


def test_a_header_of_what_is_absent_refuses_its_use_and_not_its_include(tmp_path):
    """Each name says what to use instead. The one #error is for a program that mixes the headers of two libraries."""
    headers = our_headers()
    assert [path for path, text in headers.items() if "#error" in text] == []
    names = absent_names()
    assert len(names) == sum(text.count("CORACLE_GRPCPP_ABSENT(") for text in headers.values()) > 80
    uses = [f"using use_{n} = {name};" if is_type else f"auto* const use_{n} = &{name};" for n, (_, name, is_type, _) in enumerate(names)]
    includes = [f"#include <{header}>" for header in sorted({header for header, *_ in names})]
    source = tmp_path / "uses.cpp"
    source.write_text("\n".join(includes) + "\n")
    compiled = ["g++", "-std=c++20", "-fsyntax-only", "-fmax-errors=0", "-I", str(WRITTEN), "-I", str(MADE), str(source)]
    done = subprocess.run(compiled, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    source.write_text("\n".join(includes + uses) + "\n")
    said = subprocess.run(compiled, text=True, capture_output=True).stderr
    for _, name, _, text in names:
        assert re.search(r": [^:]+: .{6,}", f": {text}"), name
        assert f"{name.removeprefix('::')}" in said and f"is unavailable: coracle::grpcpp: {text}" in said, name
