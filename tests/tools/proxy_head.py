#!/usr/bin/env python3
"""coracle proxy, and the example of a proxy: what a server says first is there at once, for clients that wait for it before they speak."""

import concurrent.futures
import threading

import stage
from stage import Cases, Server, equal, expect, own

stage.with_packages("grpc")

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


def the_head_comes_first(*proxy):
    upstream = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    upstream.add_generic_rpc_handlers([Greets()])
    port = upstream.add_insecure_port("127.0.0.1:0")
    upstream.start()
    try:
        with Server(*proxy[:1], *(word.replace("UPSTREAM", f"127.0.0.1:{port}") for word in proxy[1:])) as front, \
                grpc.insecure_channel(front.address) as channel:
            may_speak = threading.Event()

            def requests():
                expect(may_speak.wait(LIMIT_S), "the client was never to speak")
                yield b"word"
            call = channel.stream_stream(METHOD)(requests(), timeout=LIMIT_S)
            equal(dict(call.initial_metadata()).get("x-early"), "yes", "what the server said first")
            may_speak.set()
            equal(list(call), [b"word"], "what comes back")
    finally:
        upstream.stop(0)


def main():
    cases = Cases()
    cases.run("Proxy.PassesTheHeadOnAtOnce", the_head_comes_first, own("coracle"), "proxy", "UPSTREAM", "-p")
    cases.run("ExampleOfAProxy.PassesTheHeadOnAtOnce", the_head_comes_first, own("proxy"), "--to=UPSTREAM", "--port=0")
    cases.end()


if __name__ == "__main__":
    main()
