// call_ended: the exception that a read or write throws when its call has ended; it unwinds a handler.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/environment.hpp"

#include <utility>

namespace coracle {

/// Thrown in a handler by a read or a write whose call has ended (reset by the client, deadline exceeded,
/// malformed message, drain).
///
/// A handler should let it propagate, since no reply can reach the client. One that must do something first,
/// such as join a scope, catches it. The operations of a client's call return results and never throw it.
class call_ended : public coro::cancelled {
 public:
  /// Makes the exception for a call that ended with `reason`.
  explicit call_ended(coracle::status reason) : status_(std::move(reason)), text_(status_.to_string()) {}
  /// Returns the status with which the call ended.
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  /// Returns the text of status::to_string(), borrowed from this exception.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  coracle::status status_;
  std::string text_;
};

}  // namespace coracle
