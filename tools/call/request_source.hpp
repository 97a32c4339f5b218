// request_source: the requests of a call, as JSON texts, from the command line, a file or what is typed.
#pragma once

#include "tools/json/json_splitter.hpp"

#include <coracle/coro/task.hpp>
#include <coracle/net/input.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

class request_source {
 public:
  // Each is JSON (several values may stand in one), "@FILE" or "-" for the standard input. Throws failure for a file
  // that cannot be read. None: `alone`, as where there is one request and nothing is given.
  request_source(const std::vector<std::string>& said, std::string alone);

  // Waits for more text where the standard input is read: false once all of it is there. Throws failure, and
  // coro::cancelled when it is stopped. On a loop.
  [[nodiscard]] task<bool> read_more();
  // Appends the values that are whole, borrowed until read_more(); false: for now, or for ever, there are no more. Stops
  // after many, to be called again. Any thread, but not beside read_more().
  [[nodiscard]] bool take(std::vector<std::string_view>& values);

 private:
  json_splitter values_;
  bool from_input_ = false;
  bool ended_ = false;
  net::input input_;
  std::array<char, 65536> room_;  // what a pipe holds
};

}  // namespace coracle::tools
