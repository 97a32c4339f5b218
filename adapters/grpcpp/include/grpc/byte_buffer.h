// grpc_byte_buffer, which does not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

struct CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer") grpc_byte_buffer;
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_raw_byte_buffer_create(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_raw_compressed_byte_buffer_create(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_raw_byte_buffer_from_reader(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer") void grpc_byte_buffer_copy(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_byte_buffer_length(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_byte_buffer_destroy(...);
