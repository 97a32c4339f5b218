// status: how a call ended: one of the seventeen codes of gRPC, and a human-readable text.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace coracle {

/// The status codes of gRPC (grpc/grpc doc/statuscodes.md). These numbers are sent in grpc-status.
enum class status_code : std::uint8_t {
  ok = 0,  ///< success
  cancelled = 1,  ///< the caller cancelled the call, or it was stopped
  unknown = 2,  ///< an error without a better code, such as an exception of a handler
  invalid_argument = 3,  ///< the request is wrong, whatever the state of the server
  deadline_exceeded = 4,  ///< the deadline passed; the server may have done the work
  not_found = 5,  ///< what the request names does not exist
  already_exists = 6,  ///< what the request would create exists
  permission_denied = 7,  ///< the caller is known and may not do this
  resource_exhausted = 8,  ///< a limit or quota is reached, or memory or disk is full
  failed_precondition = 9,  ///< the state of the server must change first; do not retry
  aborted = 10,  ///< a conflict of concurrent calls; retry the whole transaction
  out_of_range = 11,  ///< beyond the end of what is there now, such as a file
  unimplemented = 12,  ///< the server does not have the method
  internal = 13,  ///< an invariant or the protocol was violated
  unavailable = 14,  ///< the server cannot be reached or is overloaded; retry with backoff
  data_loss = 15,  ///< data was lost or is corrupt, beyond recovery
  unauthenticated = 16,  ///< the caller has not proved who it is
};

/// Returns the name as the specification spells it, such as "NOT_FOUND".
std::string_view name_of(status_code code) noexcept;

/// The type of coracle::ok.
struct ok_t {
  /// Made explicitly, so that `{}` is no ok.
  explicit ok_t() = default;
};
/// Success, where a status is required: `co_return coracle::ok;` ends a handler of a response stream.
inline constexpr ok_t ok{};

/// The outcome of a call: a code, an optional message and optional details. A value. A status without a
/// message and details allocates nothing; if the allocation of the text fails, the status has the code alone.
/// Copies share the text, which never changes; a status can be copied between threads.
class [[nodiscard]] status {
 public:
  /// OK.
  status() noexcept = default;
  /// OK; lets `co_return coracle::ok` end a handler.
  status(ok_t) noexcept {}  // NOLINT(google-explicit-constructor)
  /// Makes a status with a code and a message; copies the message.
  status(status_code code, std::string_view message = {});
  /// Adds the bytes of a google.rpc.Status message, which are sent in grpc-status-details-bin; empty means
  /// none.
  status(status_code code, std::string_view message, std::string_view details);

  /// Returns whether the code is OK.
  [[nodiscard]] bool ok() const noexcept { return code_ == status_code::ok; }
  /// Returns ok().
  explicit operator bool() const noexcept { return ok(); }
  /// Returns the code, which is sent in grpc-status.
  [[nodiscard]] status_code code() const noexcept { return code_; }
  /// Throws status_error (coracle/base/result.hpp) unless ok(): for programs that prefer exceptions.
  void throw_if_error() const {
    if (!ok()) throw_error();
  }
  /// Returns the human-readable text, borrowed from this status (or from any copy of it); empty when there is
  /// none.
  [[nodiscard]] std::string_view message() const noexcept {
    return text_ ? std::string_view(text_->message) : std::string_view();
  }
  /// Returns the bytes of google.rpc.Status, borrowed as message() is; empty when there are none.
  [[nodiscard]] std::string_view details() const noexcept {
    return text_ ? std::string_view(text_->details) : std::string_view();
  }
  /// Returns the name of the code and the message: "NOT_FOUND: no such movie".
  [[nodiscard]] std::string to_string() const;

  /// Compares code, message and details.
  friend bool operator==(const status& a, const status& b) noexcept {
    return a.code_ == b.code_ && a.message() == b.message() && a.details() == b.details();
  }

  /// @{
  /// Makes a status with the code of that name and a copy of `message`.
  static status cancelled(std::string_view message = {}) { return {status_code::cancelled, message}; }
  static status unknown(std::string_view message = {}) { return {status_code::unknown, message}; }
  static status invalid_argument(std::string_view message = {}) {
    return {status_code::invalid_argument, message};
  }
  static status deadline_exceeded(std::string_view message = {}) {
    return {status_code::deadline_exceeded, message};
  }
  static status not_found(std::string_view message = {}) { return {status_code::not_found, message}; }
  static status already_exists(std::string_view message = {}) {
    return {status_code::already_exists, message};
  }
  static status permission_denied(std::string_view message = {}) {
    return {status_code::permission_denied, message};
  }
  static status resource_exhausted(std::string_view message = {}) {
    return {status_code::resource_exhausted, message};
  }
  static status failed_precondition(std::string_view message = {}) {
    return {status_code::failed_precondition, message};
  }
  static status aborted(std::string_view message = {}) { return {status_code::aborted, message}; }
  static status out_of_range(std::string_view message = {}) { return {status_code::out_of_range, message}; }
  static status unimplemented(std::string_view message = {}) { return {status_code::unimplemented, message}; }
  static status internal(std::string_view message = {}) { return {status_code::internal, message}; }
  static status unavailable(std::string_view message = {}) { return {status_code::unavailable, message}; }
  static status data_loss(std::string_view message = {}) { return {status_code::data_loss, message}; }
  static status unauthenticated(std::string_view message = {}) {
    return {status_code::unauthenticated, message};
  }
  /// @}

 private:
  [[noreturn]] void throw_error() const;
  struct text {
    std::string message;
    std::string details;
  };
  std::shared_ptr<const text> text_;
  status_code code_ = status_code::ok;
};

/// Writes status::to_string() to `out`.
std::ostream& operator<<(std::ostream& out, const status& s);

}  // namespace coracle
