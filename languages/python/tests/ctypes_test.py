"""The C interface from ctypes, without the native module, in a process that has grpcio and another protobuf loaded."""

import ctypes
import os
import pathlib
import shutil

import coracle
import grpc
import pytest


class Option(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Event(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("kind", ctypes.c_uint32), ("tag", ctypes.c_uint64), ("call", ctypes.c_uint64),
                ("status", ctypes.c_int32), ("has_message", ctypes.c_int32), ("message", ctypes.c_void_p),
                ("message_size", ctypes.c_size_t), ("rest", ctypes.c_void_p * 14)]


@pytest.fixture
def library_file(tmp_path):
    """A second library of the wheel, with a runtime of its own."""
    package = pathlib.Path(coracle.__file__).parent
    (tmp_path / "coracle").mkdir()
    (tmp_path / "coracle.libs").symlink_to(package.parent / "coracle.libs")
    return shutil.copy(package / "libcoracle_c.so.1", tmp_path / "coracle")


def test_a_call_beside_grpcio(library_file, target, pb2, pb2_grpc):
    library = ctypes.CDLL(library_file, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    library.coracle_last_error.restype = ctypes.c_char_p
    options = (Option * 1)(Option(b"credentials", b"insecure"))
    channel = ctypes.c_uint64()
    assert library.coracle_channel_create(ctypes.c_uint64(0), target.encode(), options, ctypes.c_size_t(1),
                                          ctypes.byref(channel)) == 0, library.coracle_last_error()
    request = pb2.Text(text="from ctypes", count=3).SerializeToString()
    for _ in range(3):
        event = Event()
        assert library.coracle_unary_wait(channel, b"/languages.test.Echo/Say", request, ctypes.c_size_t(len(request)), None,
                                          ctypes.byref(event)) == 0, library.coracle_last_error()
        assert event.status == 0 and event.size == ctypes.sizeof(Event)
        assert ctypes.string_at(event.message, event.message_size) == request
        library.coracle_event_release(ctypes.byref(event))
        with grpc.insecure_channel(target) as theirs:
            assert pb2_grpc.EchoStub(theirs).Say(pb2.Text(text="grpcio")).text == "grpcio"
    assert library.coracle_channel_destroy(channel) == 0
    assert library.coracle_channel_destroy(channel) == 1
    assert b"handle" in library.coracle_last_error()
    assert library.coracle_shutdown() == 0
