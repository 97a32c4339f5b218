// request_source: the requests of a call, as JSON texts, from the command line, a file or what is typed.
#pragma once

#include "tools/json/json_splitter.hpp"

#include <coracle/coro/task.hpp>
#include <coracle/net/input.hpp>

#include <optional>
#include <string>
#include <vector>

namespace coracle::tools {

class request_source {
 public:
  // Each is JSON (several values may stand in one), "@FILE" or "-" for the standard input. Throws failure for a file
  // that cannot be read. None: `alone`, as where there is one request and nobody said it.
  request_source(const std::vector<std::string>& said, std::string alone);

  // The next JSON value, as soon as it is there; nothing at the end, and when it is stopped. Throws failure. On a loop.
  [[nodiscard]] task<std::optional<std::string>> next();
  // There are no more requests; not so where next() was stopped.
  [[nodiscard]] bool ended() const noexcept { return ended_ || !from_input_; }

 private:
  json_splitter values_;
  bool from_input_ = false;
  bool ended_ = false;
  net::input input_;
};

}  // namespace coracle::tools
