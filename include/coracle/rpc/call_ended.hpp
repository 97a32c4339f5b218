// call_ended: thrown out of a read or write whose call is over; unwinds a handler.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/environment.hpp"

#include <utility>

namespace coracle {

// In a handler, let it pass: the call has ended (reset by the client, past its deadline, broken
// message, drain) and nobody is left to hear its reply. In a client it carries the call's status.
// Use the _result form of an operation where a value is wanted instead.
class call_ended : public coro::cancelled {
 public:
  explicit call_ended(status why) : why_(std::move(why)), text_(why_.to_string()) {}
  [[nodiscard]] const coracle::status& why() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  coracle::status why_;
  std::string text_;
};

}  // namespace coracle
