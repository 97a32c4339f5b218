"""The interop cases of gRPC: grpc-go's client and ours against grpc-go's server and ours, on both backends, plaintext and
TLS. Ours are on Coracle's own API, and on that of grpc++."""

import contextlib
import functools

import pytest

from programs import Server, own, peer, run

INTEROP_CASES = (
    "empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream",
    "timeout_on_sleeping_server", "cancel_after_begin", "cancel_after_first_response", "status_code_and_message",
    "special_status_message", "custom_metadata", "unimplemented_method", "unimplemented_service",
)
# What grpc-go's two have as well, beyond the cases that every implementation passes.
ORCA_CASES = ("orca_per_rpc", "orca_oob")
# Its client hears of load through a balancer alone.
GO_HEARS_LOAD = '--service_config_json={"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}'
SOAK_CASES = ("rpc_soak", "channel_soak")
# Its server does not look at compression, refuses requests above 4 MiB, and has nothing to cache. cacheable_unary itself
# cannot pass (docs/reference/conformance.md): uncached_unary looks at what the server does for it.
OWN_CASES = ("client_compressed_unary", "server_compressed_unary", "client_compressed_streaming", "server_compressed_streaming",
             "uncached_unary", "very_large_request", "long_lived_channel")


TLS_NAME = "foo.test.google.fr"


class Side:
    """A client or a server: how it is started, and what it is told over TLS."""

    def __init__(self, find, *words, tls=lambda made: (), env=None):
        self.find, self.words, self.tls, self.env = find, words, tls, env or {}

    def command(self, made):
        return self.find(), *self.words, *(self.tls(made) if made else ())


def client_tls(made):
    return "--use_tls=true", f"--ca_file={made.ca}", f"--server_host_override={TLS_NAME}"


def server_tls(made):
    return "--use_tls=true", f"--tls_cert_file={made.server}", f"--tls_key_file={made.server_key}"


OUR_CLIENT = Side(lambda: own("interop_client"), "--server_host=127.0.0.1", tls=client_tls)
OUR_SERVER = Side(lambda: own("interop_server"), "--port=0", tls=server_tls)
GRPCPP_CLIENT = Side(lambda: own("grpcpp_interop_client"), tls=client_tls)
GRPCPP_SERVER = Side(lambda: own("grpcpp_interop_server"), "--port=0", tls=server_tls)
GO_CLIENT = Side(lambda: peer("grpc_go_interop_client"), "--server_host=127.0.0.1",
                 tls=lambda made: ("-use_tls", "-use_test_ca", f"-ca_file={made.ca}", f"-server_host_override={TLS_NAME}"))
GO_SERVER = Side(lambda: peer("grpc_go_interop_server"), "-port=0", env={"GRPC_GO_LOG_SEVERITY_LEVEL": "info"},
                 tls=lambda made: ("-use_tls", f"-tls_cert_file={made.server}", f"-tls_key_file={made.server_key}"))

BOTH = INTEROP_CASES + ORCA_CASES + SOAK_CASES
PAIRS = {"GoClientOurServer": (GO_CLIENT, OUR_SERVER, BOTH), "OurClientGoServer": (OUR_CLIENT, GO_SERVER, BOTH),
         "OurClientOurServer": (OUR_CLIENT, OUR_SERVER, BOTH + OWN_CASES),
         "GoClientServerOnGrpcppsApi": (GO_CLIENT, GRPCPP_SERVER, INTEROP_CASES + SOAK_CASES),
         "ClientOnGrpcppsApiGoServer": (GRPCPP_CLIENT, GO_SERVER, INTEROP_CASES + SOAK_CASES)}


CASES = [(pair, case) for pair, (_, _, cases) in PAIRS.items() for case in cases]


@pytest.fixture(scope="module", params=["plaintext", "tls"])
def made(request, certificates):
    """The certificates over TLS, else None."""
    return certificates if request.param == "tls" else None


@pytest.fixture(scope="module")
def servers(backend, made):
    """The server of each kind, once one is asked for."""
    with contextlib.ExitStack() as running:
        @functools.cache
        def one(side):
            return running.enter_context(Server(*side.command(made), env={"CORACLE_BACKEND": backend, **side.env}))
        yield one


@pytest.mark.parametrize(("pair", "case"), CASES)
def test_a_case_passes(pair, case, servers, made, backend):
    client, side, _ = PAIRS[pair]
    command, server = client.command(made), servers(side)
    more = (GO_HEARS_LOAD,) if client is GO_CLIENT and case in ORCA_CASES else ()
    done = run(*command, *more, f"--server_port={server.port}", f"--test_case={case}", env={"CORACLE_BACKEND": backend})
    server.expect_alive()
    assert done.returncode == 0, f"the exit code ({(done.stdout + done.stderr).strip()[-400:]})"
