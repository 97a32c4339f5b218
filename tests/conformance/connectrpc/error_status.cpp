#include "error_status.hpp"

#include <string>

namespace conformance {

namespace pb = connectrpc::conformance::v1;

// Error has the fields of google.rpc.Status with the same numbers: its bytes are those of
// grpc-status-details-bin.

coracle::status status_of(const pb::Error& error) {
  const bool known = error.code() >= pb::CODE_CANCELED && error.code() <= pb::CODE_UNAUTHENTICATED;
  const auto code = known ? static_cast<coracle::status_code>(error.code()) : coracle::status_code::unknown;
  if (error.details().empty()) return {code, error.message()};
  return {code, error.message(), error.SerializeAsString()};
}

pb::Error error_of(const coracle::status& reason) {
  pb::Error error;
  pb::Error details;
  if (details.ParseFromString(std::string(reason.details())))
    error.mutable_details()->Swap(details.mutable_details());
  error.set_code(static_cast<pb::Code>(reason.code()));
  error.set_message(std::string(reason.message()));
  return error;
}

}  // namespace conformance
