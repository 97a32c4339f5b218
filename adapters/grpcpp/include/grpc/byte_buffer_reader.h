// grpc_byte_buffer_reader, which does not exist here.
#pragma once

#include <grpc/byte_buffer.h>
#include <grpcpp/impl/one_library.h>

struct CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer") grpc_byte_buffer_reader;
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_byte_buffer_reader_init(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_byte_buffer_reader_destroy(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_byte_buffer_reader_next(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_byte_buffer_reader_peek(...);
CORACLE_GRPCPP_ABSENT("there is no grpc_byte_buffer: use grpc::ByteBuffer")
void grpc_byte_buffer_reader_readall(...);
