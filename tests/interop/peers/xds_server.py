"""grpcio's server, which does what tests/interop/xds_peer.cpp says of its role xds_server."""

import concurrent.futures
import sys
import time

import grpc


class AnyMethod(grpc.GenericRpcHandler):
    def __init__(self, port):
        self.port = port

    def service(self, _):
        return grpc.unary_unary_rpc_method_handler(self.answer)

    def answer(self, _, context):
        fields = dict(context.invocation_metadata())
        time.sleep(int(fields.get("late", "0")) / 1000)
        return b"" if "silent" in fields else str(self.port).encode()


address = sys.argv[1]
server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), handlers=[AnyMethod(int(address.rpartition(":")[2]))], xds=True)
# It listens once it has its Listener, and would wait for that here with the port 0.
print(f"listening on {address}", flush=True)
server.add_secure_port(address, grpc.xds_server_credentials(grpc.insecure_server_credentials()))
server.start()
server.wait_for_termination()
