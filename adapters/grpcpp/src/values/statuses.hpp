// Conversions between the values of this API and Coracle's.
#pragma once

#include <grpc/compression.h>
#include <grpcpp/impl/metadata_map.h>
#include <grpcpp/support/status.h>

#include "coracle/base/status.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/rpc/metadata.hpp"

namespace grpc::internal {

Status status_of(const coracle::status& s);
// A code that gRPC does not have becomes UNKNOWN.
coracle::status status_of(const Status& s);
// What a program sees of metadata that was received.
void add_to(metadata_map& to, const coracle::metadata& from);
coracle::compression compression_of(grpc_compression_algorithm algorithm);

}  // namespace grpc::internal
