"""coracle proxy, and the example of a proxy: what a server says first is there at once, for clients that wait for it before they speak."""

import concurrent.futures
import threading

import pytest

from programs import Server, own

pytest.importorskip("grpc", reason="./dev peers installs it")

import grpc  # noqa: E402

METHOD = "/early.Head/Talk"
LIMIT_S = 10


class Greets(grpc.GenericRpcHandler):
    """Says its head before it has heard anything, and then echoes."""

    def service(self, details):
        def talk(requests, context):
            context.send_initial_metadata((("x-early", "yes"),))
            yield from requests
        return grpc.stream_stream_rpc_method_handler(talk)


@pytest.mark.parametrize("proxy", [("coracle", "proxy", "UPSTREAM", "-p"), ("proxy", "--to=UPSTREAM", "--port=0")],
                         ids=["coracle_proxy", "example_of_a_proxy"])
def test_the_head_is_passed_on_at_once(proxy):
    upstream = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    upstream.add_generic_rpc_handlers([Greets()])
    port = upstream.add_insecure_port("127.0.0.1:0")
    upstream.start()
    try:
        with Server(own(proxy[0]), *(word.replace("UPSTREAM", f"127.0.0.1:{port}") for word in proxy[1:])) as front, \
                grpc.insecure_channel(front.address) as channel:
            may_speak = threading.Event()

            def requests():
                assert may_speak.wait(LIMIT_S), "the client was never to speak"
                yield b"word"
            call = channel.stream_stream(METHOD)(requests(), timeout=LIMIT_S)
            assert dict(call.initial_metadata()).get("x-early") == "yes", "what the server said first"
            may_speak.set()
            assert list(call) == [b"word"], "what comes back"
    finally:
        upstream.stop(0)
