// grpc_slice_buffer, which does not exist here.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/impl/one_library.h>

struct CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer") grpc_slice_buffer;
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer")
void grpc_slice_buffer_init(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer")
void grpc_slice_buffer_destroy(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer") void grpc_slice_buffer_add(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer")
void grpc_slice_buffer_addn(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer")
void grpc_slice_buffer_add_indexed(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer") void grpc_slice_buffer_pop(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer")
void grpc_slice_buffer_swap(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_slice_buffer: use grpc::ByteBuffer")
void grpc_slice_buffer_reset_and_unref(...);
