// refusal: why a message cannot be accepted, and how a server answers it.
#pragma once

#include <string_view>

namespace coracle::http1 {

struct refusal {
  // The status of the response; 0: the connection is closed without one.
  int status = 0;
  std::string_view reason{};  // static storage; empty: nothing is wrong

  explicit operator bool() const noexcept { return !reason.empty(); }
};

}  // namespace coracle::http1
