// Statuses, and protobuf messages as bytes.
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/support/status.h>

#include "adapters/grpcpp/src/values/sent_metadata.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include <string_view>

namespace grpc {

namespace {

// Never destroyed: destructors of static objects may use them.
const Status& kept(StatusCode code) { return *new Status(code, ""); }

}  // namespace

const Status& Status::OK = kept(StatusCode::OK);
const Status& Status::CANCELLED = kept(StatusCode::CANCELLED);

namespace internal {

Status serialize_protobuf(const protobuf::MessageLite& message, std::string& to) {
  if (message.SerializeToString(&to)) return {};
  return {StatusCode::INTERNAL, "the message cannot be serialized: it is larger than 2 GiB"};
}

Status deserialize_protobuf(const char* bytes, std::size_t size, protobuf::MessageLite& to) {
  if (size <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
      to.ParseFromArray(bytes, static_cast<int>(size)))
    return {};
  return {StatusCode::INTERNAL, "the message does not parse: " + to.InitializationErrorString()};
}

Status status_of(const coracle::status& s) {
  if (s.ok()) return {};
  return {static_cast<StatusCode>(s.code()), std::string(s.message()), std::string(s.details())};
}

coracle::status status_of(const Status& s) {
  if (s.ok()) return {};
  const int code = s.error_code();
  const bool known = code > 0 && code <= static_cast<int>(coracle::status_code::unauthenticated);
  return {known ? static_cast<coracle::status_code>(code) : coracle::status_code::unknown, s.error_message(),
          s.error_details()};
}

void add_to(metadata_map& to, const coracle::metadata& from) {
  for (const auto& [key, value] : from)
    if (!is_hidden(key)) to.add(key, value);
}

coracle::compression compression_of(grpc_compression_algorithm algorithm) {
  switch (algorithm) {
    case GRPC_COMPRESS_DEFLATE: return coracle::compression(coracle::encoding::deflate).min_bytes(0);
    case GRPC_COMPRESS_GZIP: return coracle::compression(coracle::encoding::gzip).min_bytes(0);
    default: return {};
  }
}

}  // namespace internal
}  // namespace grpc
