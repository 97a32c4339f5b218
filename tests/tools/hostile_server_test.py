"""coracle before servers that mean harm: whatever they say or keep back, it ends with an error in words, in bounded time and memory."""

import concurrent.futures
import contextlib
import resource

import pytest

import programs
from programs import Server, own, run

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_reflection", reason="./dev peers installs it")

import grpc  # noqa: E402
from google.protobuf import descriptor_pb2  # noqa: E402
from grpc_reflection.v1alpha import reflection_pb2  # noqa: E402

FAILURE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, NO_ANSWER = 65, 4, 8, 2
GREETER_PROTO = programs.ROOT / "examples/01_greeter/greeter.proto"
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
BOMB_BYTES = 300 << 20  # past endpoint::message_bytes_max
MEMORY_MB = 400  # for 64 MiB of definitions, which are parsed and kept, and the rest of the program


def file(name, imports=(), service=False, fill=0):
    made = descriptor_pb2.FileDescriptorProto(name=name, package="harm", dependency=imports, syntax="proto3")
    if service:
        made.message_type.add(name="Nothing")
        made.service.add(name="Service").method.add(name="Call", input_type=".harm.Nothing", output_type=".harm.Nothing")
    if fill:
        made.message_type.add(name="M" * fill)
    return made.SerializeToString()


def told(*files):
    """The answer to each question: these, or what they return for the file that is asked for."""
    def answer(question):
        reply = reflection_pb2.ServerReflectionResponse()
        if question.HasField("list_services"):
            reply.list_services_response.service.add(name="harm.Service")
        else:
            made = [one(question.file_by_filename) if callable(one) else one for one in files]
            reply.file_descriptor_response.file_descriptor_proto.extend(made)
        return reply
    return answer


def reflection(answer):
    """A handler of reflection's call, v1 and v1alpha being the same on the wire."""
    return grpc.stream_stream_rpc_method_handler(lambda questions, context: (answer(one) for one in questions),
                                                 reflection_pb2.ServerReflectionRequest.FromString,
                                                 reflection_pb2.ServerReflectionResponse.SerializeToString)


class Handlers(grpc.GenericRpcHandler):
    def __init__(self, by_path):
        self.by_path = by_path

    def service(self, details):
        return self.by_path(details.method) if callable(self.by_path) else self.by_path.get(details.method)


@contextlib.contextmanager
def serving(by_path):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers([Handlers(by_path)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0)


def says(word, *command, code):
    """The program's words on stderr, among them this one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = run(own("coracle"), *command, limit_s=60)
    assert done.returncode == code, f"the exit code ({done.stderr[-300:]})"
    assert word in done.stderr, f"it says {done.stderr[-300:]!r}, nothing of {word!r}"
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    assert peak_mb < MEMORY_MB or peak_mb == before // 1024, f"it took {peak_mb} MB"


def described(answer, word):
    with serving({REFLECTION: reflection(answer)}) as address:
        says(word, "describe", address, "-p", "harm.Service", code=FAILURE)


def test_imports_without_end():
    described(told(lambda name: file(name or "0", [f"{int(name or 0) + 1}"], service=not name)), "more than 2000 files")


def test_files_without_end_in_one_answer():
    described(told(file("0", ["1"], service=True), *(file(f"x{i}") for i in range(3000))), "more than 2000 files")


def test_files_of_great_size():
    described(told(lambda name: file(name or "0", [f"{int(name or 0) + 1}"], fill=3 << 20)), "bytes of definitions")


def test_one_file_of_great_size():
    with serving({REFLECTION: reflection(told(file("0", service=True, fill=65 << 20)))}) as address:
        says("bytes of 0;", "describe", address, "-p", "harm.Service", "--max-message-bytes", "128MiB", code=FAILURE)
        says("--max-message-bytes", "describe", address, "-p", "harm.Service", code=RESOURCE_EXHAUSTED)


def test_a_file_that_imports_itself():
    described(told(lambda name: file(name or "0", ["0"], service=True)), "is not available")


def test_what_is_no_file():
    described(told(b"\xff\xff"), "an invalid file descriptor")


def test_a_file_whose_types_are_missing():
    missing = descriptor_pb2.FileDescriptorProto(name="0", package="harm")
    missing.service.add(name="Service").method.add(name="Call", input_type=".harm.None", output_type=".harm.None")
    described(told(missing.SerializeToString()), "harm.None")


def test_silence_of_reflection():
    def waits(questions, context):
        done = concurrent.futures.Future()
        context.add_callback(lambda: done.set_result(None))
        done.result()
        return iter(())
    handler = grpc.stream_stream_rpc_method_handler(waits)
    with serving({REFLECTION: handler}) as address:
        says("DEADLINE_EXCEEDED", "ls", address, "-p", "--timeout", "300ms", code=DEADLINE_EXCEEDED)


def test_silence_of_health():
    def waits(request, context):
        done = concurrent.futures.Future()
        context.add_callback(lambda: done.set_result(None))
        done.result()
        return b""
    with serving(lambda path: grpc.unary_unary_rpc_method_handler(waits)) as address:
        says("DEADLINE_EXCEEDED", "health", address, "-p", code=NO_ANSWER)


def test_silence_of_reflection_behind_a_proxy():
    """Asked once, and told: every call would wait for it otherwise."""
    def waits(questions, context):
        done = concurrent.futures.Future()
        context.add_callback(lambda: done.set_result(None))
        done.result()
        return iter(())
    echo = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
    with serving({REFLECTION: grpc.stream_stream_rpc_method_handler(waits), "/helloworld.Greeter/SayHello": echo}) as address, \
            Server(own("coracle"), "proxy", address, "-p", "--timeout", "1500ms") as proxy:
        for _ in range(2):
            done = run(own("coracle"), "call", proxy.address, "-p", "SayHello", "--proto", GREETER_PROTO, "-d", "{}")
            assert done.returncode == 0, f"the exit code ({done.stderr[-300:]})"
        assert proxy.stop() == 0, "the proxy's exit code"
        assert sum("it is not queried again" in line for line in proxy.said) == 1, "how often it says so"


def test_a_reply_that_unpacks_without_end():
    def bomb(request, context):
        context.set_compression(grpc.Compression.Gzip)
        return bytes(BOMB_BYTES)
    with serving({REFLECTION: reflection(told(file("0", service=True))),
                  "/harm.Service/Call": grpc.unary_unary_rpc_method_handler(bomb)}) as address:
        says("RESOURCE_EXHAUSTED", "call", address, "-p", "harm.Service/Call", code=RESOURCE_EXHAUSTED)
