"""coracle::grpcpp has each header of grpc++, so that none of those in /usr/include is taken in its place: what the header declares, or an #error that
says why there is nothing, and what to use instead."""

import pathlib
import re

import pytest

from programs import ROOT

OURS = ROOT / "adapters/grpcpp/include"
DEBIANS = pathlib.Path("/usr/include")
# Of versions after Debian's, what programs include.
NEWER = """grpc/credentials.h grpc/impl/channel_arg_names.h grpc/impl/compression_types.h grpc/impl/connectivity_state.h grpc/impl/grpc_types.h
    grpc/impl/propagation_bits.h grpc/impl/slice_type.h grpcpp/ext/admin_services.h grpcpp/ext/csm_observability.h grpcpp/ext/gcp_observability.h
    grpcpp/ext/orca_service.h grpcpp/ext/otel_plugin.h grpcpp/ext/server_load_reporting.h grpcpp/ext/server_metric_recorder.h
    grpcpp/generic/callback_generic_service.h grpcpp/generic/generic_stub_callback.h grpcpp/impl/create_auth_context.h
    grpcpp/impl/generic_stub_internal.h grpcpp/impl/sync.h grpcpp/opencensus.h grpcpp/passive_listener.h grpcpp/security/audit_logging.h
    grpcpp/security/tls_crl_provider.h grpcpp/security/tls_private_key_signer.h grpcpp/support/global_callback_hook.h""".split()


def headers_of(include):
    return {path.relative_to(include).as_posix() for folder in ("grpc", "grpcpp") for path in (include / folder).rglob("*") if path.is_file()}


def older_spellings_of(include):
    """<grpc++/...>, as <grpcpp/...>, of which the build makes them."""
    return {"grpcpp/" + path.relative_to(include / "grpc++").as_posix().replace("grpc++.h", "grpcpp.h")
            for path in (include / "grpc++").rglob("*") if path.is_file()}


def test_each_header_of_debians_grpcpp_is_there():
    theirs = headers_of(DEBIANS) | older_spellings_of(DEBIANS)
    if "grpcpp/grpcpp.h" not in theirs:
        pytest.skip("libgrpc++-dev is not installed")
    assert "grpc/grpc.h" in theirs
    assert sorted(theirs - headers_of(OURS)) == []


def test_headers_of_newer_versions_are_there():
    assert sorted(set(NEWER) - headers_of(OURS)) == []


def test_a_header_that_is_refused_says_what_to_use_instead():
    refused = {path: found for path in sorted(OURS.rglob("*.h")) if (found := re.findall(r'^#error "(.*)"$', path.read_text(), re.M))}
    assert len(refused) > 20
    for path, (text,) in refused.items():
        assert re.fullmatch(r"coracle::grpcpp has (no|another) [^:]+: .{8,}", text), f"{path}: {text}"
