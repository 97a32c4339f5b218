// Functions of the C library for descriptors, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

CORACLE_GRPCPP_ABSENT(
    "there are no functions of the C library for descriptors: use grpcpp/create_channel_posix.h, "
    "grpcpp/server_posix.h")
void grpc_channel_create_from_fd(...);
CORACLE_GRPCPP_ABSENT(
    "there are no functions of the C library for descriptors: use grpcpp/create_channel_posix.h, "
    "grpcpp/server_posix.h")
void grpc_server_add_channel_from_fd(...);
CORACLE_GRPCPP_ABSENT(
    "there are no functions of the C library for descriptors: use grpcpp/create_channel_posix.h, "
    "grpcpp/server_posix.h")
void grpc_insecure_channel_create_from_fd(...);
CORACLE_GRPCPP_ABSENT(
    "there are no functions of the C library for descriptors: use grpcpp/create_channel_posix.h, "
    "grpcpp/server_posix.h")
void grpc_server_add_insecure_channel_from_fd(...);
CORACLE_GRPCPP_ABSENT(
    "there are no functions of the C library for descriptors: use grpcpp/create_channel_posix.h, "
    "grpcpp/server_posix.h")
void grpc_use_signal(...);
