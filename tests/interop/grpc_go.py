#!/usr/bin/env python3
"""The interop cases of gRPC: grpc-go's client and ours against grpc-go's server and ours, on both backends."""

import stage
from stage import Cases, Server, equal, own, peer, run

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
# Its server refuses requests above 4 MiB, and has nothing to cache.
OWN_CASES = ("cacheable_unary", "very_large_request", "long_lived_channel")


def passes(client, server, case, backend):
    more = [GO_HEARS_LOAD] if case in ORCA_CASES and client.name.startswith("grpc_go") else []
    done = run(client, *more, "--server_host=127.0.0.1", f"--server_port={server.port}", f"--test_case={case}",
               env={"CORACLE_BACKEND": backend})
    server.expect_alive()
    equal(done.returncode, 0, f"the exit code ({(done.stdout + done.stderr).strip()[-400:]})")


def all_of_them(cases, group, chosen, client, server_command, backend, env=None):
    client_path = client()
    with Server(*server_command(), env={"CORACLE_BACKEND": backend, **(env or {})}) as server:
        for case in chosen:
            cases.run(f"{group}.{case}", passes, client_path, server, case, backend)


def our_client():
    return own("interop_client")


def our_server():
    return own("interop_server"), "--port=0"


def go_client():
    return peer("grpc_go_interop_client")


def go_server():
    return peer("grpc_go_interop_server"), "-port=0"


def main():
    cases = Cases()
    say_the_port = {"GRPC_GO_LOG_SEVERITY_LEVEL": "info"}
    for backend in stage.backends():
        both = INTEROP_CASES + ORCA_CASES + SOAK_CASES
        for group, chosen, client, server, env in (
                ("GoClientOurServer", both, go_client, our_server, None),
                ("OurClientGoServer", both, our_client, go_server, say_the_port),
                ("OurClientOurServer", both + OWN_CASES, our_client, our_server, None)):
            name = f"{group}.{backend}"
            cases.run(f"{name}.TheServerServes", all_of_them, cases, name, chosen, client, server, backend, env)
    cases.end()


if __name__ == "__main__":
    main()
