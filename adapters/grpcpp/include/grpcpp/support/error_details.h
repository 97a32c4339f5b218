// The details of a status as a message: google.rpc.Status of the googleapis, or one like it.
#pragma once

#include <grpcpp/support/status.h>

#include <cstddef>

namespace grpc {

/// Parses the details of a status, which has those that SetErrorDetails() or another library has set. Fails
/// with FAILED_PRECONDITION if `to` is null, and with INVALID_ARGUMENT if the details do not parse.
template <typename T>
Status ExtractErrorDetails(const Status& from, T* to) {
  if (!to) return Status(StatusCode::FAILED_PRECONDITION, "");
  if (!to->ParseFromString(from.error_details())) return Status(StatusCode::INVALID_ARGUMENT, "");
  return Status();
}
inline Status ExtractErrorDetails(const Status& /*from*/, std::nullptr_t) {
  return Status(StatusCode::FAILED_PRECONDITION, "");
}

/// Sets a status to the code and the message of `from`, which become its details. A code that gRPC does not have
/// becomes UNKNOWN. Fails with FAILED_PRECONDITION if `to` is null.
template <typename T>
Status SetErrorDetails(const T& from, Status* to) {
  if (!to) return Status(StatusCode::FAILED_PRECONDITION, "");
  const bool known = from.code() >= StatusCode::OK && from.code() <= StatusCode::UNAUTHENTICATED;
  const StatusCode code = known ? static_cast<StatusCode>(from.code()) : StatusCode::UNKNOWN;
  *to = Status(code, from.message(), from.SerializeAsString());
  return Status();
}

}  // namespace grpc
