// Status: how a call ended.
#pragma once

#include <grpcpp/support/config.h>
#include <grpcpp/support/status_code_enum.h>

#include <string>
#include <utility>

namespace grpc {

/// A code, a text for people, and details: the bytes of a google.rpc.Status. A value.
class Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string error_message) : code_(code), message_(std::move(error_message)) {}
  Status(StatusCode code, std::string error_message, std::string error_details)
      : code_(code), message_(std::move(error_message)), details_(std::move(error_details)) {}

  static const Status& OK;
  static const Status& CANCELLED;

  StatusCode error_code() const { return code_; }
  std::string error_message() const { return message_; }
  std::string error_details() const { return details_; }
  bool ok() const { return code_ == StatusCode::OK; }
  /// Does nothing: for a status that is not looked at.
  void IgnoreError() const {}

 private:
  StatusCode code_ = StatusCode::OK;
  std::string message_;
  std::string details_;
};

}  // namespace grpc
