// request_source: the requests of a call as texts, from the command line, a file or the standard input.
#pragma once

#include "tools/call/messages.hpp"
#include "tools/format/value_splitter.hpp"

#include <coracle/coro/task.hpp>
#include <coracle/net/input.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

class request_source {
 public:
  // Each value is text (one or several messages), "@FILE", or "-" for the standard input. Throws failure for
  // a file that cannot be read. Without values there is one empty message.
  request_source(const std::vector<std::string>& values, message_syntax syntax);

  // Waits for more text if the standard input is read; returns false once all of it was read. Throws failure,
  // and coro::cancelled if it is stopped. Runs on a loop.
  [[nodiscard]] task<bool> read_more();
  // Appends complete values, borrowed until read_more(); returns false if there are no more, for now or at
  // all. Returns early after many values, and may be called again. May be called from any thread, but not
  // concurrently with read_more().
  [[nodiscard]] bool take(std::vector<std::string_view>& values);

 private:
  void add_text(std::string_view text);

  const message_syntax syntax_;
  const std::unique_ptr<value_splitter> values_;
  bool from_input_ = false;
  bool begun_ = false;  // the standard input
  bool ended_ = false;
  net::input input_;
  std::array<char, 65536> room_;  // the capacity of a pipe
};

}  // namespace coracle::tools
